//! The deadlock check of an experiment's routings, reported at the routing's name.

use crate::experiment::sections::Experiment;
use base::diag::{Diagnostic, Diagnostics, Place};
use fabric::deadlock;
use model::Run;

/// Runs the deadlock check; a routing that can deadlock or go astray is reported at its name.
pub fn check_deadlock(
    experiment: &Experiment,
    run: &dyn Run,
    diagnostics: &mut Diagnostics,
) -> Option<deadlock::Report> {
    let check = |fabric, routing| deadlock::check(fabric, routing, deadlock::DEFAULT_BUDGET);
    let report = check(run.fabric()?, run.routing()?);
    if !is_meant(&report, run.routing()?) {
        report_deadlock(experiment, &report, diagnostics);
    }
    let Some(change) = run.change() else { return Some(report) };
    let after = check(&change.fabric, change.routing.as_ref());
    if !is_meant(&after, change.routing.as_ref()) {
        report_deadlock(experiment, &after, diagnostics);
    }
    // The weaker of the two answers is reported.
    let sample = matches!(after, deadlock::Report::Free { exhaustive: false, .. });
    Some(if sample { after } else { report })
}

/// True for a cycle that the user asked for.
fn is_meant(report: &deadlock::Report, routing: &dyn fabric::routing::Routing) -> bool {
    matches!(report, deadlock::Report::Cycle(_)) && routing.facts().may_deadlock
}

/// The note about a cycle that the user asked for.
pub fn note(report: Option<&deadlock::Report>) -> Option<String> {
    let Some(deadlock::Report::Cycle(channels)) = report else { return None };
    let channels = channels.len();
    Some(format!(
        "note: the routing's virtual channels can deadlock, as it was asked to: {channels} of them wait for each other"
    ))
}

fn report_deadlock(experiment: &Experiment, report: &deadlock::Report, diagnostics: &mut Diagnostics) {
    let chosen = experiment.routing.as_ref().expect("a setup has a routing");
    let name = chosen.entry.about.name;
    let place = chosen.section.place("algorithm");
    match report {
        deadlock::Report::Free { .. } => {}
        deadlock::Report::Cycle(channels) => diagnostics.push(cycle(name, place, channels)),
        deadlock::Report::Astray(astray) => {
            let message = format!("routing \"{name}\" goes astray on this fabric: {astray}");
            diagnostics.push(Diagnostic::new(place, message));
        }
    }
}

/// Channels shown of a long cycle.
const CHANNELS_SHOWN: usize = 12;

fn cycle(name: &str, place: Place, channels: &[deadlock::Channel]) -> Diagnostic {
    let message = format!("routing \"{name}\" can deadlock: {} channels wait for each other", channels.len());
    let mut shown: Vec<String> = channels.iter().take(CHANNELS_SHOWN).map(ToString::to_string).collect();
    if channels.len() > CHANNELS_SHOWN {
        shown.push(format!("{} more", channels.len() - CHANNELS_SHOWN));
    }
    let list = format!("the cycle: {}, and again the first", shown.join(" -> "));
    Diagnostic::new(place, message).label("cyclic channel dependencies").help(list)
}
