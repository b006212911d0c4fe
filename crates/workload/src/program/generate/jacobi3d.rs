//! Jacobi iteration on a three-dimensional domain.

use super::{
    Body, Generator,
    grid::{COMPUTE_TIME, EXCHANGE, Exchange, Grid, Halo, ITERATIONS, PERIODIC},
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
    name: "jacobi3d",
    summary: "Jacobi relaxation of a 3-D domain: faces to six neighbours, a residual now and then",
    doc: "A domain of `points` is cut into blocks, one per rank; the first blocks of a dimension have one point more where it \
          does not divide. In each iteration a rank exchanges the faces of its block (`point_bytes` per point) with its \
          neighbours and computes; after every `residual_every` iterations all reduce one value of 8 B.",
    source: "the Jacobi3D proxy application (Charm++ examples), in MPI",
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
            default: Some("[0, 0, 0]"),
            doc: "ranks along each dimension; zeros are chosen as equal as can be, largest first",
        },
        Param {
            name: "point_bytes",
            kind: Kind::Bytes,
            default: Some("8 B"),
            doc: "bytes per point of a face",
        },
        Param {
            name: "residual_every",
            kind: Kind::Int { min: 0, max: 1 << 32 },
            default: Some("1"),
            doc: "iterations from one reduction to the next; 0: none",
        },
        PERIODIC,
        EXCHANGE,
        ITERATIONS,
        COMPUTE_TIME,
    ],
};

struct Jacobi {
    grid: Grid,
    points: Vec<u64>,
    point_bytes: u64,
    exchange: Exchange,
    iterations: u64,
    residual_every: u64,
    compute: Ps,
}

/// Points of the `index`-th of `parts` parts of `whole`: the first ones have one more where it does not divide.
pub(crate) fn part(whole: u64, parts: u32, index: u32) -> u64 {
    let parts = u64::from(parts);
    whole / parts + u64::from(u64::from(index) < whole % parts)
}

impl Jacobi {
    /// Faces of a rank's block. Neighbours across a face agree on its extent, since they share the other coordinates.
    fn halo(&self, rank: RankId) -> Halo {
        let at = self.grid.coordinates(rank);
        let extent = |d: usize| part(self.points[d], self.grid.dims[d], at[d]);
        let face = |d: usize| (0..3).filter(|&e| e != d).map(extent).product::<u64>() * self.point_bytes;
        let faces = self.grid.faces().into_iter().enumerate().map(|(i, offset)| (offset, face(i / 2)));
        Halo { faces: faces.collect(), exchange: self.exchange }
    }
}

impl Generator for Jacobi {
    fn name(&self) -> &'static str {
        ABOUT.name
    }

    fn ranks(&self) -> u32 {
        self.grid.ranks()
    }

    fn write(&self, rank: RankId, body: &mut Body) {
        let halo = self.halo(rank);
        let every = if self.residual_every == 0 { u64::MAX } else { self.residual_every };
        let mut rounds = |times: u64, length: u64, reduce: bool| {
            body.repeat(times, |body| {
                body.phase("halo exchange");
                body.repeat(length, |body| halo.write(&self.grid, rank, self.compute, body));
                if reduce {
                    body.phase("residual");
                    body.allreduce(8);
                }
            });
        };
        rounds(self.iterations / every, every, true);
        rounds(1, self.iterations % every, false);
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Built<Arc<dyn Script>> {
    let grid = Grid::new(context, values, values.bool("periodic"))?;
    let points = values.ints("points");
    if points.len() != 3 || grid.dims.len() != 3 {
        let key = if points.len() == 3 { "dims" } else { "points" };
        return Err(vec![Problem::new(key, "a domain of three dimensions needs three numbers")]);
    }
    if points.iter().zip(&grid.dims).any(|(&n, &parts)| n < u64::from(parts)) {
        let message = format!("{points:?} points leave some of {:?} ranks without any", grid.dims);
        return Err(vec![Problem::new("points", message)]);
    }
    let largest = points.iter().try_fold(values.int("point_bytes"), |bytes, &n| bytes.checked_mul(n));
    if largest.is_none() {
        return Err(vec![Problem::new("points", "the domain has more than 2^64 bytes")]);
    }
    let (point_bytes, exchange) = (values.int("point_bytes"), Exchange::of(values));
    let (iterations, residual_every) = (values.int("iterations"), values.int("residual_every"));
    let compute = values.time("compute_time");
    Ok(script(Jacobi { grid, points, point_bytes, exchange, iterations, residual_every, compute }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::generate::testing::{made, reductions, sizes};
    use base::param::Value;

    /// 10 points over 3 blocks are 4 + 3 + 3; a face in x has 7 x 5 points.
    #[test]
    fn faces_have_the_extent_of_the_block() {
        let script = made(
            &ABOUT,
            build,
            3,
            &[
                ("points", Value::Ints(vec![10, 7, 5])),
                ("dims", Value::Ints(vec![3, 1, 1])),
                ("iterations", Value::Int(7)),
                ("residual_every", Value::Int(3)),
            ],
        );
        assert_eq!(sizes(script.as_ref()), [(7 * 5 * 8, 7 * 4)].into());
        assert_eq!(reductions(script.as_ref(), RankId::new(1)), 2);
        let script = made(
            &ABOUT,
            build,
            6,
            &[
                ("points", Value::Ints(vec![10, 7, 5])),
                ("dims", Value::Ints(vec![3, 2, 1])),
                ("iterations", Value::Int(1)),
            ],
        );
        // Across x: 4 x 5 and 3 x 5 points, four messages each; across y: 4 x 5 for the first block, 3 x 5 for two.
        assert_eq!(sizes(script.as_ref()), [(160, 4 + 2), (120, 4 + 4)].into());
    }
}
