//! What replaces the network on model `hybrid`: a predictor and a director of one's own.

use netloom::{
    base::{
        index::TerminalId,
        param::{Kind, Param, Problem},
        registry::About,
        time::{NEVER, Ps},
    },
    packet::hybrid::{
        Frame, HybridSetup,
        directors::{self, DirectorEntry, Step, Strategy, View},
        learn::{Forget, Learned, Shape},
        predict::{Predictor, PredictorEntry, Recipe},
    },
};
use std::sync::Arc;

/// What `[hybrid] predictor` can name: a multiple of what an empty network takes.
pub static STRETCHED: PredictorEntry = PredictorEntry {
    about: About {
        name: "stretched",
        summary: "a multiple of an empty network's latency",
        doc: "It learns nothing.",
        source: "this example",
        params: &[Param {
            name: "stretch",
            kind: Kind::Real { min: 1.0, max: 1000.0 },
            default: Some("1"),
            doc: "The multiple.",
        }],
    },
    build: |values| Ok(Arc::new(Stretch(values.real("stretch")))),
};

struct Stretch(f64);

impl Recipe for Stretch {
    fn train(&self, _: &Learned, shape: &Arc<Shape>, _: usize) -> Arc<dyn Predictor> {
        Arc::new(Stretched(self.0, Arc::clone(shape)))
    }
}

struct Stretched(f64, Arc<Shape>);

impl Predictor for Stretched {
    fn latency(&self, source: TerminalId, destination: TerminalId, _: Option<u32>) -> Ps {
        (self.0 * self.1.floor(source, destination) as f64).round() as Ps
    }
}

/// What `[hybrid] director` can name: one switch, for the rest of the run.
pub static ONCE: DirectorEntry = DirectorEntry {
    about: About {
        name: "once",
        summary: "switches to the surrogate once and stays",
        doc: "",
        source: "this example",
        params: &[Param { name: "at", kind: Kind::Time, default: None, doc: "Virtual time of the switch." }],
    },
    sketches: false,
    build,
};

fn build(setup: &HybridSetup, frame: &Frame) -> directors::Built {
    let at = setup.values.time("at");
    if at == 0 || at >= frame.end {
        let problem = Problem::new("at", "the switch is not within the run");
        return Err(vec![problem.help("write a time above zero and before the end")]);
    }
    Ok(Box::new(Once(at)))
}

/// It remembers nothing: what it does follows from the time.
struct Once(Ps);

impl Strategy for Once {
    fn next_tick(&self, now: Ps) -> Ps {
        if now < self.0 { self.0 } else { NEVER }
    }

    fn may_enter(&self, now: Ps) -> bool {
        now == self.0
    }

    fn forget(&self, _: Ps) -> Forget {
        Forget::Nothing
    }

    fn decide(&mut self, view: &View<'_>) -> Step {
        if view.now == self.0 { Step::Enter } else { Step::Stay }
    }

    fn memory(&self) -> Vec<u64> {
        Vec::new()
    }

    fn recall(&mut self, memory: &[u64]) -> bool {
        memory.is_empty()
    }
}
