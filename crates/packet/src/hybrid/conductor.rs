//! The engine's director of a packet run: samples, and in hybrid runs the switches.
//!
//! At a tick every partition reports its sample, its counts, what it learned and, where a switch is possible, the packets in its part of the
//! network. One decision is taken; a new predictor is trained from the merged sums. What partitions apply they read from here.

use super::{
    HybridSetup, Treatment,
    cost::{Cost, Since},
    directors::{Frame, Step, Strategy, View},
    drift::Drift,
    estimate::{Estimate, Stay, Window, estimate},
    learn::{BySize, Forget, Seen, Shape, add},
    predict::{Predictors, Recipe},
    queues::Queues,
    sketch::Sketch,
};
use crate::{
    counters::Counters,
    effects::Wire,
    hybrid::predicted::Predicted,
    net::Router,
    network::Network,
    observe::Observer,
    sample::{Sampler, Share},
    state::{Inhabited, PacketDomain},
    surrogate::Switch,
};
use base::{
    hash::Fingerprint,
    threads::Optimism,
    time::{NEVER, Ps},
};
use engine::{
    agenda::Agenda,
    director::{Director, EngineCounts, Network as Clock},
    domain::Effects,
    kept::{Damaged, Kept, put, take},
};
use model::failure::Failure;
use results::summary;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Samples, and switches if the run is hybrid.
pub struct Conductor {
    /// Takes the samples that a run asks for.
    pub sampler: Sampler,
    /// What the engine did, if that is asked for.
    pub counters: Option<Counters>,
    stage: Option<Stage>,
}

/// What was done so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Log {
    phases: Vec<Phase>,
    /// Zombies made at suspensions.
    zombies: u64,
    /// What the present predictor was trained from.
    learned: Option<BySize>,
    /// How latency drifts in high fidelity.
    drift: Drift,
}

/// A stretch of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Phase {
    surrogate: bool,
    start: Ps,
    end: Ps,
    cost: Cost,
    /// Delivered before its start; by its end.
    network: (Seen, Seen),
    predicted: (Seen, Seen),
    delivered: (u64, u64),
    measured: (u64, u64),
    /// What it predicts by.
    window: Window,
}

struct Stage {
    strategy: Box<dyn Strategy>,
    recipe: Arc<dyn Recipe>,
    shape: Arc<Shape>,
    treatment: Treatment,
    queues: Option<Queues>,
    net: Arc<Network>,
    log: Log,
    predictor: Option<Arc<Predictors>>,
    flying: Vec<Predicted>,
    since: Since,
    /// When the run ends at the latest.
    end: Ps,
}

/// What a partition reports.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    /// None where [`Conductor::samples`] says no.
    share: Option<Share>,
    counts: Counts,
    learned: Option<BySize>,
    /// At an entry what is in the network, at a return what was predicted and is not delivered.
    flying: Vec<Predicted>,
    offered: Vec<Ps>,
    sketch: Option<Sketch>,
}

/// Zombies of a run at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZombieCounts {
    /// Distinct ones that are left in the network.
    pub in_network: u64,
    /// Copies put into the network, over all partitions.
    pub copied: u64,
    /// Those discarded at their destination, over all partitions.
    pub discarded: u64,
}

/// Packets delivered so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    network: Seen,
    predicted: Seen,
    delivered: u64,
    /// Those that count in the run's mean latency: created after the warm-up.
    measured: u64,
}

impl Counts {
    /// Of one partition.
    #[must_use]
    pub fn of(observer: &Observer) -> Self {
        let (network, predicted) =
            observer.learner.as_ref().map_or_else(Default::default, |l| (l.network, l.predicted));
        let sums = &observer.sums;
        Self { network, predicted, delivered: sums.packets.1, measured: sums.latency.moments().count }
    }

    /// Adds another partition's.
    pub fn merge(&mut self, other: Self) {
        self.network.merge(other.network);
        self.predicted.merge(other.predicted);
        self.delivered += other.delivered;
        self.measured += other.measured;
    }
}

impl Phase {
    fn begin(surrogate: bool, now: Ps, at: &Counts, window: Window) -> Self {
        Self {
            surrogate,
            start: now,
            end: now,
            cost: Cost::default(),
            network: (at.network, at.network),
            predicted: (at.predicted, at.predicted),
            delivered: (at.delivered, at.delivered),
            measured: (at.measured, at.measured),
            window,
        }
    }

