//! What it costs to turn MPI calls into operations.
//!
//! `cargo bench -p netloom-workload --bench lowering`. A wavefront's rank (two receives, a computation, two sends), a halo exchange
//! with requests, and collectives of 4,096 ranks. Prints nanoseconds of processor time per operation; the first column is the script's own cost.
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use base::index::RankId;
use std::{fs, sync::Arc};
use workload::program::{
    Batch, Damage,
    collective::{Choice, Chooser, TABLES},
    lower::{Options, lower},
    mpi::{Call, Calls, Collective, CollectiveKind, CommRank, Envelope, Mode, Script, WORLD},
};

const RANKS: u32 = 4096;

/// Processor time of this thread in nanoseconds: other programs do not count.
fn cpu_ns() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("the benchmark runs on Linux");
    text.split(' ').next().and_then(|n| n.parse().ok()).expect("the first field is a number")
}

/// One rank's calls, over and over.
struct Loop {
    calls: Vec<Call>,
    times: u64,
}

struct Turn {
    calls: Vec<Call>,
    next: usize,
    left: u64,
}

impl Script for Loop {
    fn ranks(&self) -> u32 {
        RANKS
    }
    fn open(&self, _: RankId) -> Box<dyn Calls> {
        Box::new(Turn { calls: self.calls.clone(), next: 0, left: self.times })
    }
    fn describe(&self, _: RankId, position: u32) -> String {
        position.to_string()
    }
    fn makes_communicators(&self) -> bool {
        false
    }
}

impl Calls for Turn {
    fn next(&mut self) -> Result<Option<(Call, u32)>, Damage> {
        if self.next == self.calls.len() {
            self.next = 0;
            self.left -= 1;
        }
        if self.left == 0 {
            return Ok(None);
        }
        let position = self.next;
        self.next += 1;
        Ok(Some((self.calls[position].clone(), position as u32)))
    }
}

fn measure(name: &str, calls: Vec<Call>, times: u64, chooser: Chooser) {
    let script = Arc::new(Loop { calls, times });
    let start = cpu_ns();
    let (mut reader, mut read) = (script.open(RankId::new(1000)), 0u64);
    while let Ok(Some(call)) = reader.next() {
        std::hint::black_box(&call);
        read += 1;
    }
    let script_ns = cpu_ns() - start;
    let options = Options { chooser, reduce_ps_per_byte: 0 };
    let program = lower(script, options).expect("the script makes no communicators");
    let (mut cursor, mut batch, mut ops) = (program.open(RankId::new(1000)), Batch::default(), 0u64);
    let start = cpu_ns();
    loop {
        batch.clear();
        cursor.fill(&mut batch).expect("the calls are valid");
        if batch.ops.is_empty() {
            break;
        }
        ops += std::hint::black_box(&batch).ops.len() as u64;
    }
    let total_ns = cpu_ns() - start;
    println!(
        "{name:28} {read:9} calls {ops:9} operations  script {:5.1} ns/op  lowered {:5.1} ns/op",
        script_ns / ops as f64,
        total_ns / ops as f64
    );
}

fn main() {
    let message = |peer| Envelope { peer: CommRank::new(peer), tag: 1, bytes: 240, comm: WORLD };
    let send = |peer| Call::Send(message(peer), Mode::Standard);
    let simple = || Chooser::new(&TABLES[0]);
    let wavefront =
        vec![Call::Recv(message(936)), Call::Recv(message(999)), Call::Compute(10), send(1064), send(1001)];
    measure("wavefront", wavefront, 4_000_000, simple());
    let halo =
        (0..4).flat_map(|i| [Call::Irecv(message(i), i), Call::Isend(message(i), Mode::Standard, 4 + i)]);
    let halo = halo.chain([Call::Waitall((0..8).collect())]).collect();
    measure("halo exchange", halo, 2_000_000, simple());
    let collective = |kind, bytes| {
        let (counts, neighbours, request, algorithm) = (None, None, None, None);
        vec![Call::Collective(Collective {
            kind,
            comm: WORLD,
            root: CommRank::new(0),
            bytes,
            counts,
            neighbours,
            request,
            algorithm,
        })]
    };
    let with = |kind, name| simple().with(kind, Choice::named(kind, name).expect("it is registered"));
    use CollectiveKind::{Allreduce, Alltoall, Barrier};
    measure("barrier", collective(Barrier, 0), 200_000, simple());
    measure("allreduce, ring", collective(Allreduce, 1 << 20), 1_000, with(Allreduce, "ring"));
    measure("all-to-all, linear", collective(Alltoall, 8), 1_000, with(Alltoall, "linear"));
    measure("all-to-all, pairwise", collective(Alltoall, 8), 1_000, with(Alltoall, "pairwise"));
}
