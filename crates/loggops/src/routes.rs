//! Delays that follow from a network's links: shortest paths between terminals, and what the links on them take.
//!
//! A message of s bytes travels in chunks. Its first chunk is sent again by every router, so it pays its serialisation on each link; the
//! chunks behind it follow at the pace of the slowest link. The interfaces at the ends pay for that pace (G), so the delay holds the latencies, the
//! routers, and the first chunk on all links but the slowest. A message that is larger than a buffer that credits do not free in time
//! waits for them ([`Round`]). The sender's interface goes at its own pace until the buffers before the slowest link are full.

use super::{config::Cost, delays::Delays};
use base::{
    index::{Column, RouterId, TerminalId},
    rate::Bandwidth,
    sorted::SortedMap,
    time::Ps,
};
use fabric::{
    graph::{Fabric, Peer},
    planes,
    routing::walk,
};
use model::{
    credits::Round,
    setup::{LONGEST, LinkParams},
};
use std::collections::VecDeque;

/// Most routers with terminals for which each pair is looked up; beyond, all pairs cost the mean.
pub const MOST_ROUTERS: usize = 8_192;

/// Sources of which the mean is taken where there are too many routers.
const SAMPLED: usize = 64;

/// Kind of path that is not there, to a router out of reach, or is not known yet.
const NONE: u16 = u16::MAX;

/// What the packets of a message meet beside links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// Time in each router.
    pub router_delay: Ps,
    /// Bytes that a router takes in before it sends them on.
    pub chunk: u64,
    /// Bytes of a request or grant.
    pub control: u64,
    /// A larger message asks first: request and grant go before it.
    pub eager: u64,
}

/// Which delays the network gives, and which the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// What messages cost.
    pub cost: Cost,
    /// The file's latency, and its time per link between routers; none if paths give them.
    pub latency: Option<(Ps, Ps)>,
    /// The file's time per byte; none if the slowest link of a path gives it.
    pub byte: Option<Ps>,
    /// What interfaces take for a byte, whatever the path.
    pub interface: Ps,
}

/// What links take together on a path; paths of the same links are alike.
#[derive(Clone, Debug)]
struct Path {
    /// Links between routers.
    links: u32,
    /// Latencies and routers.
    fixed: Ps,
    /// A full first chunk on all links but the slowest.
    first: Ps,
    slowest: Bandwidth,
    /// Links on it that wait for credits within a message.
    rounds: Vec<Round>,
    /// Bytes that the buffers before the slowest link take in; 0 if the sender's own link is the slowest.
    room: u64,
}

impl Path {
    /// What `passed` of a message's bytes take on the link that takes the longest.
    fn passing(&self, bytes: u64, passed: u64) -> Ps {
        let waits = self.rounds.iter().map(|round| round.passing(bytes, passed)).max();
        time(self.slowest, passed).max(waits.unwrap_or(0))
    }

    /// How long the sender's interface is held back for `passed` of a message's bytes: the buffers take the first of them in.
    fn held(&self, bytes: u64, passed: u64) -> Ps {
        let taken = self.room.min(passed);
        self.passing(bytes, passed).saturating_sub(self.passing(taken, taken))
    }
}

/// Least, mean and greatest over pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Of the pair with the shortest time.
    pub least: Ps,
    /// Mean, rounded down.
    pub mean: Ps,
    /// Of the pair with the longest time.
    pub most: Ps,
}

/// What paths take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spreads {
    /// Latency of a byte, as the network gives it.
    pub latency: Spread,
    /// The same as the file gives it, with its time per link.
    pub given: Spread,
    /// 2^20 bytes on the slowest link.
    pub byte: Spread,
}

/// Delays by shortest paths.
#[derive(Clone, Debug)]
pub struct PathDelays {
    pieces: Pieces,
    given: Given,
    /// Row of each terminal's router; empty if all pairs cost the mean.
    row: Column<TerminalId, u32>,
    rows: usize,
    table: Vec<u16>,
    paths: Vec<Path>,
}

