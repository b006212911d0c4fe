//! Whether the ranks of jobs come to their ends, told before anything is simulated (`workload::program::untimed`).

use model::contract::Run;
use serde_json::{Value as Json, json};
use workload::program::{Damage, Remark, file::Content, input::Input, lower::Options, untimed::Untimed};

/// What was found of the programs of an experiment's jobs.
pub struct Programs(Vec<(String, Result<Untimed, Damage>)>);

impl Programs {
    /// Reads the programs of a run's jobs; jobs without ranks' programs are left out.
    #[must_use]
    pub fn of(run: &dyn Run) -> Self {
        let of = |job: &model::setup::JobSetup| Some((job.name.clone(), Untimed::of(&**job.work.program()?)));
        Self(run.jobs().iter().filter_map(of).collect())
    }

    /// The program of a file, whose collectives become messages as they do unless another library is chosen.
    #[must_use]
    pub fn of_file(input: &Input<'_>, content: &Content) -> Self {
        let reported = |problems: Vec<base::param::Problem>| {
            Damage(problems.into_iter().next().map_or_else(String::new, |problem| problem.message))
        };
        let program = content.clone().program(input, Options::default()).map_err(reported);
        Self(vec![(String::new(), program.and_then(|program| Untimed::of(&*program)))])
    }

    /// True if the ranks of some job stop whatever the model: a run ends in a deadlock.
    #[must_use]
    pub fn stop(&self) -> bool {
        self.0.iter().any(|(_, found)| found.as_ref().is_ok_and(Untimed::stops))
    }

    /// True if a job's program cannot be read to its end: a run ends with the same error.
    #[must_use]
    pub fn damaged(&self) -> bool {
        self.0.iter().any(|(_, found)| found.is_err())
    }

    /// What was found, in sentences; of several jobs each with its name.
    #[must_use]
    pub fn found(&self) -> Vec<String> {
        let several = self.0.len() > 1;
        let said = |(name, found): &(String, Result<Untimed, Damage>)| {
            let lines = match found {
                Ok(found) => found.lines(),
                Err(Damage(message)) => vec![format!("WRONG: {message}")],
            };
            let name = if several { format!("{}: ", base::visible::name(name)) } else { String::new() };
            lines.into_iter().map(move |line| format!("{name}{line}")).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(said).collect()
    }

    /// The same as lines of a report, each with the name of its row, and whether the experiment can run.
    #[must_use]
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let names = std::iter::once("programs").chain(std::iter::repeat(""));
        let mut lines: Vec<(&str, String)> = names.zip(self.found()).collect();
        let remarks = self.0.iter().filter_map(|(_, found)| found.as_ref().ok()).flat_map(|f| &f.remarks);
        let dropped = remarks.filter(|remark| remark.flag == Remark::DROPPED);
        lines.extend(dropped.map(|remark| ("not used", remark.text.clone())));
        let wrong = self.0.iter().any(|(_, found)| found.as_ref().is_ok_and(Untimed::is_wrong));
        let verdict = match (self.stop(), wrong) {
            _ if self.damaged() => "this experiment cannot run: a program cannot be read",
            (true, _) => "this experiment can run, but ends in a deadlock of its ranks",
            (false, true) => "this experiment can run, but its programs are not whole",
            (false, false) => "this experiment can run",
        };
        lines.push(("verdict", verdict.to_owned()));
        lines
    }

    /// By job: a word for how its ranks end, and the sentences.
    #[must_use]
    pub fn json(&self) -> Json {
        let object = |(name, found): &(String, Result<Untimed, Damage>)| match found {
            Ok(found) => json!({"job": name, "ends": found.name(), "found": found.lines()}),
            Err(Damage(message)) => json!({"job": name, "ends": "not-looked-at", "found": [message]}),
        };
        self.0.iter().map(object).collect()
    }
}
