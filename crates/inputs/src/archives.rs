//! Archives of files as tar writes them.

/// Bytes of a header, and where its check sum and its mark stand.
const BLOCK: usize = 512;
const SUM: std::ops::Range<usize> = 148..156;
const MARK: std::ops::Range<usize> = 257..262;

/// Corrects the check sums of all headers, in a form that all archivers know: those of blocks that have the mark of a header.
pub fn seal(bytes: &mut [u8]) {
    for block in bytes.chunks_exact_mut(BLOCK).filter(|block| &block[MARK] == b"ustar") {
        block[SUM].fill(b' ');
        let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
        block[SUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
}
