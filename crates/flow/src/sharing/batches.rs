//! Shares that are found for several ends and beginnings at once.
//!
//! Whoever is over is over at its own instant; what changes late are the shares of the others. An end acts at most `accuracy` of the flow's age
//! late, a beginning at most `accuracy` of what the flow would take alone. So the first of a batch says when its shares are found, and all that
//! happens until then is in it.

use super::{Delays, FineTime, Flow, Sharing};

impl Sharing {
    /// Ends and beginnings may act late: see [`Delays::accuracy`].
    pub fn set_accuracy(&mut self, accuracy: f64) {
        debug_assert!((0.0..1.0).contains(&accuracy), "an accuracy is a part of a time");
        self.delays.accuracy = accuracy;
        self.delays.by_width = [accuracy; 2];
    }

    /// Another accuracy that holds while divided flows under way take more than so many links, each counted for each of them: a solution then costs as
    /// much as they are.
    pub fn set_accuracy_when_wide(&mut self, accuracy: f64, links: u64) {
        debug_assert!((0.0..1.0).contains(&accuracy), "an accuracy is a part of a time");
        self.delays.by_width[1] = accuracy;
        self.delays.most = links;
    }

    /// Counts a bundle that joins the links of its route, or leaves them, if it is divided.
    pub(super) fn count_divided(&mut self, route: u32, joins: bool) {
        let route = &self.routes[route as usize];
        if !route.parts.is_empty() {
            let links = route.uses.len() as u64;
            debug_assert!(joins || self.delays.links >= links, "a bundle leaves where it joined");
            let all = &mut self.delays.links;
            *all = if joins { *all + links } else { all.saturating_sub(links) };
        }
    }

    /// How late ends and beginnings acted.
    #[must_use]
    pub fn delays(&self) -> &Delays {
        &self.delays
    }

    /// When shares are found for what waits.
    pub(super) fn due(&self) -> FineTime {
        self.delays.due.map_or(FineTime::NEVER, |d| d.0)
    }

    /// Something happened that may act so many seconds times the accuracy late.
    fn wait(&mut self, at: FineTime, seconds: f64) {
        let b = &mut self.delays;
        b.happened += 1;
        let latest = at.after(b.accuracy * seconds);
        b.due = Some(b.due.map_or((latest, at), |(due, since)| (due.min(latest), since)));
    }

    /// A flow of a bundle is over, others may go on at the share that they have.
    pub(super) fn ended_late(&mut self, bundle: u32, flow: u32, at: FineTime) {
        if self.delays.accuracy > 0.0 {
            // Who was alone leaves nothing to others.
            if !self.bundles[bundle as usize].detached {
                let begun = FineTime::at(self.flows[flow as usize].begun);
                self.wait(at, at.since(begun));
            }
            self.set_alarm(bundle, at);
        }
    }

    /// A flow joined a bundle, whose share is the same until the next solution.
    pub(super) fn joined_late(&mut self, bundle: u32, flow: u32, at: FineTime) {
        if self.delays.accuracy > 0.0 && !self.bundles[bundle as usize].detached {
            let Flow { begun, work, route, cap, .. } = self.flows[flow as usize];
            let rate = self.bandwidths(&self.routes[route as usize]).fold(cap, f64::min);
            self.wait(at, at.since(FineTime::at(begun)) + if rate > 0.0 { work / rate } else { 0.0 });
            self.set_alarm(bundle, at);
        }
    }

    /// Sets a bundle's alarm by the share that it has.
    fn set_alarm(&mut self, bundle: u32, at: FineTime) {
        self.touch(bundle, at);
        let next = self.next_end(bundle, at);
        self.alarms.set(bundle, next);
    }

    /// True if shares must be found at an instant that ends with a window.
    pub(super) fn is_due(&self, window: FineTime) -> bool {
        self.delays.accuracy == 0.0 || self.due() <= window
    }

    /// Those alone on their links have their shares, the others wait.
    pub(super) fn share_those_alone(&mut self, at: FineTime) {
        self.moved.clear();
        self.share_detached(at);
        self.alarms.set_many(&self.moved);
    }

    /// Shares are found at a moment, for whatever reason: nothing waits.
    pub(super) fn nothing_waits(&mut self, at: FineTime) {
        let d = &mut self.delays;
        if let Some((due, since)) = d.due.take() {
            // What the last flow left behind touched nobody after it was due, however late the next flow comes.
            d.longest = d.longest.max(at.min(due).since(since));
        }
        d.solutions += 1;
        // Nothing waits here, so what may wait can change.
        d.accuracy = d.by_width[usize::from(d.links > d.most)];
    }
}
