//! Switches by itself: enters when latency and occupancy are stationary, returns when traffic changes or after the longest stay.
//!
//! The run is watched in periods, sixteen to a window. **Enter** when over the last sixteen periods of high fidelity both the mean latency of delivered
//! packets and the occupancy of the network are stationary (`results::batch::stationarity`: the means of the two halves differ by less than three
//! standard errors or by less than 2 %). Occupancy alone misleads: full buffers stop growing while latencies still rise (the paper's figure 6).
//! **Return** when the packets created in a period leave the band around their mean of the window: wider than `tolerance` of the mean and than four standard
//! deviations; when two periods in a row are unusual in who sends to whom, in which sizes and how many at once (`sketch.rs`); or after `max_stay`. **Check**: after a return the mean latency of the network over half a window is compared with that of the packets
//! predicted in the stay. If they differ by more than `tolerance`, the next stay waits for twice as many windows as before, up to
//! sixteen; else for one.

use super::{Built, DirectorEntry, Frame, Step, Strategy, View};
use crate::hybrid::{
    HybridSetup, Treatment,
    learn::{Forget, Seen},
    sketch::{Sketch, Usual},
};
use base::{
    param::{Kind, Param, Problem},
    registry::About,
    time::Ps,
    units::print_time,
};
use results::batch::{Batch, Stationarity, stationarity};
use std::collections::VecDeque;

/// The director `automatic`.
pub const ENTRY: DirectorEntry = DirectorEntry {
    about: About {
        name: "automatic",
        summary: "enters when latency and occupancy are stationary, returns when traffic changes",
        doc: "The run is watched in periods of a sixteenth of `window`. It enters the surrogate when, over one window of high fidelity, both the mean latency and \
              the occupancy of the network are stationary: the means of the two halves differ by no more than three standard errors, or 2 %. It returns \
              when the packets created in a period differ from the window's mean by more than `tolerance` and four standard deviations, and after \
              `max_stay`. It also returns after two periods in a row unlike the window's: with more new pairs of source and destination, more or fewer pairs, or other sizes of \
              messages. The number of packets that are handed over for one terminal at a time counts, too. After a return the prediction is checked: if the network's mean latency over half a window differs from that of the \
              predicted packets by more than `tolerance`, the next stay waits twice as long as before, up to sixteen windows. \
              A source that the network holds back keeps its pace, so what it offers beyond is no change.",
        source: "stationarity: Geweke 1992, by batch means; the paper's section 5 asks for latency and occupancy",
        params: &[
            Param {
                name: "min_stay",
                kind: Kind::Time,
                default: Some("100 us"),
                doc: "Shortest stay in the surrogate; a change is acted upon after it.",
            },
            Param {
                name: "max_stay",
                kind: Kind::Time,
                default: Some("10 ms"),
                doc: "Longest stay in the surrogate: then the network is asked again.",
            },
            Param {
                name: "tolerance",
                kind: Kind::Real { min: 0.001, max: 10.0 },
                default: Some("0.1"),
                doc: "Relative change of traffic that ends a stay, and relative error of predictions that delays the next.",
            },
        ],
    },
    sketches: true,
    build,
};

/// Unusual periods in a row that are a change: of many periods one may be unusual by chance.
const STRANGE: u64 = 2;

/// Periods of a window.
const PERIODS: u64 = 16;

/// Most windows that a failed prediction delays the next stay.
const MOST_WINDOWS: u64 = 16;

fn build(setup: &HybridSetup, frame: &Frame) -> Built {
    let values = &setup.values;
    let (min_stay, max_stay) = (values.time("min_stay"), values.time("max_stay"));
    let period = setup.window / PERIODS;
    if period == 0 {
        return Err(vec![Problem::new(
            "window",
            "a window of director \"automatic\" has sixteen periods of a picosecond or more",
        )]);
    }
    if period < frame.packet {
        let message = format!(
            "the director looks at every sixteenth of the window, {}, and a packet takes {} on a terminal's link",
            print_time(period),
            print_time(frame.packet)
        );
        return Err(vec![Problem::new("window", message).help("a window of many packets")]);
    }
    if max_stay < period {
        let message = format!(
            "`max_stay` is shorter than a sixteenth of the window, {}, at which the director looks",
            print_time(period)
        );
        return Err(vec![Problem::new("max_stay", message)]);
    }
    let reheat = if setup.treatment == Treatment::Reheat { setup.reheat } else { 0 };
    if max_stay < min_stay || max_stay <= reheat.max(1) {
        return Err(vec![Problem::new(
            "max_stay",
            "`max_stay` is shorter than `min_stay` or the re-heating",
        )]);
    }
    Ok(Box::new(Automatic {
        period,
        min_stay,
        max_stay,
        longest: frame.in_phase(setup, max_stay),
        reheat,
        tolerance: values.real("tolerance"),
        memory: Memory { wait: 1, ..Memory::default() },
        periods: VecDeque::new(),
        words: Sketch::length(frame.terminals),
        usual: None,
    }))
}

