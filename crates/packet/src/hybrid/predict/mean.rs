//! The mean latency of each pair.

use super::{Grid, Predictor, PredictorEntry, Recipe};
use crate::hybrid::learn::{Learned, Shape};
use base::{index::TerminalId, registry::About, time::Ps};
use std::sync::Arc;

/// The predictor `mean`.
pub const ENTRY: PredictorEntry = PredictorEntry {
    about: About {
        name: "mean",
        summary: "the mean latency of each pair of source and destination",
        doc: "A pair that sent nothing in the window takes the mean of its source, else of all pairs at its distance, else of all packets; without \
              any packet, the latency of an empty network. All of that within a class of message sizes, a power of two; of a size that was not seen, of the \
              nearest. Percentiles of predicted packets are those of the means.",
        source: "Cruz-Camacho et al., section 3.1.2",
        params: &[],
    },
    build: |_| Ok(Arc::new(Mean)),
};

struct Mean;

impl Recipe for Mean {
    fn train(&self, learned: &Learned, shape: &Arc<Shape>, classes: usize) -> Arc<dyn Predictor> {
        Arc::new(Means(Grid::means(learned, shape, classes)))
    }
}

struct Means(Grid);

impl Predictor for Means {
    #[inline]
    fn latency(&self, source: TerminalId, destination: TerminalId, _: Option<u32>) -> Ps {
        self.0.get(source, destination)
    }

    fn of_source(&self, source: TerminalId) -> Option<&[Ps]> {
        self.0.of_source(source)
    }
}
