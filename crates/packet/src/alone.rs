//! How long a message takes that is alone in the network: what its completion time is compared with.
//!
//! The message takes the fastest path there is, whatever the routing would take, and waits for no buffer. Its chunks pass the links of the path one after another, as if each
//! link had a queue without bound: so the last one arrives after the longest of all paths through chunks and links that go forward in both (last-passage percolation). All
//! chunks but the last are alike, hence two links decide: one that all chunks but the last take their time on, and one at or behind it where the last one catches up with them.
//!
//! This is what the model gives to the picosecond, where a chunk takes whole picoseconds on each link and buffers hold what links carry in a round trip; else rounding is off by
//! at most a picosecond for each link, and small buffers slow a message down that is alone.

use crate::{config::Rules, network::Network, setup::Setup};
use base::{
    index::{RouterId, TerminalId},
    sorted::SortedMap,
    time::Ps,
};
use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

/// Most routers of a network in which slow-downs are measured: a path for each pair of them is kept.
pub const MOST_ROUTERS: u32 = 4096;

/// Bytes that are kept for a pair of routers.
pub const PAIR_BYTES: u64 = size_of::<u32>() as u64;

/// Why a network with such routers, so many of them, has no slow-downs of messages; `bypassed` if links lose packets or a predictor takes its place.
#[must_use]
pub fn absent(name: &str, rules: &Rules, routers: u32, bypassed: bool) -> Option<String> {
    if rules.lag > 0 {
        return Some(format!(
            "router \"{name}\" advances in cycles: what a message takes alone is not known"
        ));
    }
    if bypassed {
        return Some(
            "what a message takes alone is not known of predictors and of links that lose packets".to_owned(),
        );
    }
    (routers > MOST_ROUTERS)
        .then(|| format!("the network has {routers} routers; paths of {MOST_ROUTERS} are kept"))
}

/// True if a run measures slow-downs of messages.
#[must_use]
pub fn is_measured(setup: &Setup) -> bool {
    let router = setup.packet.router;
    let bypassed = setup.hybrid.is_some() || setup.resilience.is_some();
    setup.measure.slow_down && absent(router.name, &router.rules, setup.fabric.routers(), bypassed).is_none()
}

/// Classes of the links between routers on a path.
type Classes = Vec<u8>;

/// Paths of messages that are alone, found as they are asked for.
pub struct Alone {
    net: Arc<Network>,
    /// Paths that were found, each once.
    paths: Vec<Classes>,
    numbers: SortedMap<Classes, u32>,
    /// By source router: the path to each router, [`u32::MAX`] for none.
    from: SortedMap<RouterId, Vec<u32>>,
}

impl Alone {
    /// Nothing asked for yet.
    #[must_use]
    pub fn new(net: Arc<Network>) -> Self {
        Self { net, paths: Vec::new(), numbers: SortedMap::new(), from: SortedMap::new() }
    }

    /// What a message of so many bytes takes alone, from its creation to its last byte; `None` if there is no path.
    pub fn time(&mut self, source: TerminalId, destination: TerminalId, bytes: u64) -> Option<Ps> {
        let net = Arc::clone(&self.net);
        let (from, _) = net.fabric.attached(source);
        let (to, port) = net.fabric.attached(destination);
        let path = self.path(from, to)?;
        let last = net.fabric.port(net.fabric.port_index(to, port)).class;
        let links: Classes =
            [net.injection()].into_iter().chain(path.iter().copied()).chain([last]).collect();
        Some(net.adapter_delay.least() + Message::of(&net, bytes).on(&net, &links))
    }

    /// The fastest path between two routers.
    fn path(&mut self, from: RouterId, to: RouterId) -> Option<&Classes> {
        if !self.from.contains_key(&from) {
            let found = self.paths_from(from);
            self.from.insert(from, found);
        }
        let number = *self.from.get(&from)?.get(to.index())?;
        self.paths.get(number as usize)
    }

