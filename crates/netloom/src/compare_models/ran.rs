//! What a model made of an experiment.

use results::summary::Summary;

/// What a model made of the experiment.
#[derive(Clone, Debug)]
pub struct Ran {
    /// What the run says about itself.
    pub summary: Summary,
    /// What is known of it beside.
    pub known: Known,
}

/// What is known of a run before it begins.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Its routing looks at queues; false also where the model does not tell.
    pub adaptive: bool,
    /// Programs send, or may send, messages for which they ask first, because they are larger than this; none also where the model does not tell.
    pub asked_above: Option<String>,
    /// Costs that follow from other sections: key, mean value with its unit.
    pub derived: Vec<(&'static str, String)>,
    /// What the file says against its own network.
    pub warnings: Vec<String>,
}
