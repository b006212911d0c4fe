//! Why something could not be done.

use base::{
    diag::{Diagnostic, Diagnostics, Place, SHOWN},
    param::Problem,
    visible::name,
};
use fabric::export::routes::Unwritten;
use results::output::OutputError;

/// What kind of failure it is, for programs; the command line makes its exit status of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// A fault of Netloom itself.
    Internal,
    /// What was asked for makes no sense.
    Usage,
    /// The experiment is invalid, or asks for what this build cannot do.
    Experiment,
    /// An input file is missing, unreadable or not text.
    Input,
    /// The simulated network or program deadlocked.
    Deadlock,
    /// Ended by a limit: time, memory, events.
    Limit,
    /// Results could not be written.
    Output,
    /// Interrupted; what was done is kept.
    Interrupted,
    /// A checker found a violated invariant.
    Violated,
    /// A rank of a program failed.
    Program,
    /// The processes that a launcher started do not fit together, or not to it.
    Launcher,
}

/// Why something could not be done.
///
/// ```
/// use netloom::{Error, ErrorKind, Experiment};
///
/// let error = Experiment::from_text("[experiment]\nduratoin = \"1 us\"\n").run().map(drop).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Experiment);
/// assert!(error.to_string().contains("[experiment] has no key `duratoin`"));
/// assert!(format!("{error:?}").contains("= help: did you mean `duration`?"));
/// // All that is wrong with an experiment comes at once, each with its place.
/// assert!(matches!(error, Error::Experiment(all) if all.sorted().len() > 1));
/// ```
///
/// `{}` is a line for each error. `{:?}`, which `main` prints of what it returns, is what the command line prints: each with its line, a caret and
/// ways to mend it.
#[derive(thiserror::Error)]
pub enum Error {
    /// Mistakes in the experiment, or in input files that it names: each with its place, reason and ways to mend it.
    #[error("{0}")]
    Experiment(Box<Diagnostics>),
    /// Any other failure, which has no place in a file.
    #[error("{message}{}", help.as_ref().map_or_else(String::new, |help| format!("\n  help: {help}")))]
    Message {
        /// What kind of failure.
        kind: ErrorKind,
        /// What went wrong, on one line.
        message: String,
        /// What to do about it.
        help: Option<String>,
    },
}

impl Error {
    /// A failure with a message of one line; ends of lines in it are those of names, and shown.
    pub fn new(kind: ErrorKind, message: impl AsRef<str>) -> Self {
        Self::Message { kind, message: name(message.as_ref()).into_owned(), help: None }
    }

    /// Mistakes in an experiment.
    #[must_use]
    pub fn experiment(diagnostics: Diagnostics) -> Self {
        Self::Experiment(Box::new(diagnostics))
    }

    /// Mistakes in an input file that no experiment names.
    #[must_use]
    pub fn input(mut problems: Vec<Problem>) -> Self {
        let mut diagnostics = Diagnostics::default();
        // What has no line comes last. Where not all are shown, how many more there are comes first: at the beginning of no text.
        let all = problems.len() > SHOWN;
        problems.sort_by_key(|p| p.input.as_ref().is_none_or(|input| input.line > 0));
        for problem in problems {
            let mut diagnostic = Diagnostic::new(None, problem.message);
            (diagnostic.input, diagnostic.count) = (true, problem.count);
            if let Some(input) = problem.input.filter(|input| all || input.line > 0) {
                let (start, end) = (input.start, input.end);
                let source = diagnostics.add_excerpt(input.file, input.text, input.line);
                diagnostic.place = Some(Place { source, start, end });
            }
            diagnostics.push(match problem.help {
                Some(help) => diagnostic.help(help),
                None => diagnostic,
            });
        }
        Self::experiment(diagnostics)
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_help(self, text: impl AsRef<str>) -> Self {
        let help = name(text.as_ref()).into_owned();
        match self {
            Self::Message { kind, message, .. } => Self::Message { kind, message, help: Some(help) },
            experiment @ Self::Experiment(_) => experiment,
        }
    }

    /// What kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Experiment(diagnostics) if diagnostics.all_in_input() => ErrorKind::Input,
            Self::Experiment(_) => ErrorKind::Experiment,
            Self::Message { kind, .. } => *kind,
        }
    }
}

impl From<OutputError> for Error {
    /// Results that have no place.
    fn from(error: OutputError) -> Self {
        let failure = Self::new(ErrorKind::Output, error.to_string());
        match error {
            OutputError::Exists(_) => failure.with_help("choose another --out, or replace it with --force"),
            OutputError::NotOurs(_) => {
                failure.with_help("choose another --out; --force replaces only earlier runs")
            }
            OutputError::Reserved { .. } => failure.with_help("choose another name"),
            OutputError::Foreign(_) => failure.with_help("move it away, or choose another --out"),
            OutputError::Claimed { .. } => failure.with_help("wait for it to end, or choose another --out"),
            _ => failure,
        }
    }
}

impl From<Unwritten> for Error {
    /// Paths of a routing that no file holds.
    fn from(why: Unwritten) -> Self {
        let large = matches!(why, Unwritten::Memory(_));
        Self::new(if large { ErrorKind::Limit } else { ErrorKind::Experiment }, why.to_string())
    }
}

impl From<&model::Failure> for Error {
    /// A run's failure.
    fn from(failure: &model::Failure) -> Self {
        let kind = match failure {
            model::Failure::Invariant(_) => ErrorKind::Violated,
            model::Failure::Setup(_) => ErrorKind::Experiment,
            model::Failure::Stopped(_) => ErrorKind::Limit,
            model::Failure::Damaged => ErrorKind::Input,
        };
        Self::new(kind, failure.to_string())
    }
}
