//! The points of a sweep in order.

use crate::experiment::{
    level::Level,
    sweep::{MAX_POINTS, Search, Sweep},
};
use base::visible;

/// A point: a value of each axis, and the seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Values in the order of the axes.
    pub levels: Vec<Level>,
    /// Seed of the run.
    pub seed: u64,
}

impl Point {
    /// Its values, borrowed.
    #[must_use]
    pub fn values(&self) -> Vec<&Level> {
        self.levels.iter().collect()
    }

    /// `algorithm=minimal load=0.5 seed=1`.
    #[must_use]
    pub fn named(&self, names: &[&str]) -> String {
        let values = names.iter().zip(&self.levels).map(|(name, level)| format!("{name}={}", level.label));
        let all = values.chain([format!("seed={}", self.seed)]).collect::<Vec<_>>().join(" ");
        visible::name(&all).into_owned()
    }
}

/// Points that are run one after another: a single one, or those of the axis along which saturation is looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The points, ascending along that axis.
    pub points: Vec<Point>,
}

/// The axis along which saturation is looked for, and how.
#[must_use]
pub fn search(sweep: &Sweep) -> Option<(usize, &Search)> {
    sweep.axes.iter().enumerate().find_map(|(n, axis)| Some((n, axis.search.as_ref()?)))
}

/// All points that are not left out, in chains; the first axis outermost, repetitions innermost. None if there are too many.
#[must_use]
pub fn chains(sweep: &Sweep, seed: u64) -> Option<Vec<Chain>> {
    let climbed = search(sweep).map(|(axis, _)| axis);
    let lengths = sweep.axes.iter().map(|axis| axis.levels.len());
    let all = lengths.clone().try_fold(usize::try_from(sweep.repetitions).ok()?, usize::checked_mul)?;
    if all > MAX_POINTS {
        return None;
    }
    let counts: Vec<usize> =
        lengths.enumerate().map(|(n, len)| if Some(n) == climbed { 1 } else { len }).collect();
    let mut chains = Vec::new();
    for number in 0..counts.iter().product::<usize>() {
        let mut rest = number;
        let mut chosen = vec![0; counts.len()];
        for (axis, &count) in counts.iter().enumerate().rev() {
            chosen[axis] = rest % count;
            rest /= count;
        }
        let ladder = climb(sweep, climbed, &chosen);
        for repetition in 0..sweep.repetitions {
            let point =
                |levels: &Vec<Level>| Point { levels: levels.clone(), seed: seed.wrapping_add(repetition) };
            chains.extend((!ladder.is_empty()).then(|| Chain { points: ladder.iter().map(point).collect() }));
        }
    }
    Some(chains)
}

/// Values of the points at these places of the axes, along the climbed one.
fn climb(sweep: &Sweep, climbed: Option<usize>, chosen: &[usize]) -> Vec<Vec<Level>> {
    let steps = climbed.map_or(1, |axis| sweep.axes[axis].levels.len());
    let at = |step: usize| {
        let place = |axis: usize| if Some(axis) == climbed { step } else { chosen[axis] };
        sweep.axes.iter().enumerate().map(|(n, axis)| axis.levels[place(n)].clone()).collect::<Vec<Level>>()
    };
    (0..steps).map(at).filter(|levels| !sweep.skips(&levels.iter().collect::<Vec<_>>())).collect()
}
