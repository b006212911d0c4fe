//! The verdict of a run: how it ended, whether sources outran links, and what the model leaves out.

use super::{
    context::{Context, FlowSetup},
    ended::Ended,
};
use base::time::Ps;
use model::{setup::Until, throughput};
use ranks::{programs, stuck::Stuck};
use results::summary::{State, Throughput, Verdict};

/// The verdict of a run that simulated so much time and had such a throughput.
#[must_use]
pub fn judge(
    setup: &FlowSetup,
    cx: &Context,
    ended: &Ended,
    (simulated, throughput): (Ps, Option<Throughput>),
) -> Verdict {
    let mut verdict = Verdict::ok();
    let closed = matches!(setup.until, Until::WorkloadDone { .. });
    let stuck = programs::stuck(&cx.roster, ended.host.standing());
    how_it_ended(cx, ended, (closed, &stuck), &mut verdict);
    if stuck.unreceived > 0 && closed {
        verdict.flag("unreceived-messages");
        if stuck.is_done() {
            verdict.detail.extend(stuck.lines());
        }
    }
    let ranks: u64 = setup.jobs.iter().map(|j| j.placement.len() as u64).sum();
    let begun: u64 = ended.observer.jobs.iter().map(|j| j.begun).sum();
    let seen = Seen {
        begun,
        live: ended.domain.sharing.active(),
        ranks,
        mean: ended.observer.latency.moments().mean(),
        least: ended.observer.latency.moments().min,
        simulated,
    };
    match (ended.domain.overflow, closed) {
        (true, _) => {}
        (false, true) => finite_sources(&seen, throughput, throughput::burst(&setup.jobs), &mut verdict),
        (false, false) => open_sources(&seen, &mut verdict),
    }
    if ended.domain.network.spreads {
        verdict.flag("single-path");
        let why =
            "the routing spreads traffic over several paths; here each message takes one of them as a whole";
        verdict.detail.push(why.to_owned());
    }
    if ended.observer.latency.moments().count < 2 {
        verdict.flag("too-few-samples");
    }
    verdict
}

/// Overflow, deadlock, dead links, limits, and what is left of programs.
fn how_it_ended(cx: &Context, ended: &Ended, (closed, stuck): (bool, &Stuck), verdict: &mut Verdict) {
    let domain = &ended.domain;
    let live = domain.sharing.active();
    if domain.overflow {
        let most = cx.config.max_flows;
        verdict.find(State::Saturated, [format!("more than {most} flows at a time: see `max_flows`")]);
        verdict.find(State::Incomplete, ["the run ended there".to_owned()]);
    } else if ended.dry && !stuck.is_done() {
        verdict.find(State::Deadlock, stuck.lines());
    } else if ended.dry && live > 0 {
        let why = "a link has no bandwidth".to_owned();
        verdict.find(State::Starved, [format!("{} under way for ever: {why}", are(live))]);
    } else if closed && (live > 0 || domain.cut || domain.has_more()) {
        verdict.find(State::Incomplete, [format!("{} under way and the limit came first", are(live))]);
    } else if !stuck.is_done() {
        verdict.flag("unfinished-programs");
        verdict.detail.push(format!("the run ended first: {} ranks have operations left", stuck.ranks));
    }
}

/// What tells whether sources outran links.
struct Seen {
    /// Messages sent.
    begun: u64,
    /// Messages under way at the end.
    live: u64,
    /// Ranks of all jobs.
    ranks: u64,
    /// Mean and least latency of what arrived.
    mean: Option<f64>,
    least: Ps,
    /// Length of the run.
    simulated: Ps,
}

/// Of a run that ends at a time. In a steady state as many messages are under way as are sent in the mean latency. If links cannot keep up, those that
/// arrived waited half as long as those that are still there, or less.
fn open_sources(s: &Seen, verdict: &mut Verdict) {
    let live = s.live as f64;
    if s.live <= s.begun / 10 || s.live <= 4 * s.ranks {
        return;
    }
    let Some(mean) = s.mean else {
        verdict.flag("still-filling");
        let why = format!("the run is too short: {} under way, and none has arrived", are(s.live));
        return verdict.find(State::NotStationary, [why]);
    };
    let steady = s.begun as f64 * mean / s.simulated as f64;
    if live > 1.5 * steady {
        verdict
            .find(State::Saturated, [format!("{} of {} messages are under way at the end", s.live, s.begun)]);
    }
}

/// Of a run that ends with its workload: links took less than was offered, and messages waited for them, which a few messages in one burst do not
/// tell.
fn finite_sources(s: &Seen, throughput: Option<Throughput>, burst: u64, verdict: &mut Verdict) {
    let Some(Throughput { offered_fraction: Some(offered), accepted_fraction: accepted, .. }) = throughput
    else {
        return;
    };
    let Some(mean) = s.mean else { return };
    let waits = mean > 8.0 * s.least as f64 && mean > 0.1 * s.simulated as f64;
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
