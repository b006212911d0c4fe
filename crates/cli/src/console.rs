//! Where a command writes: its result to `out`, everything else to `err`.

use netloom::{Error, ErrorKind};
use serde_json::Value as Json;
use std::io::{self, Write};

/// True unless the user wants no colour anywhere (<https://no-color.org>), or the terminal has none.
#[must_use]
pub fn colour_wanted() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

/// Streams of a command; tests pass buffers.
pub struct Console<'a> {
    /// The result.
    pub out: &'a mut (dyn Write + Send),
    /// Diagnostics, progress, logs.
    pub err: &'a mut (dyn Write + Send),
    /// True if a person watches `err`: then it may show colour and progress.
    pub err_terminal: bool,
    /// True if a person watches `out`: then it may show colour.
    pub out_terminal: bool,
}

impl Console<'_> {
    /// Writes a result.
    ///
    /// # Errors
    /// If it cannot be written. A reader that stops early (`netloom list | head`) is no error.
    pub fn print(&mut self, text: &str) -> Result<(), Error> {
        match self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
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

    /// Writes a remark to standard error; nobody hears of it if that fails.
    pub fn remark(&mut self, text: &str) {
        let _ = writeln!(self.err, "{text}");
    }
}
