//! A predictor trained elsewhere, read from a file: a table of pairs or a small network of layers.
//!
//! ```json
//! { "inputs": ["routers", "mean_ns", "sent", "received"],
//!   "layers": [ { "weights": [[0.1, 1.0, 0, 0]], "bias": [5.0], "activation": "relu" } ] }
//! { "table": [[0, 1, 1500.5], [0, 2, 1700]] }
//! ```
//!
//! `weights` has a row per output; the last layer has one output, the latency in nanoseconds. Inputs are fed on line: what was learned in the window
//! before the switch. Pairs that a table lacks take the learned mean.

use super::{Built, Grid, Predictor, PredictorEntry, Recipe, fits, fitted::loads};
use crate::hybrid::learn::{Learned, Shape};
use base::{
    index::TerminalId,
    param::{Excerpt, Kind, Param, Problem, Values},
    registry::About,
    sorted::SortedMap,
    time::Ps,
};
use serde::Deserialize;
use std::sync::Arc;

/// The predictor `external`.
pub const ENTRY: PredictorEntry = PredictorEntry {
    about: About {
        name: "external",
        summary: "a small network or a table of pairs, read from a file",
        doc: "A JSON file: `{\"table\": [[source, destination, ns], ..]}`, or `{\"inputs\": [..], \"layers\": [{\"weights\": [[..], ..], \"bias\": [..], \
              \"activation\": \"relu\" or \"none\"}, ..]}` with a row of weights per output and one output in ns. Inputs are computed at the switch from the \
              window: `routers` (on a shortest way), `mean_ns` (learned mean of the pair), `sent` and `received` (packets of the source, of \
              the destination). Never below the latency of an empty network. Recurrent networks are not modelled.",
        source: "Cruz-Camacho et al., section 5 (surrogates by neural networks)",
        params: &[
            Param { name: "file", kind: Kind::File, default: None, doc: "The file." },
            Param {
                name: "recalibrate",
                kind: Kind::Bool,
                default: Some("true"),
                doc: "Multiply what the file says so that its mean over the packets of the window is the mean that was seen.",
            },
        ],
    },
    build,
};

