//! `netloom run FILE`: simulate, print the summary, write the output directory.

use crate::{
    args::{Format, RunArgs},
    checkpoint::{self, Header},
    console::{Console, colour_wanted},
    execute::{execute_kept, exit_of},
    exit::Exit,
    failure::{Failure, Outcome},
    faults,
    keeper::{Intervals, Keeper},
    prepare::{Prepared, Wishes, prepare},
};
use fabric::deadlock::Report;
use jiff::Timestamp;
use model::{Finished, setup::Measure};
use results::{
    output::{Input, Manifest, OutputError, check_target, write_run},
    summary::Summary,
    text::{Style, render},
};
use std::{
    io::{Error, ErrorKind},
    path::Path,
};

/// Runs an experiment.
///
/// # Errors
/// If it cannot be read, run or stored. A deadlock or an ended limit is a result with its own exit status.
pub fn run(args: &RunArgs, console: &mut Console<'_>) -> Outcome {
    if let Some(dir) = &args.out {
        check_target(dir, args.force).map_err(|e| output_failure(&e))?;
        check_writable(dir)?;
        check_unfinished(dir, args.force)?;
    }
    let wishes = Wishes {
        threads: args.threads,
        memory: args.memory_limit,
        checkers: args.check,
        ..Wishes::default()
    };
    let prepared = prepare(&args.input, &wishes, console)?;
    if let Some(report @ Report::Free { exhaustive: false, .. }) = &prepared.routing {
        console.remark(&format!("note: routing: {report}"));
    }
    if let Some(faults) = faults::text(&prepared.setup) {
        console.remark(&format!("note: faults: {faults}"));
    }
    let started = Timestamp::now().to_string();
    let inputs = if args.out.is_some() { inputs(&prepared) } else { Vec::new() };
    let mut keeper = match &args.out {
        Some(dir) if prepared.setup.kind().is_kept() => {
            Some(keeper(dir, args, &prepared, &inputs, &started)?)
        }
        _ => None,
    };
    if args.out.is_none() && prepared.intervals != Intervals::default() {
        console.remark("note: checkpoints that [engine] asks for are written only with --out");
    }
    let finished = execute_kept(&prepared, console, keeper.as_mut(), None)?;
    let out = args.out.as_deref().map(|dir| (dir, args.force));
    conclude(&prepared, &finished, out, (started, inputs), args.format, console)
}

/// Stores what a run left and prints its summary.
///
/// # Errors
/// If it cannot be stored or printed.
pub fn conclude(
    prepared: &Prepared,
    finished: &Finished,
    out: Option<(&Path, bool)>,
    (started, inputs): (String, Vec<Input>),
    format: Format,
    console: &mut Console<'_>,
) -> Outcome {
    if let Some((dir, force)) = out {
        let manifest = manifest(prepared, finished, started, inputs);
        write_run(dir, force, &manifest, &finished.summary, &finished.tables)
            .map_err(|e| output_failure(&e))?;
        // The results are there: what would continue the run is of no more use.
        let _ = std::fs::remove_file(checkpoint::path_of(dir)?);
    } else if asks_for_tables(prepared) {
        console.remark("note: the tables that [output] asks for are written only with --out");
    }
    tell(&finished.summary, format, console)
}

/// Prints a summary; its verdict is the exit status.
///
/// # Errors
/// If it cannot be printed.
pub fn tell(summary: &Summary, format: Format, console: &mut Console<'_>) -> Outcome {
    let style = if console.out_terminal && colour_wanted() { Style::Ansi } else { Style::Plain };
    match format {
        Format::Text => console.print(&render(summary, style))?,
        Format::Json => console.print(&summary.to_json())?,
    }
    Ok(exit_of(summary.verdict.state))
}

fn asks_for_tables(prepared: &Prepared) -> bool {
    prepared.setup.measure() != Measure::default()
}

