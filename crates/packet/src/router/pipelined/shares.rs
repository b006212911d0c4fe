//! How service classes divide virtual channels and outputs: what does not change during a run.

use crate::{network::Network, services::classes::Order};
use base::time::Ps;

/// How service classes share the outputs of a network.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    pub(super) order: Order,
    /// Percent of a link, by class.
    pub(super) caps: Vec<u32>,
    /// Class of each virtual channel.
    pub(super) of_vc: [u8; 16],
    /// Virtual channels of each class, a bit each.
    pub(super) sets: Vec<u16>,
    /// Chunks of the largest packet.
    pub(super) burst: u64,
}

/// Sets of virtual channels of a run: by service class and class of the routing, service by service.
pub(super) struct Sets {
    /// What a packet may get on a link between routers, by the two classes' number.
    pub groups: [u16; 16],
    /// What it may get toward a terminal.
    pub ejects: [u16; 16],
    /// The routing's class of each virtual channel.
    pub class_of: [u8; 16],
    /// Number of the first set of each virtual channel's service class.
    pub offset: [u8; 16],
}

impl Sets {
    /// Divides the channels of each service class evenly among the routing's classes.
    pub(super) fn new(net: &Network) -> Option<Self> {
        let services = net.services.as_ref()?;
        let classes = net.routes.vcs().max(1);
        let mut sets = Self { groups: [0; 16], ejects: [0; 16], class_of: [0; 16], offset: [0; 16] };
        let mut first = 0;
        for (service, &count) in services.vcs.iter().enumerate() {
            let offset = service * usize::from(classes);
            for vc in first..first + count {
                sets.offset[usize::from(vc)] = offset as u8;
                let class = (vc - first) / (count / classes).max(1);
                if class < classes {
                    sets.class_of[usize::from(vc)] = class;
                    sets.groups[offset + usize::from(class)] |= 1 << vc;
                }
            }
            for class in 0..usize::from(classes) {
                sets.ejects[offset + class] = services.set(service as u8);
            }
            first += count;
        }
        debug_assert!(first <= net.config.vcs, "classes share the virtual channels");
        Some(sets)
    }
}

impl Shares {
    pub(super) fn new(net: &Network) -> Option<Self> {
        let services = net.services.as_ref()?;
        Some(Self {
            order: services.order.clone(),
            caps: services.caps.clone(),
            of_vc: std::array::from_fn(|vc| services.of_vc(vc as u8)),
            sets: (0..services.vcs.len() as u8).map(|class| services.set(class)).collect(),
            burst: u64::from(net.config.packet.div_ceil(net.config.chunk)),
        })
    }

    /// Numbers that an output keeps.
    pub(super) fn words(&self) -> usize {
        1 + 3 * self.caps.len()
    }

    /// How many classes have turns of their own: among those that take turns with each other, channels do.
    pub(super) fn memories(&self) -> u32 {
        if self.order == Order::Turns { 1 } else { self.caps.len() as u32 }
    }

    /// Time between chunks of a class that is at its cap.
    pub(super) fn spacing(&self, class: usize, span: Ps) -> Ps {
        (span * 100).div_ceil(Ps::from(self.caps[class]))
    }
}
