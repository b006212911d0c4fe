//! A traffic pattern: every rank sends to the one so many ranks further.

use netloom::{
    base::{
        index::RankId,
        param::{Kind, Param, Problem, Values},
        registry::About,
        time::Ps,
    },
    workload::{
        arrival::{Arrival, ArrivalContext},
        registry::{JobContext, Takes, Work, WorkloadEntry},
        traffic::{Message, Traffic},
    },
};
use std::sync::Arc;

/// The entry.
pub static SHIFT: WorkloadEntry = WorkloadEntry {
    about: About {
        name: "shift",
        summary: "rank i to rank i + distance (mod n)",
        doc: "An open-loop pattern with one partner.",
        source: "an example",
        params: &[Param {
            name: "distance",
            kind: Kind::Int { min: 1, max: u32::MAX as u64 },
            default: Some("1"),
            doc: "How many ranks further the destination is; no multiple of their number.",
        }],
    },
    build,
    takes: Takes::Arrivals,
};

/// Equal messages to one partner, at the times of an arrival process.
struct Shift {
    ranks: u32,
    distance: u32,
    bytes: u64,
    arrival: Arc<dyn Arrival>,
    offered: f64,
}

fn build(context: &JobContext, values: &Values) -> Result<Work, Vec<Problem>> {
    let distance = values.u32("distance") % context.ranks;
    if distance == 0 {
        return Err(vec![Problem::new("distance", "every rank would send to itself")]);
    }
    let Some(chosen) = &context.arrival else {
        return Err(vec![Problem::new("load", "this workload needs a load").help("add `load = 0.5`")]);
    };
    let at = ArrivalContext {
        seed: context.seed,
        job: context.job,
        load: chosen.load,
        bandwidth: chosen.bandwidth,
        bytes: context.message,
        per: 1,
    };
    let arrival = (chosen.entry.build)(&at, &chosen.values)?;
    let offered = chosen.load * chosen.bandwidth.bytes_per_s();
    let (ranks, bytes) = (context.ranks, context.message);
    Ok(Work::Traffic(Arc::new(Shift { ranks, distance, bytes, arrival, offered })))
}

impl Traffic for Shift {
    fn message(&self, rank: RankId, index: u64, previous: Ps) -> Option<Message> {
        let time = self.arrival.time(rank, index, previous)?;
        let destination = RankId::new((rank.number() + self.distance) % self.ranks);
        Some(Message { time, destination, bytes: self.bytes })
    }

    fn reply(&self, _rank: RankId, _source: RankId, _index: u64) -> Option<(RankId, u64)> {
        None
    }

    fn closed_loop(&self) -> bool {
        false
    }

    fn offered_bytes_per_s(&self) -> Option<f64> {
        Some(self.offered)
    }
}
