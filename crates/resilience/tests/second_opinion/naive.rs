//! The naive implementation: one heap of dated events, stations with queues, packets as vectors over GF(2^8).
//! It shares nothing with the crate but the parameters that a user gives.

use resilience::{Estimate, Occupancy, Parameters, Protocol, Timeout};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

/// Faults that can be planted in the naive one: whatever detects them in one detects the same in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// Acknowledgements are never lost.
    SafeAcks,
    /// Links are never busy.
    FreeLinks,
    /// Nodes verify any number of packets at a time.
    FreeNodes,
    /// A timer runs from the start of its window.
    EarlyTimer,
    /// The next window does not wait for the acknowledgements of the one before.
    NoGate,
    /// Forwarders pass combinations on instead of drawing new ones.
    NoRecoding,
    /// A packet that was tampered with is taken.
    TakesTampered,
    /// A round sends one packet more than is missing.
    OneMore,
    /// The stream of `pnc-rateless` ignores the slowest station.
    Unpaced,
}

/// Half nanoseconds: all delays of Table 2 are whole in them, but for the time of a packet's bytes, which is 320/1 of them at 9.375 GB/s.
pub type Time = u64;

struct Rules {
    hops: usize,
    send: Time,
    receive: Time,
    forward: Time,
    hop_packet: Time,
    hop_ack: Time,
    busy: Time,
    pace: Time,
}

impl Rules {
    /// From Table 2's constants: signing 40 ns, verifying 100 ns, ports 127 ns, packets 1.544 us, acknowledgements 1.525 us.
    fn new(p: &Parameters, hops: usize) -> Self {
        let coding = p.protocol != Protocol::Dor;
        let send = 2 * (40 + 254) + Time::from(coding);
        let receive = 2 * (100 + 40 + 254) + 5 * Time::from(coding);
        // 1,500 B at 9.375 GB/s take 160 ns.
        let busy = if p.occupancy == Occupancy::Hop { 2 * 1_544 } else { 2 * 160 };
        let pace = send.max(receive).max(busy);
        Self { hops, send, receive, forward: 327, hop_packet: 2 * 1_544, hop_ack: 2 * 1_525, busy, pace }
    }

    fn back(&self) -> Time {
        let hops = self.hops as Time;
        hops * self.hop_ack + (hops - 1) * self.forward + self.forward
    }

    fn timeout(&self, packets: u64) -> Time {
        let hops = self.hops as Time;
        hops * self.hop_packet
            + (hops - 1) * self.forward
            + self.receive
            + self.back()
            + (packets - 1) * self.pace
    }
}

/// A product in the field of polynomials modulo x^8 + x^4 + x^3 + x^2 + 1, bit by bit.
fn times(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a = (a << 1) ^ if a & 0x80 == 0 { 0 } else { 0x1d };
        b >>= 1;
    }
    product
}

/// Rows in echelon form: what a node holds.
#[derive(Clone, Default)]
struct Held {
    rows: Vec<Vec<u8>>,
}

impl Held {
    /// Takes a vector in; false if it says nothing new.
    fn take(&mut self, mut vector: Vec<u8>) -> bool {
        for row in &self.rows {
            let lead = row.iter().position(|x| *x != 0).unwrap();
            let factor = vector[lead];
            vector.iter_mut().zip(row).for_each(|(v, r)| *v ^= times(factor, *r));
        }
        let Some(lead) = vector.iter().position(|x| *x != 0) else { return false };
        let inverse = (1..=255).find(|i| times(*i, vector[lead]) == 1).unwrap();
        self.rows.push(vector.iter().map(|v| times(*v, inverse)).collect());
        true
    }
}

/// Numbers at random: an own generator (xorshift*), so that not even the streams are shared.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 11) % n
    }

    fn happens(&mut self, p: f64) -> bool {
        ((self.next() >> 11) as f64) < p * (1u64 << 53) as f64
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Packet {
    window: usize,
    number: usize,
    /// Number of the transmission: which timer is whose.
    sending: usize,
    tampered: bool,
    vector: Vec<u8>,
}

/// What happens; at one instant in this order, so that an acknowledgement is heard before its timer ends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The sender has processed an acknowledgement: window, packet, transmission, rank reported.
    Heard(usize, usize, usize, usize),
    /// A node has processed a packet.
    Out(usize, Packet),
    /// A packet reaches a node.
    AtNode(usize, Packet),
    /// A packet wants a link.
    AtLink(usize, Packet),
    /// A timer ends: window, packet, transmission.
    Timer(usize, usize, usize),
    /// The sender has made a packet ready.
    Ready,
}

