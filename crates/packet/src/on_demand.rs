//! The packet network without a workload: messages come from outside, one at a time, and whoever sends them is informed when they have arrived.
//!
//! [`OnDemand`] steps the engine event by event, so that whoever drives it can act between any two. Each terminal has a queue of messages for each of
//! its *classes* (virtual networks). Messages are cut into packets here, and classes take turns packet by packet: an acknowledgement does not
//! wait for the megabytes of a put. A terminal is given a packet when it holds fewer than two, so its link never waits and
//! a packet of another class waits for two at most. In the network all classes share the virtual channels; destinations always take what
//! arrives, so classes cannot block each other for ever.
//!
//! Cost: what the model costs, and per packet one entry of a map and one alarm of the driver. One partition, one thread.

use crate::{
    adapter::delay::Delay, network::Network, places::Ends, router::registry, run, setup::Setup, simulation,
    stepper::Stepper,
};
use base::{
    hash::mix64,
    index::TerminalId,
    sorted::SortedMap,
    time::{NEVER, Ps},
};
use engine::executor::Options;
use model::{failure::Failure, setup::Until};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    sync::Arc,
};

/// Classes of messages.
pub const CLASSES: usize = 2;

/// Packets that a terminal holds before it takes another one.
const AHEAD: u32 = 2;

/// A message under way.
#[derive(Clone, Copy)]
struct Message {
    tag: u32,
    destination: TerminalId,
    /// Bytes not yet handed to the terminal.
    left: u64,
    /// Packets not yet handed to the terminal, and not yet arrived.
    packets: (u32, u32),
}

/// What a terminal has still to send.
#[derive(Clone, Default)]
struct Source {
    queues: [VecDeque<u32>; CLASSES],
    /// Class whose turn it is.
    turn: usize,
    /// It will look again.
    armed: bool,
    /// Messages sent so far, and when the last one passed the adapter.
    sent: u32,
    passed: Ps,
}

/// What the driver does at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A message of a class has passed the adapter.
    Ready { source: TerminalId, class: u8, message: u32 },
    /// A terminal may take another packet.
    Feed(TerminalId),
}

/// A packet network that is driven from outside.
pub struct OnDemand {
    network: Box<dyn Stepper>,
    net: Arc<Network>,
    adapter: Delay,
    end: Ps,
    sources: Vec<Source>,
    due: BinaryHeap<Reverse<(Ps, u64, Due)>>,
    counter: u64,
    messages: Vec<Message>,
    free: Vec<u32>,
    packets: SortedMap<(TerminalId, u32), u32>,
}

impl OnDemand {
    /// The network of a setup without jobs.
    ///
    /// # Errors
    /// What the packet model refuses; several rails; terminals that failures cut off; a predictor.
    pub fn new(setup: &Setup) -> Result<Self, Failure> {
        let refuse = |text: &str| Err(Failure::Setup(text.into()));
        if setup.hybrid.is_some() {
            return refuse("programs that run live need the network itself: predictors know only workloads");
        }
        if setup.resilience.is_some() {
            return refuse(
                "interfaces of live programs have a transport of their own: [resilience] is for jobs",
            );
        }
        if setup.control.is_some() {
            return refuse(
                "interfaces of live programs hand their packets over themselves: [congestion_control] is for jobs",
            );
        }
        if setup.adapter.is_some() {
            return refuse("interfaces of live programs take packets as they come: [adapter] is for jobs");
        }
        if setup.services.is_some() {
            return refuse("live programs are no jobs with a class: [service] is for jobs");
        }
        if setup.energy.is_some() {
            return refuse("[energy] is for jobs: runs of live programs do not give it");
        }
        if setup.fabric.planes() > 1 {
            return refuse("interfaces of live programs have one rail on model \"packet\"");
        }
        let left = setup.change.as_ref().map_or(&setup.fabric, |change| &change.fabric);
        if left.usable_nodes().len() < setup.fabric.nodes() as usize {
            return refuse("failures cut a terminal off, and live programs may send to it");
        }
        // The adapter is here: it delays messages, not packets.
        let mut inner = setup.clone();
        inner.jobs.clear();
        (inner.packet.adapter_delay, inner.packet.adapter_jitter) = (0, 0);
        let net = Arc::new(Network::new(&inner, 1));
        run::validate(&inner)?;
        let options = Options {
            tie_seed: mix64(setup.seed ^ 0x7469_6573) ^ setup.ties,
            wheel_shift: simulation::wheel_shift(&net),
        };
        let (Until::Time(end) | Until::WorkloadDone { limit: end }) = setup.until;
        Ok(Self {
            network: (registry::chosen(&inner.packet).step)(&net, options),
            sources: vec![Source::default(); net.fabric.terminals() as usize],
            net,
            adapter: Delay::new(setup.packet.adapter_delay, setup.packet.adapter_jitter, setup.seed),
            end,
            due: BinaryHeap::new(),
            counter: 0,
            messages: Vec::new(),
            free: Vec::new(),
            packets: SortedMap::new(),
        })
    }

