//! The numbers that models are compared by, and their errors against the reference.

use super::ran::Ran;
use base::{
    sorted::SortedMap,
    time::{Ps, display},
};
use results::{
    numbers::numbers,
    summary::{State, Summary},
};

/// Accepted traffic as a fraction of the bandwidth.
pub const ACCEPTED: &str = "throughput.accepted_fraction";

/// Mean latency of messages.
pub const MESSAGE_LATENCY: &str = "message_latency_ps.mean";

/// Mean latency of packets.
pub const PACKET_LATENCY: &str = "latency_ps.mean";

/// End of a run without makespans.
const END: &str = "simulated_ps";

/// Most makespans that people are shown.
const SHOWN: usize = 3;

/// A number of summaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Its name: the path in `summary.json`.
    pub name: String,
    /// The same in words.
    pub title: String,
    /// True if it stands in the table for people.
    pub shown: bool,
}

/// Its values, in the order of the runs; none where a model does not have it.
pub type Values = Vec<Option<f64>>;

/// What at least two runs have, with their values.
#[must_use]
pub fn measures(runs: &[&Ran]) -> Vec<(Measure, Values)> {
    let all: Vec<SortedMap<String, f64>> =
        runs.iter().map(|ran| numbers(&ran.summary).into_iter().collect()).collect();
    let jobs: Vec<&str> =
        runs.first().map_or_else(Vec::new, |r| r.summary.jobs.iter().map(|j| &*j.name).collect());
    let mut found = Vec::new();
    let mut add = |name: &str, title: String, shown: bool| {
        let values: Values = runs
            .iter()
            .zip(&all)
            .map(|(ran, all)| {
                all.get(name).copied().or_else(|| stands_for(name, &ran.summary, &runs[0].summary))
            })
            .collect();
        let two = values.iter().flatten().count() > 1;
        if two {
            found.push((Measure { name: name.to_owned(), title, shown }, values));
        }
        two
    };
    let mut makespans = 0;
    for name in &jobs {
        let title = if jobs.len() == 1 { "makespan".to_owned() } else { format!("makespan {name}") };
        makespans += usize::from(add(&format!("jobs.{name}.makespan_ps"), title, makespans < SHOWN));
    }
    let ends = runs.first().is_some_and(|r| !r.summary.experiment["experiment"]["until"].is_null());
    let end = makespans == 0 && ends && add(END, "end".to_owned(), true);
    let messages = add(MESSAGE_LATENCY, "message latency".to_owned(), true);
    add(PACKET_LATENCY, "packet latency".to_owned(), !messages);
    add(ACCEPTED, "accepted".to_owned(), makespans == 0 && !end);
    found
}

/// What a model without time has in place of a number: its fraction of the peak bandwidth for what the network accepts, where that is less than
/// what is offered.
fn stands_for(name: &str, summary: &Summary, reference: &Summary) -> Option<f64> {
    summary.congestion.as_ref().filter(|_| name == ACCEPTED && is_full(reference))?.bandwidth_fraction
}

/// True if the network accepts all it can: sources offer more, or as much as their links carry and that arrives.
#[must_use]
pub fn is_full(summary: &Summary) -> bool {
    summary.throughput.is_some_and(|t| {
        let arrives = t.offered_fraction.is_some_and(|o| o >= 1.0 && t.accepted_fraction >= 0.9 * o);
        summary.verdict.state == State::Saturated || arrives
    })
}

/// True if its numbers describe all of the experiment.
#[must_use]
pub fn finished(summary: &Summary) -> bool {
    summary.verdict.state < State::Incomplete
}

/// By how much a value is off, relative to the reference's and with its sign; none if that has no meaning.
#[must_use]
pub fn error(value: f64, reference: f64) -> Option<f64> {
    let off = value - reference;
    let relative = if off == 0.0 { 0.0 } else { off / reference.abs() };
    Some(relative).filter(|r| r.is_finite())
}

/// Processor seconds of a run, or elapsed ones where nobody knows.
#[must_use]
pub fn seconds(summary: &Summary) -> Option<f64> {
    summary.performance.as_ref().map(|p| p.cpu_s.unwrap_or(p.wall_s))
}

impl Measure {
    /// A value for people: a time with its unit, or per cent.
    #[must_use]
    pub fn print(&self, value: f64) -> String {
        if self.name == ACCEPTED { percent(value) } else { display(value.round() as Ps) }
    }
}

/// A fraction as people read it.
#[must_use]
pub fn percent(fraction: f64) -> String {
    format!("{:.1} %", fraction * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_signs_and_meaning() {
        assert_eq!((error(90.0, 100.0), error(0.0, 0.0)), (Some(-0.1), Some(0.0)));
        assert_eq!(error(1.0, 0.0), None);
    }
}
