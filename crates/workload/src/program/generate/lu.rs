//! NAS LU: a Gauss-Seidel solver whose sweeps run as wavefronts over a two-dimensional grid of ranks.
//!
//! The cube of points is cut along x and y. Rank r is in row r mod X and column r / X of X x Y ranks; row - 1 is north,
//! row + 1 south, column - 1 west, column + 1 east; nothing wraps. A sweep passes each inner plane k through the grid,
//! from the north-west corner in the lower triangle, from the south-east one in the upper.

use super::{
    Body, Generator,
    jacobi3d::part,
    nas::{CLASS, ITERATIONS, Parts, REDUCTIONS, TOTAL_COMPUTE, class, iterations},
    script,
};
use crate::{
    program::mpi::{Call, CollectiveKind, Script, WORLD},
    work::{Built, JobContext},
};
use base::{
    index::RankId,
    param::{Problem, Values},
    registry::About,
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "nas-lu",
    summary: "NAS LU (MPI, NPB 3.3): wavefronts of small messages over a 2-D grid of ranks",
    doc: "A cube of n^3 points on a power of two of ranks, X x Y with X = Y or X = 2 Y. Classes S W A B C D E have n = 12 33 64 102 \
          162 408 1020 and 50 300 250 250 250 300 300 iterations (or as many as `iterations` says); one more warms up. In each iteration a lower sweep sends 40 B \
          per active point of a face to south and east for each of the n - 2 inner planes, an upper sweep to north and west; \
          then two ghost planes (80 n B per point) are exchanged with all neighbours. Before stand the ghost planes of the forcing \
          term and of the two starts, behind the surface integral. `total_compute` is spread evenly over the iterations, \
          warm-up included: a third for each sweep, plane by plane, and a third before the ghost planes. Messages and \
          bytes are proven for class D on 4096 ranks; other classes follow the same rules. Collectives are those of the solver's phases (parameters, \
          norms, error, integral, barrier), not of timers.",
    source: "Bailey et al.: The NAS Parallel Benchmarks, RNR-94-007; NPB 3.3-MPI. LU.D on 4096 ranks has the 1,975,849,596 messages of \
             HAEC-SIM, section 4, and its hops (table 7)",
    params: &[CLASS, TOTAL_COMPUTE, ITERATIONS, REDUCTIONS],
};

/// Points along an edge and iterations, by class.
const CLASSES: [(u64, u64); 7] =
    [(12, 50), (33, 300), (64, 250), (102, 250), (162, 250), (408, 300), (1020, 300)];
/// Least points of a rank along x and y.
const LEAST: u64 = 4;
/// Bytes of the five variables of a point.
const POINT: u64 = 40;

/// Tags, by what is sent.
const SWEEP: u32 = 1;
const GHOST: u32 = 2;
const SURFACE: u32 = 3;
const EDGE: u32 = 4;

struct Lu {
    points: u64,
    iterations: u64,
    /// Rows and columns of ranks, X and Y.
    rows: u32,
    columns: u32,
    compute: Ps,
    reductions: bool,
}

/// What a rank knows of its place.
struct Place {
    row: u32,
    column: u32,
    north: Option<RankId>,
    south: Option<RankId>,
    west: Option<RankId>,
    east: Option<RankId>,
    /// Points of the rank along x (rows) and y (columns).
    x: u64,
    y: u64,
    /// Those of them that are not on the boundary of the cube.
    inner_x: u64,
    inner_y: u64,
}

impl Lu {
    fn place(&self, rank: RankId) -> Place {
        let n = rank.number();
        let (row, column) = (n % self.rows, n / self.rows);
        let extent = |at: u32, of: u32| {
            let points = part(self.points, of, at);
            (points, points - u64::from(at == 0) - u64::from(at + 1 == of))
        };
        let ((x, inner_x), (y, inner_y)) = (extent(row, self.rows), extent(column, self.columns));
        Place {
            row,
            column,
            north: (row > 0).then(|| RankId::new(n - 1)),
            south: (row + 1 < self.rows).then(|| RankId::new(n + 1)),
            west: (column > 0).then(|| RankId::new(n - self.rows)),
            east: (column + 1 < self.columns).then(|| RankId::new(n + self.rows)),
            x,
            y,
            inner_x,
            inner_y,
        }
    }

