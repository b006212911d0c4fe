//! Where ranks that do not agree on their collectives part: two of them are read once more.

use super::{
    agreement::{Agreed, Agreement},
    cursor::Lowering,
    shared::Shared,
};
use crate::program::{Batch, Cursor, Damage};
use base::index::RankId;
use std::sync::Arc;

/// Where ranks that have come to the end of their calls part, in words.
pub(super) fn found(shared: &Arc<Shared>) -> Option<String> {
    parted(
        &shared.agreement,
        |rank, comm| {
            let mut reader = Reader::new(Lowering::watching(shared, rank, comm));
            std::iter::from_fn(move || reader.next().ok().flatten())
        },
        |rank, position| shared.script.describe(rank, position),
    )
}

/// The same of whatever says what a rank calls on a communicator, and what a position stands for.
pub(super) fn parted<I: Iterator<Item = Agreed>>(
    agreement: &Agreement,
    calls: impl Fn(RankId, u32) -> I,
    describe: impl Fn(RankId, u32) -> String,
) -> Option<String> {
    let (comm, ranks) = agreement.parted()?;
    let mut readers = ranks.map(|rank| calls(rank, comm));
    let place = |rank: RankId, call: Option<Agreed>| match call {
        Some(call) => format!("rank {rank} calls {call} ({})", describe(rank, call.position)),
        None => format!("rank {rank} calls no more"),
    };
    let mut number = 1u64;
    loop {
        let calls = readers.each_mut().map(Iterator::next);
        match calls {
            [Some(a), Some(b)] if a.agrees(&b) => number += 1,
            [None, None] => return None,
            [a, b] => {
                let (a, b) = (place(ranks[0], a), place(ranks[1], b));
                return Some(format!(
                    "collective {number} of a communicator is not the same at all ranks: {a}, {b}"
                ));
            }
        }
    }
}

/// Reads a rank's calls once more, collectives alone.
struct Reader {
    lowering: Lowering,
    batch: Batch,
}

impl Reader {
    fn new(lowering: Lowering) -> Self {
        Self { lowering, batch: Batch::default() }
    }

    /// The next collective on the communicator; `None` at the end.
    fn next(&mut self) -> Result<Option<Agreed>, Damage> {
        loop {
            if let Some(call) = self.lowering.watched() {
                return Ok(Some(call));
            }
            self.batch.clear();
            self.lowering.fill(&mut self.batch)?;
            if self.batch.ops.is_empty() {
                return Ok(self.lowering.watched());
            }
        }
    }
}
