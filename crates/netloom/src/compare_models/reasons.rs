//! Why a model must differ from the reference: sentences from what is declared of it and known of the runs.

use super::{
    measures::{finished, is_full, percent},
    outcome::{ModelComparison, Row},
    ran::Ran,
};
use model::entry::Contention;
use results::{
    flags::FLAGS,
    summary::{State, Summary},
};

/// Sentences about a run; the first run is the reference.
#[must_use]
pub fn reasons(comparison: &ModelComparison, run: usize) -> Vec<String> {
    let runs: Vec<(&Row, &Ran)> = comparison.carried().collect();
    let (Some(&(reference, first)), Some(&(row, ran))) = (runs.first(), runs.get(run)) else {
        return Vec::new();
    };
    let mut sentences =
        if run == 0 { of_reference(row, ran, runs.len() > 1) } else { against(row, ran, reference, first) };
    let summary = &ran.summary;
    if !finished(summary) {
        let errors = if run == 0 { "no errors are given" } else { "its errors are not given" };
        sentences.push(format!("It did not finish ({}), so {errors}.", summary.verdict.state.name()));
    }
    sentences.extend(flags(ran));
    sentences
}

fn of_reference(row: &Row, ran: &Ran, compared: bool) -> Vec<String> {
    let model = row.variant.model;
    let sees = match model.contention {
        Contention::Queued => "every packet waits in queues, holds buffers and returns credits",
        Contention::Predicted => {
            "packets wait in queues, and a predictor stands in for them while the network is steady"
        }
        Contention::Shared => "messages that meet share the bandwidth of links",
        Contention::Counted => "messages that cross a link are counted",
        Contention::Unseen => {
            "messages take their time by formula, and none waits for another in the network"
        }
    };
    let what = if compared { "The reference" } else { "The only one" };
    let mut sentences = vec![format!("{what}: {sees}.")];
    if let Some(share) = waiting(&ran.summary) {
        sentences.push(format!("Waiting is {} of a packet's latency.", percent(share)));
    }
    if let (State::Saturated, Some(t)) = (ran.summary.verdict.state, ran.summary.throughput) {
        let offered =
            t.offered_fraction.map_or_else(String::new, |o| format!(" {} of the bandwidth", percent(o)));
        let accepted = percent(t.accepted_fraction);
        sentences.push(format!(
            "Its sources offer{offered} and the network accepts {accepted}, so latencies grow with the length of the run."
        ));
    }
    sentences
}

fn against(row: &Row, ran: &Ran, reference: &Row, first: &Ran) -> Vec<String> {
    let (model, other) = (row.variant.model, reference.name());
    let mut sentences = Vec::new();
    if model.contention < reference.variant.model.contention {
        sentences.push(contention(row, ran, other, &first.summary));
    }
    if !model.needs.time {
        sentences.push(without_time(ran, &first.summary, other));
    }
    if first.known.adaptive && model.contention < Contention::Predicted {
        sentences.push(match model.contention {
            Contention::Shared => {
                format!("The routing is adaptive: here it sees flows on links, in {other} bytes in queues.")
            }
            _ => "The routing is adaptive and not followed here: there are no queues that it could look at."
                .to_owned(),
        });
    }
    let programs_ask = ran.known.asked_above.as_ref().filter(|_| model.contention == Contention::Unseen);
    if let Some(above) = programs_ask {
        sentences.push(format!(
            "Messages above {above}, if there are any, ask first; here the sender goes on the moment its receiver has matched."
        ));
    }
    if model.needs.time && first.summary.verdict.state == State::Saturated {
        sentences.push(
            "Sources offer more than the network accepts: latencies depend on the length of the run."
                .to_owned(),
        );
    }
    if !ran.known.derived.is_empty() {
        let all: Vec<String> =
            ran.known.derived.iter().map(|(key, value)| format!("{key} {value}")).collect();
        sentences.push(format!("Its costs follow from [fabric] (means over pairs): {}.", all.join(", ")));
    }
    let params = model.about.params;
    let unread = reference.variant.left_out.iter().filter_map(|text| text.strip_prefix("[model] "));
    let own: Vec<&str> = unread.filter(|key| params.iter().any(|p| p.name == *key)).collect();
    if !own.is_empty() {
        sentences.push(format!("It goes by keys that {other} does not read: {}.", own.join(", ")));
    }
    sentences.extend(
        ran.known.warnings.iter().map(|warning| format!("The file contradicts its network: {warning}.")),
    );
    sentences
}

/// What the model does not see of messages that meet, and how much that was for the reference.
fn contention(row: &Row, ran: &Ran, other: &str, first: &Summary) -> String {
    let missed = waiting(first).map_or_else(String::new, |share| {
        format!(" In {other}, waiting is {} of a packet's latency.", percent(share))
    });
    match row.variant.model.contention {
        Contention::Predicted => {
            let hybrid = ran.summary.hybrid.as_ref();
            match hybrid.and_then(|h| h.predicted_share).filter(|share| *share > 0.0) {
                None => format!(
                    "Nothing was predicted: every packet took its path through the network, as in {other}."
                ),
                Some(share) => {
                    let within = hybrid.and_then(|h| h.error_estimate).map_or_else(String::new, |e| {
                        format!("; by its own estimate the mean latency is within {}", percent(e))
                    });
                    format!("A predictor stood in for the network {} of the time{within}.", percent(share))
                }
            }
        }
        Contention::Shared => format!(
            "Messages that meet share bandwidth, also those of one terminal, which {other} sends one after another; there are no queues, no head-of-line blocking, no credits.{missed}"
        ),
        Contention::Counted => {
            "It counts the messages of a level on each link as if all were sent at once: no sizes, no unequal links, nothing that evens out over time.".to_owned()
        }
        _ => format!("It sees no contention: no message waits for another in the network.{missed}"),
    }
}

fn without_time(ran: &Ran, first: &Summary, other: &str) -> String {
    let Some(fraction) = ran.summary.congestion.as_ref().and_then(|c| c.bandwidth_fraction) else {
        return "It has no time.".to_owned();
    };
    let fraction = percent(fraction);
    if is_full(first) {
        format!(
            "It has no time: its fraction of the peak bandwidth ({fraction}) stands beside what {other} accepts."
        )
    } else {
        format!(
            "It has no time. Its fraction of the peak bandwidth is {fraction}; the network of {other} is not full, so there is nothing to compare it with."
        )
    }
}

/// Share of their latency that packets wait: at sources, for links and buffers, for earlier chunks. None if it is not known or not worth a word.
fn waiting(summary: &Summary) -> Option<f64> {
    let parts = summary.latency_parts_ps?;
    let all: f64 = parts.to_array().iter().sum();
    Some((parts.source_queue + parts.hop_queue + parts.resequencing) / all).filter(|share| *share >= 0.0005)
}

/// Flags beside the state, each with its meaning. Contradictions of the file stand in words of their own.
fn flags(ran: &Ran) -> Vec<String> {
    let verdict = &ran.summary.verdict;
    let known = |flag: &str| {
        State::name(verdict.state) == flag || (flag == "contradicts-fabric" && !ran.known.warnings.is_empty())
    };
    let said = verdict.flags.iter().filter(|flag| !known(flag.as_str()));
    said.map(|flag| match FLAGS.iter().find(|(name, _)| name == flag) {
        Some((_, meaning)) => format!("Flag {flag}: {meaning}."),
        None => format!("Flag {flag}."),
    })
    .collect()
}
