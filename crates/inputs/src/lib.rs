//! Every kind of file that Netloom reads, with a function that reads it as the program does and checks what it promises of strangers' files
//! (SECURITY.md): it is read, or refused in words that name a file; what has a writer is written and read again as the same.
//!
//! The fuzz targets in `fuzz/` feed these functions with what libFuzzer makes, `tests/mutated.rs` with seeded mutations of the same corpus. This crate
//! is no part of the program.

mod archives;
mod bundle;
mod checkpoints;
mod clusters;
mod experiments;
pub mod mutate;
mod networks;
mod portals_records;
mod programs;
mod stored;
mod text;

pub use bundle::{Scratch, bundle};

/// Reads the files of an input as the program does; the first is the one that is named to it. An error is the text that users see.
pub type Read = fn(&[std::path::PathBuf]) -> Result<(), String>;

/// A kind of file and who reads it.
pub struct Reader {
    /// Name of the fuzz target and of the folder of its corpus.
    pub name: &'static str,
    /// Reads and checks.
    pub read: Read,
    /// Bytes of memory that reading may take for each byte of the input, beside [`Reader::base`].
    pub per_byte: u64,
    /// Bytes of memory that reading may take in any case: buffers, and the small experiment that the file is read for.
    pub base: u64,
    /// Inputs that only a program can make, since they belong to its build: beside those of the corpus.
    pub made: fn() -> Vec<Vec<u8>>,
    /// What is done to bytes so that a changed file is looked at behind its check sums, if it has any.
    pub seal: Option<fn(&mut [u8])>,
}

/// A reader whose corpus is all it begins with.
const fn reader(name: &'static str, read: Read, base: u64, per_byte: u64) -> Reader {
    Reader { name, read, per_byte, base: base << 20, made: Vec::new, seal: None }
}

/// Every reader, in the order in which they are run.
pub const READERS: &[Reader] = &[
    reader("experiment", experiments::experiment, 8, 400),
    reader("goal_text", programs::goal_text, 8, 400),
    reader("goal_binary", programs::goal_binary, 8, 400),
    reader("ranks", programs::program, 16, 400),
    reader("packed", programs::program, 64, 400),
    reader("trace_list", programs::program, 16, 400),
    Reader { seal: Some(archives::seal), ..reader("tar", programs::program, 16, 400) },
    reader("simgrid_ti", programs::program, 16, 400),
    reader("allprof", programs::program, 16, 400),
    reader("dumpi", programs::program, 16, 400),
    reader("chakra_json", programs::program, 16, 400),
    reader("chakra", programs::program, 16, 400),
    reader("otf2", programs::otf2, 32, 400),
    reader("dot", clusters::cluster, 16, 1000),
    reader("ibnetdiscover", clusters::cluster, 16, 1000),
    reader("ibnetdiscover_ports", clusters::cluster, 16, 1000),
    reader("iblinkinfo", clusters::cluster, 16, 1000),
    reader("db_csv", clusters::cluster, 16, 1000),
    reader("subnet_lst", clusters::cluster, 16, 1000),
    reader("forwarding", clusters::cluster, 16, 1000),
    reader("lanes", clusters::cluster, 16, 1000),
    reader("graph", networks::graph, 8, 400),
    reader("platform_xml", networks::platform, 8, 400),
    reader("platform_json", networks::platform, 8, 400),
    reader("routing_table", networks::routing_table, 8, 400),
    reader("source_routes", networks::source_routes, 8, 400),
    reader("pairs", experiments::pairs, 64, 400),
    reader("pairs_csv", experiments::pairs_csv, 64, 400),
    reader("htsim", experiments::htsim, 64, 400),
    reader("matrix", experiments::matrix, 64, 400),
    reader("sizes", experiments::sizes, 64, 400),
    reader("placement", experiments::placement, 64, 400),
    reader("predictor", experiments::predictor, 64, 400),
    reader("fits", experiments::fits, 64, 400),
    reader("scenarios", experiments::scenarios, 64, 400),
    reader("mapping", clusters::mapping, 16, 400),
    reader("pair_list", clusters::pair_list, 16, 400),
    Reader {
        made: portals_records::made,
        seal: Some(portals_records::seal),
        ..reader("portals_record", portals_records::record, 64, 400)
    },
    Reader {
        made: checkpoints::made,
        seal: Some(checkpoints::seal),
        ..reader("checkpoint", checkpoints::checkpoint, 64, 400)
    },
    Reader { made: stored::made_run, ..reader("run", stored::run, 32, 400) },
    Reader { made: stored::made_sweep, ..reader("sweep", stored::sweep, 32, 400) },
];

impl Reader {
    /// The reader of a name.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn named(name: &str) -> &'static Self {
        READERS.iter().find(|r| r.name == name).unwrap_or_else(|| panic!("there is no reader `{name}`"))
    }

    /// Reads an input as a stranger's; true if it was taken, false if it was refused.
    ///
    /// # Panics
    /// If the reader breaks a promise: it panics, an error names no file, or what was written is not read as the same.
    pub fn check(&self, scratch: &mut Scratch, input: &[u8]) -> bool {
        let files = scratch.fill(input);
        let Err(text) = (self.read)(&files) else { return true };
        let folder = scratch.folder().display().to_string();
        assert!(text.contains(&folder), "the error of {} names no file: {text}", self.name);
        false
    }
}
