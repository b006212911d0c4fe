#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
//! Work per CPU second of the packet model: `cargo bench -p netloom-packet [-- FILTER] [-- runs=N]`.
//!
//! Prints a row per case: minimum, median and maximum of millions of chunk-hops (routers visited) per CPU second. Times are
//! measured, never asserted.

use model::setup::Until;
use packet::{Setup, samples, simulate};

struct Case {
    name: &'static str,
    setup: fn() -> Setup,
}

fn dragonfly(nodes: u32, algorithm: &str, load: f64, us: u64) -> Setup {
    let mut setup = samples::dragonfly(nodes, algorithm, "constant", load);
    setup.until = Until::Time(us * 1_000_000);
    setup
}

fn grid(topology: &str, load: f64, us: u64) -> Setup {
    let mut setup = samples::booksim_grid(topology, load);
    setup.until = Until::Time(us * 1_000_000);
    setup
}

const CASES: &[Case] = &[
    Case { name: "dragonfly-72 minimal 100 %", setup: || dragonfly(72, "minimal", 1.0, 2_000) },
    Case { name: "dragonfly-72 minimal 40 %", setup: || dragonfly(72, "minimal", 0.4, 4_000) },
    Case { name: "dragonfly-72 minimal 10 %", setup: || dragonfly(72, "minimal", 0.1, 10_000) },
    Case { name: "dragonfly-72 adaptive 100 %", setup: || dragonfly(72, "progressive-adaptive", 1.0, 2_000) },
    Case { name: "dragonfly-1056 minimal 100 %", setup: || dragonfly(1056, "minimal", 1.0, 100) },
    Case { name: "dragonfly-1056 minimal 10 %", setup: || dragonfly(1056, "minimal", 0.1, 500) },
    Case { name: "dragonfly-8448 minimal 100 %", setup: || dragonfly(8448, "minimal", 1.0, 10) },
    Case { name: "dragonfly-8448 minimal 0.1 %", setup: || dragonfly(8448, "minimal", 0.001, 500) },
    Case { name: "clocked mesh-8x8 38 %", setup: || grid("mesh", 0.38, 20) },
    Case { name: "clocked mesh-8x8 5 %", setup: || grid("mesh", 0.05, 100) },
    Case { name: "clocked torus-8x8 50 %", setup: || grid("torus", 0.5, 20) },
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let runs = args.iter().find_map(|a| a.strip_prefix("runs=")?.parse().ok()).unwrap_or(5);
    let filter = args.iter().find(|a| !a.starts_with("runs="));
    println!("{:32} {:>8} {:>8} {:>8}  {:>10} {:>9}", "case", "min", "median", "max", "events/hop", "ns/hop");
    for case in CASES.iter().filter(|c| filter.is_none_or(|f| c.name.contains(f.as_str()))) {
        let mut rates: Vec<f64> = Vec::new();
        let mut events_per_hop = 0.0;
        for _ in 0..runs {
            let setup = (case.setup)();
            let finished = simulate(&setup, &mut |_| true).expect("the case can be simulated");
            let p = finished.summary.performance.expect("every run is measured");
            rates.push(p.chunk_hops_per_s.unwrap_or(0.0) / 1e6);
            events_per_hop = p.events as f64 / p.chunk_hops.unwrap_or(1).max(1) as f64;
        }
        rates.sort_by(f64::total_cmp);
        let median = rates[rates.len() / 2];
        println!(
            "{:32} {:8.2} {:8.2} {:8.2}  {:10.2} {:9.1}",
            case.name,
            rates[0],
            median,
            rates[rates.len() - 1],
            events_per_hop,
            1e3 / median
        );
    }
}
