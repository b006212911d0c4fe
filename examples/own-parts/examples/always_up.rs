//! The program of `docs/extending.md`: run it in `examples/own-parts`.
#![expect(clippy::print_stdout, reason = "an example prints")]

#[path = "../src/routing.rs"]
mod routing;

use netloom::{Error, Experiment, Registry, RunOptions, Silent};

fn main() -> Result<(), Error> {
    let registry = Registry::standard().with_routing(&routing::ALWAYS_UP);
    let ring = Experiment::from_file("experiment.toml")?.with_registry(registry);
    if let Some(report) = ring.prepare(&Silent)?.routing {
        println!("deadlock check: {report}");
    }
    let options = RunOptions { checkers: true, ..RunOptions::default() };
    println!("load, state, hops in the mean");
    for load in [0.1, 0.2, 0.3] {
        let results = ring.clone().set("job.0.load", load).options(options).run()?;
        let summary = results.summary;
        println!("{load}, {}, {:.2}", summary.verdict.state.name(), summary.hops_mean.unwrap_or(0.0));
    }
    Ok(())
}
