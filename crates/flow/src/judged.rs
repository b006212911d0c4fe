//! The verdict of a run: how it ended, whether sources outran links, and what the model leaves out.

use super::{
    config::{FlowConfig, Wide},
    context::{Context, FlowSetup},
    ended::Ended,
    pace::Pace,
    sharing::Delays,
};
use base::{
    time::{Ps, display},
    units::print_time,
};
use model::{
    credits,
    setup::{JobSetup, Until, limit_first, ranks_left, unfinished},
    throughput::{self, SOURCES_ENDED},
};
use ranks::{programs, stuck::Stuck, tally};
use results::{
    batch::MIN_SAMPLES,
    summary::{State, Throughput, Verdict},
};
use std::slice;

/// The verdict of a run that simulated so much time and had such a throughput.
#[must_use]
pub fn judge(
    setup: &FlowSetup,
    cx: &Context,
    ended: &Ended,
    simulated: Ps,
    throughput: Option<Throughput>,
) -> Verdict {
    let mut verdict = Verdict::ok();
    changes(setup, simulated, &mut verdict);
    let closed = matches!(setup.until, Until::WorkloadDone { .. });
    let stuck = programs::stuck(&cx.roster, ended.host.standing());
    how_it_ended(cx, ended, closed, &stuck, &mut verdict);
    if stuck.unreceived > 0 && closed {
        verdict.flag("unreceived-messages");
        if stuck.is_done() {
            verdict.detail.extend(stuck.lines());
        }
    }
    stuck.flag(&mut verdict);
    ended.observer.tally.flag(&mut verdict);
    tally::flag_clipped([ended.observer.bytes.0].into_iter(), &mut verdict);
    let ranks: u64 = setup.jobs.iter().map(|j| j.placement.len() as u64).sum();
    let begun: u64 = ended.observer.jobs.iter().map(|j| j.begun).sum();
    let seen = Seen {
        begun,
        ranks,
        mean: ended.observer.latency.moments().mean(),
        alone: alone(setup, ended),
        simulated,
    };
    match (ended.domain.overflow, closed) {
        (true, _) => {}
        (false, true) => finite_sources(&seen, throughput, throughput::burst(&setup.jobs), &mut verdict),
        (false, false) => open_sources(setup, ended, throughput, &stuck, &mut verdict),
    }
    if let Some(platform) = cx.platform().filter(|p| !p.passed.is_empty()) {
        verdict.flag("input-dropped");
        verdict
            .detail
            .push(format!("the platform's file has what is not simulated: {}", platform.passed.join(", ")));
    }
    if let Some(line) = credits(cx) {
        verdict.flag(credits::FLAG);
        verdict.detail.push(line);
    }
    approximate(&cx.config, ended.domain.sharing.delays(), &mut verdict);
    divisions(cx, ended, &mut verdict);
    // A workload that is over has no steady state that samples could miss.
    let over = closed && ended.dry && ended.domain.sharing.active() == 0;
    if let Some(line) = throughput::beyond_offered(&setup.jobs, throughput.as_ref()).filter(|_| !closed) {
        verdict.flag("too-few-samples");
        verdict.detail.push(line);
    }
    let fewest = if !closed && setup.jobs.iter().any(is_traffic) { MIN_SAMPLES } else { 2 };
    let (counted, whole) = (ended.observer.latency.moments().count, ended.observer.bytes.0 > 0);
    if (!over && counted < fewest) || (over && whole && counted == 0) {
        verdict.flag("too-few-samples");
    }
    verdict
}

/// What was to fail or change after the end.
fn changes(setup: &FlowSetup, simulated: Ps, verdict: &mut Verdict) {
    if let Some(change) = setup.change.as_ref().filter(|change| simulated <= change.at) {
        verdict.flag("no-failure");
        let (at, end) = (print_time(change.at), display(simulated));
        verdict.detail.push(format!("links were to fail at {at}, but the run ended at {end}"));
    }
    if let Some(change) = setup.config.changes.iter().find(|change| simulated <= change.at) {
        verdict.flag("no-failure");
        let (at, end) = (print_time(change.at), display(simulated));
        verdict.detail.push(format!("a bandwidth was to change at {at}, but the run ended at {end}"));
    }
}

