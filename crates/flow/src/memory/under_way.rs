//! How many messages of open traffic are under way at a time: the first of all ranks are sent over links alone, before the run.
//!
//! In the order of their creation each message takes a link for as long as its bytes need, as soon as those before it are over, and goes on to the next link as its head is. Routings see what waits at
//! links. So links that are offered more than they carry have longer and longer queues, wherever they are. Nothing is shared: a message has a link for itself, or waits.

use crate::{
    context::FlowSetup,
    walk::{Routed, Waits, follow},
};
use base::{
    index::{LinkId, RankId, TerminalId},
    rng::{Purpose, Stream},
    time::Ps,
};
use fabric::routing::Routing;
use model::setup::{JobSetup, LinkParams, Until};
use ranks::memory::sent::{Cut, sent};
use workload::traffic::{Message, Traffic};

/// Messages that are sent at most: tens of milliseconds.
const READ: usize = 1 << 16;

/// Messages of each rank that are sent at least, if it has so many: fewer say nothing of what comes later.
const LEAST: usize = 16;

/// A message of some job.
#[derive(Clone, Copy)]
struct Sent {
    time: Ps,
    from: TerminalId,
    to: TerminalId,
    bytes: u64,
    /// Bytes per second at most, if that is limited.
    rate: Option<f64>,
}

/// Messages at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// Created, and not there yet.
    pub all: u64,
    /// Of them those whose latency is over: they share links.
    pub sharing: u64,
}

/// Messages of open traffic under way at a time at most, by what is said above; programs beside are left out. `None` where answers decide what is sent,
/// where the network changes or has several planes, and where the first messages of each rank say too little: of too many ranks, of jobs that begin later or send at another pace than on the whole.
///
/// Messages that share links have all a part and few all they need, so more are under way: twice as many where links carry with ease what they are offered, three times as many beyond.
pub fn under_way(setup: &FlowSetup) -> Option<UnderWay> {
    const EASE: f64 = 0.8;
    let (Until::Time(until) | Until::WorkloadDone { limit: until }) = setup.until;
    let changes = setup.change.is_some() || !setup.config.changes.is_empty();
    let routing = &**setup.routing.as_ref()?;
    if changes || setup.fabric.planes() > 1 {
        return None;
    }
    let (all, seen) = first_messages(&setup.jobs, until)?;
    let mut links = Links::new(setup, routing);
    let (mut under_way, mut sharing) = (Vec::new(), Vec::new());
    for (number, sent) in all.iter().enumerate() {
        let (end, latency) = links.send(sent, number as u64)?;
        under_way.extend([(sent.time, true), (end, false)]);
        sharing.extend([((sent.time.saturating_add(latency)).min(end), true), (end, false)]);
    }
    let span = all.last().map_or(1, |sent| sent.time.max(1));
    let load = links.busy.iter().copied().fold(0.0, f64::max) / span as f64;
    debug_assert!(load >= 0.0, "nothing takes less than no time");
    // What links cannot carry goes on to grow.
    let longer = if load > 1.0 { until as f64 / seen as f64 } else { 1.0 };
    let shared = if load > EASE { 3.0 } else { 2.0 };
    let most = |changes| (most_at_a_time(changes) as f64 * shared * longer).ceil() as u64;
    Some(UnderWay { all: most(under_way), sharing: most(sharing) })
}

/// True if these are so many ranks that it is not looked.
pub fn are_many(jobs: &[JobSetup]) -> bool {
    let open = jobs.iter().filter(|job| job.work.program().is_none());
    open.map(|job| job.placement.len()).sum::<usize>() > READ
}

/// The most that has begun and not ended at a time. What begins and ends at one time is there then.
fn most_at_a_time(mut changes: Vec<(Ps, bool)>) -> u64 {
    changes.sort_unstable_by_key(|&(time, begins)| (time, !begins));
    let (mut now, mut most) = (0u64, 0);
    for (_, begins) in changes {
        now = if begins { now + 1 } else { now - 1 };
        most = most.max(now);
    }
    debug_assert_eq!(now, 0, "what begins ends");
    most
}

/// Messages of all ranks up to a time, and the time; in their order. `None` unless these are all, or each job sends several of each rank in that time, and as much as on the whole within a factor of two.
fn first_messages(jobs: &[JobSetup], until: Ps) -> Option<(Vec<Sent>, Ps)> {
    let open = || jobs.iter().filter(|job| job.work.program().is_none());
    let ranks: usize = open().map(|job| job.placement.len()).sum();
    let each = READ / ranks.max(1);
    let (mut all, mut seen, mut begins) = (Vec::new(), until, Vec::new());
    for job in open() {
        let traffic = job.work.traffic()?;
        if traffic.closed_loop() || traffic.members(RankId::new(0)).is_some() {
            return None;
        }
        begins.push(all.len());
        for rank in 0..job.placement.len() {
            let last = first_of(&**traffic, job, RankId::from_index(rank), until, each, &mut all)?;
            seen = seen.min(last);
        }
    }
    if seen < until {
        begins.push(all.len());
        for (job, of_job) in open().zip(begins.windows(2)) {
            let found = all[of_job[0]..of_job[1]].iter().filter(|sent| sent.time <= seen).count() as f64;
            let share = seen as f64 / until as f64;
            let expected = sent(job, until, Cut::WHOLE, &|_, _| true)?.messages as f64 * share;
            let few = found < (LEAST * job.placement.len()) as f64 / 2.0;
            if few || found < expected / 2.0 || found > 2.0 * expected {
                return None;
            }
        }
        all.retain(|sent| sent.time <= seen);
    }
    all.sort_by_key(|sent| (sent.time, sent.from));
    (seen > 0).then_some((all, seen))
}

