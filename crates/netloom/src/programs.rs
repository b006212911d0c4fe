//! Real Portals 4 programs on a simulated machine: compiled, loaded and run to their end.
//!
//! Live programs own signals, a timer and stacks of this process, so this is a feature of the library (`portals`).

use crate::{
    error::{Error, ErrorKind},
    machine::Machine as Simulated,
};
use base::scratch::Scratch;
use portals::{
    HEADERS,
    core::types::Limits,
    machine::Machine,
    record::Recorder,
    runtime::{self, Program, Report, Status, loader::Library, world::Sink},
};
use std::{
    cell::RefCell,
    fs,
    path::Path,
    process::Command as Process,
    rc::Rc,
    time::{Duration, Instant},
};

/// A dialect of the interface's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Sandia's reference implementation.
    Sandia,
    /// The headers of Bull's BXI, which are then found before Sandia's.
    Bull,
}

/// A program to run.
pub struct Loaded<'a> {
    /// Its name and arguments.
    pub arguments: &'a [String],
    /// The shared object.
    pub bytes: &'a [u8],
    /// Libraries of which each rank gets a copy of its own.
    pub private: &'a [Library],
    /// Bytes of a rank's stack.
    pub stack: usize,
    /// Seconds of processor time after which a rank that calls nothing is ended.
    pub host_limit: u64,
}

/// A directory of this process, in memory where it can be. No two have one name: what was loaded from a name once is not loaded from it again.
fn scratch(kind: &str) -> Result<Scratch, Error> {
    let shared = Path::new("/dev/shm");
    let parent = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
    Scratch::within(&parent, kind).map_err(|e| {
        Error::new(ErrorKind::Output, format!("cannot make a directory in `{}`: {e}", parent.display()))
    })
}

/// What a program does that is started by itself, in the machine's language.
const ALONE: &str = include_str!("alone.s");

/// Arguments that give what is linked an entry, written into a directory; none where nothing is linked.
fn entry(arguments: &[String], directory: &Path) -> Result<Vec<String>, Error> {
    let no_link = ["-c", "-S", "-E", "-M", "-MM", "-r", "-fsyntax-only"];
    let links = |a: &String| {
        !no_link.contains(&a.as_str()) && !["-print-", "--print-", "-dump"].iter().any(|p| a.starts_with(p))
    };
    let files = arguments.iter().any(|a| !a.starts_with('-'));
    if !cfg!(target_arch = "x86_64") || !files || !arguments.iter().all(links) {
        return Ok(Vec::new());
    }
    let path = directory.join("alone.s");
    fs::write(&path, ALONE)
        .map_err(|e| Error::new(ErrorKind::Output, format!("cannot write `{}`: {e}", path.display())))?;
    Ok(vec![path.display().to_string(), "-Wl,-e,netloom_alone".to_owned()])
}

/// Has a function touch each page of a large frame, so that a full stack is noticed though the frame is larger than what cannot be touched below the stack.
pub(crate) const PROBES: &str = "-fstack-clash-protection";

/// True if a compiler knows [`PROBES`].
fn knows_probes(compiler: &str) -> bool {
    let mut asked = Process::new(compiler);
    asked.args([PROBES, "-Werror", "-x", "c", "-fsyntax-only", "/dev/null"]);
    // What it says is not shown.
    asked.output().is_ok_and(|said| said.status.success())
}

/// Calls the C compiler (the environment's CC, or cc) for a shared object that binds to its own functions first and leaves the rest to be found
/// later. Started by itself the program says how it is started, and ends with status 2.
///
/// # Errors
/// If there is no compiler, or it refuses the program.
pub fn compile(arguments: &[String], dialect: Dialect) -> Result<(), Error> {
    let headers = scratch("headers")?;
    for (name, text) in HEADERS {
        let path = headers.path().join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::write(&path, text))
            .map_err(|e| Error::new(ErrorKind::Output, format!("cannot write `{}`: {e}", path.display())))?;
    }
    let mut dirs = vec![headers.path().to_owned()];
    if dialect == Dialect::Bull {
        dirs.insert(0, headers.path().join("bull"));
    }
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Process::new(&compiler)
        .args(["-shared", "-fPIC", "-g", "-Wl,-z,lazy", "-Wl,-Bsymbolic"])
        .args(knows_probes(&compiler).then_some(PROBES))
        .args(dirs.iter().flat_map(|d| [Path::new("-I"), d.as_path()]))
        .args(entry(arguments, headers.path())?)
        .args(arguments)
        .status()
        .map_err(|e| {
            let help = "install a C compiler, or name one in the environment's CC";
            Error::new(ErrorKind::Input, format!("cannot run `{compiler}`: {e}")).with_help(help)
        })?;
    if status.success() {
        Ok(())
    } else {
        Err(Error::new(ErrorKind::Input, format!("`{compiler}` refused the program")))
    }
}

