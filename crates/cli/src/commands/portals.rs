//! `netloom portals cc`, `run`, `replay` and `sdk`: real Portals 4 programs on a simulated machine.

use crate::{
    args::{self, Format, PortalsCcArgs, PortalsCommand, PortalsReplayArgs, PortalsRunArgs},
    console::Console,
    exit::{Exit, Outcome},
    terminal::Terminal,
};
use base::input::{open, read};
use base::time::{self, Ps};
use netloom::{
    Error, ErrorKind, Input, Registry, RunOptions, kit,
    part_file::PartFile,
    prepare::machine_of,
    programs::{Dialect, Loaded, compile, execute, sound},
};
use portals::{
    record::{Record, Recorder, Trailer},
    replay::{self, Replayed},
    runtime::loader::Library,
};
use serde_json::{Value as Json, json};
use std::{fs, path::Path};

mod outcome;

use outcome::{print_outcome, sink, state, stuck};

/// Runs one of the commands about Portals programs.
///
/// # Errors
/// If a program cannot be compiled, loaded or run to its end.
pub fn portals(command: &PortalsCommand, console: &mut Console<'_>) -> Outcome {
    match command {
        PortalsCommand::Cc(args) => cc(args, console),
        PortalsCommand::Run(args) => run(args, console),
        PortalsCommand::Replay(args) => again(args, console),
        PortalsCommand::Sdk(args) => kit::make(&args.directory, args.force).map(|()| Exit::Done),
    }
}

/// Calls the C compiler for a shared object that binds to its own functions first and leaves the rest to be found later.
fn cc(args: &PortalsCcArgs, console: &Console<'_>) -> Outcome {
    let dialect = match args.dialect {
        args::Dialect::Sandia => Dialect::Sandia,
        args::Dialect::Bull => Dialect::Bull,
    };
    // In front of the compiler's arguments `-v` was taken for ours; it asks both of us what is done.
    let asked = console.manner.verbose.then(|| "-v".to_owned());
    let arguments: Vec<String> = asked.into_iter().chain(args.arguments.iter().cloned()).collect();
    compile(&arguments, dialect).map(|()| Exit::Done)
}

fn run(args: &PortalsRunArgs, console: &mut Console<'_>) -> Outcome {
    let part_file = args.record.as_deref().map(|to| PartFile::new(to, args.force)).transpose()?;
    let input = Input { file: args.fabric.clone(), set: args.set.clone() };
    let mut machine = machine_of(
        &Registry::standard(),
        &input,
        args.ranks,
        &RunOptions::default(),
        &Terminal::new(console),
    )?;
    machine.1.check = args.check;
    let path = &args.program[0];
    let bytes = read(path).map_err(|e| Error::new(ErrorKind::Input, format!("cannot read `{path}`: {e}")))?;
    let private = args.private.iter().map(|path| library(path)).collect::<Result<Vec<Library>, Error>>()?;
    let recorder = part_file.as_ref().map(|d| recorder(d, args, machine.1.ranks_per_node)).transpose()?;
    let loaded = Loaded {
        arguments: &args.program,
        bytes: &bytes,
        private: &private,
        stack: args.stack,
        host_limit: args.host_limit,
    };
    let report = execute(machine, args.ranks, &loaded, sink(args), recorder)?;
    sound(&report.faults)?;
    let outcome = print_outcome(&report, args, console);
    let kept = part_file.map_or(Ok(()), |part_file| {
        report
            .recorded
            .clone()
            .and_then(|()| part_file.keep().map_err(|e| format!("it cannot be renamed: {e}")))
    });
    match (kept, outcome) {
        (Ok(()), outcome) => outcome,
        (Err(why), Ok(_)) => Err(Error::new(ErrorKind::Output, no_record(args, &why))),
        (Err(why), Err(graver)) => {
            console.remark(&format!("note: {}", no_record(args, &why)));
            Err(graver)
        }
    }
}

