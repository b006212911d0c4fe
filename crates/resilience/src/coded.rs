//! `PNC_r` and `NCD_r`: generations of packets as random combinations over GF(2^8), in rounds.

use super::{
    dor::Ended,
    gf256::{MAX_GENERATION, Span, Vector},
    parameters::{Delays, Estimate, Protocol, Tick, Timeout},
    path::{Line, Path, Stop},
};
use base::rng::Stream;

const NEVER: Tick = Tick::MAX;

/// What nodes hold of the present generation, and what `NCD_r` has learned in the present message.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    /// Forwarders and, last, the receiver.
    spans: Vec<Span>,
    /// Packets sent, and those that came through.
    sent: u64,
    received: u64,
}

impl Nodes {
    /// A message begins.
    pub fn clear(&mut self, hops: usize) {
        self.spans.resize_with(hops, Span::default);
        (self.sent, self.received) = (0, 0);
    }
}

/// Random bytes, eight from a draw.
struct Bytes<'a> {
    stream: &'a mut Stream,
    left: u32,
    word: u64,
}

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        if self.left == 0 {
            (self.word, self.left) = (self.stream.next_u64(), 8);
        }
        let byte = self.word as u8;
        self.word >>= 8;
        self.left -= 1;
        byte
    }
}

/// What does not change while a message is sent.
pub struct Coding<'a> {
    /// Delays of the path's stations and links, in ticks.
    pub delays: &'a Delays,
    /// One of those that code.
    pub protocol: Protocol,
    /// What `NCD_r` takes for the probability of delivery; others ignore it.
    pub estimate: Estimate,
    /// Which packets timers count with, and how many a full generation has.
    pub timeout: Timeout,
    /// Packets of a full generation, which `timeout` may count with.
    pub window: u32,
    /// The links that packets cross, in order.
    pub path: &'a Path,
}

/// A generation under way.
struct Generation {
    count: usize,
    there: Tick,
    /// When an acknowledgement of the full rank is processed.
    done: Tick,
    sender: Tick,
    /// Before this nothing is streamed: the slowest station of the path would only queue it.
    paced: Tick,
    sent: u64,
    /// Best rank that acknowledgements have reported by the end of the round.
    reported: usize,
}

impl Coding<'_> {
    /// Sends a generation of `count` packets from `start` on.
    pub fn generation(
        &self,
        line: &mut Line,
        nodes: &mut Nodes,
        stream: &mut Stream,
        start: Tick,
        count: usize,
    ) -> Ended {
        debug_assert!(
            count > 0 && nodes.spans.len() == self.path.hops(),
            "each node but the sender has a span"
        );
        nodes.spans.iter_mut().for_each(|span| span.clear(count));
        let mut g = Generation {
            count,
            there: NEVER,
            done: NEVER,
            sender: start,
            paced: start,
            sent: 0,
            reported: 0,
        };
        let mut now = start;
        while g.done > now {
            now = if self.protocol == Protocol::PncRateless {
                self.stream_on(&mut g, line, nodes, stream)
            } else {
                let packets = self.round_of(count - g.reported, nodes);
                self.round(&mut g, packets, now, line, nodes, stream)
            };
        }
        debug_assert!(g.there < NEVER && g.sent >= count as u64, "a generation ends when all of it is there");
        Ended { there: g.there, gate: g.done, sent: g.sent }
    }

    /// Packets of a round when `missing` ranks are missing.
    fn round_of(&self, missing: usize, nodes: &Nodes) -> u64 {
        debug_assert!(missing > 0, "else no round is needed");
        if self.protocol != Protocol::Ncd {
            return missing as u64;
        }
        let q = match self.estimate {
            Estimate::Converged => self.path.delivery(),
            Estimate::Cumulative if nodes.received == 0 => 1.0,
            Estimate::Cumulative => nodes.received as f64 / nodes.sent as f64,
        };
        (missing as f64 / q).ceil() as u64
    }

    /// Sends `packets` combinations; returns when the round ends.
    fn round(
        &self,
        g: &mut Generation,
        packets: u64,
        now: Tick,
        line: &mut Line,
        nodes: &mut Nodes,
        stream: &mut Stream,
    ) -> Tick {
        g.sender = g.sender.max(now);
        let mut last = None;
        for _ in 0..packets {
            if g.done <= g.sender {
                return g.done;
            }
            g.sender += self.delays.send;
            last = self.packet(g, line, nodes, stream);
        }
        let counted = match self.timeout {
            // Not before the acknowledgement of a longer round may come.
            Timeout::Window => packets.max(self.window.into()),
            Timeout::Packet => packets,
        };
        let end = last.unwrap_or_else(|| g.sender + self.delays.timeout(self.path.hops() as u64, counted));
        end.min(g.done)
    }

    /// Sends one combination more, as soon as the first link is about to be free and no sooner than the slowest station takes
    /// them ([`Delays::pace`]): a faster stream would fill that station's queue, which outlives the generation and grows from one
    /// to the next without bound. Returns the time up to which nothing can end the generation.
    fn stream_on(&self, g: &mut Generation, line: &mut Line, nodes: &mut Nodes, stream: &mut Stream) -> Tick {
        g.sender = (g.sender + self.delays.send).max(line.first_free()).max(g.paced);
        g.paced = g.sender + self.delays.pace;
        if g.done > g.sender {
            self.packet(g, line, nodes, stream);
        }
        if g.done <= g.sender { g.done } else { g.sender }
    }

    /// One combination leaves at `g.sender`. Returns when its acknowledgement is processed, if it comes.
    fn packet(
        &self,
        g: &mut Generation,
        line: &mut Line,
        nodes: &mut Nodes,
        stream: &mut Stream,
    ) -> Option<Tick> {
        g.sent += 1;
        nodes.sent += 1;
        let stop = self.path.forth(stream);
        let mut vector = [0; MAX_GENERATION];
        let heard = stop == Stop::Never && self.path.back(stream);
        let mut bytes = Bytes { stream, left: 0, word: 0 };
        vector[..g.count].iter_mut().for_each(|v| *v = bytes.next());
        let receiver = nodes.spans.len() - 1;
        let spans = &mut nodes.spans;
        let there =
            line.carry(self.delays, g.sender, stop, |k| pass(spans, k, receiver, &mut vector, &mut bytes))?;
        nodes.received += 1;
        let rank = nodes.spans[receiver].rank();
        if rank == g.count {
            g.there = g.there.min(there);
        }
        if !heard {
            return None;
        }
        let reported = there + self.delays.back(self.path.hops() as u64);
        g.reported = g.reported.max(rank);
        if rank == g.count {
            g.done = g.done.min(reported);
        }
        Some(reported)
    }
}

/// A node takes a combination in; a forwarder sends another one of what it holds.
#[inline]
fn pass(spans: &mut [Span], k: usize, receiver: usize, vector: &mut Vector, bytes: &mut Bytes<'_>) {
    spans[k].insert(*vector);
    if k != receiver {
        *vector = spans[k].combine(&mut || bytes.next());
    }
}