/// The JSON file: a network of layers with the names of its inputs, or a table of pairs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    inputs: Vec<String>,
    #[serde(default)]
    layers: Vec<Layer>,
    #[serde(default)]
    table: Vec<(u32, u32, f64)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Layer {
    weights: Vec<Vec<f64>>,
    bias: Vec<f64>,
    #[serde(default)]
    activation: Activation,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Activation {
    #[default]
    None,
    Relu,
}

/// Inputs that a network may have.
const INPUTS: [&str; 4] = ["routers", "mean_ns", "sent", "received"];

fn build(values: &Values) -> Built {
    let path = values.text("file");
    let bad = |message: String, line: u64, text: &str| {
        let excerpt = Excerpt { file: path.clone(), line, text: text.to_owned(), start: 0, end: text.len() };
        vec![Problem::new("file", message).at(excerpt)]
    };
    let bytes =
        base::input::read(&path).map_err(|e| bad(format!("cannot read the predictor: {e}"), 0, ""))?;
    let file: File = serde_json::from_slice(&bytes).map_err(|e| {
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().nth(e.line().saturating_sub(1)).unwrap_or("").to_owned();
        bad(format!("this is no predictor: {e}"), e.line() as u64, &line)
    })?;
    check(&file).map_err(|message| bad(message, 0, ""))?;
    Ok(Arc::new(External { file: Arc::new(file), recalibrate: values.bool("recalibrate") }))
}

fn check(file: &File) -> Result<(), String> {
    // Checked once here, so that predicting needs no checks: it cannot fail in the middle of a run.
    if file.table.is_empty() == file.layers.is_empty() {
        return Err("a predictor has either a `table` or `layers`".to_owned());
    }
    if let Some((s, d, ns)) = file.table.iter().find(|(_, _, ns)| !(ns.is_finite() && *ns >= 0.0)) {
        return Err(format!("the latency from {s} to {d}, {ns} ns, is no time"));
    }
    if let Some(unknown) = file.inputs.iter().find(|i| !INPUTS.contains(&i.as_str())) {
        return Err(format!("there is no input `{unknown}`; there are {}", INPUTS.join(", ")));
    }
    // Each layer's rows must be as wide as the layer before is long.
    let mut width = file.inputs.len();
    for (n, layer) in file.layers.iter().enumerate() {
        if layer.weights.len() != layer.bias.len() || layer.weights.is_empty() {
            return Err(format!(
                "layer {n} has {} rows of weights and {} biases",
                layer.weights.len(),
                layer.bias.len()
            ));
        }
        if let Some(row) = layer.weights.iter().find(|row| row.len() != width) {
            return Err(format!("layer {n} gets {width} numbers, but a row has {} weights", row.len()));
        }
        width = layer.weights.len();
    }
    if !file.layers.is_empty() && width != 1 {
        return Err(format!("the last layer has {width} outputs instead of one"));
    }
    Ok(())
}

struct External {
    file: Arc<File>,
    recalibrate: bool,
}

impl Recipe for External {
    fn train(&self, learned: &Learned, shape: &Arc<Shape>, classes: usize) -> Arc<dyn Predictor> {
        let (sent, received) = loads(learned, shape.terminals);
        let mut said = Said {
            file: Arc::clone(&self.file),
            table: self
                .file
                .table
                .iter()
                .map(|&(s, d, ns)| ((TerminalId::new(s), TerminalId::new(d)), ns))
                .collect(),
            means: Grid::means(learned, shape, classes),
            sent,
            received,
            factor: 1.0,
            shape: Arc::clone(shape),
        };
        let (mut mine, mut seen) = (0.0, 0.0);
        for (&(s, d), pair) in &learned.pairs {
            mine += said.ns(s, d) * 1000.0 * pair.count as f64;
            seen += pair.sum as f64;
        }
        if self.recalibrate && mine > 0.0 && seen > 0.0 {
            // A file may have been made for another load. Its proportions are kept, its mean is that of this run.
            said.factor = seen / mine;
        }
        if fits(shape, classes) {
            return Arc::new(Table(Grid::dense(shape, |s, d| said.at(s, d))));
        }
        Arc::new(said)
    }
}

struct Table(Grid);

impl Predictor for Table {
    fn latency(&self, source: TerminalId, destination: TerminalId, _: Option<u32>) -> Ps {
        self.0.get(source, destination)
    }
}

struct Said {
    file: Arc<File>,
    table: SortedMap<(TerminalId, TerminalId), f64>,
    means: Grid,
    sent: Vec<f64>,
    received: Vec<f64>,
    factor: f64,
    shape: Arc<Shape>,
}

impl Said {
    /// What the file says.
    fn ns(&self, s: TerminalId, d: TerminalId) -> f64 {
        // Files count in nanoseconds, tables in picoseconds.
        let mean = self.means.get(s, d) as f64 / 1000.0;
        if self.file.layers.is_empty() {
            return self.table.get(&(s, d)).copied().unwrap_or(mean);
        }
        let input = |name: &String| match name.as_str() {
            "routers" => f64::from(self.shape.routers(s, d)),
            "mean_ns" => mean,
            "sent" => self.sent[s.index()],
            _ => self.received[d.index()],
        };
        let mut values: Vec<f64> = self.file.inputs.iter().map(input).collect();
        for layer in &self.file.layers {
            let out = |(row, bias): (&Vec<f64>, &f64)| {
                // A fixed order of sums: the same bits on every machine.
                let sum = row.iter().zip(&values).fold(*bias, |sum, (w, x)| sum + w * x);
                if layer.activation == Activation::Relu { sum.max(0.0) } else { sum }
            };
            values = layer.weights.iter().zip(&layer.bias).map(out).collect();
        }
        values.first().copied().unwrap_or(0.0).max(0.0)
    }

    fn at(&self, s: TerminalId, d: TerminalId) -> Ps {
        ((self.ns(s, d) * self.factor * 1000.0).round() as Ps).max(self.shape.floor(s, d))
    }
}

impl Predictor for Said {
    fn latency(&self, source: TerminalId, destination: TerminalId, _: Option<u32>) -> Ps {
        self.at(source, destination)
    }
}
