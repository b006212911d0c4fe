//! `netloom clean [DIR]`: tidy what killed runs left.

use crate::{
    args::Format,
    console::Console,
    exit::{Exit, Outcome},
};
use serde_json::json;

/// Removes half results of killed runs from a folder; of a replacement that was killed half way one run is left.
///
/// # Errors
/// If the folder cannot be read or written.
pub fn clean(folder: &std::path::Path, format: Format, console: &mut Console<'_>) -> Outcome {
    let lines = netloom::output::clean(folder)?;
    match format {
        Format::Json => console.print_json(&json!({ "done": lines }))?,
        Format::Text if lines.is_empty() => console.print("nothing to tidy\n")?,
        Format::Text => console.print(&(lines.join("\n") + "\n"))?,
    }
    Ok(Exit::Done)
}
