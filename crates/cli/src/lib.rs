//! The command line of Netloom: arguments, printing, progress and exit codes. What it does is in the library `netloom` and in `studies`.
//!
//! The journey: [`args`] (as typed) -> [`commands`] -> the library -> standard output. A [`terminal::Terminal`] shows what is under way, [`render`]
//! draws mistakes with their lines, and everything that ends a command early becomes a public [`exit::Exit`] status.

pub mod args;
pub mod commands;
pub mod console;
pub mod exit;
pub mod program;
pub mod render;
pub mod signals;
pub mod terminal;

use args::{Arguments, Command, FlowCommand};
use clap::Parser;
use console::Console;
use exit::{Exit, Outcome};
use netloom::Error;
use std::ffi::OsString;

/// Runs the command line `arguments`, program name first.
pub fn run(arguments: impl IntoIterator<Item = OsString>, console: &mut Console<'_>) -> Exit {
    let outcome = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => dispatch(&arguments.command, console),
        Err(error) if error.use_stderr() => {
            let _ = write!(console.err, "{error}");
            return Exit::Usage;
        }
        Err(help) => console.print(&help.to_string()).map(|()| Exit::Done),
    };
    outcome.unwrap_or_else(|error| print_error(&error, console))
}

fn dispatch(command: &Command, console: &mut Console<'_>) -> Outcome {
    match command {
        Command::Run(args) => commands::run::run(args, console),
        Command::Resume(args) => commands::resume::resume(args, console),
        Command::Check(args) => commands::check::check(args, console),
        Command::Fabric { command } => commands::fabric::fabric(command, console),
        Command::List(args) => commands::list::list(args, console),
        Command::Explain(args) => commands::explain::explain(args, console),
        Command::Schema => commands::schema::schema(console),
        Command::Reference => commands::schema::reference(console),
        Command::Completions { shell } => commands::completions::print(*shell, console),
        Command::Study(args) => commands::study::study(args, console),
        Command::Sweep(args) => commands::sweep::sweep(args, console),
        Command::Init(args) => commands::init::init(args, console),
        Command::Plot(args) => commands::plot::plot(args, console),
        Command::Swarm(args) => commands::swarm::swarm(args, console),
        Command::Congestion(args) => commands::congestion::congestion(args, console),
        #[cfg(all(feature = "portals", target_os = "linux", target_arch = "x86_64"))]
        Command::Portals { command } => commands::portals::portals(command, console),
        Command::Trace(args) => commands::trace::trace(args, console),
        Command::Resilient(args) => commands::resilient::resilient(args, console),
        Command::Compare(args) => commands::compare::run(args, console),
        Command::Flow { command: FlowCommand::Scenarios(args) } => commands::flow::scenarios(args, console),
    }
}

fn print_error(error: &Error, console: &mut Console<'_>) -> Exit {
    let colour = console.err_terminal && console::colour_wanted();
    let _ = write!(console.err, "{}", render::failure(error, colour));
    error.kind().into()
}
