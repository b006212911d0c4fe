//! Network models that a user can name in `[model] kind`.

use base::registry::{About, Registered};

/// A network model.
#[derive(Clone, Copy, Debug)]
pub struct ModelEntry {
    /// Name, documentation, parameters.
    pub about: About,
    /// Which of the models.
    pub kind: ModelKind,
    /// What an experiment with it must have.
    pub needs: Needs,
}

/// The models, for dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// Chunks, buffers, virtual channels: [`packet`].
    Packet,
    /// Messages by formula: [`loggops`].
    Delay,
    /// Messages per link, without time: [`congestion`].
    Congestion,
    /// Messages as flows that share links: [`flow`].
    Flow,
    /// Packets that bypass the network for a while: [`packet::hybrid`].
    Hybrid,
}

impl ModelKind {
    /// True if a run can be saved and taken up again.
    #[must_use]
    pub fn is_kept(self) -> bool {
        matches!(self, Self::Packet | Self::Delay | Self::Hybrid)
    }
}

/// What an experiment must have, beside jobs and the model's own parameters. What is not needed may be there all the same,
/// so that an experiment changes its model by one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// `[fabric]` with its links.
    pub fabric: bool,
    /// `[routing]`.
    pub routing: bool,
    /// What only a model with time needs: links' parameters, an end of the run, loads and sizes of messages.
    pub time: bool,
}

impl Registered for ModelEntry {
    fn about(&self) -> &About {
        &self.about
    }
}

/// All models.
pub const MODELS: &[ModelEntry] = &[
    ModelEntry {
        about: packet::section::ABOUT,
        kind: ModelKind::Packet,
        needs: Needs { fabric: true, routing: true, time: true },
    },
    ModelEntry {
        about: loggops::config::ABOUT,
        kind: ModelKind::Delay,
        needs: Needs { fabric: false, routing: false, time: true },
    },
    ModelEntry {
        about: congestion::setup::ABOUT,
        kind: ModelKind::Congestion,
        needs: Needs { fabric: true, routing: true, time: false },
    },
    // A platform brings its routes; on other topologies the model itself asks for a routing.
    ModelEntry {
        about: flow::config::ABOUT,
        kind: ModelKind::Flow,
        needs: Needs { fabric: true, routing: false, time: true },
    },
    ModelEntry {
        about: packet::section::HYBRID,
        kind: ModelKind::Hybrid,
        needs: Needs { fabric: true, routing: true, time: true },
    },
];
