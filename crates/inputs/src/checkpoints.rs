//! Checkpoints: refused if they are damaged; with the right hash and another content refused, or gone on with to an end.

use crate::{experiments::SMALL, text};
use netloom::{
    Input, Registry, RunOptions, Silent, Watcher,
    checkpoint::{self, Header},
    execute::execute_saved,
    model::{Progress, run::Watch},
    prepare::{Prepared, prepare_text},
};
use std::{
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

/// The build that wrote it, in these tests.
const BUILD: &str = "inputs";
/// Bytes of the hash at the end.
const HASH: usize = 32;

/// What they run, on the machine of [`SMALL`], and by which model.
const EXPERIMENTS: [(&str, &str); 3] = [(TRAFFIC, PACKET), (RING, PACKET), (RING, DELAY)];
const TRAFFIC: &str =
    "[experiment]\nduration = \"4 us\"\n[[job]]\nworkload = \"uniform\"\nmessage = \"512 B\"\nload = 0.3\n";
const RING: &str =
    "[experiment]\nuntil = \"workload-done\"\nlimit = \"1 ms\"\n[[job]]\nworkload = \"ring\"\nranks = 4\n";
const PACKET: &str = "[model]\nkind = \"packet\"\npacket = \"512 B\"\nchunk = \"64 B\"\n";
const DELAY: &str = "[model]\nkind = \"delay\"\n";

fn prepared(number: usize) -> Prepared {
    let input = Input { file: "experiment".into(), set: Vec::new() };
    let (experiment, model) = EXPERIMENTS[number % EXPERIMENTS.len()];
    let text = format!("{SMALL}{model}{experiment}");
    prepare_text(
        &Registry::standard(),
        &input,
        text,
        &RunOptions { partitions: Some(1), ..RunOptions::default() },
        &Silent,
    )
    .unwrap_or_else(|e| panic!("it is well formed: {e}"))
}

/// Leaves a run after some pauses, each of a quarter of a million events: an honest one has none.
struct Impatient(AtomicU32);

impl Watcher for Impatient {
    fn leaves(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) > 2
    }
}

/// A checkpoint: its run goes on, or it is refused.
pub fn checkpoint(files: &[PathBuf]) -> Result<(), String> {
    let (header, state) = checkpoint::load(&files[0], BUILD).map_err(|e| text::of(&e))?;
    let name = files[0].display();
    let prepared = prepared(header.threads as usize);
    let watcher = Impatient(AtomicU32::new(0));
    let gone = execute_saved(&prepared, &watcher, None, Some(&state));
    gone.map(drop).map_err(|e| format!("{name}: {}", text::of(&e)))
}

/// Checkpoints of these experiments in their middle.
pub fn made() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("the directory for temporary files takes a folder");
    let made = (0..EXPERIMENTS.len()).map(|number| {
        let prepared = prepared(number);
        let mut kept = Vec::new();
        let mut pause = |_: Progress, save: &mut dyn FnMut() -> Vec<u8>| {
            kept = save();
            false
        };
        drop(prepared.run.watch(Watch { every: 300_000, ..Watch::new(&mut pause) }));
        assert!(!kept.is_empty(), "the run has a middle");
        let path = folder.path().join("made.checkpoint");
        let header =
            Header { build: BUILD.to_owned(), threads: number as u32, partitions: 1, ..Header::default() };
        checkpoint::store(&path, &header, &kept).unwrap_or_else(|e| panic!("{e}"));
        std::fs::read(path).expect("it was just written")
    });
    made.collect()
}

/// Gives a checkpoint the hash, and the lengths of its parts, of what it holds.
pub fn seal(bytes: &mut [u8]) {
    let Some(body) = bytes.len().checked_sub(HASH) else { return };
    let hash = blake3::hash(&bytes[..body]);
    bytes[body..].copy_from_slice(hash.as_bytes());
}
