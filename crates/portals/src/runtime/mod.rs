//! Real C programs on the interfaces of [`crate::machine`].
//!
//! [`loader`] gives each rank a copy of the program whose calls lead to [`ptl`], [`pmi`] and [`system`]; [`run`](mod@run) resumes ranks as coroutines, which wait in the [`world`]; [`preempt`] interrupts those that poll memory; [`guard`] copies to
//! and from their memory and catches their crashes.

mod calls;
pub mod guard;
pub mod idle_polls;
pub mod loader;
pub mod pmi;
pub mod preempt;
pub mod private;
pub mod ptl;
pub mod report;
pub mod run;
pub mod stdio;
pub mod system;
pub mod threads;
pub mod world;

pub use report::Report;
pub use run::{Program, run};
pub use threads::Status;

/// All that programs can call here instead of elsewhere.
#[must_use]
pub fn names() -> loader::Names {
    ptl::names().into_iter().chain(pmi::names()).chain(system::names()).collect()
}
