//! The graph of dependencies among channels, and cycles in graphs.

use super::report::Channel;
use crate::graph::{Fabric, Peer};
use base::index::{ChannelId, LinkId, PortId, RouterId};

/// Which channel may wait for which. Channel number = global port index * VCs + VC.
pub(super) struct Dependencies<'a> {
    fabric: &'a Fabric,
    vcs: usize,
    /// By channel: a bit for each channel that leaves the router it enters; empty until one is set.
    waits: Vec<Vec<u64>>,
}

impl<'a> Dependencies<'a> {
    pub(super) fn new(fabric: &'a Fabric, vcs: u8) -> Self {
        let vcs = usize::from(vcs);
        Self { fabric, vcs, waits: vec![Vec::new(); fabric.ports().len() * vcs] }
    }

    /// Notes that a packet that entered `router` through `in_port` on `in_vc` may leave through `port` on `vc`.
    pub(super) fn add(
        &mut self,
        router: RouterId,
        in_port: PortId,
        in_vc: ChannelId,
        port: PortId,
        vc: ChannelId,
    ) {
        let ports = self.fabric.ports_of(router);
        let Peer::Router { router: from, port: feeding } = ports[in_port.index()].peer else { return };
        let channel = self.fabric.port_index(from, feeding).index() * self.vcs + in_vc.index();
        let bits = &mut self.waits[channel];
        if bits.is_empty() {
            bits.resize((ports.len() * self.vcs).div_ceil(64), 0);
        }
        let bit = port.index() * self.vcs + vc.index();
        bits[bit / 64] |= 1 << (bit % 64);
    }

    fn successors(&self, channel: usize, out: &mut Vec<usize>) {
        let Peer::Router { router, .. } = self.fabric.ports()[channel / self.vcs].peer else { return };
        let first = self.fabric.first_port(router).index() * self.vcs;
        for (i, &word) in self.waits[channel].iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                out.push(first + i * 64 + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }

    /// By channel: the lowest of its ring, and the one that follows; itself twice if it is in none. `pairs` are the ports of [`Facts::rings`](crate::routing::Facts::rings).
    fn rings(&self, pairs: u32) -> (Vec<usize>, Vec<usize>) {
        let after = |channel: usize| match self.fabric.ports()[channel / self.vcs].peer {
            Peer::Router { router, port } if port.number() < pairs => {
                let on = PortId::new(port.number() ^ 1);
                self.fabric.port_index(router, on).index() * self.vcs + channel % self.vcs
            }
            _ => channel,
        };
        let next: Vec<usize> = (0..self.waits.len()).map(after).collect();
        let mut first = vec![usize::MAX; next.len()];
        for begin in 0..next.len() {
            let mut at = begin;
            while first[at] == usize::MAX {
                first[at] = begin;
                at = next[at];
            }
        }
        (first, next)
    }

    /// A cycle, if there is one: as short as is found without much effort. With rings, one among rings, each named by one of its channels.
    pub(super) fn cycle(&self, rings: Option<u32>) -> Option<Vec<Channel>> {
        let Some(pairs) = rings else { return self.cycle_of_channels() };
        let (first, next) = self.rings(pairs);
        let mut own = Vec::new();
        let cycle = find_cycle(first.len(), |ring, out| {
            if first[ring] != ring {
                return;
            }
            let mut at = ring;
            loop {
                self.successors(at, &mut own);
                at = next[at];
                if at == ring {
                    break;
                }
            }
            out.extend(own.drain(..).map(|channel| first[channel]).filter(|&other| other != ring));
        })?;
        Some(cycle.into_iter().map(|c| self.name(c)).collect())
    }

    fn cycle_of_channels(&self) -> Option<Vec<Channel>> {
        /// Members of the first cycle from which a shorter one is sought.
        const TRIES: usize = 16;
        let nodes = self.waits.len();
        let mut best = find_cycle(nodes, |c, out| self.successors(c, out))?;
        for start in best.clone().into_iter().take(TRIES) {
            let shorter = cycle_through(nodes, start, |c, out| self.successors(c, out));
            if shorter.len() < best.len() {
                best = shorter;
            }
        }
        Some(best.into_iter().map(|c| self.name(c)).collect())
    }

    fn name(&self, channel: usize) -> Channel {
        let link = LinkId::from_index(channel / self.vcs);
        let (router, port) = self.fabric.output(link);
        let to = match self.fabric.port(link).peer {
            Peer::Router { router, .. } => router,
            _ => router,
        };
        Channel { router, port, vc: ChannelId::new((channel % self.vcs) as u8), to }
    }
}

/// A cycle of a graph of nodes `0..nodes`, in order, by depth-first search without recursion.
pub(super) fn find_cycle(
    nodes: usize,
    mut successors: impl FnMut(usize, &mut Vec<usize>),
) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        OnPath,
        Done,
    }
    let mut marks = vec![Mark::New; nodes];
    // Nodes on the path, each with the height of `todo` above which its successors lie.
    let mut path: Vec<(usize, usize)> = Vec::new();
    let mut todo = Vec::new();
    for root in 0..nodes {
        if marks[root] != Mark::New {
            continue;
        }
        let mut next = Some(root);
        loop {
            if let Some(node) = next.take() {
                marks[node] = Mark::OnPath;
                path.push((node, todo.len()));
                successors(node, &mut todo);
            }
            let Some(&(node, height)) = path.last() else { break };
            if todo.len() == height {
                marks[node] = Mark::Done;
                path.pop();
            } else if let Some(successor) = todo.pop() {
                match marks[successor] {
                    Mark::New => next = Some(successor),
                    Mark::OnPath => {
                        let from = path.iter().position(|&(n, _)| n == successor)?;
                        return Some(path[from..].iter().map(|&(n, _)| n).collect());
                    }
                    Mark::Done => {}
                }
            }
        }
    }
    None
}

