//! Queues at destinations' links that go on while packets bypass the network.
//!
//! A destination takes in no more than its link carries. If more is sent to it than that, or as much, its queue grows with the messages that
//! happen to be sent, for as long as the run lasts: a predictor that remembers latencies cannot know. So a fluid queue runs beside the
//! simulation, at every destination, from the first instant on: at each tick of a grid it gains the link time of what terminals handed over for it since the
//! last tick, and loses the time that went by (Lindley's recursion). Nothing is asked of the network, so a stay changes nothing for it.
//!
//! - During a stay a packet is under way for what the predictor says, longer or shorter by what the queue of its destination differs from its mean
//!   in the window that the predictor learned from ([`Queues::waits`]).
//! - A source that the network held back has as much under way as the network takes from it. So while packets are under way for longer than in the
//!   window, it hands over more slowly, in proportion ([`Queues::slowness`]).
//! - A suspended network wakes with the queues of the instant at which it was suspended. By what a queue is longer at the return, packets that are
//!   under way to it enter the network beside the zombies, as ghosts ([`Queues::lacking`]).
//!
//! Where links are not full all of this is next to nothing, and traffic that repeats itself has the same queue at every tick: ticks are whole
//! periods of it apart. Not modelled: queues at other links, and which buffers a queue fills.

use super::predicted::Predicted;
use super::{learn::Forget, predict::Wait};
use base::time::Ps;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use workload::interval::Interval;

/// Ticks of a window of the director's.
const TICKS: u64 = 16;

/// Packets that a link carries from tick to tick at least: finer is noise, and ticks cost.
const PACKETS: u64 = 64;

/// Fluid queues by destination terminal, in link time.
pub struct Queues {
    grid: Grid,
    state: State,
    /// By destination, what [`Queues::waits`] gives; as the last tick left it, may be empty.
    waits: Arc<Vec<Wait>>,
}

/// What a run that goes on needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// When the last tick was.
    last: Ps,
    queue: Vec<Ps>,
    /// Sums of queues over ticks, and their number: what learners remember, the older half first.
    sums: [Vec<Ps>; 2],
    ticks: [u64; 2],
    /// Mean queues of the window before the last entry.
    usual: Vec<Ps>,
    /// Queues at the last entry, and when that was.
    entered: Vec<Ps>,
    since: Ps,
    /// Mean latency of the window before it.
    latency: Ps,
    /// Factor that [`Queues::slowness`] gives, in units of 2^-[`SLOWNESS`]; `1 << SLOWNESS` is a factor of one.
    slowness: u64,
}

/// Unit of [`Queues::slowness`], as a power of two.
pub const SLOWNESS: u32 = 20;

/// Instants of ticks.
enum Grid {
    /// So many periods apart.
    Periods(Interval, u64),
    /// So long apart.
    Times(Ps),
}

impl Grid {
    /// About a sixteenth of a window apart, in whole periods if there are any, and no less than some packets.
    fn new(window: Ps, packet: Ps, period: Option<Interval>) -> Self {
        // Traffic with a period has the same queue a whole number of periods later; ticks in between would take its own beat for growth.
        let wanted = (window / TICKS).max(PACKETS * packet).max(1);
        match period {
            Some(period) => Self::Periods(period, period.index_of(wanted).max(1)),
            None => Self::Times(wanted),
        }
    }

    /// The first tick after `now`.
    fn after(&self, now: Ps) -> Ps {
        match self {
            Self::Times(apart) => (now / apart + 1).saturating_mul(*apart),
            Self::Periods(period, each) => {
                // The index may be one off at the rounding of a period, so three candidates are enough.
                let near = period.index_of(now) / each;
                let at = |n: u64| near.checked_add(n)?.checked_mul(*each).and_then(|k| period.times(k));
                (0..3).filter_map(at).find(|&t| t > now).unwrap_or(Ps::MAX)
            }
        }
    }
}

impl Queues {
    /// Empty ones of so many terminals, for predictors that learn in `window`, packets that take a link so long and traffic with that longest
    /// period.
    #[must_use]
    pub fn new(terminals: u32, window: Ps, packet: Ps, period: Option<Interval>) -> Self {
        let none = vec![0; terminals as usize];
        let sums = [none.clone(), none.clone()];
        let (usual, entered) = (none.clone(), none.clone());
        let state = State { queue: none, sums, usual, entered, slowness: 1 << SLOWNESS, ..State::default() };
        Self { grid: Grid::new(window, packet, period), state, waits: Arc::default() }
    }

    /// The next tick after `now`.
    #[must_use]
    pub fn next_tick(&self, now: Ps) -> Ps {
        self.grid.after(now)
    }

    /// True if `now` is a tick.
    #[must_use]
    pub fn ticks(&self, now: Ps) -> bool {
        now > 0 && self.grid.after(now - 1) == now
    }

