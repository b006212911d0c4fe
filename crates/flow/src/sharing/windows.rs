//! What was used of each link, by windows of time and over the whole run.
//!
//! A flow's bytes are counted on the links of its route when it is over, all at once: what was counted at the ends of windows before is left out then.
//! A share that changes costs nothing here.

use super::{FineTime, Ps, Route, Sharing};

/// Use of all links in a window of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Use {
    /// Number of the window.
    pub window: u64,
    /// Link and what was used of it, in bytes; unused links are left out.
    pub links: Vec<(u32, f64)>,
}

/// What was used of links so far.
#[derive(Debug)]
pub struct Usage {
    /// Of each link, in bytes.
    bytes: Vec<f64>,
    /// The same when the last window ended.
    before: Vec<f64>,
    /// Length of a window, and the number of the present one.
    window: Option<(Ps, u64)>,
    /// What windows that ended counted of each flow's work, by the flow's number; empty without windows.
    counted: Vec<f64>,
    /// Use by window.
    pub by_window: Vec<Use>,
}

impl Usage {
    /// Nothing is used yet. `window` is the length of a window; 0 for none.
    pub(super) fn new(window: Ps) -> Self {
        Self {
            bytes: Vec::new(),
            before: Vec::new(),
            window: (window > 0).then_some((window, 0)),
            counted: Vec::new(),
            by_window: Vec::new(),
        }
    }

    /// There is a link more.
    pub(super) fn link(&mut self) {
        self.bytes.push(0.0);
        self.before.push(0.0);
    }

    /// A flow has all of its work before it.
    pub(super) fn begins(&mut self, flow: u32) {
        if self.window.is_some() {
            self.counted.resize(self.counted.len().max(flow as usize + 1), 0.0);
            self.counted[flow as usize] = 0.0;
        }
    }

    /// So much of a flow's work is done: what is new of it was used of the links of its route.
    pub(super) fn count(&mut self, flow: u32, route: &Route, done: f64) {
        let counted =
            self.counted.get_mut(flow as usize).map_or(0.0, |counted| std::mem::replace(counted, done));
        // Rounding may take back what it gave before.
        let bytes = (done - counted).max(0.0);
        for &(link, usage) in route.uses.iter().chain(&route.pipes) {
            self.bytes[link as usize] += bytes * usage;
        }
    }

    /// Something was used since the last window ended.
    fn has_more(&self) -> bool {
        self.bytes != self.before
    }

    fn report(&mut self, window: u64) {
        debug_assert!(
            self.bytes.iter().zip(&self.before).all(|(now, then)| now >= then),
            "use does not become less"
        );
        let pairs = self.bytes.iter().zip(&self.before).enumerate();
        let links: Vec<(u32, f64)> = pairs
            .filter(|(_, (now, then))| now > then)
            .map(|(l, (now, then))| (l as u32, now - then))
            .collect();
        self.before.copy_from_slice(&self.bytes);
        if !links.is_empty() {
            self.by_window.push(Use { window, links });
        }
    }
}

impl Sharing {
    /// Ends all windows of link use that end at a moment or before.
    pub fn close_windows(&mut self, at: FineTime) {
        let Some((length, mut number)) = self.usage.window else { return };
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
                self.usage.count(goal.0.flow, &self.routes[b.route as usize], done.max(0.0));
            }
        }
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
