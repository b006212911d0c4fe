//! `netloom portals cc` and `netloom portals run`: real Portals 4 programs on a simulated machine.

use crate::{
    args::{Dialect, Format, Input, PortalsCcArgs, PortalsCommand, PortalsReplayArgs, PortalsRunArgs},
    console::Console,
    draft::Draft,
    exit::Exit,
    failure::{Failure, Outcome},
};
use base::time::{self, Ps};
use portals::{
    HEADERS,
    core::types::Limits,
    machine::Machine,
    record::{Record, Recorder, Trailer},
    replay::{self, Replayed},
    runtime::{self, Program, Report, Status, loader::Library, world::Sink},
};
use serde_json::{Value as Json, json};
use std::{
    cell::RefCell,
    fs,
    path::{Path, PathBuf},
    process::Command as Process,
    rc::Rc,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

pub mod machine;
mod told;

use machine::machine_of;
use told::{sink, state, stuck, tell};

/// Runs one of the commands about Portals programs.
///
/// # Errors
/// If a program cannot be compiled, loaded or run to its end.
pub fn portals(command: &PortalsCommand, console: &mut Console<'_>) -> Outcome {
    match command {
        PortalsCommand::Cc(args) => cc(args),
        PortalsCommand::Run(args) => run(args, console),
        PortalsCommand::Replay(args) => again(args, console),
    }
}

/// Directories made so far.
static SCRATCHES: AtomicU32 = AtomicU32::new(0);

/// A directory of this process that is removed at the end. No two have one name: what was loaded from a name once is not loaded from it again.
struct Scratch(PathBuf);

impl Scratch {
    fn new(what: &str) -> Result<Self, Failure> {
        let shared = Path::new("/dev/shm");
        let parent = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
        let number = SCRATCHES.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("netloom-{what}-{}-{number}", std::process::id()));
        fs::create_dir_all(&path)
            .map_err(|e| Failure::new(Exit::Output, format!("cannot make `{}`: {e}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Calls the C compiler for a shared object that binds to its own functions first and leaves the rest to be found later.
fn cc(args: &PortalsCcArgs) -> Outcome {
    compile(&args.arguments, args.dialect).map(|()| Exit::Done)
}

fn compile(arguments: &[String], dialect: Dialect) -> Result<(), Failure> {
    let headers = Scratch::new("headers")?;
    for (name, text) in HEADERS {
        let path = headers.0.join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::write(&path, text))
            .map_err(|e| Failure::new(Exit::Output, format!("cannot write `{}`: {e}", path.display())))?;
    }
    let mut dirs = vec![headers.0.clone()];
    if dialect == Dialect::Bull {
        dirs.insert(0, headers.0.join("bull"));
    }
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Process::new(&compiler)
        .args(["-shared", "-fPIC", "-g", "-Wl,-z,lazy", "-Wl,-Bsymbolic"])
        .args(dirs.iter().flat_map(|d| [Path::new("-I"), d.as_path()]))
        .args(arguments)
        .status()
        .map_err(|e| {
            let help = "install a C compiler, or name one in the environment's CC";
            Failure::new(Exit::Input, format!("cannot run `{compiler}`: {e}")).with_help(help)
        })?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(Exit::Input, format!("`{compiler}` refused the program")))
    }
}

fn run(args: &PortalsRunArgs, console: &mut Console<'_>) -> Outcome {
    let draft = args.record.as_deref().map(|to| Draft::new(to, args.force)).transpose()?;
    let input = Input { file: args.fabric.clone(), set: args.set.clone() };
    let machine = machine_of(&input, args.ranks, console)?;
    let path = &args.program[0];
    let bytes =
        fs::read(path).map_err(|e| Failure::new(Exit::Input, format!("cannot read `{path}`: {e}")))?;
    let private: Result<Vec<Library>, Failure> = args.private.iter().map(|path| library(path)).collect();
    let private = private?;
    let recorder = draft.as_ref().map(|d| recorder(d, args, machine.1.ranks_per_node)).transpose()?;
    let sinks = (sink(args), recorder);
    let report = execute(machine, args.ranks, (&args.program, &bytes, &private, args.stack), sinks)?;
    let outcome = tell(&report, args, console);
    let kept = draft.map_or(Ok(()), |draft| {
        report.recorded.clone().and_then(|()| draft.keep().map_err(|e| format!("it cannot be renamed: {e}")))
    });
    match (kept, outcome) {
        (Ok(()), outcome) => outcome,
        (Err(why), Ok(_)) => Err(Failure::new(Exit::Output, no_record(args, &why))),
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

fn recorder(draft: &Draft, args: &PortalsRunArgs, ranks_per_node: u32) -> Result<Recorder, Failure> {
    let to = draft.part();
    let cannot = |e| Failure::new(Exit::Output, format!("cannot write `{}`: {e}", to.display()));
    let file = fs::File::create(to).map_err(cannot)?;
    let file = Box::new(std::io::BufWriter::new(file));
    Recorder::new(file, &args.program.join(" "), args.ranks, ranks_per_node).map_err(cannot)
}

/// Replays a record.
fn again(args: &PortalsReplayArgs, console: &mut Console<'_>) -> Outcome {
    let name = args.record.display().to_string();
    let file = fs::File::open(&args.record)
        .map_err(|e| Failure::new(Exit::Input, format!("cannot read `{name}`: {e}")))?;
    let cannot = |why: String| Failure::new(Exit::Input, format!("cannot replay `{name}`: {why}"));
    let record = Record::open(Box::new(std::io::BufReader::new(file))).map_err(cannot)?;
    let input = Input { file: args.fabric.clone(), set: args.set.clone() };
    let (network, params) = machine_of(&input, record.trailer.ranks.len() as u32, console)?;
    let then = record.trailer.clone();
    let now = replay::run(record, network, params).map_err(cannot)?;
    let failure = stuck(&now.waiting, now.limited, false);
    let told = match args.format {
        Format::Text => console.print(&text(&then, &now, args.ranks)),
        Format::Json => console.print_json(&object((&then, &now), args.ranks, state(failure.as_ref()))),
    };
    failure.map_or(told.map(|()| Exit::Done), Err)
}

/// How many ranks end at the picosecond at which they ended.
fn same(then: &Trailer, now: &Replayed) -> usize {
    then.ranks.iter().zip(&now.ended).filter(|(a, b)| a.time == **b).count()
}

fn text(then: &Trailer, now: &Replayed, ranks: bool) -> String {
    let mut text = format!("{}: {} ranks\n", then.program, then.ranks.len());
    let line = |what: &str, time: Ps, messages: (u64, u64)| {
        format!("{what} {}: {} messages, {} B on the network\n", time::display(time), messages.0, messages.1)
    };
    text += &line("recorded", then.time, then.messages);
    text += &line("replayed", now.time, (now.counts.messages, now.counts.bytes));
    let ends = |t: Option<Ps>| t.map_or("never".to_owned(), |t| format!("{t} ps"));
    text += &format!("{} of {} ranks end at the same picosecond\n", same(then, now), now.ended.len());
    for (rank, (then, now)) in then.ranks.iter().zip(&now.ended).enumerate().filter(|_| ranks) {
        text += &format!("rank {rank} ended at {}, replayed {}\n", ends(then.time), ends(*now));
    }
    text
}

fn object((then, now): (&Trailer, &Replayed), ranks: bool, state: &str) -> Json {
    let whole = |time: Ps, messages: (u64, u64)| json!({"simulated_ps": time, "messages": messages.0, "bytes": messages.1});
    let mut object = json!({
        "program": then.program, "state": state,
        "recorded": whole(then.time, then.messages),
        "replayed": whole(now.time, (now.counts.messages, now.counts.bytes)),
        "ranks": now.ended.len(), "ranks_as_recorded": same(then, now), "waiting": now.waiting,
    });
    if ranks {
        let pairs = then.ranks.iter().zip(&now.ended);
        object["ends"] = pairs.map(|(a, b)| json!({"recorded_ps": a.time, "replayed_ps": b})).collect();
    }
    object
}

/// A library, by the name that programs need it by.
fn library(path: &Path) -> Result<Library, Failure> {
    let bytes = fs::read(path)
        .map_err(|e| Failure::new(Exit::Input, format!("cannot read `{}`: {e}", path.display())))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok((name, bytes))
}

/// Compiles a program, runs it on two ranks and gives what it printed and how long the run took on this machine; for studies.
///
/// # Errors
/// If it cannot be compiled or run, or a rank fails.
pub fn output_of(
    source: &Path,
    arguments: &[String],
    input: &Input,
    console: &Console<'_>,
) -> Result<(String, Duration), Failure> {
    let made = Scratch::new("program")?;
    let binary = made.0.join("program").display().to_string();
    compile(
        &["-O2".to_owned(), source.display().to_string(), "-o".to_owned(), binary.clone()],
        Dialect::Sandia,
    )?;
    let machine = machine_of(input, 2, console)?;
    let bytes =
        fs::read(&binary).map_err(|e| Failure::new(Exit::Input, format!("cannot read `{binary}`: {e}")))?;
    let text = Rc::new(RefCell::new(Vec::new()));
    let taken = Rc::clone(&text);
    let sink: Sink = Box::new(move |_, error, bytes| {
        if !error {
            taken.borrow_mut().extend_from_slice(bytes);
        }
    });
    let program: Vec<String> = std::iter::once(binary).chain(arguments.iter().cloned()).collect();
    let begin = Instant::now();
    let report = execute(machine, 2, (&program, &bytes, &[], 1 << 20), (sink, None))?;
    let took = begin.elapsed();
    if report.ranks.iter().any(|r| *r != Status::Exited(0)) {
        let message = format!("`{}` failed: {:?} {:?}", source.display(), report.ranks, report.waiting);
        return Err(Failure::new(Exit::Program, message));
    }
    let text = String::from_utf8_lossy(&text.borrow()).into_owned();
    Ok((text, took))
}

fn execute(
    (net, params): machine::Machine,
    ranks: u32,
    (arguments, bytes, private, stack): (&[String], &[u8], &[Library], usize),
    sinks: (Sink, Option<Recorder>),
) -> Result<Report, Failure> {
    let refuse = |message: String| Failure::new(Exit::Experiment, message);
    let machine = Machine::new(net, params, ranks, &Limits::default()).map_err(refuse)?;
    let copies = Scratch::new("ranks")?;
    let program = Program { bytes, private, arguments, directory: &copies.0, stack };
    let name = &arguments[0];
    runtime::run(machine, &program, &runtime::names(), sinks).map_err(|message| {
        let help = "programs are shared objects: compile them with `netloom portals cc`";
        Failure::new(Exit::Input, format!("cannot load `{name}`: {message}")).with_help(help)
    })
}
