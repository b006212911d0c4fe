//! A routing, a traffic pattern and a model of one's own, registered from outside: `cargo run -p own-parts`.
//!
//! On a ring of eight routers, packets that only ever go up take as many hops as the way round is long. The routing is asked for its options
//! by the deadlock check as any other is: without the second virtual channel it is refused.

mod model;
mod pattern;
mod routing;

use netloom::{Error, Experiment, Registry};

/// A ring with one terminal at each router.
const RING: &str = r#"
    [experiment]
    duration = "50 us"

    [fabric]
    topology = "torus"
    dims = [8]
    terminals_per_router = 1
    link.terminal = { bandwidth = "12.5 GB/s", latency = "10 ns", credit_delay = "10 ns", vc_buffer = "8 KiB" }
    link.local = { bandwidth = "12.5 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "8 KiB" }

    [routing]
    algorithm = "always-up"

    [[job]]
    workload = "shift"
    message = "512 B"
    load = 0.1

    [model]
    kind = "packet"
    packet = "512 B"
    chunk = "64 B"
    vcs = 2
"#;

/// All that Netloom has, and ours.
fn registry() -> Registry {
    Registry::standard()
        .with_routing(&routing::ALWAYS_UP)
        .with_workload(&pattern::SHIFT)
        .with_model(&model::WIRES)
}

/// Mean number of routers that a packet visits, by the distance of its destination.
fn hops(distance: u32, algorithm: &str) -> Result<f64, Error> {
    let ring = Experiment::from_text(RING).with_registry(registry());
    let results = ring.set("job.0.distance", distance).set("routing.algorithm", algorithm).run()?;
    Ok(results.summary.hops_mean.unwrap_or(0.0))
}

/// Messages under way at the end on model `wires`, where each takes so long.
fn on_wires(delay: &str) -> Result<u64, Error> {
    let ring = Experiment::from_text(RING).with_registry(registry());
    let results = ring.set("model.kind", "wires").set("wires.delay", delay).run()?;
    Ok(results.summary.messages.map_or(0, |m| m.in_flight))
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn main() -> Result<(), Error> {
    println!("distance  always-up  dimension-order");
    for distance in 1..8 {
        let (ours, theirs) = (hops(distance, "always-up")?, hops(distance, "dimension-order")?);
        println!("{distance:8}  {ours:9.2}  {theirs:15.2}");
    }
    for delay in ["1 us", "10 us"] {
        println!("wires of {delay}: {} messages under way at the end", on_wires(delay)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom::ErrorKind;

    /// A packet to the router below goes all the way round; dimension order takes one link.
    #[test]
    fn own_parts_are_used() {
        let way = |distance, algorithm| hops(distance, algorithm).expect("it runs");
        let one = way(1, "dimension-order");
        for distance in [1, 4, 7] {
            let more = way(distance, "always-up") - one;
            assert!((more - f64::from(distance - 1)).abs() < 1e-9, "{distance}: {more}");
        }
        assert!((way(7, "dimension-order") - one).abs() < 1e-9);
    }

    /// Names, keys and proposals come from the registry that is given.
    #[test]
    fn own_names_are_known() {
        let reported = |registry: Registry| {
            let wrong =
                Experiment::from_text(RING).with_registry(registry).set("routing.algorithm", "always-upp");
            let error = wrong.run().map(drop).expect_err("there is no such routing");
            assert_eq!(error.kind(), ErrorKind::Experiment);
            let Error::Experiment(mistakes) = error else { panic!("a mistake of the experiment") };
            mistakes.sorted().iter().flat_map(|m| m.help.clone()).collect::<String>()
        };
        assert!(reported(registry()).contains("did you mean \"always-up\"?"));
        assert!(!reported(Registry::standard()).contains("did you mean \"always-up\""));
    }

    /// The check for deadlocks and the model's channels hold for own routings too.
    #[test]
    fn too_few_channels_are_refused() {
        let one = Experiment::from_text(RING).with_registry(registry()).set("model.vcs", 1);
        let error = one.run().map(drop).expect_err("it needs two");
        assert!(error.to_string().contains("needs 2 virtual channels"), "{error}");
    }

    /// A model brings its section and its key of a job, and refuses at the places of the file.
    #[test]
    fn an_own_model_is_one_entry() {
        let under_way = |delay| on_wires(delay).expect("it runs");
        assert_eq!(under_way("0 s"), 0);
        assert!(under_way("10 us") > under_way("1 us") && under_way("1 us") > 0);
        let wires = || Experiment::from_text(RING).with_registry(registry()).set("model.kind", "wires");
        let urgent = wires().set("job.0.urgent", true).run().expect("it runs");
        assert_eq!(urgent.summary.messages.map(|m| m.in_flight), Some(0));
        let reported =
            |experiment: Experiment| experiment.run().map(drop).expect_err("a mistake").to_string();
        assert!(reported(wires().set("wires.dealy", "1 us")).contains("[wires] has no key `dealy`"));
        assert!(
            reported(wires().set("engine.checkpoint", "1 us"))
                .contains("a run of model \"wires\" cannot be saved")
        );
        let other = Experiment::from_text(RING).with_registry(registry()).set("wires.delay", "1 us");
        assert!(
            reported(other)
                .contains("model \"packet\" takes no [wires]: its links have parameters of their own")
        );
        let resilient = wires().set("resilience.loss", 0.1);
        assert!(
            reported(resilient).contains("model \"wires\" takes no [resilience]: its links lose nothing")
        );
    }
}