    /// Number of terminals in the network.
    #[must_use]
    pub fn terminals(&self) -> u32 {
        self.net.fabric.terminals()
    }

    /// Nothing happens at or after this time.
    #[must_use]
    pub fn end(&self) -> Ps {
        self.end
    }

    fn at(&mut self, time: Ps, due: Due) {
        debug_assert!(time >= self.network.now(), "what is planned lies ahead");
        self.counter += 1;
        self.due.push(Reverse((time, self.counter, due)));
    }

    /// Sends a message of a class at `now`, which nothing that was done follows. Source and destination differ.
    pub fn send(&mut self, now: Ps, ends: Ends, class: u8, bytes: u64, tag: u32) {
        let Ends { source, destination } = ends;
        let packets = self.net.packets_of(bytes);
        let message = Message { tag, destination, left: bytes, packets: (packets, packets) };
        let message = if let Some(place) = self.free.pop() {
            self.messages[place as usize] = message;
            place
        } else {
            self.messages.push(message);
            (self.messages.len() - 1) as u32
        };
        let class = class.min(CLASSES as u8 - 1);
        let from = &mut self.sources[source.index()];
        // Messages keep their order, however long the adapter takes for each.
        from.passed = from.passed.max(now + self.adapter.of(source, from.sent));
        from.sent = from.sent.wrapping_add(1);
        let at = from.passed;
        self.at(at, Due::Ready { source, class, message });
    }

    /// When something happens next.
    pub fn next_time(&mut self) -> Option<Ps> {
        let due = self.due.peek().map_or(NEVER, |d| d.0.0);
        Some(due.min(self.network.next_time())).filter(|&t| t < NEVER)
    }

    /// Does what happens up to and including `until`, or to the first arrival: appends the tags of messages that arrived and
    /// says when that was.
    pub fn advance(&mut self, until: Ps, arrived: &mut Vec<u32>) -> Ps {
        loop {
            let due = self.due.peek().map_or(NEVER, |d| d.0.0);
            let event = self.network.next_time();
            // What the network does at an instant comes before what its driver does.
            if event <= due.min(until) {
                self.network.step(until);
                let before = arrived.len();
                self.collect(arrived);
                if arrived.len() > before {
                    return self.network.now();
                }
            } else if due <= until {
                self.network.skip_to(due);
                self.act(due);
            } else {
                return until;
            }
        }
    }

    /// Does what the driver has to do next.
    fn act(&mut self, now: Ps) {
        let Some(Reverse((_, _, due))) = self.due.pop() else { return };
        match due {
            Due::Ready { source, class, message } => {
                self.sources[source.index()].queues[usize::from(class)].push_back(message);
                if !self.sources[source.index()].armed {
                    self.feed(source, now);
                }
            }
            Due::Feed(source) => {
                self.sources[source.index()].armed = false;
                self.feed(source, now);
            }
        }
    }

    fn collect(&mut self, arrived: &mut Vec<u32>) {
        while let Some(packet) = self.network.arrived() {
            let Some(place) = self.packets.remove(&packet) else { continue };
            let message = &mut self.messages[place as usize];
            message.packets.1 -= 1;
            debug_assert!(message.packets.1 >= message.packets.0, "what arrives was handed in");
            if message.packets.1 == 0 {
                arrived.push(message.tag);
                self.free.push(place);
            }
        }
    }

    /// Hands packets to a terminal while it holds few, class after class.
    fn feed(&mut self, terminal: TerminalId, now: Ps) {
        let packet = u64::from(self.net.config.packet);
        let full = self.net.config.packet.div_ceil(self.net.config.chunk);
        let mut held = self.held(terminal);
        while held < AHEAD * full {
            let source = &mut self.sources[terminal.index()];
            let class = (0..CLASSES).map(|n| (source.turn + n) % CLASSES);
            let Some(class) = class.into_iter().find(|&c| !source.queues[c].is_empty()) else { return };
            source.turn = (class + 1) % CLASSES;
            let Some(&place) = source.queues[class].front() else { return };
            let message = &mut self.messages[place as usize];
            let bytes = message.left.min(packet);
            message.left -= bytes;
            message.packets.0 -= 1;
            if message.packets.0 == 0 {
                source.queues[class].pop_front();
            }
            let destination = message.destination;
            debug_assert_eq!(self.network.now(), now, "the driver acts at the present");
            let number = self.network.send(terminal, destination, bytes);
            self.packets.insert((terminal, number), place);
            held += (bytes as u32).div_ceil(self.net.config.chunk).max(1);
        }
        if self.sources[terminal.index()].queues.iter().any(|q| !q.is_empty()) {
            self.sources[terminal.index()].armed = true;
            let pace = self.net.pace_of(self.net.config.packet).max(1);
            self.at(now + pace, Due::Feed(terminal));
        }
    }

    /// Chunks that a terminal holds and has not started onto its link.
    fn held(&mut self, terminal: TerminalId) -> u32 {
        self.network.held(terminal)
    }
}
