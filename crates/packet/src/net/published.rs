//! Queues as they were published: two pages for each output.

use crate::places::LocalPort;
use base::time::Ps;
use engine::state::{Table, mode::Mode};
use serde::{Deserialize, Serialize};

/// Chunks behind an output at the last two publications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// What routings see.
    pub seen: u32,
    /// What they will see next.
    pub made: u32,
}

/// Publications by port.
#[derive(Clone, PartialEq)]
pub struct Published<M: Mode> {
    /// By port; empty if the routing reads none.
    pub pages: Table<Page, M, LocalPort>,
    /// One row: instant of the next publication, 0 while asleep.
    pub next: Table<Ps, M>,
}

impl<M: Mode> Published<M> {
    /// Nothing published yet; `ports` is 0 if nobody reads.
    #[must_use]
    pub fn new(ports: usize) -> Self {
        Self { pages: Table::new(ports, Page::default()), next: Table::new(1, 0) }
    }

    /// Backlog of local port `u` as seen now, in chunks.
    #[must_use]
    pub fn seen(&self, u: LocalPort) -> u32 {
        self.pages.rows().get(u.index()).map_or(0, |p| p.seen)
    }
}
