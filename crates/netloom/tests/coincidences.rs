//! Where everything is a multiple of some nanoseconds, arrivals, credits and services fall on the same instants: runs end, and end alike however they are
//! spread.

use base::rng::{Purpose, Stream};
use netloom::Experiment;

/// A link of 1 GB/s, which a chunk of 64 B takes 64 ns: latency in ns, buffer in chunks.
type Link = (u32, u32);

/// A small dragonfly with buffers of few chunks, and a program whose ranks answer each other.
struct Case {
    program: String,
    terminal: Link,
    local: Link,
    global: Link,
    /// Delay of credits in ns, and of routers.
    delays: (u32, u32),
    /// Bytes of a packet.
    packet: u32,
}

impl Case {
    fn text(&self) -> String {
        let Self { program, terminal, local, global, delays: (credit, router), packet } = self;
        let link = |(latency, chunks): &Link| {
            let buffer = chunks * 64;
            format!(
                "{{ bandwidth = \"1 GB/s\", latency = \"{latency} ns\", credit_delay = \"{credit} ns\", vc_buffer = \"{buffer} B\" }}"
            )
        };
        let (terminal, local, global) = (link(terminal), link(local), link(global));
        format!(
            "[experiment]\nname = \"coincidences\"\nuntil = \"workload-done\"\n\
             [fabric]\ntopology = \"dragonfly\"\ngroups = 5\nrouters_per_group = 2\nterminals_per_router = 4\nglobal_ports_per_router = 2\n\
             link.terminal = {terminal}\nlink.local = {local}\nlink.global = {global}\n\
             [routing]\nalgorithm = \"minimal\"\n[[job]]\niterations = 2\n{program}\n\
             [model]\nkind = \"packet\"\nrouter = \"window\"\npacket = \"{packet} B\"\nchunk = \"64 B\"\nvcs = 4\nrouter_delay = \"{router} ns\"\n"
        )
    }
}

fn jacobi(ranks: u32) -> String {
    format!("workload = \"jacobi3d\"\nranks = {ranks}\npoints = [64, 64, 64]\npoint_bytes = \"1 B\"")
}

fn gradient(ranks: u32, bytes: u32) -> String {
    format!("workload = \"conjugate-gradient\"\nranks = {ranks}\nface_bytes = \"{bytes} B\"")
}

/// In these a chunk arrives at the instant at which its port is blocked, after the port had looked ahead without it: its credit was found too late.
fn known() -> Vec<Case> {
    let case = |program, terminal, local, global, delays, packet| Case {
        program,
        terminal,
        local,
        global,
        delays,
        packet,
    };
    vec![
        case(jacobi(6), (192, 1), (128, 16), (128, 4), (64, 0), 128),
        case(jacobi(16), (0, 4), (64, 16), (64, 16), (32, 64), 256),
    ]
}

fn random(seed: u64) -> Case {
    let mut random = Stream::new(seed, Purpose::Test, 0);
    let mut pick = |all: &[u32]| all[random.below(all.len() as u64) as usize];
    let (ranks, bytes) = (pick(&[4, 6, 8, 12, 16]), pick(&[64, 256, 512]));
    let program = match pick(&[0, 1, 2]) {
        0 => jacobi(ranks),
        1 => gradient(ranks, bytes),
        _ => {
            format!(
                "workload = \"collective\"\noperation = \"alltoall\"\nranks = {ranks}\nvector = \"{bytes} B\""
            )
        }
    };
    Case {
        program,
        terminal: (pick(&[0, 32, 64, 128, 192]), pick(&[1, 2, 3, 4, 8])),
        local: (pick(&[64, 128]), pick(&[4, 16])),
        global: (pick(&[64, 128]), pick(&[4, 16])),
        delays: (pick(&[16, 32, 64]), pick(&[0, 32, 64, 128])),
        packet: pick(&[64, 128, 256, 1024]),
    }
}

#[test]
fn programs_end_where_everything_happens_at_once() {
    for (number, case) in known().into_iter().chain((0..300).map(random)).enumerate() {
        let text = case.text();
        let run = |partitions: u32| {
            let spread = format!("{text}[engine]\npartitions = {partitions}\n");
            let done = Experiment::from_text(spread).run().unwrap_or_else(|e| panic!("{e}\n{text}"));
            done.summary.fingerprint
        };
        let one = run(1);
        if number % 8 == 0 {
            assert_eq!(run(3), one, "{text}");
        }
    }
}