    fn end(&mut self, now: Ps, cost: Cost, at: &Counts) {
        debug_assert!(now >= self.end, "a phase ends after it begins");
        self.end = now;
        self.cost.add(cost);
        (self.network.1, self.predicted.1) = (at.network, at.predicted);
        (self.delivered.1, self.measured.1) = (at.delivered, at.measured);
    }

    /// Mean latency of what was delivered in it by the network, or by prediction.
    fn mean(&self, predicted: bool) -> Option<f64> {
        let (from, to) = if predicted { self.predicted } else { self.network };
        debug_assert!(from.count <= to.count && from.sum <= to.sum, "sums only grow");
        let count = to.count - from.count;
        (count > 0).then(|| (to.sum - from.sum) as f64 / count as f64)
    }
}

impl Conductor {
    /// For a run that ends at `end` at the latest.
    ///
    /// # Errors
    /// If the director's times do not fit the run.
    pub fn new(
        sampler: Sampler,
        hybrid: Option<&HybridSetup>,
        net: &Arc<Network>,
        end: Ps,
    ) -> Result<Self, Failure> {
        let stage = match (hybrid, &net.hybrid) {
            (Some(setup), Some(network)) => Some(Stage {
                strategy: (setup.director.build)(
                    setup,
                    &Frame {
                        end,
                        period: net.period(),
                        terminals: net.fabric.terminals(),
                        packet: net.packet_pace,
                    },
                )
                .map_err(|p| {
                    Failure::Setup(p.into_iter().map(|p| p.message).collect::<Vec<_>>().join("; "))
                })?,
                recipe: Arc::clone(&setup.recipe),
                shape: Arc::clone(&network.shape),
                treatment: setup.treatment,
                queues: setup.queues.then(|| {
                    Queues::new(net.fabric.terminals(), setup.window, net.packet_pace, net.period())
                }),
                net: Arc::clone(net),
                log: Log {
                    phases: vec![Phase::begin(false, 0, &Counts::default(), Window::default())],
                    ..Log::default()
                },
                predictor: None,
                flying: Vec::new(),
                since: Since::now(),
                end,
            }),
            _ => None,
        };
        Ok(Self { sampler, stage, counters: None })
    }

    /// Gives partitions of a run that goes on at `now` their predictor.
    pub fn attach<'a, R: Router + 'a>(
        &self,
        now: Ps,
        domains: impl Iterator<Item = &'a mut PacketDomain<R>>,
    ) {
        let Some(stage) = &self.stage else { return };
        domains.for_each(|d| {
            d.cx.predictor.clone_from(&stage.predictor);
            self.instruct(stage, now, d);
        });
    }

    /// The block of the summary, and true if a window was too short.
    /// Only a run of `one_thread` knows what its phases cost the processor.
    ///
    /// # Errors
    /// If zombies are missing.
    pub fn close(
        mut self,
        now: Ps,
        counts: Counts,
        zombies: ZombieCounts,
        one_thread: bool,
        fingerprint: &mut Fingerprint,
    ) -> Result<(Sampler, Option<(summary::Hybrid, bool)>), Failure> {
        let ZombieCounts { in_network, copied, discarded } = zombies;
        let Some(stage) = &mut self.stage else { return Ok((self.sampler, None)) };
        let cost = stage.since.cost();
        if let Some(phase) = stage.log.phases.last_mut() {
            phase.end(now, cost, &counts);
        }
        let created = stage.log.zombies + copied;
        // Copies are counted where they are made and where they end: one that is lost in between would be a packet delivered twice, or never.
        if created != discarded + in_network {
            return Err(Failure::Invariant(format!(
                "{created} zombies were made, {discarded} discarded, and {in_network} are in the network"
            )));
        }
        let phases = &stage.log.phases;
        let mut errors = Vec::new();
        // What a stay predicted is compared with what the network did right after it, as nothing is known of the network during the stay.
        for pair in phases.windows(2).filter(|p| p[0].surrogate) {
            // A stay without packets, or a stretch without deliveries after it, shows nothing.
            if let (Some(said), Some(seen)) = (pair[0].mean(true), pair[1].mean(false)) {
                errors.push((said - seen).abs() / seen);
            }
        }
        for phase in phases {
            // Switches are part of the answer: a run that switched at other times must not have the same fingerprint.
            fingerprint.add(15 << 32 | u64::from(phase.surrogate), phase.start, 0, 0);
        }
        let error = (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64);
        let estimate = stage.estimate(&counts);
        let inside: Ps = phases.iter().filter(|p| p.surrogate).map(|p| p.end - p.start).sum();
        let rows = phases.iter().map(|p| summary::Phase {
            mode: if p.surrogate { summary::Phase::SURROGATE } else { summary::Phase::HIGH_FIDELITY }
                .to_owned(),
            start_ps: p.start,
            end_ps: p.end,
            wall_s: p.cost.wall_s,
            cpu_s: p.cost.cpu_s.filter(|_| one_thread),
            packets: p.delivered.1 - p.delivered.0,
        });
        let hybrid = summary::Hybrid {
            phases: rows.collect(),
            switches: phases.len() as u64 - 1,
            zombies: summary::Zombies { created, discarded, in_network },
            predictor_error: error,
            predicted_share: Some(inside as f64 / now.max(1) as f64),
            error_estimate: estimate.map(|e| e.error),
        };
        let short = estimate.is_some_and(|e| e.short);
        Ok((self.sampler, Some((hybrid, short))))
    }

