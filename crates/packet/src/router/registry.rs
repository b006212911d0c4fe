//! The router architectures that `model.router` can name. Runs are compiled here, once for each architecture and mode: what a run is
//! made of is chosen before it starts, not per event.

use super::{
    input_queued::InputQueued, output_queued::OutputQueued, pipelined::Pipelined, window::WindowRouter,
};
use crate::{
    config::{Architecture, PacketConfig, Rules},
    net::Router,
    network::{Network, is_plain},
    setup::Setup,
    simulation,
    stepper::{self, Stepper},
};
use base::registry::{About, Registered, find};
use engine::{
    executor::Options,
    state::mode::{Full, Mode, Plain, Undo},
};
use model::{Finished, Watch, failure::Failure, section::Listed};
use std::{any::Any, sync::Arc};

/// Simulates a setup, watched.
pub type Run = fn(&Setup, Watch<'_>) -> Result<Finished, Failure>;

/// What runs of an architecture in one mode are compiled to.
#[derive(Clone, Copy)]
pub struct Compiled {
    /// Name of the mode.
    pub mode: &'static str,
    /// Simulates a setup in that mode.
    pub run: Run,
}

impl Compiled {
    /// The crate's own tests run no network (those under `tests/` do): with entries that run nothing, not every architecture is compiled
    /// in every mode once more for them.
    const fn of<R: Router>() -> Self {
        let run: Run = if cfg!(test) { runs_nothing } else { simulation::watch::<R> };
        Self { mode: R::Mode::NAME, run }
    }
}

/// What entries of the crate's own tests run.
fn runs_nothing(_: &Setup, _: Watch<'_>) -> Result<Finished, Failure> {
    unreachable!("tests that run networks are under `tests/`")
}

/// What entries of the crate's own tests step.
fn steps_nothing(_: &Arc<Network>, _: Options) -> Box<dyn Stepper> {
    unreachable!("tests that step networks are under `tests/`")
}

/// A router architecture.
#[derive(Clone, Copy)]
pub struct RouterEntry {
    /// Name and documentation.
    pub about: About,
    /// What the rest of the model goes by.
    pub rules: Rules,
    /// Why it does not copy what is for several terminals: see [`Router::no_copies`].
    pub no_copies: fn(&PacketConfig, u64) -> Option<(String, &'static str)>,
    /// Refuses setups that it excludes.
    pub refuse: fn(&Setup) -> Result<(), Failure>,
    /// Bytes of its own state, for so many ports with so many virtual channels each.
    pub bytes: fn(u64, u64) -> u64,
    /// Bytes of what only some setups make it keep beyond that.
    pub more_bytes: fn(&Setup) -> u64,
    /// Simulates setups that [`is_plain`] accepts.
    pub plain: Compiled,
    /// Simulates any setup.
    pub full: Compiled,
    /// Simulates any setup, ahead of what is certain.
    pub undo: Compiled,
    /// A network that is driven from outside, with all features.
    pub step: fn(&Arc<Network>, Options) -> Box<dyn Stepper>,
}

impl RouterEntry {
    /// The entry of an architecture. Keys that its documentation declares are keys of `[model]`; their values are in
    /// [`Network::values`] when routers are made, and in [`Setup::values`] when it refuses a setup.
    #[must_use]
    pub const fn of<R: Router>() -> Self {
        Self {
            about: R::ABOUT,
            rules: R::RULES,
            no_copies: R::no_copies,
            refuse: R::refuse,
            bytes: R::bytes,
            more_bytes: R::more_bytes,
            plain: Compiled::of::<R::In<Plain>>(),
            full: Compiled::of::<R::In<Full>>(),
            undo: Compiled::of::<R::In<Undo>>(),
            step: if cfg!(test) { steps_nothing } else { stepper::new::<R::In<Full>> },
        }
    }

    /// The same of an architecture that nobody runs for its speed: plain runs are made with all features, and one copy less is compiled.
    #[must_use]
    pub const fn of_ideal<R: Router>() -> Self {
        Self { plain: Compiled::of::<R::In<Full>>(), ..Self::of::<R>() }
    }

    /// The architecture, for a setup.
    #[must_use]
    pub fn architecture(&'static self) -> Architecture {
        Architecture { name: self.about.name, rules: self.rules, entry: self }
    }

    /// Simulates, in the mode that does no more than the setup asks for.
    ///
    /// # Errors
    /// As [`run::watch`](crate::run::watch).
    pub fn run(&self, setup: &Setup, watch: Watch<'_>) -> Result<Finished, Failure> {
        // Journals first: what runs ahead needs them, whatever features it has; then no more features than are asked for.
        let compiled = match setup.scheduling.optimism() {
            Some(_) => self.undo,
            None if is_plain(setup) => self.plain,
            None => self.full,
        };
        (compiled.run)(setup, watch)
    }
}

impl Registered for RouterEntry {
    fn about(&self) -> &About {
        &self.about
    }
}

/// All of them; the first is the default.
///
/// A static, as every list of entries made by [`RouterEntry::of`] is to be: a constant is made anew in each crate that names it, and all
/// architectures in all modes are then compiled there once more, with the optimisation of that crate.
pub static ROUTERS: &[RouterEntry] = &[
    RouterEntry::of::<WindowRouter>(),
    RouterEntry::of::<InputQueued>(),
    RouterEntry::of_ideal::<OutputQueued>(),
    RouterEntry::of::<Pipelined>(),
];

/// Names of [`ROUTERS`], in their order.
pub const NAMES: [&str; ROUTERS.len()] = {
    let mut names = [""; ROUTERS.len()];
    let mut n = 0;
    while n < names.len() {
        names[n] = ROUTERS[n].about.name;
        n += 1;
    }
    names
};

/// The entry that simulates a configuration: with section `[router]` it is that of pipelined routers, whatever they are called.
///
/// # Panics
/// If the architecture's entry is no [`RouterEntry`]: only [`RouterEntry::architecture`] and [`clocked`] make one.
#[must_use]
pub fn chosen(config: &PacketConfig) -> &'static RouterEntry {
    let entry: &'static dyn Any = config.router.entry;
    entry.downcast_ref().expect("an architecture that an entry made")
}

/// The same architecture with section `[router]`: its rules, and what simulates it, are those of pipelined routers.
#[must_use]
pub fn clocked(architecture: Architecture) -> Architecture {
    Architecture { name: architecture.name, ..named(PIPELINED) }
}

/// Name of the architecture that takes section `[router]`.
pub const PIPELINED: &str = <Pipelined as Router>::ABOUT.name;

/// The architecture of a name, for a setup that is made without a file.
///
/// # Panics
/// If Netloom has none of this name.
#[must_use]
pub fn named(name: &str) -> Architecture {
    find(ROUTERS, name).expect("a registered router").architecture()
}

impl Listed for RouterEntry {}
