//! Whether messages of an open job pile up: how many are under way in each quarter of its measured time.
//!
//! The number under way at a time is the messages that were sent until then less those that arrived. Its mean over a quarter is the sum of what each
//! message spends in that quarter, over the quarter's length. Unlike a mean latency it counts those that have not arrived yet, which are the slow ones.

use base::time::Ps;

/// Sums over one quarter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quarter {
    /// Messages sent in it.
    pub begun: u64,
    /// Messages that arrived in it, whenever they were sent.
    pub delivered: u64,
    /// What all messages spent under way in it, in ps.
    spent: i128,
    /// When it ends.
    end: Ps,
    /// How long it is; 0 if nothing is measured.
    span: Ps,
}

impl Quarter {
    fn of(start: Ps, end: Ps) -> Self {
        debug_assert!(start <= end, "a quarter ends after it began");
        Self { end, span: end - start, ..Self::default() }
    }

    /// What is left of it at `time`.
    fn left(&self, time: Ps) -> Ps {
        self.end.saturating_sub(time).min(self.span)
    }

    fn has(&self, time: Ps) -> bool {
        self.left(time) > 0 && time >= self.end - self.span
    }

    /// Messages under way, on average over it.
    #[must_use]
    pub fn under_way(&self) -> f64 {
        self.spent as f64 / self.span.max(1) as f64
    }
}

/// How an open job did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// About as many messages are under way in both halves.
    Kept,
    /// More in the second half, but ever more slowly, or a larger share arrives: the run is too short for a steady state, if there is one.
    Fills,
    /// More in the second half, and it goes on: links cannot keep up.
    PilesUp,
}

/// What is counted of a job of traffic in a run that ends at a time.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// Over its measured time: from its start, or from the end of the warm-up if that is later.
    pub measured: Quarters,
    /// From its start on.
    pub whole: Quarters,
}

impl Counted {
    /// Nothing happened yet to a job that runs from `start` to `end`.
    #[must_use]
    pub fn of(start: Ps, warmup: Ps, end: Ps) -> Self {
        Self { measured: Quarters::of(start.max(warmup), end), whole: Quarters::of(start, end) }
    }

    /// A message was sent.
    pub fn begun(&mut self, time: Ps) {
        self.measured.begun(time);
        self.whole.begun(time);
    }

    /// A message arrived.
    pub fn delivered(&mut self, time: Ps) {
        self.measured.delivered(time);
        self.whole.delivered(time);
    }

    /// Whether messages pile up: see [`Quarters::pace`]. A warm-up that ends late leaves little to see growth in, so the whole time counts, too.
    #[must_use]
    pub fn pace(&self, burst: u64) -> Pace {
        match self.whole.pace(burst) {
            Pace::PilesUp => Pace::PilesUp,
            _ => self.measured.pace(burst),
        }
    }
}

/// The quarters of a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quarters(pub [Quarter; 4]);

impl Quarters {
    /// Of a time that is measured from `start` to `end`.
    #[must_use]
    pub fn of(start: Ps, end: Ps) -> Self {
        let start = start.min(end);
        let bound = |n: u64| start + (end - start) / 4 * n + (end - start) % 4 * n / 4;
        Self([0, 1, 2, 3].map(|n| Quarter::of(bound(n), bound(n + 1))))
    }

    /// A message was sent: it is under way from now on.
    pub fn begun(&mut self, time: Ps) {
        for quarter in &mut self.0 {
            quarter.begun += u64::from(quarter.has(time));
            quarter.spent += i128::from(quarter.left(time));
        }
    }

    /// A message arrived: it is under way no more.
    pub fn delivered(&mut self, time: Ps) {
        for quarter in &mut self.0 {
            quarter.delivered += u64::from(quarter.has(time));
            quarter.spent -= i128::from(quarter.left(time));
        }
    }

    /// Messages under way on average over the first half, and over the second.
    #[must_use]
    pub fn under_way(&self) -> [f64; 2] {
        let [a, b, c, d] = self.0.map(|quarter| quarter.under_way());
        [f64::midpoint(a, b), f64::midpoint(c, d)]
    }

    /// Whether messages pile up, where sources create so many at one instant.
    ///
    /// They do if the second half has more under way by a two-hundredth of the messages sent in it and by more than chance, six standard deviations
    /// of so many bursts; or, of few messages, by more than half as many again. A number that grows from nothing as long as the run lasts is three times
    /// as large in the second half.
    #[must_use]
    pub fn pace(&self, burst: u64) -> Pace {
        let burst = burst.max(1) as f64;
        let [before, after] = self.under_way();
        let growth = after - before;
        let [first, second] = self.begun_in_halves();
        let much = growth > 0.005 * second && growth > 6.0 * (after * burst).sqrt();
        let bursts = (first + second) / 2.0 / burst;
        let few = bursts >= 2.0 && growth > (0.5 + 4.0 / bursts.sqrt()) * before;
        if !much && !few {
            Pace::Kept
        } else if self.fills() {
            Pace::Fills
        } else {
            Pace::PilesUp
        }
    }

    fn begun_in_halves(&self) -> [f64; 2] {
        let [a, b, c, d] = self.0.map(|quarter| quarter.begun as f64);
        [a + b, c + d]
    }

