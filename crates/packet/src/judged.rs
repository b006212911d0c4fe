//! The verdict of a run, from what it left: how it ended, whether sources kept pace, whether means are steady.

use crate::{
    ended::Ended,
    network::Network,
    setup::Setup,
    verdict::{self, Kept},
};
use base::{
    index::TerminalId,
    time::{Ps, display},
    units::print_time,
};
use model::{
    setup::{JobSetup, Until, limit_first, ranks_left, unfinished},
    throughput::{self, SOURCES_ENDED},
};
use ranks::tally;
use results::{
    batch::{self, MIN_SAMPLES, Stationarity},
    summary::{State as Outcome, Throughput, Verdict},
};

/// The verdict of a run that simulated so much time and had such a throughput.
#[must_use]
pub fn judge(
    setup: &Setup,
    net: &Network,
    ended: &Ended,
    simulated: Ps,
    throughput: Option<Throughput>,
) -> Verdict {
    let mut verdict = Verdict::ok();
    if let Some(change) = setup.change.as_ref().filter(|change| simulated <= change.at) {
        verdict.flag("no-failure");
        let (at, end) = (print_time(change.at), display(simulated));
        verdict.detail.push(format!("links were to fail at {at}, but the run ended at {end}"));
    }
    how_it_ended(setup, net, ended, &mut verdict);
    // Programs send as their messages come back to them: neither their pace nor their latency need be steady.
    let steady = matches!(setup.until, Until::Time(_)) && setup.jobs.iter().any(is_traffic);
    if steady {
        open_sources(setup, net, ended, throughput, &mut verdict);
        traffic_that_ended(setup, ended, &mut verdict);
    }
    finite_sources(setup, net, ended, simulated, throughput, &mut verdict);
    latencies(setup, ended, throughput, steady, &mut verdict);
    stays(ended, &mut verdict);
    let gaps = ended.observer.adapter.gaps;
    if gaps > 0 {
        verdict.flag("out-of-order");
        verdict.detail.push(format!("adapters without room went on {gaps} times without a missing packet"));
    }
    let saturated = verdict.flags.iter().any(|f| f == Outcome::Saturated.name());
    if saturated && ended.hybrid.as_ref().is_some_and(|h| h.0.switches > 0) {
        verdict.flag("outside-validated-range");
        let why = "latency grows as long as the run lasts, and a stay predicts what was learned before it";
        verdict.detail.push(format!("beyond saturation `error_estimate` is no bound: {why}"));
    }
    if saturated && net.config.router.rules.compared_unsaturated {
        verdict.flag("outside-validated-range");
        let name = net.config.router.name;
        let why =
            "beyond saturation they may accept far less than the simulator that they were compared with";
        verdict.detail.push(format!("{name} routers were compared below saturation alone: {why}"));
    }
    verdict
}

/// Whether the mean latency is one, and of enough.
fn latencies(
    setup: &Setup,
    ended: &Ended,
    throughput: Option<Throughput>,
    steady: bool,
    verdict: &mut Verdict,
) {
    let batches = ended.observer.batches.batches();
    match batch::stationarity(&batches) {
        Stationarity::Drifting { relative } if steady => {
            verdict.find(
                Outcome::NotStationary,
                [format!("mean latency drifts by {:.1} % over the run", relative * 100.0)],
            );
        }
        Stationarity::Shifting { relative, after } if steady => {
            let (by, when) = (relative * 100.0, after * 100.0);
            verdict.find(
                Outcome::NotStationary,
                [format!("mean latency changes by {by:.0} % after about {when:.0} % of the run")],
            );
        }
        Stationarity::TooFew => verdict.flag("too-few-samples"),
        _ if steady && ended.observer.latency.moments().count < MIN_SAMPLES => {
            verdict.flag("too-few-samples")
        }
        _ => {}
    }
    if let Some(line) = throughput::beyond_offered(&setup.jobs, throughput.as_ref()).filter(|_| steady) {
        verdict.flag("too-few-samples");
        verdict.detail.push(line);
    }
    if let (Until::Time(_), Some(c)) = (setup.until, batch::confidence(&batches))
        && c.half_width > batch::WIDE * c.mean
    {
        verdict.flag("too-few-samples");
        let by = 100.0 * c.half_width / c.mean;
        verdict.detail.push(format!("the mean latency is known within {by:.0} % only"));
    }
}

