//! Sweep3D: wavefronts from the corners of a two-dimensional grid of ranks, in blocks of planes and angles.

use super::{
    Body, Generator,
    grid::{COMPUTE_TIME, Grid, ITERATIONS},
    jacobi3d::part,
    script,
};
use crate::{
    program::mpi::Script,
    work::{Built, JobContext},
};
use base::{
    index::RankId,
    param::{Kind, Param, Problem, Values},
    registry::About,
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "sweep",
    summary: "Sweep3D: wavefronts over a 2-D grid of ranks, eight octants of angles",
    doc: "A domain of `points` is cut along x and y over a 2-D grid of ranks. Each iteration sweeps eight octants, two (up and down in z) from each \
          corner of the grid: (low x, low y), (low x, high y), (high x, high y), (high x, low y). An octant is done in blocks of \
          `angle_block` angles and `plane_block` planes; for each, a rank receives from its upstream neighbours in x and y, computes, and sends \
          downstream: 8 B per angle and point of the face. All then reduce one value of 8 B. The computation of an iteration is \
          spread in proportion to angles and planes; what the blocks' rounding leaves follows the last.",
    source: "Koch, Baker, Alcouffe: Solution of the First-Order Form of the 3-D Discrete Ordinates Equation, 1992; Hoisie, Lubeck, \
             Wasserman: wavefront algorithms, Int. J. High Performance Computing Applications 14, 2000",
    params: &[
        Param {
            name: "points",
            kind: Kind::Ints { min: 1, max: 1 << 32 },
            default: Some("[1024, 1024, 1024]"),
            doc: "points of the domain along its three dimensions",
        },
        Param {
            name: "dims",
            kind: Kind::Ints { min: 0, max: u32::MAX as u64 },
            default: Some("[0, 0]"),
            doc: "ranks along x and y; zeros are chosen as equal as can be, largest first",
        },
        Param {
            name: "angles",
            kind: Kind::Int { min: 1, max: 1 << 20 },
            default: Some("6"),
            doc: "angles of an octant",
        },
        Param {
            name: "angle_block",
            kind: Kind::Int { min: 1, max: 1 << 20 },
            default: Some("3"),
            doc: "angles per message",
        },
        Param {
            name: "plane_block",
            kind: Kind::Int { min: 1, max: 1 << 32 },
            default: Some("10"),
            doc: "planes in z per message",
        },
        ITERATIONS,
        COMPUTE_TIME,
    ],
};

/// Tags of messages along x and y.
const X: u32 = 0;
const Y: u32 = 1;

struct Sweep {
    grid: Grid,
    points: Vec<u64>,
    angles: u64,
    angle_block: u64,
    plane_block: u64,
    iterations: u64,
    compute: Ps,
}

impl Sweep {
    /// What the block of so many angles and planes takes of an iteration's computation.
    fn share(&self, angles: u64, planes: u64) -> Ps {
        let whole = u128::from(8 * self.angles) * u128::from(self.points[2]);
        (u128::from(self.compute) * u128::from(angles * planes) / whole) as Ps
    }

    /// What the octants' blocks take together.
    fn shares(&self) -> Ps {
        let (angle_blocks, last_angles) = (self.angles / self.angle_block, self.angles % self.angle_block);
        let (plane_blocks, last_planes) =
            (self.points[2] / self.plane_block, self.points[2] % self.plane_block);
        let row =
            |angles| plane_blocks * self.share(angles, self.plane_block) + self.share(angles, last_planes);
        8 * (angle_blocks * row(self.angle_block) + row(last_angles))
    }

