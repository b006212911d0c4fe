//! From measurements to the summary.

use super::{
    config::{Cost, LONGEST},
    critical::Past,
    domain::{Act, Context},
    energy,
    follow::Claims,
    observe::Observer,
    setup::DelaySetup,
    tables,
};
use base::{hash::Fingerprint, time::Ps};
use model::{
    failure::Failure,
    setup::{limit_first, ranks_left, unfinished},
};
use ranks::{
    critical::{self, Segment},
    roster::GlobalRank,
    stuck::Stuck,
    tally::{self, Sums},
};
use results::{
    summary::{Counts, Job, Nodes, State, Summary, Verdict},
    table::Table,
};

/// What a run leaves.
pub struct DelayFinished {
    /// The summary; its `experiment` block is left to the caller.
    pub summary: Summary,
    /// Tables for the output directory, one observation a row.
    pub tables: Vec<Table>,
    /// Why ranks did not come to their end, if so.
    pub stuck: Stuck,
    /// Operations of ranks that are over.
    pub operations: u64,
}

/// A run that came to its end.
pub struct Ended {
    /// Why ranks did not come to their end, if so.
    pub stuck: Stuck,
    /// Last processor time of each host.
    pub makespans: Vec<Ps>,
    /// Measurements of all partitions.
    pub observer: Observer,
    /// True if nothing was pending any more; false if the limit came first.
    pub dry: bool,
}

/// Compares what records say with what the state says, if that is checked.
///
/// # Errors
/// [`Failure::Invariant`] with the first of what is wrong: a message that is lost, twice, changed or too early, an operation that was done twice or
/// left out, a processor that did two things at once, a rank or a message that is not where it should be.
pub fn check(observer: &Observer, claims: impl FnOnce() -> Claims) -> Result<(), Failure> {
    let Some(follower) = &observer.follower else { return Ok(()) };
    let fault = follower.verdict(&claims()).into_iter().next();
    fault.map_or(Ok(()), |fault| Err(Failure::Invariant(fault)))
}

/// Makes the summary and the tables.
#[must_use]
pub fn finish(setup: &DelaySetup, cx: &Context, ended: Ended) -> (Summary, Vec<Table>, Stuck) {
    let Ended { mut stuck, mut makespans, mut observer, dry } = ended;
    stuck.truncated = observer.truncated;
    if cx.config.cost == Cost::Pure {
        // Receiving takes no processor there: a rank may end with a message that it waited for.
        makespans.iter_mut().zip(&observer.ranks).for_each(|(end, rank)| *end = (*end).max(rank.last));
    }
    if cx.nodes.as_ref().is_some_and(|n| n.node.cores.is_some()) {
        // A core's clock is that of all its ranks.
        for (n, end) in makespans.iter_mut().enumerate() {
            *end = observer.ranks[n].last.max(cx.starts[cx.places[n].job as usize]);
        }
    }
    // What was begun in time may be over too late, or never: costs are cut at the end of all times.
    let in_time = |end: Ps| end <= setup.limit && end < LONGEST;
    let late = makespans.iter().filter(|&&end| !in_time(end)).count();
    let mut verdict = Verdict::ok();
    how_it_ended(setup, &stuck, dry, late, &mut verdict);
    remark(cx, &stuck, &observer, &mut verdict);
    let mut summary = Summary::new(fingerprint(&observer, &makespans), verdict, serde_json::Value::Null);
    let last = makespans.iter().copied().max().unwrap_or(0);
    summary.simulated_ps = if dry { last.min(setup.limit) } else { setup.limit };
    let counts = |from: usize, to: usize| {
        let part = &observer.ranks[from..to];
        let (injected, delivered) =
            (part.iter().map(|r| r.sent).sum::<u64>(), part.iter().map(|r| r.received).sum());
        Counts { injected, delivered, in_flight: injected - delivered }
    };
    summary.messages = Some(counts(0, makespans.len()));
    summary.bytes_delivered = observer.ranks.iter().map(|r| r.received_bytes).fold(0, u64::saturating_add);
    for (n, job) in setup.jobs.iter().enumerate() {
        let (from, to) = (cx.bases[n].index(), cx.bases[n + 1].index());
        let part = &observer.ranks[from..to];
        let last = makespans[from..to].iter().copied().max().unwrap_or(job.start);
        let makespan = last - job.start;
        debug_assert!(makespans.len() == observer.ranks.len(), "a makespan for each rank");
        let compute: u128 = part.iter().map(|r| u128::from(r.compute)).sum();
        let all = u128::from(makespan) * (to - from) as u128;
        summary.jobs.push(Job {
            name: job.name.clone(),
            ranks: (to - from) as u32,
            messages: Some(counts(from, to)),
            makespan_ps: (stuck.is_done() && in_time(last)).then_some(makespan),
            critical_path: None,
            compute_fraction: (compute > 0).then(|| compute as f64 / all.max(1) as f64),
        });
    }
    summary.nodes = cx.describes_nodes.then(|| nodes(&observer));
    let names: Vec<String> = setup.jobs.iter().map(|j| j.name.clone()).collect();
    if let (Some(energy), Some(fabric), Some(windows), Some(resilient)) =
        (&setup.energy, &setup.fabric, &observer.windows, &cx.config.resilient)
    {
        let messages = summary.messages.map_or(0, |m| m.delivered);
        let (bits, time, bytes) = (windows.bits(resilient), summary.simulated_ps, summary.bytes_delivered);
        summary.energy = Some(energy::block(energy, fabric, bits, time, messages, bytes));
    }
    let transfers = (!observer.busy.is_empty()).then(|| tables::transfers(cx, &names, &observer));
    let paths = paths(cx, &mut observer, &makespans, &stuck);
    for (job, path) in summary.jobs.iter_mut().zip(&paths) {
        job.critical_path = critical::summed(path);
    }
    let mut tables = tables::all(cx, &names, &mut observer, &makespans, transfers.as_ref());
    tables.extend(summary.energy.as_ref().map(model::energy::table));
    tables.extend(transfers);
    if paths.iter().any(|p| !p.is_empty()) {
        tables.push(critical::table(&paths, |host| {
            let place = cx.place(host);
            (names[place.job as usize].as_str(), place.rank)
        }));
    }
    (summary, tables, stuck)
}

