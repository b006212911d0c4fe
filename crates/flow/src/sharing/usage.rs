//! What was used of each link, by windows of time and over the whole run.
//!
//! A flow's bytes are counted on the links of its route when it is over, all at once: what was counted at the ends of windows before is left out then.
//! A share that changes costs nothing here.

use base::time::Ps;

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
    pub(super) bytes: Vec<f64>,
    /// The same when the last window ended.
    before: Vec<f64>,
    /// Length of a window, and the number of the present one.
    pub(super) window: Option<(Ps, u64)>,
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

    /// So much of a flow's work is done: what is new of it was used of its links, each with the part of the work that crosses it.
    pub(super) fn count<'a>(&mut self, flow: u32, links: impl Iterator<Item = &'a (u32, f64)>, done: f64) {
        let counted =
            self.counted.get_mut(flow as usize).map_or(0.0, |counted| std::mem::replace(counted, done));
        // Rounding may take back what it gave before.
        let bytes = (done - counted).max(0.0);
        for &(link, usage) in links {
            self.bytes[link as usize] += bytes * usage;
        }
    }

    /// Something was used since the last window ended.
    pub(super) fn has_more(&self) -> bool {
        self.bytes != self.before
    }

    /// Ends a window.
    pub(super) fn report(&mut self, window: u64) {
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
