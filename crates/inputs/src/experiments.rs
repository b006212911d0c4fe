//! Experiment files, and files that are read for an experiment: messages, matrices, placements, predictors, fits, scenarios.

use crate::text;
use base::diag::Diagnostics;
use flow::scenarios;
use netloom::{
    Error, ErrorKind, Input, Registry, RunOptions, Silent,
    execute::execute,
    experiment,
    input::read_file,
    prepare::prepare_text,
    render,
    scenarios::{Wanted, run_all},
};
use std::path::{Path, PathBuf};

/// What an experiment's first line begins with that also has a value of `--set`.
const SET: &str = "#--set ";

/// An experiment: it is resolved, or refused with mistakes that can be drawn.
pub fn experiment(files: &[PathBuf]) -> Result<(), String> {
    let text = read_file(&files[0]).map_err(|e| text::of(&e))?;
    let name = files[0].display().to_string();
    let set: Vec<String> =
        text.lines().next().and_then(|line| line.strip_prefix(SET)).into_iter().map(str::to_owned).collect();
    let mut diagnostics = Diagnostics::default();
    let resolved = experiment::read(&Registry::standard(), &name, &text, &set, &mut diagnostics);
    if !diagnostics.is_empty() {
        let drawn = render::render(&diagnostics, false);
        assert!(drawn.contains("error: "), "mistakes are called errors: {drawn}");
        // A mistake in a value of `--set` stands in no file.
        return Err(if set.is_empty() { drawn } else { format!("{name}: {drawn}") });
    }
    let resolved = resolved.expect("nothing was wrong with it");
    drop(experiment::resolved::json(&resolved).to_string());
    Ok(())
}

/// Four terminals at a switch, for a microsecond.
pub const SMALL: &str = r#"
[fabric]
topology = "single-switch"
terminals = 4
link.terminal = { bandwidth = "12.5 GB/s", latency = "10 ns", credit_delay = "10 ns", vc_buffer = "8 KiB" }
[routing]
algorithm = "shortest-path"
"#;

/// Assembles an experiment that names a file, and runs it if that is asked for: what was taken can also be simulated.
fn run(more: &str, file: &Path, runs: bool) -> Result<(), String> {
    let name = file.display().to_string();
    let text = format!("{SMALL}{more}").replace("FILE", &name);
    let input = Input { file: "experiment".into(), set: Vec::new() };
    let done = prepare_text(&Registry::standard(), &input, text, &RunOptions::default(), &Silent)
        .and_then(|prepared| if runs { execute(&prepared, &Silent).map(drop) } else { Ok(()) });
    // What only the run finds out is said of the experiment as a whole: its inputs are not named one by one.
    done.map_err(|e| match e {
        Error::Experiment(_) => text::of(&e),
        Error::Message { kind, .. } if kind != ErrorKind::Internal => format!("{name}: {}", text::of(&e)),
        Error::Message { .. } => panic!("{e}"),
    })
}

const PACKET: &str = "[experiment]\nduration = \"1 us\"\n[model]\nkind = \"packet\"\npacket = \"512 B\"\nchunk = \"64 B\"\n[[job]]\nranks = 4\n";

/// A list of messages, a line each.
pub fn pairs(files: &[PathBuf]) -> Result<(), String> {
    run(&format!("{PACKET}workload = \"pairs\"\nfile = \"FILE\"\n"), &files[0], true)
}

/// A list of messages as a table.
pub fn pairs_csv(files: &[PathBuf]) -> Result<(), String> {
    run(&format!("{PACKET}workload = \"pairs\"\nformat = \"csv\"\nfile = \"FILE\"\n"), &files[0], true)
}

/// A connection matrix of htsim.
pub fn htsim(files: &[PathBuf]) -> Result<(), String> {
    run(&format!("{PACKET}workload = \"pairs\"\nformat = \"htsim\"\nfile = \"FILE\"\n"), &files[0], true)
}

/// A matrix of traffic.
pub fn matrix(files: &[PathBuf]) -> Result<(), String> {
    let job = "workload = \"matrix\"\nfile = \"FILE\"\nmessage = \"512 B\"\nload = 0.5\n";
    run(&format!("{PACKET}{job}"), &files[0], true)
}

/// A distribution of sizes of messages.
pub fn sizes(files: &[PathBuf]) -> Result<(), String> {
    let job = "workload = \"uniform\"\nsize_file = \"FILE\"\nload = 0.5\n";
    run(&format!("{PACKET}{job}"), &files[0], true)
}

/// Terminals of the ranks of a job.
pub fn placement(files: &[PathBuf]) -> Result<(), String> {
    let job = "workload = \"uniform\"\nmessage = \"512 B\"\nload = 0.5\nplacement = \"explicit\"\nplacement_file = \"FILE\"\n";
    run(&format!("{PACKET}{job}"), &files[0], true)
}

/// A predictor of hybrid runs that was trained elsewhere.
pub fn predictor(files: &[PathBuf]) -> Result<(), String> {
    let hybrid = "[experiment]\nduration = \"20 us\"\n[model]\nkind = \"hybrid\"\npacket = \"512 B\"\nchunk = \"64 B\"\n[hybrid]\npredictor = \"external\"\n\
                  file = \"FILE\"\ndirector = \"times\"\nswitch = [\"8 us\", \"16 us\"]\nwindow = \"4 us\"\n[[job]]\nworkload = \"uniform\"\nmessage = \"512 B\"\nload = 0.2\n";
    run(hybrid, &files[0], true)
}

/// Fits of protocols over links that lose packets.
pub fn fits(files: &[PathBuf]) -> Result<(), String> {
    let delay = "[experiment]\nuntil = \"workload-done\"\n[model]\nkind = \"delay\"\ncost = \"resilient\"\nprotocol = \"pnc\"\nevaluate = \"fit\"\nfit = \"FILE\"\n\
                 [[job]]\nworkload = \"ring\"\n";
    run(delay, &files[0], true)
}

/// Scenarios of another simulator, which become experiments and are run.
pub fn scenarios(files: &[PathBuf]) -> Result<(), String> {
    let text = read_file(&files[0]).map_err(|e| text::of(&e))?;
    let all = scenarios::read(&text).map_err(|e| format!("`{}`: {e}", files[0].display()))?;
    let folder = files[0].with_file_name("scenarios");
    let done = run_all(&all, &folder, &Wanted::default(), &Silent);
    done.map(drop).map_err(|e| text::of(&e))
}
