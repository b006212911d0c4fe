//! `netloom trace`: looks into files of rank programs and converts them.

mod convert;
mod file;
mod info;
mod print;

use crate::{
    args::{TraceArgs, TraceCommand},
    console::Console,
    exit::Outcome,
};

/// Runs one of the subcommands.
///
/// # Errors
/// If the file cannot be read or has mistakes, or the result not be written.
pub fn trace(args: &TraceArgs, console: &mut Console<'_>) -> Outcome {
    match &args.command {
        TraceCommand::Info { input, expand, format } => {
            info::info(input, expand.as_deref(), *format, console)
        }
        TraceCommand::Print { input, ranks, count, from, format } => {
            let window = *from..from.saturating_add(*count);
            print::print(input, ranks, &window, *format, console)
        }
        TraceCommand::Convert(args) => convert::convert(args, console),
    }
}
