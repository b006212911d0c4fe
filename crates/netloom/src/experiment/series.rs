//! A file that describes a series of runs: its experiment with the values of each point put in.

use super::{
    file::File,
    jobs::Keys,
    keys::Choices,
    level::Level,
    overrides::put_at,
    parsed,
    plot::{self, PlotSpec},
    sections::{Changed, Experiment, renew, resolve},
    sweep::{self, Axis, Sweep},
    tree::{Data, Entry, Node, Table},
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
        sweep::put(&mut root, &self.sweep.axes, levels, &|_| true, diagnostics);
        self.put_seed(&mut root, seed, diagnostics);
        resolve(&root, self.end, choices, diagnostics)
    }

    fn put_seed(&self, root: &mut Table, seed: Option<u64>, diagnostics: &mut Diagnostics) {
        if let Some(seed) = seed {
            let node = Node { place: self.home, data: Data::Integer(Some(i128::from(seed))) };
            put_at(root, "experiment.seed", self.home, node, diagnostics);
        }
    }
}

/// Reads one point after another, and of each only the sections in which it differs from the point before.
pub struct Walk<'a> {
    series: &'a Series,
    choices: &'a Choices,
    /// The file's tree, with empty sections where axes make some.
    base: Table,
    /// The tree of the point that was read last.
    root: Table,
    experiment: Experiment,
    keys: Option<Keys>,
    /// Values and seed of the point that was read last; `None` before the first.
    last: Option<(Vec<&'a Level>, Option<u64>)>,
}

/// The section in which a path lies.
fn section_of(path: &str) -> &str {
    path.split('.').next().unwrap_or(path).trim()
}

impl<'a> Walk<'a> {
    /// Before the first point.
    #[must_use]
    pub fn new(series: &'a Series, choices: &'a Choices) -> Self {
        let mut base = series.root.clone();
        for (path, place) in series.sweep.axes.iter().flat_map(|axis| &axis.paths) {
            let key = section_of(path);
            if base.get(key).is_none() {
                let node = Node { place: *place, data: Data::Table(Table::default()) };
                base.entries.push(Entry { key: key.to_owned(), key_place: *place, node });
            }
        }
        let experiment = resolve(&Table::default(), series.end, choices, &mut Diagnostics::default());
        Self { series, choices, root: Table::default(), base, experiment, keys: None, last: None }
    }

    /// Sections that differ from those of the last point; all if there is none.
    fn changes(&self, levels: &[&'a Level], seed: Option<u64>) -> Option<Vec<&'a str>> {
        // Without [experiment] a seed would make the section.
        let (before, drawn) = self.last.as_ref().filter(|_| self.base.get("experiment").is_some())?;
        let differs = |(_, (now, before)): &(&'a Axis, (&&Level, &&Level))| now != before;
        let axes = self.series.sweep.axes.iter().zip(levels.iter().zip(before)).filter(differs);
        let paths = axes.flat_map(|(axis, _)| &axis.paths);
        let mut changed: Vec<&str> = paths.map(|(path, _)| section_of(path)).collect();
        changed.extend((*drawn != seed).then_some("experiment"));
        Some(changed)
    }

    /// The experiment as [`Series::at`] gives it, and whether it may have another network or model than the point before. Mistakes in
    /// sections that did not change are not reported again.
    pub fn at(
        &mut self,
        levels: Vec<&'a Level>,
        seed: Option<u64>,
        diagnostics: &mut Diagnostics,
    ) -> (&Experiment, bool) {
        let changes = self.changes(&levels, seed);
        let changed = changes.as_deref().map_or(Changed::All, Changed::Only);
        if changes.is_none() {
            self.root.clone_from(&self.base);
        }
        for (entry, from) in self.root.entries.iter_mut().zip(&self.base.entries) {
            if changed.any(&[&from.key]) {
                entry.clone_from(from);
            }
        }
        let within = |path: &str| changed.any(&[section_of(path)]);
        sweep::put(&mut self.root, &self.series.sweep.axes, &levels, &within, diagnostics);
        if changed.any(&["experiment"]) {
            self.series.put_seed(&mut self.root, seed, diagnostics);
        }
        let file = File { root: &self.root, end: self.series.end, choices: self.choices };
        renew(&mut self.experiment, changed, &file, &mut self.keys, diagnostics);
        self.last = Some((levels, seed));
        // Failures are drawn by the seed, before the end of the run, which programs move.
        let drawn = self.experiment.faults.is_some() && changed.any(&["experiment", "job"]);
        let other = drawn || changed.any(&["model", "fabric", "faults", "routing"]);
        (&self.experiment, other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with the series of an axis `n` of so many values and what follows.
    fn mistakes(count: usize, rest: &str) -> Vec<String> {
        let axis = format!("[[sweep.axis]]\npath = \"job.0.n\"\nfrom = 1\nto = {count}\ncount = {count}\n");
        let mut diagnostics = Diagnostics::default();
        assert!(read("x", &(axis + rest), &[], &mut diagnostics).is_some());
        diagnostics.sorted().iter().map(|d| d.message.clone()).collect()
    }

    /// Each is compared with others of its kind or with all values of an axis.
    #[test]
    fn tables_and_conditions_of_a_series_are_bounded() {
        let (skip, plot) = ("[[sweep.skip]]\nn = 5\n", "[[plot]]\nx = \"n\"\ny = \"latency_ps.mean\"\n");
        assert_eq!(mistakes(9, &skip.repeat(1000)), Vec::<String>::new());
        assert_eq!(mistakes(9, &plot.repeat(1000)), Vec::<String>::new());
        let unfit = "[[sweep.skip]]\nn = \"> 200000\"\n".repeat(60_000);
        let why = "there are 60000 [[sweep.skip]]; a file has 1000 at most";
        assert_eq!(mistakes(50_000, &unfit), [why]);
        assert_eq!(mistakes(9, &"[[sweep.skip]]\nn = \"> 9\"\n".repeat(1000)).len(), 100);
        let why = "there are 1001 [[plot]]; a file has 1000 at most";
        assert_eq!(mistakes(9, &plot.repeat(1001)), [why]);
        let long = format!("n = {:?}\n", vec![5; 600]);
        let why = "the conditions up to here name 1200 values, at most 1000";
        let skips = format!("[[sweep.skip]]\n{long}").repeat(4);
        assert_eq!(mistakes(9, &skips), [why]);
        let plots = format!("{plot}[plot.only]\n{long}").repeat(4);
        assert_eq!(mistakes(9, &plots), [why]);
    }
}
