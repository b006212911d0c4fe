//! What ranks do, whatever network is below: the operations that are not yet finished ([`window`]) and the matching of messages with
//! receives ([`matching`]), whose state lies in engine tables; what travels beside a message ([`envelope`]); the table of what was done
//! ([`operations`]).

pub mod envelope;
pub mod heap;
pub mod matching;
pub mod operations;
pub(crate) mod params;
pub mod window;

use workload::program::{ANY_SOURCE, ANY_TAG};

/// The other rank of an operation, for people.
#[must_use]
pub fn peer(rank: u32) -> String {
    if rank == ANY_SOURCE { "any rank".to_owned() } else { format!("rank {rank}") }
}

/// The tag of an operation, for people.
#[must_use]
pub fn tag(tag: u32) -> String {
    if tag == ANY_TAG { "any tag".to_owned() } else { format!("tag {tag}") }
}
