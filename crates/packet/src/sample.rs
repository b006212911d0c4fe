//! Periodic sampling by director ticks: buffer occupancy, source backlog, link use; and the end of finite workloads.

use super::{
    congestion_control::closing::Held,
    effects::Wire,
    loads::Loads,
    measured::{Measured, half_of},
    net::Router,
    network::End,
    observe::Observer,
    state::Inhabited,
};
use base::{
    index::{LinkId, TerminalId},
    time::{NEVER, Ps},
};
use engine::{
    agenda::Agenda,
    director::{Director, Network as Clock},
    domain::Effects,
};
use serde::{Deserialize, Serialize};

/// What a partition reports at a tick.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sample {
    /// Virtual time at which it happens.
    pub time: Ps,
    /// Chunks that hold buffer space in routers or on links.
    pub occupied: u64,
    /// Chunks that wait for space.
    pub queued: u64,
    /// Chunks put on links since the start.
    pub sent: u64,
    /// Chunks accepted by routers since the start.
    pub chunk_hops: u64,
    /// Backlog by link (chunks), if asked for: those that are not zero.
    pub ports: Vec<(LinkId, u32)>,
    /// By terminal that lags: how far it is behind its schedule, and packets delivered from it so far. Of what a series keeps the number alone is left, in [`Self::lagging`]: all
    /// sources of a saturated run, at each tick, would take more memory than the rest.
    pub lags: Vec<Lag>,
    /// Number of terminals that lag.
    pub lagging: u64,
    /// Some source has more to send, or a packet is on its way.
    pub busy: bool,
    /// Chunks are on their way out to terminals, which may need no event.
    pub leaving: bool,
    /// Packets created minus delivered; in the surrogate what will be delivered before [`Sampler::asks`] may count as delivered already.
    pub open: i64,
    /// Packets created since the start.
    pub created: u64,
    /// Messages begun so far.
    pub messages: u64,
    /// The same by job.
    pub job_messages: Vec<u64>,
    /// Bytes that links have sent since the start, if asked for; [`Loads`] has those that are kept.
    pub carried: Vec<(LinkId, u64)>,
    /// Flows that congestion control holds back, by job; empty without it.
    pub held: Vec<Held>,
}

/// What is sampled beyond what every run needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct More {
    /// Backlog of every port.
    pub per_port: bool,
    /// Bytes by link.
    pub loads: bool,
}

impl Sample {
    /// Adds another partition's.
    pub fn merge(&mut self, other: Sample) {
        debug_assert_eq!(self.time, other.time, "partitions report of the same instant");
        self.occupied += other.occupied;
        self.queued += other.queued;
        self.sent += other.sent;
        self.chunk_hops += other.chunk_hops;
        self.ports.extend(other.ports);
        self.lags.extend(other.lags);
        self.lagging += other.lagging;
        self.carried.extend(other.carried);
        self.busy |= other.busy;
        self.leaving |= other.leaving;
        self.open += other.open;
        self.created += other.created;
        self.messages += other.messages;
        for (a, b) in self.job_messages.iter_mut().zip(other.job_messages) {
            *a += b;
        }
        self.held.iter_mut().zip(other.held).for_each(|(a, b)| a.merge(b));
    }
}

/// A source behind its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lag {
    /// The terminal, by its number in the network.
    pub terminal: TerminalId,
    /// Age of its oldest message that is not wholly handed over.
    pub behind: Ps,
    /// Packets it has handed over.
    pub packets: u32,
}

/// Takes samples every `period` and keeps them.
pub struct Sampler {
    period: Ps,
    per_port: bool,
    /// Stop when the workload is done.
    until_done: bool,
    /// One per tick.
    pub samples: Vec<Sample>,
    /// What links carried, if asked for.
    pub loads: Option<Loads>,
    /// At half of the time that can be steady; what happened from then on is in [`Measured::heard`](super::measured::Measured::heard).
    pub half: Option<Box<Sample>>,
    half_at: Ps,
    /// The run came to rest with packets left over.
    pub stuck: bool,
}

engine::kept!(Sampler: samples, loads, half, stuck => period, per_port, until_done, half_at);

