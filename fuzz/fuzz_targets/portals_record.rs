//! Any bytes are read as a record of a Portals program, step by step, or refused in words; reading ends.
//!
//! `cargo +nightly fuzz run portals_record`

#![no_main]

use libfuzzer_sys::fuzz_target;
use portals::record::Record;
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut record) = Record::open(Box::new(Cursor::new(bytes.to_vec()))) else { return };
    for rank in 0..record.trailer.ranks.len().min(64) as u32 {
        let mut left = bytes.len();
        while let Ok(Some(_)) = record.next(rank) {
            assert!(left > 0, "a rank has no more steps than there are bytes");
            left -= 1;
        }
    }
});
