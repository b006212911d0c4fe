//! Files of rank programs as the commands read them.

use crate::args::TraceInput;
use netloom::{Error, ErrorKind};
use workload::program::{
    Damage,
    file::{Content, Format},
    input::Input,
    traces::Scale,
};

/// Reads a file: its format, and what it holds.
pub(super) fn read(input: &TraceInput) -> Result<(Format, Content), Error> {
    let scale = Scale { unit: input.unit, speed: input.speed };
    Content::read(&Input::file(&input.file), scale).map_err(Error::input)
}

/// A file that turned out to be damaged while it was used.
pub(super) fn damaged(Damage(message): Damage) -> Error {
    Error::new(ErrorKind::Input, message)
}
