//! What a run's numbers are worth: deadlock, starvation, saturation.

use super::{
    measured::Heard,
    net::Router,
    network::Network,
    sample::{Lag, Sample},
    state::PacketDomain,
};
use base::{
    index::TerminalId,
    sorted::{SortedMap, SortedSet},
    time::{Ps, display},
};
use fabric::graph::Peer;
use serde::{Deserialize, Serialize};

pub use super::net::Channel;

/// A source lags if it falls behind by more than one part in this many of the second half of a run.
const GROWTH: u64 = 20;

/// Sources whose backlog grew all through the second half: they offer more than the network takes.
///
/// From the middle to the end of the measured time, a source fell behind its schedule by more than a twentieth of that span
/// and ends more than `most` packets behind; or all `sources` together fell behind by more than a hundredth of it on average
/// and end more than a quarter of `most` packets behind, each. `packet` is the time of a packet on the terminal's link. Of sources `beyond` what their own link
/// carries no backlog is chance.
#[must_use]
pub fn saturated(
    half: &Sample,
    end: &Sample,
    sources: usize,
    packet: Ps,
    most: u64,
    beyond: impl Fn(TerminalId) -> bool,
) -> Vec<Lag> {
    let before: SortedMap<TerminalId, Ps> = half.lags.iter().map(|l| (l.terminal, l.behind)).collect();
    debug_assert!(half.time <= end.time, "half of a run is over before all of it");
    let span = end.time - half.time;
    let growth = |l: &Lag| l.behind.saturating_sub(before.get(&l.terminal).copied().unwrap_or(0));
    let chance = |l: &&Lag| if beyond(l.terminal) { 0 } else { most * packet };
    let grew: Vec<Lag> =
        end.lags.iter().filter(|l| growth(l) > span / GROWTH && l.behind > chance(l)).copied().collect();
    if !grew.is_empty() {
        return grew;
    }
    let sum = |lags: &[Lag]| lags.iter().map(|l| u128::from(l.behind)).sum::<u128>();
    let (then, now, n) = (sum(&half.lags), sum(&end.lags), sources.max(1) as u128);
    let all =
        now.saturating_sub(then) > n * u128::from(span) / 100 && now > n * u128::from(most / 4 * packet);
    if all { end.lags.clone() } else { Vec::new() }
}

/// Sources that waited through the whole second half, and longer than twenty mean latencies, without one packet
/// delivered, while others had theirs.
#[must_use]
pub fn starved(half: &Sample, end: &Sample, heard: &Heard, mean_latency: Option<f64>) -> Vec<Lag> {
    let span = end.time - half.time;
    // Where nothing that counts arrived, nothing says how long a packet takes.
    let Some(mean_latency) = mean_latency else { return Vec::new() };
    if heard.is_empty() || (span as f64) < 20.0 * mean_latency {
        return Vec::new();
    }
    let idle = |l: &&Lag| l.behind >= span && !heard.has(l.terminal);
    end.lags.iter().filter(idle).copied().collect()
}

/// Channels that wait for each other for ever, in the order of a cycle; empty if there is no deadlock. Partitions must be settled.
#[must_use]
pub fn deadlock<R: Router>(domains: &[&PacketDomain<R>]) -> Vec<Channel> {
    let mut waits = Waits::default();
    domains.iter().for_each(|d| waits.merge(Waits::of(d)));
    waits.cycle()
}

/// Chunks of a channel that wait at its far end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Waiting {
    chunks: u32,
    /// Channels that they wait for.
    to: SortedSet<Channel>,
}

/// Who waits for whom in a partition, or in several: plain data about links' numbers in the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// Of each channel, who waits at its far end.
    waiting: SortedMap<Channel, Waiting>,
    /// Chunks that own buffer of a channel: more than wait if some are on their way. Its upstream partition reports them; none are left out.
    occupancy: SortedMap<Channel, u32>,
}

