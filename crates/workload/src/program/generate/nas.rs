//! What the NAS Parallel Benchmarks share: classes of problems and the distribution of computation.

use super::Body;
use base::{
    param::{Kind, Param, Values},
    time::Ps,
};

/// The class of a problem.
pub(crate) const CLASS: Param = Param {
    name: "class",
    kind: Kind::Choice(&["S", "W", "A", "B", "C", "D", "E"]),
    default: Some("C"),
    doc: "size of the problem, as the benchmark defines it",
};

/// Computation of the whole run.
pub(crate) const TOTAL_COMPUTE: Param = Param {
    name: "total_compute",
    kind: Kind::Time,
    default: Some("0 s"),
    doc: "computation of each rank over the whole run",
};

/// A shortened run.
pub(crate) const ITERATIONS: Param = Param {
    name: "iterations",
    kind: Kind::Int { min: 0, max: 1_000_000 },
    default: Some("0"),
    doc: "iterations of the main run, for a shortened or longer one; 0: as many as the class has",
};

/// As many iterations as asked for, else those of the class.
pub(crate) fn iterations(values: &Values, class: u64) -> u64 {
    match values.int(ITERATIONS.name) {
        0 => class,
        asked => asked,
    }
}

/// Whether collectives are made.
pub(crate) const REDUCTIONS: Param = Param {
    name: "reductions",
    kind: Kind::Bool,
    default: Some("true"),
    doc: "the broadcasts, norms and barrier around the solver; false: point-to-point messages alone",
};

/// Index of the chosen class in tables ordered S W A B C D E.
pub(crate) fn class(values: &Values) -> usize {
    let name = values.text(CLASS.name);
    let Kind::Choice(names) = CLASS.kind else { return 0 };
    names.iter().position(|&n| n == name).unwrap_or(0)
}

/// Time in equal parts; what does not divide remains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// Picoseconds of each part: the total divided by their number, rounded down.
    pub each: Ps,
    /// Picoseconds left over, fewer than there are parts; the caller computes them somewhere.
    pub rest: Ps,
}

impl Parts {
    /// `total` in `count` parts.
    pub(crate) fn of(total: Ps, count: u64) -> Self {
        Self { each: total / count, rest: total % count }
    }

    /// Computes one part.
    pub(crate) fn compute(self, body: &mut Body) {
        body.compute(self.each);
    }
}
