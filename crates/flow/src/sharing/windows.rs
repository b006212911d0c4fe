//! What was used of each link, by windows of time and over the whole run.

use super::{FineTime, Sharing, Use, meter};

impl Sharing {
    /// Ends all windows of link use that end at a moment or before.
    pub fn close_windows(&mut self, at: FineTime) {
        let Some((length, mut number)) = self.window else { return };
        while FineTime::at(length.saturating_mul(number + 1)) <= at
            && (self.active > 0 || self.dirty_window())
        {
            let end = FineTime::at(length * (number + 1));
            // Use is counted up to the border before the window is written: what lies across it belongs to both in proportion.
            self.flush(end);
            self.report(number);
            number += 1;
        }
        if self.active == 0 {
            // Nothing was used since: windows without use are left out.
            number = number.max((at.exact_ps() / length as f64) as u64);
        }
        self.window = Some((length, number));
    }

    /// Something was used since the last window ended.
    fn dirty_window(&self) -> bool {
        self.used != self.before
    }

    fn report(&mut self, window: u64) {
        let grows = self.used.iter().zip(&self.before).all(|(now, then)| now >= then);
        debug_assert!(grows, "what was used of a link does not become less");
        let pairs = self.used.iter().zip(&self.before).enumerate();
        let links: Vec<(u32, f64)> = pairs
            .filter(|(_, (now, then))| now > then)
            .map(|(l, (now, then))| (l as u32, now - then))
            .collect();
        self.before.copy_from_slice(&self.used);
        if !links.is_empty() {
            self.uses.push(Use { window, links });
        }
    }

    /// Counts the use of links up to a moment.
    fn flush(&mut self, at: FineTime) {
        for bundle in 0..self.bundles.len() as u32 {
            if !self.bundles[bundle as usize].goals.is_empty() {
                self.touch(bundle, at);
            }
        }
    }

    /// Ends the measurement at a moment; what was used of each link, in bytes. To be called once.
    pub fn finish(&mut self, at: FineTime) -> &[f64] {
        self.close_windows(at);
        self.flush(at);
        if let Some((_, number)) = self.window {
            self.report(number);
        } else {
            for b in &self.bundles {
                for goal in &b.goals {
                    let done = self.flows[goal.0.flow as usize].work - (goal.0.clock - b.clock);
                    meter(&mut self.used, &self.routes[b.route as usize], done.max(0.0));
                }
            }
        }
        &self.used
    }
}