    /// Whether what grows may come to rest: a larger share of what was sent arrived in the second half, by a quarter, or the number under way grew more
    /// slowly at the end, by two fifths. One that grows as the root of time, between both, grows more slowly by nearly half.
    fn fills(&self) -> bool {
        let [a, b, c, d] = self.0.map(|quarter| quarter.under_way());
        let [w, x, y, z] = self.0.map(|quarter| quarter.delivered as f64);
        let (delivered, later) = (w + x, y + z);
        let [begun, last] = self.begun_in_halves();
        // Shares are compared without a division: nothing may have been sent.
        later * begun > 1.25 * delivered * last || delivered <= 0.0 || d - c < 0.6 * (b - a)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::{Purpose, Stream};

    /// Messages sent every `period`, each of which takes `latency` of its number.
    fn run(period: Ps, end: Ps, latency: impl Fn(u64) -> Ps) -> Quarters {
        let mut quarters = Quarters::of(0, end);
        for number in 0..end.div_ceil(period) {
            let sent = number * period;
            quarters.begun(sent);
            let arrives = sent + latency(number);
            if arrives < end {
                quarters.delivered(arrives);
            }
        }
        quarters
    }

    #[test]
    fn numbers_under_way_are_those_of_closed_forms() {
        // One every 10 ps that takes 30 ps: three at a time, after the first three.
        let steady = run(10, 10_000, |_| 30);
        let [first, second] = steady.under_way();
        assert!((first - 3.0).abs() < 0.01 && (second - 3.0).abs() < 1e-9);
        assert_eq!(steady.0.map(|quarter| quarter.begun), [250; 4]);
        assert_eq!(steady.0.map(|quarter| quarter.delivered), [247, 250, 250, 250]);
        // None arrives: 0 to 1,000 under way, 250 and 750 on average, and half of one.
        let none = run(10, 10_000, |_| 1 << 40);
        let [first, second] = none.under_way();
        assert!((first - 250.5).abs() < 1e-9 && (second - 750.5).abs() < 1e-9);
    }

    /// A second opinion: the number under way, looked at each picosecond.
    #[test]
    fn sums_are_those_of_counting_at_each_instant() {
        for seed in 0..200 {
            let mut stream = Stream::new(seed, Purpose::Test, 0);
            let (start, end) = (stream.below(50), 100 + stream.below(4));
            let messages: Vec<(Ps, Ps)> =
                (0..20).map(|_| (stream.below(end), 1 + stream.below(80))).collect();
            let mut quarters = Quarters::of(start, end);
            for &(sent, takes) in &messages {
                quarters.begun(sent);
                if sent + takes < end {
                    quarters.delivered(sent + takes);
                }
            }
            let mut from = start;
            for quarter in &quarters.0 {
                let to = from + quarter.span;
                let under_way =
                    |t: Ps| messages.iter().filter(|&&(sent, takes)| sent <= t && t < sent + takes).count();
                let naive: usize = (from..to).map(under_way).sum();
                assert!(
                    (quarter.under_way() - naive as f64 / (to - from) as f64).abs() < 1e-9,
                    "seed {seed}"
                );
                let begun = messages.iter().filter(|m| (from..to).contains(&m.0)).count();
                let delivered = messages.iter().filter(|m| (from..to).contains(&(m.0 + m.1))).count();
                assert_eq!(
                    (quarter.begun, quarter.delivered),
                    (begun as u64, delivered as u64),
                    "seed {seed}"
                );
                from = to;
            }
            assert_eq!(quarters.0[3].end, end, "quarters leave nothing out");
        }
    }

    #[test]
    fn what_grows_is_found_and_what_is_steady_is_not() {
        assert_eq!(run(10, 10_000, |_| 30).pace(1), Pace::Kept);
        // The first latency is a tenth of the run, and a fifth.
        assert_eq!(run(10, 10_000, |_| 1_000).pace(1), Pace::Kept);
        assert_eq!(run(10, 10_000, |_| 2_000).pace(1), Pace::Kept);
        assert_eq!(run(10, 10_000, |_| 6_000).pace(1), Pace::Fills);
        assert_eq!(run(10, 10_000, |_| 1 << 40).pace(1), Pace::Fills);
        // A link that takes half of what is offered, and nine tenths of it.
        assert_eq!(run(10, 10_000, |n| n * 10 + 20).pace(1), Pace::PilesUp);
        assert_eq!(run(10, 100_000, |n| n + 20).pace(1), Pace::PilesUp);
        // Growth that comes to rest, and the one between both.
        let root = |n: u64| 10 * (n as f64 * 20.0).sqrt() as u64;
        assert_eq!(run(10, 100_000, root).pace(1), Pace::Fills);
        assert_eq!(run(10, 100_000, |n| 10_000 - 10_000_000 / (n + 1_000)).pace(1), Pace::Fills);
        // Half of few messages arrive.
        assert_eq!(run(10, 400, |n| n * 10 + 20).pace(1), Pace::PilesUp);
        assert_eq!(run(10, 400, |_| 40).pace(1), Pace::Kept);
    }

    #[test]
    fn bursts_are_not_growth() {
        // 64 messages at once, in the last tenth of each half, or only in the second.
        for (at, burst) in [(&[400, 900][..], 64), (&[450, 910, 950][..], 64), (&[900][..], 64)] {
            let mut quarters = Quarters::of(0, 1000);
            for &time in at {
                (0..64).for_each(|_| quarters.begun(time));
                (0..64).for_each(|_| quarters.delivered(time + 20));
            }
            assert_eq!(quarters.pace(burst), Pace::Kept, "{at:?}");
        }
    }
}
