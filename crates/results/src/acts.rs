//! What ranks do and when, for time lines of other programs: made from the tables `operations` (what each rank computed and when), `transfers`
//! (when each message was sent and there, and over how many links where the model knows it) and `markers` (what programs mark).

use crate::{
    marks::Marks,
    table::{Table, codes},
};
use base::sorted::SortedMap;

/// What a rank does at a time; at one time in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Act {
    /// A computation is over.
    EndCompute,
    /// A message has arrived.
    Receive { peer: u32, bytes: u64, transfer: u64, hops: Option<u64> },
    /// Something is marked: an instant, or the beginning or end of a region, by its row in the table of markers. Rows keep their order.
    Mark { row: usize },
    /// A message leaves.
    Send { peer: u32, bytes: u64, transfer: u64, hops: Option<u64> },
    /// A computation begins.
    Compute,
}

/// By job (its code in the tables) and rank, what happens when.
pub(crate) type Acts = SortedMap<(u32, u32), Vec<(u64, Act)>>;

/// Acts by job and rank, with its messages. Computations of several processors of a rank that overlap are drawn one after the other.
pub(crate) fn acts(operations: &Table, transfers: &Table, marks: Option<&Marks<'_>>) -> Option<Acts> {
    let mut all = alone(operations, marks)?;
    let jobs = operations.text_column("job")?;
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

/// The same without messages.
pub(crate) fn alone(operations: &Table, marks: Option<&Marks<'_>>) -> Option<Acts> {
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
    for (row, (rank, time)) in marks.into_iter().flat_map(Marks::places).enumerate() {
        all.entry(rank).or_default().push((time, Act::Mark { row }));
    }
    all.values_mut().for_each(|list| list.sort_unstable());
    Some(all)
}
