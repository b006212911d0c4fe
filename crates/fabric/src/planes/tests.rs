use super::*;
use crate::{
    deadlock,
    faults::{Faults, degrade},
    registry::{ROUTINGS, TOPOLOGIES, values},
    routing::testing,
};
use base::{
    index::{RouterId, TerminalId},
    registry::find,
};

fn build(topology: &str) -> Fabric {
    let entry = find(TOPOLOGIES, topology).unwrap();
    (entry.build)(&values(entry.about.params, entry.small[0])).unwrap()
}

fn bound(fabric: &Arc<Fabric>, routing: &str) -> Bound {
    let entry = find(ROUTINGS, routing).unwrap();
    bind(fabric, |plane| (entry.build)(plane, &values(entry.about.params, &[])))
}

fn same(a: &Fabric, b: &Fabric) -> bool {
    (&a.parts().port_base, a.ports(), a.attachments(), &a.parts().failed, a.cut_off())
        == (&b.parts().port_base, b.ports(), b.attachments(), &b.parts().failed, b.cut_off())
}

/// Every plane taken out again is the network that was stacked, and links stay in their plane, on every topology.
#[test]
fn planes_are_copies_that_no_link_joins() {
    for entry in TOPOLOGIES {
        for sample in entry.small {
            let one = (entry.build)(&values(entry.about.params, sample)).unwrap();
            let three = stack(&one, 3);
            let sizes = (three.planes(), three.nodes(), three.routers(), three.ports().len());
            assert_eq!(sizes, (3, one.terminals(), 3 * one.routers(), 3 * one.ports().len()));
            assert!((0..3).all(|p| same(&plane(&three, p), &one)));
            for router in RouterId::first(three.routers()) {
                let own = three.plane_of_router(router);
                assert!(three.neighbours(router).all(|(_, peer)| three.plane_of_router(peer) == own));
            }
            for terminal in TerminalId::first(three.terminals()) {
                let (node, at) = (three.node_of(terminal), three.plane_of(terminal));
                assert_eq!(three.terminal_in(node, at), terminal);
                assert_eq!(three.plane_of_router(three.router_at(terminal)), at);
                let (router, port) = three.attached(terminal);
                assert_eq!(three.ports_of(router)[port.index()].peer, Peer::Terminal(terminal));
            }
        }
    }
}

/// A way in a plane is the way in the single network, shifted; the deadlock check finds the same.
#[test]
fn routes_are_those_of_one_plane() {
    for (topology, routing) in [("dragonfly", "minimal"), ("torus", "dimension-order"), ("hyperx", "valiant")]
    {
        let one = Arc::new(build(topology));
        let two = Arc::new(stack(&one, 2));
        let (single, stacked) = (bound(&one, routing).unwrap(), bound(&two, routing).unwrap());
        assert_eq!(single.vcs(), stacked.vcs());
        for (source, destination) in testing::pairs(&one) {
            let path = testing::path(&one, single.as_ref(), source, destination, 7);
            for p in 0..2 {
                let ends = (
                    two.terminal_in(TerminalId::new(source), p),
                    two.terminal_in(TerminalId::new(destination), p),
                );
                let shifted = testing::path(&two, stacked.as_ref(), ends.0.number(), ends.1.number(), 7);
                let back: Vec<_> = shifted.iter().map(|w| (w.0 - p * one.routers(), w.1, w.2)).collect();
                assert_eq!(back, path, "{topology} {routing} {source} -> {destination} in plane {p}");
            }
        }
        let check = |f: &Fabric, r: &dyn Routing| deadlock::check(f, r, deadlock::DEFAULT_BUDGET);
        assert_eq!(check(&two, stacked.as_ref()), check(&one, single.as_ref()));
    }
}

/// A router that fails in one plane cuts its nodes off there and nowhere else.
#[test]
fn failures_stay_in_their_plane() {
    let one = build("torus");
    let two = stack(&one, 2);
    let router = one.routers();
    let lost: Vec<TerminalId> =
        TerminalId::first(one.terminals()).filter(|&t| one.router_at(t) == RouterId::new(0)).collect();
    let faults = Faults { routers: vec![RouterId::new(router)], ..Faults::default() };
    let left = Arc::new(degrade(&two, &faults).unwrap().fabric);
    let shifted: Vec<TerminalId> = lost.iter().map(|t| t.plus(one.terminals())).collect();
    assert_eq!(left.cut_off(), shifted);
    assert_eq!(left.parts().failed[0], 0);
    assert_eq!(left.parts().failed[1], left.failed_links());
    assert!(plane(&left, 0).intact() && !plane(&left, 1).intact());
    assert!(lost.iter().all(|&n| left.rails_of(n) == 1));
    assert_eq!(left.usable_nodes().len() as u32, two.nodes(), "all nodes still have a rail");
    assert!(nodes(&left).cut_off().is_empty());
    // A routing that can go around failures is bound to each plane as it is; one that cannot is refused.
    let routing = bound(&left, "up-down").unwrap();
    assert!(deadlock::check(&left, routing.as_ref(), deadlock::DEFAULT_BUDGET).is_free());
    assert!(bound(&left, "dimension-order").is_err());
}

/// Nodes without a plane in common cannot both carry ranks.
#[test]
fn nodes_without_a_common_plane_are_reported() {
    let one = build("mesh");
    let (a, b) = (0, one.routers() - 1);
    let faults =
        Faults { routers: vec![RouterId::new(a), RouterId::new(one.routers() + b)], ..Faults::default() };
    let left = Arc::new(degrade(&stack(&one, 2), &faults).unwrap().fabric);
    let of = |router| {
        TerminalId::first(one.terminals())
            .filter(|&t| one.router_at(t) == router)
            .collect::<Vec<TerminalId>>()
    };
    let (at_a, at_b) = (of(RouterId::new(a)), of(RouterId::new(b)));
    assert!(at_a.iter().all(|&n| left.rails_of(n) == 2) && at_b.iter().all(|&n| left.rails_of(n) == 1));
    assert_eq!(nodes(&left).cut_off(), at_b, "the later ones are left out");
    let both =
        Faults { routers: vec![RouterId::new(a), RouterId::new(one.routers() + a)], ..Faults::default() };
    let left = Arc::new(degrade(&stack(&one, 2), &both).unwrap().fabric);
    assert_eq!(nodes(&left).cut_off(), at_a);
}
