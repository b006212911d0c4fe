//! `netloom record`: real MPI programs become programs of ranks.

use crate::{
    args::{RecordArgs, RecordCommand},
    console::Console,
    exit::{Exit, Outcome},
};
use base::visible::path;
use netloom::record::{Recording, build, record};
use serde_json::{Map, json};

/// Records a program, or builds what records.
///
/// # Errors
/// If the library cannot be built, the program fails, or the result not be written.
pub fn run(args: &RecordArgs, console: &mut Console<'_>) -> Outcome {
    if let Some(RecordCommand::Build { dir, format }) = &args.command {
        let library = build(dir)?;
        console.answer(*format, &(path(&library) + "\n"), &json!({"library": library}))?;
        return Ok(Exit::Done);
    }
    let Some(out) = &args.out else { return Ok(Exit::Usage) };
    let asked =
        Recording { command: &args.program, out, library: args.library.as_deref(), force: args.force };
    let recorded = record(&asked)?;
    for (name, count) in &recorded.missing {
        console.remark(&format!("note: {count} calls of {name} are not in it"));
    }
    let (ranks, lines) = (recorded.ranks, recorded.lines);
    let missing: Map<_, _> = recorded.missing.iter().map(|(n, count)| (n.clone(), json!(count))).collect();
    let object = json!({"file": out, "ranks": ranks, "lines": lines, "missing": missing});
    console.answer(args.format, &format!("{}: {ranks} ranks, {lines} lines\n", path(out)), &object)?;
    Ok(Exit::Done)
}