impl PathDelays {
    /// Delays of a network with these links by class, the terminals' first. Of several rails the first counts.
    #[must_use]
    pub fn new(fabric: &Fabric, links: &[LinkParams], pieces: Pieces, given: Given) -> Self {
        let plane = (fabric.planes() > 1).then(|| planes::plane(fabric, 0));
        let fabric = plane.as_ref().unwrap_or(fabric);
        let mut ends: Vec<RouterId> = fabric.attachments().iter().map(|a| a.0).collect();
        debug_assert!(links.len() == fabric.classes().len(), "each class of links has its parameters");
        ends.sort_unstable();
        ends.dedup();
        let mut kinds = Kinds::new(links, &pieces);
        if ends.len() > MOST_ROUTERS {
            return Self::mean(fabric, links, &ends, &mut kinds, pieces, given);
        }
        let row = fabric.attachments().iter().map(|a| ends.partition_point(|&e| e < a.0) as u32).collect();
        let mut table = Vec::with_capacity(ends.len() * ends.len());
        for &from in &ends {
            let at = kinds.search(fabric, from);
            table.extend(ends.iter().map(|&to| at[to]));
        }
        let paths = kinds.paths(links, &pieces);
        Self { pieces, given, row, rows: ends.len(), table, paths }
    }

    /// The same for all pairs: the mean over those of some routers.
    fn mean(
        fabric: &Fabric,
        links: &[LinkParams],
        ends: &[RouterId],
        kinds: &mut Kinds,
        pieces: Pieces,
        given: Given,
    ) -> Self {
        let mut count = SortedMap::<u16, u64>::new();
        for n in 0..SAMPLED.min(ends.len()) {
            let at = kinds.search(fabric, ends[n * ends.len() / SAMPLED.min(ends.len())]);
            for &to in ends {
                *count.entry(at[to]).or_default() += 1;
            }
        }
        count.remove(&NONE);
        let of = |kind: u16| path(&kinds.known[usize::from(kind)], links, &pieces);
        let all: Vec<(Path, u64)> = count.iter().map(|(&kind, &n)| (of(kind), n)).collect();
        let pairs = all.iter().map(|(_, n)| u128::from(*n)).sum::<u128>().max(1);
        let mean = |value: &dyn Fn(&Path) -> u64| {
            let sum: u128 = all.iter().map(|(p, n)| u128::from(value(p)) * u128::from(*n)).sum();
            (sum / pairs) as u64
        };
        let commonest = all.iter().max_by_key(|(_, n)| *n).map(|(path, _)| path);
        let slowest = commonest.map_or(links[0].bandwidth, |path| path.slowest);
        let rounds = commonest.map_or_else(Vec::new, |path| path.rounds.clone());
        let room = commonest.map_or(0, |path| path.room);
        let (fixed, first) = (mean(&|p| p.fixed), mean(&|p| p.first));
        let links = mean(&|p| p.links.into()) as u32;
        let paths = vec![Path { links, fixed, first, slowest, rounds, room }];
        Self { pieces, given, row: Column::default(), rows: 0, table: Vec::new(), paths }
    }

    #[inline]
    fn path(&self, from: TerminalId, to: TerminalId) -> &Path {
        if self.row.is_empty() {
            return &self.paths[0];
        }
        let (a, b) = (self.row[from] as usize, self.row[to] as usize);
        // Ranks are not placed where there is no path.
        debug_assert!(a < self.rows && b < self.rows, "a row for each router with terminals");
        self.paths.get(usize::from(self.table[a * self.rows + b])).unwrap_or(&self.paths[0])
    }

    /// Bytes of the table of pairs.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.table.len() as u64 * 2 + self.row.len() as u64 * 4
    }

    /// Whether each pair is looked up.
    #[must_use]
    pub fn by_pair(&self) -> bool {
        !self.row.is_empty()
    }

    /// Delay of a message that is sent at once.
    fn alone(&self, path: &Path, bytes: u64) -> Ps {
        let delay = match self.given.latency {
            Some((latency, hop)) => over(latency, hop, path),
            None => path.fixed.saturating_add(self.pieces.first(path, bytes)),
        };
        match (self.given.cost, self.given.byte) {
            (Cost::LogGops, _) => delay,
            (Cost::Pure, Some(each)) => delay.saturating_add(each.saturating_mul(bytes)),
            (Cost::Pure, None) => delay.saturating_add(path.passing(bytes, bytes)),
        }
        .min(LONGEST)
    }

    /// What paths between these terminals take; none if there is no pair. Of more than 2,048 terminals evenly spread ones are the sources.
    #[must_use]
    pub fn spreads(&self, terminals: &[TerminalId]) -> Option<Spreads> {
        const SOURCES: usize = 2_048;
        let mut pairs = vec![0u64; self.paths.len()];
        for from in evenly(terminals, SOURCES) {
            for &to in terminals.iter().filter(|&&to| to != from) {
                let kind = match self.row.is_empty() {
                    true => 0,
                    false => {
                        let (a, b) = (self.row[from] as usize, self.row[to] as usize);
                        usize::from(self.table[a * self.rows + b])
                    }
                };
                if let Some(pairs) = pairs.get_mut(kind) {
                    *pairs += 1;
                }
            }
        }
        spreads(&self.paths, &pairs, self.pieces, self.given)
    }
}