/// One period of high fidelity.
#[derive(Clone, Default)]
struct Period {
    created: u64,
    latency: Seen,
    occupied: u64,
    sketch: Sketch,
}

#[derive(Clone, Copy, Default)]
struct Memory {
    /// In the surrogate since then, plus one; 0 in high fidelity.
    entered: u64,
    /// When the return was planned for, 0 for none.
    leave: u64,
    /// Windows of high fidelity before the next stay.
    wait: u64,
    /// Periods of high fidelity since the return.
    fidelity: u64,
    /// Mean latency of the last stay's packets, 0 if there is nothing to check.
    predicted: u64,
    created: u64,
    network: Seen,
    stay: Seen,
    /// Periods of the stay, the last ones, whose sketches are unusual.
    strange: u64,
}

struct Automatic {
    period: Ps,
    min_stay: Ps,
    max_stay: Ps,
    /// The longest stay in phase with the traffic, if that has one.
    longest: Option<Ps>,
    reheat: Ps,
    tolerance: f64,
    memory: Memory,
    /// The last window of high fidelity.
    periods: VecDeque<Period>,
    /// Words of a sketch.
    words: usize,
    /// In a stay, what the window's periods have in common.
    usual: Option<Usual>,
}

fn since(now: Seen, then: Seen) -> Seen {
    Seen { count: now.count - then.count, sum: now.sum - then.sum }
}

impl Automatic {
    /// True if the window is stationary in latency and in occupancy.
    fn is_steady(&self) -> bool {
        let latency: Vec<Batch> =
            self.periods.iter().map(|p| Batch { count: p.latency.count, sum: p.latency.sum }).collect();
        let occupied: Vec<Batch> =
            self.periods.iter().map(|p| Batch { count: 1, sum: u128::from(p.occupied) * 1_000 }).collect();
        let still = |batches: &[Batch]| stationarity(batches) == Stationarity::Stationary;
        // Both, since each misleads alone: full buffers stop growing while latencies rise, and latencies settle in what is still filling.
        self.periods.len() as u64 >= PERIODS && still(&latency) && still(&occupied)
    }

    /// True if so many packets of a period are no part of the window's traffic.
    fn differs(&self, created: u64) -> bool {
        let n = self.periods.len().max(1) as f64;
        let mean = self.periods.iter().map(|p| p.created as f64).sum::<f64>() / n;
        let variance = self.periods.iter().map(|p| (p.created as f64 - mean).powi(2)).sum::<f64>() / n;
        // Random arrivals scatter by themselves: in a small network a tenth of the mean is nothing unusual.
        (created as f64 - mean).abs() > (4.0 * variance.sqrt()).max(self.tolerance * mean)
    }

    /// What the window's periods have in common.
    fn usual(&self) -> Usual {
        let sketches: Vec<&Sketch> = self.periods.iter().map(|p| &p.sketch).collect();
        Usual::of(&sketches, self.tolerance)
    }

    fn in_fidelity(&mut self, view: &View<'_>, period: Period) -> Step {
        self.periods.push_back(period);
        if self.periods.len() as u64 > PERIODS {
            self.periods.pop_front();
        }
        self.memory.fidelity += 1;
        if self.memory.predicted > 0 && self.memory.fidelity == PERIODS / 2 {
            let mut seen = Seen::default();
            self.periods.iter().for_each(|p| seen.merge(p.latency));
            // Half a window is enough to judge the last stay, and leaves the other half for what is learned after it.
            let (mean, said) = (seen.mean().unwrap_or(0) as f64, self.memory.predicted as f64);
            let wrong = (said - mean).abs() > self.tolerance * mean;
            self.memory.wait = if wrong { (self.memory.wait * 2).min(MOST_WINDOWS) } else { 1 };
        }
        if self.memory.fidelity < self.memory.wait * PERIODS || !self.is_steady() {
            return Step::Stay;
        }
        self.memory.entered = view.now + 1;
        self.memory.leave = 0;
        self.memory.stay = view.predicted;
        self.memory.strange = 0;
        self.usual = Some(self.usual());
        Step::Enter
    }