pub struct Naive<'a> {
    p: &'a Parameters,
    fault: Fault,
    rules: Rules,
    random: Random,
    now: Time,
    heap: BinaryHeap<Reverse<(Time, Event)>>,
    link: Vec<Time>,
    node: Vec<Time>,
    held: Vec<Held>,
    /// Packets of the windows.
    windows: Vec<usize>,
    window: usize,
    begun: Time,
    /// Packets that wait for the sender; the one being made ready is the first.
    queue: VecDeque<usize>,
    making: bool,
    last_left: Option<Time>,
    acknowledged: Vec<bool>,
    arrived: Vec<bool>,
    /// Best rank heard of, and the transmission that ends the round.
    rank: usize,
    round_ends: usize,
    round: u64,
    /// In this message: sent, come through.
    sent: u64,
    came: u64,
    complete: Vec<Option<Time>>,
}

impl<'a> Naive<'a> {
    pub fn new(p: &'a Parameters, hops: usize, packets: u64, seed: u64, fault: Fault) -> Self {
        let mut windows = vec![p.window as usize; (packets / u64::from(p.window)) as usize];
        windows.extend(Some((packets % u64::from(p.window)) as usize).filter(|n| *n > 0));
        Self {
            p,
            fault,
            rules: Rules::new(p, hops),
            random: Random(seed),
            now: 2 * 500,
            heap: BinaryHeap::new(),
            link: vec![0; hops],
            node: vec![0; hops],
            held: vec![],
            complete: vec![None; windows.len()],
            windows,
            window: 0,
            begun: 0,
            queue: VecDeque::new(),
            making: false,
            last_left: None,
            acknowledged: vec![],
            arrived: vec![],
            rank: 0,
            round_ends: usize::MAX,
            round: 0,
            sent: 0,
            came: 0,
        }
    }

    fn codes(&self) -> bool {
        self.p.protocol != Protocol::Dor
    }

    fn at(&mut self, time: Time, event: Event) {
        self.heap.push(Reverse((time, event)));
    }

    /// Time until the receiver has processed the last packet it needed, and packets sent until the last acknowledgement.
    pub fn message(&mut self) -> (Time, u64) {
        self.begin();
        while self.window < self.windows.len() {
            let Reverse((time, event)) = self.heap.pop().expect("something is under way");
            self.now = time;
            match event {
                Event::Heard(window, number, sending, rank) => self.heard(window, number, sending, rank),
                Event::Out(node, packet) => self.out(node, packet),
                Event::AtNode(node, packet) => {
                    let last = node + 1 == self.rules.hops && !packet.tampered;
                    let work = if last { self.rules.receive } else { self.rules.forward };
                    let start = if self.fault == Fault::FreeNodes { time } else { time.max(self.node[node]) };
                    self.node[node] = start + work;
                    self.at(start + work, Event::Out(node, packet));
                }
                Event::AtLink(link, packet) => self.cross(link, packet),
                Event::Timer(window, number, sending) => self.timer(window, number, sending),
                Event::Ready => self.leave(),
            }
        }
        (self.complete.iter().map(|t| t.unwrap()).max().unwrap(), self.sent)
    }

    fn begin(&mut self) {
        let count = self.windows[self.window];
        self.begun = self.now;
        self.acknowledged = vec![false; count];
        self.arrived = vec![false; count];
        self.held = vec![Held::default(); self.rules.hops];
        (self.rank, self.round) = (0, 0);
        self.queue.clear();
        if self.codes() {
            self.new_round()
        } else {
            self.queue = (0..count).collect()
        };
        self.make();
    }

    fn new_round(&mut self) {
        let missing = (self.windows[self.window] - self.rank) as f64;
        let hops = self.rules.hops as i32;
        let through = match self.p.estimate {
            Estimate::Converged => ((1.0 - self.p.loss) * (1.0 - self.p.tamper)).powi(hops),
            Estimate::Cumulative if self.came == 0 => 1.0,
            Estimate::Cumulative => self.came as f64 / self.sent as f64,
        };
        self.round = match self.p.protocol {
            Protocol::Ncd => (missing / through - 1e-9).ceil() as u64,
            Protocol::PncRateless => u64::MAX,
            _ => missing as u64 + u64::from(self.fault == Fault::OneMore),
        };
        self.queue = (0..self.round.min(1_000) as usize).collect();
        self.round_ends = usize::MAX;
        self.make();
    }

    /// The sender takes the next packet in hand.
    fn make(&mut self) {
        if self.making || self.queue.is_empty() {
            return;
        }
        self.making = true;
        let mut ready = self.now + self.rules.send;
        if self.p.protocol == Protocol::PncRateless {
            ready = ready.max(self.link[0]);
            let paced = self.last_left.map_or(0, |left| left + self.rules.pace);
            if self.fault != Fault::Unpaced {
                ready = ready.max(paced);
            }
        }
        self.at(ready, Event::Ready);
    }

