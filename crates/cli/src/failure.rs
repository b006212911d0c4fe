//! Why a command failed, and how that is told.

use crate::{exit::Exit, render};
use base::{
    diag::{Diagnostic, Diagnostics, Place},
    param::Problem,
};

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// Mistakes in the experiment, or in input files that it names.
    Experiment(Box<Diagnostics>),
    /// Anything else.
    Told {
        /// Exit status.
        exit: Exit,
        /// What went wrong, on one line.
        message: String,
        /// What to do about it.
        help: Option<String>,
    },
}

impl Failure {
    /// A failure with a message.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self::Told { exit, message: message.into(), help: None }
    }

    /// Mistakes in an input file that the command line names.
    #[must_use]
    pub fn input(problems: Vec<Problem>) -> Self {
        let mut diagnostics = Diagnostics::default();
        for problem in problems {
            let mut diagnostic = Diagnostic::new(None, problem.message);
            diagnostic.input = true;
            if let Some(input) = problem.input.filter(|input| input.line > 0) {
                let (start, end) = (input.start, input.end);
                let source = diagnostics.add_excerpt(input.file, input.text, input.line);
                diagnostic.place = Some(Place { source, start, end });
            }
            diagnostics.push(match problem.help {
                Some(help) => diagnostic.help(help),
                None => diagnostic,
            });
        }
        Self::Experiment(Box::new(diagnostics))
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_help(self, text: impl Into<String>) -> Self {
        match self {
            Self::Told { exit, message, .. } => Self::Told { exit, message, help: Some(text.into()) },
            experiment @ Self::Experiment(_) => experiment,
        }
    }

    /// Exit status.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Experiment(diagnostics) if diagnostics.all_in_input() => Exit::Input,
            Self::Experiment(_) => Exit::Experiment,
            Self::Told { exit, .. } => *exit,
        }
    }

    /// The text for standard error.
    #[must_use]
    pub fn text(&self, colour: bool) -> String {
        match self {
            Self::Experiment(diagnostics) => render::render(diagnostics, colour),
            Self::Told { message, help, .. } => {
                let help = help.as_ref().map_or_else(String::new, |h| format!("  help: {h}\n"));
                format!("error: {message}\n{help}")
            }
        }
    }
}

/// What a command returns: how it ended, or why it failed.
pub type Outcome = Result<Exit, Failure>;
