//! How the mean latency drifts while the network is simulated: a network that is suspended does not drift, and is younger than it should be from then on.
//!
//! A director that looks at one window takes a slow drift for noise. The windows before all stays tell more: a straight line is fitted to the mean latencies of
//! their periods, of one slope for all and a level of its own for each window, since traffic may change between them. What is before them, such as a network that
//! fills, is over when a stay begins.

use super::learn::Seen;
use base::time::Ps;
use results::batch::{MIN_BATCHES, student_t};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Most periods of a window that are looked at, the last ones.
const MOST: usize = 64;

/// Periods of high fidelity, one by one and in pairs: neighbours are alike where queues last longer than a period, which pairs show.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    fine: Fit,
    pairs: Fit,
    /// Of the present stretch: when a period began, its middle, and what was delivered in it.
    recent: VecDeque<(Ps, f64, Seen)>,
    /// End of the last period, what was delivered by then and that packets counted by then.
    last: Option<(Ps, Seen, bool)>,
}

/// Sums of a fit with one slope and a level for each stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Fit {
    /// Of the present stretch: number of periods, their time and latency, and sums of squares and products about the means.
    count: f64,
    time: f64,
    latency: f64,
    within: [f64; 3],
    /// Of stretches that are over: degrees of freedom, and the same sums.
    freedom: f64,
    all: [f64; 3],
}

impl Fit {
    /// Adds a period to the present stretch, about running means.
    fn add(&mut self, time: f64, latency: f64) {
        self.count += 1.0;
        let (t, l) = (time - self.time, latency - self.latency);
        self.time += t / self.count;
        self.latency += l / self.count;
        let share = (self.count - 1.0) / self.count;
        for (sum, square) in self.within.iter_mut().zip([t * t, t * l, l * l]) {
            *sum += share * square;
        }
    }

    /// The stretch is over.
    fn close(&mut self) {
        self.freedom += (self.count - 1.0).max(0.0);
        for (all, within) in self.all.iter_mut().zip(self.within) {
            *all += within;
        }
        *self = Self { freedom: self.freedom, all: self.all, ..Self::default() };
    }

    /// What the slope may be at most at 95 %, if it is not nought at 95 %.
    fn steepest(mut self) -> Option<f64> {
        self.close();
        let [times, products, squares] = self.all;
        let degrees = self.freedom - 1.0;
        if degrees < MIN_BATCHES as f64 - 2.0 || times <= 0.0 {
            return None;
        }
        let slope = products / times;
        let error = ((squares - slope * products).max(0.0) / degrees / times).sqrt();
        let width = student_t(degrees as usize) * error;
        (slope.abs() > width).then_some(slope.abs() + width)
    }
}

impl Drift {
    /// At the end of a period of high fidelity: what the network delivered so far, and that packets count by now.
    pub fn period(&mut self, now: Ps, network: Seen, counts: bool) {
        let last = self.last.replace((now, network, counts));
        let Some((begin, before, true)) = last else { return };
        debug_assert!(now >= begin && network.count >= before.count, "time and counts only grow");
        let seen = Seen { count: network.count - before.count, sum: network.sum - before.sum };
        let middle = begin as f64 + (now - begin) as f64 / 2.0;
        if self.recent.len() == MOST {
            self.recent.pop_front();
        }
        self.recent.push_back((begin, middle, seen));
    }

    /// A stay begins, or ends, at `now`, when the network had delivered so much. What it learned from is looked at: all since `window`.
    pub fn turn(&mut self, now: Ps, network: Seen, counts: bool, window: Ps) {
        let mean = |seen: Seen| seen.sum as f64 / seen.count as f64;
        let periods: Vec<(f64, Seen)> =
            self.recent.drain(..).filter(|p| p.0 >= window).map(|p| (p.1, p.2)).collect();
        for &(middle, seen) in periods.iter().filter(|p| p.1.count > 0) {
            self.fine.add(middle, mean(seen));
        }
        for pair in periods.chunks_exact(2) {
            let mut both = pair[0].1;
            both.merge(pair[1].1);
            if both.count > 0 {
                self.pairs.add(pair[0].0.midpoint(pair[1].0), mean(both));
            }
        }
        self.fine.close();
        self.pairs.close();
        self.last = Some((now, network, counts));
    }

    /// Most that the mean latency grows or falls by, in time per time, at 95 %; 0 if it may as well be steady.
    #[must_use]
    pub fn steepest(&self) -> f64 {
        let (fine, pairs) = (self.fine.steepest(), self.pairs.steepest());
        // What only periods one by one show may be their likeness to their neighbours.
        fine.zip(pairs).map_or(0.0, |(fine, pairs)| fine.max(pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::{Purpose, Stream};

    /// Stretches of 20 periods of 10 ps, each a level further up; latencies are a line with noise of this size.
    fn drift(seed: u64, slope: f64, noise: u64) -> f64 {
        let mut dice = Stream::new(seed, Purpose::Test, 0);
        let (mut drift, mut network, mut now) = (Drift::default(), Seen::default(), 0);
        for stretch in 0..3 {
            now += 1000;
            drift.turn(now, network, true, 0);
            for n in 1..=20 {
                let level = 10_000.0 + 5000.0 * f64::from(stretch) + slope * 10.0 * f64::from(n);
                network.merge(Seen { count: 1, sum: u128::from(level as u64 + dice.below(noise + 1)) });
                now += 10;
                drift.period(now, network, true);
            }
        }
        drift.turn(now, network, true, 0);
        drift.steepest()
    }

    #[test]
    fn a_line_without_noise_is_its_slope_whatever_the_levels() {
        for slope in [-3.0, 2.0] {
            assert!((drift(1, slope, 0) - f64::abs(slope)).abs() < 1e-9, "{slope}");
        }
        assert!(drift(1, 0.0, 0).abs() < 1e-12);
    }

    /// Bounds are above the true slope in 95 % of cases or more, and steady traffic drifts in 5 % or fewer (five standard deviations of 400: 5.4 %).
    #[test]
    fn bounds_hold_as_often_as_they_say() {
        let below = (0..400).filter(|&seed| drift(seed, 2.0, 300) < 2.0).count();
        let alarms = (0..400).filter(|&seed| drift(seed, 0.0, 300) > 0.0).count();
        assert!(below <= 42 && alarms <= 42, "{below} below, {alarms} alarms");
    }

    /// The warm-up does not count, nor what is before the window, nor a window that is too short to say anything.
    #[test]
    fn only_what_counts_is_looked_at() {
        let (mut drift, mut network) = (Drift::default(), Seen::default());
        let mut period = |drift: &mut Drift, n: u64, latency: u64, counts| {
            network.merge(Seen { count: 1, sum: u128::from(latency) });
            drift.period(n, network, counts);
            network
        };
        for n in 0..50 {
            let _ = period(&mut drift, n, 100 * n, false);
        }
        assert!(drift.recent.is_empty());
        for n in 50..100 {
            let _ = period(&mut drift, n, 100 * n, true);
        }
        let delivered = (100..120).map(|n| period(&mut drift, n, 7, true)).last().expect("twenty");
        let (mut whole, mut short) = (drift.clone(), drift.clone());
        drift.turn(119, delivered, true, 100);
        assert!(drift.steepest().abs() < 1e-12);
        whole.turn(119, delivered, true, 0);
        assert!(whole.steepest() > 0.0);
        short.turn(119, delivered, true, 115);
        assert_eq!((short.steepest(), short.fine.freedom), (0.0, 3.0));
    }
}
