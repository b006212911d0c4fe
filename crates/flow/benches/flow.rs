#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
//! Processor time of the flow model: `cargo bench -p netloom-flow --bench flow [-- FILTER] [-- runs=N]`.
//!
//! Prints a row per case: minimum, median and maximum of CPU seconds, microseconds per message of the median, and peak memory. Networks and programs are made before the
//! clock starts. Links have 12.5 GB/s and 200 ns. Times are measured, never asserted.
//!
//! `cargo bench -p netloom-flow --bench flow -- errors` prints how far messages are off with an accuracy of 0.3, 1 and 3 %: relative errors of their latencies against exact mode.

use base::{index::RankId, time::Ps};
use fabric::graph::Fabric;
use flow::{FlowConfig, FlowSetup, rules::Rules, samples, simulate};
use model::samples::{int, link, open_loop, routing, topology};
use results::table::Column;
use std::sync::Arc;
use workload::{
    program::list::{List, Rank, recv, send},
    registry::Work,
    traffic::Message,
};

/// Messages of each rank in the order of their times.
fn pairs(all: Vec<Vec<Message>>) -> Work {
    open_loop(move |rank, index, _| all[rank.index()].get(index as usize).copied())
}

/// Numbers without order, the same in every run.
fn size(n: u64) -> u64 {
    500_000 + base::hash::mix64(n) % 1_000_000
}

/// Everybody sends to everybody at once.
fn all_at_once(hosts: u32, bytes: impl Fn(u64) -> u64) -> Work {
    let of = |from: u32| {
        let others = (0..hosts).filter(|&to| to != from);
        others
            .map(|to| Message {
                time: 0,
                destination: RankId::new(to),
                bytes: bytes(u64::from(from) << 32 | u64::from(to)),
            })
            .collect()
    };
    pairs((0..hosts).map(of).collect())
}

/// So many flows at once between random hosts.
fn random_at_once(hosts: u32, flows: u64, bytes: impl Fn(u64) -> u64) -> Work {
    let mut all: Vec<Vec<Message>> = vec![Vec::new(); hosts as usize];
    for n in 0..flows {
        let draw = base::hash::mix64(n ^ 0x5EED);
        let from = (draw % u64::from(hosts)) as u32;
        let to = (from + 1 + (draw >> 32) as u32 % (hosts - 1)) % hosts;
        all[from as usize].push(Message { time: 0, destination: RankId::new(to), bytes: bytes(n) });
    }
    pairs(all)
}

/// Messages of 1 kB to 1 MB, as many in each decade, that arrive at random at half of what the hosts' links carry.
fn arriving(hosts: u32, each: u64) -> Work {
    let unit = |n: u64| (base::hash::mix64(n) >> 11) as f64 / (1u64 << 53) as f64;
    let of = |from: u32| {
        let (mut at, mut all) = (0f64, Vec::new());
        for n in 0..each {
            let draw = u64::from(from) << 32 | n << 2;
            // The mean is 145 kB, which take 11.6 us.
            at -= 23.1e6 * (1.0 - unit(draw)).ln();
            let to = (from + 1 + (unit(draw | 1) * f64::from(hosts - 1)) as u32) % hosts;
            let bytes = 10f64.powf(3.0 + 3.0 * unit(draw | 2)) as u64;
            all.push(Message { time: at as Ps, destination: RankId::new(to), bytes });
        }
        all
    };
    pairs((0..hosts).map(of).collect())
}

/// So many flows at once from host 0 to host 1.
fn one_pair(hosts: u32, flows: u64) -> Work {
    let mut all: Vec<Vec<Message>> = vec![Vec::new(); hosts as usize];
    all[0].extend((0..flows).map(|n| Message { time: 0, destination: RankId::new(1), bytes: size(n) }));
    pairs(all)
}

/// In step d everybody sends to the rank d after it and receives from the one d before, then goes on.
fn pairwise(ranks: u32, bytes: u64) -> Work {
    let one = |r: u32| {
        let mut rank = Rank::default();
        let mut before: Option<(u64, u64)> = None;
        for d in 1..ranks {
            let to = rank.push(send((r + d) % ranks, bytes, d));
            let from = rank.push(recv((r + ranks - d) % ranks, bytes, d));
            if let Some((sent, received)) = before {
                for now in [to, from] {
                    rank.requires(now, sent);
                    rank.requires(now, received);
                }
            }
            before = Some((to, from));
        }
        rank
    };
    program((0..ranks).map(one).collect())
}

/// Rank 2 i sends to 2 i + half one message after the other, each when the one before was answered without bytes.
fn in_turn(ranks: u32, count: u32, bytes: u64) -> Work {
    let half = ranks / 2;
    let one = |r: u32| {
        let (mut rank, mut before) = (Rank::default(), None);
        let other = (r + half) % ranks;
        for n in 0..count {
            let first = if r < half { send(other, bytes, n) } else { recv(other, bytes, n) };
            let second = if r < half { recv(other, 0, n) } else { send(other, 0, n) };
            let first = rank.push(first);
            let second = rank.push(second);
            rank.requires(second, first);
            if let Some(before) = before {
                rank.requires(first, before);
            }
            before = Some(second);
        }
        rank
    };
    program((0..ranks).map(one).collect())
}

