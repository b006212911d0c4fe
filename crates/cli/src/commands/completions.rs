//! `netloom completions SHELL`.

use crate::{
    args::Arguments,
    console::Console,
    exit::{Exit, Outcome},
};
use clap::CommandFactory;
use clap_complete::Shell;

/// Prints the completions of a shell.
///
/// # Errors
/// If nothing can be written.
pub fn print(shell: Shell, console: &mut Console<'_>) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "netloom", &mut script);
    console.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
