//! `netloom trace`: looks into files of rank programs and converts them.

mod info;
mod print;

use crate::{
    args::{ConvertArgs, TraceArgs, TraceCommand},
    console::Console,
    exit::{Exit, Outcome},
};
use netloom::conversion::{Conversion, Reshape, convert};
use serde_json::json;

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
        TraceCommand::Convert(args) => converted(args, console),
    }
}

fn converted(args: &ConvertArgs, console: &mut Console<'_>) -> Outcome {
    let converted = convert(&Conversion {
        file: &args.input.file,
        scale: args.input.scale(),
        out: &args.out,
        to: args.to,
        reshape: Reshape {
            after: args.after,
            collectives: args.collectives,
            times: (args.from.is_some() || args.until.is_some())
                .then(|| (args.from.unwrap_or(0), args.until)),
            ranks: args.ranks,
        },
        library: &args.library,
        per_rank: args.per_rank,
        force: args.force,
    })?;
    for line in &converted.notes {
        console.remark(&format!("note: {line}"));
    }
    let name = converted.format.name();
    let object = json!({"file": args.out, "ranks": converted.ranks, "form": name, "notes": converted.notes});
    let text = format!("{}: {} ranks, {name}\n", base::visible::path(&args.out), converted.ranks);
    console.answer(args.format, &text, &object)?;
    Ok(Exit::Done)
}