fn program(ranks: Vec<Rank>) -> Work {
    Work::Program(Arc::new(List::new(ranks)))
}

fn setup(fabric: &Arc<Fabric>, algorithm: &str, work: Work) -> FlowSetup {
    let config = FlowConfig { eager: 1 << 30, ..FlowConfig::new(Rules::plain()) };
    let links = vec![link(12_500_000_000, 200_000, 2, 1024); fabric.classes().len()];
    FlowSetup { links, ..samples::setup(fabric, Some(routing(fabric, algorithm, &[])), work, config) }
}

fn tree(k: u64, work: Work) -> FlowSetup {
    setup(&topology("fat-tree", &[("k", int(k)), ("levels", int(2))]), "d-mod-k", work)
}

/// Five levels of routers of 8 ports, 1,024 hosts.
fn deep_tree(work: Work) -> FlowSetup {
    setup(&topology("fat-tree", &[("k", int(4)), ("levels", int(5))]), "d-mod-k", work)
}

fn torus(dims: &[u64], work: Work) -> FlowSetup {
    let dims = base::param::Value::Ints(dims.to_vec());
    setup(&topology("torus", &[("dims", dims)]), "dimension-order", work)
}

/// Dragonfly of 33 groups whose messages are divided over all routers between if that takes no more links than `most`; they take one path if that is zero.
fn valiant(routers: u64, terminals: u64, most: u64, work: Work) -> FlowSetup {
    let sizes = [
        ("groups", 33),
        ("routers_per_group", routers),
        ("terminals_per_router", terminals),
        ("global_ports_per_router", 4),
    ];
    let fabric = topology("dragonfly", &sizes.map(|(name, n)| (name, int(n))));
    let setup = setup(&fabric, "valiant", work);
    FlowSetup { config: FlowConfig { divided: most > 0, max_links: most, ..setup.config }, ..setup }
}

struct Case {
    name: &'static str,
    setup: fn() -> FlowSetup,
}

const CASES: &[Case] = &[
    Case { name: "tree-256 pairwise all-to-all 10 kB", setup: || tree(16, pairwise(256, 10_000)) },
    Case { name: "tree-64 4032 at once, equal", setup: || tree(8, all_at_once(64, |_| 1_000_000)) },
    Case { name: "tree-64 4032 at once, different", setup: || tree(8, all_at_once(64, size)) },
    Case { name: "torus-64 4032 at once, equal", setup: || torus(&[4; 3], all_at_once(64, |_| 1_000_000)) },
    Case { name: "torus-64 4032 at once, different", setup: || torus(&[4; 3], all_at_once(64, size)) },
    Case { name: "pair 10^4 different", setup: || tree(8, one_pair(64, 10_000)) },
    Case { name: "pair 10^5 different", setup: || tree(8, one_pair(64, 100_000)) },
    Case {
        name: "tree-1024 10^4 random, equal",
        setup: || tree(32, random_at_once(1024, 10_000, |_| 1_000_000)),
    },
    Case {
        name: "tree-1024 10^5 random, equal",
        setup: || tree(32, random_at_once(1024, 100_000, |_| 1_000_000)),
    },
    Case { name: "tree-1024 10^4 random, different", setup: || tree(32, random_at_once(1024, 10_000, size)) },
    Case {
        name: "tree-1024 2*10^4 random, different",
        setup: || tree(32, random_at_once(1024, 20_000, size)),
    },
    Case {
        name: "tree-1024 3*10^4 random, different",
        setup: || tree(32, random_at_once(1024, 30_000, size)),
    },
    Case {
        name: "tree-1024 3*10^4 random, within 1 %",
        setup: || within_a_percent(tree(32, random_at_once(1024, 30_000, size))),
    },
    Case {
        name: "tree-1024 10^6 random, within 1 %",
        setup: || within_a_percent(tree(32, random_at_once(1024, 1_000_000, size))),
    },
    Case {
        name: "deep-tree-1024 10^4 random, different",
        setup: || deep_tree(random_at_once(1024, 10_000, size)),
    },
    Case {
        name: "deep-tree-1024 2*10^4 random, different",
        setup: || deep_tree(random_at_once(1024, 20_000, size)),
    },
    Case {
        name: "deep-tree-1024 3*10^4 random, different",
        setup: || deep_tree(random_at_once(1024, 30_000, size)),
    },
    Case { name: "tree-64 10^4 random, different", setup: || tree(8, random_at_once(64, 10_000, size)) },
    Case {
        name: "valiant-1056 10^3 random, different, divided",
        setup: || valiant(8, 4, 4096, random_at_once(1056, 1000, size)),
    },
    Case {
        name: "valiant-1056 10^3 random, different, single",
        setup: || valiant(8, 4, 0, random_at_once(1056, 1000, size)),
    },
    Case {
        name: "valiant-8448 10^3 random, equal, divided",
        setup: || valiant(32, 8, 1 << 20, random_at_once(8448, 1000, |_| 1_000_000)),
    },
    Case {
        name: "valiant-8448 10^3 random, different, divided",
        setup: || valiant(32, 8, 1 << 20, random_at_once(8448, 1000, size)),
    },
    Case {
        name: "valiant-8448 10^3 random, different, 4096 links",
        setup: || valiant(32, 8, 4096, random_at_once(8448, 1000, size)),
    },
    Case {
        name: "valiant-8448 10^3 random, different, single",
        setup: || valiant(32, 8, 0, random_at_once(8448, 1000, size)),
    },
    Case { name: "torus-1000 20000 in turn, 1 MB", setup: || torus(&[10; 3], in_turn(1000, 40, 1_000_000)) },
];

