//! Permutations of ranks on a grid: tornado and the nearest neighbour.

use super::{COUNT, partners};
use crate::work::{Built, JobContext, Work};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};

const SOURCE: &str = "Dally, Towles: Principles and Practices of Interconnection Networks, 2004, section 3.2, table 3.1; BookSim 2, \
                      traffic.cpp";

/// The grid on which the ranks stand.
const GRID: Param = Param {
    name: "grid",
    kind: Kind::Ints { min: 1, max: 1 << 26 },
    default: Some("[]"),
    doc: "ranks along each dimension, dimension 0 numbered fastest; [] for one dimension of all ranks",
};

pub(crate) const TORNADO: About = About {
    name: "tornado",
    summary: "almost halfway around in every dimension of a grid",
    doc: "In every dimension of k ranks the coordinate grows by ceil(k/2) - 1 (mod k). On a torus with the same `grid` all \
          minimal routes turn the same way and half of the channels stay idle: k/2 times less than uniform traffic.",
    source: SOURCE,
    params: &[GRID, COUNT],
};

pub(crate) const NEIGHBOUR: About = About {
    name: "nearest-neighbour",
    summary: "one step up in every dimension of a grid",
    doc: "In every dimension of k ranks the coordinate grows by 1 (mod k). On one dimension rank i sends to rank i + 1 (mod n), \
          as CODES' nearest neighbour does.",
    source: "Dally, Towles: Principles and Practices of Interconnection Networks, 2004, section 3.2, table 3.1; BookSim 2, \
             traffic.cpp; CODES, model-net-mpi-replay synthetic2",
    params: &[GRID, COUNT],
};

/// The dimensions, whose product is the number of ranks.
fn dimensions(context: &JobContext, values: &Values) -> Built<Vec<u32>> {
    context.need_two_ranks()?;
    let grid = values.ints("grid");
    if grid.is_empty() {
        return Ok(vec![context.ranks]);
    }
    let product = grid.iter().try_fold(1u64, |p, &k| p.checked_mul(k));
    if product == Some(u64::from(context.ranks)) {
        return Ok(grid.iter().map(|&k| k as u32).collect());
    }
    let holds = product.map_or_else(|| "too many".to_owned(), |p| p.to_string());
    let message = format!("this grid holds {holds} ranks, the job has {}", context.ranks);
    Err(vec![Problem::new("grid", message).help("its product must be the number of ranks")])
}

/// Every coordinate grows by a step that depends on the dimension's size.
fn steps(context: &JobContext, values: &Values, step: fn(u32) -> u32) -> Built<Work> {
    let grid = dimensions(context, values)?;
    if grid.iter().all(|&k| step(k).is_multiple_of(k)) {
        let message = "every rank would send to itself: no dimension is long enough";
        let key = if values.ints("grid").is_empty() { "ranks" } else { "grid" };
        return Err(vec![Problem::new(key, message).help("a tornado needs 3 ranks in some dimension")]);
    }
    partners(context, values, |rank| {
        let (mut left, mut unit, mut to) = (rank, 1, 0);
        for &k in &grid {
            to += (u64::from(left % k) + u64::from(step(k))) as u32 % k * unit;
            (left, unit) = (left / k, unit * k);
        }
        to
    })
}

pub(crate) fn tornado(context: &JobContext, values: &Values) -> Built<Work> {
    steps(context, values, |k| k.div_ceil(2) - 1)
}

pub(crate) fn neighbour(context: &JobContext, values: &Values) -> Built<Work> {
    steps(context, values, |_| 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, defaults};
    use base::{index::RankId, param::Value};

    fn to(
        build: fn(&JobContext, &Values) -> Built<Work>,
        about: &About,
        (ranks, grid): (u32, &[u64]),
    ) -> Result<Vec<u32>, String> {
        let values = defaults(about).with("grid", Value::Ints(grid.to_vec()));
        let traffic = build(&context(ranks), &values).map_err(|p| p[0].key.clone())?.into_traffic().unwrap();
        let to = |rank| traffic.message(rank, 3, 0).unwrap().destination.number();
        Ok(RankId::first(ranks).map(to).collect())
    }

    #[test]
    fn rings_and_grids_by_hand() {
        assert_eq!(to(tornado, &TORNADO, (8, &[])).unwrap(), [3, 4, 5, 6, 7, 0, 1, 2]);
        assert_eq!(to(tornado, &TORNADO, (5, &[5])).unwrap(), [2, 3, 4, 0, 1]);
        // Of 3 x 2 only the first dimension moves.
        assert_eq!(to(tornado, &TORNADO, (6, &[3, 2])).unwrap(), [1, 2, 0, 4, 5, 3]);
        assert_eq!(to(neighbour, &NEIGHBOUR, (4, &[])).unwrap(), [1, 2, 3, 0]);
        assert_eq!(to(neighbour, &NEIGHBOUR, (6, &[3, 2])).unwrap(), [4, 5, 3, 1, 2, 0]);
    }

    /// BookSim's digit permutations on 8 x 8.
    #[test]
    fn digits_on_eight_by_eight() {
        let tornado = to(tornado, &TORNADO, (64, &[8, 8])).unwrap();
        let neighbour = to(neighbour, &NEIGHBOUR, (64, &[8, 8])).unwrap();
        for rank in 0..64u32 {
            let (x, y) = (rank % 8, rank / 8);
            assert_eq!(tornado[rank as usize], (x + 3) % 8 + (y + 3) % 8 * 8);
            assert_eq!(neighbour[rank as usize], (x + 1) % 8 + (y + 1) % 8 * 8);
        }
    }

    #[test]
    fn grids_that_do_not_fit_are_refused() {
        assert_eq!(to(neighbour, &NEIGHBOUR, (8, &[3, 2])).unwrap_err(), "grid");
        assert_eq!(to(neighbour, &NEIGHBOUR, (8, &[1 << 26, 1 << 26, 1 << 26])).unwrap_err(), "grid");
        assert_eq!(to(tornado, &TORNADO, (4, &[2, 2])).unwrap_err(), "grid");
        assert_eq!(to(tornado, &TORNADO, (2, &[])).unwrap_err(), "ranks");
    }
}
