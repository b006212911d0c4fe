//! A file that describes a series of runs: its experiment with the values of each point put in.

use super::{
    keys::Choices,
    level::Level,
    overrides::put_at,
    parsed,
    plot::{self, PlotSpec},
    sections::{Experiment, resolve},
    sweep::{self, Sweep},
    tree::{Data, Node, Table},
};
use base::diag::{Diagnostics, Place};

/// A file with `[sweep]`.
pub struct Series {
    /// Axes and conditions.
    pub sweep: Sweep,
    /// Where `[sweep]` stands.
    pub home: Place,
    /// Figures of the points.
    pub plots: Vec<PlotSpec>,
    /// False if the section has mistakes: its points would have others that follow from them.
    pub sound: bool,
    root: Table,
    end: Place,
}

/// Reads a file's `[sweep]`; `None` if the file is not TOML, or has none: then what is reported is no news to who reads the experiment.
pub fn read(name: &str, text: &str, options: &[String], diagnostics: &mut Diagnostics) -> Option<Series> {
    let (mut root, end) = parsed(name, text, options, diagnostics)?;
    let home = root.get(sweep::SWEEP.name)?.key_place;
    let before = diagnostics.len();
    let sweep = sweep::take(&mut root, diagnostics)?;
    let plots = plot::take(&mut root, &sweep.axes, diagnostics);
    Some(Series { sweep, home, plots, sound: diagnostics.len() == before, root, end })
}

impl Series {
    /// Seed of the first repetition; what is wrong with it is reported with the points.
    #[must_use]
    pub fn seed(&self) -> u64 {
        let at = |table: &Table, key: &str| table.get(key).map(|entry| entry.node.data.clone());
        match at(&self.root, "experiment") {
            Some(Data::Table(table)) => match at(&table, "seed") {
                Some(Data::Integer(Some(seed))) => u64::try_from(seed).unwrap_or(1),
                _ => 1,
            },
            _ => 1,
        }
    }

    /// The experiment with a value of each axis, and the seed of a repetition other than the first. Mistakes are reported.
    pub fn at(
        &self,
        choices: &Choices,
        levels: &[&Level],
        seed: Option<u64>,
        diagnostics: &mut Diagnostics,
    ) -> Experiment {
        let mut root = self.root.clone();
        sweep::put(&mut root, &self.sweep.axes, levels, diagnostics);
        if let Some(seed) = seed {
            let node = Node { place: self.home, data: Data::Integer(Some(i128::from(seed))) };
            put_at(&mut root, "experiment.seed", self.home, node, diagnostics);
        }
        resolve(&root, self.end, choices, diagnostics)
    }
}
