//! Processors of ranks that live on terminals.

use base::time::Ps;
use engine::state::{Fifo, NIL};
use serde::{Deserialize, Serialize};

/// A processor of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// When what it does is done.
    pub free: Ps,
    /// Row of the operation in hand, [`NIL`] if idle.
    pub running: u32,
    /// Operations that wait for it.
    pub queue: Fifo,
}

impl Cpu {
    /// One that has nothing to do.
    #[must_use]
    pub fn idle() -> Self {
        Self { free: 0, running: NIL, queue: Fifo::default() }
    }
}
