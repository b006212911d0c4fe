//! MILC: lattice quantum chromodynamics with staggered quarks on a four-dimensional grid of ranks.

use super::{
    Body, Generator,
    grid::{COMPUTE_TIME, Exchange, Grid, Halo, ITERATIONS},
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
    name: "milc",
    summary: "MILC (su3_rmd): 4-D halo exchanges of a conjugate gradient solver on a lattice",
    doc: "A periodic lattice of `points` sites is cut over a 4-D grid of ranks. An iteration is a step of the molecular dynamics: a conjugate gradient \
          solve of `cg_iterations`, then a force exchange. Each solver iteration applies the improved staggered operator twice, once for each \
          parity: in all eight directions the quark vectors (48 B per site) of one parity go to the neighbour: one layer of \
          sites (nearest neighbours) and three (third neighbours), in messages of their own, all at once; half of the computation \
          lies between start and wait. Two reductions of 8 B follow. The force exchange moves link matrices (144 B per \
          site) of one layer in all directions. `compute_time` is spread evenly over the operators of a step. The pattern is that of \
          the solver; gauge updates, smearing paths and measurements are not modelled.",
    source: "MILC collaboration: public lattice gauge theory code, su3_rmd with improved staggered (Asqtad) quarks; Orginos, Toussaint, \
             Sugar, Phys. Rev. D 60, 1999 (the operator)",
    params: &[
        Param {
            name: "points",
            kind: Kind::Ints { min: 1, max: 1 << 16 },
            default: Some("[64, 64, 64, 64]"),
            doc: "sites of the lattice along its four dimensions",
        },
        Param {
            name: "dims",
            kind: Kind::Ints { min: 0, max: u32::MAX as u64 },
            default: Some("[0, 0, 0, 0]"),
            doc: "ranks along each dimension; zeros are chosen as equal as can be, largest first",
        },
        Param {
            name: "cg_iterations",
            kind: Kind::Int { min: 0, max: 1 << 32 },
            default: Some("100"),
            doc: "iterations of the solver per step",
        },
        ITERATIONS,
        COMPUTE_TIME,
    ],
};

/// A quark vector: three complex numbers of two doubles.
const VECTOR: u64 = 48;
/// A link matrix: nine of them.
const MATRIX: u64 = 144;
/// Reach of the operator.
const REACH: u64 = 3;

struct Milc {
    grid: Grid,
    points: Vec<u64>,
    solver: u64,
    iterations: u64,
    compute: Ps,
}

impl Milc {
    /// A halo with a number of bytes for the sites of each dimension's face.
    fn halo(&self, rank: RankId, bytes: impl Fn(u64) -> u64) -> Halo {
        let at = self.grid.coordinates(rank);
        let extent = |d: usize| part(self.points[d], self.grid.dims[d], at[d]);
        let sites = |d: usize| (0..4).filter(|&e| e != d).map(extent).product::<u64>();
        let faces =
            self.grid.faces().into_iter().enumerate().map(|(i, offset)| (offset, bytes(sites(i / 2))));
        Halo { faces: faces.collect(), exchange: Exchange::NonBlocking }
    }
}

impl Generator for Milc {
    fn name(&self) -> &'static str {
        ABOUT.name
    }

    fn ranks(&self) -> u32 {
        self.grid.ranks()
    }

    fn write(&self, rank: RankId, body: &mut Body) {
        let near = self.halo(rank, |sites| VECTOR * sites.div_ceil(2));
        let third = self.halo(rank, |sites| VECTOR * (REACH * sites).div_ceil(2));
        let links = self.halo(rank, |sites| MATRIX * sites);
        let operators = (2 * self.solver).max(1);
        let (each, rest) = (self.compute / operators, self.compute % operators);
        body.repeat(self.iterations, |body| {
            body.repeat(self.solver, |body| {
                body.repeat(2, |body| {
                    body.phase("operator");
                    let started = near.start(&self.grid, rank, 0, 0, body);
                    let started = third.start(&self.grid, rank, 8, started, body);
                    body.compute(each / 2);
                    body.wait_for_all(started);
                    body.compute(each - each / 2);
                });
                body.phase("scalar products");
                body.allreduce(8);
                body.allreduce(8);
            });
            body.phase("force");
            let rest = if self.solver == 0 { self.compute } else { rest };
            links.write(&self.grid, rank, rest, body);
        });
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Built<Arc<dyn Script>> {
    let grid = Grid::new(context, values, true)?;
    let points = values.ints("points");
    if points.len() != 4 || grid.dims.len() != 4 {
        let key = if points.len() == 4 { "dims" } else { "points" };
        return Err(vec![Problem::new(key, "a lattice of four dimensions needs four numbers")]);
    }
    let thin = |(&n, &parts): (&u64, &u32)| parts > 1 && n / u64::from(parts) < REACH;
    if points.iter().zip(&grid.dims).any(thin) {
        let message =
            format!("{points:?} sites on {:?} ranks leave fewer than {REACH} layers to a rank", grid.dims);
        return Err(vec![Problem::new("points", message).help("the operator reaches the third neighbour")]);
    }
    let (solver, iterations) = (values.int("cg_iterations"), values.int("iterations"));
    let compute = values.time("compute_time");
    Ok(script(Milc { grid, points, solver, iterations, compute }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::generate::testing::{computed, made, reductions, run, sizes};
    use base::param::Value;

    /// 8 x 4 x 4 x 4 sites on 2 x 1 x 1 x 1 ranks: faces of 64 sites, both of which lead to the other rank.
    #[test]
    fn messages_are_faces_of_one_and_three_layers() {
        let script = made(
            &ABOUT,
            build,
            2,
            &[
                ("points", Value::Ints(vec![8, 4, 4, 4])),
                ("dims", Value::Ints(vec![2, 1, 1, 1])),
                ("cg_iterations", Value::Int(5)),
                ("iterations", Value::Int(3)),
                ("compute_time", Value::Time(1009)),
            ],
        );
        let operators = 2 * 5 * 3;
        let directed = 2 * 2;
        let expected =
            [(48 * 32, operators * directed), (48 * 96, operators * directed), (144 * 64, 3 * directed)];
        assert_eq!(sizes(script.as_ref()), expected.into());
        assert_eq!(reductions(script.as_ref(), RankId::new(0)), 2 * 5 * 3);
        assert_eq!(computed(script.as_ref(), RankId::new(1)), 3 * 1009);
        run(script.as_ref());
    }

    #[test]
    fn a_lattice_thinner_than_the_reach_is_refused() {
        let values = crate::program::generate::testing::defaults(&ABOUT)
            .with("points", Value::Ints(vec![4, 8, 8, 8]))
            .with("dims", Value::Ints(vec![2, 2, 1, 1]));
        let context = crate::program::generate::testing::asking(4);
        assert_eq!(build(&context, &values).err().unwrap()[0].key, "points");
    }
}
