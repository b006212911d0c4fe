//! Records of Portals programs, replayed on a machine of two terminals.

use base::index::RankId;
use netloom::{Input, Registry, RunOptions, Silent, prepare::machine_of_text};
use portals::{
    core::{call::Call, types::Count},
    record::{MAGIC, Record, Recorder, Step, sum},
    replay,
};
use std::{
    fs::File,
    io::{BufReader, Write},
    path::PathBuf,
    sync::{Arc, Mutex},
};

const MACHINE: &str = r#"
[experiment]
until = "workload-done"
limit = "1 ms"
[fabric]
topology = "single-switch"
terminals = 4
link.terminal = { bandwidth = "10 GB/s", latency = "100 ns", credit_delay = "100 ns", vc_buffer = "16 KiB" }
[routing]
algorithm = "shortest-path"
[model]
kind = "delay"
latency = "1 us"
[portals]
"#;

/// A record: its steps end, and replaying it ends or is refused.
pub fn record(files: &[PathBuf]) -> Result<(), String> {
    let name = files[0].display().to_string();
    let open = || {
        let file = File::open(&files[0]).expect("the folder is ours");
        Record::open(Box::new(BufReader::new(file))).map_err(|why| format!("cannot replay `{name}`: {why}"))
    };
    let mut record = open()?;
    let size = std::fs::metadata(&files[0]).expect("the folder is ours").len();
    for rank in RankId::first(record.trailer.ranks.len().min(64) as u32) {
        let mut left = size;
        while record.next(rank).map_err(|why| format!("cannot replay `{name}`: {why}"))?.is_some() {
            left = left.checked_sub(1).expect("a rank has no more steps than there are bytes");
        }
    }
    let ranks = record.trailer.ranks.len() as u32;
    let input = Input { file: files[0].clone(), set: Vec::new() };
    let machine =
        machine_of_text(&Registry::standard(), &input, MACHINE, ranks, &RunOptions::default(), &Silent);
    let (network, params) = machine.map_err(|e| format!("cannot replay `{name}`: {e}"))?;
    replay::run(open()?, network, params).map(drop).map_err(|why| format!("cannot replay `{name}`: {why}"))
}

/// Bytes that two owners share: the recorder keeps one.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody fails with it").write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A record with every kind of step.
pub fn made() -> Vec<Vec<u8>> {
    let to = Shared::default();
    let mut recorder = Recorder::new(Box::new(to.clone()), "made", 2, 1).expect("memory takes it");
    for rank in RankId::first(2) {
        recorder.asked(rank, Call::Init, Ok(0), Vec::new());
        recorder.asked(rank, Call::NiInit { options: 5, pid: 0, desired: None }, Ok(0), Vec::new());
        recorder.asked(rank, Call::CtAlloc(0), Ok(1), Vec::new());
        recorder.step(rank, Step::Compute(1000));
        recorder.step(rank, Step::Sleep(2000, true));
        recorder.step(rank, Step::Barrier);
        recorder.events(rank, vec![7], 0, false);
        recorder.counts(rank, vec![(1, 1)], 0, false);
        recorder.step(rank, Step::Count { counter: 1, shown: Count::default(), again: 2 });
        recorder.asked(rank, Call::NiFini(0), Ok(0), Vec::new());
        recorder.ended(rank, 10_000);
    }
    recorder.finish(20_000, 0, 0, vec![(9, 1)]).expect("memory takes it");
    vec![std::mem::take(&mut to.0.lock().expect("nobody fails with it"))]
}

/// Gives blocks and trailer the check sums of what they hold, as far as they can be found.
pub fn seal(bytes: &mut [u8]) {
    let number = |bytes: &[u8], at: usize, n: usize| {
        bytes.get(at..at + n).map(|b| b.iter().rev().fold(0u64, |w, &b| w << 8 | u64::from(b)))
    };
    let Some(foot) = bytes.len().checked_sub(32) else { return };
    bytes[foot + 24..].copy_from_slice(&MAGIC);
    // The trailer ends where the foot begins, wherever that is now.
    let at = number(bytes, foot, 8).unwrap_or(0).min(foot as u64) as usize;
    let length = ((foot - at) as u64).to_le_bytes();
    bytes[foot + 8..foot + 16].copy_from_slice(&length);
    let check = sum(&bytes[at..foot]).to_le_bytes();
    bytes[foot + 16..foot + 24].copy_from_slice(&check);
    let mut block = MAGIC.len();
    while let Some(length) = number(bytes, block + 4, 4) {
        let end = block + 16 + length as usize;
        if length == 0 || end > at {
            break;
        }
        let check = sum(&bytes[block + 16..end]).to_le_bytes();
        bytes[block + 8..block + 16].copy_from_slice(&check);
        block = end;
    }
}
