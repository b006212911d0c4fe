//! Work on files that nobody wrote by hand, in a thread that is watched: whatever keeps it for ever ends the test with its name.

use std::{
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

/// Does something, which names each file before it looks at it. A panic goes on here, behind the name of the file that it met.
///
/// # Panics
/// As the work does, and if a file takes longer than `hangs`.
#[allow(clippy::print_stderr, clippy::unwrap_used, reason = "a test says which file it stopped at")]
pub fn watched<T: Send + 'static>(
    hangs: Duration,
    work: impl FnOnce(&dyn Fn(String)) -> T + Send + 'static,
) -> T {
    let (said, heard) = channel();
    let crew = thread::Builder::new()
        .stack_size(8 << 20)
        .spawn(move || work(&|file| drop(said.send(file))))
        .unwrap();
    let mut last = String::new();
    loop {
        match heard.recv_timeout(hangs) {
            Ok(file) => last = file,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => panic!("{last} is looked at for ever"),
        }
    }
    crew.join().unwrap_or_else(|panic| {
        eprintln!("{last} broke a promise");
        std::panic::resume_unwind(panic)
    })
}
