//! Channels that follow each other, and a cycle among them.

use crate::subnet::Subnet;
use std::fmt;

/// A lane of a directed link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Channel {
    /// Index of the link in [`Subnet::edges`].
    pub edge: u32,
    /// The virtual lane.
    pub lane: u8,
}

impl Channel {
    /// `L0000[5]->T0000[1] lane 0`.
    #[must_use]
    pub fn label(&self, subnet: &Subnet) -> String {
        let edge = subnet.edges[self.edge as usize];
        let (from, to) = (&subnet.nodes[edge.from as usize].name, &subnet.nodes[edge.to as usize].name);
        format!("{from}[{}]->{to}[{}] lane {}", edge.port, edge.to_port, self.lane)
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link {} lane {}", self.edge, self.lane)
    }
}

/// Lanes that a link can have.
const LANES: usize = 16;

/// Which channel follows which.
pub(super) struct Dependencies<'a> {
    subnet: &'a Subnet,
    /// Place of an edge among the out-edges of its node.
    rank: Vec<u32>,
    /// By channel: bits over (out-edge of the node entered, lane); empty until one is set.
    next: Vec<Vec<u64>>,
}

impl<'a> Dependencies<'a> {
    pub(super) fn new(subnet: &'a Subnet) -> Self {
        let mut rank = vec![0; subnet.edges.len()];
        for node in 0..subnet.nodes.len() as u32 {
            for (i, &edge) in (0u32..).zip(subnet.out(node)) {
                rank[edge as usize] = i;
            }
        }
        Self { subnet, rank, next: vec![Vec::new(); subnet.edges.len() * LANES] }
    }

    fn index(channel: Channel) -> usize {
        channel.edge as usize * LANES + usize::from(channel.lane) % LANES
    }

    /// `to` leaves the node that `from` enters.
    pub(super) fn add(&mut self, from: Channel, to: Channel) {
        let bit = self.rank[to.edge as usize] as usize * LANES + usize::from(to.lane) % LANES;
        let bits = &mut self.next[Self::index(from)];
        if bits.is_empty() {
            let entered = self.subnet.edges[from.edge as usize].to;
            bits.resize((self.subnet.out(entered).len() * LANES).div_ceil(64), 0);
        }
        bits[bit / 64] |= 1 << (bit % 64);
    }

    /// Adds what another set of the same network holds.
    pub(super) fn merge(&mut self, other: &Self) {
        debug_assert!(self.next.len() == other.next.len(), "one network has one set of channels");
        for (own, bits) in self.next.iter_mut().zip(&other.next) {
            own.resize(own.len().max(bits.len()), 0);
            own.iter_mut().zip(bits).for_each(|(own, bits)| *own |= bits);
        }
    }

    fn follow(&self, channel: usize, out: &mut Vec<usize>) {
        let edge = (channel / LANES) as u32;
        let outs = self.subnet.out(self.subnet.edges[edge as usize].to);
        for (word, &bits) in self.next[channel].iter().enumerate() {
            let mut rest = bits;
            while rest != 0 {
                let bit = word * 64 + rest.trailing_zeros() as usize;
                out.push(outs[bit / LANES] as usize * LANES + bit % LANES);
                rest &= rest - 1;
            }
        }
    }

    /// A cycle, shortened: no channel of it leads back earlier than the last.
    pub(super) fn cycle(&self) -> Option<Vec<Channel>> {
        let stuck = self.knot()?;
        // A shortest cycle through one channel of the knot.
        let mut from = vec![usize::MAX; self.next.len()];
        let mut queue = std::collections::VecDeque::from([stuck]);
        let mut next = Vec::new();
        while let Some(channel) = queue.pop_front() {
            next.clear();
            self.follow(channel, &mut next);
            for &to in &next {
                if to == stuck {
                    let mut cycle = vec![channel];
                    let mut at = channel;
                    while at != stuck {
                        at = from[at];
                        cycle.push(at);
                    }
                    cycle.reverse();
                    let name = |&c: &usize| Channel { edge: (c / LANES) as u32, lane: (c % LANES) as u8 };
                    return Some(cycle.iter().map(name).collect());
                }
                if from[to] == usize::MAX {
                    from[to] = channel;
                    queue.push_back(to);
                }
            }
        }
        None
    }

    /// A channel on a cycle, by depth-first search.
    fn knot(&self) -> Option<usize> {
        let (new, open, done) = (0u8, 1, 2);
        let mut mark = vec![new; self.next.len()];
        let mut next = Vec::new();
        for start in 0..self.next.len() {
            if mark[start] != new || self.next[start].is_empty() {
                continue;
            }
            mark[start] = open;
            self.follow(start, &mut next);
            let mut path = vec![(start, std::mem::take(&mut next))];
            while let Some((channel, rest)) = path.last_mut() {
                let channel = *channel;
                let Some(to) = rest.pop() else {
                    mark[channel] = done;
                    path.pop();
                    continue;
                };
                match mark[to] {
                    m if m == open => return Some(to),
                    m if m == new => {
                        mark[to] = open;
                        let mut following = Vec::new();
                        self.follow(to, &mut following);
                        path.push((to, following));
                    }
                    _ => {}
                }
            }
        }
        None
    }
}
