//! What links carried over time: a frame per tick of the sampler, for the picture of the network that moves.
//!
//! The number of ticks is not always known before, so when there would be too many numbers every other frame is forgotten, and from then on only
//! every other tick is kept. Memory is bounded, and what is left is a sequence of equal intervals.

use base::{index::LinkId, time::Ps};
use results::table::{Cell, Column, Table};
use serde::{Deserialize, Serialize};

/// Most numbers that are kept: 4 MiB of them.
pub const MOST_NUMBERS: u64 = 1 << 19;

/// Most frames, however few links there are.
const MOST_FRAMES: u64 = 256;

/// Fewest frames that are worth keeping.
const FEWEST_FRAMES: u64 = 4;

/// Bytes by link at some ticks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loads {
    /// Links, ascending; known from the first frame on.
    links: Vec<LinkId>,
    /// Time, and bytes that each link had sent until then.
    frames: Vec<(Ps, Vec<u64>)>,
    /// Every tick whose number is a multiple of this is kept.
    stride: u64,
    /// Most frames that are kept.
    most: u64,
}

impl Loads {
    /// None yet, of so many links; `None` if they are too many for even a few frames.
    #[must_use]
    pub fn new(links: u64) -> Option<Self> {
        let most = (MOST_NUMBERS / links.max(1)).min(MOST_FRAMES);
        (most >= FEWEST_FRAMES).then(|| Self { links: Vec::new(), frames: Vec::new(), stride: 1, most })
    }

    /// True if the tick with this number, counted from 1, is kept.
    #[must_use]
    pub fn wants(&self, tick: u64) -> bool {
        tick > 0 && tick.is_multiple_of(self.stride)
    }

    /// Keeps a frame: bytes of all links, in any order.
    pub fn keep(&mut self, time: Ps, mut carried: Vec<(LinkId, u64)>) {
        carried.sort_unstable();
        if self.links.is_empty() {
            self.links = carried.iter().map(|c| c.0).collect();
        }
        debug_assert!(self.links.iter().eq(carried.iter().map(|c| &c.0)), "the same links each time");
        debug_assert!(self.frames.last().is_none_or(|last| last.0 < time), "frames follow each other");
        self.frames.push((time, carried.into_iter().map(|c| c.1).collect()));
        if self.frames.len() as u64 > self.most {
            // Frames stand at ticks stride, 2 stride, ..: those at even multiples stay.
            let mut number = 0;
            self.frames.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.stride *= 2;
        }
    }

    /// The table `loads`: what each link carried between two frames, without links that carried nothing. `last` is what all had carried at the
    /// end of the run.
    #[must_use]
    pub fn table(&self, simulated: Ps, last: impl Fn(LinkId) -> u64) -> Table {
        let mut table = Table::new("loads")
            .with("time_ps", Column::u64s())
            .with("until_ps", Column::u64s())
            .with("link", Column::u32s())
            .with("bytes", Column::u64s());
        let mut before = (0, vec![0; self.links.len()]);
        let end = self.links.iter().map(|&link| last(link)).collect();
        let within = self.frames.iter().filter(|f| f.0 < simulated).cloned();
        for (time, frame) in within.chain([(simulated, end)]) {
            for ((link, &now), then) in self.links.iter().zip(&frame).zip(&before.1) {
                if now > *then {
                    let bytes = Cell::U64(now - then);
                    table.push(&[Cell::U64(before.0), Cell::U64(time), Cell::U32(link.number()), bytes]);
                }
            }
            before = (time, frame);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(bytes: u64) -> Vec<(LinkId, u64)> {
        [3, 1].into_iter().map(|n| (LinkId::new(n), bytes * u64::from(n))).collect()
    }

    #[test]
    fn intervals_stay_equal_and_few() {
        let mut loads = Loads::new(2).expect("two links are few");
        for tick in 1..=1000 {
            if loads.wants(tick) {
                loads.keep(tick * 10, frame(tick));
            }
        }
        assert!(loads.frames.len() as u64 <= MOST_FRAMES && loads.stride == 4);
        let times: Vec<Ps> = loads.frames.iter().map(|f| f.0).collect();
        assert!(times.windows(2).all(|w| w[1] - w[0] == 40) && times[0] == 40);
        // The page and its document name this bound.
        assert!(Loads::new(131_072).is_some() && Loads::new(131_073).is_none());
    }

    #[test]
    fn what_all_frames_carried_is_what_was_carried() {
        let mut loads = Loads::new(2).expect("two links are few");
        (1..=5).for_each(|tick| loads.keep(tick * 10, frame(tick)));
        let table = loads.table(57, |link| if link == LinkId::new(1) { 6 } else { 15 });
        let Some(Column::U64(bytes)) = table.column("bytes") else { panic!("bytes") };
        // Five intervals of both links, and the last of the one that still sent.
        assert_eq!((table.rows(), bytes.iter().sum::<u64>()), (11, 21));
    }
}
