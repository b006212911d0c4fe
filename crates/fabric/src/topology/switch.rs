//! One router with all terminals: for closed forms and as the ideal network.

use super::{Sizes, Wiring};
use crate::{
    graph::Fabric,
    topology::entry::{Constant, Topology},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};

/// The registered single switch.
pub const TOPOLOGY: Topology = Topology {
    about: About {
        name: "single-switch",
        summary: "one router with all terminals",
        doc: "One router; terminal t is on port t. The only link class is terminal. An output port is shared by the \
              sources that send to its terminal and by nothing else: a network without internal contention.",
        source: "Dally, Towles: Principles and Practices of Interconnection Networks, 2004, chapter 16",
        params: &[Param {
            name: "terminals",
            kind: Kind::Int { min: 1, max: 1 << 20 },
            default: None,
            doc: "number of terminals",
        }],
    },
    classes: &["terminal"],
    required: 1,
    sizes,
    build,
    small: &[&[("terminals", Constant::Int(1))], &[("terminals", Constant::Int(5))]],
};

/// Geometry of a single switch: there is none to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchShape;

fn sizes(values: &Values) -> Result<Sizes, Vec<Problem>> {
    let terminals = values.int("terminals");
    Sizes::within_limits(Some(Sizes { routers: 1, terminals, ports: terminals, ends: 1 }), "terminals")
}

fn build(values: &Values) -> Result<Fabric, Vec<Problem>> {
    let terminals = sizes(values)?.terminals as u32;
    let mut wiring = Wiring::new([terminals]);
    for port in 0..terminals {
        wiring.terminal(0, port);
    }
    Ok(wiring.finish(TOPOLOGY.about.name, TOPOLOGY.classes, SwitchShape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{graph::Peer, registry::values};
    use base::index::{LinkId, PortId, RouterId, TerminalId};

    #[test]
    fn terminals_sit_on_ports_of_their_number() {
        let fabric = build(&values(TOPOLOGY.about.params, &[("terminals", Constant::Int(7))])).unwrap();
        assert_eq!((fabric.routers(), fabric.terminals(), fabric.ports().len()), (1, 7, 7));
        assert!((0..7).all(|t| fabric.attached(TerminalId::new(t)) == (RouterId::new(0), PortId::new(t))));
        assert!((0..7).all(|t| fabric.port(LinkId::new(t)).peer == Peer::Terminal(TerminalId::new(t))));
    }
}
