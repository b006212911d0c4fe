//! What `netloom study mars` computes: the case studies of MARS again, with programs of ours in place of its traces ([`traces`]).
//!
//! The paper tells qualities, hardly a number: what is compared are its statements ([`statements`]). Each holds in our runs, or does not and the mechanism is
//! told, or this form of the study does not judge it. Networks have the numbers of a PERCS hub as far as they were published; no number was chosen
//! for an outcome.

pub mod experiments;
pub mod indirect;
pub mod racks;
pub mod settling;
pub mod slimmed;
pub mod statements;
pub mod traces;
pub mod traffic;
pub mod updates;

use crate::{
    asked::{Asked, Form},
    computed::{Computed, Special},
    files::Files,
};
use experiments::Experiments;
use netloom::{Error, Watcher};
use serde_json::json;
use traces::Application;
use updates::Shape;

/// This study among those that compute something.
pub const SPECIAL: Special = Special { name: "mars", compute: run, verify: None };

/// How much a form runs.
struct Effort {
    traffic: traffic::Effort,
    indirect: indirect::Effort,
    racks: racks::Effort,
    updates: updates::Effort,
    slimmed: slimmed::Effort,
}

/// Racks of 8 hubs, on both sides of their crossover.
const SMALL: &[Shape] = &[Shape { boards: 2, switches: 4, racks: &[9, 17] }];
/// The same further, and of 16 hubs below theirs.
const MEDIUM: &[Shape] = &[
    Shape { boards: 2, switches: 4, racks: &[9, 17, 25, 33] },
    Shape { boards: 4, switches: 4, racks: &[17, 33] },
];
/// The same further, of 16 hubs across their crossover at 64.5, and PERCS' racks of 32 hubs.
const LARGE: &[Shape] = &[
    Shape { boards: 2, switches: 4, racks: &[9, 17, 25, 33, 41] },
    Shape { boards: 4, switches: 4, racks: &[17, 33, 65] },
    Shape { boards: 4, switches: 8, racks: &[33] },
];

/// Children by level of trees of 64 and of 256 nodes, of switches with 4, 8 and 16 ports that lead down.
const TREES_64: [&[u32]; 3] = [&[4, 4, 4], &[8, 8], &[16, 4]];
const TREES_256: [&[u32]; 3] = [&[4, 4, 4, 4], &[8, 8, 4], &[16, 16]];

fn effort(form: Form) -> Effort {
    let all: &[usize] = &[0, 1, 2, 3, 4];
    let one: &[Application] = &[Application::MolecularDynamics];
    match form {
        Form::Smoke => Effort {
            traffic: traffic::Effort { steps: 2 },
            indirect: indirect::Effort { steps: 1, applications: one, rules: &[0, 3] },
            racks: racks::Effort { iterations: 1 },
            updates: updates::Effort { shapes: SMALL, window: 400 },
            slimmed: slimmed::Effort { grid: [4, 4, 4], steps: 1, trees: TREES_64, applications: one },
        },
        Form::Quick => Effort {
            traffic: traffic::Effort { steps: 5 },
            indirect: indirect::Effort { steps: 5, applications: one, rules: all },
            racks: racks::Effort { iterations: 2 },
            updates: updates::Effort { shapes: MEDIUM, window: 500 },
            slimmed: slimmed::Effort { grid: [8, 8, 4], steps: 1, trees: TREES_256, applications: one },
        },
        Form::Whole | Form::Full => Effort {
            traffic: traffic::Effort { steps: 10 },
            indirect: indirect::Effort { steps: 10, applications: &Application::ALL, rules: all },
            racks: racks::Effort { iterations: 5 },
            updates: updates::Effort { shapes: LARGE, window: 700 },
            slimmed: slimmed::Effort {
                grid: [8, 8, 4],
                steps: 5,
                trees: TREES_256,
                applications: &Application::ALL,
            },
        },
    }
}

fn run(files: &Files, asked: &Asked<'_>, watcher: &dyn Watcher) -> Result<Computed, Error> {
    let effort = effort(asked.form);
    let experiments = Experiments::new(files, asked, watcher)?;
    let figures = [
        ("figures_3_to_5", traffic::run(&experiments, &effort.traffic)?),
        ("figure_7", slimmed::run(&experiments, &effort.slimmed)?),
        ("figure_8", indirect::run(&experiments, &effort.indirect)?),
        ("figure_9", racks::run(&experiments, &effort.racks)?),
        ("gups", updates::run(&experiments, &effort.updates)?),
    ];
    let (mut text, mut object, mut all) = (String::new(), json!({}), Vec::new());
    for (name, figure) in figures {
        text += &figure.text;
        object[name] = figure.object;
        all.extend(figure.statements);
    }
    text += &statements::text(&all);
    object["statements"] = statements::object(&all);
    Ok(Computed { lines: Vec::new(), more: Vec::new(), text, object })
}

#[cfg(test)]
mod testing {
    //! What the tests of this study need.

    use crate::asked::{Asked, Form};
    use netloom::{output::Program, saver::Signals};
    use std::sync::Arc;

    /// A form without files.
    pub fn asked(form: Form) -> Asked<'static> {
        Asked {
            form,
            row: None,
            set: Vec::new(),
            out: None,
            threads: None,
            program: Program { build: "test", version: "0", revision: "" },
            heed: &|| Arc::new(Signals::default()),
        }
    }
}