/// What ranks sent within their nodes and elsewhere.
fn nodes(observer: &Observer) -> Nodes {
    let mut all = Sums::default();
    for r in &observer.ranks {
        all.add(&Sums { sent: (r.sent, r.bytes), within: r.within, ..Sums::default() });
    }
    tally::nodes(&all)
}

/// The critical path of each job, if operations were measured and all came to their end.
fn paths(cx: &Context, observer: &mut Observer, makespans: &[Ps], stuck: &Stuck) -> Vec<Vec<Segment>> {
    if observer.busy.is_empty() || !stuck.is_done() {
        return Vec::new();
    }
    let sends = observer.done.iter().filter(|d| d.act == Act::Send && d.bytes > cx.config.eager);
    let matched = sends.map(|d| (d.host, d.end, d.peer)).collect();
    let past = Past::new(cx, std::mem::take(&mut observer.busy), matched);
    let last = |bases: &[GlobalRank]| {
        let hosts = bases[0].index()..bases[1].index();
        let last = hosts.rev().max_by_key(|&h| makespans[h]);
        last.map_or_else(Vec::new, |h| past.path(GlobalRank::from_index(h), makespans[h]))
    };
    cx.bases.windows(2).map(last).collect()
}

/// All happenings and the last clocks.
fn fingerprint(observer: &Observer, makespans: &[Ps]) -> Fingerprint {
    let mut sum = observer.fingerprint;
    for (host, &end) in makespans.iter().enumerate() {
        sum.add(1 << 40, host as u64, end, 0);
    }
    sum
}

/// What else a reader is to know of the numbers.
fn remark(cx: &Context, stuck: &Stuck, observer: &Observer, verdict: &mut Verdict) {
    stuck.flag(verdict);
    tally::flag_clipped(observer.ranks.iter().map(|r| r.bytes), verdict);
    let busy = observer.ranks.iter().map(|r| r.compute.saturating_add(r.overhead));
    tally::flag_clipped_times(busy.chain(observer.ranks.iter().map(|r| r.transfer)), verdict);
    if cx.programs.iter().any(|program| program.cpus() > 1 && program.starts_in_past()) {
        verdict.flag("starts-in-past");
    }
}

/// Deadlock, limits, and what is left of programs.
fn how_it_ended(setup: &DelaySetup, stuck: &Stuck, dry: bool, late: usize, verdict: &mut Verdict) {
    let over_late = |late: usize| match late {
        1 => "1 rank would be over later".to_owned(),
        _ => format!("{late} ranks would be over later"),
    };
    if dry && late > 0 && stuck.is_done() {
        if setup.timed {
            verdict.flag("unfinished-programs");
            verdict.detail.push(format!("the run ended first: {}", over_late(late)));
        } else {
            verdict.find(State::Incomplete, [format!("{}: {}", limit_first(setup.limit), over_late(late))]);
        }
    } else if !dry && setup.timed {
        if !stuck.is_done() {
            verdict.flag("unfinished-programs");
            verdict.detail.push(unfinished(stuck.ranks));
        }
    } else if !dry && stuck.is_done() {
        verdict.find(State::Incomplete, [format!("messages are under way and {}", limit_first(setup.limit))]);
    } else if !dry {
        verdict.find(
            State::Incomplete,
            [format!("{} and {}", ranks_left(stuck.ranks), limit_first(setup.limit))],
        );
    } else if !stuck.is_done() {
        verdict.find(State::Deadlock, stuck.lines());
    } else if stuck.unreceived > 0 {
        verdict.flag("unreceived-messages");
        verdict.detail.extend(stuck.lines());
    }
}
