//! `netloom init KIND`: commented files to start from.

use crate::{
    args::{Format, series::InitArgs},
    console::Console,
    exit::{Exit, Outcome},
};
use base::visible::path;
use netloom::starts::{STARTS, find};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};

/// Writes the files of a kind, or lists the kinds.
///
/// # Errors
/// If there is no such kind, or a file cannot be written.
pub fn init(args: &InitArgs, console: &mut Console<'_>) -> Outcome {
    let Some(kind) = &args.kind else {
        let lines = STARTS.iter().map(|start| format!("{:14}{}\n", start.name, start.summary));
        let all: Json = STARTS.iter().map(|s| json!({"name": s.name, "summary": s.summary})).collect();
        match args.format {
            Format::Text => console.print(&lines.collect::<String>())?,
            Format::Json => console.print_json(&json!({"kinds": all}))?,
        }
        return Ok(Exit::Done);
    };
    let start = find(kind)?;
    let directory: &Path = args.out.as_deref().unwrap_or(Path::new(start.name));
    let written: Vec<PathBuf> = start.write(directory)?;
    let paths: Vec<String> = written.iter().map(|file| file.display().to_string()).collect();
    match args.format {
        Format::Text => {
            let next =
                start.commands().into_iter().map(|command| format!("  {command}\n")).collect::<String>();
            let shown: String = written.iter().map(|file| path(file) + "\n").collect();
            console.print(&format!("{shown}\nin `{}`:\n{next}", path(directory)))?;
        }
        Format::Json => console.print_json(&json!({"files": paths, "commands": start.commands()}))?,
    }
    Ok(Exit::Done)
}