/// Appends the first messages of a rank, and returns until when these are all; `None` if there may be more, and these are too few.
fn first_of(
    traffic: &dyn Traffic,
    job: &JobSetup,
    rank: RankId,
    until: Ps,
    each: usize,
    all: &mut Vec<Sent>,
) -> Option<Ps> {
    let (mut read, mut last) = (0, 0);
    let mut block = [Message::default(); 16];
    loop {
        let count = traffic.messages(rank, read as u64, last, &mut block);
        for message in &block[..count] {
            let time = message.time.saturating_add(job.start);
            if time > until {
                return Some(until);
            }
            if read >= each {
                return (read >= LEAST).then_some(last.saturating_add(job.start));
            }
            let to = *job.placement.get(message.destination.index())?;
            let (from, rate) = (job.placement[rank.index()], traffic.rate(rank, read as u64));
            all.push(Sent { time, from, to, bytes: message.bytes, rate });
            (last, read) = (message.time, read + 1);
        }
        if count < block.len() {
            return Some(until);
        }
    }
}

/// When links are free, and how long they were busy.
struct Links<'a> {
    setup: &'a FlowSetup,
    routed: Routed<'a>,
    /// Picoseconds of a byte, and from end to end and through the router there, by class.
    classes: Vec<(f64, f64)>,
    free: Vec<f64>,
    busy: Vec<f64>,
}

impl<'a> Links<'a> {
    fn new(setup: &'a FlowSetup, routing: &'a dyn Routing) -> Self {
        let config = &setup.config;
        // Factors by size: the slowest. Both directions of a cable may share it, and what goes back takes its part.
        let slower = config.rules.factors.iter().map(|step| step.bandwidth).fold(1.0, f64::min);
        let longer = config.rules.factors.iter().map(|step| step.latency).fold(1.0, f64::max);
        let sharing = (1.0 + config.rules.cross) * if config.half_duplex { 2.0 } else { 1.0 };
        let class = |link: &LinkParams| {
            let ps_per_byte = sharing / slower / link.bandwidth.bytes_per_s() * 1e12;
            (ps_per_byte, (link.latency + config.router_delay) as f64 * longer)
        };
        let classes = setup.links.iter().map(class).collect();
        let count = setup.fabric.ports().len() + setup.fabric.terminals() as usize;
        Self {
            setup,
            routed: Routed { fabric: &setup.fabric, routing },
            classes,
            free: vec![0.0; count],
            busy: vec![0.0; count],
        }
    }

    /// When a message has arrived, and the latency of its path; `None` if its routing leads it astray.
    fn send(&mut self, sent: &Sent, number: u64) -> Option<(Ps, Ps)> {
        let fabric = &*self.setup.fabric;
        let (bytes, time) = (sent.bytes.max(1) as f64, sent.time as f64);
        if fabric.is_cut_off(sent.from) || fabric.is_cut_off(sent.to) {
            return Some((sent.time, 0));
        }
        let (routed, random) = (self.routed, Stream::new(self.setup.seed, Purpose::Route, number));
        let mut path = Vec::with_capacity(8);
        let waits = Queues { links: self, now: time };
        follow(routed, sent.from, sent.to, random, &waits, &mut path, &mut |_| ())?;
        let (mut head, mut tail, mut latency) = (time, time, 0.0);
        for link in path.into_iter().map(LinkId::new) {
            let (ps_per_byte, after) = self.classes[self.class(link)];
            let (begins, takes) = (head.max(self.free[link.index()]), bytes * ps_per_byte);
            self.free[link.index()] = begins + takes;
            self.busy[link.index()] += takes;
            // Its tail is no sooner here than where it came from.
            (head, tail, latency) = (begins + after, tail.max(begins + takes) + after, latency + after);
        }
        // So much may be in flight at most, there and back; and it may have a rate of its own.
        let window = self.setup.config.rules.window.map_or(0.0, |window| bytes * 2.0 * latency / window);
        let capped = window.max(sent.rate.map_or(0.0, |rate| bytes / rate * 1e12));
        Some((tail.max(time + latency + capped).ceil() as Ps, latency as Ps))
    }

    /// The first class is that of terminals' links.
    fn class(&self, link: LinkId) -> usize {
        self.setup.fabric.ports().get(link.index()).map_or(0, |port| usize::from(port.class))
    }
}