impl Sampler {
    /// A sampler; `period` 0 means never, `end` is where the run will stop, `from` when it can be steady at the earliest.
    #[must_use]
    pub fn new(period: Ps, end: Ps, from: Ps, per_port: bool, until_done: bool) -> Self {
        let half_at = if until_done { NEVER } else { half_of(from, end) };
        Self {
            period,
            per_port,
            until_done,
            samples: Vec::new(),
            loads: None,
            half: None,
            half_at,
            stuck: false,
        }
    }

    /// Also keeps what links carried.
    #[must_use]
    pub fn with_loads(self, loads: Option<Loads>) -> Self {
        Self { loads, ..self }
    }

    /// The next tick after `now` that asks how many packets are under way, or what was delivered from whom: at half of the run.
    #[must_use]
    pub fn asks(&self, now: Ps) -> Ps {
        if self.half_at > now { self.half_at } else { NEVER }
    }

    /// True if the run stops when the workload is done.
    #[must_use]
    pub fn until_done(&self) -> bool {
        self.until_done
    }

    /// The first tick after `now`.
    #[must_use]
    pub fn tick_after(&self, now: Ps) -> Ps {
        let periodic = now.checked_div(self.period).map_or(NEVER, |n| (n + 1).saturating_mul(self.period));
        if self.half.is_none() && self.half_at > now { periodic.min(self.half_at) } else { periodic }
    }

    /// A partition's share of a tick.
    pub fn share<R: Router>(&self, now: Ps, domain: &Inhabited<R>, observer: &Observer) -> Share {
        let number = now.checked_div(self.period).filter(|n| n * self.period == now);
        let loads = self.loads.as_ref().is_some_and(|loads| number.is_some_and(|n| loads.wants(n)));
        Share { sample: take(domain, &observer.sums, now, More { per_port: self.per_port, loads }) }
    }

    /// Keeps a tick's sample; false if the run is over.
    pub fn take_note(&mut self, now: Ps, share: Share, dry: bool) -> bool {
        let Share { mut sample } = share;
        debug_assert!(self.samples.last().is_none_or(|last| last.time < now), "samples follow each other");
        sample.ports.sort_unstable();
        sample.lags.sort_unstable_by_key(|l| l.terminal);
        let done = !sample.busy && sample.open == 0;
        let dry = dry && !sample.leaving;
        let carried = std::mem::take(&mut sample.carried);
        if now == self.half_at {
            self.half = Some(Box::new(sample.clone()));
        }
        if now.checked_rem(self.period) == Some(0) {
            if let Some(loads) = self.loads.as_mut().filter(|_| !carried.is_empty()) {
                loads.keep(now, carried);
            }
            self.samples.push(Sample { lags: Vec::new(), ..sample });
        }
        self.stuck = dry && !done;
        !self.until_done || !(done || self.stuck)
    }
}

/// A partition's share of a tick.
#[derive(Debug, Serialize, Deserialize)]
pub struct Share {
    sample: Sample,
}

impl Share {
    /// Packets created so far.
    #[must_use]
    pub fn created(&self) -> u64 {
        self.sample.created
    }

    /// Chunks in the network.
    #[must_use]
    pub fn occupied(&self) -> u64 {
        self.sample.occupied + self.sample.queued
    }

    /// Adds another partition's.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.sample.merge(other.sample);
        self
    }
}

impl<R: Router> Director<Inhabited<R>, Observer> for Sampler {
    type Summary = Share;
    type Order = ();

    fn next_tick(&self, now: Ps) -> Ps {
        self.tick_after(now)
    }

    fn summarise(&self, now: Ps, domain: &Inhabited<R>, observer: &mut Observer, _: &Agenda<Wire>) -> Share {
        self.share(now, domain, observer)
    }

    fn merge(&self, a: Share, b: Share) -> Share {
        a.with(b)
    }

    fn decide(&mut self, now: Ps, share: Share, dry: bool) -> Option<(Clock, ())> {
        self.take_note(now, share, dry).then_some((Clock::Keep, ()))
    }

    fn apply(&self, (): &(), _: &mut Inhabited<R>, _: &mut impl Effects<Inhabited<R>>) {}
}

