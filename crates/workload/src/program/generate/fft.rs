//! Three-dimensional Fourier transform with pencils: transpositions within rows and columns of ranks.

use super::{
    Body, Generator,
    grid::{COMPUTE_TIME, Grid, ITERATIONS},
    script,
};
use crate::{
    program::mpi::{Call, CollectiveKind, Comm, Script, WORLD},
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
    name: "fft",
    summary: "3-D Fourier transform by pencils: all-to-all in rows and in columns of ranks",
    doc: "A domain of `points` is cut into pencils over a 2-D grid of ranks. Each iteration transforms forward: compute, \
          MPI_Alltoall among the ranks of a row, compute, MPI_Alltoall among those of a column, compute; and back the same way in reverse. \
          A rank holds points / ranks elements; a block of a transposition is that, over the ranks of the row or column, rounded up to \
          whole elements. Rows and columns are communicators made by MPI_Comm_split. The computation of an iteration is six equal \
          parts, one for each set of 1-D transforms.",
    source: "Pekurovsky: P3DFFT, SIAM J. Sci. Comput. 34, 2012, section 2",
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
            doc: "ranks in a row and in a column; zeros are chosen as equal as can be, largest first",
        },
        Param {
            name: "element_bytes",
            kind: Kind::Bytes,
            default: Some("16 B"),
            doc: "bytes of a point: 16 B is a complex number in double precision",
        },
        ITERATIONS,
        COMPUTE_TIME,
    ],
};

const ROW: Comm = 1;
const COLUMN: Comm = 2;

struct Fft {
    grid: Grid,
    /// Bytes of a block in a row and in a column.
    blocks: [u64; 2],
    iterations: u64,
    compute: Ps,
}

impl Generator for Fft {
    fn name(&self) -> &'static str {
        ABOUT.name
    }

    fn ranks(&self) -> u32 {
        self.grid.ranks()
    }

    fn write(&self, rank: RankId, body: &mut Body) {
        let at = self.grid.coordinates(rank);
        body.phase("communicators");
        for (new, color) in [(ROW, at[1]), (COLUMN, at[0])] {
            body.call(Call::CommSplit { comm: WORLD, color: Some(color), key: rank.number().into(), new });
        }
        let each = self.compute / 6;
        let transposition = |comm, block, body: &mut Body| {
            body.compute(each);
            body.phase(if comm == ROW { "transposition in the row" } else { "transposition in the column" });
            body.collective(CollectiveKind::Alltoall, comm, block);
            body.phase("transforms");
        };
        let [row, column] = self.blocks;
        body.repeat(self.iterations, |body| {
            body.phase("transforms");
            transposition(ROW, row, body);
            transposition(COLUMN, column, body);
            body.compute(each + each);
            body.phase("transposition in the column");
            body.collective(CollectiveKind::Alltoall, COLUMN, column);
            body.phase("transforms");
            transposition(ROW, row, body);
            body.compute(self.compute - 5 * each);
        });
    }

    fn makes_communicators(&self) -> bool {
        true
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Built<Arc<dyn Script>> {
    let grid = Grid::new(context, values, false)?;
    let points = values.ints("points");
    if points.len() != 3 {
        return Err(vec![Problem::new("points", "a domain of three dimensions needs three numbers")]);
    }
    if grid.dims.len() != 2 {
        return Err(vec![Problem::new("dims", "pencils need a grid of two dimensions")]);
    }
    let element = values.int("element_bytes");
    let total = points.iter().try_fold(1u64, |product, &n| product.checked_mul(n));
    let Some(total) = total.filter(|n| n.checked_mul(element).is_some()) else {
        return Err(vec![Problem::new("points", "the domain has more than 2^64 bytes")]);
    };
    let local = total.div_ceil(u64::from(grid.ranks()));
    let blocks = [0, 1].map(|d| local.div_ceil(u64::from(grid.dims[d])) * element);
    let (iterations, compute) = (values.int("iterations"), values.time("compute_time"));
    Ok(script(Fft { grid, blocks, iterations, compute }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::generate::testing::{computed, made, run};
    use base::param::Value;

    /// 8^3 points of 16 B on 4 x 2 ranks: 1 KiB each, in blocks of 256 B in rows of four and 512 B in columns of two.
    #[test]
    fn blocks_are_shares_of_what_a_rank_holds() {
        let script = made(
            &ABOUT,
            build,
            8,
            &[
                ("points", Value::Ints(vec![8, 8, 8])),
                ("dims", Value::Ints(vec![4, 2])),
                ("iterations", Value::Int(1)),
                ("compute_time", Value::Time(1000)),
            ],
        );
        let mut calls = script.open(RankId::new(5));
        let mut blocks = Vec::new();
        while let Some((call, _)) = calls.next().unwrap() {
            if let Call::Collective(c) = call {
                blocks.push((c.comm, c.bytes));
            }
        }
        assert_eq!(blocks, [(ROW, 256), (COLUMN, 512), (COLUMN, 512), (ROW, 256)]);
        assert_eq!(computed(script.as_ref(), RankId::new(0)), 1000);
        run(script.as_ref());
    }
}
