//! Synthetic traffic patterns: who sends to whom.
//!
//! No pattern sends a message to its own rank, but where `to_self` or a file asks for it.

pub mod all_to_all;
pub mod bisection;
pub mod bits;
pub mod grid;
pub mod groups;
pub mod hot_spot;
pub mod incast;
pub mod matrix;
pub mod mixed;
pub mod multicast;
pub mod near;
mod pair_files;
pub mod pairs;
pub mod ping_pong;
pub mod random_permutation;
mod rule;
pub mod uniform;

use crate::{
    arrival::Arrival,
    interval::Interval,
    traffic::{Message, Traffic},
    work::{JobContext, Work},
};
use base::{
    index::{Column, RankId},
    param::{Kind, Param, Problem, Value, Values},
    time::Ps,
};
use mixed::{Mix, Mixed};
pub(crate) use rule::{Destinations, TOGETHER, endless_if_zero};
use std::sync::Arc;

/// Messages per rank, shared by the open-loop patterns.
pub(crate) const COUNT: Param = Param {
    name: "count",
    kind: Kind::Int { min: 0, max: u64::MAX },
    default: Some("0"),
    doc: "messages that each rank sends; 0: without end",
};

/// Traffic to oneself, for patterns in which it can occur.
pub(crate) const TO_SELF: Param = Param {
    name: "to_self",
    kind: Kind::Bool,
    default: Some("false"),
    doc: "a rank may send to itself, through its router and back, as in BookSim",
};

/// Open-loop traffic of equal messages: a rule for destinations and a process of arrivals.
struct OpenLoop<D> {
    destinations: D,
    arrival: Arc<dyn Arrival>,
    bytes: u64,
    count: u64,
    offered: f64,
}

impl<D: Destinations> Traffic for OpenLoop<D> {
    fn message(&self, rank: RankId, index: u64, previous: Ps) -> Option<Message> {
        if index >= self.count || self.destinations.silent(rank) {
            return None;
        }
        let time = self.arrival.time(rank, index, previous)?;
        Some(Message { time, destination: self.destinations.destination(rank, index), bytes: self.bytes })
    }

    fn messages(&self, rank: RankId, index: u64, previous: Ps, into: &mut [Message]) -> usize {
        if self.destinations.silent(rank) {
            return 0;
        }
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

    fn reply(&self, _rank: RankId, _source: RankId, _index: u64) -> Option<(RankId, u64)> {
        None
    }

    fn closed_loop(&self) -> bool {
        false
    }

    fn to_itself(&self) -> Option<RankId> {
        self.destinations.to_itself()
    }

    fn total(&self, ranks: u32) -> Option<u64> {
        let senders = RankId::first(ranks).filter(|&rank| !self.destinations.silent(rank)).count() as u64;
        senders.checked_mul(self.count)
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
    let senders = RankId::first(context.ranks).filter(|&rank| !destinations.silent(rank)).count();
    if senders == 0 {
        let message = "no rank has a partner in this pattern: nothing would be sent";
        return Err(vec![Problem::new("ranks", message)]);
    }
    let senders = senders as f64 / f64::from(context.ranks);
    let count = values.int("count");
    if let Some(mix) = Mix::read(context, values)? {
        let (bytes, per) = mix.mean()?;
        let replies = mix.reply.map_or(0.0, |reply| reply as f64 * per as f64 / bytes as f64);
        let closed = mix.outstanding > 0;
        let mut mixed = Mixed::new(context, destinations, mix, count);
        if !closed {
            let (arrival, offered) = context
                .arrivals(bytes, per)
                .map_err(|problems| Mix::name_sizes(problems, bytes, per, values))?;
            (mixed.arrival, mixed.offered) = (Some(arrival), Some(offered * senders * (1.0 + replies)));
        }
        return Ok(Work::Traffic(Arc::new(mixed)));
    }
    let (arrival, offered) = context.arrivals(context.message, 1)?;
    let (count, bytes) = (endless_if_zero(count), context.message);
    let offered = offered * senders;
    Ok(Work::Traffic(Arc::new(OpenLoop { destinations, arrival, bytes, count, offered })))
}

/// Every rank has one partner: what most permutations of the literature are.
pub(crate) struct Partners {
    /// Partner of each rank.
    pub to: Column<RankId, RankId>,
    /// A rank that is its own partner sends to itself; else it sends nothing.
    pub to_self: bool,
}

impl Destinations for Partners {
    #[inline]
    fn destination(&self, rank: RankId, _index: u64) -> RankId {
        self.to[rank]
    }

    #[inline]
    fn silent(&self, rank: RankId) -> bool {
        !self.to_self && self.to[rank] == rank
    }

    fn to_itself(&self) -> Option<RankId> {
        self.to.iter().find(|&(rank, &to)| self.to_self && rank == to).map(|(rank, _)| rank)
    }
}

/// The pattern in which `partner` names every rank's partner: a formula on the plain numbers of ranks.
pub(crate) fn partners(
    context: &JobContext,
    values: &Values,
    partner: impl Fn(u32) -> u32,
) -> Result<Work, Vec<Problem>> {
    let to = (0..context.ranks).map(|rank| RankId::new(partner(rank))).collect();
    let to_self = values.0.get(TO_SELF.name) == Some(&Value::Bool(true));
    open_loop(context, values, Partners { to, to_self })
}