    /// One sweep: for each inner plane, receive what lies before, compute, send on.
    fn sweep(&self, p: &Place, lower: bool, parts: Parts, body: &mut Body) {
        let [before, behind] = [[p.north, p.west], [p.south, p.east]];
        let (before, behind) = if lower { (before, behind) } else { (behind, before) };
        let bytes = [POINT * p.inner_y, POINT * p.inner_x];
        body.phase(if lower { "lower sweep" } else { "upper sweep" });
        body.repeat(self.points - 2, |body| {
            for (from, bytes) in before.into_iter().zip(bytes) {
                if let Some(from) = from {
                    body.recv(from, SWEEP, bytes);
                }
            }
            parts.compute(body);
            for (to, bytes) in behind.into_iter().zip(bytes) {
                if let Some(to) = to {
                    body.send(to, SWEEP, bytes);
                }
            }
        });
    }

    /// Two planes of ghost points go to every neighbour: along a row first toward south, then toward north, then along columns.
    fn ghosts(&self, p: &Place, body: &mut Body) {
        body.phase("ghost planes");
        let plane = 2 * POINT * self.points;
        for (low, high, bytes) in [(p.north, p.south, plane * p.y), (p.west, p.east, plane * p.x)] {
            pass(low, high, GHOST, bytes, body);
            pass(high, low, GHOST, bytes, body);
        }
    }

    /// The solver: `times` iterations.
    fn solve(&self, p: &Place, times: u64, body: &mut Body) {
        self.ghosts(p, body);
        self.norm(POINT, body);
        let planes = 3 * (self.points - 2);
        let parts = Parts::of(self.compute / (self.iterations + 1), planes);
        body.repeat(times, |body| {
            self.sweep(p, true, parts, body);
            self.sweep(p, false, parts, body);
            body.phase("right-hand side");
            body.compute(parts.each * (self.points - 2) + parts.rest);
            self.ghosts(p, body);
        });
        self.norm(POINT, body);
    }

    /// The surface integral: one message of each neighbour to north and west, and lines along the cube's outer faces.
    fn integral(&self, p: &Place, body: &mut Body) {
        body.phase("surface integral");
        for (from, to, bytes) in [(p.south, p.north, 16 * p.y), (p.east, p.west, 16 * p.x)] {
            pass(from, to, SURFACE, bytes, body);
        }
        self.norm(8, body);
        for column in [0, self.columns - 1] {
            if p.column == column {
                pass(p.south, p.north, EDGE, 8 * self.points, body);
            }
        }
        self.norm(8, body);
        for row in [0, self.rows - 1] {
            if p.row == row {
                pass(p.east, p.west, EDGE, 8 * self.points, body);
            }
        }
        self.norm(8, body);
    }

    fn norm(&self, bytes: u64, body: &mut Body) {
        if self.reductions {
            body.allreduce(bytes);
        }
    }
}

/// Receives from one side and sends to the other.
fn pass(from: Option<RankId>, to: Option<RankId>, tag: u32, bytes: u64, body: &mut Body) {
    if let Some(from) = from {
        body.irecv(from, tag, bytes, 0);
    }
    if let Some(to) = to {
        body.send(to, tag, bytes);
    }
    if from.is_some() {
        body.call(Call::Wait(0));
    }
}

