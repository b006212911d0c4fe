//! Runs the command line in this process.

pub mod timeless;

use netloom_cli::{args::shared::Manner, console::Console};

/// What a command left behind.
pub struct Run {
    /// Exit status of the process.
    pub status: u8,
    /// All of its standard output.
    pub out: String,
    /// All of its standard error.
    pub err: String,
}

/// Runs `netloom` with these arguments.
pub fn netloom(arguments: &[&str]) -> Run {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let all = ["netloom"].iter().chain(arguments).map(Into::into);
    let manner = Manner::default();
    let begun = std::time::Instant::now();
    let mut console =
        Console { out: &mut out, err: &mut err, err_terminal: false, out_terminal: false, manner, begun };
    let status = netloom_cli::run(all, &mut console) as u8;
    let text = |bytes| String::from_utf8(bytes).expect("netloom writes text");
    Run { status, out: text(out), err: text(err) }
}
