//! `netloom compare A B`: two finished runs side by side.

use crate::{
    args::{CompareArgs, Format},
    console::Console,
    exit::{Exit, Outcome},
};
use netloom::compare::{Tolerances, compare, load, text};

/// Compares the runs in two output directories (or two `summary.json`).
///
/// # Errors
/// If one of them cannot be read.
pub fn run(args: &CompareArgs, console: &mut Console<'_>) -> Outcome {
    let (a, b) = (load(&args.a)?, load(&args.b)?);
    let tolerances = Tolerances { all: args.tolerance, named: args.named.clone() };
    let comparison = compare((&a.0, a.1.as_ref()), (&b.0, b.1.as_ref()), &tolerances);
    match args.format {
        Format::Text => {
            let names = [&args.a, &args.b].map(|path| path.display().to_string());
            console.print(&text(&comparison, [&names[0], &names[1]], [&a.0, &b.0]))?;
        }
        Format::Json => {
            let mut json = serde_json::json!(comparison);
            json["within"] = comparison.within().into();
            console.print_json(&json)?;
        }
    }
    Ok(if comparison.within() { Exit::Done } else { Exit::Differences })
}