/// How messages were divided over paths.
fn divisions(cx: &Context, ended: &Ended, verdict: &mut Verdict) {
    if ended.domain.network.by_load {
        verdict.flag("divided-by-load");
        let why = "the routing chooses among paths by load: packets of each message ask it, again as others begin and end; queues, which it reads on \
                   `packet`, are counts of messages here: `packet` may take longer, most where many messages of a terminal are under way at once";
        verdict.detail.push(why.to_owned());
    }
    if ended.domain.network.evenly {
        verdict.flag("divided-evenly");
        let why = "packets choose among paths by chance; here messages are divided equally over them, so that no packets meet by chance: `packet` may take longer";
        verdict.detail.push(why.to_owned());
    }
    if ended.domain.network.spreads {
        verdict.flag("single-path");
        let why =
            "the routing spreads traffic over several paths; here each message takes one of them as a whole";
        verdict.detail.push(why.to_owned());
    }
    if ended.domain.network.wide > 0 {
        let (wide, most) = (are(ended.domain.network.wide), cx.config.max_links);
        let why = format!(
            "{wide} on one path, since a division would have more than {most} links (see `max_links`)"
        );
        verdict.detail.push(why);
    }
}

/// Links that wait for credits, of a network that is no platform.
fn credits(cx: &Context) -> Option<String> {
    let counted = "here messages have all of it, and do not wait for credits";
    cx.platform().is_none().then_some(())?;
    credits::line(&cx.fabric, &cx.links, cx.config.router_delay, credits::CHUNK, counted)
}

fn is_traffic(job: &JobSetup) -> bool {
    job.work.program().is_none()
}

/// Shares that were found late, and how late.
fn approximate(config: &FlowConfig, batches: &Delays, verdict: &mut Verdict) {
    let (accuracy, why) = match config.wide {
        Some(Wide { accuracy, links }) if batches.happened > 0 => (
            accuracy,
            format!(" while messages were divided over more than {links} links (\"exact\" takes longer)"),
        ),
        _ => (config.accuracy, String::new()),
    };
    if accuracy > 0.0 {
        verdict.flag("approximate");
        // As it was written: what a hundredth lost in binary is not shown.
        let (percent, longest) = ((accuracy * 1e8).round() / 1e6, batches.longest * 1e6);
        verdict.detail.push(format!(
            "accuracy = \"{percent} %\"{why}: {} ends and beginnings in {} solutions; an end acts at most {percent} % of the flow's age late, a beginning {percent} % of \
             its time alone; the longest delay was {longest:.3} us",
            batches.happened, batches.solutions
        ));
    }
}

/// Overflow, deadlock, dead links, limits, and what is left of programs.
fn how_it_ended(cx: &Context, ended: &Ended, closed: bool, stuck: &Stuck, verdict: &mut Verdict) {
    let domain = &ended.domain;
    let active = domain.sharing.active();
    if domain.overflow {
        let most = cx.config.max_flows;
        verdict.find(State::Saturated, [format!("more than {most} flows at a time: see `max_flows`")]);
        verdict.find(State::Incomplete, ["the run ended there".to_owned()]);
    } else if ended.dry && !stuck.is_done() {
        verdict.find(State::Deadlock, stuck.lines());
    } else if ended.dry && active > 0 {
        let (still, slow) = domain.sharing.endless();
        if still > 0 {
            let why = "a link has no bandwidth".to_owned();
            verdict.find(State::Starved, [format!("{} under way without end: {why}", are(still))]);
        }
        if slow > 0 {
            let why = "too slow to end before the last instant of virtual time";
            verdict.find(State::Incomplete, [format!("{} under way, {why}", are(slow))]);
        }
    } else if closed && domain.is_cut_short() {
        let left = match active {
            0 if !stuck.is_done() => ranks_left(stuck.ranks),
            0 => "not all messages are sent".to_owned(),
            _ => format!("{} under way", are(active)),
        };
        verdict.find(State::Incomplete, [format!("{left} and {}", limit_first(cx.end))]);
    } else if !stuck.is_done() {
        verdict.flag("unfinished-programs");
        verdict.detail.push(unfinished(stuck.ranks));
    }
}

/// What tells whether sources outran links.
struct Seen {
    /// Messages sent so far, by all ranks.
    begun: u64,
    /// Ranks of all jobs.
    ranks: u64,
    /// Mean latency of what arrived.
    mean: Option<f64>,
    /// What a message takes at most that has all links for itself, in ps; see [`alone`].
    alone: f64,
    /// Length of the run.
    simulated: Ps,
}

/// Loads from here on are more than terminals' links carry, whatever was rounded: what grows then goes on growing.
const BEYOND: f64 = 1.000_001;

