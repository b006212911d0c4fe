//! One saturated run, for profilers: `once NODES LOAD MICROSECONDS`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use model::setup::Until;
use packet::{samples, simulate};

fn main() {
    let args: Vec<f64> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let (nodes, load, us) = (args[0] as u32, args[1], args[2] as u64);
    let mut setup = samples::dragonfly(nodes, "minimal", "constant", load);
    setup.until = Until::Time(us * 1_000_000);
    let summary = simulate(&setup, &mut |_| true).expect("a valid setup").summary;
    println!("{:?}", summary.performance);
    println!("{:?} {:?}", summary.buffers, summary.packets);
}
