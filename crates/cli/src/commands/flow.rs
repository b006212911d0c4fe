//! `netloom flow scenarios`: experiments made from scenarios of another simulator, and how far their times are off.
//!
//! A scenario (see [`flow::scenarios`]) becomes a directory with `platform.json`, `pairs.txt` and an experiment for every set of rules
//! that has completion times. They are run as `netloom run` runs them.

use crate::{
    args::ScenarioArgs,
    console::Console,
    exit::{Exit, Outcome},
    terminal::Terminal,
};
use flow::scenarios;
use netloom::{
    Error, ErrorKind,
    base::scratch::Scratch,
    input::{MAX_FILE_OF_SCENARIOS, read_file_of},
    scenarios::{Line, Wanted, run_all},
};
use serde_json::{Value as Json, json};
use std::{fmt::Write as _, io, path::Path};

/// Writes and runs the scenarios of a file.
///
/// # Errors
/// If the file cannot be read, experiments cannot be written, or one of them fails.
pub fn scenarios(args: &ScenarioArgs, console: &mut Console<'_>) -> Outcome {
    let text = read_file_of(&args.file, MAX_FILE_OF_SCENARIOS)?;
    let reported = |message| Error::new(ErrorKind::Input, format!("`{}`: {message}", args.file.display()));
    let mut all = scenarios::read(&text).map_err(reported)?;
    if let Some(name) = &args.only {
        all.retain(|s| s.name == *name);
        if all.is_empty() {
            return Err(Error::new(ErrorKind::Usage, format!("there is no scenario `{name}`")));
        }
    }
    let unmade = |e: io::Error| Error::new(ErrorKind::Output, format!("cannot make a directory: {e}"));
    let hidden = args.out.is_none().then(|| Scratch::new("scenarios").map_err(unmade)).transpose()?;
    let directory = args.out.as_deref().or(hidden.as_ref().map(Scratch::path)).unwrap_or(Path::new(""));
    let wanted = Wanted { rules: args.rules.clone(), no_run: args.no_run };
    let lines = run_all(&all, directory, &wanted, &Terminal::new(console));
    drop(hidden);
    let lines = lines?;
    console.answer(args.format, &table(&lines), &object(&lines))?;
    Ok(if lines.iter().all(|l| l.within) { Exit::Done } else { Exit::Differences })
}

fn table(lines: &[Line]) -> String {
    let wide = lines.iter().map(|l| l.scenario.len()).max().unwrap_or(0).max(8);
    let mut text = format!(
        "{:wide$}  {:13} {:>6}  {:>11} {:>7}  {:>9}\n",
        "scenario", "rules", "flows", "worst error", "of flow", "tolerance"
    );
    for l in lines {
        let mark = if l.within { "" } else { "  BEYOND" };
        let _ = writeln!(
            text,
            "{:wide$}  {:13} {:>6}  {:>11.2e} {:>7}  {:>9.0e}{mark}",
            l.scenario, l.rules, l.flows, l.worst.0, l.worst.1, l.tolerance
        );
    }
    let beyond = lines.iter().filter(|l| !l.within).count();
    let _ = writeln!(text, "{} experiments, {beyond} beyond their tolerance", lines.len());
    text
}

fn object(lines: &[Line]) -> Json {
    let rows = lines.iter().map(|l| {
        json!({
            "scenario": l.scenario, "rules": l.rules, "flows": l.flows, "worst_error": l.worst.0,
            "worst_flow": l.worst.1, "tolerance": l.tolerance, "within": l.within,
        })
    });
    json!({"experiments": rows.collect::<Vec<_>>(), "within": lines.iter().all(|l| l.within)})
}