/// As [`PathDelays::spreads`], of paths from 64 terminals at most: enough to tell whether a file contradicts its network, and no table of
/// all pairs.
#[must_use]
pub fn survey(
    fabric: &Fabric,
    links: &[LinkParams],
    pieces: Pieces,
    given: Given,
    terminals: &[TerminalId],
) -> Option<Spreads> {
    let plane = (fabric.planes() > 1).then(|| planes::plane(fabric, 0));
    let fabric = plane.as_ref().unwrap_or(fabric);
    let router = |terminal: TerminalId| fabric.router_at(terminal);
    let mut kinds = Kinds::new(links, &pieces);
    let mut pairs = SortedMap::<u16, u64>::new();
    for from in evenly(terminals, SAMPLED) {
        let at = kinds.search(fabric, router(from));
        for &to in terminals.iter().filter(|&&to| to != from) {
            *pairs.entry(at[router(to)]).or_default() += 1;
        }
    }
    let paths = kinds.paths(links, &pieces);
    let pairs: Vec<u64> =
        (0..paths.len() as u16).map(|kind| pairs.get(&kind).copied().unwrap_or(0)).collect();
    spreads(&paths, &pairs, pieces, given)
}

/// So many of some terminals at most, evenly spread.
fn evenly(terminals: &[TerminalId], most: usize) -> impl Iterator<Item = TerminalId> + '_ {
    let count = terminals.len().min(most);
    (0..count).map(move |n| terminals[n * terminals.len() / count])
}

/// Least, mean and greatest over paths that so many pairs have.
fn spreads(paths: &[Path], pairs: &[u64], pieces: Pieces, given: Given) -> Option<Spreads> {
    debug_assert!(pairs.len() == paths.len(), "pairs by kind of path");
    let of = |value: &dyn Fn(&Path) -> Ps| {
        let all: Vec<(Ps, u64)> =
            paths.iter().zip(pairs).filter(|(_, n)| **n > 0).map(|(p, &n)| (value(p), n)).collect();
        let pairs: u128 = all.iter().map(|(_, n)| u128::from(*n)).sum();
        let sum: u128 = all.iter().map(|(v, n)| u128::from(*v) * u128::from(*n)).sum();
        let values = || all.iter().map(|(v, _)| *v);
        Some(Spread { least: values().min()?, mean: (sum / pairs.max(1)) as Ps, most: values().max()? })
    };
    let network = |p: &Path| p.fixed.saturating_add(pieces.first(p, 1));
    let file = |p: &Path| given.latency.map_or_else(|| network(p), |(latency, hop)| over(latency, hop, p));
    Some(Spreads { latency: of(&network)?, given: of(&file)?, byte: of(&|p| p.passing(1 << 20, 1 << 20))? })
}

/// A file's latency and time per link, over a path.
fn over(latency: Ps, hop: Ps, path: &Path) -> Ps {
    latency.saturating_add(hop.saturating_mul(u64::from(path.links)))
}

impl Pieces {
    /// The first chunk on all links but the slowest.
    fn first(&self, path: &Path, bytes: u64) -> Ps {
        let part = u128::from(path.first) * u128::from(bytes.min(self.chunk));
        (part / u128::from(self.chunk.max(1))) as Ps
    }
}

impl Delays for PathDelays {
    fn delay(&self, from: TerminalId, to: TerminalId, bytes: u64) -> Ps {
        let path = self.path(from, to);
        let delay = self.alone(path, bytes);
        let Some(control) = self.asks(bytes) else { return delay };
        let asks = self.alone(path, control) + time(path.slowest, control);
        delay.saturating_add(asks.saturating_mul(2)).min(LONGEST)
    }

