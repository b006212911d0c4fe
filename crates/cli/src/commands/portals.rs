//! `netloom portals cc` and `netloom portals run`: real Portals 4 programs on a simulated machine.

use crate::{
    args::{Input, PortalsCcArgs, PortalsCommand, PortalsReplayArgs, PortalsRunArgs},
    assemble,
    console::Console,
    deadlocks,
    exit::Exit,
    experiment,
    failure::{Failure, Outcome},
    prepare::{Wishes, read_file},
    stages::Stages,
};
use base::{
    diag::Diagnostics,
    time::{self, Ps},
};
use model::AnySetup;
use portals::{
    HEADERS,
    core::types::Limits,
    machine::Machine,
    net,
    nic::Params,
    record::{Record, Recorder},
    replay,
    runtime::{self, Program, Report, Status, world::Sink},
};
use std::{
    cell::RefCell,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command as Process,
    rc::Rc,
    time::{Duration, Instant},
};

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

/// A directory of this process that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(what: &str) -> Result<Self, Failure> {
        let shared = Path::new("/dev/shm");
        let parent = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
        let path = parent.join(format!("netloom-{what}-{}", std::process::id()));
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
    compile(&args.arguments).map(|()| Exit::Done)
}

fn compile(arguments: &[String]) -> Result<(), Failure> {
    let headers = Scratch::new("headers")?;
    for (name, text) in HEADERS {
        let path = headers.0.join(name);
        fs::write(&path, text)
            .map_err(|e| Failure::new(Exit::Output, format!("cannot write `{}`: {e}", path.display())))?;
    }
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Process::new(&compiler)
        .args(["-shared", "-fPIC", "-g", "-Wl,-z,lazy", "-Wl,-Bsymbolic", "-I"])
        .arg(&headers.0)
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

/// Network and parameters of the machine that an experiment describes.
///
/// # Errors
/// If the file cannot be read, has mistakes, or names a model that does not carry Portals programs.
pub fn machine_of(input: &Input, console: &Console<'_>) -> Result<(AnySetup, Params), Failure> {
    let text = read_file(&input.file)?;
    let name = input.file.display().to_string();
    let stages = Stages::new(console.err_terminal);
    let mut diagnostics = Diagnostics::default();
    let told = |diagnostics| Failure::Experiment(Box::new(diagnostics));
    let Some(experiment) = experiment::read(&name, &text, &input.set, &mut diagnostics) else {
        return Err(told(diagnostics));
    };
    let setup =
        assemble::assemble(&experiment, &Wishes::default(), (&stages, &|_, _| Ok(())), &mut diagnostics)?;
    let (Some(setup), true) = (setup, diagnostics.is_empty()) else { return Err(told(diagnostics)) };
    let Some(section) = &experiment.portals else {
        let help = "add [portals]; its keys have defaults, those of BXI";
        let message =
            format!("`{name}` has no section [portals]: it describes no machine for Portals programs");
        return Err(Failure::new(Exit::Experiment, message).with_help(help));
    };
    deadlocks::check_deadlock(&experiment, &setup, &mut diagnostics);
    if !diagnostics.is_empty() {
        return Err(told(diagnostics));
    }
    Ok((setup, Params::from_values(&section.values)))
}

fn run(args: &PortalsRunArgs, console: &mut Console<'_>) -> Outcome {
    let input = Input { file: args.fabric.clone(), set: args.set.clone() };
    let (setup, params) = machine_of(&input, console)?;
    let path = &args.program[0];
    let bytes =
        fs::read(path).map_err(|e| Failure::new(Exit::Input, format!("cannot read `{path}`: {e}")))?;
    let recorder = args.record.as_deref().map(|to| recorder(to, args, &params)).transpose()?;
    let sinks = (sink(args.ranks, args.label), recorder);
    let report = execute((&setup, params), args.ranks, (&args.program, &bytes, args.stack), sinks)?;
    let outcome = tell(&report, args, console);
    if let (Err(why), Some(file)) = (&report.recorded, &args.record) {
        let message = format!("there is no record `{}`: {why}", file.display());
        return Err(Failure::new(Exit::Output, message));
    }
    outcome
}

fn recorder(to: &Path, args: &PortalsRunArgs, params: &Params) -> Result<Recorder, Failure> {
    let cannot = |e| Failure::new(Exit::Output, format!("cannot write `{}`: {e}", to.display()));
    let file = fs::File::create(to).map_err(cannot)?;
    let file = Box::new(std::io::BufWriter::new(file));
    Recorder::new(file, &args.program.join(" "), args.ranks, params.ranks_per_node).map_err(cannot)
}

/// Replays a record.
fn again(args: &PortalsReplayArgs, console: &mut Console<'_>) -> Outcome {
    let name = args.record.display().to_string();
    let file = fs::File::open(&args.record)
        .map_err(|e| Failure::new(Exit::Input, format!("cannot read `{name}`: {e}")))?;
    let cannot = |why: String| Failure::new(Exit::Input, format!("cannot replay `{name}`: {why}"));
    let record = Record::open(Box::new(std::io::BufReader::new(file))).map_err(cannot)?;
    let input = Input { file: args.fabric.clone(), set: args.set.clone() };
    let (setup, params) = machine_of(&input, console)?;
    let network = net::of(&setup).map_err(|e| Failure::new(Exit::Experiment, e.to_string()))?;
    let then = record.trailer.clone();
    let now = replay::run(record, network, params).map_err(cannot)?;
    let mut text = format!("{}: {} ranks\n", then.program, then.ranks.len());
    let line = |what: &str, time: Ps, messages: (u64, u64)| {
        format!("{what} {}: {} messages, {} B on the network\n", time::display(time), messages.0, messages.1)
    };
    text += &line("recorded", then.time, then.messages);
    text += &line("replayed", now.time, (now.counts.messages, now.counts.bytes));
    let ends = |t: Option<Ps>| t.map_or("never".to_owned(), |t| format!("{t} ps"));
    let pairs = then.ranks.iter().zip(&now.ended);
    let same = pairs.clone().filter(|(a, b)| a.time == **b).count();
    text += &format!("{same} of {} ranks end at the same picosecond\n", now.ended.len());
    if args.ranks {
        for (rank, (then, now)) in pairs.enumerate() {
            text += &format!("rank {rank} ended at {}, replayed {}\n", ends(then.time), ends(*now));
        }
    }
    let _ = std::io::stdout().write_all(text.as_bytes());
    stuck(&now.waiting, now.limited, false).map_or(Ok(Exit::Done), Err)
}

/// Why ranks that wait will never end.
fn stuck(waiting: &[String], limited: bool, failed: bool) -> Option<Failure> {
    if waiting.is_empty() {
        return None;
    }
    let (exit, what) = match (limited, failed) {
        (true, _) => (Exit::Limit, "the run was ended by its limit"),
        (_, true) => (Exit::Program, "ranks wait for what never comes, since others failed"),
        _ => (Exit::Deadlock, "deadlock: ranks wait for what never comes"),
    };
    let most = 16;
    let mut lines: Vec<&str> = waiting.iter().take(most).map(String::as_str).collect();
    let more = format!("and {} more", waiting.len().saturating_sub(most));
    if waiting.len() > most {
        lines.push(&more);
    }
    Some(Failure::new(exit, format!("{what}\n  {}", lines.join("\n  "))))
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
    compile(&["-O2".to_owned(), source.display().to_string(), "-o".to_owned(), binary.clone()])?;
    let machine = machine_of(input, console)?;
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
    let report = execute((&machine.0, machine.1), 2, (&program, &bytes, 1 << 20), (sink, None))?;
    let took = begin.elapsed();
    if report.ranks.iter().any(|r| *r != Status::Exited(0)) {
        let message = format!("`{}` failed: {:?} {:?}", source.display(), report.ranks, report.waiting);
        return Err(Failure::new(Exit::Program, message));
    }
    let text = String::from_utf8_lossy(&text.borrow()).into_owned();
    Ok((text, took))
}

fn execute(
    (setup, params): (&AnySetup, Params),
    ranks: u32,
    (arguments, bytes, stack): (&[String], &[u8], usize),
    sinks: (Sink, Option<Recorder>),
) -> Result<Report, Failure> {
    let refuse = |message: String| Failure::new(Exit::Experiment, message);
    let net = net::of(setup).map_err(|e| refuse(e.to_string()))?;
    let machine = Machine::new(net, params, ranks, &Limits::default()).map_err(refuse)?;
    let copies = Scratch::new("ranks")?;
    let program = Program { bytes, arguments, directory: &copies.0, stack };
    let name = &arguments[0];
    runtime::run(machine, &program, &runtime::names(), sinks).map_err(|message| {
        let help = "programs are shared objects: compile them with `netloom portals cc`";
        Failure::new(Exit::Input, format!("cannot load `{name}`: {message}")).with_help(help)
    })
}

/// Output of ranks goes out line by line, so that lines of different ranks do not mix.
struct Lines {
    label: bool,
    /// What of a line each rank has written to output and error.
    parts: Vec<[Vec<u8>; 2]>,
}

impl Lines {
    fn take(&mut self, rank: u32, error: bool, bytes: &[u8]) {
        let part = &mut self.parts[rank as usize][usize::from(error)];
        part.extend_from_slice(bytes);
        let Some(end) = part.iter().rposition(|&b| b == b'\n') else { return };
        let rest = part.split_off(end + 1);
        let lines = std::mem::replace(part, rest);
        let mut text = Vec::new();
        for line in lines.split_inclusive(|&b| b == b'\n') {
            if self.label {
                text.extend_from_slice(format!("[{rank}] ").as_bytes());
            }
            text.extend_from_slice(line);
        }
        // Nobody can be told that output cannot be written.
        let _ = if error { std::io::stderr().write_all(&text) } else { std::io::stdout().write_all(&text) };
    }
}

impl Drop for Lines {
    /// Lines without an end get one.
    fn drop(&mut self) {
        for rank in 0..self.parts.len() {
            for error in [false, true] {
                if !self.parts[rank][usize::from(error)].is_empty() {
                    self.take(rank as u32, error, b"\n");
                }
            }
        }
    }
}

fn sink(ranks: u32, label: bool) -> Sink {
    let mut lines = Lines { label, parts: vec![[Vec::new(), Vec::new()]; ranks as usize] };
    Box::new(move |rank, error, bytes| lines.take(rank, error, bytes))
}

/// Says how ranks ended.
fn tell(report: &Report, args: &PortalsRunArgs, console: &mut Console<'_>) -> Outcome {
    let _ = std::io::stdout().flush();
    if args.summary {
        let c = report.counts;
        let time = time::display(report.time);
        console.remark(&format!("simulated {time}: {} messages, {} B on the network", c.messages, c.bytes));
        if c.lost > 0 {
            let line = format!("{} lost, {} sent again, {} given up", c.lost, c.sent_again, c.given_up);
            console.remark(&line);
        }
    }
    let mut failed = false;
    for (rank, status) in report.ranks.iter().enumerate() {
        let how = match status {
            Status::Running | Status::Exited(0) => continue,
            Status::Exited(code) => format!("exited with status {code}"),
            Status::Signal(signal, Some(at)) => format!("was ended by {} at {at:#x}", signal_name(*signal)),
            Status::Signal(signal, None) => format!("was ended by {}", signal_name(*signal)),
        };
        failed = true;
        console.remark(&format!("rank {rank} {how}"));
    }
    if let Some(failure) = stuck(&report.waiting, report.limited, failed) {
        return Err(failure);
    }
    if failed { Err(Failure::new(Exit::Program, "a rank failed")) } else { Ok(Exit::Done) }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => "SIGILL (an instruction that is none)",
        6 => "SIGABRT (abort or a failed assertion)",
        7 => "SIGBUS (memory that is not there)",
        8 => "SIGFPE (such as a division by zero)",
        11 => "SIGSEGV (a wrong address, or its stack is full)",
        14 => "SIGALRM (its alarm)",
        _ => "a signal",
    }
}
