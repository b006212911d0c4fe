//! Whether several threads pay: a run in several threads meets after every window, and where windows hold few events, or the processors are busy with
//! others, one thread alone is faster.
//!
//! Both ways are tried on a thousand events each, then on four thousand, and the faster one is taken. The other is tried again now and then, the more rarely the
//! slower it was, so that trying takes a twentieth of the time at most. All threads together are always tried on a few events first, and no further where these
//! take many times as long as alone: on a busy machine each window may cost milliseconds. Which one ran changes no result, so elapsed time may decide.

use std::time::Duration;

/// Events of a first try of either way; a second one, on warm caches, decides.
const TRY: u64 = 1 << 10;
/// Events of all threads together that show whether more of them are worth trying.
const GLANCE: u64 = 1 << 7;
/// So many times the cost of one thread, and caches or a new thread, which takes as long as a thousand events, are no excuse.
const HOPELESS: u64 = 16;
/// Events between two decisions, at most: all threads together are trusted with twice as many each time that they stay the faster way, since where others
/// take a processor they can become a hundred times slower from one moment to the next.
const STRETCH: u64 = 1 << 18;
/// Share of the time that trying may take, inverse.
const SPARING: u64 = 20;

/// What the two ways cost so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    /// Nanoseconds for 1,024 events: in one thread, in all. 0: not known yet.
    cost: [u64; 2],
    tries: u32,
    /// All threads together had their few events before a try, and may have it.
    glanced: bool,
    /// Events until the slower way is tried again.
    wait: u64,
    /// Decisions in a row for all threads together.
    trusted: u32,
    /// Events that were handled each way.
    handled: [u64; 2],
}

impl Pace {
    /// How the next events are handled, and how many of them at most: true for all threads.
    pub fn next(&self) -> (bool, u64) {
        let glance = |events| (true, if self.glanced { events } else { GLANCE });
        match self.tries {
            0 | 2 => (false, TRY << self.tries),
            1 | 3 => glance(TRY << (self.tries - 1)),
            _ if self.wait == 0 && self.together() => (false, TRY << 2),
            _ if self.wait == 0 => glance(TRY << 2),
            _ if self.together() => (true, STRETCH.min(TRY << (2 + self.trusted))),
            _ => (false, STRETCH),
        }
    }

    /// What they took.
    pub fn took(&mut self, together: bool, events: u64, time: Duration) {
        let trying = self.tries < 4 || self.wait == 0 && together != self.together();
        self.handled[usize::from(together)] += events;
        self.wait = self.wait.saturating_sub(events);
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let Some(now) = nanoseconds.saturating_mul(1 << 10).checked_div(events) else { return };
        let hopeless = now / HOPELESS > self.cost[0];
        if trying && together && !self.glanced && !hopeless {
            self.glanced = true;
            return;
        }
        let given_up = trying && together && !self.glanced;
        self.glanced = false;
        let cost = &mut self.cost[usize::from(together)];
        // A try replaces what was known; what is in use is smoothed, since processors have bad moments.
        *cost = if trying || *cost == 0 { now } else { *cost / 4 * 3 + now / 4 }.max(1);
        self.tries = if given_up { 4 } else { (self.tries + 1).min(4) };
        self.trusted = if self.together() { (self.trusted + u32::from(!trying)).min(16) } else { 0 };
        if trying && self.tries >= 4 {
            let (less, more) = (self.cost[0].min(self.cost[1]), self.cost[0].max(self.cost[1]));
            let tried = if given_up { GLANCE } else { TRY << 2 };
            self.wait = SPARING * tried * (more / less.max(1)).clamp(1, 1 << 20);
        }
    }

    /// True if all threads are the faster way, as far as is known.
    fn together(&self) -> bool {
        self.cost[0] == 0 || self.cost[1] <= self.cost[0]
    }