    fn unasked(&self, from: TerminalId, to: TerminalId, bytes: u64) -> Ps {
        self.alone(self.path(from, to), bytes)
    }

    fn least(&self) -> Ps {
        self.paths.iter().map(|p| self.alone(p, 0)).min().unwrap_or(0)
    }

    fn hops(&self, from: TerminalId, to: TerminalId) -> u32 {
        self.path(from, to).links
    }

    fn slower(&self, from: TerminalId, to: TerminalId, bytes: u64) -> Ps {
        if self.given.byte.is_some() || self.given.cost == Cost::Pure {
            return 0;
        }
        let rest = bytes.saturating_sub(1);
        self.path(from, to).passing(bytes, rest).saturating_sub(rest.saturating_mul(self.given.interface))
    }

    fn held(&self, from: TerminalId, to: TerminalId, bytes: u64) -> Ps {
        if self.given.byte.is_some() || self.given.cost == Cost::Pure {
            return 0;
        }
        let rest = bytes.saturating_sub(1);
        self.path(from, to).held(bytes, rest).saturating_sub(rest.saturating_mul(self.given.interface))
    }

    fn asks(&self, bytes: u64) -> Option<u64> {
        let ours = self.given.latency.is_none() && self.given.cost == Cost::LogGops;
        (ours && bytes > self.pieces.eager).then_some(self.pieces.control)
    }
}

fn time(bandwidth: Bandwidth, bytes: u64) -> Ps {
    bandwidth.time_rounded(bytes).unwrap_or(LONGEST).min(LONGEST)
}

/// How long a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// Links between routers.
    pub links: u32,
    /// Latencies, routers and the first chunk on all links but the slowest.
    pub latency: Ps,
    /// Some link is slower than those of terminals.
    pub slow: bool,
}

/// Lengths of paths on links with these parameters, shortest or not.
pub struct Lengths<'a> {
    kinds: Kinds,
    links: &'a [LinkParams],
    pieces: Pieces,
}

impl<'a> Lengths<'a> {
    /// Of links by class, the terminals' first.
    #[must_use]
    pub fn new(links: &'a [LinkParams], pieces: Pieces) -> Self {
        Self { kinds: Kinds::new(links, &pieces), links, pieces }
    }

    /// Of the shortest path from a router to each of some others; none if there is none.
    pub fn shortest(&mut self, fabric: &Fabric, from: RouterId, to: &[RouterId]) -> Vec<Option<Length>> {
        let at = self.kinds.search(fabric, from);
        to.iter().map(|&to| Some(at[to]).filter(|kind| *kind != NONE).map(|kind| self.of(kind))).collect()
    }

    /// Of a packet's path.
    pub fn along(&mut self, fabric: &Fabric, path: &walk::Path) -> Length {
        let classes = path.iter().map(|(router, port, _)| fabric.ports_of(*router)[port.index()]);
        let between = classes.filter(|port| matches!(port.peer, Peer::Router { .. }));
        let kind = between.fold(0, |kind, port| self.kinds.longer(kind, port.class.into()));
        self.of(kind)
    }

    fn of(&self, kind: u16) -> Length {
        let kind = &self.kinds.known[usize::from(kind)];
        let path = path(kind, self.links, &self.pieces);
        let latency = path.fixed.saturating_add(path.first);
        Length { links: path.links, latency, slow: kind.before.is_some() }
    }
}

