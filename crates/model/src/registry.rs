//! Network models that a user can name in `[model] kind`.

use base::registry::{About, Registered};

/// A network model.
#[derive(Clone, Copy, Debug)]
pub struct ModelEntry {
    /// Name, documentation, parameters.
    pub about: About,
}

impl Registered for ModelEntry {
    fn about(&self) -> &About {
        &self.about
    }
}

/// All models.
pub const MODELS: &[ModelEntry] = &[ModelEntry { about: crate::packet::config::ABOUT }];
