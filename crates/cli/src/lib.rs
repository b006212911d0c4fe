//! The command line of Netloom: arguments, printing, progress and exit codes. What it does is in the library `netloom` and in `studies`.
//!
//! The journey: [`args`] (as typed) -> [`commands`] -> the library -> standard output. A [`terminal::Terminal`] shows what is under way, [`netloom::render`]
//! draws mistakes with their lines, and everything that ends a command early becomes a public [`exit::Exit`] status.

pub mod args;
pub mod commands;
pub mod console;
pub mod exit;
pub mod program;
pub mod signals;
pub mod terminal;

use args::{Arguments, Command, FlowCommand};
use clap::Parser;
use console::Console;
use exit::{Exit, Outcome};
use mpi::{Mismatch, Session};
use netloom::{Error, ErrorKind, base, base::world::World, render};
use std::{ffi::OsString, io};

/// Runs the command line `arguments`, program name first.
pub fn run(arguments: impl IntoIterator<Item = OsString>, console: &mut Console<'_>) -> Exit {
    let outcome = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => {
            console.manner = arguments.manner;
            dispatch(&arguments.command, console)
        }
        Err(error) if error.use_stderr() => {
            let _ = write!(console.err, "{}", base::visible::plain(&error.to_string()));
            return Exit::Usage;
        }
        Err(help) => console.print(&help.to_string()).map(|()| Exit::Done),
    };
    outcome.unwrap_or_else(|error| print_error(&error, console))
}

fn dispatch(command: &Command, console: &mut Console<'_>) -> Outcome {
    runs_in_one(command).map_or(Ok(()), mpi::refuse_copies).map_err(mismatch)?;
    match command {
        Command::Run(args) => together(console, |console, world| commands::run::run(args, console, world)),
        Command::Resume(args) => {
            together(console, |console, world| commands::resume::resume(args, console, world))
        }
        Command::Check(args) => commands::check::check(args, console),
        Command::Fabric { command } => commands::fabric::fabric(command, console),
        Command::List(args) => commands::list::list(args, console),
        Command::Explain(args) => commands::explain::explain(args, console),
        Command::Schema => commands::schema::schema(console),
        Command::Reference { out } => commands::schema::reference(out.as_deref(), console),
        Command::Man { out } => commands::man::man(out.as_deref(), console),
        Command::Completions { shell } => commands::completions::print(*shell, console),
        Command::Clean { dir, format } => commands::clean::clean(dir, *format, console),
        Command::Study(args) => commands::study::study(args, console),
        // Shards are runs of their own, whoever starts them.
        Command::Sweep(args) if args.shard.is_some() => commands::sweep::sweep(args, console, &World::ALONE),
        Command::Sweep(args) => {
            together(console, |console, world| commands::sweep::sweep(args, console, world))
        }
        Command::Init(args) => commands::init::init(args, console),
        Command::Plot(args) => commands::plot::plot(args, console),
        Command::Report(args) => commands::report::report(args, console),
        Command::Swarm(args) => commands::swarm::swarm(args, console),
        Command::Congestion(args) => commands::congestion::congestion(args, console),
        #[cfg(all(feature = "portals", target_os = "linux", target_arch = "x86_64"))]
        Command::Portals { command } => commands::portals::portals(command, console),
        Command::Trace(args) => commands::trace::trace(args, console),
        Command::Record(args) => commands::record::run(args, console),
        Command::Resilient(args) => commands::resilient::resilient(args, console),
        Command::Compare(args) => commands::compare::run(args, console),
        Command::Flow { command: FlowCommand::Scenarios(args) } => commands::flow::scenarios(args, console),
    }
}

/// Does with all processes that a launcher started what they do together: the first one speaks for all. One that fails while the
/// others go on says so itself and ends them.
fn together(console: &mut Console<'_>, work: impl FnOnce(&mut Console<'_>, &World) -> Outcome) -> Outcome {
    let session = Session::join().map_err(mismatch)?;
    // A launcher may give a terminal to what it writes to a file.
    console.out_terminal &= session.world.is_alone();
    let (world, mut out, mut err) = (&session.world, io::sink(), io::sink());
    let (manner, begun) = (console.manner, console.begun);
    let mut silent =
        Console { out: &mut out, err: &mut err, err_terminal: false, out_terminal: false, manner, begun };
    let outcome = if world.is_first() { work(console, world) } else { work(&mut silent, world) };
    let why = outcome.as_ref().err().map_or_else(String::new, ToString::to_string);
    let exit = match outcome {
        Ok(exit) => exit,
        Err(error) if world.is_first() => print_error(&error, console),
        Err(error) => error.kind().into(),
    };
    let status = session.leave(exit as u8, &why, |why| console.remark(&format!("error: {why}")));
    Ok(Exit::ALL.iter().copied().find(|&e| e as u8 == status).unwrap_or(exit))
}

/// What simulates or writes in one process: copies of it would all do the same, into the same files.
fn runs_in_one(command: &Command) -> Option<&'static str> {
    match command {
        Command::Run(_) | Command::Resume(_) | Command::Sweep(_) => None,
        Command::Check(_) | Command::List(_) | Command::Explain(_) => None,
        Command::Schema | Command::Reference { out: None } | Command::Completions { .. } => None,
        Command::Man { out: None } | Command::Compare(_) => None,
        Command::Study(_) => Some("a study"),
        _ => Some("this command"),
    }
}

fn mismatch(Mismatch { message, help }: Mismatch) -> Error {
    Error::new(ErrorKind::Launcher, message).with_help(help)
}

fn print_error(error: &Error, console: &mut Console<'_>) -> Exit {
    let colour = console.has_colour(console.err_terminal);
    console.remark(render::failure(error, colour).trim_end_matches('\n'));
    error.kind().into()
}
