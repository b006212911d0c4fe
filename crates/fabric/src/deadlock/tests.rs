use super::*;
use crate::{
    graph::Peer,
    registry::{Constant, ROUTINGS, Sample, TOPOLOGIES, values},
    routing::{Choice, Congestion, Facts, Hop},
};
use base::{
    index::{ChannelId, PortId, RouterId},
    registry::find,
};
use std::sync::Arc;

fn fabric(topology: &str, sample: Sample) -> Arc<Fabric> {
    let entry = find(TOPOLOGIES, topology).unwrap();
    Arc::new((entry.build)(&values(entry.about.params, sample)).unwrap())
}

fn routing(name: &str, fabric: &Arc<Fabric>, sample: Sample) -> Box<dyn Routing> {
    let entry = find(ROUTINGS, name).unwrap();
    (entry.build)(fabric.clone(), &values(entry.about.params, sample)).unwrap()
}

const NO_DATELINE: Sample = &[("dateline", Constant::Bool(false))];

#[test]
fn a_ring_without_dateline_is_a_cycle() {
    let ring = fabric("torus", &[("dims", Constant::Ints(&[5]))]);
    let report = check(&ring, routing("dimension-order", &ring, NO_DATELINE).as_ref(), u64::MAX);
    let Report::Cycle(channels) = &report else { panic!("{report}") };
    assert_eq!(channels.len(), 5);
    for (a, b) in channels.iter().zip(channels.iter().cycle().skip(1)) {
        assert_eq!(a.to, b.router, "each channel ends where the next begins");
        assert!(
            matches!(ring.ports_of(a.router)[a.port.index()].peer, Peer::Router { router, .. } if router == a.to)
        );
    }
    let text = report.to_string();
    assert!(text.contains(&format!("router 0 port {} (to router ", channels[0].port)), "{text}");
    assert_eq!(text.matches(" -> ").count(), 5);
}

#[test]
fn cycles_are_found_on_tori_and_gone_with_datelines() {
    for dims in [&[4u64, 4][..], &[2, 6], &[3, 3, 5], &[8, 8]] {
        let dims: &'static [u64] = Box::leak(dims.to_vec().into_boxed_slice());
        let sample: Sample = Box::leak(Box::new([("dims", Constant::Ints(dims))]));
        let torus = fabric("torus", sample);
        let open = routing("dimension-order", &torus, NO_DATELINE);
        assert!(matches!(check(&torus, open.as_ref(), u64::MAX), Report::Cycle(_)), "{dims:?}");
        let closed = routing("dimension-order", &torus, &[]);
        let report = check(&torus, closed.as_ref(), u64::MAX);
        assert!(matches!(report, Report::Free { exhaustive: true, .. }), "{dims:?}: {report}");
        let mesh = fabric("mesh", sample);
        let plain = routing("dimension-order", &mesh, NO_DATELINE);
        assert!(check(&mesh, plain.as_ref(), u64::MAX).is_free(), "{dims:?}");
    }
}

#[test]
fn a_budget_makes_it_a_sample() {
    let torus = fabric("torus", &[("dims", Constant::Ints(&[8, 8]))]);
    let routing = routing("dimension-order", &torus, &[]);
    let Report::Free { states: full, exhaustive: true } = check(&torus, routing.as_ref(), u64::MAX) else {
        panic!("not exhaustive")
    };
    let Report::Free { states, exhaustive: false } = check(&torus, routing.as_ref(), full / 4) else {
        panic!("not a sample")
    };
    assert!(states >= full / 4 && states < full / 2, "{states} of {full}");
    assert_eq!(check(&torus, routing.as_ref(), full), Report::Free { states: full, exhaustive: true });
}

/// Right on a ring of four, but for what a test breaks.
struct Broken {
    fault: Fault,
    fabric: Arc<Fabric>,
    /// Whether situations are summarised, so that an endless route is a cycle of them.
    forgets: bool,
}

impl Broken {
    fn escapes(&self) -> bool {
        matches!(self.fault, Fault::NoEscape | Fault::LeavesEscape)
    }
}

impl Routing for Broken {
    fn vcs(&self) -> u8 {
        1 + u8::from(self.escapes())
    }

    fn route(&self, hop: &mut Hop, _: &mut dyn Congestion) -> Choice {
        let mut out = Vec::new();
        self.options(hop, &mut out);
        out[0]
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        let (to, ejection) = self.fabric.attached(hop.destination);
        let right = Choice {
            port: if to == hop.router { ejection } else { PortId::new(1) },
            vc: ChannelId::FIRST,
            state: 0,
        };
        if hop.router != RouterId::new(2) {
            out.push(right);
            return;
        }
        match self.fault {
            Fault::NoChoice => {}
            Fault::Unplugged => out.push(Choice { port: PortId::new(9), ..right }),
            Fault::NoSuchVc => out.push(Choice { vc: ChannelId::new(1), ..right }),
            Fault::WrongTerminal => out.push(Choice { port: PortId::new(2), ..right }),
            Fault::NoEscape => out.push(Choice { vc: ChannelId::new(1), ..right }),
            Fault::LeavesEscape => out.extend([right, Choice { vc: ChannelId::new(1), ..right }]),
            Fault::Endless => out.push(Choice { port: PortId::new(1), ..right }),
        }
    }

    fn facts(&self) -> Facts {
        Facts { escapes: self.escapes().then_some(1), ..Facts::OBLIVIOUS }
    }

    fn memory(&self, hop: &Hop) -> u64 {
        if self.forgets { 0 } else { u64::from(hop.source) << 16 | u64::from(hop.visited) }
    }
}

#[test]
fn wrong_choices_are_named() {
    let ring = fabric("torus", &[("dims", Constant::Ints(&[4]))]);
    let faults = [
        Fault::NoChoice,
        Fault::Unplugged,
        Fault::NoSuchVc,
        Fault::WrongTerminal,
        Fault::NoEscape,
        Fault::LeavesEscape,
        Fault::Endless,
    ];
    for (fault, forgets) in faults.into_iter().flat_map(|f| [(f, false), (f, true)]) {
        let routing = Broken { fault, fabric: ring.clone(), forgets };
        let report = check(&ring, &routing, u64::MAX);
        let Report::Astray(astray) = report else { panic!("{fault:?}: {report}") };
        assert_eq!(astray.fault, fault);
        assert!(astray.to_string().contains(" to terminal "), "{astray}");
        if fault != Fault::Endless {
            assert_eq!(astray.router, RouterId::new(2));
        }
    }
}

#[test]
fn dragonflies_are_free() {
    let sample: Sample = &[
        ("groups", Constant::Int(9)),
        ("routers_per_group", Constant::Int(4)),
        ("terminals_per_router", Constant::Int(2)),
        ("global_ports_per_router", Constant::Int(2)),
    ];
    let dragonfly = fabric("dragonfly", sample);
    for name in ["minimal", "progressive-adaptive"] {
        let report = check(&dragonfly, routing(name, &dragonfly, &[]).as_ref(), u64::MAX);
        assert!(matches!(report, Report::Free { exhaustive: true, .. }), "{name}: {report}");
    }
}