    /// A tick: `offered` is the link time of what was handed over since the last one, by destination.
    pub fn tick(&mut self, now: Ps, offered: &[Ps]) {
        let State { last, queue, sums, ticks, usual, latency, slowness, .. } = &mut self.state;
        debug_assert!(now >= *last, "ticks come in order");
        let gone = now - *last;
        *last = now;
        for (q, &more) in queue.iter_mut().zip(offered) {
            // All of the interval's load comes at its begin: at most a tick too early, and the same for every partitioning.
            *q = (*q + more).saturating_sub(gone);
        }
        // The newer half; `forget` makes it the older one, in step with what learners remember.
        sums[1].iter_mut().zip(&*queue).for_each(|(sum, q)| *sum += q);
        ticks[1] += 1;
        debug_assert!(offered.len() <= queue.len(), "what is offered is for terminals");
        if !self.waits.is_empty() {
            let waits = differences(queue, usual);
            *slowness = slower(&waits, offered, *latency);
            self.waits = Arc::new(waits);
        }
    }

    /// Forgets as learners do.
    pub fn forget(&mut self, what: Forget) {
        let State { sums, ticks, .. } = &mut self.state;
        match what {
            Forget::Nothing => return,
            Forget::Half => {
                sums.swap(0, 1);
                ticks.swap(0, 1);
            }
            Forget::All => {
                sums[0].fill(0);
                ticks[0] = 0;
            }
        }
        sums[1].fill(0);
        ticks[1] = 0;
    }

    /// A stay begins, by a predictor that was trained with what is remembered, of that mean `latency`.
    pub fn enter(&mut self, now: Ps, latency: Option<Ps>) {
        debug_assert!(
            self.waits.is_empty() && now >= self.state.since,
            "a stay begins after the one before it"
        );
        self.state.latency = latency.unwrap_or(0);
        self.state.slowness = 1 << SLOWNESS;
        let State { queue, sums, ticks, usual, entered, since, .. } = &mut self.state;
        let seen = ticks[0] + ticks[1];
        for (d, mean) in usual.iter_mut().enumerate() {
            // The predictor has that mean queue in its latencies already: only the difference may be added. Without ticks nothing is known to differ.
            *mean = (sums[0][d] + sums[1][d]).checked_div(seen).unwrap_or(queue[d]);
        }
        entered.clone_from(queue);
        *since = now;
        self.waits = Arc::new(differences(queue, usual));
    }

    /// A stay ends.
    pub fn leave(&mut self) {
        self.waits = Arc::default();
    }

    /// By destination, how much longer than in the window its queue is now; empty out of a stay.
    #[must_use]
    pub fn waits(&self) -> &Arc<Vec<Wait>> {
        &self.waits
    }

    /// How much longer than in the window a source that was held back takes to its next hand-over, in units of 2^-20.
    #[must_use]
    pub fn slowness(&self) -> u64 {
        if self.waits.is_empty() { 1 << SLOWNESS } else { self.state.slowness }
    }

    /// Those of the packets `under_way` that a network lacks which was suspended when the stay began: the last ones to each destination, as many as its
    /// queue has grown by. `time` is the link time of so many bytes. A packet that the network holds as a zombie is none of them.
    #[must_use]
    pub fn lacking(&self, mut under_way: Vec<Predicted>, time: impl Fn(u64) -> Ps) -> Vec<Predicted> {
        let State { queue, entered, since, .. } = &self.state;
        let mut grown: Vec<Ps> = queue.iter().zip(entered).map(|(q, e)| q.saturating_sub(*e)).collect();
        under_way.retain(|p| p.created >= *since);
        // Those handed over last are at the end of the queue: it is they who are still in the network, and they that it lacks.
        under_way.sort_unstable_by_key(|p| (std::cmp::Reverse(p.created), p.id));
        under_way.retain(|p| {
            let (grown, needs) = (&mut grown[p.destination.index()], time(p.bytes));
            // Whole packets only: one that the queue has not grown by altogether is left out.
            let fits = needs <= *grown;
            *grown -= if fits { needs } else { 0 };
            fits
        });
        under_way.sort_unstable_by_key(|p| (p.created, p.id));
        under_way
    }

    /// For a checkpoint: inside a stay or not.
    #[must_use]
    pub fn saved(&self) -> (State, bool) {
        (self.state.clone(), !self.waits.is_empty())
    }

    /// Goes on; false if it was saved for another machine.
    pub fn load(&mut self, state: State, inside: bool) -> bool {
        let n = self.state.queue.len();
        // A checkpoint comes from outside: lengths that do not fit are refused here, where an index would panic later.
        let fits = [&state.queue, &state.sums[0], &state.sums[1], &state.usual, &state.entered];
        if fits.iter().any(|v| v.len() != n) {
            return false;
        }
        self.state = state;
        self.waits =
            if inside { Arc::new(differences(&self.state.queue, &self.state.usual)) } else { Arc::default() };
        true
    }
}

/// Latency with the mean wait of what was `offered`, over latency without; one at least.
fn slower(waits: &[Wait], offered: &[Ps], latency: Ps) -> u64 {
    let all: i128 = offered.iter().map(|&o| i128::from(o)).sum();
    let sum: i128 = waits.iter().zip(offered).map(|(&w, &o)| i128::from(w) * i128::from(o)).sum();
    if latency == 0 || all == 0 || sum <= 0 {
        return 1 << SLOWNESS;
    }
    let latency = i128::from(latency);
    // By Little's law a source with a fixed number of packets under way sends in inverse proportion to how long each takes.
    u64::try_from(((latency + sum / all) << SLOWNESS) / latency).unwrap_or(u64::MAX)
}

