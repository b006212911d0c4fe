//! Mean packet latency of CODES' 72-node dragonfly by load, for comparison with CODES.
#![expect(clippy::print_stdout, reason = "an example prints")]

use model::setup::Until;
use packet::{samples, simulate};

fn main() {
    println!("{:>22} {:>5} {:>12} {:>10} {:>9}  verdict", "routing", "load", "mean ns", "p99 ns", "accepted");
    for algorithm in ["minimal", "progressive-adaptive"] {
        for load in [0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0] {
            let mut setup = samples::dragonfly(72, algorithm, "constant", load);
            setup.until = Until::Time(1_000_000_000);
            let s = simulate(&setup, &mut |_| true).expect("a valid setup").summary;
            let latency = s.latency_ps.expect("packets were delivered");
            let accepted = s.throughput.map_or(0.0, |t| t.accepted_fraction);
            println!(
                "{algorithm:>22} {load:>5} {:>12.1} {:>10.1} {accepted:>9.4}  {:?} hops {:.3}",
                latency.mean / 1e3,
                latency.p99 as f64 / 1e3,
                s.verdict.state,
                s.hops_mean.unwrap_or(0.0)
            );
        }
    }
}
