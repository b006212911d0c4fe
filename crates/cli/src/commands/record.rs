//! `netloom record`: real MPI programs become programs of ranks.

use crate::{
    args::{RecordArgs, RecordCommand},
    console::Console,
    exit::{Exit, Outcome},
};
use netloom::record::{Recording, build, record};

/// Records a program, or builds what records.
///
/// # Errors
/// If the library cannot be built, the program fails, or the result not be written.
pub fn run(args: &RecordArgs, console: &mut Console<'_>) -> Outcome {
    if let Some(RecordCommand::Build { dir }) = &args.command {
        let library = build(dir)?;
        console.print(&format!("{}\n", library.display()))?;
        return Ok(Exit::Done);
    }
    let Some(out) = &args.out else { return Ok(Exit::Usage) };
    let asked =
        Recording { command: &args.program, out, library: args.library.as_deref(), force: args.force };
    let recorded = record(&asked)?;
    for (name, count) in &recorded.missing {
        console.remark(&format!("note: {count} calls of {name} are not in it"));
    }
    console.print(&format!("{}: {} ranks, {} lines\n", out.display(), recorded.ranks, recorded.lines))?;
    Ok(Exit::Done)
}