/// The state of a settled partition at `now`.
#[must_use]
pub fn take<R: Router>(domain: &Inhabited<R>, observer: &Measured, now: Ps, more: More) -> Sample {
    let (state, cx) = (&domain.carrier.state, &domain.carrier.cx);
    let mut sample = Sample {
        time: now,
        chunk_hops: observer.chunk_hops,
        created: observer.packets.0,
        open: observer.packets.0 as i64 - observer.packets.1 as i64 - observer.tallies.all_lost() as i64,
        job_messages: vec![0; cx.net.work.len()],
        held: Held::by_job(&domain.carrier, now),
        ..Sample::default()
    };
    for (u, line) in cx.local.lines.iter() {
        let port = state.net.ports.get(u);
        sample.sent += u64::from(port.sent);
        if cx.local.is_routers(u) {
            let held = state.net.occupancy(u);
            debug_assert!(port.backlog >= held, "what holds buffer is counted");
            sample.occupied += u64::from(held);
            sample.queued += u64::from(port.backlog - held);
            let out = matches!(line.end, End::Terminal { .. });
            sample.leaving |= out && (R::waits(&state.net, u) || !port.flight.is_empty());
        }
        if more.per_port && port.backlog > 0 {
            sample.ports.push((line.link, port.backlog));
        }
        if more.loads {
            let full = u64::from(port.sent) * u64::from(cx.net.config.chunk);
            let begun = state.net.carried.rows().get(u.index()).copied().unwrap_or(full);
            // What of it is not through by now: the chunk on the link, and those that an output has in turn behind it.
            let timing = &cx.net.timings[line.timing as usize];
            let ahead = port.clock.rounded(timing.denominator).saturating_sub(now);
            let left = (ahead as f64 * timing.bytes_per_s() / 1e12).round() as u64;
            sample.carried.push((line.link, begun.saturating_sub(left)));
        }
    }
    sample.busy |= domain.host.is_busy();
    for (i, &terminal) in cx.local.terminals.iter().enumerate() {
        let row = state.terminals.get(i as u32);
        let posted = if row.posts.is_empty() { NEVER } else { state.posts.get(row.posts.head).time };
        let upcoming = if row.elsewhere { NEVER } else { row.upcoming };
        let oldest = if row.cutting.active { row.cutting.created } else { posted.min(upcoming) };
        let control = if row.controls.is_empty() { NEVER } else { state.posts.get(row.controls.head).time };
        let oldest = oldest.min(control).min(state.control.oldest(i as u32));
        sample.messages += u64::from(row.messages);
        sample.busy |= state.transport.is_busy(i as u32);
        if let Some(count) = sample.job_messages.get_mut(cx.net.rank[terminal].0 as usize) {
            *count += u64::from(row.messages);
        }
        // Packets that were handed over count as open until they are delivered.
        sample.busy |= oldest != NEVER || row.elsewhere;
        if oldest < now {
            sample.lagging += 1;
            sample.lags.push(Lag { terminal, behind: now - oldest, packets: row.packets });
        }
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A series keeps how many sources lag, and half of the run which ones: verdicts need those.
    #[test]
    fn series_keep_the_number_of_those_that_lag() {
        let lag = |n| Lag { terminal: TerminalId::new(n), behind: 5, packets: 1 };
        let mut sampler = Sampler::new(10, 40, 0, false, false);
        for now in [10, 20, 30] {
            let half = |lags: Vec<Lag>| Share {
                sample: Sample {
                    time: now,
                    lagging: lags.len() as u64,
                    lags,
                    busy: true,
                    ..Sample::default()
                },
            };
            sampler.take_note(now, half(vec![lag(3), lag(2)]).with(half(vec![lag(1)])), false);
        }
        let kept: Vec<_> = sampler.samples.iter().map(|s| (s.time, s.lagging, s.lags.len())).collect();
        assert_eq!(kept, [(10, 3, 0), (20, 3, 0), (30, 3, 0)]);
        assert_eq!(sampler.half.expect("it was taken").lags, [lag(1), lag(2), lag(3)]);
    }

    /// What is delivered counts at half of the run, no later.
    #[test]
    fn who_asks_what_was_delivered() {
        let asks = |period, end, from| {
            let sampler = Sampler::new(period, end, from, false, false);
            [0, 19, 20, 24, 25, 40].map(|now| sampler.asks(now))
        };
        assert_eq!(asks(10, 50, 0), [25, 25, 25, 25, NEVER, NEVER]);
        assert_eq!(asks(10, 30, 10), [20, 20, NEVER, NEVER, NEVER, NEVER]);
    }
}