/// What waits at links when a message is created.
struct Queues<'a, 'b> {
    links: &'b Links<'a>,
    now: f64,
}

impl Waits for Queues<'_, '_> {
    fn bytes(&self, link: LinkId) -> u64 {
        let ps_per_byte = self.links.classes[self.links.class(link)].0;
        ((self.links.free[link.index()] - self.now).max(0.0) / ps_per_byte) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::FlowConfig, rules::Rules};
    use model::samples::{int, link, open_loop, routing, topology};
    use std::sync::Arc;
    use workload::registry::Work;

    const US: Ps = 1_000_000;

    /// Nine terminals at a switch, whose links carry a byte in a nanosecond.
    fn setup(work: Work) -> FlowSetup {
        let fabric = topology("single-switch", &[("terminals", int(9))]);
        let routing = routing(&fabric, "minimal", &[]);
        let setup = crate::samples::setup(&fabric, Some(routing), work, FlowConfig::new(Rules::plain()));
        let links = vec![link(1_000_000_000, 1000, 2, 1024); fabric.classes().len()];
        FlowSetup { links, until: Until::Time(100 * US), ..setup }
    }

    /// Each sends 1000 bytes every so often: to the first, or to the one `step` further.
    fn sources(period: Ps, to_first: bool, silent: u32) -> Work {
        open_loop(move |rank, index, _| {
            let to = if to_first { 0 } else { (rank.number() + 1) % 9 };
            let message = Message { time: period * (index + 1), destination: RankId::new(to), bytes: 1000 };
            (rank.number() >= silent).then_some(message)
        })
    }

    /// Eight send a microsecond's bytes each microsecond to one, whose link carries an eighth: the rest of 800 messages waits, and three times as many are said.
    #[test]
    fn what_a_link_cannot_carry_waits() {
        let found = under_way(&setup(sources(US, true, 1))).expect("is known");
        assert!((3 * 695..=3 * 705).contains(&found.all), "{found:?}");
        assert!((3 * 690..=3 * 705).contains(&found.sharing), "{found:?}");
    }

    /// Nine messages are there at a time, and twice as many are said.
    #[test]
    fn what_links_carry_with_ease_is_there_once() {
        let found = under_way(&setup(sources(10 * US, false, 0))).expect("is known");
        assert_eq!(found, UnderWay { all: 18, sharing: 18 });
    }

    /// Nine that begin each 10 us and take 100 us each, by their own rate.
    struct Limited;

    impl Traffic for Limited {
        fn message(&self, rank: RankId, index: u64, _: Ps) -> Option<Message> {
            let destination = RankId::new((rank.number() + 1) % 9);
            Some(Message { time: 10 * US * index, destination, bytes: 1000 })
        }
        fn rate(&self, _: RankId, _: u64) -> Option<f64> {
            Some(1e7)
        }
        fn reply(&self, _: RankId, _: RankId, _: u64) -> Option<(RankId, u64)> {
            None
        }
        fn closed_loop(&self) -> bool {
            false
        }
        fn offered_bytes_per_s(&self) -> Option<f64> {
            None
        }
    }

    /// Ten or eleven of each are there at a time, since the latency of two links comes before.
    #[test]
    fn messages_with_a_rate_are_under_way_for_longer() {
        let found = under_way(&setup(Work::Traffic(Arc::new(Limited)))).expect("is known");
        assert_eq!(found, UnderWay { all: 2 * 9 * 11, sharing: 2 * 9 * 11 });
    }

    /// Where all of a rank is not read, the rest is taken to be like it; nothing is known if next to nothing is read.
    #[test]
    fn long_runs_go_on_as_they_begin() {
        let long = |work: Work| FlowSetup { until: Until::Time(100_000 * US), ..setup(work) };
        let found = under_way(&long(sources(US, true, 1))).expect("is known");
        // Seven of eight of 800,000 messages, times three.
        assert!((2_090_000..2_110_000).contains(&found.all), "{found:?}");
        let found = under_way(&long(sources(10 * US, false, 0))).expect("is known");
        assert_eq!(found, UnderWay { all: 18, sharing: 18 });
        // Each begins at another time with more at once than is read of it.
        let bursts = open_loop(|rank, index, _| {
            let time = US * (index / 10_000 * 9 + u64::from(rank.number()) + 1);
            Some(Message { time, destination: RankId::new(0), bytes: 1 })
        });
        assert_eq!(under_way(&long(bursts)), None);
        // One of two jobs begins when the other has long sent all that is read.
        let mut jobs = setup(sources(US, false, 0)).jobs;
        let late = open_loop(|_, index, _| {
            let time = 50_000 * US + index / 1000;
            (index < 5000).then_some(Message { time, destination: RankId::new(0), bytes: 1000 })
        });
        jobs.extend(setup(late).jobs);
        assert_eq!(under_way(&FlowSetup { jobs, ..long(sources(US, false, 0)) }), None);
        let at_once = open_loop(|_, _, _| Some(Message { time: 0, destination: RankId::new(0), bytes: 1 }));
        assert_eq!(under_way(&long(at_once)), None);
    }
}
