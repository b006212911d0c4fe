//! Ranks at the points of a grid, and the exchange of its halo.
//!
//! Dimension 0 is numbered fastest, as in the fabrics that are grids: rank = x0 + n0 (x1 + n1 (x2 + ..)).

use super::Body;
use crate::{
    program::mpi::{Call, CommRank, Envelope, PROC_NULL, WORLD},
    work::{Built, JobContext},
};
use base::{
    index::RankId,
    param::{Kind, Param, Problem, Values},
    time::Ps,
};

/// Most dimensions: 3^8 neighbours are many already.
pub(crate) const MAX_DIMENSIONS: usize = 8;

/// Iterations of the outermost loop.
pub(crate) const ITERATIONS: Param = Param {
    name: "iterations",
    kind: Kind::Int { min: 1, max: 1 << 32 },
    default: Some("10"),
    doc: "iterations of the main loop",
};

/// Computation of each rank per iteration.
pub(crate) const COMPUTE_TIME: Param = Param {
    name: "compute_time",
    kind: Kind::Time,
    default: Some("0 s"),
    doc: "computation of each rank per iteration",
};

/// Whether the grid is closed to a torus.
pub(crate) const PERIODIC: Param = Param {
    name: "periodic",
    kind: Kind::Bool,
    default: Some("false"),
    doc: "whether the last rank along a dimension is a neighbour of the first",
};

/// A grid of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// Ranks along each dimension.
    pub dims: Vec<u32>,
    /// Closed to a torus.
    pub periodic: bool,
}

impl Grid {
    /// The grid of the job: `dims` of `values`, where 0 leaves a dimension to be chosen.
    pub(crate) fn new(context: &JobContext, values: &Values, periodic: bool) -> Built<Self> {
        let given = values.ints("dims");
        let problem = |message: String| Err(vec![Problem::new("dims", message)]);
        if given.is_empty() || given.len() > MAX_DIMENSIONS {
            return problem(format!("there must be 1 to {MAX_DIMENSIONS} dimensions, not {}", given.len()));
        }
        let free = given.iter().filter(|&&n| n == 0).count();
        let fixed = given.iter().filter(|&&n| n > 0).try_fold(1u64, |product, &n| product.checked_mul(n));
        let Some(fixed) = fixed.and_then(|n| u32::try_from(n).ok()) else {
            return problem("the grid would have more than 2^32 ranks".to_owned());
        };
        // A grid that is given in full says itself how many ranks there are.
        let ranks = if free == 0 && !context.asked { fixed } else { context.ranks };
        if ranks % fixed != 0 || (free == 0 && ranks != fixed) {
            return problem(format!("{given:?} does not make a grid of {ranks} ranks"));
        }
        if ranks < 2 {
            return Err(vec![Problem::new(
                "ranks",
                format!("the program needs at least 2 ranks, not {ranks}"),
            )]);
        }
        let mut chosen = balanced(ranks / fixed, free).into_iter();
        let dims =
            given.iter().map(|&n| if n == 0 { chosen.next().unwrap_or(1) } else { n as u32 }).collect();
        Ok(Self { dims, periodic })
    }

    /// Number of ranks.
    pub(crate) fn ranks(&self) -> u32 {
        self.dims.iter().product()
    }

    /// Coordinates of a rank.
    pub(crate) fn coordinates(&self, rank: RankId) -> Vec<u32> {
        let mut rest = rank.number();
        let coordinate = |&n: &u32| {
            let x = rest % n;
            rest /= n;
            x
        };
        self.dims.iter().map(coordinate).collect()
    }

    /// The rank that lies at `offset` from this one; `None` beyond an edge, or if it is the rank itself.
    pub(crate) fn neighbour(&self, rank: RankId, offset: &[i64]) -> Option<RankId> {
        let (mut to, mut stride) = (0, 1);
        for ((x, &n), &by) in self.coordinates(rank).into_iter().zip(&self.dims).zip(offset) {
            let (x, n) = (i64::from(x) + by, i64::from(n));
            if !self.periodic && !(0..n).contains(&x) {
                return None;
            }
            to += x.rem_euclid(n) as u32 * stride;
            stride *= n as u32;
        }
        Some(RankId::new(to)).filter(|&to| to != rank)
    }

    /// The offset of `steps` along one dimension.
    pub(crate) fn along(&self, dimension: usize, steps: i64) -> Vec<i64> {
        let mut offset = vec![0; self.dims.len()];
        offset[dimension] = steps;
        offset
    }

    /// Offsets of the faces: minus and plus of each dimension.
    pub(crate) fn faces(&self) -> Vec<Vec<i64>> {
        (0..self.dims.len()).flat_map(|d| [self.along(d, -1), self.along(d, 1)]).collect()
    }

    /// Offsets of all neighbours: faces, edges and corners. Each stands as far from the beginning as its opposite from the end.
    pub(crate) fn surroundings(&self) -> Vec<Vec<i64>> {
        let count = 3u64.pow(self.dims.len() as u32);
        let offset = |code: u64| -> Vec<i64> {
            (0..self.dims.len() as u32).map(|d| (code / 3u64.pow(d) % 3) as i64 - 1).collect()
        };
        (0..count).filter(|&code| code != count / 2).map(offset).collect()
    }
}