/// What a path of a kind takes, and a terminal's link at either end.
fn path(kind: &Kind, links: &[LinkParams], pieces: &Pieces) -> Path {
    debug_assert!(kind.counts.len() == links.len(), "counts by class of links");
    let many = |class: usize| u64::from(kind.counts[class]) + if class == 0 { 2 } else { 0 };
    let on =
        || links.iter().enumerate().filter(|(class, _)| many(*class) > 0).map(|(c, link)| (many(c), link));
    let between: u64 = kind.counts.iter().map(|&n| u64::from(n)).sum();
    let mut fixed = pieces.router_delay.saturating_mul(between + 1);
    let (mut first, mut slowest) = (0u64, links[0].bandwidth);
    for (n, link) in on() {
        fixed = fixed.saturating_add(link.latency.saturating_mul(n));
        first = first.saturating_add(time(link.bandwidth, pieces.chunk).saturating_mul(n));
        if time(link.bandwidth, 1 << 20) > time(slowest, 1 << 20) {
            slowest = link.bandwidth;
        }
    }
    first = first.min(LONGEST) - time(slowest, pieces.chunk).min(first);
    let rounds = on().filter_map(|(_, link)| Round::of(link, pieces.router_delay, pieces.chunk)).collect();
    let buffers = |before: &Vec<u16>| {
        let between = before.iter().zip(links).map(|(&n, link)| link.vc_buffer.saturating_mul(n.into()));
        between.fold(links[0].vc_buffer, u64::saturating_add)
    };
    let room = kind.before.as_ref().map_or(0, buffers);
    Path { links: between as u32, fixed: fixed.min(LONGEST), first, slowest, rounds, room }
}

/// Paths that are alike.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    /// Links between routers, by class.
    counts: Vec<u16>,
    /// Those before the slowest of them; none if no link is slower than a terminal's.
    before: Option<Vec<u16>>,
}

/// Kinds of paths, by number.
struct Kinds {
    known: Vec<Kind>,
    /// By kind and class: the kind with one link more, or [`NONE`] if it is not known yet.
    next: Vec<Vec<u16>>,
    numbers: SortedMap<Kind, u16>,
    /// What 2^20 bytes take on a link of each class, with what they wait for credits.
    paces: Vec<Ps>,
}

impl Kinds {
    fn new(links: &[LinkParams], pieces: &Pieces) -> Self {
        const MUCH: u64 = 1 << 20;
        let pace = |link: &LinkParams| {
            let round = Round::of(link, pieces.router_delay, pieces.chunk);
            round.map_or_else(|| time(link.bandwidth, MUCH), |round| round.passing(MUCH, MUCH))
        };
        let empty = Kind { counts: vec![0; links.len()], before: None };
        Self {
            known: vec![empty.clone()],
            next: vec![vec![NONE; links.len()]],
            numbers: SortedMap::from([(empty, 0)]),
            paces: links.iter().map(pace).collect(),
        }
    }

    fn paths(&self, links: &[LinkParams], pieces: &Pieces) -> Vec<Path> {
        self.known.iter().map(|kind| path(kind, links, pieces)).collect()
    }

    /// The kind with one link of a class more. Beyond 65,534 kinds a path counts as the one before it.
    fn longer(&mut self, kind: u16, class: usize) -> u16 {
        debug_assert!(class < self.paces.len(), "a class of the fabric");
        let known = self.next[usize::from(kind)][class];
        if known != NONE {
            return known;
        }
        let Kind { counts, before } = &self.known[usize::from(kind)];
        let on = counts.iter().zip(&self.paces).filter(|(n, _)| **n > 0).map(|(_, pace)| *pace);
        let slowest = on.fold(self.paces[0], Ps::max);
        let before = if self.paces[class] > slowest { Some(counts.clone()) } else { before.clone() };
        let mut counts = counts.clone();
        counts[class] = counts[class].saturating_add(1);
        let longer = Kind { counts, before };
        let number = match self.numbers.get(&longer) {
            Some(&number) => number,
            None if self.known.len() >= usize::from(NONE) => kind,
            None => {
                let number = self.known.len() as u16;
                self.numbers.insert(longer.clone(), number);
                self.known.push(longer);
                self.next.push(vec![NONE; self.paces.len()]);
                number
            }
        };
        self.next[usize::from(kind)][class] = number;
        number
    }

    /// The kind of a shortest path to each router, the first that a search finds that takes ports in ascending order.
    fn search(&mut self, fabric: &Fabric, from: RouterId) -> Column<RouterId, u16> {
        let mut at = Column::filled(fabric.routers() as usize, NONE);
        debug_assert!(from.index() < fabric.routers() as usize, "a router of this fabric");
        at[from] = 0;
        let mut queue = VecDeque::from([from]);
        while let Some(router) = queue.pop_front() {
            for port in fabric.ports_of(router) {
                if let Peer::Router { router: next, .. } = port.peer
                    && at[next] == NONE
                {
                    at[next] = self.longer(at[router], port.class.into());
                    queue.push_back(next);
                }
            }
        }
        at
    }
}
