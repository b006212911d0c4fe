//! Network models that a user can name in `[model] kind`: one line each.

use model::ModelEntry;

/// All models that come with Netloom.
pub const MODELS: &[ModelEntry] = &[
    packet::build::PACKET,
    loggops::build::DELAY,
    congestion::build::CONGESTION,
    flow::build::FLOW,
    packet::build::HYBRID,
];