impl Generator for Lu {
    fn name(&self) -> &'static str {
        ABOUT.name
    }

    fn ranks(&self) -> u32 {
        self.rows * self.columns
    }

    fn write(&self, rank: RankId, body: &mut Body) {
        let p = self.place(rank);
        if self.reductions {
            body.phase("parameters");
            for bytes in [4, 4, 4, 8, 8, 40, 4, 4, 4] {
                body.collective(CollectiveKind::Bcast, WORLD, bytes);
            }
        }
        self.ghosts(&p, body);
        self.solve(&p, 1, body);
        if self.reductions {
            body.phase("start of the main run");
            body.collective(CollectiveKind::Barrier, WORLD, 0);
        }
        self.solve(&p, self.iterations, body);
        body.phase("error");
        self.norm(POINT, body);
        self.integral(&p, body);
        body.phase("end");
        body.compute(self.compute % (self.iterations + 1));
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Built<Arc<dyn Script>> {
    let ranks = context.ranks;
    if ranks < 2 || !ranks.is_power_of_two() {
        let message = format!("LU needs a power of two of ranks, at least 2, not {ranks}");
        let below = ranks.max(2).ilog2();
        return Err(vec![Problem::new("ranks", message).help(format!("`ranks = {}`", 1u32 << below))]);
    }
    let (points, standard) = CLASSES[class(values)];
    let iterations = iterations(values, standard);
    let columns = 1 << (ranks.ilog2() / 2);
    let rows = ranks / columns;
    if points / u64::from(rows) < LEAST {
        let message = format!("{points} points on {rows} rows of ranks leave fewer than {LEAST} to a rank");
        return Err(vec![Problem::new("ranks", message).help("fewer ranks, or a larger `class`")]);
    }
    let (compute, reductions) = (values.time("total_compute"), values.bool("reductions"));
    Ok(script(Lu { points, iterations, rows, columns, compute, reductions }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::generate::testing::{computed, hops, made, sizes};
    use base::param::Value;

    fn lu(class: &str, ranks: u32) -> Arc<dyn Script> {
        made(&ABOUT, build, ranks, &[("class", Value::Text(class.into()))])
    }

    /// The counts that HAEC-SIM prints (section 4) and tables 3 and 4 tell apart by size.
    #[test]
    fn class_d_on_4096_ranks_is_the_published_run() {
        let sizes = sizes(lu("D", 4096).as_ref());
        assert_eq!(sizes.values().sum::<u64>(), 1_975_849_596);
        assert_eq!((sizes[&240], sizes[&280], sizes[&3264]), (1_231_836_480, 708_305_976, 252));
        // One row and one column of 64 have five inner points; surfaces have 96 or 112 B.
        assert_eq!(sizes[&200], 2 * 63 * 122_206 * 2);
        assert_eq!(sizes[&96] + sizes[&112], 2 * 63 * 64);
        assert_eq!(sizes[&195_840] + sizes[&228_480], 304 * 4 * 63 * 64);
        assert_eq!(sizes.len(), 8);
    }

    /// Tables 7 and 8 of HAEC-SIM, xyz mapping on 16 x 16 x 16.
    #[test]
    fn hops_are_the_published_ones() {
        let script = lu("D", 4096);
        let xyz: Vec<u32> = (0..4096).collect();
        assert_eq!(hops(script.as_ref(), &[16, 16, 16], false, &xyz), 7_762_266_270);
        assert_eq!(hops(script.as_ref(), &[16, 16, 16], true, &xyz), 5_221_888_218);
    }

    /// Of an odd power of two the rows are the longer side.
    #[test]
    fn rows_are_at_least_as_many_as_columns() {
        let sent = lu("S", 2).sent(RankId::new(0), 0).unwrap().unwrap();
        assert!(sent.iter().all(|s| s.peer == RankId::new(1)));
        assert!(
            lu("A", 8).sent(RankId::new(0), 0).unwrap().unwrap().iter().any(|s| s.peer == RankId::new(4))
        );
    }

    #[test]
    fn all_computation_is_done() {
        for total in [1, 1_000_003, 19_620_000_000_007] {
            let script = made(
                &ABOUT,
                build,
                4,
                &[("class", Value::Text("S".into())), ("total_compute", Value::Time(total))],
            );
            assert_eq!(computed(script.as_ref(), RankId::new(3)), total);
        }
    }

    #[test]
    fn what_the_benchmark_cannot_run_is_refused() {
        let refused = |class: &str, ranks| {
            let values =
                crate::program::generate::testing::defaults(&ABOUT).with("class", Value::Text(class.into()));
            build(&crate::program::generate::testing::asking(ranks), &values).err().map(|p| p[0].key.clone())
        };
        assert_eq!(refused("D", 4095).as_deref(), Some("ranks"));
        assert_eq!(refused("S", 16).as_deref(), Some("ranks"));
        assert_eq!(refused("S", 8), Some("ranks".to_owned()));
        assert_eq!(refused("S", 4), None);
    }
}