/// The factors of `n` into `count` dimensions, largest first, whose largest is smallest, then the next, and so on: what
/// `MPI_Dims_create` should return.
fn balanced(n: u32, count: usize) -> Vec<u32> {
    let mut divisors: Vec<u32> =
        (1..=n.isqrt()).filter(|&d| n.is_multiple_of(d)).flat_map(|d| [d, n / d]).collect();
    divisors.sort_unstable();
    fn split(n: u32, count: usize, most: u32, divisors: &[u32]) -> Option<Vec<u32>> {
        if count <= 1 {
            return (n <= most && (count == 1 || n == 1)).then(|| vec![n; count]);
        }
        for &d in divisors.iter().take_while(|&&d| d <= most) {
            if n.is_multiple_of(d)
                && u64::from(d).saturating_pow(count as u32) >= u64::from(n)
                && let Some(rest) = split(n / d, count - 1, d, divisors)
            {
                return Some([vec![d], rest].concat());
            }
        }
        None
    }
    split(n, count, u32::MAX, &divisors).unwrap_or_default()
}

/// How an exchange with neighbours is programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchange {
    /// All receives and sends are started, then waited for together.
    NonBlocking,
    /// As before, with the iteration's computation between start and wait.
    Overlapped,
    /// `MPI_Sendrecv` in one direction after the other.
    SendRecv,
}

/// The key of [`Exchange`].
pub(crate) const EXCHANGE: Param = Param {
    name: "exchange",
    kind: Kind::Choice(&["non-blocking", "overlapped", "sendrecv"]),
    default: Some("non-blocking"),
    doc: "non-blocking: start all transfers, wait, compute; overlapped: start, compute, wait; sendrecv: one direction \
          after the other with MPI_Sendrecv, then compute",
};

impl Exchange {
    /// The choice made.
    pub(crate) fn of(values: &Values) -> Self {
        match values.text(EXCHANGE.name).as_str() {
            "overlapped" => Self::Overlapped,
            "sendrecv" => Self::SendRecv,
            _ => Self::NonBlocking,
        }
    }
}

/// An exchange with the neighbours at given offsets, and the bytes that go there.
///
/// The opposite of every offset must be in the list, with the bytes that the neighbour there sends back being those of
/// the opposite. The tag of a message is the place of its offset in the list.
#[derive(Clone, Debug)]
pub(crate) struct Halo {
    /// Offsets and bytes.
    pub faces: Vec<(Vec<i64>, u64)>,
    /// How it is programmed.
    pub exchange: Exchange,
}

impl Halo {
    /// Place of the opposite of an offset.
    fn opposite(&self, offset: &[i64]) -> usize {
        let back: Vec<i64> = offset.iter().map(|&x| -x).collect();
        self.faces.iter().position(|(o, _)| *o == back).expect("the opposite of every offset is in the list")
    }

    /// Writes the start of all transfers of a rank, receives first. Tags count from `tag`, requests from `request`; returns the first
    /// request that is not used.
    pub(crate) fn start(&self, grid: &Grid, rank: RankId, tag: u32, request: u32, body: &mut Body) -> u32 {
        let mut request = request;
        for (offset, _) in &self.faces {
            if let Some(peer) = grid.neighbour(rank, offset) {
                let back = self.opposite(offset);
                body.irecv(peer, tag + back as u32, self.faces[back].1, request);
                request += 1;
            }
        }
        for (place, (offset, bytes)) in self.faces.iter().enumerate() {
            if let Some(peer) = grid.neighbour(rank, offset) {
                body.isend(peer, tag + place as u32, *bytes, request);
                request += 1;
            }
        }
        request
    }

    /// Writes one exchange of a rank, and the computation that belongs to it. Uses requests from 0.
    pub(crate) fn write(&self, grid: &Grid, rank: RankId, compute: Ps, body: &mut Body) {
        if self.exchange == Exchange::SendRecv {
            for (tag, (offset, bytes)) in self.faces.iter().enumerate() {
                let back = &self.faces[self.opposite(offset)].0;
                let at = |o: &[i64]| grid.neighbour(rank, o).map_or(PROC_NULL, CommRank::in_world);
                let (to, from) = (at(offset), at(back));
                if (to, from) != (PROC_NULL, PROC_NULL) {
                    let end = |peer| Envelope { peer, tag: tag as u32, bytes: *bytes, comm: WORLD };
                    body.call(Call::SendRecv(end(to), end(from)));
                }
            }
            body.compute(compute);
            return;
        }
        let requests = self.start(grid, rank, 0, 0, body);
        if self.exchange == Exchange::Overlapped {
            body.compute(compute);
        }
        body.wait_for_all(requests);
        if self.exchange == Exchange::NonBlocking {
            body.compute(compute);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_as_equal_as_can_be() {
        for (n, count, expected) in [
            (72, 2, vec![9, 8]),
            (4096, 3, vec![16, 16, 16]),
            (24, 3, vec![4, 3, 2]),
            (7, 2, vec![7, 1]),
            (1, 3, vec![1, 1, 1]),
            (1 << 20, 4, vec![32, 32, 32, 32]),
            (4_294_967_291, 2, vec![4_294_967_291, 1]),
            (1, 0, vec![]),
        ] {
            assert_eq!(balanced(n, count), expected, "{n} in {count}");
        }
    }

    #[test]
    fn edges_end_or_wrap() {
        let mut grid = Grid { dims: vec![3, 2], periodic: false };
        assert_eq!(grid.neighbour(RankId::new(2), &[1, 0]), None);
        assert_eq!(grid.neighbour(RankId::new(2), &[-1, 1]), Some(RankId::new(4)));
        grid.periodic = true;
        assert_eq!(grid.neighbour(RankId::new(2), &[1, 0]), Some(RankId::new(0)));
        assert_eq!(grid.neighbour(RankId::new(2), &[0, 2]), None, "it is the rank itself");
        assert_eq!(grid.surroundings().len(), 8);
    }
}
