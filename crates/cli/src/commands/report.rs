//! `netloom report DIR..`: the page of finished runs.

use crate::{
    args::series::ReportArgs,
    console::Console,
    exit::{Exit, Outcome},
};
use serde_json::json;

/// Makes the page, and the network's picture if it is asked for.
///
/// # Errors
/// If a run cannot be read, or a file cannot be written.
pub fn report(args: &ReportArgs, console: &mut Console<'_>) -> Outcome {
    let written = netloom::page::write(&args.dirs, args.out.as_deref(), args.svg.as_deref(), args.force)?;
    let paths: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
    let shown: String = written.iter().map(|path| base::visible::path(path) + "\n").collect();
    console.answer(args.format, &shown, &json!({"written": paths}))?;
    Ok(Exit::Done)
}
