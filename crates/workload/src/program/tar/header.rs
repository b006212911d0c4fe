//! A header of 512 bytes before each file of an archive, and the records that extend it.

/// Bytes of a header; what follows it is padded to a multiple of them.
pub(super) const BLOCK: usize = 512;

/// A header, with the extended one before it.
pub(super) struct Header<'a>(pub(super) &'a [u8; BLOCK]);

impl Header<'_> {
    /// True if it is nothing but zeros: the end of the archive.
    pub(super) fn is_end(&self) -> bool {
        self.0.iter().all(|&byte| byte == 0)
    }

    /// True if the check sum is that of the bytes, which count as blanks where it stands itself. Old archivers summed up bytes with a sign.
    pub(super) fn is_sound(&self) -> bool {
        let counted = |n: usize| if (148..156).contains(&n) { b' ' } else { self.0[n] };
        let unsigned: u64 = (0..BLOCK).map(|n| u64::from(counted(n))).sum();
        let signed: i64 = (0..BLOCK).map(|n| i64::from(counted(n) as i8)).sum();
        // Of other files the field may be empty and the bytes add up to nothing.
        let sum = number(&self.0[148..156]).filter(|&sum| sum > 0);
        sum.is_some_and(|sum| sum == unsigned || i64::try_from(sum) == Ok(signed))
    }

    /// True if it says which format it has; that of 1979 does not.
    pub(super) fn is_marked(&self) -> bool {
        self.0[257..].starts_with(b"ustar\0") || self.0[257..].starts_with(b"ustar ")
    }

    /// What kind of file follows.
    pub(super) fn kind(&self) -> u8 {
        self.0[156]
    }

    /// Bytes of the file; none if that is no number.
    pub(super) fn size(&self) -> Option<u64> {
        number(&self.0[124..136])
    }

    /// Name of the file: folders may stand in a field of their own, but for GNU's archives, which have times there.
    pub(super) fn name(&self) -> Vec<u8> {
        let name = text(&self.0[..100]);
        let folders = if self.0[257..].starts_with(b"ustar\0") { text(&self.0[345..500]) } else { &[] };
        if folders.is_empty() { name.to_vec() } else { [folders, b"/", name].concat() }
    }
}

/// Bytes up to a zero.
pub(super) fn text(field: &[u8]) -> &[u8] {
    let end = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
    &field[..end]
}

/// A number of eight to the power of digits, or, if the first bit is set, of all the bits behind it.
fn number(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        // 0xff is a negative one.
        let (high, low) = field.split_at(field.len().saturating_sub(8));
        let fits = high.iter().enumerate().all(|(n, &byte)| byte == if n == 0 { 0x80 } else { 0 });
        let low = low.iter().fold(0, |all, &byte| all << 8 | u64::from(byte));
        return if high.is_empty() { None } else { fits.then_some(low) };
    }
    let digits = std::str::from_utf8(text(field)).ok()?.trim();
    if digits.is_empty() {
        Some(0)
    } else {
        u64::from_str_radix(digits, 8).ok().filter(|_| !digits.starts_with('+'))
    }
}

/// What records of an extended header say of the file behind it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Extended {
    pub(super) name: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    /// The file is stored with holes.
    pub(super) sparse: bool,
}

impl Extended {
    /// Reads records, each a length, a blank, a key, `=`, a value and a new line.
    pub(super) fn read(mut bytes: &[u8]) -> Option<Self> {
        let mut read = Self::default();
        while !bytes.is_empty() {
            let blank = bytes.iter().take(20).position(|&byte| byte == b' ')?;
            let len: usize = std::str::from_utf8(&bytes[..blank]).ok()?.parse().ok()?;
            let record = bytes.get(blank + 1..len)?.strip_suffix(b"\n")?;
            let equals = record.iter().position(|&byte| byte == b'=')?;
            let (key, value) = (&record[..equals], &record[equals + 1..]);
            match key {
                b"path" => read.name = Some(value.to_vec()),
                b"size" => read.size = Some(std::str::from_utf8(value).ok()?.parse().ok()?),
                _ => read.sparse |= key.starts_with(b"GNU.sparse."),
            }
            bytes = &bytes[len..];
        }
        Some(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_forms() {
        let cases: [(&[u8], Option<u64>); 9] = [
            (b"0000644\0", Some(0o644)),
            (b"   17 \0\0", Some(15)),
            (b"\0\0\0\0\0\0\0\0", Some(0)),
            (b"77777777", Some(0o7777_7777)),
            (b"00009\0\0\0", None),
            (b"+1\0\0\0\0\0\0", None),
            (b"\x80\0\0\0\0\0\0\0\0\0\x01\x02", Some(258)),
            (b"\x80\0\0\x01\0\0\0\0\0\0\0\0", None),
            (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", None),
        ];
        for (field, expected) in cases {
            assert_eq!(number(field), expected, "{field:?}");
        }
    }

    #[test]
    fn records_are_read_to_their_ends() {
        let read = Extended::read(b"15 path=a/b.txt\n12 size=123\n6 x=1\n");
        assert_eq!(read, None, "a length that is one too small");
        let read = Extended::read(b"16 path=a/b.txt\n12 size=123\n6 x=1\n").unwrap_or_default();
        assert_eq!(read, Extended { name: Some(b"a/b.txt".to_vec()), size: Some(123), sparse: false });
        assert!(Extended::read(b"22 GNU.sparse.major=1\n").is_some_and(|read| read.sparse));
        for bad in [&b"9"[..], b"0 =\n", b"99 path=a\n", b"x path=a\n", b"11 size=12 \n", b"7 path\n"] {
            assert_eq!(Extended::read(bad), None, "{bad:?}");
        }
    }
}