impl Waits {
    /// Of one partition, settled.
    #[must_use]
    pub fn of<R: Router>(domain: &PacketDomain<R>) -> Self {
        let (state, cx) = (&domain.state, &domain.cx);
        let mut found = Self::default();
        for u in cx.local.ports_of_routers() {
            R::waiting(&state.net, cx, u, &mut |from, chunks, to| {
                let entry = found.waiting.entry(from).or_default();
                entry.chunks += chunks;
                entry.to.extend(to.iter().copied());
            });
        }
        for (u, line) in cx.local.lines.iter() {
            for (vc, v) in state.net.vcs_of(u) {
                let row = state.net.vcs.get(v);
                if row.occupancy > 0 {
                    found.occupancy.insert((line.link, vc), row.occupancy);
                }
            }
        }
        found
    }

    /// Adds another partition's.
    pub fn merge(&mut self, other: Self) {
        for (channel, Waiting { chunks, to }) in other.waiting {
            let entry = self.waiting.entry(channel).or_default();
            entry.chunks += chunks;
            entry.to.extend(to.iter().copied());
        }
        self.occupancy.extend(other.occupancy);
    }

    /// None of a channel's chunks is on its way: all wait at the far end.
    fn is_full(&self, channel: &Channel) -> bool {
        let waiting = self.waiting.get(channel).map(|w| w.chunks);
        waiting.is_some() && waiting == self.occupancy.get(channel).copied()
    }

    /// Channels that wait for each other for ever, in the order of a cycle.
    ///
    /// A channel is dead if it is full and the chunks in its buffer all wait for dead channels: the greatest such set is found by
    /// removing channels that may still move, until nothing changes.
    #[must_use]
    pub fn cycle(&self) -> Vec<Channel> {
        let mut dead: SortedSet<Channel> = self.waiting.keys().copied().filter(|c| self.is_full(c)).collect();
        loop {
            let next = |c: &Channel| &self.waiting[c].to;
            let alive = |c: &Channel| next(c).is_empty() || next(c).iter().any(|n| !dead.contains(n));
            let freed: Vec<Channel> = dead.iter().filter(|c| alive(c)).copied().collect();
            if freed.is_empty() {
                break;
            }
            for c in freed {
                dead.remove(&c);
            }
        }
        let Some(&start) = dead.iter().next() else { return Vec::new() };
        // All successors of a dead channel are dead, so following any of them comes back.
        let (mut path, mut at) = (Vec::new(), start);
        while !path.contains(&at) {
            path.push(at);
            at = *self.waiting[&at].to.iter().next().expect("a dead channel waits for something");
        }
        let first = path.iter().position(|&c| c == at).expect("the walk came back");
        debug_assert!(path.iter().all(|c| self.is_full(c)), "channels of a cycle are full");
        path.split_off(first)
    }
}

/// A terminal in words: with several planes, its node and the rail.
fn terminal(net: &Network, terminal: TerminalId) -> String {
    match net.fabric.planes() {
        1 => format!("terminal {terminal}"),
        _ => format!("node {} on rail {}", net.fabric.node_of(terminal), net.fabric.plane_of(terminal)),
    }
}

/// A channel in words.
#[must_use]
pub fn name(net: &Network, (link, vc): Channel) -> String {
    if let Some(source) = net.fabric.injected_by(link) {
        return format!("{} VC {vc}", terminal(net, source));
    }
    let (router, port) = net.fabric.output(link);
    let to = match net.fabric.port(link).peer {
        Peer::Router { router, .. } => format!("router {router}"),
        Peer::Terminal(t) => format!("terminal {t}"),
        Peer::None => "nothing".to_owned(),
    };
    format!("router {router} port {port} (to {to}) VC {vc}")
}

/// Packets in the network and before it, at half time and at the end. A source that is behind by some time is behind by as many packets as each of the
/// `sources` handed over in such a time, on average.
#[must_use]
pub fn backlogs(half: &Sample, end: &Sample, sources: usize) -> (f64, f64) {
    debug_assert!(half.created <= end.created, "what was handed over stays so");
    let span = (end.time - half.time).max(1) as f64 * sources.max(1) as f64;
    let pace = (end.created - half.created) as f64 / span;
    let backlog = |s: &Sample| {
        let behind: u128 = s.lags.iter().map(|l| u128::from(l.behind)).sum();
        s.open as f64 + behind as f64 * pace
    };
    (backlog(half), backlog(end))
}

