//! Halo exchange of a regular grid of any number of dimensions.

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
    param::{Kind, Param, Unread, Values},
    registry::About,
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "stencil",
    summary: "halo exchange of a regular grid in any number of dimensions",
    doc: "Ranks at the points of a grid, dimension 0 numbered fastest. In each iteration every rank exchanges `face_bytes` with each \
          neighbour along a dimension, and with `neighbours = \"all\"` also `corner_bytes` with each diagonal one, then computes. All \
          faces have the same size, all diagonal messages too; there is no reduction (see conjugate-gradient).",
    source: "MPI: A Message-Passing Interface Standard, process topologies; as the Stencil patterns of CODES and SST",
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
        Param {
            name: "neighbours",
            kind: Kind::Choice(&["faces", "all"]),
            default: Some("faces"),
            doc: "faces: two along each dimension; all: diagonal ones too",
        },
        Param {
            name: "corner_bytes",
            kind: Kind::Bytes,
            default: Some("64 B"),
            doc: "message to a diagonal neighbour",
        },
        PERIODIC,
        EXCHANGE,
        ITERATIONS,
        COMPUTE_TIME,
    ],
};

struct Stencil {
    grid: Grid,
    /// Why no rank sends to a diagonal neighbour, if none does.
    no_corners: Option<&'static str>,
    halo: Halo,
    iterations: u64,
    compute: Ps,
}

impl Generator for Stencil {
    fn name(&self) -> &'static str {
        ABOUT.name
    }

    fn ranks(&self) -> u32 {
        self.grid.ranks()
    }

    fn idle(&self) -> Vec<Unread> {
        self.no_corners.map_or_else(Vec::new, |why| Unread::all("job", &["corner_bytes"], why))
    }

    fn write(&self, rank: RankId, body: &mut Body) {
        body.phase("halo exchange");
        body.repeat(self.iterations, |body| self.halo.write(&self.grid, rank, self.compute, body));
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Built<Arc<dyn Script>> {
    let grid = Grid::new(context, values, values.bool("periodic"))?;
    let (face, corner) = (values.int("face_bytes"), values.int("corner_bytes"));
    let diagonal = values.text("neighbours") == "all";
    let offsets = if diagonal { grid.surroundings() } else { grid.faces() };
    let straight = |offset: &Vec<i64>| offset.iter().filter(|&&x| x != 0).count() == 1;
    let no_corners = match offsets.iter().all(straight) {
        true if diagonal => Some("a line has no diagonal neighbours"),
        true => Some("it is for `neighbours = \"all\"`"),
        false => None,
    };
    let bytes = |offset: &[i64]| if offset.iter().filter(|&&x| x != 0).count() == 1 { face } else { corner };
    let faces = offsets.into_iter().map(|o| (bytes(&o), o)).map(|(b, o)| (o, b)).collect();
    let halo = Halo { faces, exchange: Exchange::of(values) };
    let (iterations, compute) = (values.int("iterations"), values.time("compute_time"));
    Ok(script(Stencil { grid, no_corners, halo, iterations, compute }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::generate::testing::{made, messages};
    use base::param::Value;

    /// Directed neighbour pairs of a grid: 2 (n - 1) lines per dimension, or 2 n if closed and n > 1; messages follow.
    #[test]
    fn counts_follow_the_closed_form() {
        for exchange in ["non-blocking", "overlapped", "sendrecv"] {
            for (periodic, all, expected) in [
                (false, false, 2 * (2 * 3 + 2 * 3)),
                (true, false, 4 * 9),
                (false, true, 24 + 4 * 4),
                (true, true, 8 * 9),
            ] {
                let script = made(
                    &ABOUT,
                    build,
                    9,
                    &[
                        ("dims", Value::Ints(vec![3, 3])),
                        ("periodic", Value::Bool(periodic)),
                        ("neighbours", Value::Text(if all { "all" } else { "faces" }.into())),
                        ("exchange", Value::Text(exchange.into())),
                        ("iterations", Value::Int(5)),
                    ],
                );
                assert_eq!(messages(script.as_ref()), 5 * expected, "{exchange} {periodic} {all}");
            }
        }
    }

    #[test]
    fn a_grid_that_does_not_fit_is_refused() {
        for dims in [vec![], vec![5, 0], vec![3, 3], vec![1; 9], vec![1 << 31, 1 << 31]] {
            let values = crate::program::generate::testing::defaults(&ABOUT).with("dims", Value::Ints(dims));
            let context = crate::program::generate::testing::asking(8);
            assert_eq!(build(&context, &values).err().unwrap()[0].key, "dims");
        }
    }
}
