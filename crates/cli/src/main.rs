//! The `netloom` binary: streams, panics and the exit status. Everything else is in the library.

use netloom_cli::{args::shared::Manner, console::Console, exit::Exit};
use std::{
    io::{IsTerminal, stderr, stdout},
    panic,
    process::ExitCode,
    time::Instant,
};

fn main() -> ExitCode {
    panic::set_hook(Box::new(|info| {
        eprintln!(
            "internal error: {info}\nThis is a bug in netloom {}; please report it.",
            netloom_cli::program::VERSION
        );
    }));
    netloom_cli::signals::endure();
    let (mut out, mut err) = (stdout(), stderr());
    let (out_terminal, err_terminal) = (out.is_terminal(), err.is_terminal());
    let run = || {
        netloom_cli::run(
            std::env::args_os(),
            &mut Console {
                out: &mut out,
                err: &mut err,
                err_terminal,
                out_terminal,
                manner: Manner::default(),
                begun: Instant::now(),
            },
        )
    };
    panic::catch_unwind(panic::AssertUnwindSafe(run)).unwrap_or(Exit::Internal).into()
}
