//! What an archive says of the messages of each rank, in the order in which the rank sent, received and waited.
//!
//! A call that blocks is one record, as tracers write it; of others the beginning is a record and the end is one. Tags are 0 where the messages of two ranks are received in
//! the order in which they were sent. Else they are numbered, so that a replay gives each receive the message that it took.

use crate::table::{Table, TextColumn, codes};
use base::sorted::SortedMap;
use otf2::EventKind;

/// How a send completes: as MPI may choose,
pub const STANDARD: u32 = 0;
/// when its receive is there,
pub const SYNCHRONOUS: u32 = 1;
/// or at once.
pub const BUFFERED: u32 = 2;

/// Functions whose names say how a send completes: a pair for each mode but the standard one, the second of which does not block.
pub(crate) const FUNCTIONS: [&str; 4] = ["MPI_Ssend", "MPI_Issend", "MPI_Bsend", "MPI_Ibsend"];
/// Region of the first.
pub(crate) const FUNCTION: u32 = 2;

/// A record of a message.
pub(crate) struct Record {
    pub(crate) time: u64,
    pub(crate) kind: EventKind,
    /// Something ends with it, so that it stands before what begins at the same time.
    pub(crate) ends: bool,
    /// Time of the transfer in picoseconds, and its links if they are known; not with ends of sends and beginnings of receives.
    pub(crate) transfer: Option<(u64, Option<u64>)>,
    /// Region of the function that is called, where that says how a send completes.
    pub(crate) function: Option<u32>,
}

/// Job and rank.
type Place = (u32, u32);
/// Job, rank and number of an operation.
type Key = (u32, u32, u32);

/// The columns of a table of transfers.
struct Messages<'a> {
    jobs: Vec<u32>,
    from: &'a [u32],
    to: &'a [u32],
    bytes: &'a [u64],
    times: &'a [u64],
    hops: Option<&'a [u32]>,
    /// Rows by their sends and by their receives.
    sends: SortedMap<Key, usize>,
    receives: SortedMap<Key, usize>,
}

/// The columns of a table of orders.
struct Steps<'a> {
    places: Vec<Place>,
    numbers: &'a [u32],
    ends: &'a [u32],
    times: &'a [u64],
    modes: &'a [u32],
}

/// The records of each rank; jobs are numbered as `jobs` has them. `None` if these are not the tables it is made of.
pub(crate) fn records(
    order: &Table,
    transfers: &Table,
    jobs: &TextColumn,
) -> Option<SortedMap<Place, Vec<Record>>> {
    let (messages, steps) = (Messages::of(transfers, jobs)?, Steps::of(order, jobs)?);
    let tags = messages.tags(&steps);
    let mut all = SortedMap::<Place, Vec<Record>>::new();
    for row in 0..steps.places.len() {
        if let Some(record) = messages.record(&steps, row, &tags) {
            all.entry(steps.places[row]).or_default().push(record);
        }
    }
    debug_assert!(all.values().all(|list| list.is_sorted_by_key(|r| r.time)), "a rank's time goes forwards");
    Some(all)
}

impl<'a> Steps<'a> {
    fn of(order: &'a Table, jobs: &TextColumn) -> Option<Self> {
        let jobs = codes(order.text_column("job")?, jobs);
        let places = jobs.into_iter().zip(order.u32_column("rank")?.iter().copied()).collect();
        let (numbers, ends) = (order.u32_column("operation")?, order.u32_column("ends")?);
        let (times, modes) = (order.u64_column("time_ps")?, order.u32_column("mode")?);
        Some(Self { places, numbers, ends, times, modes })
    }

    /// The function that a send calls, if its name says how it completes.
    fn function(&self, row: usize, blocks: bool) -> Option<u32> {
        let first = self.modes[row].checked_sub(SYNCHRONOUS)? * 2;
        debug_assert!(first < FUNCTIONS.len() as u32, "there are two modes beside the standard one");
        Some(FUNCTION + first + u32::from(!blocks))
    }

    fn key(&self, row: usize) -> Key {
        let (job, rank) = self.places[row];
        (job, rank, self.numbers[row])
    }

