//! Real C programs on the interfaces of [`crate::machine`].
//!
//! [`loader`] gives each rank a copy of the program whose calls lead to [`ptl`], [`pmi`], [`system`], [`syscalls`], [`state`], [`files`], [`signals`] and
//! [`ends`]; [`run`](mod@run) resumes ranks as coroutines, which wait in the [`world`]; [`preempt`] interrupts those that poll memory; [`guard`] copies to and from
//! their memory and catches their crashes. What a process has for itself each rank has: in [`own`], [`locals`], [`float`], [`stdio`] and [`cxx`].

pub mod c11;
mod calls;
pub mod chain;
pub mod chance;
pub mod cxx;
pub mod descriptors;
pub mod ends;
pub mod files;
pub mod float;
pub mod futex;
pub mod getopt;
pub mod guard;
pub mod idle_polls;
pub mod loader;
pub mod locale;
pub mod locals;
pub mod locks;
pub mod looks;
pub mod openmp;
pub mod own;
pub mod pmi;
pub mod preempt;
pub mod private;
pub mod ptl;
pub mod report;
pub mod results;
pub mod run;
pub mod signals;
pub mod spans;
pub mod stacks;
pub mod state;
pub mod statics;
pub mod stdio;
pub mod syscalls;
pub mod system;
pub mod threads;
pub mod timers;
pub mod world;
pub mod zones;

pub use report::Report;
pub use run::{Program, run};
pub use threads::Status;

/// All that programs can call here instead of elsewhere.
#[must_use]
pub fn names() -> loader::Names {
    let all = [
        c11::names(),
        chance::names(),
        if openmp::one_thread_in_teams() { openmp::names() } else { Vec::new() },
        ptl::names(),
        pmi::names(),
        system::names(),
        locks::names(),
        descriptors::names(),
        ends::names(),
        files::names(),
        results::names(),
        signals::names(),
        state::names(),
        statics::names(),
        syscalls::names(),
        timers::names(),
        zones::names(),
    ];
    all.into_iter().flatten().collect()
}
