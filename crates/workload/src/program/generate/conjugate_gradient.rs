//! Conjugate gradients on a regular grid: a halo exchange and two global sums per iteration.

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
    param::{Kind, Param, Values},
    registry::About,
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "conjugate-gradient",
    summary: "halo exchange and two global sums per iteration, as iterative solvers do",
    doc: "In each iteration of the conjugate gradient method a rank exchanges a halo with its neighbours on a regular grid for the \
          product of matrix and vector, and computes. It takes part in the two scalar products, reductions of 8 B to all. Four fifths of \
          the computation belong to the product, the rest follows the first reduction. There is no preconditioner.",
    source: "Hestenes, Stiefel 1952; the communication of HPCG without its multigrid",
    params: &[
        Param {
            name: "dims",
            kind: Kind::Ints { min: 0, max: u32::MAX as u64 },
            default: Some("[0, 0, 0]"),
            doc: "ranks along each dimension; zeros are chosen as equal as can be, largest first",
        },
        Param {
            name: "face_bytes",
            kind: Kind::Bytes,
            default: Some("8192 B"),
            doc: "message to a neighbour along a dimension",
        },
        PERIODIC,
        EXCHANGE,
        ITERATIONS,
        COMPUTE_TIME,
    ],
};

struct ConjugateGradient {
    grid: Grid,
    halo: Halo,
    iterations: u64,
    compute: Ps,
}

impl Generator for ConjugateGradient {
    fn name(&self) -> &'static str {
        ABOUT.name
    }

    fn ranks(&self) -> u32 {
        self.grid.ranks()
    }

    fn write(&self, rank: RankId, body: &mut Body) {
        let vectors = self.compute / 5;
        body.repeat(self.iterations, |body| {
            body.phase("matrix times vector");
            self.halo.write(&self.grid, rank, self.compute - vectors, body);
            body.phase("scalar products");
            body.allreduce(8);
            body.compute(vectors);
            body.allreduce(8);
        });
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Built<Arc<dyn Script>> {
    let grid = Grid::new(context, values, values.bool("periodic"))?;
    let face = values.int("face_bytes");
    let faces = grid.faces().into_iter().map(|offset| (offset, face)).collect();
    let halo = Halo { faces, exchange: Exchange::of(values) };
    let (iterations, compute) = (values.int("iterations"), values.time("compute_time"));
    Ok(script(ConjugateGradient { grid, halo, iterations, compute }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::generate::testing::{computed, made, messages, reductions};
    use base::param::Value;

    #[test]
    fn an_iteration_has_a_halo_and_two_sums() {
        let given = [("dims", Value::Ints(vec![4, 2])), ("compute_time", Value::Time(17))];
        let script = made(&ABOUT, build, 8, &given);
        assert_eq!(messages(script.as_ref()), 10 * 2 * (2 * 3 + 4));
        assert_eq!(reductions(script.as_ref(), RankId::new(3)), 20);
        assert_eq!(computed(script.as_ref(), RankId::new(3)), 170);
    }
}