    /// Two octants from the corner that lies opposite to `toward`.
    fn octants(&self, rank: RankId, toward: [i64; 2], body: &mut Body) {
        let at = self.grid.coordinates(rank);
        let extent = |d: usize| part(self.points[d], self.grid.dims[d], at[d]);
        let near = |d: usize, steps: i64| self.grid.neighbour(rank, &self.grid.along(d, steps));
        let neighbours = [0, 1].map(|d| (near(d, -toward[d]), near(d, toward[d])));
        let block = |angles: u64, planes: u64, body: &mut Body| {
            let bytes = [extent(1), extent(0)].map(|points| 8 * angles * planes * points);
            for (d, tag) in [X, Y].into_iter().enumerate() {
                if let (Some(from), _) = neighbours[d] {
                    body.recv(from, tag, bytes[d]);
                }
            }
            body.compute(self.share(angles, planes));
            for (d, tag) in [X, Y].into_iter().enumerate() {
                if let (_, Some(to)) = neighbours[d] {
                    body.send(to, tag, bytes[d]);
                }
            }
        };
        let planes = |angles: u64, body: &mut Body| {
            body.repeat(self.points[2] / self.plane_block, |body| block(angles, self.plane_block, body));
            let last = self.points[2] % self.plane_block;
            if last > 0 {
                block(angles, last, body);
            }
        };
        body.repeat(2, |body| {
            body.repeat(self.angles / self.angle_block, |body| planes(self.angle_block, body));
            let last = self.angles % self.angle_block;
            if last > 0 {
                planes(last, body);
            }
        });
    }
}

impl Generator for Sweep {
    fn name(&self) -> &'static str {
        ABOUT.name
    }

    fn ranks(&self) -> u32 {
        self.grid.ranks()
    }

    fn write(&self, rank: RankId, body: &mut Body) {
        let corners = [
            ("sweep from low x, low y", [1, 1]),
            ("sweep from low x, high y", [1, -1]),
            ("sweep from high x, high y", [-1, -1]),
            ("sweep from high x, low y", [-1, 1]),
        ];
        body.repeat(self.iterations, |body| {
            for (name, toward) in corners {
                body.phase(name);
                self.octants(rank, toward, body);
            }
            body.compute(self.compute - self.shares());
            body.phase("convergence");
            body.allreduce(8);
        });
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Built<Arc<dyn Script>> {
    let grid = Grid::new(context, values, false)?;
    let points = values.ints("points");
    if points.len() != 3 {
        return Err(vec![Problem::new("points", "a domain of three dimensions needs three numbers")]);
    }
    if grid.dims.len() != 2 {
        return Err(vec![Problem::new("dims", "a sweep needs a grid of two dimensions")]);
    }
    if points.iter().zip(&grid.dims).any(|(&n, &parts)| n < u64::from(parts)) {
        let message = format!("{points:?} points leave some of {:?} ranks without any", grid.dims);
        return Err(vec![Problem::new("points", message)]);
    }
    let angles = values.int("angles");
    let (angle_block, plane_block) =
        (values.int("angle_block").min(angles), values.int("plane_block").min(points[2]));
    let face = points[0].max(points[1]);
    if (8 * angle_block).checked_mul(plane_block).and_then(|b| b.checked_mul(face)).is_none() {
        return Err(vec![Problem::new("points", "a face would have more than 2^64 bytes")]);
    }
    let (iterations, compute) = (values.int("iterations"), values.time("compute_time"));
    Ok(script(Sweep { grid, points, angles, angle_block, plane_block, iterations, compute }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::generate::testing::{computed, made, run, sizes};
    use base::param::Value;

    /// 3 x 2 ranks, 4 + 4 + 4 by 5 + 5 points: every pair of neighbours has four octants in each direction, each with two blocks of 3
    /// angles by two of 4 planes and one of 2.
    #[test]
    fn blocks_cover_angles_and_planes() {
        let script = made(
            &ABOUT,
            build,
            6,
            &[
                ("points", Value::Ints(vec![12, 10, 10])),
                ("dims", Value::Ints(vec![3, 2])),
                ("plane_block", Value::Int(4)),
                ("iterations", Value::Int(1)),
                ("compute_time", Value::Time(100_007)),
            ],
        );
        let (along_x, along_y) = (2 * 2 * 2 * 4, 3 * 2 * 4);
        let expected = [
            (8 * 3 * 4 * 5, along_x * 4),
            (8 * 3 * 2 * 5, along_x * 2),
            (8 * 3 * 4 * 4, along_y * 4),
            (8 * 3 * 2 * 4, along_y * 2),
        ];
        assert_eq!(sizes(script.as_ref()), expected.into());
        assert_eq!(computed(script.as_ref(), RankId::new(4)), 100_007);
        run(script.as_ref());
    }
}
