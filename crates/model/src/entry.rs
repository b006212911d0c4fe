//! How a model is registered: one constant per model.

use crate::{
    contract::Run,
    memory,
    parts::Parts,
    section::{ChoiceEntry, List, Refusal, SectionEntry},
    setup::{JobSetup, LinkParams, Until},
};
use base::{
    diag::Diagnostics,
    param::{Param, Unread, Values},
    registry::{About, Registered},
};
use fabric::topology::Sizes;

/// A network model that a user can name in `[model] kind`.
#[derive(Clone, Copy)]
pub struct ModelEntry {
    /// Name, documentation, keys of `[model]`.
    pub about: About,
    /// What an experiment with it must have.
    pub needs: Needs,
    /// What it sees of messages that meet.
    pub contention: Contention,
    /// True if it heeds the rates that single messages are limited to ([`workload::traffic::Traffic::rate`]).
    pub heeds_rates: bool,
    /// True if its runs can be saved and taken up again.
    pub saved: bool,
    /// True if its runs can be spread over several processes.
    pub ranks: bool,
    /// Sections beside `[model]` that it reads, or leaves alone though others refuse them.
    pub sections: &'static [&'static SectionEntry],
    /// Which of them it reads with their defaults if the file has none.
    pub implied: &'static [&'static str],
    /// Sections by name that it refuses in words of its own.
    pub refuses: &'static [(&'static str, Refusal)],
    /// Keys of `[[job]]` that it reads.
    pub job_keys: JobKeys,
    /// Keys of `[model]` that choose from lists, such as router architectures. They stand among `about`'s keys, too, which document them;
    /// what they choose may bring keys of its own to `[model]`.
    pub choices: &'static [ChoiceEntry],
    /// Further lists that names in its sections come from, such as allocators; those of choices are not here.
    pub lists: &'static [&'static List],
    /// Bytes that a run is predicted to need whatever its network, once its sizes are known: what does not fit is refused before anything is built. Beside
    /// the routing's tables and [`crate::memory::FIXED`].
    pub least: fn(&Known<'_>) -> u64,
    /// Why no network of these sizes can be simulated, if that is certain by the values of `[model]`: it need not be built to be refused.
    pub unfit: fn(&Values, &Sizes) -> Option<String>,
    /// Keys that have no effect in a combination of parts, whether the file has them or not.
    pub unread: fn(&Parts<'_>) -> Vec<Unread>,
    /// Builds a run. It refuses what only the model can judge, with diagnostics, and returns none if there are any.
    pub build: Build,
}

/// What is known of a run before its network is built.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Values of `[model]`.
    pub values: &'a Values,
    /// Sizes of the network, all planes together.
    pub sizes: &'a Sizes,
    /// The jobs, on whatever terminals; empty if they are not known.
    pub jobs: &'a [JobSetup],
    /// Links by class; empty if one has mistakes.
    pub links: &'a [LinkParams],
    /// When it ends, if that is known.
    pub until: Option<Until>,
}

/// Builds a run of a model, or adds to the diagnostics why it cannot be.
pub type Build = fn(Parts<'_>, &mut Diagnostics) -> Option<Box<dyn Run>>;

/// What an experiment must have, beside jobs and the model's own parameters. What is not needed may be there all the same,
/// so that an experiment changes its model by one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// `[fabric]` with its links.
    pub fabric: bool,
    /// `[routing]`, which chooses the routing; a model that needs none leaves it alone.
    pub routing: bool,
    /// What only a model with time needs: links' parameters, an end of the run, loads and sizes of messages.
    pub time: bool,
}

/// What a model sees of messages that want the same link at the same time, from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contention {
    /// Nothing: every message is alone in the network.
    Unseen,
    /// How many cross each link, whenever they do.
    Counted,
    /// The bandwidth that each gets while they meet; no queue between them.
    Shared,
    /// Queues and buffers for a part of the run; for the rest it predicts what they would do.
    Predicted,
    /// Queues and buffers, all of the time.
    Queued,
}

/// Keys of `[[job]]` that a model declares. Other models leave them alone.
#[derive(Clone, Copy)]
pub struct JobKeys {
    /// The key behind which they are listed; at the end if there is none of this name.
    pub after: &'static str,
    /// The keys. All have defaults or may be left out.
    pub params: &'static [Param],
    /// Which of them is the number of ranks of a program that share a terminal, if the model knows that. It is listed behind `compute`.
    pub sharing: Option<&'static str>,
}

impl ModelEntry {
    /// Rank of a model by how much of a network it simulates: the greater, the dearer, and the nearer to the real one. Who has time stands above who has none.
    #[must_use]
    pub fn fidelity(&self) -> (bool, Contention) {
        (self.needs.time, self.contention)
    }

    /// A model with time on a routed network, without sections, job keys and lists of its own.
    #[must_use]
    pub const fn new(about: About, build: Build) -> Self {
        Self {
            about,
            needs: Needs { fabric: true, routing: true, time: true },
            contention: Contention::Unseen,
            heeds_rates: false,
            saved: false,
            ranks: false,
            sections: &[],
            implied: &[],
            refuses: &[],
            job_keys: JobKeys { after: "", params: &[], sharing: None },
            choices: &[],
            lists: &[],
            least: |known| memory::graph(known.sizes.ports, known.sizes.terminals),
            unfit: |_, _| None,
            unread: |_| Vec::new(),
            build,
        }
    }
}

impl Registered for ModelEntry {
    fn about(&self) -> &About {
        &self.about
    }
}