fn output_failure(error: &OutputError) -> Failure {
    let failure = Failure::new(Exit::Output, error.to_string());
    match error {
        OutputError::Exists(_) => failure.with_help("choose another --out, or replace it with --force"),
        OutputError::NotOurs(_) => {
            failure.with_help("choose another --out; --force replaces only earlier runs")
        }
        _ => failure,
    }
}

/// Finds out before a long run whether the directory can be made: makes and removes one beside it.
fn check_writable(dir: &Path) -> Result<(), Failure> {
    let here = Path::new(".");
    let above = |p: &Path| if p.as_os_str().is_empty() { here.to_owned() } else { p.to_owned() };
    let parent = dir.ancestors().skip(1).map(above).find(|p| p.exists()).unwrap_or_else(|| here.to_owned());
    let probe = parent.join(format!(".netloom-probe-{}", std::process::id()));
    let made = if parent.is_dir() {
        std::fs::create_dir(&probe).and_then(|()| std::fs::remove_dir(&probe))
    } else {
        Err(Error::from(ErrorKind::NotADirectory))
    };
    made.map_err(|e| Failure::new(Exit::Output, format!("cannot write in `{}`: {e}", parent.display())))
}

/// Refuses to lose the checkpoint of a run that did not end.
fn check_unfinished(dir: &Path, force: bool) -> Result<(), Failure> {
    let path = checkpoint::path_of(dir)?;
    if force || !path.exists() {
        return Ok(());
    }
    let message = format!("an unfinished run left its checkpoint `{}`", path.display());
    let help = format!("`netloom resume {}` goes on with it; --force begins anew", dir.display());
    Err(Failure::new(Exit::Output, message).with_help(help))
}

/// Who saves the run.
fn keeper(
    dir: &Path,
    args: &RunArgs,
    prepared: &Prepared,
    inputs: &[Input],
    started: &str,
) -> Result<Keeper, Failure> {
    let here = std::env::current_dir()
        .map_err(|e| Failure::new(Exit::Input, format!("cannot tell the present directory: {e}")))?;
    let header = Header {
        build: checkpoint::build_name(),
        file: (args.input.file.clone(), prepared.file.1.clone()),
        set: args.input.set.clone(),
        directory: here,
        inputs: inputs.to_vec(),
        partitions: 0,
        threads: args.threads,
        checkers: args.check,
        force: args.force,
        started: started.to_owned(),
        now: 0,
    };
    Ok(Keeper::new(checkpoint::path_of(dir)?, header, prepared.intervals))
}

fn manifest(prepared: &Prepared, finished: &Finished, started: String, inputs: Vec<Input>) -> Manifest {
    Manifest {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        revision: env!("NETLOOM_REVISION").to_owned(),
        fingerprint: finished.summary.fingerprint.clone(),
        seed: prepared.setup.seed(),
        experiment: prepared.experiment.clone(),
        inputs,
        host: host(),
        started,
        ended: Timestamp::now().to_string(),
        warnings: finished.summary.verdict.flags.clone(),
    }
}

/// Largest input file that is hashed.
const MAX_HASHED: u64 = 1 << 30;

/// The experiment file and the files that it names, as far as they are not too large to hash.
pub fn inputs(prepared: &Prepared) -> Vec<Input> {
    let mut inputs = vec![Input::new(prepared.file.0.as_str(), prepared.file.1.as_bytes())];
    let jobs = prepared.experiment["job"].as_array().into_iter().flatten();
    let sections = ["fabric", "routing", "hybrid"].map(|name| &prepared.experiment[name]);
    for path in sections.into_iter().chain(jobs).filter_map(|section| section["file"].as_str()) {
        let small = std::fs::metadata(path).is_ok_and(|m| m.len() <= MAX_HASHED);
        if let Some(bytes) = small.then(|| std::fs::read(path).ok()).flatten() {
            inputs.push(Input::new(path, &bytes));
        }
    }
    inputs
}

/// Name of the machine, where it tells.
fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| String::new(), |s| s.trim().to_owned())
}