    /// False at a tick of the queues alone in the surrogate, unless the run ends when all is done.
    fn samples(&self, now: Ps) -> bool {
        // A sample walks over all terminals. In a suspended network nothing changes that it could see, so ticks of the queues alone do without.
        let stay =
            self.stage.as_ref().filter(|s| s.in_surrogate() && s.queues_at(now).is_some() && !s.ticks(now));
        stay.is_none() || self.sampler.until_done() || self.sampler.tick_after(now - 1) == now
    }

    /// The first tick after `now`.
    fn tick_after(&self, now: Ps) -> Ps {
        // Sampler, director and queues tick on their own; each ignores the ticks of the others.
        let own = self.stage.as_ref().map_or(NEVER, |s| s.strategy.next_tick(now));
        let queues = self.stage.as_ref().and_then(|s| s.queues.as_ref()).map_or(NEVER, |q| q.next_tick(now));
        self.sampler.tick_after(now).min(own).min(queues)
    }

    /// A partition's predictions follow the queues, and it knows which tick asks next what was delivered.
    fn instruct<R: Router>(&self, stage: &Stage, now: Ps, domain: &mut PacketDomain<R>) {
        // Deliveries before the next question may be counted when they are handed over; this is how far ahead that is allowed.
        let asked = if self.sampler.until_done() { self.tick_after(now) } else { self.sampler.asks(now) };
        domain.cx.asked = asked.min(stage.strategy.next_tick(now)).min(stage.end);
        if let Some(queues) = &stage.queues {
            domain.cx.waits = Arc::clone(queues.waits());
            domain.cx.slowness = queues.slowness();
        }
    }
}

impl<R: Router> Director<Inhabited<R>, Observer> for Conductor {
    type Summary = Report;
    type Order = Step;

    fn next_tick(&self, now: Ps) -> Ps {
        self.tick_after(now)
    }

    fn summarise(
        &self,
        now: Ps,
        domain: &Inhabited<R>,
        observer: &mut Observer,
        agenda: &Agenda<Wire>,
    ) -> Report {
        let share = self.samples(now).then(|| self.sampler.share(now, domain, observer));
        let (flying, offered) = (Vec::new(), Vec::new());
        let counts = Counts::of(observer);
        let mut report = Report { share, counts, learned: None, flying, offered, sketch: None };
        let Some(stage) = &self.stage else { return report };
        if let (Some(_), Some(learner)) = (stage.queues_at(now), &mut observer.learner) {
            report.offered = learner.take_offered();
        }
        if !stage.ticks(now) {
            return report;
        }
        // Taken at whole periods alone, so that each sketch is of as long a time.
        if stage.strategy.sketches(now) {
            report.sketch = observer.learner.as_mut().map(|l| l.sketch.take());
        }
        let enters = stage.strategy.may_enter(now);
        if let Some(learner) = &mut observer.learner {
            // What is learned is as large as the pairs that send: it is copied only where an entry is possible, and moved where it is certain.
            report.learned = match (enters, stage.strategy.enters(now)) {
                (false, _) => None,
                (true, true) => Some(learner.hand_over()),
                (true, false) => Some(learner.learned()),
            };
            learner.forget(stage.strategy.forget(now));
        }
        if enters && stage.treatment == Treatment::Zombies {
            report.flying = domain.carrier.flying(agenda);
        } else if stage.in_surrogate() && stage.queues.is_some() && stage.treatment == Treatment::Zombies {
            report.flying = domain.carrier.under_way(agenda);
        }
        report
    }

