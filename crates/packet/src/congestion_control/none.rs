//! No control: the same adapters and statistics, nothing marked. What others are compared with.

use super::scheme::{Gauge, Mark, Pace, Scheme, SchemeEntry, Seen, Sent, WHOLE};
use base::{registry::About, time::Ps};
use std::sync::Arc;

/// The scheme `none`.
pub const ENTRY: SchemeEntry = SchemeEntry {
    about: About {
        name: "none",
        summary: "nothing is marked: what the others are compared with",
        doc: "Terminals queue messages by destination and give the same statistics by job as with other schemes, but no packet is marked and no source slows down.",
        source: "",
        params: &[],
    },
    build: |_, _| Ok(Arc::new(Uncontrolled)),
};

/// A scheme that marks nothing.
#[derive(Clone, Copy, Debug)]
struct Uncontrolled;

impl Scheme for Uncontrolled {
    fn is_marking(&self) -> bool {
        false
    }

    fn reach(&self, _: u64) -> u64 {
        0
    }

    fn mark(&self, _: &Seen) -> Mark {
        Mark::Clear
    }

    fn notified(&self, _: &mut Pace, _: Ps) {
        unreachable!("nobody is notified where nothing is marked");
    }

    fn sent(&self, _: &mut Pace, sent: Sent) -> Ps {
        sent.own
    }

    fn gauge(&self, _: &Pace, _: Ps) -> Gauge {
        Gauge { rate: WHOLE, level: 0 }
    }

    fn is_recovered(&self, _: &Pace, _: Ps) -> bool {
        true
    }
}