/// A program's source.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// In a file.
    File(&'a Path),
    /// All of it.
    Text(&'a str),
}

/// Compiles a program, runs it on two ranks and gives what it printed and how long the run took on this machine; for studies.
///
/// # Errors
/// If it cannot be compiled or run, or a rank fails.
pub fn output_of(
    source: &Source<'_>,
    arguments: &[String],
    machine: Simulated,
) -> Result<(String, Duration), Error> {
    let made = scratch("program")?;
    let binary = made.path().join("program").display().to_string();
    let source = match *source {
        Source::File(path) => path.to_owned(),
        Source::Text(text) => {
            let path = made.path().join("program.c");
            fs::write(&path, text).map_err(|e| {
                Error::new(ErrorKind::Output, format!("cannot write `{}`: {e}", path.display()))
            })?;
            path
        }
    };
    let arguments_of_cc = ["-O2".to_owned(), source.display().to_string(), "-o".to_owned(), binary.clone()];
    compile(&arguments_of_cc, Dialect::Sandia)?;
    let bytes = fs::read(&binary)
        .map_err(|e| Error::new(ErrorKind::Input, format!("cannot read `{binary}`: {e}")))?;
    let text = Rc::new(RefCell::new(Vec::new()));
    let taken = Rc::clone(&text);
    let sink: Sink = Box::new(move |_, error, bytes| {
        if !error {
            taken.borrow_mut().extend_from_slice(bytes);
        }
    });
    let program: Vec<String> = std::iter::once(binary).chain(arguments.iter().cloned()).collect();
    let loaded = Loaded { arguments: &program, bytes: &bytes, private: &[], stack: 1 << 20, host_limit: 600 };
    let begin = Instant::now();
    let report = execute(machine, 2, &loaded, sink, None)?;
    let took = begin.elapsed();
    if report.ranks.iter().any(|r| *r != Status::Exited(0)) {
        let message = format!("`{}` failed: {:?} {:?}", source.display(), report.ranks, report.waiting);
        return Err(Error::new(ErrorKind::Program, message));
    }
    let text = String::from_utf8_lossy(&text.borrow()).into_owned();
    Ok((text, took))
}

/// Nothing was found wrong by a checked run or replay.
///
/// # Errors
/// The first fault, if there is one.
pub fn sound(faults: &[String]) -> Result<(), Error> {
    let violated = |fault: &String| Err(Error::new(ErrorKind::Violated, fault.clone()));
    faults.first().map_or(Ok(()), violated)
}

/// Runs a program on so many ranks of a machine; what they print goes to the sink, what they ask of their interfaces to the recorder.
///
/// # Errors
/// If it cannot be loaded, or the machine has no room for so many ranks.
pub fn execute(
    (net, params): Simulated,
    ranks: u32,
    program: &Loaded<'_>,
    sink: Sink,
    recorder: Option<Recorder>,
) -> Result<Report, Error> {
    let (nodes, per) = (ranks.div_ceil(params.ranks_per_node), ranks.div_ceil(net.terminals().max(1)));
    let refuse = |message: String| {
        let help = format!(
            "`--set portals.ranks_per_node={per}`; or a larger network, as by `--set fabric.terminals={nodes}`"
        );
        Error::new(ErrorKind::Experiment, message).with_help(help)
    };
    let machine = Machine::new(net, params, ranks, &Limits::default()).map_err(refuse)?;
    let copies = scratch("ranks")?;
    let &Loaded { arguments, bytes, private, stack, host_limit } = program;
    let program = Program { bytes, private, arguments, directory: copies.path(), stack, host_limit };
    let name = &arguments[0];
    runtime::run(machine, &program, &runtime::names(), sink, recorder).map_err(|message| {
        let help = "programs are shared objects: compile them with `netloom portals cc`";
        Error::new(ErrorKind::Input, format!("cannot load `{name}`: {message}")).with_help(help)
    })
}