    /// Fastest paths of a full chunk to all routers; of equally fast ones that of fewer links.
    fn paths_from(&mut self, from: RouterId) -> Vec<u32> {
        let net = Arc::clone(&self.net);
        let routers = net.fabric.routers() as usize;
        let (mut best, mut found) = (vec![(Ps::MAX, u32::MAX); routers], vec![u32::MAX; routers]);
        let mut before: Vec<Option<(RouterId, u8)>> = vec![None; routers];
        let mut open = BinaryHeap::from([Reverse((0, 0, from))]);
        best[from.index()] = (0, 0);
        while let Some(Reverse((time, hops, router))) = open.pop() {
            if found[router.index()] != u32::MAX {
                continue;
            }
            let path = match before[router.index()] {
                None => Classes::new(),
                Some((previous, class)) => {
                    let path = &self.paths[found[previous.index()] as usize];
                    path.iter().copied().chain([class]).collect()
                }
            };
            found[router.index()] = self.number(path);
            for (port, next) in net.fabric.neighbours(router) {
                let class = net.fabric.port(net.fabric.port_index(router, port)).class;
                let timing = &net.timings[usize::from(class)];
                let reached = (time + timing.chunk.whole + timing.delay, hops + 1);
                if reached < best[next.index()] {
                    best[next.index()] = reached;
                    before[next.index()] = Some((router, class));
                    open.push(Reverse((reached.0, reached.1, next)));
                }
            }
        }
        found
    }

    fn number(&mut self, path: Classes) -> u32 {
        if let Some(&number) = self.numbers.get(&path) {
            return number;
        }
        let number = self.paths.len() as u32;
        self.paths.push(path.clone());
        self.numbers.insert(path, number);
        number
    }
}

/// A message as links carry it.
struct Message {
    /// Chunks but the last.
    before: u64,
    /// Bytes of each of these.
    chunk: u64,
    /// Bytes of the last one.
    last: u64,
}

impl Message {
    /// Cut into packets and chunks: a packet shorter than a chunk is a chunk of its own bytes, the last chunk of a longer one is a full one.
    fn of(net: &Network, bytes: u64) -> Self {
        let (packet, chunk) = (u64::from(net.config.packet), u64::from(net.config.chunk));
        let (full, rest) = (bytes / packet, bytes % packet);
        let size = |packet: u64| packet.clamp(1, chunk);
        // Of no bytes at all there is a packet, too.
        let chunks = full * packet.div_ceil(chunk) + rest.div_ceil(chunk) + u64::from(bytes == 0);
        let last = if rest > 0 || bytes == 0 { size(rest) } else { size(packet) };
        Self { before: chunks - 1, chunk: size(packet), last }
    }

    /// Time on these links, one behind the other.
    fn on(&self, net: &Network, links: &[u8]) -> Ps {
        let time = |link: usize, bytes: u64| net.timings[usize::from(links[link])].time_of(bytes);
        let delays: Ps = links.iter().map(|&class| net.timings[usize::from(class)].delay).sum();
        let tail = |from: usize| (from..links.len()).map(|link| time(link, self.last)).sum::<Ps>();
        if self.before == 0 {
            return delays + tail(0);
        }
        let (all, chunk) = (self.before * self.chunk, self.chunk);
        let head = |to: usize| (0..to).map(|link| time(link, chunk)).sum::<Ps>();
        // All but the last are slowest on link `slow`, and the last meets them at link `meet`.
        let longest = |meet: usize| {
            let through = |slow: usize| match slow == meet {
                true => head(meet) + time(meet, all + self.last),
                false => head(meet) - time(slow, chunk) + time(slow, all) + time(meet, chunk + self.last),
            };
            (0..=meet).map(through).max().unwrap_or(0) + tail(meet + 1)
        };
        delays + (0..links.len()).map(longest).max().unwrap_or(0)
    }
}
