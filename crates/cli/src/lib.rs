//! The command line of Netloom: reads experiment files, assembles and runs them, writes results.
//!
//! The journey: [`args`] (as typed) -> [`commands`] -> [`experiment`] (a file becomes a resolved experiment; pure)
//! -> [`assemble`] (fabric, routing, jobs, model are built; the deadlock check) -> [`execute`] (the simulation with
//! its progress bar) -> results. Mistakes are [`base::diag::Diagnostics`] drawn by [`render`]; everything that ends a
//! command early is a [`failure::Failure`] with a public [`exit::Exit`] status.

pub mod any;
pub mod args;
pub mod assemble;
pub mod catalog;
pub mod checkpoint;
pub mod cluster;
pub mod cluster_args;
pub mod commands;
pub mod console;
pub mod deadlocks;
pub mod draft;
pub mod execute;
pub mod exit;
pub mod experiment;
pub mod failure;
pub mod faults;
pub mod keeper;
pub mod limits;
pub mod losses;
pub mod models;
pub mod network;
pub mod outlook;
pub mod prepare;
pub mod render;
pub mod resilient_args;
pub mod schedule;
pub mod stages;

use args::{Arguments, Command, FlowCommand};
use clap::Parser;
use console::Console;
use exit::Exit;
use failure::{Failure, Outcome};
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
    outcome.unwrap_or_else(|failure| tell(&failure, console))
}

fn dispatch(command: &Command, console: &mut Console<'_>) -> Outcome {
    match command {
        Command::Run(args) => commands::run::run(args, console),
        Command::Resume(args) => commands::resume::resume(args, console),
        Command::Check(args) => commands::check::check(args, console),
        Command::Fabric { command } => commands::fabric::fabric(command, console),
        Command::List(args) => commands::list::list(args, console),
        Command::Explain(args) => commands::explain::explain(args, console),
        Command::Schema => commands::schema::print(console),
        Command::Reference => commands::reference::print(console),
        Command::Completions { shell } => commands::completions::print(*shell, console),
        Command::Study(args) => commands::study::study(args, console),
        Command::Swarm(args) => commands::swarm::swarm(args, console),
        Command::Congestion(args) => commands::congestion::congestion(args, console),
        Command::Portals { command } => commands::portals::portals(command, console),
        Command::Trace(args) => commands::trace::trace(args, console),
        Command::Resilient(args) => commands::resilient::resilient(args, console),
        Command::Compare(args) => commands::compare::run(args, console),
        Command::Flow { command: FlowCommand::Scenarios(args) } => commands::flow::scenarios(args, console),
    }
}

fn tell(failure: &Failure, console: &mut Console<'_>) -> Exit {
    let colour = console.err_terminal && console::colour_wanted();
    let _ = write!(console.err, "{}", failure.text(colour));
    failure.exit()
}