    fn merge(&self, mut a: Report, b: Report) -> Report {
        debug_assert_eq!(
            a.share.is_some(),
            b.share.is_some(),
            "all partitions sample at a tick, or none does"
        );
        a.share = a.share.zip(b.share).map(|(a, b)| a.with(b));
        a.counts.merge(b.counts);
        if let (Some(mine), Some(theirs)) = (&mut a.learned, &b.learned) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut a.sketch, &b.sketch) {
            mine.merge(theirs);
        }
        a.flying.extend(b.flying);
        add(&mut a.offered, &b.offered);
        a
    }

    fn engine(&mut self, counts: &EngineCounts, _: Option<&Optimism>) -> Option<Optimism> {
        self.counters.iter_mut().for_each(|counters| counters.push(*counts));
        None
    }

    fn decide(&mut self, now: Ps, report: Report, dry: bool) -> Option<(Clock, Step)> {
        let Report { share, counts, learned, flying, offered, sketch } = report;
        let (created, occupied) = share.as_ref().map_or((0, 0), |s| (s.created(), s.occupied()));
        let Counts { network, predicted, .. } = counts;
        let view = View { now, created, network, predicted, occupied, sketch: sketch.as_ref() };
        // A run whose network stands still is at rest without being stuck.
        let dry = dry && self.stage.as_ref().is_none_or(|s| !s.in_surrogate());
        match share {
            Some(share) => {
                if !self.sampler.take_note(now, share, dry) {
                    return None;
                }
            }
            None => self.sampler.stuck = false,
        }
        let Some(stage) = &mut self.stage else { return Some((Clock::Keep, Step::Stay)) };
        if let Some(queues) = stage.queues.as_mut().filter(|q| q.ticks(now)) {
            queues.tick(now, &offered);
        }
        if !stage.ticks(now) {
            return Some((Clock::Keep, Step::Stay));
        }
        let forget = stage.strategy.forget(now);
        if !stage.in_surrogate() {
            stage.log.drift.period(now, network, counts.measured > 0);
        }
        let step = stage.strategy.decide(&view);
        let latency = learned.as_ref().and_then(|l| l.total().mean());
        stage.move_queues(now, step, forget, latency);
        match step {
            Step::Stay | Step::Learn | Step::Reheat => return Some((Clock::Keep, step)),
            Step::Enter => {
                let learned = learned.unwrap_or_default();
                debug_assert!(!stage.in_surrogate(), "a stay begins where none is");
                stage.predictor = Some(stage.train(&learned));
                stage.log.learned = Some(learned);
                stage.flying = flying;
                // Chunks of one packet may lie in several partitions, each of which reports the packet. The order makes predictions the same however
                // the network is cut.
                stage.flying.sort_unstable_by_key(|p| p.id);
                stage.flying.dedup_by_key(|p| p.id);
                stage.log.zombies += stage.flying.len() as u64;
            }
            Step::Return => stage.flying = stage.lacking(flying),
        }
        let window = stage.window(step);
        let cost = stage.since.cost();
        stage.since = Since::now();
        if let Some(phase) = stage.log.phases.last_mut() {
            phase.end(now, cost, &counts);
        }
        stage.log.drift.turn(now, network, counts.measured > 0, now.saturating_sub(window.span()));
        stage.log.phases.push(Phase::begin(step == Step::Enter, now, &counts, window));
        // Zombies stay where they are: the network's clock stands still. With re-heating it runs, and empties and fills by itself.
        let clock = match step {
            Step::Enter if stage.treatment == Treatment::Zombies => Clock::Suspend,
            Step::Return if stage.treatment == Treatment::Zombies => Clock::Resume,
            _ => Clock::Keep,
        };
        Some((clock, step))
    }

    fn apply(&self, step: &Step, inhabited: &mut Inhabited<R>, fx: &mut impl Effects<Inhabited<R>>) {
        let Some(stage) = &self.stage else { return };
        let domain = &mut inhabited.carrier;
        self.instruct(stage, fx.instant(), domain);
        match step {
            Step::Stay => {}
            Step::Learn => domain.learn_anew(),
            Step::Enter => {
                let predictor = stage.predictor.as_ref().expect("it was trained for this switch");
                let switch = Switch { predictor, flying: &stage.flying };
                domain.enter(&switch, stage.treatment == Treatment::Zombies, fx);
            }
            Step::Reheat => domain.reheat(fx),
            Step::Return => domain.back(&stage.flying, fx),
        }
        // A packet that a switch delivers may wake a program, which must go on at this instant.
        inhabited.serve(fx);
    }
}

