//! `netloom schema` and `netloom reference`: the experiment file for editors, and for people.

use crate::{
    console::Console,
    exit::{Exit, Outcome},
};
use netloom::{Registry, book, schema};

/// Prints the schema.
///
/// # Errors
/// If nothing can be written.
pub fn schema(console: &mut Console<'_>) -> Outcome {
    console.print_json(&schema::schema(&Registry::standard()))?;
    Ok(Exit::Done)
}

/// Prints the reference, or writes its pages into the folder of a book.
///
/// # Errors
/// If nothing can be written, or an example cannot be run.
pub fn reference(out: Option<&std::path::Path>, console: &mut Console<'_>) -> Outcome {
    console.print(&book::printed(&Registry::standard(), out)?)?;
    Ok(Exit::Done)
}
