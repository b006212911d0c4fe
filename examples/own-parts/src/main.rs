//! A topology, a routing, a traffic pattern, a model, a router architecture, a predictor and a director of one's own, registered from outside: `cargo run -p own-parts`.
//!
//! On a ring of eight routers, packets that only ever go up take as many hops as the way round is long. The routing is asked for its options
//! by the deadlock check as any other is: without the second virtual channel it is refused.

mod model;
mod pattern;
mod router;
mod routing;
mod surrogate;
mod topology;

use netloom::{Error, Experiment, Registry, model::Finished};

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
        .with_topology(&topology::WHEEL)
        .with_routing(&routing::ALWAYS_UP)
        .with_workload(&pattern::SHIFT)
        .with_model(&model::WIRES)
        .with_listed("routers", &router::LONGEST_FIRST)
        .with_listed("predictors", &surrogate::STRETCHED)
        .with_listed("directors", &surrogate::ONCE)
}

/// Mean number of routers that a packet visits, by the distance of its destination.
fn hops(distance: u32, algorithm: &str) -> Result<f64, Error> {
    let ring = Experiment::from_text(RING).with_registry(registry());
    let results = ring.set("job.0.distance", distance).set("routing.algorithm", algorithm).run()?;
    Ok(results.summary.hops_mean.unwrap_or(0.0))
}

/// The same on a wheel of as many routers, whose hub makes every path short.
fn hops_on_wheel(distance: u32) -> Result<f64, Error> {
    let links = ["rim", "spoke"].map(|class| format!("fabric.link.{class}"));
    let link =
        r#"{ bandwidth = "12.5 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "8 KiB" }"#;
    let wheel = Experiment::from_text(RING).with_registry(registry()).set("fabric.topology", "wheel");
    let wheel = wheel.set("fabric.dims", "").set("fabric.link.local", "").set("fabric.rim", 8);
    let wheel = links.iter().fold(wheel, |wheel, class| wheel.set(class, link));
    let results = wheel.set("job.0.distance", distance).set("routing.algorithm", "shortest-path").run()?;
    Ok(results.summary.hops_mean.unwrap_or(0.0))
}

/// Messages under way at the end on model `wires`, where each takes so long.
fn on_wires(delay: &str) -> Result<u64, Error> {
    let ring = Experiment::from_text(RING).with_registry(registry());
    let results = ring.set("model.kind", "wires").set("wires.delay", delay).run()?;
    Ok(results.summary.messages.map_or(0, |m| m.in_flight))
}

/// Mean packet latency in ns through routers of an architecture.
fn through(router: &str) -> Result<f64, Error> {
    let ring = Experiment::from_text(RING).with_registry(registry());
    Ok(latency(&ring.set("job.0.distance", 3).set("job.0.load", 0.3).set("model.router", router).run()?))
}

/// The same where a multiple of an empty network's latency replaces the network from the start.
fn predicted(stretch: f64) -> Result<f64, Error> {
    let ring = Experiment::from_text(RING).with_registry(registry()).set("model.kind", "hybrid");
    let ring = ring.set("hybrid.predictor", "stretched").set("hybrid.stretch", stretch);
    Ok(latency(&ring.set("hybrid.director", "once").set("hybrid.at", "10 ns").run()?))
}

fn latency(results: &Finished) -> f64 {
    results.summary.latency_ps.as_ref().map_or(0.0, |l| l.mean / 1000.0)
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn main() -> Result<(), Error> {
    println!("distance  always-up  dimension-order");
    for distance in 1..8 {
        let (ours, theirs) = (hops(distance, "always-up")?, hops(distance, "dimension-order")?);
        println!("{distance:8}  {ours:9.2}  {theirs:15.2}");
    }
    println!("on a wheel, half round: {:.2}", hops_on_wheel(4)?);
    for delay in ["1 us", "10 us"] {
        println!("wires of {delay}: {} messages under way at the end", on_wires(delay)?);
    }
    for router in ["window", "output-queued", "longest-first"] {
        println!("{router}: packets take {:.1} ns", through(router)?);
    }
    for stretch in [1.0, 2.0] {
        println!("stretched by {stretch}: packets take {:.1} ns", predicted(stretch)?);
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

    /// Next to each other one link apart, all others two: over the hub, or along the rim.
    #[test]
    fn an_own_topology_is_wired_as_it_says() {
        let far = hops_on_wheel(1).expect("it runs");
        for (distance, links) in [(1, 1.0), (2, 2.0), (4, 2.0), (7, 1.0)] {
            let more = hops_on_wheel(distance).expect("it runs") - far;
            assert!((more - (links - 1.0)).abs() < 1e-9, "{distance}: {more}");
        }
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

    /// A router is used, its name is proposed, and others' registries do not know it.
    #[test]
    fn an_own_router_is_used() {
        let run = |router: &str, scheduler: &str| {
            let ring = Experiment::from_text(RING).with_registry(registry()).set("model.router", router);
            ring.set("job.0.load", 0.6)
                .set("engine.partitions", 4)
                .set("engine.scheduler", scheduler)
                .run()
                .expect("it runs")
        };
        let ours = run("longest-first", "sequential");
        for other in ["window", "output-queued"] {
            assert_ne!(ours.summary.fingerprint, run(other, "sequential").summary.fingerprint, "{other}");
        }
        for scheduler in ["conservative", "optimistic"] {
            assert_eq!(ours.summary.fingerprint, run("longest-first", scheduler).summary.fingerprint);
        }
        let counted = |key: &str, chunks: u32, router: &str| {
            let ring = Experiment::from_text(RING).with_registry(registry()).set("model.router", router);
            let ring = ring.set("job.0.distance", 3).set("job.0.load", 0.9).set(key, chunks);
            ring.run().map(|run| run.summary.fingerprint)
        };
        let of = |chunks| counted("model.counted", chunks, "longest-first").expect("its key is known");
        assert_ne!(of(1), of(1000), "the key has an effect");
        let error = counted("model.counted", 1, "window").expect_err("it is another router's key");
        assert!(error.to_string().contains("no key `counted`"), "{error}");
        let error = counted("model.countd", 1, "longest-first").expect_err("it is nobody's key");
        assert!(error.to_string().contains("countd"), "{error}");
        let reported = |registry: Registry, name: &str| {
            let error = Experiment::from_text(RING).with_registry(registry).set("model.router", name).run();
            let Err(Error::Experiment(mistakes)) = error else { panic!("a mistake of the experiment") };
            mistakes.sorted().iter().flat_map(|m| m.help.clone()).collect::<String>()
        };
        assert!(reported(registry(), "longest-fist").contains("did you mean \"longest-first\"?"));
        assert!(!reported(Registry::standard(), "longest-first").contains("longest-first"));
    }

    /// A predictor and a director are used, with keys of their own.
    #[test]
    fn own_surrogates_are_used() {
        let of = |stretch| predicted(stretch).expect("it runs");
        // Not twice: the time until a packet is on its first link is not predicted.
        let ratio = of(2.0) / of(1.0);
        assert!((1.5..=2.0).contains(&ratio), "{ratio}");
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
