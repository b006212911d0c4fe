//! Synthetic traffic patterns: who sends to whom.
//!
//! No pattern ever sends a message to its own rank, but for pairs from a file.

pub mod all_to_all;
pub mod bisection;
pub mod pairs;
pub mod ping_pong;
pub mod random_permutation;
pub mod uniform;

use crate::{
    arrival::Arrival,
    interval::Interval,
    traffic::{Message, Traffic},
    work::{JobContext, Work},
};
use base::{
    param::{Kind, Param, Problem, Values},
    time::Ps,
};
use std::sync::Arc;

/// Messages per rank, shared by the open-loop patterns.
pub(crate) const COUNT: Param = Param {
    name: "count",
    kind: Kind::Int { min: 0, max: u64::MAX },
    default: Some("0"),
    doc: "messages that each rank sends; 0: without end",
};

/// A rule that names the destination of every message of every rank.
pub(crate) trait Destinations: Send + Sync {
    /// Destination of the `index`-th message of `rank`: a pure function, never `rank` itself.
    fn destination(&self, rank: u32, index: u64) -> u32;

    /// Destinations of the messages of `rank` from the `index`-th on.
    fn destinations(&self, rank: u32, index: u64) -> [u32; TOGETHER] {
        std::array::from_fn(|i| self.destination(rank, index.wrapping_add(i as u64)))
    }
}

/// Destinations that are worth drawing together.
pub(crate) const TOGETHER: usize = 8;

/// Open-loop traffic of equal messages: a rule for destinations and a process of arrivals.
struct OpenLoop<D> {
    destinations: D,
    arrival: Arc<dyn Arrival>,
    bytes: u64,
    count: u64,
    offered: f64,
}

impl<D: Destinations> Traffic for OpenLoop<D> {
    fn message(&self, rank: u32, index: u64, previous: Ps) -> Option<Message> {
        if index >= self.count {
            return None;
        }
        let time = self.arrival.time(rank, index, previous)?;
        Some(Message { time, destination: self.destinations.destination(rank, index), bytes: self.bytes })
    }

    fn messages(&self, rank: u32, index: u64, previous: Ps, into: &mut [Message]) -> usize {
        let (mut index, mut previous, mut done) = (index, previous, 0);
        for chunk in into.chunks_mut(TOGETHER) {
            let wanted =
                chunk.len().min(usize::try_from(self.count.saturating_sub(index)).unwrap_or(usize::MAX));
            let mut times = [0; TOGETHER];
            let found = self.arrival.times(rank, index, previous, &mut times[..wanted]);
            let drawn = self.destinations.destinations(rank, index);
            for (slot, (&time, destination)) in chunk.iter_mut().zip(times[..found].iter().zip(drawn)) {
                *slot = Message { time, destination, bytes: self.bytes };
            }
            (index, done) = (index + found as u64, done + found);
            match times[..found].last() {
                Some(&last) if found == chunk.len() => previous = last,
                _ => break,
            }
        }
        done
    }

    fn reply(&self, _rank: u32, _source: u32, _index: u64) -> Option<(u32, u64)> {
        None
    }

    fn closed_loop(&self) -> bool {
        false
    }

    fn offered_bytes_per_s(&self) -> Option<f64> {
        Some(self.offered)
    }

    fn period(&self) -> Option<Interval> {
        self.arrival.period()
    }
}

/// Builds open-loop traffic; `values` must hold [`COUNT`].
pub(crate) fn open_loop<D: Destinations + 'static>(
    context: &JobContext,
    values: &Values,
    destinations: D,
) -> Result<Work, Vec<Problem>> {
    let (arrival, offered) = context.arrivals(context.message)?;
    let count = endless_if_zero(values.int("count"));
    let bytes = context.message;
    Ok(Work::Traffic(Arc::new(OpenLoop { destinations, arrival, bytes, count, offered })))
}

/// A number of messages or bursts, where 0 stands for no end.
pub(crate) fn endless_if_zero(count: u64) -> u64 {
    if count == 0 { u64::MAX } else { count }
}
