//! Where a command writes: its result to `out`, everything else to `err`.

use crate::args::shared::{Colour, Format, Manner};
use base::visible::{plain, screen};
use netloom::{Error, ErrorKind};
use serde_json::Value as Json;
use std::{
    io::{self, Write},
    time::Instant,
};

/// True unless the user wants no colour anywhere (<https://no-color.org>), or the terminal has none.
fn colour_wanted() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

/// Streams of a command; tests pass buffers.
pub struct Console<'a> {
    /// What was asked for, and nothing else; in the program it is standard output.
    pub out: &'a mut (dyn Write + Send),
    /// Diagnostics, progress, logs.
    pub err: &'a mut (dyn Write + Send),
    /// True if a person watches `err`: then it may show colour and progress.
    pub err_terminal: bool,
    /// True if a person watches `out`: then it may show colour.
    pub out_terminal: bool,
    /// How much the user wants to hear, and in which colours.
    pub manner: Manner,
    /// When the command began.
    pub begun: Instant,
}

impl Console<'_> {
    /// True if progress is shown: a person watches, and wants to.
    #[must_use]
    pub fn shows_progress(&self) -> bool {
        self.err_terminal && !self.manner.quiet
    }

    /// True if text for a stream that is a terminal, or is none, has colour.
    #[must_use]
    pub fn has_colour(&self, terminal: bool) -> bool {
        match self.manner.color {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => terminal && colour_wanted(),
        }
    }

    /// Writes a result; what would act on a terminal is shown instead.
    ///
    /// # Errors
    /// If it cannot be written. A reader that stops early (`netloom list | head`) is no error.
    pub fn print(&mut self, text: &str) -> Result<(), Error> {
        let shown = if self.has_colour(self.out_terminal) { screen(text) } else { plain(text) };
        match self.out.write_all(shown.as_bytes()).and_then(|()| self.out.flush()) {
            Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::new(ErrorKind::Output, format!("cannot write to standard output: {e}")))
            }
            _ => Ok(()),
        }
    }

    /// Writes a result as one JSON object.
    ///
    /// # Errors
    /// As [`Console::print`].
    pub fn print_json(&mut self, value: &Json) -> Result<(), Error> {
        self.print(&format!("{value:#}\n"))
    }

    /// Writes a short result in the form that is wanted.
    ///
    /// # Errors
    /// As [`Console::print`].
    pub fn answer(&mut self, format: Format, text: &str, object: &Json) -> Result<(), Error> {
        if format == Format::Json { self.print_json(object) } else { self.print(text) }
    }

    /// Writes a remark to standard error; nobody hears of it if that fails. Notes are for those who did not ask for quiet.
    pub fn remark(&mut self, text: &str) {
        if self.manner.quiet && text.starts_with("note:") {
            return;
        }
        let shown = if self.has_colour(self.err_terminal) { screen(text) } else { plain(text) };
        let _ = writeln!(self.err, "{shown}");
    }
}
