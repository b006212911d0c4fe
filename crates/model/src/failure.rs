//! How a run can fail. Verdicts (deadlock, saturation) are results, not failures.

use base::time::Ps;
use serde::{Deserialize, Serialize};

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Failure {
    /// A checker found that the simulator broke one of its own rules: our bug.
    #[error("invariant violated: {0}")]
    Invariant(String),
    /// The setup cannot be simulated.
    #[error("{0}")]
    Setup(String),
    /// The state that the run should go on from is not what was saved.
    #[error("the saved state is damaged")]
    Damaged,
    /// The caller's progress function asked to stop.
    #[error("stopped at {0} ps of virtual time")]
    Stopped(Ps),
}
