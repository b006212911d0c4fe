//! Messages of interfaces by the flow model: those under way share the links of their routes.

use crate::{
    by_load,
    context::{Context, FlowSetup, context},
    fine_time::FineTime,
    network::{self, Network, Pair},
    sharing::{Over, Sharing},
    turns::{Row, Turns},
};
use base::{
    index::{Column, TerminalId},
    time::Ps,
};
use model::{
    failure::Failure,
    messages::{Message, MessageNetwork},
};

/// Links, and the messages on them. Virtual networks share them like any messages.
pub struct Interfaces {
    cx: Context,
    sharing: Sharing,
    network: Network,
    turns: Turns,
    sent: u64,
    over: Vec<Over>,
    /// Route of each message under way, by tag.
    routes: Vec<u32>,
    /// Where each terminal sent something last, and the number of that pair: most send the next there too.
    last: Column<TerminalId, Option<(TerminalId, u32)>>,
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
        let last = Column::filled(cx.fabric.terminals() as usize, None);
        Ok(Self {
            cx,
            sharing,
            network,
            turns: Turns::default(),
            sent: 0,
            over: Vec::new(),
            routes: Vec::new(),
            last,
            next: None,
        })
    }

    /// Number of a pair of terminals.
    fn pair(&mut self, source: TerminalId, destination: TerminalId) -> u32 {
        match self.last[source] {
            Some((last, pair)) if last == destination => pair,
            _ => {
                let pair = self.network.pair(source, destination);
                self.last[source] = Some((destination, pair));
                pair
            }
        }
    }

    /// Takes the next step of the sharing up to a time; false if there is none. Messages may be divided anew before their shares are found.
    fn step(&mut self, until: Ps) -> bool {
        let before = self.over.len();
        let Some(instant) = self.sharing.happen(until, &mut self.over) else { return false };
        if self.network.follows_load() {
            // Those that are over wait to be handed on; nobody asks for them again.
            self.over[before..].iter().for_each(|over| self.turns.ends(over.tag));
            if instant.finds {
                let routes = &mut self.routes;
                let mut moved = |tag: u32, route| routes[tag as usize] = route;
                let (network, sharing) = (&mut self.network, &mut self.sharing);
                network.divide_again(&self.cx, sharing, &mut self.turns, instant.at, &mut moved);
            }
        }
        self.sharing.settle(instant);
        true
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

    fn send(&mut self, now: Ps, source: TerminalId, destination: TerminalId, message: Message) -> bool {
        let ends = Pair { source, destination, row: self.pair(source, destination) };
        self.sent += 1;
        let Message { bytes, tag, .. } = message;
        let asks = network::Message { identity: self.sent, packets: by_load::packets(bytes) };
        let Ok(route) = self.network.route(&self.cx, &mut self.sharing, ends, asks) else {
            return false;
        };
        self.network.count(&self.sharing, route, true);
        let flow = self.sharing.begin(FineTime::at(now), route, bytes, None, tag);
        if self.network.follows_load() {
            let again = self.network.may_ask_again(ends, asks);
            self.turns.begins(tag, again.then_some(Row::new(flow, ends, asks)));
        }
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
            while self.step(time) {}
            self.next = self.sharing.next().map(FineTime::rounded);
            if self.over.is_empty() {
                continue;
            }
            for &Over { tag, .. } in &self.over {
                let route = self.routes[tag as usize];
                self.network.count(&self.sharing, route, false);
                self.sharing.forget(route);
                arrived.push(tag);
            }
            self.over.clear();
            return time;
        }
        until
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlowConfig, rules::Rules};
    use base::{
        rng::{Purpose, Stream},
        sorted::SortedSet,
    };
    use model::samples::{int, open_loop, routing, topology};

    /// Tags come again as soon as their messages are over, under a routing that divides by load: each arrives once, and those that are over are left
    /// alone.
    #[test]
    fn tags_are_used_again_while_others_are_divided_anew() {
        let sizes = [
            ("groups", 9),
            ("routers_per_group", 4),
            ("terminals_per_router", 2),
            ("global_ports_per_router", 2),
        ];
        let fabric = topology("dragonfly", &sizes.map(|(name, n)| (name, int(n))));
        let (routing, none) = (routing(&fabric, "ugal-l", &[]), open_loop(|_, _, _| None));
        let setup = crate::samples::setup(&fabric, Some(routing), none, FlowConfig::new(Rules::plain()));
        let setup = FlowSetup { jobs: Vec::new(), ..setup };
        let mut network = Interfaces::new(&setup).expect("a setup that can be run");
        let mut random = Stream::new(1, Purpose::Test, 31);
        let (mut now, mut under_way, mut arrived) = (0, SortedSet::new(), Vec::new());
        for _ in 0..600 {
            let Some(tag) = (0..40).find(|tag| !under_way.contains(tag)) else { panic!("some tag is free") };
            let from = random.below(72) as u32;
            let to = (from + 1 + random.below(71) as u32) % 72;
            let message = Message { network: 0, bytes: 1 << random.below(18), tag };
            assert!(network.send(now, TerminalId::new(from), TerminalId::new(to), message));
            assert!(under_way.insert(tag));
            while under_way.len() > 30 || random.below(3) == 0 && !under_way.is_empty() {
                let next = network.next().expect("messages are under way");
                now = network.advance(next, &mut arrived);
                assert!(arrived.drain(..).all(|tag| under_way.remove(&tag)), "each arrives once");
            }
        }
        assert!(network.network.by_load);
    }
}