    fn leave(&mut self) {
        self.making = false;
        let Some(number) = self.queue.pop_front() else { return };
        self.sent += 1;
        self.last_left = Some(self.now);
        let sending = self.sent as usize;
        let count = self.windows[self.window];
        let vector: Vec<u8> = (0..count).map(|_| self.random.next() as u8).collect();
        let packet = Packet { window: self.window, number, sending, tampered: false, vector };
        self.at(self.now, Event::AtLink(0, packet));
        let counted = match (self.p.protocol, self.p.timeout) {
            (Protocol::PncRateless, _) => {
                self.queue.push_back(0);
                return self.make();
            }
            (Protocol::Dor, Timeout::Packet) if self.round & (1 << number) != 0 => 1,
            (Protocol::Dor, _) => count as u64,
            (_, Timeout::Window) => self.round.max(u64::from(self.p.window)),
            (_, Timeout::Packet) => self.round,
        };
        if self.p.protocol == Protocol::Dor {
            self.round |= 1 << number;
        }
        if !self.codes() || self.queue.is_empty() {
            let from = if self.fault == Fault::EarlyTimer { self.begun } else { self.now };
            let end = (from + self.rules.timeout(counted)).max(self.now);
            self.at(end, Event::Timer(self.window, number, sending));
            self.round_ends = sending;
        }
        self.make();
    }

    fn cross(&mut self, link: usize, mut packet: Packet) {
        let start = if self.fault == Fault::FreeLinks { self.now } else { self.now.max(self.link[link]) };
        self.link[link] = start + self.rules.busy;
        if self.random.happens(self.p.loss) {
            return;
        }
        packet.tampered = self.random.happens(self.p.tamper) && self.fault != Fault::TakesTampered;
        self.at(start + self.rules.hop_packet, Event::AtNode(link, packet));
    }

    fn out(&mut self, node: usize, mut packet: Packet) {
        if packet.tampered {
            return;
        }
        let receiver = node + 1 == self.rules.hops;
        let current = packet.window == self.window;
        if self.codes() && current {
            self.held[node].take(packet.vector.clone());
            if !receiver && self.fault != Fault::NoRecoding {
                let mut sum = vec![0; packet.vector.len()];
                for row in &self.held[node].rows {
                    let factor = self.random.next() as u8;
                    sum.iter_mut().zip(row).for_each(|(s, r)| *s ^= times(factor, *r));
                }
                packet.vector = sum;
            }
        }
        if !receiver {
            return self.at(self.now, Event::AtLink(node + 1, packet));
        }
        self.came += 1;
        if current {
            self.arrived[packet.number.min(self.windows[self.window] - 1)] = true;
            self.received();
        }
        let lost = (0..self.rules.hops)
            .any(|_| self.random.happens(self.p.loss) || self.random.happens(self.p.tamper));
        let rank = self.held[node].rows.len();
        if !lost || self.fault == Fault::SafeAcks {
            let heard = Event::Heard(packet.window, packet.number, packet.sending, rank);
            self.at(self.now + self.rules.back(), heard);
        }
    }

    /// The receiver has processed a packet of the present window.
    fn received(&mut self) {
        let count = self.windows[self.window];
        let node = self.rules.hops - 1;
        let whole =
            if self.codes() { self.held[node].rows.len() >= count } else { self.arrived.iter().all(|a| *a) };
        if whole && self.complete[self.window].is_none() {
            self.complete[self.window] = Some(self.now);
            if self.fault == Fault::NoGate {
                self.next();
            }
        }
    }

    fn heard(&mut self, window: usize, number: usize, sending: usize, rank: usize) {
        if window != self.window {
            return;
        }
        let count = self.windows[window];
        if self.codes() {
            self.rank = self.rank.max(rank);
            if self.rank >= count {
                self.next();
            } else if sending == self.round_ends {
                self.new_round();
            }
        } else {
            self.acknowledged[number] = true;
            if self.acknowledged.iter().all(|a| *a) {
                self.next();
            }
        }
    }

    fn timer(&mut self, window: usize, number: usize, sending: usize) {
        if window != self.window {
            return;
        }
        if self.codes() {
            if sending == self.round_ends {
                self.new_round();
            }
        } else if !self.acknowledged[number] {
            self.queue.push_back(number);
            self.make();
        }
    }

    fn next(&mut self) {
        self.window += 1;
        // What is in the sender's hands is put down.
        self.heap.retain(|Reverse((_, event))| *event != Event::Ready);
        self.making = false;
        if self.window < self.windows.len() {
            self.begin();
        }
    }
}
