//! How many messages of open traffic are under way at a time: the first of all ranks are sent over links alone, before the run.
//!
//! In the order of their creation each message takes a link for as long as its bytes need, as soon as those before it are over, and goes on to the next link as its head is. Routings see what waits at
//! links. So links that are offered more than they carry have longer and longer queues, wherever they are. Nothing is shared: a message has a link for itself, or waits.

use crate::context::FlowSetup;
use base::{
    index::{ChannelId, LinkId, PortId, RankId, RouterId, TerminalId},
    rng::{Purpose, Stream},
    time::Ps,
};
use fabric::{
    graph::Peer,
    routing::{Congestion, Hop, Routing},
};
use model::setup::{JobSetup, Until};
use ranks::memory::sent::{Cut, sent};
use workload::traffic::{Message, Traffic};

/// Messages that are sent at most: tens of milliseconds.
const READ: usize = 1 << 16;

/// Messages of each rank that are sent at least, if it has so many: fewer say nothing of what comes later.
const LEAST: usize = 16;

/// Routers that a path may visit: beyond, the routing goes in circles.
const MOST: u16 = 1024;

/// A message of some job.
#[derive(Clone, Copy)]
struct Sent {
    time: Ps,
    from: TerminalId,
    to: TerminalId,
    bytes: u64,
}

/// Messages at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// Created, and not there yet.
    pub all: u64,
    /// Of them those whose latency is over: they share links.
    pub sharing: u64,
}

/// Messages of open traffic under way at a time at most, by what is said above; programs beside are left out. `None` where answers decide what is sent, where single messages have a rate of their own,
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
            if traffic.rate(rank, read as u64).is_some() {
                return None;
            }
            let to = *job.placement.get(message.destination.index())?;
            all.push(Sent { time, from: job.placement[rank.index()], to, bytes: message.bytes });
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
    routing: &'a dyn Routing,
    /// Picoseconds of a byte, and from end to end and through the router there, by class.
    classes: Vec<(f64, f64)>,
    free: Vec<f64>,
    busy: Vec<f64>,
}

/// A message on its path.
struct Passes {
    bytes: f64,
    /// When its head is at the next router.
    head: f64,
    /// When its tail is there.
    tail: f64,
    /// Of the path so far.
    latency: f64,
}

impl<'a> Links<'a> {
    fn new(setup: &'a FlowSetup, routing: &'a dyn Routing) -> Self {
        let config = &setup.config;
        // Factors by size: the slowest. Both directions of a cable may share it, and what goes back takes its part.
        let slower = config.rules.factors.iter().map(|step| step.bandwidth).fold(1.0, f64::min);
        let longer = config.rules.factors.iter().map(|step| step.latency).fold(1.0, f64::max);
        let sharing = (1.0 + config.rules.cross) * if config.half_duplex { 2.0 } else { 1.0 };
        let class = |link: &model::setup::LinkParams| {
            let ps_per_byte = sharing / slower / link.bandwidth.bytes_per_s() * 1e12;
            (ps_per_byte, (link.latency + config.router_delay) as f64 * longer)
        };
        let classes = setup.links.iter().map(class).collect();
        let count = setup.fabric.ports().len() + setup.fabric.terminals() as usize;
        Self { setup, routing, classes, free: vec![0.0; count], busy: vec![0.0; count] }
    }

    /// When a message has arrived, and the latency of its path; `None` if its routing leads it astray.
    fn send(&mut self, sent: &Sent, number: u64) -> Option<(Ps, Ps)> {
        let fabric = &*self.setup.fabric;
        let &Sent { time, from: source, to: destination, bytes } = sent;
        if fabric.is_cut_off(source) || fabric.is_cut_off(destination) {
            return Some((time, 0));
        }
        let (router, in_port) = fabric.attached(source);
        let random = Stream::new(self.setup.seed, Purpose::Route, number);
        let vc = ChannelId::FIRST;
        let mut hop = Hop { router, in_port, vc, visited: 0, source, destination, state: 0, random };
        let (bytes, head) = (bytes.max(1) as f64, time as f64);
        let mut passes = Passes { bytes, head, tail: head, latency: 0.0 };
        self.pass(&mut passes, fabric.injection(source), 0);
        while hop.visited < MOST {
            hop.random = random.at(u64::from(hop.visited) << 16);
            let mut view = View { links: self, router: hop.router, now: passes.head };
            let choice = self.routing.route(&mut hop, &mut view);
            let link = fabric.port_index(hop.router, choice.port);
            let port = fabric.ports().get(link.index())?;
            self.pass(&mut passes, link, usize::from(port.class));
            match port.peer {
                Peer::Router { router, port } => (hop.router, hop.in_port) = (router, port),
                Peer::Terminal(_) => {
                    // So much may be in flight at most, there and back.
                    let capped = self
                        .setup
                        .config
                        .rules
                        .window
                        .map_or(0.0, |w| passes.bytes * 2.0 * passes.latency / w);
                    let end = passes.tail.max(time as f64 + passes.latency + capped);
                    return Some((end.ceil() as Ps, passes.latency as Ps));
                }
                Peer::None => return None,
            }
            (hop.vc, hop.state, hop.visited) = (choice.vc, choice.state, hop.visited + 1);
        }
        None
    }

    /// A message passes a link after those that came before.
    fn pass(&mut self, passes: &mut Passes, link: LinkId, class: usize) {
        let (ps_per_byte, latency) = self.classes[class];
        let takes = passes.bytes * ps_per_byte;
        let begins = passes.head.max(self.free[link.index()]);
        self.free[link.index()] = begins + takes;
        self.busy[link.index()] += takes;
        passes.head = begins + latency;
        // Its tail is no sooner here than where it came from.
        passes.tail = passes.tail.max(begins + takes) + latency;
        passes.latency += latency;
    }
}

/// What a router sees of its links.
struct View<'a, 'b> {
    links: &'b Links<'a>,
    router: RouterId,
    now: f64,
}

impl Congestion for View<'_, '_> {
    fn backlog(&mut self, port: PortId) -> u64 {
        self.published(self.links.setup.fabric.port_index(self.router, port))
    }

    fn published(&mut self, link: LinkId) -> u64 {
        let Links { setup, classes, free, .. } = self.links;
        let class = setup.fabric.ports().get(link.index()).map_or(0, |port| usize::from(port.class));
        ((free[link.index()] - self.now).max(0.0) / classes[class].0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::FlowConfig, rules::Rules};
    use model::samples::{int, link, open_loop, routing, topology};
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
