//! A topology: a wheel of routers, a ring around a hub.

use netloom::{
    base::{
        param::{Kind, Param, Problem, Values},
        registry::About,
    },
    fabric::{
        graph::Fabric,
        registry::{Constant, Topology},
        topology::{Sizes, Wiring},
    },
};

const CLASSES: &[&str] = &["terminal", "rim", "spoke"];

/// The entry.
pub static WHEEL: Topology = Topology {
    about: About {
        name: "wheel",
        summary: "a ring of routers, each linked to a hub",
        doc: "Router 0 is the hub and has no terminals. Ports of the others: to the next, to the one before, to the hub, then terminals. \
              Link classes: terminal, rim, spoke.",
        source: "an example",
        params: &[
            Param {
                name: "rim",
                kind: Kind::Int { min: 3, max: 1 << 16 },
                default: Some("8"),
                doc: "routers around the hub",
            },
            Param {
                name: "terminals_per_router",
                kind: Kind::Int { min: 1, max: 1 << 10 },
                default: Some("1"),
                doc: "terminals of each of them",
            },
        ],
    },
    classes: CLASSES,
    required: 3,
    sizes,
    build,
    small: &[&[("rim", Constant::Int(5))]],
};

/// Geometry of a wheel, for routings that ask for it.
pub struct Wheel;

fn sizes(values: &Values) -> Result<Sizes, Vec<Problem>> {
    let (rim, terminals) = (values.int("rim"), values.int("terminals_per_router"));
    // The hub has a port for each, and each has three.
    let ports = rim * (4 + terminals);
    Sizes::within_limits(
        Some(Sizes { routers: rim + 1, terminals: rim * terminals, ports, ends: rim }),
        "rim",
    )
}

fn build(values: &Values) -> Result<Fabric, Vec<Problem>> {
    sizes(values)?;
    let (rim, terminals) = (values.u32("rim"), values.u32("terminals_per_router"));
    let degrees = std::iter::once(rim).chain((0..rim).map(|_| 3 + terminals));
    let mut wiring = Wiring::new(degrees);
    for spoke in 0..rim {
        let (here, next) = (spoke + 1, (spoke + 1) % rim + 1);
        wiring.link(1, (here, 0), (next, 1));
        wiring.link(2, (here, 2), (0, spoke));
        (0..terminals).for_each(|k| wiring.terminal(here, 3 + k));
    }
    Ok(wiring.finish(WHEEL.about.name, CLASSES, Wheel))
}