    fn ends(&self, row: usize) -> bool {
        self.ends[row] > 0
    }

    /// True if an operation begins and nothing comes before its end, or if it ends so.
    fn blocks(&self, row: usize) -> bool {
        let other = if self.ends(row) { row.checked_sub(1) } else { Some(row + 1) };
        other.filter(|&other| other < self.places.len()).is_some_and(|other| self.key(other) == self.key(row))
    }
}

impl<'a> Messages<'a> {
    fn of(transfers: &'a Table, jobs: &TextColumn) -> Option<Self> {
        let jobs = codes(transfers.text_column("job")?, jobs);
        let (from, to) = (transfers.u32_column("source")?, transfers.u32_column("destination")?);
        let numbers = transfers.u32_column("operation")?;
        let Some(crate::table::Column::Maybe(receives)) = transfers.column("receive") else { return None };
        let sends = (0..jobs.len()).map(|row| ((jobs[row], from[row], numbers[row]), row)).collect();
        let received = |row: usize| Some(((jobs[row], to[row], receives[row]?), row));
        let receives = (0..jobs.len()).filter_map(received).collect();
        let (bytes, times) = (transfers.u64_column("bytes")?, transfers.u64_column("transfer_ps")?);
        Some(Self { jobs, from, to, bytes, times, hops: transfers.u32_column("hops"), sends, receives })
    }

    /// Tags by row.
    fn tags(&self, steps: &Steps<'_>) -> Vec<u32> {
        // Rows by the pair of ranks, as they were sent and as their receives began.
        let mut pairs = SortedMap::<Key, (Vec<usize>, Vec<usize>)>::new();
        for step in (0..steps.places.len()).filter(|&step| !steps.ends(step)) {
            let pair = |row: usize| (self.jobs[row], self.from[row], self.to[row]);
            if let Some(&row) = self.sends.get(&steps.key(step)) {
                pairs.entry(pair(row)).or_default().0.push(row);
            } else if let Some(&row) = self.receives.get(&steps.key(step)) {
                pairs.entry(pair(row)).or_default().1.push(row);
            }
        }
        let mut tags = vec![0; self.jobs.len()];
        for (sent, _) in pairs.into_values().filter(|(sent, received)| sent != received) {
            for (row, tag) in sent.into_iter().zip(0..) {
                tags[row] = tag;
            }
        }
        tags
    }

    /// What a step of a rank is in an archive.
    fn record(&self, steps: &Steps<'_>, step: usize, tags: &[u32]) -> Option<Record> {
        let (key, ends, blocks) = (steps.key(step), steps.ends(step), steps.blocks(step));
        let (comm, request) = (key.0, u64::from(key.2));
        let (kind, says) = if let Some(&row) = self.sends.get(&key) {
            let (receiver, tag, bytes) = (self.to[row], tags[row], self.bytes[row]);
            match (ends, blocks) {
                (false, true) => (EventKind::Send { receiver, comm, tag, bytes }, Some(row)),
                (false, false) => (EventKind::Isend { receiver, comm, tag, bytes, request }, Some(row)),
                (true, false) => (EventKind::IsendComplete { request }, None),
                (true, true) => return None,
            }
        } else {
            let row = *self.receives.get(&key)?;
            let (sender, tag, bytes) = (self.from[row], tags[row], self.bytes[row]);
            match (ends, blocks) {
                (true, true) => (EventKind::Recv { sender, comm, tag, bytes }, Some(row)),
                (true, false) => (EventKind::Irecv { sender, comm, tag, bytes, request }, Some(row)),
                (false, false) => (EventKind::IrecvRequest { request }, None),
                (false, true) => return None,
            }
        };
        let transfer = says.map(|row| (self.times[row], self.hops.map(|hops| hops[row].into())));
        let sends = matches!(kind, EventKind::Send { .. } | EventKind::Isend { .. });
        let function = if sends { steps.function(step, blocks) } else { None };
        Some(Record { time: steps.times[step], kind, ends, transfer, function })
    }
}
