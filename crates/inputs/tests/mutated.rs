//! Every reader meets changed files of its corpus: none makes it panic, keep busy or take memory without a bound, and each that is refused is refused in words
//! that name a file. What broke a reader once lies in the corpus, which is read as it is first.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use allocation_counter::measure;
use inputs::{READERS, Read, Reader, Scratch, mutate::Mutator};
use rustix::time::{ClockId, clock_gettime};
use std::{fs, path::PathBuf, time::Duration};

/// Processor time that a reader gets: in seconds, and with NETLOOM_LONG.
const SHORT: f64 = 0.7;
const LONG: f64 = 60.0;
/// Most changed files of a short test: the same ones on every machine that is not too slow for them.
const FILES: u64 = 800;
/// Processor time, in seconds, in which a file of these sizes must be read: a thousand times what it takes.
const BOUND: f64 = 10.0;
/// Elapsed time after which a file keeps a reader for ever.
const HANGS: Duration = Duration::from_secs(180);

fn seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn corpus(reader: &Reader) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus")).join(reader.name);
    let mut names: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    // What cargo-fuzz found on this machine is named by its hash; ours have names.
    names.retain(|path| path.file_name().is_some_and(|name| name.len() != 40));
    names.sort();
    names.iter().map(|path| fs::read(path).unwrap()).chain((reader.made)()).collect()
}

/// What breaks a reader on one machine breaks it on every other: the changes are drawn, and what is changed is the same.
#[test]
fn what_is_made_is_the_same_each_time() {
    for reader in READERS {
        assert!((reader.made)() == (reader.made)(), "{}", reader.name);
    }
}

/// Reads an input, with all bounds.
fn bounded(reader: &Reader, scratch: &mut Scratch, bytes: &[u8], which: &str) -> bool {
    let before = seconds();
    let mut taken = false;
    let memory = measure(|| taken = reader.check(scratch, bytes)).bytes_max;
    let (took, most) = (seconds() - before, reader.base + reader.per_byte * bytes.len() as u64);
    assert!(took < BOUND, "{}, {which}: {took:.1} s for {} bytes", reader.name, bytes.len());
    assert!(
        memory <= most,
        "{}, {which}: {memory} bytes of memory for {} bytes, {most} are promised",
        reader.name,
        bytes.len()
    );
    taken
}

/// Runs a reader over its corpus, then over changes of it.
fn read(reader: &Reader, said: &dyn Fn(String)) {
    let (corpus, mut scratch) = (corpus(reader), Scratch::new());
    assert!(!corpus.is_empty(), "{} has no corpus", reader.name);
    let mut taken = 0;
    for (n, bytes) in corpus.iter().enumerate() {
        said(format!("{}, file {n} of the corpus", reader.name));
        taken += u32::from(bounded(reader, &mut scratch, bytes, &format!("file {n} of the corpus")));
    }
    assert!(taken > 0, "{}: no file of the corpus is taken", reader.name);
    let long = std::env::var_os("NETLOOM_LONG").is_some();
    let (begun, most) = (seconds(), if long { LONG } else { SHORT });
    for number in 0.. {
        if seconds() - begun > most || (number >= FILES && !long) {
            break;
        }
        let which = format!("changed file {number}");
        said(format!("{}, {which}", reader.name));
        let mut bytes = Mutator::new(&corpus, number).draw();
        bounded(reader, &mut scratch, &bytes, &which);
        if let Some(seal) = reader.seal.filter(|_| number % 2 == 0) {
            seal(&mut bytes);
            bounded(reader, &mut scratch, &bytes, &format!("{which}, sealed"));
        }
    }
}

/// Runs a reader in a thread of its own, which is watched.
fn watched(name: &str) {
    let reader = Reader::named(name);
    common::watched(HANGS, move |said| read(reader, said));
}

/// A test for each reader, in the order of [`READERS`].
macro_rules! readers {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            watched(stringify!($name));
        })*

        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

readers!(
    experiment goal_text goal_binary ranks packed trace_list tar simgrid_ti allprof dumpi chakra_json chakra otf2 dot ibnetdiscover ibnetdiscover_ports
    iblinkinfo db_csv subnet_lst forwarding lanes graph platform_xml platform_json routing_table source_routes pairs pairs_csv htsim matrix sizes placement
    predictor fits scenarios mapping pair_list portals_record checkpoint run sweep
);

/// Readers that break a promise are found.
#[test]
fn planted_faults_are_found() {
    let planted: [(&str, Read); 4] = [
        ("none", |_| Ok(())),
        ("a panic", |files| {
            assert!(!fs::read(&files[0]).unwrap().contains(&0), "planted");
            Ok(())
        }),
        ("an error that names no file", |files| {
            if fs::read(&files[0]).unwrap().contains(&0) { Err("planted".to_owned()) } else { Ok(()) }
        }),
        ("memory", |_| {
            drop(vec![1u8; 32 << 20]);
            Ok(())
        }),
    ];
    for (fault, read_it) in planted {
        let reader =
            Reader { name: "graph", read: read_it, per_byte: 400, base: 8 << 20, made: Vec::new, seal: None };
        let found = std::panic::catch_unwind(|| read(&reader, &|_| ())).is_err();
        assert_eq!(found, fault != "none", "{fault}");
    }
}

/// Each reader has its test here and its target in `fuzz/`.
#[test]
fn no_reader_is_left_out() {
    let names: Vec<&str> = READERS.iter().map(|r| r.name).collect();
    assert_eq!(names, TESTED);
    let manifest = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/Cargo.toml")).unwrap();
    let targets: Vec<&str> = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))
        .skip(1)
        .collect();
    assert_eq!(names, targets, "the targets of fuzz/Cargo.toml are the readers");
}