/// True if packets pile up in the network and before it: from `then`, in the middle, to `now`, at the end of the measured time, those under way
/// and those that sources are behind with grew by more than a two-hundredth of those handed over, and by more than six times
/// the square root of their number (chance), of messages of so many packets each: see [`backlogs`].
#[must_use]
pub fn piles_up(then: f64, now: f64, created: u64, each: f64) -> bool {
    debug_assert!(each >= 0.0, "a number of packets");
    let growth = now - then;
    growth > 0.005 * created as f64 && growth > 6.0 * (now * each.max(1.0)).sqrt()
}

/// True if the network is still filling: of the packets handed over, a larger share was delivered in the second half than in the first, by a
/// quarter. The beginning of a run is under way then, and what grows tells nothing of what the network takes.
#[must_use]
pub fn fills(half: &Sample, end: &Sample) -> bool {
    let delivered = |s: &Sample| s.created as f64 - s.open as f64;
    let (first, second) = (delivered(half), delivered(end) - delivered(half));
    let (offered, later) = (half.created as f64, (end.created - half.created) as f64);
    // Shares are compared without a division: nothing may have been handed over.
    second * offered > 1.25 * first * later || first <= 0.0
}

/// How the sources of a run did that ends with its workload.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Offered, as a fraction of what terminals' links carry.
    pub offered: f64,
    /// Delivered, as the same fraction.
    pub accepted: f64,
    /// From a message's time to the hand-over of its first packet, mean in ps.
    pub waited: f64,
    /// Time on the terminal's link of the messages that are created at one instant, in ps.
    pub own: f64,
    /// Length of the run.
    pub simulated: Ps,
}

/// False if sources fell behind as in [`saturated`]: less was accepted than offered, and at their end, twice the mean, they were more than
/// 8 messages, or bursts of them, and a hundredth of the run behind. A burst of few messages is no more than that.
#[must_use]
pub fn kept_pace(k: &Kept) -> bool {
    let behind = 2.0 * k.waited;
    k.accepted >= 0.95 * k.offered || behind <= 8.0 * k.own || behind <= 0.01 * k.simulated as f64
}

/// A list of sources in words, shortened.
#[must_use]
pub fn sources(net: &Network, lags: &[Lag]) -> String {
    let in_words = |l: &Lag| format!("{} ({} behind)", terminal(net, l.terminal), display(l.behind));
    let shown: Vec<String> = lags.iter().take(4).map(in_words).collect();
    let more = lags.len().saturating_sub(shown.len());
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight sources of a packet each 144 ns: what is late by so long is one packet behind, however short a packet is on its link.
    #[test]
    fn backlogs_count_packets_that_are_sent() {
        let lag = |n: u32, behind| Lag { terminal: TerminalId::new(n), behind, packets: 0 };
        let sample = |time, created, open, behind| Sample {
            time,
            created,
            open,
            lags: (0..8).map(|n| lag(n, behind)).collect(),
            ..Sample::default()
        };
        let half = sample(45_000_000, 2_500, 3, 0);
        for (behind, waiting) in [(0, 0.0), (144_000, 8.0), (1_440_000, 80.0)] {
            let end = sample(90_000_000, 5_000, 12, behind);
            let (then, now) = backlogs(&half, &end, 8);
            assert!(
                (then - 3.0).abs() < 1e-9 && (now - 12.0 - waiting).abs() < 1e-9,
                "{behind}: {then}, {now}"
            );
            assert_eq!(piles_up(then, now, 2_500, 1.0), behind > 1_000_000, "{behind}");
        }
    }

    /// Sixteen packets that come together are as much chance as one.
    #[test]
    fn messages_of_many_packets_pile_up_by_chance() {
        for (now, each, piles) in [(50.0, 1.0, true), (50.0, 16.0, false), (800.0, 16.0, true)] {
            assert_eq!(piles_up(3.0, now, 2_500, each), piles, "{now}, {each}");
        }
    }
}
