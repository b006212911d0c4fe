//! Latency of packets and accepted load of BookSim 2's public curves, and of a 32-port switch: `cargo run --release -p netloom-packet --example booksim`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "an example prints, and stops at the first surprise"
)]

use packet::samples::pipelined::{CURVES, measure, switch_32};

fn main() {
    let wanted = std::env::args().nth(1);
    let cycles = std::env::args().nth(2).and_then(|n| n.parse().ok()).unwrap_or(16_000);
    for curve in CURVES.iter().filter(|c| wanted.as_ref().is_none_or(|w| w == c.name)) {
        println!("{}", curve.name);
        for point in curve.points {
            let found = measure(curve, point.load, cycles);
            let off = (found.latency / point.latency - 1.0) * 100.0;
            println!(
                "  load {:<5} {:8.2} cycles, BookSim {:8.2}: {off:+6.2} %, accepted {:.4} {:?}",
                point.load, found.latency, point.latency, found.accepted, found.state
            );
        }
    }
    if wanted.is_none_or(|w| w == "switch") {
        for (name, accepted) in switch_32(cycles) {
            println!("32 ports, {name}: {accepted:.4}");
        }
    }
}
