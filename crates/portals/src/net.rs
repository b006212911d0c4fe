//! The network below the interfaces: messages between terminals, by the flow model.

use base::time::Ps;
use model::{
    failure::Failure,
    flow::{
        FlowSetup,
        moment::Moment,
        network::Network,
        run::{Context, context},
        sharing::{Over, Sharing},
    },
};

/// Links, and the messages on them.
pub struct Net {
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

impl Net {
    /// The network of a setup of the flow model; its jobs are left alone.
    ///
    /// # Errors
    /// What the flow model refuses.
    pub fn new(setup: &FlowSetup) -> Result<Self, Failure> {
        let cx = context(setup)?;
        let mut sharing = Sharing::new(cx.config.rules.clone(), 0);
        let network = Network::new(&cx, &mut sharing);
        Ok(Self { cx, sharing, network, sent: 0, over: Vec::new(), routes: Vec::new(), next: None })
    }

    /// Terminals.
    #[must_use]
    pub fn terminals(&self) -> u32 {
        self.cx.fabric.terminals()
    }

    /// Nothing happens at or after this time.
    #[must_use]
    pub fn end(&self) -> Ps {
        self.cx.end
    }

    /// Seed of the run.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.cx.seed
    }

    /// Sends a message; false if there is no way.
    pub fn send(&mut self, now: Ps, (source, destination): (u32, u32), bytes: u64, tag: u32) -> bool {
        let pair = self.network.pair(source, destination);
        self.sent += 1;
        let ends = (source, destination, pair);
        let Ok(route) = self.network.route(&self.cx, &mut self.sharing, ends, self.sent) else {
            return false;
        };
        self.network.count(&self.sharing, route, true);
        self.sharing.begin(Moment::at(now), route, bytes, None, tag);
        if self.routes.len() <= tag as usize {
            self.routes.resize(tag as usize + 1, 0);
        }
        self.routes[tag as usize] = route;
        self.next = self.sharing.next().map(Moment::rounded);
        true
    }

    /// When something happens next.
    #[must_use]
    pub fn next(&self) -> Option<Ps> {
        self.next
    }

    /// Does what happens up to a time; appends the tags of messages that have arrived.
    pub fn step(&mut self, until: Ps, arrived: &mut Vec<u32>) {
        let mut over = std::mem::take(&mut self.over);
        let next = self.sharing.advance(until, &mut over);
        for o in over.drain(..) {
            let route = self.routes[o.tag as usize];
            self.network.count(&self.sharing, route, false);
            self.sharing.forget(route);
            arrived.push(o.tag);
        }
        self.over = over;
        self.next = next.map(Moment::rounded);
    }
}