    /// True if most events were handled in one thread.
    pub fn mostly_alone(&self) -> bool {
        self.handled[0] > self.handled[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a million events whose costs are given; gives the share of events in one thread, and how much longer it took than the faster way.
    fn run(cost: [f64; 2]) -> (f64, f64) {
        let (mut pace, mut events, mut time) = (Pace::default(), 0u64, 0.0);
        while events < 10_000_000 {
            let (together, most) = pace.next();
            let took = cost[usize::from(together)] * most as f64;
            pace.took(together, most, Duration::from_secs_f64(took));
            events += most;
            time += took;
        }
        (pace.handled[0] as f64 / events as f64, time / (events as f64 * cost[0].min(cost[1])))
    }

    /// A thousand events each way, then four thousand, all threads after a glance each time; then stretches that double while they are the faster way.
    #[test]
    fn tries_are_short_and_trust_grows() {
        let (mut pace, mut asked) = (Pace::default(), Vec::new());
        for _ in 0..14 {
            let (together, most) = pace.next();
            asked.push((together, most));
            pace.took(together, most, Duration::from_nanos(most * if together { 60 } else { 100_000 }));
        }
        let tries =
            [(false, TRY), (true, GLANCE), (true, TRY), (false, 4 * TRY), (true, GLANCE), (true, 4 * TRY)];
        assert_eq!(asked[..6], tries);
        let stretches = [4, 8, 16, 32, 64, 128, 256, 256].map(|n| (true, n * TRY));
        assert_eq!(asked[6..], stretches);
    }

    #[test]
    fn the_faster_way_is_taken_and_trying_is_cheap() {
        for (cost, alone) in
            [([1e-7, 6e-8], false), ([1e-7, 9e-7], true), ([1e-7, 1e-5], true), ([5e-6, 1e-7], false)]
        {
            let (share, longer) = run(cost);
            assert!(longer < 1.15, "{cost:?}: {longer}");
            assert_eq!(share > 0.5, alone, "{cost:?}: {share}");
        }
    }

    /// On small networks beside other work a window may cost a thousand times its events: a run of a tenth of a second is hardly longer than alone.
    #[test]
    fn a_busy_machine_is_left_to_others_at_once() {
        for slower in [10, 100, 1000] {
            let (mut pace, mut events, mut time) = (Pace::default(), 0u64, 0);
            while events < 1_000_000 {
                let (together, most) = pace.next();
                let took = most * if together { 100 * slower } else { 100 };
                pace.took(together, most, Duration::from_nanos(took));
                (events, time) = (events + most, time + took);
            }
            assert!(time < 120 * events, "{slower}: {} of alone", time as f64 / events as f64 / 100.0);
            assert!(pace.mostly_alone());
        }
    }

    /// A thread takes as long to start as a thousand events, in each call: that says nothing of those that follow.
    #[test]
    fn threads_that_start_are_not_given_up() {
        let (mut pace, mut events) = (Pace::default(), 0);
        while events < 10_000_000 {
            let (together, most) = pace.next();
            let took = if together { 100_000 + most * 60 } else { most * 100 };
            pace.took(together, most, Duration::from_nanos(took));
            events += most;
        }
        assert!(pace.handled[1] > 9_000_000, "{pace:?}");
    }

    /// All threads together become a hundred times slower right after they were chosen.
    #[test]
    fn a_first_impression_costs_little() {
        let (mut pace, mut events, mut time) = (Pace::default(), 0, 0.0);
        while events < 1_000_000 {
            let (together, most) = pace.next();
            let cost = if !together {
                1e-7
            } else if events < 10_000 {
                6e-8
            } else {
                1e-5
            };
            pace.took(together, most, Duration::from_secs_f64(cost * most as f64));
            (events, time) = (events + most, time + cost * most as f64);
        }
        assert!(time < 2.0 * 1e-7 * events as f64, "{time}");
    }

    /// Others come and take a processor, and go again.
    #[test]
    fn a_change_of_fortune_is_noticed() {
        let mut pace = Pace::default();
        let mut alone = [0u64; 3];
        for (phase, all) in [6e-8, 2e-6, 6e-8].into_iter().enumerate() {
            let mut events = 0;
            while events < 50_000_000 {
                let (together, most) = pace.next();
                let cost = if together { all } else { 1e-7 };
                pace.took(together, most, Duration::from_secs_f64(cost * most as f64));
                events += most;
                alone[phase] += u64::from(!together) * most;
            }
        }
        assert!(alone[0] < 10_000_000 && alone[1] > 40_000_000 && alone[2] < 25_000_000, "{alone:?}");
    }
}
