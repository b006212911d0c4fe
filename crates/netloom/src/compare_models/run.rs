//! Runs an experiment on one model after the other.

use super::{
    outcome::{ModelComparison, Row},
    ran::{Known, Ran},
    variant::variants,
};
use crate::{
    error::{Error, ErrorKind},
    execute::execute,
    input::{Input, read_experiment},
    options::RunOptions,
    prepare::{Prepared, prepare_text},
    registry::Registry,
    unread,
    watcher::Watcher,
};
use base::{sorted::SortedSet, units::parse_bytes, visible};
use model::Progress;
use std::sync::Mutex;

/// The same experiment on every model of the registry, one after the other, so that their times can be compared.
///
/// # Errors
/// If the file is no experiment or cannot be read, or if its own model refuses it and fewer than two others carry it. That a model does not carry the
/// experiment is no error: its row says why.
pub fn compare_models(
    registry: &Registry,
    input: &Input,
    options: &RunOptions,
    watcher: &dyn Watcher,
) -> Result<ModelComparison, Error> {
    let text = read_experiment(&input.file)?;
    let remarks = Mutex::default();
    let mut refused = None;
    let mut rows = Vec::new();
    for variant in variants(registry, input, &text)? {
        let named = Named { name: variant.model.about.name, watcher, remarks: &remarks };
        let of = Input { set: [&input.set[..], &variant.set].concat(), ..input.clone() };
        let prepared = prepare_text(registry, &of, text.clone(), options, &named);
        let outcome = match prepared.and_then(|prepared| ran(&prepared, &named)) {
            Err(failure) if failure.kind() == ErrorKind::Interrupted => return Err(failure),
            Err(failure) => {
                let reason = reason(&failure);
                refused = refused.or(Some(failure).filter(|_| variant.own));
                Err(reason)
            }
            Ok(ran) => Ok(Box::new(ran)),
        };
        rows.push(Row { variant, outcome });
    }
    match refused.filter(|_| rows.iter().filter(|row| row.outcome.is_ok()).count() < 2) {
        Some(failure) => Err(failure),
        None => Ok(ModelComparison::new(input, rows)),
    }
}

fn ran(prepared: &Prepared, watcher: &dyn Watcher) -> Result<Ran, Error> {
    let parameters = prepared.run.parameters();
    let derived = parameters.iter().filter(|p| p.derived);
    let eager = parameters.iter().find(|p| p.key == "eager").map(|p| p.values[1].clone());
    let asks = |above: u64| {
        let programs = prepared.run.jobs().iter().filter_map(|job| job.work.program());
        programs.map(|p| p.largest_message()).any(|largest| largest.is_none_or(|bytes| bytes > above))
    };
    let known = Known {
        adaptive: prepared.run.routing().is_some_and(|r| !r.facts().oblivious),
        asked_above: eager.filter(|text| parse_bytes(text).is_ok_and(asks)),
        derived: derived.map(|p| (p.key, p.values[1].clone())).collect(),
        warnings: parameters.iter().filter_map(|p| p.warning.clone()).collect(),
    };
    Ok(Ran { summary: execute(prepared, watcher)?.summary, known })
}

/// Why a model does not carry the experiment, in the words of its diagnostics. Their places are those of overrides that the user did not write.
fn reason(failure: &Error) -> String {
    let words = match failure {
        Error::Experiment(all) => {
            let messages: Vec<&str> = all.sorted().iter().map(|d| d.message.as_str()).collect();
            messages.join("; ")
        }
        Error::Message { message, .. } => message.clone(),
    };
    visible::name(&words).into_owned()
}

/// Says of which model it speaks. What several models would remark is said once.
struct Named<'a> {
    name: &'static str,
    watcher: &'a dyn Watcher,
    remarks: &'a Mutex<SortedSet<String>>,
}

impl Watcher for Named<'_> {
    fn phase(&self, what: &str) {
        self.watcher.phase(&format!("{}: {what}", self.name));
    }

    fn progress(&self, at: &Progress) {
        self.watcher.progress(at);
    }

    fn remark(&self, text: &str) {
        // Models are exchanged on purpose: which keys each leaves alone stands in the comparison.
        if text.contains(unread::NO_EFFECT) {
            return;
        }
        if self.remarks.lock().is_ok_and(|mut known| known.insert(text.to_owned())) {
            self.watcher.remark(text);
        }
    }

    fn ended(&self) {
        self.watcher.ended();
    }
}
