//! What a host does next, as calendars and agendas keep it.

use base::time::Ps;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// What can happen next at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum What {
    Calc {
        cpu: u8,
    },
    Recv {
        cpu: u8,
    },
    Send {
        cpu: u8,
        nic: u8,
    },
    Ready {
        cpu: u8,
        nic: u8,
    },
    Arrival,
    /// The end of the slice of what is in hand.
    Slice,
}

/// What a host does next, until it is found out anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub time: Ps,
    /// Count over all ranks.
    pub created: u64,
    pub host: u32,
    /// The host's looks when this was found: void if there were more since.
    pub looks: u32,
    pub row: u32,
    pub what: What,
}

/// The earliest is the greatest, as the library's heap wants it.
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.created).cmp(&(self.time, self.created))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