/// What a hybrid run learned from, and whether it predicted anything.
fn stays(ended: &Ended, verdict: &mut Verdict) {
    if ended.hybrid.as_ref().is_some_and(|h| h.1) {
        verdict.flag("short-window");
    }
    if ended.hybrid.as_ref().is_some_and(|h| h.0.switches == 0) {
        verdict.flag("never-predicted");
        let why = "its director found no time for a stay, or `window` is longer than the run";
        verdict.detail.push(format!("the run never left its network: {why}"));
    }
}

/// Traffic that was over before the run, or of which nothing arrived.
fn traffic_that_ended(setup: &Setup, ended: &Ended, verdict: &mut Verdict) {
    debug_assert!(ended.observer.messages <= ended.last.messages, "what arrived was sent");
    let there = ended.observer.jobs.iter().map(|job| job.0);
    let over = match ended.dry && ended.stuck.is_done() {
        true => Some(SOURCES_ENDED.1.to_owned()),
        false => throughput::jobs_ended(&setup.jobs, there),
    };
    if let Some(line) = over {
        verdict.flag(SOURCES_ENDED.0);
        verdict.detail.push(line);
    }
    if ended.observer.messages == 0 && ended.last.messages > 0 && ended.deadlock.is_empty() {
        verdict.flag("still-filling");
        let why = format!("the run is too short: none of {} messages has arrived", ended.last.messages);
        verdict.find(Outcome::NotStationary, [why]);
    }
}

fn is_traffic(job: &JobSetup) -> bool {
    job.work.program().is_none()
}

/// Deadlock, limits, and what is left of programs.
fn how_it_ended(setup: &Setup, net: &Network, ended: &Ended, verdict: &mut Verdict) {
    let done = matches!(setup.until, Until::WorkloadDone { .. });
    if !ended.deadlock.is_empty() {
        let cycle = ended.deadlock.iter().map(|&c| verdict::name(net, c)).collect::<Vec<_>>();
        verdict.find(Outcome::Deadlock, [format!("channels wait for each other: {}", cycle.join(" -> "))]);
    } else if ended.dry && !ended.stuck.is_done() {
        verdict.find(Outcome::Deadlock, ended.stuck.lines());
    } else if done && (ended.last.busy || ended.last.open > 0) {
        let (Until::Time(limit) | Until::WorkloadDone { limit }) = setup.until;
        let why = if ended.dry { "nothing moves any more".to_owned() } else { limit_first(limit) };
        let left = match ended.last.open {
            0 if !ended.stuck.is_done() => ranks_left(ended.stuck.ranks),
            0 => "not all messages are sent".to_owned(),
            1 => "1 packet is under way".to_owned(),
            open => format!("{open} packets are under way"),
        };
        verdict.find(Outcome::Incomplete, [format!("{left} and {why}")]);
    } else if !ended.stuck.is_done() {
        verdict.flag("unfinished-programs");
        verdict.detail.push(unfinished(ended.stuck.ranks));
    }
    if ended.stuck.unreceived > 0 && done {
        verdict.flag("unreceived-messages");
        if ended.stuck.is_done() {
            verdict.detail.extend(ended.stuck.lines());
        }
    }
    ended.stuck.flag(verdict);
    ended.observer.tally.flag(verdict);
    tally::flag_clipped([ended.observer.bytes_total].into_iter(), verdict);
}

