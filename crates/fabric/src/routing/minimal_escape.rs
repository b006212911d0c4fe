//! Minimal adaptive routing of meshes and tori with Duato's escape channels.
//!
//! A head asks for the *adaptive* channels of all its minimal outputs and, at the same time, for an *escape* channel of the output that dimension order
//! takes. A packet that is in an escape channel stays in them to its destination, so nothing but dimension order connects escape channels, and
//! since every head may have one, no packet waits for ever (Duato 1993; BookSim 2 `min_adapt`). This needs routers whose heads ask for all of
//! [`Routing::options`] at once; where one answer is wanted, [`Routing::route`] gives the adaptive one that `select` takes.

use super::{
    Choice, Congestion, Facts, Hop, Routing,
    legs::{At, grid::GridLeg},
    select::Select,
};
use crate::graph::Fabric;
use base::index::{ChannelId, PortId, RouterId};
use std::sync::Arc;

/// The routing, bound.
pub(super) struct MinimalEscape {
    fabric: Arc<Fabric>,
    /// Dimension order: on a torus with two channels, for packets that will cross a dateline and others.
    escape: GridLeg,
    /// Escape channels; the one after them is the adaptive one.
    escapes: u8,
    select: Select,
    /// Outputs that a head may ask for: those of so many dimensions, from the lowest that is not yet right.
    outputs: usize,
}

impl MinimalEscape {
    /// Of a mesh or torus, for heads that ask for so many outputs at most; `None` for others.
    pub(super) fn new(fabric: Arc<Fabric>, select: Select, outputs: usize) -> Option<Self> {
        let escape = GridLeg::new(&fabric)?.by_packet();
        let escapes = if escape.wraps() { 2 } else { 1 };
        Some(Self { fabric, escape, escapes, select, outputs })
    }

    fn adaptive(&self) -> ChannelId {
        ChannelId::new(self.escapes)
    }

    /// Whether a packet came in by an escape channel.
    fn escaped(&self, hop: &Hop) -> bool {
        hop.visited > 0 && hop.vc < self.adaptive()
    }

    /// Where dimension order goes, on which escape channel.
    fn escape(&self, hop: &Hop, to: RouterId) -> Choice {
        // Who comes from an adaptive channel begins a dimension here: which channel it takes hangs on the way that is left.
        let at = At { router: hop.router, in_port: hop.in_port, vc: hop.vc, begun: self.escaped(hop) };
        let (port, vc) = self.escape.next(&at, to).expect("the packet is not there yet");
        Choice { port, vc, state: 0 }
    }

    fn eject(port: PortId) -> Choice {
        Choice { port, vc: ChannelId::FIRST, state: 0 }
    }
}

impl Routing for MinimalEscape {
    fn vcs(&self) -> u8 {
        self.escapes + 1
    }

    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        let (to, ejection) = self.fabric.attached(hop.destination);
        if to == hop.router {
            return Self::eject(ejection);
        }
        if self.escaped(hop) {
            return self.escape(hop, to);
        }
        let mut ports = [PortId::new(0); 32];
        let mut count = 0;
        for port in self.escape.minimal(hop.router, to).take(self.outputs) {
            ports[count] = port;
            count += 1;
        }
        let port = self.select.port(&ports[..count], self.adaptive(), hop, congestion);
        Choice { port, vc: self.adaptive(), state: 0 }
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        let (to, ejection) = self.fabric.attached(hop.destination);
        if to == hop.router {
            return out.push(Self::eject(ejection));
        }
        if !self.escaped(hop) {
            let ports = self.escape.minimal(hop.router, to).take(self.outputs);
            out.extend(ports.map(|port| Choice { port, vc: self.adaptive(), state: 0 }));
        }
        out.push(self.escape(hop, to));
    }

    fn facts(&self) -> Facts {
        Facts { escapes: Some(self.escapes), ..self.select.facts() }
    }

    fn memory(&self, hop: &Hop) -> u64 {
        // Channel 0 from a terminal is no escape channel.
        u64::from(hop.visited > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{deadlock, routing::testing};

    fn bind(wraps: bool, dims: &'static [u64]) -> (Arc<Fabric>, MinimalEscape) {
        let fabric = testing::grid(wraps, dims);
        let routing =
            MinimalEscape::new(fabric.clone(), Select::LeastQueue, usize::MAX).expect("a mesh or torus");
        (fabric, routing)
    }

    #[test]
    fn escape_channels_have_no_cycle() {
        for (wraps, dims) in [
            (false, &[6][..]),
            (false, &[4, 5]),
            (false, &[3, 1, 3, 3]),
            (true, &[5]),
            (true, &[5, 4]),
            (true, &[2, 6]),
            (true, &[4, 3, 3]),
            (true, &[8, 8]),
        ] {
            let (fabric, routing) = bind(wraps, dims);
            let report = deadlock::check(&fabric, &routing, u64::MAX);
            assert!(report.is_free(), "{dims:?}: {report}");
        }
    }

    /// Without the adaptive channels apart, and without datelines, the same ways are a cycle: the check sees it.
    #[test]
    fn the_check_finds_escape_channels_that_close_a_ring() {
        let (fabric, mut routing) = bind(true, &[6, 6]);
        routing.escape = GridLeg::new(&fabric).expect("a torus").without_dateline();
        assert!(matches!(deadlock::check(&fabric, &routing, u64::MAX), deadlock::Report::Cycle(_)));
    }

    #[test]
    fn every_head_may_escape_and_stays_there() {
        for wraps in [false, true] {
            let (fabric, routing) = bind(wraps, &[5, 4]);
            for (s, d) in testing::pairs(&fabric) {
                let mut hop = testing::hop(&fabric, s, d, 1);
                let mut first = Vec::new();
                routing.options(&hop, &mut first);
                if fabric.router_at(hop.destination) == hop.router {
                    continue;
                }
                let adaptive = first.iter().filter(|c| c.vc == routing.adaptive()).count();
                assert!((1..=2).contains(&adaptive) && first.len() == adaptive + 1, "{first:?}");
                (hop.visited, hop.vc) = (1, ChannelId::FIRST);
                let mut escaped = Vec::new();
                routing.options(&hop, &mut escaped);
                assert_eq!(escaped.len(), 1);
                assert_eq!(escaped[0].port, first[adaptive].port, "the way out is dimension order");
            }
        }
    }
}