fn differences(queue: &[Ps], usual: &[Ps]) -> Vec<Wait> {
    debug_assert_eq!(queue.len(), usual.len(), "every destination has a queue");
    queue.iter().zip(usual).map(|(&q, &u)| q as Wait - u as Wait).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::PacketId;
    use base::index::TerminalId;

    fn packet(number: u32, destination: TerminalId, created: Ps) -> Predicted {
        Predicted {
            id: PacketId::new(TerminalId::new(0), number),
            created,
            message_created: created,
            bytes: 10,
            destination,
            message: 0,
            message_packets: 1,
            packets: 1,
        }
    }

    /// A link of which too much is asked: its queue grows by the surplus, and drains when nothing comes; what is idle does not go below empty.
    #[test]
    fn lindley() {
        let mut queues = Queues::new(2, 1_600, 1, None);
        assert_eq!((queues.next_tick(0), queues.next_tick(99), queues.next_tick(100)), (100, 100, 200));
        queues.tick(100, &[130, 50]);
        queues.tick(200, &[130, 90]);
        assert_eq!(queues.state.queue, [60, 0]);
        queues.enter(200, None);
        assert_eq!(**queues.waits(), [60 - 45, 0]);
        assert_eq!(queues.slowness(), 1 << SLOWNESS);
        queues.tick(300, &[0, 120]);
        assert_eq!(queues.slowness(), 1 << SLOWNESS, "nothing is known of latencies");
        assert_eq!(queues.state.queue, [0, 20]);
        assert_eq!(**queues.waits(), [-45, 20]);
    }

    /// Twice as long under way, half as fast; never faster than in the window.
    #[test]
    fn held_back_sources_slow_down_with_their_packets() {
        let mut queues = Queues::new(2, 1_600, 1, None);
        queues.tick(100, &[100, 100]);
        queues.enter(100, Some(50));
        queues.tick(200, &[200, 100]);
        assert_eq!(**queues.waits(), [100, 0]);
        assert_eq!(queues.slowness(), ((50 + 66) << SLOWNESS) / 50);
        queues.tick(300, &[0, 300]);
        assert_eq!(queues.slowness(), 5 << SLOWNESS);
        queues.leave();
        assert_eq!(queues.slowness(), 1 << SLOWNESS);
        assert_eq!(slower(&[-5, -5], &[1, 1], 50), 1 << SLOWNESS);
    }

    /// Of the packets under way the last ones, as far as the queue has grown, and none that the network holds already.
    #[test]
    fn what_a_suspended_network_lacks() {
        let mut queues = Queues::new(2, 1_600, 1, None);
        queues.tick(100, &[150, 0]);
        queues.enter(100, None);
        queues.tick(200, &[125, 140]);
        let packets = vec![
            packet(1, TerminalId::new(0), 90),
            packet(2, TerminalId::new(0), 150),
            packet(3, TerminalId::new(0), 160),
            packet(4, TerminalId::new(1), 110),
            packet(5, TerminalId::new(0), 199),
        ];
        let ids = |p: Vec<Predicted>| p.iter().map(|p| p.id.number()).collect::<Vec<_>>();
        assert_eq!(ids(queues.lacking(packets.clone(), |b| b)), [4, 3, 5]);
        queues.leave();
        queues.enter(200, None);
        assert!(queues.lacking(packets, |b| b).is_empty());
    }

    /// Ticks are whole periods apart, so traffic that repeats itself shows the same queue at each.
    #[test]
    fn ticks_are_in_phase() {
        let rate = base::rate::Bandwidth::new(3_000_000_000, 1).unwrap();
        let period = Interval::new(1_000, rate, 1_000_000_000).unwrap();
        let queues = Queues::new(1, 16 * 1_000_000, 1, Some(period));
        let mut now = 0;
        for n in 1..200 {
            now = queues.next_tick(now);
            assert_eq!(Some(now), period.times(3 * n), "tick {n}");
            assert!(queues.ticks(now) && !queues.ticks(now + 1));
        }
    }

    /// What is remembered is what learners remember.
    #[test]
    fn the_mean_is_that_of_the_window() {
        let mut queues = Queues::new(1, 1_600, 1, None);
        queues.tick(100, &[1_100]);
        queues.forget(Forget::Half);
        queues.tick(200, &[300]);
        queues.forget(Forget::Half);
        queues.tick(300, &[500]);
        queues.enter(300, None);
        assert_eq!((queues.state.usual[0], queues.waits()[0]), ((1_200 + 1_600) / 2, 200));
        queues.forget(Forget::All);
        queues.leave();
        assert!(queues.waits().is_empty());
        let (saved, inside) = queues.saved();
        assert!(!inside && !Queues::new(2, 1_600, 1, None).load(saved, inside));
    }
}
