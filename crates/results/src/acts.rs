//! What ranks do and when, for time lines of other programs: made from the tables `operations` (what each rank computed and when) and `transfers`
//! (when each message was sent and there, and over how many links where the model knows it).

use crate::table::{Table, TextColumn};
use std::collections::BTreeMap;

/// What a rank does at a time; at one time in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Act {
    /// A computation is over.
    EndCompute,
    /// A message has arrived.
    Receive { peer: u32, bytes: u64, transfer: u64, hops: Option<u64> },
    /// A message leaves.
    Send { peer: u32, bytes: u64, transfer: u64, hops: Option<u64> },
    /// A computation begins.
    Compute,
}

/// By job (its code in the tables) and rank, what happens when.
pub(crate) type Acts = BTreeMap<(u32, u32), Vec<(u64, Act)>>;

/// Acts by job and rank. Computations of several processors of a rank that overlap are drawn one after the other.
pub(crate) fn acts(operations: &Table, transfers: &Table) -> Option<Acts> {
    let mut all = Acts::new();
    let (jobs, ranks, kinds) =
        (operations.text_column("job")?, operations.u32_column("rank")?, operations.text_column("kind")?);
    let (starts, ends) = (operations.u64_column("start_ps")?, operations.u64_column("end_ps")?);
    for (i, kind) in kinds.iter().enumerate() {
        let list = all.entry((jobs.codes()[i], ranks[i])).or_default();
        if kind == "calc" && ends[i] > starts[i] {
            list.push((starts[i], Act::Compute));
            list.push((ends[i], Act::EndCompute));
        }
    }
    let codes = codes(transfers.text_column("job")?, jobs);
    let (from, to) = (transfers.u32_column("source")?, transfers.u32_column("destination")?);
    let hops = transfers.u32_column("hops");
    let (sent, arrived) = (transfers.u64_column("sent_ps")?, transfers.u64_column("arrived_ps")?);
    let (times, sizes) = (transfers.u64_column("transfer_ps")?, transfers.u64_column("bytes")?);
    for (i, &job) in codes.iter().enumerate() {
        let (bytes, transfer, hops) = (sizes[i], times[i], hops.map(|h| h[i].into()));
        let send = Act::Send { peer: to[i], bytes, transfer, hops };
        let receive = Act::Receive { peer: from[i], bytes, transfer, hops };
        all.entry((job, from[i])).or_default().push((sent[i], send));
        all.entry((job, to[i])).or_default().push((arrived[i], receive));
    }
    all.values_mut().for_each(|list| list.sort_unstable());
    Some(all)
}

/// What `column` says, in the codes of `of`: tables number their words by themselves. A word that `of` lacks is no job of a rank.
pub(crate) fn codes(column: &TextColumn, of: &TextColumn) -> Vec<u32> {
    let code = |word: &String| of.words().iter().position(|w| w == word).map_or(u32::MAX, |at| at as u32);
    let codes: Vec<u32> = column.words().iter().map(code).collect();
    column.codes().iter().map(|&own| codes[own as usize]).collect()
}
