//! Any bytes are read as a cluster's file or refused with mistakes; what is read is verified without panic, and written and read
//! again as the same network. The first byte chooses whether a network file stands before the bytes, so that tables and lanes are met.
//!
//! `cargo +nightly fuzz run cluster fuzz/corpus/cluster crates/fabric/tests/data`

#![no_main]

use fabric::{
    export::cluster as write,
    import::{self, Source},
    verify::verify,
};
use libfuzzer_sys::fuzz_target;

/// A network that table dumps can belong to.
const NET: &str = "Switch 4 \"L0\"\n[1] \"H0\"[1]\n[2] \"H1\"[1]\n[3] \"T0\"[1]\n\nHca 1 \"H0\"\n\nHca 1 \"H1\"\n\nSwitch 4 \"T0\"\n";

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let mut sources = vec![Source::memory("fuzz", rest)];
    if first % 2 == 1 {
        sources.push(Source::memory("fuzz.net", NET.as_bytes()));
    }
    match import::read(sources) {
        Err(problems) => assert!(!problems.is_empty()),
        Ok(subnet) => {
            if let Some(tables) = subnet.tables.as_ref().filter(|_| subnet.nodes.len() < 100) {
                drop(verify(&subnet, tables));
            }
            let mut dot = Vec::new();
            write::dot(&subnet, &mut dot).expect("memory takes it");
            if !subnet.edges.is_empty() && subnet.tables.is_some() {
                let again = import::read(vec![Source::memory("again.dot", &dot)]).expect("what is written can be read");
                assert_eq!(subnet.edges.len(), again.edges.len());
            }
            drop(subnet.fabric());
        }
    }
});