/// Of a run that ends at a time: each job's messages pile up, or they do not.
fn open_sources(
    setup: &FlowSetup,
    ended: &Ended,
    throughput: Option<Throughput>,
    stuck: &Stuck,
    verdict: &mut Verdict,
) {
    let there = ended.observer.jobs.iter().map(|job| job.delivered);
    let all = !ended.domain.is_cut_short() && stuck.is_done() && setup.jobs.iter().any(is_traffic);
    let over = match all {
        true => Some(SOURCES_ENDED.1.to_owned()),
        false => throughput::jobs_ended(&setup.jobs, there),
    };
    if let Some(line) = over {
        verdict.flag(SOURCES_ENDED.0);
        verdict.detail.push(line);
    }
    let beyond = throughput.and_then(|t| t.offered_fraction).is_some_and(|offered| offered > BEYOND);
    // Programs send as their messages come back to them: their pace need not be steady.
    for (job, sums) in setup.jobs.iter().zip(&ended.observer.jobs).filter(|(job, _)| is_traffic(job)) {
        let Some(counted) = sums.counted.as_ref().filter(|_| sums.begun > 0) else { continue };
        debug_assert!(sums.delivered <= sums.begun, "what arrived was sent");
        let active = sums.begun - sums.delivered;
        if sums.delivered == 0 {
            verdict.flag("still-filling");
            let why = format!("the run is too short: {} under way, and none has arrived", are(active));
            verdict.find(State::NotStationary, [why]);
            continue;
        }
        let [first, second] = counted.measured.under_way();
        let grows = format!(
            "{active} of {} messages are under way at the end, on average {first:.1} in the first half and {second:.1} in the second; latencies are those \
             of messages that arrived",
            sums.begun
        );
        let name = &job.name;
        let burst = throughput::burst(slice::from_ref(job));
        if let Some(line) = few_bursts(job, burst, sums.delivered) {
            verdict.flag("too-few-samples");
            verdict.detail.push(line);
        }
        match counted.pace(burst) {
            Pace::Fills if !beyond => {
                verdict.flag("still-filling");
                verdict.find(State::NotStationary, [format!("the run is too short for job {name}: {grows}")]);
            }
            Pace::Kept if !beyond || second <= first => {}
            _ => {
                verdict.find(State::Saturated, [format!("links cannot keep up with job {name}: {grows}")]);
            }
        }
    }
}

/// What is said where few bursts of a job without end have arrived: all messages of one are a single sample.
fn few_bursts(job: &JobSetup, burst: u64, delivered: u64) -> Option<String> {
    const FEWEST: u64 = 4;
    let ranks = job.placement.len() as u64;
    let endless = job.work.traffic()?.total(ranks as u32).is_none();
    debug_assert!(burst > 0, "a burst has messages");
    (endless && burst > 1 && delivered < FEWEST * burst * ranks).then(|| {
        let bursts = delivered as f64 / (burst * ranks) as f64;
        format!(
            "{bursts:.1} bursts of job {} have arrived, and the messages of each are one sample",
            job.name
        )
    })
}

/// What a message of mean size takes on the longest path if nobody else is there. Where all messages share links alike all are late, so that the
/// least latency alone does not tell; of a platform it is all that there is.
fn alone(setup: &FlowSetup, ended: &Ended) -> f64 {
    let moments = ended.observer.latency.moments();
    let Some(first) = setup.links.first() else { return moments.min as f64 };
    let bytes = ended.observer.bytes.1 as f64 / moments.count.max(1) as f64;
    let (bandwidth, latency) = setup.config.rules.factors(bytes as u64);
    let longest = setup.links.iter().map(|link| link.latency).max().unwrap_or(0);
    let hop = (longest + setup.config.router_delay) as f64 * latency.max(1.0);
    let transfer = bytes / (first.bandwidth.bytes_per_s() * bandwidth.min(1.0)) * 1e12;
    (transfer + ended.observer.by_hops.len() as f64 * hop).min(moments.min as f64)
}

/// Of a run that ends with its workload: links took less than was offered, and messages waited for them, which a few messages in one burst do not
/// tell.
fn finite_sources(s: &Seen, throughput: Option<Throughput>, burst: u64, verdict: &mut Verdict) {
    let Some(Throughput { offered_fraction: Some(offered), accepted_fraction: accepted, .. }) = throughput
    else {
        return;
    };
    let Some(mean) = s.mean else { return };
    let waits = mean > 8.0 * s.alone && mean > 0.1 * s.simulated as f64;
    if accepted < 0.9 * offered && waits && s.begun >= 8 * s.ranks * burst {
        let (offered, accepted) = (offered * 100.0, accepted * 100.0);
        verdict.find(
            State::Saturated,
            [format!("links cannot keep up: {offered:.1} % offered, {accepted:.1} % accepted")],
        );
    }
}

fn are(messages: u64) -> String {
    if messages == 1 { "1 message is".to_owned() } else { format!("{messages} messages are") }
}