fn no_record(args: &PortalsRunArgs, why: &str) -> String {
    let name = args.record.as_ref().map_or_else(String::new, |to| to.display().to_string());
    format!("there is no record `{name}`: {why}")
}

fn recorder(part_file: &PartFile, args: &PortalsRunArgs, ranks_per_node: u32) -> Result<Recorder, Error> {
    let to = part_file.part();
    let cannot = |e| Error::new(ErrorKind::Output, format!("cannot write `{}`: {e}", to.display()));
    let file = fs::File::create(to).map_err(cannot)?;
    let file = Box::new(std::io::BufWriter::new(file));
    Recorder::new(file, &args.program.join(" "), args.ranks, ranks_per_node).map_err(cannot)
}

/// Replays a record.
fn again(args: &PortalsReplayArgs, console: &mut Console<'_>) -> Outcome {
    let name = args.record.display().to_string();
    let file =
        open(&args.record).map_err(|e| Error::new(ErrorKind::Input, format!("cannot read `{name}`: {e}")))?;
    let cannot = |why: String| Error::new(ErrorKind::Input, format!("cannot replay `{name}`: {why}"));
    let record = Record::open(Box::new(std::io::BufReader::new(file))).map_err(cannot)?;
    let input = Input { file: args.fabric.clone(), set: args.set.clone() };
    let (network, mut params) = machine_of(
        &Registry::standard(),
        &input,
        record.trailer.ranks.len() as u32,
        &RunOptions::default(),
        &Terminal::new(console),
    )?;
    params.check = args.check;
    let then = record.trailer.clone();
    let now = replay::run(record, network, params).map_err(cannot)?;
    sound(&now.faults)?;
    let failure = stuck(&now.waiting, now.limited, false);
    let outcome = match args.format {
        Format::Text => console.print(&text(&then, &now, args.ranks)),
        Format::Json => console.print_json(&object(&then, &now, args.ranks, state(failure.as_ref()))),
    };
    failure.map_or(outcome.map(|()| Exit::Done), Err)
}

fn text(then: &Trailer, now: &Replayed, ranks: bool) -> String {
    let mut text = format!("{}: {} ranks\n", then.program, then.ranks.len());
    let line = |what: &str, time: Ps, messages: (u64, u64)| {
        format!("{what} {}: {} messages, {} B on the network\n", time::display(time), messages.0, messages.1)
    };
    text += &line("recorded", then.time, then.messages);
    text += &line("replayed", now.time, (now.counts.messages, now.counts.bytes));
    let ends = |t: Option<Ps>| t.map_or("never".to_owned(), |t| format!("{t} ps"));
    text += &format!("{} of {} ranks end at the same picosecond\n", now.as_recorded(then), now.ended.len());
    for (rank, (then, now)) in then.ranks.iter().zip(&now.ended).enumerate().filter(|_| ranks) {
        text += &format!("rank {rank} ended at {}, replayed {}\n", ends(then.time), ends(*now));
    }
    text
}

fn object(then: &Trailer, now: &Replayed, ranks: bool, state: &str) -> Json {
    let whole = |time: Ps, messages: (u64, u64)| json!({"simulated_ps": time, "messages": messages.0, "bytes": messages.1});
    let mut object = json!({
        "program": then.program, "state": state,
        "recorded": whole(then.time, then.messages),
        "replayed": whole(now.time, (now.counts.messages, now.counts.bytes)),
        "ranks": now.ended.len(), "ranks_as_recorded": now.as_recorded(then), "waiting": now.waiting,
    });
    if ranks {
        let pairs = then.ranks.iter().zip(&now.ended);
        object["ends"] = pairs.map(|(a, b)| json!({"recorded_ps": a.time, "replayed_ps": b})).collect();
    }
    object
}

/// A library, by the name that programs need it by.
fn library(path: &Path) -> Result<Library, Error> {
    let bytes = read(path)
        .map_err(|e| Error::new(ErrorKind::Input, format!("cannot read `{}`: {e}", path.display())))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok((name, bytes))
}