/// A shortest cycle through `start`, which must be on one, by breadth-first search.
fn cycle_through(
    nodes: usize,
    start: usize,
    mut successors: impl FnMut(usize, &mut Vec<usize>),
) -> Vec<usize> {
    let mut before = vec![usize::MAX; nodes];
    let mut queue = vec![start];
    let (mut head, mut next) = (0, Vec::new());
    while let Some(&node) = queue.get(head) {
        head += 1;
        next.clear();
        successors(node, &mut next);
        for &successor in &next {
            if before[successor] == usize::MAX {
                before[successor] = node;
                queue.push(successor);
            }
        }
        if before[start] != usize::MAX {
            break;
        }
    }
    let mut cycle = vec![start];
    let mut node = before[start];
    while node != start {
        cycle.push(node);
        node = before[node];
    }
    cycle[1..].reverse();
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(edges: &[&[usize]]) -> Option<Vec<usize>> {
        find_cycle(edges.len(), |n, out| out.extend(edges[n]))
    }

    #[test]
    fn finds_cycles_and_only_cycles() {
        assert_eq!(search(&[&[1, 2], &[3], &[3], &[]]), None, "a diamond has none");
        assert_eq!(search(&[&[0]]), Some(vec![0]));
        assert_eq!(search(&[&[1], &[2], &[3], &[1]]), Some(vec![1, 2, 3]));
        assert_eq!(search(&[&[], &[0], &[1, 3], &[2]]), Some(vec![2, 3]));
    }

    /// Who goes on in a ring waits for nobody; who turns waits for the other ring.
    #[test]
    fn rings_with_bubbles_are_one_node_each() {
        let fabric = crate::routing::testing::grid(true, &[4, 3]);
        let (down, up, next) = (PortId::new(0), PortId::new(1), PortId::new(3));
        let mut all = Dependencies::new(&fabric, 1);
        let vc = ChannelId::FIRST;
        for router in RouterId::first(fabric.routers()) {
            all.add(router, down, vc, up, vc);
        }
        assert_eq!(all.cycle(None).map(|c| c.len()), Some(4), "a ring alone is a cycle");
        assert_eq!(all.cycle(Some(4)), None);
        all.add(RouterId::new(5), down, vc, next, vc);
        assert_eq!(all.cycle(Some(4)), None);
        // From the ring of dimension 1 back to that of dimension 0, at the other end of both.
        all.add(RouterId::new(9), PortId::new(2), vc, up, vc);
        assert_eq!(all.cycle(Some(4)), None, "another ring of dimension 0");
        all.add(RouterId::new(5), PortId::new(2), vc, up, vc);
        assert_eq!(all.cycle(Some(4)).map(|c| c.len()), Some(2));
    }

    #[test]
    fn finds_a_shortest_cycle_through_a_node() {
        let edges: [&[usize]; 5] = [&[1, 4], &[2], &[3], &[0], &[0]];
        assert_eq!(cycle_through(5, 0, |n, out| out.extend(edges[n])), [0, 4]);
        assert_eq!(cycle_through(5, 2, |n, out| out.extend(edges[n])), [2, 3, 0, 1]);
    }
}