/// The same, exact to 1 % of the times.
fn within_a_percent(setup: FlowSetup) -> FlowSetup {
    FlowSetup { config: FlowConfig { accuracy: 0.01, ..setup.config }, ..setup }
}

/// Latency of every message, by source and number.
fn latencies(setup: &FlowSetup) -> Vec<(u32, u32, u64)> {
    let finished = simulate(setup, &mut |_| true).expect("the case can be simulated");
    let table = finished.tables.iter().find(|t| t.name() == "messages").expect("messages are asked for");
    let u32s = |name| match table.column(name) {
        Some(Column::U32(values)) => values.clone(),
        _ => Vec::new(),
    };
    let Some(Column::U64(times)) = table.column("latency_ps") else { return Vec::new() };
    let ends = u32s("source").into_iter().zip(u32s("number"));
    let mut all: Vec<_> = ends.zip(times).map(|((source, number), &time)| (source, number, time)).collect();
    all.sort_unstable();
    all
}

/// What an accuracy costs in exactness.
fn errors() {
    println!("{:40} {:>8} {:>8} {:>8} {:>8}", "case (relative error, %)", "accuracy", "mean", "99th", "max");
    type Made = fn() -> Work;
    let cases: [(&str, Made); 3] = [
        ("tree-1024 10^4 random, different", || random_at_once(1024, 10_000, size)),
        ("tree-1024 3*10^4 random, different", || random_at_once(1024, 30_000, size)),
        ("tree-1024 arriving at half load, 20 each", || arriving(1024, 20)),
    ];
    for (name, work) in cases {
        let mut setup = tree(32, work());
        setup.measure.messages = true;
        let exact = latencies(&setup);
        for accuracy in [0.003, 0.01, 0.03] {
            setup.config.accuracy = accuracy;
            let near = latencies(&setup);
            let pairs = exact.iter().zip(&near);
            let mut errors: Vec<f64> =
                pairs.map(|(e, n)| (n.2 as f64 / e.2 as f64 - 1.0).abs() * 100.0).collect();
            errors.sort_by(f64::total_cmp);
            let (mean, last) = (errors.iter().sum::<f64>() / errors.len() as f64, errors.len() - 1);
            let percent = accuracy * 100.0;
            println!(
                "{name:40} {percent:8.1} {mean:8.3} {:8.3} {:8.3}",
                errors[last * 99 / 100],
                errors[last]
            );
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if args.iter().any(|a| a == "errors") {
        return errors();
    }
    let runs = args.iter().find_map(|a| a.strip_prefix("runs=")?.parse().ok()).unwrap_or(3);
    let filter = args.iter().find(|a| !a.starts_with("runs="));
    println!("{:40} {:>8} {:>8} {:>8} {:>8} {:>8}", "case (CPU s)", "min", "median", "max", "us/msg", "MiB");
    for case in CASES.iter().filter(|c| filter.is_none_or(|f| c.name.contains(f.as_str()))) {
        let setup = (case.setup)();
        let mut times: Vec<f64> = Vec::new();
        let (mut messages, mut memory) = (0.0, 0.0);
        for _ in 0..runs {
            let finished = simulate(&setup, &mut |_| true).expect("the case can be simulated");
            let p = finished.summary.performance.expect("every run is measured");
            times.push(p.cpu_s.unwrap_or(p.wall_s));
            memory = p.peak_rss_bytes.unwrap_or(0) as f64 / 1048576.0;
            messages = finished.summary.messages.map_or(1.0, |m| m.delivered as f64);
        }
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        println!(
            "{:40} {:8.3} {median:8.3} {:8.3} {:8.2} {memory:8.0}",
            case.name,
            times[0],
            times[times.len() - 1],
            median * 1e6 / messages,
        );
    }
}
