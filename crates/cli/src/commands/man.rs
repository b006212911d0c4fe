//! `netloom man`.

use crate::{
    args::Arguments,
    console::Console,
    exit::{Exit, Outcome},
};
use clap::CommandFactory;
use clap_mangen::{Man, generate_to};
use netloom::{Error, ErrorKind, ours};
use std::path::Path;

/// Prints the manual page (roff), or writes one for each command into a directory.
///
/// # Errors
/// If nothing can be written there, or a page of somebody else's is there.
pub fn man(out: Option<&Path>, console: &mut Console<'_>) -> Outcome {
    let Some(dir) = out else {
        let mut page = Vec::new();
        let made = Man::new(Arguments::command()).render(&mut page);
        made.map_err(|e| Error::new(ErrorKind::Internal, format!("the manual page cannot be made: {e}")))?;
        console.print(&String::from_utf8_lossy(&page))?;
        return Ok(Exit::Done);
    };
    ours::manual(dir, &|scratch| generate_to(Arguments::command(), scratch))?;
    Ok(Exit::Done)
}
