//! Errors as users see them.

use base::param::Problem;
use netloom::{Error, render};

/// The text of a failure, without colours.
pub fn of(error: &Error) -> String {
    render::failure(error, false)
}

/// The text of problems with a file, which each of them names.
pub fn of_problems(problems: Vec<Problem>) -> String {
    assert!(!problems.is_empty(), "what is refused is refused for a reason");
    problems
        .iter()
        .map(|p| format!("{}: {}\n", p.input.as_ref().map_or("", |i| &i.file), p.message))
        .collect()
}
