//! Messages of interfaces by the flow model: those under way share the links of their routes.

use crate::{
    context::{Context, FlowSetup, context},
    fine_time::FineTime,
    network::{Network, Pair},
    sharing::{Over, Sharing},
};
use base::{index::TerminalId, time::Ps};
use model::{
    failure::Failure,
    messages::{Message, MessageNetwork},
};

/// Links, and the messages on them. Virtual networks share them like any messages.
pub struct Interfaces {
    cx: Context,
    sharing: Sharing,
    network: Network,
    sent: u64,
    over: Vec<Over>,
    /// Route of each message under way, by tag.
    routes: Vec<u32>,
    /// When something happens next.
    next: Option<Ps>,
}

impl Interfaces {
    /// The network of a setup; its jobs are left alone.
    ///
    /// # Errors
    /// What the flow model refuses.
    pub fn new(setup: &FlowSetup) -> Result<Self, Failure> {
        let cx = context(setup)?;
        let mut sharing = Sharing::new(cx.config.rules.clone(), 0);
        let network = Network::new(&cx, &mut sharing);
        Ok(Self { cx, sharing, network, sent: 0, over: Vec::new(), routes: Vec::new(), next: None })
    }
}

impl MessageNetwork for Interfaces {
    fn terminals(&self) -> u32 {
        self.cx.fabric.terminals()
    }

    fn end(&self) -> Ps {
        self.cx.end
    }

    fn seed(&self) -> u64 {
        self.cx.seed
    }

    fn send(&mut self, now: Ps, (source, destination): (TerminalId, TerminalId), message: Message) -> bool {
        let pair = self.network.pair(source, destination);
        self.sent += 1;
        let ends = Pair { source, destination, row: pair };
        let Ok(route) = self.network.route(&self.cx, &mut self.sharing, ends, self.sent) else {
            return false;
        };
        let Message { bytes, tag, .. } = message;
        self.network.count(&self.sharing, route, true);
        self.sharing.begin(FineTime::at(now), route, bytes, None, tag);
        if self.routes.len() <= tag as usize {
            self.routes.resize(tag as usize + 1, 0);
        }
        self.routes[tag as usize] = route;
        self.next = self.sharing.next().map(FineTime::rounded);
        true
    }

    fn next(&mut self) -> Option<Ps> {
        self.next
    }

    fn advance(&mut self, until: Ps, arrived: &mut Vec<u32>) -> Ps {
        while let Some(time) = self.next.filter(|&t| t <= until) {
            let mut over = std::mem::take(&mut self.over);
            let next = self.sharing.advance(time, &mut over);
            let any = !over.is_empty();
            for o in over.drain(..) {
                let route = self.routes[o.tag as usize];
                self.network.count(&self.sharing, route, false);
                self.sharing.forget(route);
                arrived.push(o.tag);
            }
            self.over = over;
            self.next = next.map(FineTime::rounded);
            if any {
                return time;
            }
        }
        until
    }
}