/// Of a run that ends at a time: sources that starve or fall behind, packets that pile up.
fn open_sources(
    setup: &Setup,
    net: &Network,
    ended: &Ended,
    throughput: Option<Throughput>,
    verdict: &mut Verdict,
) {
    let Some(half) = &ended.half else { return };
    let o = &ended.observer;
    let starved = verdict::starved(half, &ended.last, &o.heard, o.latency.moments().mean());
    if !starved.is_empty() && ended.deadlock.is_empty() {
        verdict.find(
            Outcome::Starved,
            [format!("no packet delivered from {}", verdict::sources(net, &starved))],
        );
    }
    let nodes: usize = setup.jobs.iter().map(JobSetup::nodes).sum();
    let sources = nodes * net.fabric.planes() as usize;
    // Packets of a message come together: it is messages that chance adds up, and of several sizes the long ones. By how many others a packet comes
    // with, in the mean over packets, the variance of what comes is larger than that of single ones.
    let each = o.of_messages as f64 / o.packets.1.max(1) as f64;
    // So do messages of a burst, of which two may lie over each other. A few messages are chance, of however many packets.
    let burst = each * throughput::burst(&setup.jobs) as f64;
    let most = 32.max((8.0 * each).max(2.0 * burst) as u64);
    let rate = setup.links[0].bandwidth.bytes_per_s();
    let offers = |job: &JobSetup| job.work.traffic().and_then(|t| t.offered_bytes_per_s()).unwrap_or(0.0);
    let beyond = setup.jobs.iter().filter(|job| offers(job) > rate * f64::from(net.fabric.planes()));
    let mut beyond: Vec<TerminalId> = beyond.flat_map(|job| job.placement.iter().copied()).collect();
    beyond.sort_unstable();
    // Where more arrives than is offered in the mean, sources that lag had more to send than usual.
    let offered = throughput.and_then(|t| Some((t.offered_fraction?, t.accepted_fraction)));
    if beyond.is_empty() && offered.is_some_and(|(offered, accepted)| accepted > 1.05 * offered) {
        return;
    }
    let is_beyond = |terminal| beyond.binary_search(&terminal).is_ok();
    let saturated = verdict::saturated(half, &ended.last, sources, net.packet_time(), most, is_beyond);
    if !saturated.is_empty() {
        let who = format!("sources fall behind: {}", verdict::sources(net, &saturated));
        return verdict.find(Outcome::Saturated, [who]);
    }
    let (then, now) = verdict::backlogs(half, &ended.last, sources);
    let created = ended.last.created - half.created;
    if !verdict::piles_up(then, now, created, burst) || !ended.deadlock.is_empty() {
        return;
    }
    let open = format!("{then:.0} at half time, {now:.0} at the end");
    if verdict::fills(half, &ended.last) {
        verdict.flag("still-filling");
        let why = "the run is too short: packets of its beginning are under way in its second half";
        verdict.find(Outcome::NotStationary, [format!("{why} ({open})")]);
    } else {
        verdict.find(Outcome::Saturated, [format!("packets pile up in the network and before it: {open}")]);
    }
}

/// Of a run that ends with its workload: sources that handed their messages over later than they were to.
fn finite_sources(
    setup: &Setup,
    net: &Network,
    ended: &Ended,
    simulated: Ps,
    throughput: Option<Throughput>,
    verdict: &mut Verdict,
) {
    let Some(Throughput { offered_fraction: Some(offered), accepted_fraction: accepted, .. }) = throughput
    else {
        return;
    };
    let o = &ended.observer;
    let means = (o.message_latency.moments().mean(), o.latency.moments().mean());
    let (Until::WorkloadDone { .. }, (Some(message), Some(packet))) = (setup.until, means) else { return };
    // With a transport a message is late for other reasons.
    if net.resilience.is_some() || !ended.deadlock.is_empty() {
        return;
    }
    let packets = (o.packets.1 as f64 / o.messages.max(1) as f64).ceil();
    let own = net.packet_time() as f64 * packets;
    let waited = message - packet - net.adapter_delay.mean() as f64 - (own - net.packet_time() as f64);
    let (burst, ranks) = (throughput::burst(&setup.jobs), setup.jobs.iter().map(|j| j.placement.len()));
    let own = own * burst as f64;
    // A few bursts are no rate: how long they take tells nothing of what could be kept up.
    if o.messages < 8 * burst * ranks.sum::<usize>() as u64 {
        return;
    }
    if !verdict::kept_pace(&Kept { offered, accepted, waited, own, simulated }) {
        let (offered, accepted) = (offered * 100.0, accepted * 100.0);
        let waited = display(waited as Ps);
        verdict.find(
            Outcome::Saturated,
            [format!(
                "sources fall behind: {offered:.1} % offered, {accepted:.1} % accepted; a message waits {waited} before its first packet \
                 is handed over, on average"
            )],
        );
    }
}