impl Stage {
    /// What the predictor of a stay that begins was trained with.
    fn window(&self, step: Step) -> Window {
        let learned = self.log.learned.as_ref().filter(|_| step == Step::Enter);
        let width = self.net.hybrid.as_ref().map_or(1, |h| h.batch);
        learned.map_or_else(Window::default, |l| Window::of(l.batches(), width))
    }

    /// What predictions are worth.
    fn estimate(&self, counts: &Counts) -> Option<Estimate> {
        let phases = &self.log.phases;
        let stays = phases.iter().enumerate().filter(|(_, p)| p.surrogate).map(|(n, stay)| {
            let after = phases.get(n + 1);
            // What is under way at the return is delivered after it. Messages that went as one have no latencies of packets: all of the stay counts.
            let until = after.map_or(stay.predicted.1.count, |next| next.predicted.1.count);
            let packets = (until - stay.predicted.0.count).max(stay.measured.1 - stay.measured.0);
            // What the warm-up leaves out weighs nothing.
            let both = after.unwrap_or(stay).measured.1 - stay.measured.0;
            let packets = packets.min(both);
            let pair = stay.mean(true).zip(after.and_then(|next| next.mean(false)));
            let checked = pair.map(|(said, seen)| (said - seen).abs() / seen);
            Stay {
                window: stay.window,
                length: stay.end - stay.start,
                packets,
                checked,
                after: both - packets,
            }
        });
        let mut all = counts.network;
        all.merge(counts.predicted);
        let drift = self.log.drift.steepest() / all.mean().unwrap_or(0).max(1) as f64;
        estimate(&stays.collect::<Vec<_>>(), counts.measured, drift)
    }

    /// A predictor of what was learned.
    fn train(&self, learned: &BySize) -> Arc<Predictors> {
        Arc::new(Predictors::train(&*self.recipe, learned, &self.shape))
    }

    fn in_surrogate(&self) -> bool {
        self.log.phases.last().is_some_and(|p| p.surrogate)
    }

    /// The queues, if `now` is a tick of theirs.
    fn queues_at(&self, now: Ps) -> Option<&Queues> {
        self.queues.as_ref().filter(|q| q.ticks(now))
    }

    /// What queues do at a switch, and forget.
    fn move_queues(&mut self, now: Ps, step: Step, forget: Forget, latency: Option<Ps>) {
        let Some(queues) = &mut self.queues else { return };
        match step {
            Step::Enter => queues.enter(now, latency),
            Step::Return => queues.leave(),
            Step::Stay | Step::Learn | Step::Reheat => {}
        }
        queues.forget(forget);
    }

    /// Those of the packets `under_way` that the network lacks at a return.
    fn lacking(&self, under_way: Vec<Predicted>) -> Vec<Predicted> {
        let Some(queues) = &self.queues else { return Vec::new() };
        queues.lacking(under_way, |bytes| self.net.link_time(bytes))
    }

    /// True if the strategy asked for a tick at `now`.
    fn ticks(&self, now: Ps) -> bool {
        now > 0 && self.strategy.next_tick(now - 1) == now
    }
}

impl Kept for Conductor {
    fn save(&self, to: &mut Vec<u8>) {
        self.sampler.save(to);
        if let Some(stage) = &self.stage {
            let mut log = stage.log.clone();
            if let Some(phase) = log.phases.last_mut() {
                // A run that goes on later counts from its own start: what was spent so far is kept with the phase.
                phase.cost.add(stage.since.cost());
            }
            put(&log, to);
            put(&stage.strategy.memory(), to);
            if let Some(queues) = &stage.queues {
                put(&queues.saved(), to);
            }
        }
    }

    fn load(&mut self, from: &mut &[u8]) -> Result<(), Damaged> {
        self.sampler.load(from)?;
        if let Some(stage) = &mut self.stage {
            stage.log = take(from)?;
            let memory: Vec<u64> = take(from)?;
            if !stage.strategy.recall(&memory) {
                return Err(Damaged);
            }
            if let Some(queues) = &mut stage.queues {
                let (state, inside) = take(from)?;
                if !queues.load(state, inside) {
                    return Err(Damaged);
                }
            }
            stage.predictor = stage.log.learned.as_ref().map(|l| stage.train(l));
            stage.since = Since::now();
        }
        Ok(())
    }
}
