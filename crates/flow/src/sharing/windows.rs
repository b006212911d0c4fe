//! Windows of link use: when they end, and what flows under way have used by then.

use super::{FineTime, Ps, Sharing};

impl Sharing {
    /// Ends all windows of link use that end at a moment or before.
    #[inline]
    pub fn close_windows(&mut self, at: FineTime) {
        if let Some((length, number)) = self.usage.window {
            self.close_from(number, length, at);
        }
    }

    #[inline(never)]
    fn close_from(&mut self, mut number: u64, length: Ps, at: FineTime) {
        while FineTime::at(length.saturating_mul(number + 1)) <= at
            && (self.active > 0 || self.usage.has_more())
        {
            let end = FineTime::at(length * (number + 1));
            // Use is counted up to the border before the window is written: what lies across it belongs to both in proportion.
            self.count_up_to(end);
            self.usage.report(number);
            number += 1;
        }
        if self.active == 0 {
            // Nothing was used since: windows without use are left out.
            number = number.max((at.exact_ps() / length as f64) as u64);
        }
        self.usage.window = Some((length, number));
    }

    /// Counts the use of links by flows that are under way, up to a moment. No clock is brought there: what is measured changes nothing, not by rounding.
    fn count_up_to(&mut self, at: FineTime) {
        for b in &self.bundles {
            let clock = b.clock + b.share * at.since(b.since);
            for goal in &b.goals {
                let done = self.flows[goal.0.flow as usize].work - (goal.0.clock - clock);
                self.usage.count(goal.0.flow, self.routes[b.route as usize].used(), done.max(0.0));
            }
        }
    }

    /// Flows under way that get nothing, and those whose share would take them beyond the last instant of virtual time. To be called where nothing
    /// happens any more.
    #[must_use]
    pub fn endless(&self) -> (u64, u64) {
        let still = self.bundles.iter().filter(|b| b.share <= 0.0).map(|b| b.goals.len() as u64).sum();
        debug_assert!(still <= self.active, "who gets nothing is under way");
        (still, self.active - still)
    }

    /// What is left of the work of each flow under way at a moment, with its tag: at the shares of now.
    pub fn left(&self, at: FineTime) -> impl Iterator<Item = (u32, f64)> {
        let latent = self.latent.iter().map(|l| &self.flows[l.0.flow as usize]).map(|f| (f.tag, f.work));
        let sharing = self.bundles.iter().flat_map(move |b| {
            let clock = b.clock + b.share * at.since(b.since);
            let left = move |clock_at_end: f64| (clock_at_end - clock).max(0.0);
            b.goals.iter().map(move |g| (self.flows[g.0.flow as usize].tag, left(g.0.clock)))
        });
        latent.chain(sharing)
    }

    /// Ends the measurement at a moment; what was used of each link, in bytes. To be called once.
    pub fn finish(&mut self, at: FineTime) -> &[f64] {
        self.close_windows(at);
        self.count_up_to(at);
        if let Some((_, number)) = self.usage.window {
            self.usage.report(number);
        }
        &self.usage.bytes
    }
}
