//! `netloom schema` and `netloom reference`: the experiment file for editors, and for people.

use crate::{
    console::Console,
    exit::{Exit, Outcome},
};
use netloom::{Registry, reference, schema};

/// Prints the schema.
///
/// # Errors
/// If nothing can be written.
pub fn schema(console: &mut Console<'_>) -> Outcome {
    console.print_json(&schema::schema(&Registry::standard()))?;
    Ok(Exit::Done)
}

/// Prints the reference.
///
/// # Errors
/// If nothing can be written.
pub fn reference(console: &mut Console<'_>) -> Outcome {
    console.print(&reference::reference(&Registry::standard()))?;
    Ok(Exit::Done)
}
