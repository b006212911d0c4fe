//! Permutations of the bits of a rank's number, and the transpose of a square.

use super::{COUNT, TO_SELF, partners};
use crate::work::{Built, JobContext, Work};
use base::{
    param::{Problem, Values},
    registry::About,
};

const SOURCE: &str = "Dally, Towles: Principles and Practices of Interconnection Networks, 2004, section 3.2, table 3.1; BookSim 2, \
                      traffic.cpp";

pub(crate) const TRANSPOSE: About = About {
    name: "transpose",
    summary: "rank (x, y) of a square to rank (y, x)",
    doc: "Ranks stand in a square, rank = x + y * sqrt(n). For powers of two the upper and the lower half of the bits are \
          exchanged. Ranks on the diagonal send nothing, or to themselves with `to_self`. The number of ranks must be a square.",
    source: SOURCE,
    params: &[TO_SELF, COUNT],
};

pub(crate) const COMPLEMENT: About = About {
    name: "bit-complement",
    summary: "rank i to rank n - 1 - i",
    doc: "All bits of the rank's number are inverted. The number of ranks must be a power of two.",
    source: SOURCE,
    params: &[COUNT],
};

pub(crate) const REVERSE: About = About {
    name: "bit-reverse",
    summary: "the bits of a rank's number in reverse order",
    doc: "Bit i of the destination is bit b - 1 - i of the source, of b bits. The number of ranks must be a power of two. Ranks that \
          read the same in both directions send nothing, or to themselves with `to_self`.",
    source: SOURCE,
    params: &[TO_SELF, COUNT],
};

pub(crate) const ROTATION: About = About {
    name: "bit-rotation",
    summary: "the bits of a rank's number rotated right by one",
    doc: "Bit i of the destination is bit i + 1 (mod b) of the source, of b bits. The number of ranks must be a power of two. \
          Ranks 0 and n - 1 send nothing, or to themselves with `to_self`.",
    source: SOURCE,
    params: &[TO_SELF, COUNT],
};

pub(crate) const SHUFFLE: About = About {
    name: "shuffle",
    summary: "the bits of a rank's number rotated left by one",
    doc: "Bit i of the destination is bit i - 1 (mod b) of the source, of b bits: the perfect shuffle, as sorting and Fourier transforms \
          have it. The number of ranks must be a power of two. Ranks 0 and n - 1 send nothing, or to themselves with `to_self`.",
    source: SOURCE,
    params: &[TO_SELF, COUNT],
};

/// Number of bits, if the number of ranks is a power of two.
fn bits(context: &JobContext, name: &str) -> Built<u32> {
    context.need_two_ranks()?;
    let n = context.ranks;
    if n.is_power_of_two() {
        return Ok(n.ilog2());
    }
    let message = format!("{name} needs a power of two of ranks, this job has {n}");
    Err(vec![Problem::new("ranks", message).help(format!("set `ranks = {}`", 1 << n.ilog2()))])
}

pub(crate) fn transpose(context: &JobContext, values: &Values) -> Built<Work> {
    context.need_two_ranks()?;
    let side = side(context, TRANSPOSE.name)?;
    partners(context, values, |rank| rank / side + rank % side * side)
}

/// Side of the square in which the ranks stand.
pub(super) fn side(context: &JobContext, name: &str) -> Built<u32> {
    let side = context.ranks.isqrt();
    if side * side == context.ranks {
        return Ok(side);
    }
    let message = format!("{name} needs a square number of ranks, this job has {}", context.ranks);
    Err(vec![Problem::new("ranks", message).help(format!("set `ranks = {}`", side * side))])
}

pub(crate) fn complement(context: &JobContext, values: &Values) -> Built<Work> {
    bits(context, COMPLEMENT.name)?;
    partners(context, values, |rank| context.ranks - 1 - rank)
}

pub(crate) fn reverse(context: &JobContext, values: &Values) -> Built<Work> {
    let bits = bits(context, REVERSE.name)?;
    partners(context, values, |rank| rank.reverse_bits() >> (32 - bits))
}

pub(crate) fn rotation(context: &JobContext, values: &Values) -> Built<Work> {
    let bits = bits(context, ROTATION.name)?;
    partners(context, values, |rank| rank >> 1 | (rank & 1) << (bits - 1))
}

pub(crate) fn shuffle(context: &JobContext, values: &Values) -> Built<Work> {
    let bits = bits(context, SHUFFLE.name)?;
    partners(context, values, |rank| rank << 1 & (context.ranks - 1) | rank >> (bits - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, defaults};
    use base::{index::RankId, param::Value};

    type Build = fn(&JobContext, &Values) -> Built<Work>;

    /// Partners of all ranks; none for those that send nothing.
    fn to(build: Build, about: &About, ranks: u32) -> Vec<Option<u32>> {
        let traffic = build(&context(ranks), &defaults(about)).unwrap().into_traffic().unwrap();
        RankId::first(ranks).map(|rank| traffic.message(rank, 5, 0).map(|m| m.destination.number())).collect()
    }

    #[test]
    fn eight_ranks_by_hand() {
        let some = |all: [i64; 8]| all.map(|to| u32::try_from(to).ok()).to_vec();
        assert_eq!(to(complement, &COMPLEMENT, 8), some([7, 6, 5, 4, 3, 2, 1, 0]));
        assert_eq!(to(reverse, &REVERSE, 8), some([-1, 4, -1, 6, 1, -1, 3, -1]));
        assert_eq!(to(rotation, &ROTATION, 8), some([-1, 4, 1, 5, 2, 6, 3, -1]));
        assert_eq!(to(shuffle, &SHUFFLE, 8), some([-1, 2, 4, 6, 1, 3, 5, -1]));
        let nine = to(transpose, &TRANSPOSE, 9);
        assert_eq!(nine, [None, Some(3), Some(6), Some(1), None, Some(7), Some(2), Some(5), None]);
    }

    /// BookSim's transpose exchanges the halves of the bits.
    #[test]
    fn the_square_of_a_power_of_two_exchanges_halves_of_bits() {
        let partners = to(transpose, &TRANSPOSE, 64);
        for (rank, partner) in (0u32..).zip(partners) {
            let exchanged = rank >> 3 | (rank & 7) << 3;
            assert_eq!(partner, (exchanged != rank).then_some(exchanged));
        }
    }

    #[test]
    fn offers_what_its_senders_do() {
        let offered = |to_self: bool| {
            let values = defaults(&TRANSPOSE).with("to_self", Value::Bool(to_self));
            let traffic = transpose(&context(64), &values).unwrap().into_traffic().unwrap();
            (traffic.offered_bytes_per_s().unwrap() / f64::from(1u32 << 31), traffic.to_itself())
        };
        assert_eq!(offered(false), (56.0 / 64.0, None));
        assert_eq!(offered(true), (1.0, Some(RankId::new(0))));
    }

    #[test]
    fn other_numbers_are_refused() {
        for (build, about) in [
            (transpose as Build, &TRANSPOSE),
            (complement, &COMPLEMENT),
            (reverse, &REVERSE),
            (rotation, &ROTATION),
            (shuffle, &SHUFFLE),
        ] {
            let problem = &build(&context(72), &defaults(about)).err().unwrap()[0];
            assert_eq!(problem.key, "ranks", "{}", about.name);
            assert_eq!(problem.help.as_deref(), Some("set `ranks = 64`"));
        }
    }
}
