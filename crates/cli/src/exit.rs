//! How a command can end. The numbers are public: scripts rely on them.

use netloom::{Error, ErrorKind};
use results::summary::State;
use std::process::ExitCode;

/// What a command returns: how it ended, or why it failed.
pub type Outcome = Result<Exit, Error>;

/// Exit status of `netloom`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// Everything was done.
    Done = 0,
    /// A fault of Netloom itself.
    Internal = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The experiment is invalid, or asks for what this build cannot do.
    Experiment = 3,
    /// An input file is missing, unreadable or not text.
    Input = 4,
    /// The simulated network deadlocked or starved.
    Deadlock = 5,
    /// Ended by a limit: time, memory, events.
    Limit = 6,
    /// Results could not be written.
    Output = 7,
    /// Interrupted; a checkpoint was saved.
    Interrupted = 8,
    /// Started under a launcher that does not match its MPI.
    Launcher = 9,
    /// `compare`, `flow scenarios` or `study` found differences.
    Differences = 10,
    /// A checker found a violated invariant.
    Violated = 11,
    /// A rank of a program failed.
    Program = 12,
}

impl Exit {
    /// Every status, in numerical order.
    pub const ALL: &'static [Self] = &[
        Self::Done,
        Self::Internal,
        Self::Usage,
        Self::Experiment,
        Self::Input,
        Self::Deadlock,
        Self::Limit,
        Self::Output,
        Self::Interrupted,
        Self::Launcher,
        Self::Differences,
        Self::Violated,
        Self::Program,
    ];

    /// What the status means, for the help text.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Internal => "internal error (a bug in netloom)",
            Self::Usage => "usage",
            Self::Experiment => "experiment invalid",
            Self::Input => "input unreadable",
            Self::Deadlock => "deadlock or starvation; tables that are unsound",
            Self::Limit => "ended by a limit (time, memory, events)",
            Self::Output => "output failed",
            Self::Interrupted => "interrupted, checkpoint saved",
            Self::Launcher => "launcher or MPI mismatch",
            Self::Differences => "compare, flow scenarios or study found differences",
            Self::Violated => "invariant violated",
            Self::Program => "a rank of a program failed",
        }
    }
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Internal => Self::Internal,
            ErrorKind::Usage => Self::Usage,
            ErrorKind::Experiment => Self::Experiment,
            ErrorKind::Input => Self::Input,
            ErrorKind::Deadlock => Self::Deadlock,
            ErrorKind::Limit => Self::Limit,
            ErrorKind::Output => Self::Output,
            ErrorKind::Interrupted => Self::Interrupted,
            ErrorKind::Violated => Self::Violated,
            ErrorKind::Program => Self::Program,
            ErrorKind::Launcher => Self::Launcher,
        }
    }
}

/// How a run with this verdict ends.
impl From<State> for Exit {
    fn from(state: State) -> Self {
        match state {
            State::Ok | State::NotStationary | State::Saturated => Self::Done,
            State::Incomplete => Self::Limit,
            State::Starved | State::Deadlock => Self::Deadlock,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grave_verdicts_have_their_exit_codes() {
        assert_eq!(Exit::from(State::Saturated), Exit::Done);
        assert_eq!(Exit::from(State::Incomplete), Exit::Limit);
        assert_eq!(Exit::from(State::Starved), Exit::Deadlock);
        assert_eq!(Exit::from(State::Deadlock), Exit::Deadlock);
    }

    #[test]
    fn the_numbers_are_public() {
        let numbers: Vec<u8> = Exit::ALL.iter().map(|&e| e as u8).collect();
        assert_eq!(numbers, (0..=12).collect::<Vec<u8>>());
    }
}
