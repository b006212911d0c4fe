//! What a run of a Portals program prints: the output of its ranks, and how they ended.

use crate::{
    args::{Format, PortalsRunArgs},
    console::Console,
    exit::{Exit, Outcome},
};
use base::time;
use netloom::{Error, ErrorKind};
use portals::runtime::{Report, Status, world::Sink};
use serde_json::{Value as Json, json};
use std::io::Write;

/// Output of ranks goes out line by line, so that lines of different ranks do not mix.
struct Lines {
    label: bool,
    /// Standard output is kept for the result.
    to_stderr: bool,
    /// What of a line each rank has written to output and error.
    parts: Vec<[Vec<u8>; 2]>,
}

impl Lines {
    fn take(&mut self, rank: u32, error: bool, bytes: &[u8]) {
        let part = &mut self.parts[rank as usize][usize::from(error)];
        part.extend_from_slice(bytes);
        let Some(end) = part.iter().rposition(|&b| b == b'\n') else { return };
        let rest = part.split_off(end + 1);
        let lines = std::mem::replace(part, rest);
        let mut text = Vec::new();
        for line in lines.split_inclusive(|&b| b == b'\n') {
            if self.label {
                text.extend_from_slice(format!("[{rank}] ").as_bytes());
            }
            text.extend_from_slice(line);
        }
        // Nobody can learn that output cannot be written.
        let _ = if error || self.to_stderr {
            std::io::stderr().write_all(&text)
        } else {
            std::io::stdout().write_all(&text)
        };
    }
}

impl Drop for Lines {
    /// Lines without an end get one.
    fn drop(&mut self) {
        for rank in 0..self.parts.len() {
            for error in [false, true] {
                if !self.parts[rank][usize::from(error)].is_empty() {
                    self.take(rank as u32, error, b"\n");
                }
            }
        }
    }
}

/// Where the output of ranks goes.
pub fn sink(args: &PortalsRunArgs) -> Sink {
    let parts = vec![[Vec::new(), Vec::new()]; args.ranks as usize];
    let mut lines = Lines { label: args.label, to_stderr: args.format == Format::Json, parts };
    Box::new(move |rank, error, bytes| lines.take(rank, error, bytes))
}

/// Why ranks that wait will never end.
pub fn stuck(waiting: &[String], limited: bool, failed: bool) -> Option<Error> {
    if waiting.is_empty() {
        return None;
    }
    let (exit, what) = match (limited, failed) {
        (true, _) => (ErrorKind::Limit, "the run was ended by its limit"),
        (_, true) => (ErrorKind::Program, "ranks wait for what never comes, since others failed"),
        _ => (ErrorKind::Deadlock, "deadlock: ranks wait for what never comes"),
    };
    let most = 16;
    let mut lines: Vec<&str> = waiting.iter().take(most).map(String::as_str).collect();
    let more = format!("and {} more", waiting.len().saturating_sub(most));
    if waiting.len() > most {
        lines.push(&more);
    }
    let message = format!("{what}\n  {}", lines.join("\n  "));
    Some(Error::Message { kind: exit, message, help: None })
}

/// How a run ended, in a word of JSON objects.
#[must_use]
pub fn state(failure: Option<&Error>) -> &'static str {
    match failure.map(Error::kind) {
        None => "done",
        Some(ErrorKind::Limit) => "limit",
        Some(ErrorKind::Deadlock) => "deadlock",
        Some(_) => "failed",
    }
}

/// Says how ranks ended.
pub fn print_outcome(report: &Report, args: &PortalsRunArgs, console: &mut Console<'_>) -> Outcome {
    let _ = std::io::stdout().flush();
    if args.summary {
        let c = report.counts;
        let time = time::display(report.time);
        console.remark(&format!("simulated {time}: {} messages, {} B on the network", c.messages, c.bytes));
        if c.lost + c.sent_again + c.given_up > 0 {
            console.remark(&format!("{} lost, {} sent again, {} given up", c.lost, c.sent_again, c.given_up));
        }
    }
    let mut failed = false;
    for (rank, status) in report.ranks.iter().enumerate() {
        let how = match status {
            Status::Running | Status::Exited(0) => continue,
            Status::Exited(code) => format!("exited with status {code}"),
            Status::Signal(signal, Some(at)) => format!("was ended by {} at {at:#x}", signal_name(*signal)),
            Status::Signal(signal, None) => format!("was ended by {}", signal_name(*signal)),
            Status::Stopped(by) => format!("was stopped: rank {by} ended the job"),
        };
        failed |= report.is_failure(status);
        console.remark(&format!("rank {rank} {how}"));
    }
    let failure = stuck(&report.waiting, report.limited, failed)
        .or_else(|| failed.then(|| Error::new(ErrorKind::Program, "a rank failed")));
    let outcome = match args.format {
        Format::Text => Ok(()),
        Format::Json => console.print_json(&object(report, args, state(failure.as_ref()))),
    };
    failure.map_or(outcome.map(|()| Exit::Done), Err)
}

fn object(report: &Report, args: &PortalsRunArgs, state: &str) -> Json {
    let rank = |status: &Status| match status {
        Status::Running => json!({"state": "waiting"}),
        Status::Exited(code) => json!({"state": "exited", "status": code}),
        Status::Signal(signal, at) => json!({"state": "signal", "signal": signal, "address": at}),
        Status::Stopped(by) => json!({"state": "stopped", "by": by}),
    };
    let c = report.counts;
    json!({
        "program": args.program.join(" "), "state": state, "simulated_ps": report.time,
        "messages": c.messages, "bytes": c.bytes,
        "lost": c.lost, "sent_again": c.sent_again, "given_up": c.given_up,
        "ranks": report.ranks.iter().map(rank).collect::<Json>(), "waiting": report.waiting,
    })
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL (an instruction that is none)",
        6 => "SIGABRT (abort or a failed assertion)",
        7 => "SIGBUS (memory that is not there)",
        8 => "SIGFPE (such as a division by zero)",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV (a wrong address, or its stack is full)",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM (its alarm)",
        15 => "SIGTERM",
        24 => "SIGXCPU (it computed without any call for longer than --host-limit)",
        31 => "SIGSYS (a call of the system that is none)",
        5 => "SIGTRAP",
        _ => "a signal",
    }
}
