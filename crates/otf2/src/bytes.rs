//! Integers and strings in a piece of a file.

use crate::{Error, Result};
use std::path::Path;

/// Order of bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    pub(crate) fn of(mark: u8) -> Option<Self> {
        match mark {
            b'B' => Some(Self::Little),
            b'#' => Some(Self::Big),
            _ => None,
        }
    }
}

/// Reads a piece of a file from its start.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a> {
    rest: &'a [u8],
    /// Place in the file of the first byte of `rest`.
    offset: u64,
    path: &'a Path,
    order: Order,
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(path: &'a Path, offset: u64, bytes: &'a [u8], order: Order) -> Self {
        Self { rest: bytes, offset, path, order }
    }

    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn wrong<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Error::damaged(self.path, self.offset, message))
    }

    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        if n > self.rest.len() {
            return self.wrong(format!(
                "{n} bytes are needed, {} are left: the file is cut off or damaged",
                self.rest.len()
            ));
        }
        let (head, rest) = self.rest.split_at(n);
        self.rest = rest;
        self.offset += n as u64;
        Ok(head)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8> {
        match self.rest.split_first() {
            Some((&byte, rest)) => {
                self.rest = rest;
                self.offset += 1;
                Ok(byte)
            }
            None => self.wrong("the file ends here: it is cut off"),
        }
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        let bytes = self.fixed()?;
        Ok(if self.order == Order::Little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        let bytes = self.fixed()?;
        Ok(if self.order == Order::Little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
    }

    /// A compressed integer; all ones if undefined.
    #[inline]
    pub(crate) fn number(&mut self) -> Result<u64> {
        let n = self.u8()?;
        match n {
            0 => return Ok(0),
            1 => return Ok(self.u8()?.into()),
            0xff => return Ok(u64::MAX),
            _ => {}
        }
        if n > 8 {
            return self.wrong(format!("an integer of {n} bytes"));
        }
        // Eight bytes at once, where they are there: what is not of the integer is masked.
        if let (Order::Little, Some(&word)) = (self.order, self.rest.first_chunk()) {
            self.rest = &self.rest[n.into()..];
            self.offset += u64::from(n);
            return Ok(u64::from_le_bytes(word) & (u64::MAX >> (64 - 8 * u32::from(n))));
        }
        let bytes = self.take(n.into())?;
        let add = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
        Ok(if self.order == Order::Little {
            bytes.iter().rev().fold(0, add)
        } else {
            bytes.iter().fold(0, add)
        })
    }

    /// A compressed 32-bit integer; all ones if undefined.
    #[inline]
    pub(crate) fn number32(&mut self) -> Result<u32> {
        match self.number()? {
            u64::MAX => Ok(u32::MAX),
            n => match u32::try_from(n) {
                Ok(n) => Ok(n),
                Err(_) => self.wrong(format!("{n} does not fit 32 bits")),
            },
        }
    }

    pub(crate) fn text(&mut self) -> Result<String> {
        let Some(end) = self.rest.iter().position(|&b| b == 0) else {
            return self.wrong("a text without its end: the file is cut off or damaged");
        };
        let text = String::from_utf8_lossy(&self.rest[..end]).into_owned();
        self.take(end + 1)?;
        Ok(text)
    }

    /// The body of the record whose type was just read.
    #[inline]
    pub(crate) fn body(&mut self) -> Result<Bytes<'a>> {
        let length = match self.u8()? {
            0xff => self.u64()?,
            n => n.into(),
        };
        let at = self.offset;
        let Ok(length) = usize::try_from(length) else {
            return self.wrong(format!("a record of {length} bytes"));
        };
        let body = self.take(length)?;
        Ok(Bytes { rest: body, offset: at, ..*self })
    }
}

/// Appends a compressed integer.
pub(crate) fn put_number(out: &mut Vec<u8>, value: u64) {
    let n = (64 - value.leading_zeros()).div_ceil(8) as usize;
    out.push(n as u8);
    out.extend_from_slice(&value.to_le_bytes()[..n]);
}

/// Appends a compressed 32-bit integer, `None` as undefined.
pub(crate) fn put_reference(out: &mut Vec<u8>, value: Option<u32>) {
    match value {
        Some(value) => put_number(out, value.into()),
        None => out.push(0xff),
    }
}

/// Appends a string.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().filter(|&b| b != 0));
    out.push(0);
}

/// Appends a record.
pub(crate) fn put_record(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    out.push(kind);
    match u8::try_from(body.len()) {
        Ok(length) if length < 0xff => out.push(length),
        _ => {
            out.push(0xff);
            out.extend_from_slice(&(body.len() as u64).to_le_bytes());
        }
    }
    out.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(value in any::<u64>(), shift in 0..64u32) {
            let value = value >> shift;
            let mut out = Vec::new();
            put_number(&mut out, value);
            let mut bytes = Bytes::new(Path::new("x"), 0, &out, Order::Little);
            prop_assert_eq!(bytes.number().unwrap(), value);
            prop_assert_eq!(bytes.left(), 0);
        }
    }

    #[test]
    fn undefined_is_all_ones_and_long_integers_are_refused() {
        let mut bytes = Bytes::new(Path::new("x"), 0, &[0xff, 0xff, 9, 0], Order::Little);
        assert_eq!((bytes.number().unwrap(), bytes.number32().unwrap()), (u64::MAX, u32::MAX));
        assert!(bytes.number().is_err());
    }
}