    fn in_surrogate(&mut self, view: &View<'_>, period: &Period) -> Step {
        if let (Some(usual), Some(sketch)) = (&self.usual, view.sketch) {
            // In a row: what changes for good stays changed, and of many periods one is unusual by chance.
            self.memory.strange = if usual.is_left(sketch) { self.memory.strange + 1 } else { 0 };
        }
        let since_then = view.now + 1 - self.memory.entered;
        if self.memory.leave == 0 {
            let over = self.longest.is_none() && since_then + self.reheat >= self.max_stay;
            // The first period holds what the switch itself changes.
            let changed = since_then >= self.min_stay.max(2 * self.period)
                && (self.differs(period.created) || self.memory.strange >= STRANGE);
            if let Some(longest) = self.longest.filter(|_| !changed) {
                debug_assert!(self.memory.entered > 0, "`entered` is the instant plus one");
                // A network that was stopped in the middle of a burst must wake at the same place of one: a stay of whole periods.
                let leave = self.memory.entered - 1 + longest;
                if leave > view.now {
                    self.memory.leave = if leave < view.now + self.period { leave } else { 0 };
                    return Step::Stay;
                }
            } else if !over && !changed {
                return Step::Stay;
            }
            if self.reheat > 0 {
                // Copies of what is predicted fill the network before it counts again, else it would be measured empty.
                self.memory.leave = view.now + self.reheat;
                return Step::Reheat;
            }
            self.memory.leave = view.now;
        }
        if view.now < self.memory.leave {
            return Step::Stay;
        }
        let said = since(view.predicted, self.memory.stay).mean().unwrap_or(0);
        self.memory = Memory { entered: 0, leave: 0, fidelity: 0, predicted: said, ..self.memory };
        self.periods.clear();
        self.usual = None;
        Step::Return
    }
}

impl Strategy for Automatic {
    fn next_tick(&self, now: Ps) -> Ps {
        let next = (now / self.period + 1).saturating_mul(self.period);
        let leave = self.memory.leave;
        if leave > now { next.min(leave) } else { next }
    }

    fn may_enter(&self, now: Ps) -> bool {
        let waited = self.memory.fidelity + 1 >= self.memory.wait * PERIODS;
        self.memory.entered == 0 && waited && now.is_multiple_of(self.period)
    }

    fn sketches(&self, now: Ps) -> bool {
        now.is_multiple_of(self.period)
    }

    fn forget(&self, now: Ps) -> Forget {
        if self.memory.entered > 0 {
            // Nothing is learned in a stay; the return begins anew.
            return Forget::All;
        }
        if now.is_multiple_of(self.period * PERIODS / 2) { Forget::Half } else { Forget::Nothing }
    }

    fn decide(&mut self, view: &View<'_>) -> Step {
        let period = Period {
            created: view.created - self.memory.created,
            latency: since(view.network, self.memory.network),
            occupied: view.occupied,
            sketch: view.sketch.cloned().unwrap_or_default(),
        };
        let whole = view.now.is_multiple_of(self.period);
        if whole {
            (self.memory.created, self.memory.network) = (view.created, view.network);
        }
        match (self.memory.entered, whole) {
            (0, true) => self.in_fidelity(view, period),
            (0, false) => Step::Stay,
            (_, _) => self.in_surrogate(view, &period),
        }
    }

    fn memory(&self) -> Vec<u64> {
        let m = &self.memory;
        let mut words = vec![m.entered, m.leave, m.wait, m.fidelity, m.predicted, m.created, m.strange];
        let mut seen = |s: Seen| words.extend([s.count, s.sum as u64, (s.sum >> 64) as u64]);
        seen(m.network);
        seen(m.stay);
        for p in &self.periods {
            words.extend([p.created, p.occupied, p.latency.count]);
            words.extend([p.latency.sum as u64, (p.latency.sum >> 64) as u64]);
            words.extend(p.sketch.words());
        }
        words
    }

    fn recall(&mut self, words: &[u64]) -> bool {
        let Some((head, rest)) = words.split_first_chunk::<13>() else { return false };
        let seen =
            |count: u64, low: u64, high: u64| Seen { count, sum: u128::from(high) << 64 | u128::from(low) };
        let [entered, leave, wait, fidelity, predicted, created, strange, n0, n1, n2, s0, s1, s2] = *head;
        self.memory = Memory {
            entered,
            leave,
            wait,
            fidelity,
            predicted,
            created,
            network: seen(n0, n1, n2),
            stay: seen(s0, s1, s2),
            strange,
        };
        // Five numbers and a sketch for each; what is common to them is computed again, as it was at the entry.
        let periods = rest.chunks_exact(5 + self.words);
        let whole = periods.remainder().is_empty();
        self.periods = periods
            .filter_map(<[u64]>::split_first_chunk::<5>)
            .map(|(p, sketch)| Period {
                created: p[0],
                occupied: p[1],
                latency: seen(p[2], p[3], p[4]),
                sketch: Sketch::from_words(sketch),
            })
            .collect();
        self.usual = (entered > 0).then(|| self.usual());
        whole
    }
}
