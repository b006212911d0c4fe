//! Tidy tables of a run: ranks, message sizes, collectives, and on demand pairs and operations.

use super::{
    domain::{Context, Ended},
    observe::Observer,
};
use base::time::Ps;
use model::setup::JobOf;
use ranks::{
    calls,
    critical::Part,
    instances::{self, Step},
    roster::GlobalRank,
    tally::{self, RankColumns, Sums},
};
use results::{
    otf2_out,
    table::{Cell, Column, Table},
    timeline,
};

/// All tables but that of transfers, which is given if operations were kept; `makespans` by host.
#[must_use]
pub fn all(
    cx: &Context,
    names: &[String],
    observer: &mut Observer,
    makespans: &[Ps],
    transfers: Option<&Table>,
) -> Vec<Table> {
    let mut tables = vec![ranks(cx, names, observer, makespans)];
    let job = |(n, name): (usize, _)| JobOf { name, program: Some(&*cx.programs[n]), start: cx.starts[n] };
    let jobs: Vec<JobOf<'_>> = names.iter().map(String::as_str).enumerate().map(job).collect();
    tables.extend(observer.sizes.tables(&jobs));
    if !observer.collectives.is_empty() {
        let rows = observer.collectives.iter().map(|(&(job, index), c)| (job, index, *c));
        tables.push(tally::collectives(&jobs, rows));
    }
    if !observer.messages.is_empty() {
        tables.push(message_times(names, observer));
    }
    if !observer.pairs.is_empty() {
        tables.push(pairs(cx, names, observer));
    }
    if !observer.done.is_empty() {
        observer.done.sort_unstable();
        let operations = operations(cx, names, observer);
        let host = |job, rank| cx.host(job, rank);
        let within = |job, from, to| cx.describes_nodes && cx.within(host(job, from), host(job, to));
        let posted = |row: usize| observer.done[row].posted;
        tables.extend(calls::add(operations, transfers, &jobs, &posted, &within));
        tables.extend(calls(cx, &jobs, observer));
    }
    tables
}

/// One row per rank.
fn ranks(cx: &Context, names: &[String], observer: &Observer, makespans: &[Ps]) -> Table {
    let columns = RankColumns { transfer: true, within: cx.describes_nodes };
    let mut table = tally::rank_table(columns);
    for ((place, r), &end) in cx.places.iter().zip(&observer.ranks).zip(makespans) {
        let sums = Sums {
            compute: r.compute,
            overhead: r.overhead,
            transfer: r.transfer,
            last: r.last,
            operations: r.operations,
            sent: (r.sent, r.bytes),
            received: (r.received, r.received_bytes),
            within: r.within,
        };
        let span = end - cx.starts[place.job as usize];
        let (job, cpus) = (names[place.job as usize].as_str(), u64::from(cx.cpus));
        tally::push_rank(&mut table, job, place.rank, span, cpus, columns, &sums);
    }
    table
}

/// Collective calls one by one, of the operations that were kept.
fn calls(cx: &Context, jobs: &[JobOf<'_>], observer: &Observer) -> Vec<Table> {
    let step = |d: &Ended| Step {
        job: cx.place(d.host).job,
        rank: cx.place(d.host).rank,
        collective: d.collective,
        instance: d.instance,
        start: d.posted,
        end: d.end,
        busy: d.end - d.start,
    };
    instances::tables(observer.done.iter().filter(|d| d.collective > 0).map(step).collect(), jobs)
}

/// One row per job and size of message: mean times from the send until the message was there, and until its receive was over.
fn message_times(names: &[String], observer: &Observer) -> Table {
    let mut table = Table::new("message_times")
        .with("job", Column::text())
        .with("bytes", Column::u64s())
        .with("messages", Column::u64s())
        .with("transfer_ps", Column::u64s())
        .with("received_ps", Column::u64s())
        .with("longest_ps", Column::u64s());
    for (&(job, bytes), times) in &observer.messages {
        let mean = |sum: u128| Cell::U64((sum / u128::from(times.messages)) as u64);
        table.push(&[
            Cell::Text(&names[job as usize]),
            Cell::U64(bytes),
            Cell::U64(times.messages),
            mean(times.transfer),
            mean(times.received),
            Cell::U64(times.longest),
        ]);
    }
    table
}

/// One row per pair of ranks with messages.
fn pairs(cx: &Context, names: &[String], observer: &Observer) -> Table {
    let mut table = Table::new("pairs")
        .with("job", Column::text())
        .with("source", Column::u32s())
        .with("destination", Column::u32s())
        .with("messages", Column::u64s())
        .with("bytes", Column::u64s());
    for (&(from, to), &(messages, bytes)) in &observer.pairs {
        let (from, to) = (cx.place(from), cx.place(to));
        table.push(&[
            Cell::Text(&names[from.job as usize]),
            Cell::U32(from.rank.number()),
            Cell::U32(to.rank.number()),
            Cell::U64(messages),
            Cell::U64(bytes),
        ]);
    }
    table
}

/// One row per operation, by rank and number.
fn operations(cx: &Context, names: &[String], observer: &Observer) -> Table {
    let mut table = timeline::operations();
    for d in &observer.done {
        let place = cx.place(d.host);
        table.push(&[
            Cell::Text(&names[place.job as usize]),
            Cell::U32(place.rank.number()),
            Cell::U32(d.number),
            Cell::Text(d.act.name()),
            Cell::U64(d.start),
            Cell::U64(d.end),
            Cell::U64(d.bytes),
        ]);
    }
    table
}

/// One row per message that was there: when it was sent and taken in, and over how many links.
#[must_use]
pub fn transfers(cx: &Context, names: &[String], observer: &Observer) -> Table {
    let mut table = otf2_out::transfers(true);
    let of = |part: Part| observer.busy.iter().filter(move |b| b.part == part);
    let mut arrivals: Vec<(GlobalRank, u32, Ps)> =
        of(Part::Receive).map(|b| (b.peer, b.number, b.start)).collect();
    arrivals.sort_unstable();
    let mut sends: Vec<(GlobalRank, u32, GlobalRank, Ps, u64)> =
        of(Part::Send).map(|b| (b.host, b.number, b.peer, b.start, b.bytes)).collect();
    sends.sort_unstable();
    let mut taken = observer.taken.clone();
    taken.sort_unstable();
    for (host, number, peer, sent, bytes) in sends {
        let Ok(found) = arrivals.binary_search_by_key(&(host, number), |a| (a.0, a.1)) else { continue };
        let receive = taken.binary_search_by_key(&(host, number), |t| (t.0, t.1)).ok().map(|at| taken[at].2);
        let (from, to, arrived) = (cx.place(host), cx.place(peer), arrivals[found].2);
        table.push(&[
            Cell::Text(&names[from.job as usize]),
            Cell::U32(from.rank.number()),
            Cell::U32(to.rank.number()),
            Cell::U32(number),
            Cell::U64(sent),
            Cell::U64(arrived),
            Cell::U64(arrived.saturating_sub(sent)),
            Cell::U32(cx.delays.hops(from.terminal, to.terminal)),
            Cell::U64(bytes),
            receive.map_or(Cell::Missing, Cell::U32),
        ]);
    }
    table
}
