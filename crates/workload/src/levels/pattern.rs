//! The patterns themselves: their names, and the pairs of each level.

use super::{Pair, Receivers, neighbour, pair};
use base::{index::RankId, rng::Stream};
use std::fmt;

/// A pattern with levels.
#[derive(Clone, Debug, PartialEq)]
pub enum LevelPattern {
    /// Every rank sends to one and receives from one, never itself (the program; the paper allows itself: `RandPerm`).
    Rand,
    /// A random permutation, fixed points included.
    RandPerm,
    /// Nobody sends: there are no levels, and so no pairs.
    Null,
    /// 2 i + 1 sends to 2 i.
    Bisect,
    /// As `Bisect`, in both directions.
    BisectFbSym,
    /// Binomial tree: in level l the ranks i < 2^l send to i + 2^l (figure 6 and the program).
    Tree,
    /// The paper's formula of the tree: all i with i + 2^l < n send.
    TreeAll,
    /// In level l all ranks i send to i + 2^l mod n.
    Bruck,
    /// All send to rank 0.
    Gather,
    /// Rank 0 sends to all.
    Scatter,
    /// In level l rank l sends to l + 1 mod n.
    Ring,
    /// Exchange over distance 2^l among the largest power of two of ranks, then that half sends to the rest (the program).
    Recdbl,
    /// Exchange between k and k + 2^l where bit l of k is clear and k + 2^l < n, over ceil(log2 n) levels (the paper, with its
    /// figure 2: the quotient is rounded down).
    RecdblPaper,
    /// Every rank exchanges with up to so many others, peered from left to right.
    Neighbour(u32),
    /// Some ranks receive from many: hot spots.
    Receivers(Receivers),
    /// Two patterns on disjoint ranks, merged level by level: the first on the first `part` ranks, the second, which restarts when
    /// it is exhausted, on the rest.
    Versus(Box<LevelPattern>, Box<LevelPattern>, u32),
}

/// Ranks of the first pattern of `ptrnvsptrn` if nobody says (ORCS: `--part_commsize`).
pub const PART: u32 = 2;

/// Names of the patterns, as the command line takes them.
pub const NAMES: &[&str] = &[
    "rand",
    "rand_perm",
    "null",
    "bisect",
    "bisect_fb_sym",
    "tree",
    "tree_all",
    "bruck",
    "gather",
    "scatter",
    "ring",
    "recdbl",
    "recdbl_paper",
    "neighbor",
    "2neighbor",
    "4neighbor",
    "6neighbor",
    "recvs_one_src",
    "recvs_all_src",
    "ptrnvsptrn",
];

impl LevelPattern {
    /// Judges the number of ranks of a merged pattern's first, as ORCS does: with one rank, or all, one of the two patterns would be left out.
    ///
    /// # Errors
    /// What is wrong with it; also that a plain pattern has no use for another than [`PART`].
    pub fn judge_part(&self, part: u32, ranks: u32) -> Result<(), String> {
        match self {
            Self::Versus(..) if !(2..ranks).contains(&part) => Err(format!(
                "there are {ranks} ranks: the first of two merged patterns has 2 at least, and leaves the second some"
            )),
            Self::Versus(..) => Ok(()),
            _ if part == PART => Ok(()),
            _ => Err("only two merged patterns, FIRST::SECOND, have parts".to_owned()),
        }
    }

    /// Reads a pattern: `bisect`, `neighbor:4`, `recvs_all_src:2:0.9:0.5:rand`, `ptrnvsptrn:tree::bisect` (as ORCS separates
    /// them) or `tree::bisect`. `part` is the number of ranks of a merged pattern's first.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str, part: u32) -> Result<Self, String> {
        let text = text.trim();
        if let Some((first, second)) = text.strip_prefix("ptrnvsptrn:").unwrap_or(text).split_once("::") {
            // Judged before they are read: a text of thousands would go thousands of calls deep.
            if second.contains("::") {
                return Err("patterns are merged by two".to_owned());
            }
            let (first, second) = (Self::parse(first, part)?, Self::parse(second, part)?);
            return Ok(Self::Versus(Box::new(first), Box::new(second), part));
        }
        let (name, rest) = text.split_once(':').map_or((text, None), |(n, r)| (n, Some(r)));
        let plain = match name {
            "rand" => Self::Rand,
            "rand_perm" => Self::RandPerm,
            "null" => Self::Null,
            "bisect" => Self::Bisect,
            "bisect_fb_sym" => Self::BisectFbSym,
            "tree" => Self::Tree,
            "tree_all" => Self::TreeAll,
            "bruck" => Self::Bruck,
            "gather" => Self::Gather,
            "scatter" => Self::Scatter,
            "ring" => Self::Ring,
            "recdbl" => Self::Recdbl,
            "recdbl_paper" => Self::RecdblPaper,
            "2neighbor" => Self::Neighbour(2),
            "4neighbor" => Self::Neighbour(4),
            "6neighbor" => Self::Neighbour(6),
            "neighbor" => {
                let count = rest.unwrap_or("2").parse().ok().filter(|n| (1..=1 << 16).contains(n));
                return count.map(Self::Neighbour).ok_or_else(|| "write neighbor:N with N from 1".to_owned());
            }
            "recvs_one_src" => return Receivers::parse(rest, true).map(Self::Receivers),
            "recvs_all_src" => return Receivers::parse(rest, false).map(Self::Receivers),
            "ptrnvsptrn" => {
                return Err("write ptrnvsptrn:FIRST::SECOND, such as ptrnvsptrn:tree::bisect".to_owned());
            }
            _ => {
                let near = base::registry::nearest(name, NAMES.iter().copied());
                let near = near.first().map_or_else(|| NAMES.join(", "), |n| format!("did you mean {n}?"));
                return Err(format!("there is no pattern `{name}`: {near}"));
            }
        };
        match rest {
            None => Ok(plain),
            Some(rest) => Err(format!("pattern `{name}` takes no argument, here `{rest}`")),
        }
    }

    /// Number of levels for so many ranks.
    #[must_use]
    pub fn levels(&self, ranks: u32) -> u32 {
        match self {
            Self::Null => 0,
            Self::Tree | Self::TreeAll | Self::Bruck | Self::RecdblPaper => log2_up(ranks),
            Self::Ring => ranks,
            Self::Recdbl => ranks.checked_ilog2().map_or(0, |l| l + u32::from(!ranks.is_power_of_two())),
            Self::Versus(first, second, part) => {
                let (one, two) = (first.levels(*part), second.levels(ranks.saturating_sub(*part)));
                if two == 0 { one } else { one.div_ceil(two).max(1) * two }
            }
            _ => u32::from(ranks > 1),
        }
    }

    /// True if the pairs depend on the draw.
    #[must_use]
    pub fn random(&self) -> bool {
        match self {
            Self::Rand | Self::RandPerm => true,
            Self::Receivers(r) => r.random(),
            Self::Versus(first, second, _) => first.random() || second.random(),
            _ => false,
        }
    }

    /// Ranks that must be even: one is left out of an odd number (ORCS does so for all patterns).
    #[must_use]
    pub fn usable(ranks: u32) -> u32 {
        ranks - ranks % 2
    }

    /// Appends the pairs of a level, in the program's order. `draw` decides what is random: one stream for each run.
    pub fn pairs(&self, n: u32, level: u32, draw: Stream, out: &mut Vec<Pair>) {
        let d = 1u32.checked_shl(level).unwrap_or(u32::MAX);
        match self {
            _ if level >= self.levels(n) => {}
            Self::Null => {}
            Self::Rand => random(n, draw, out),
            Self::RandPerm => {
                let mut to: Vec<RankId> = RankId::first(n).collect();
                draw.clone().shuffle(&mut to);
                out.extend(RankId::first(n).zip(to));
            }
            Self::Bisect => out.extend((0..n / 2).map(|i| (2 * i + 1, 2 * i)).map(pair)),
            Self::BisectFbSym => {
                out.extend((0..n / 2).flat_map(|i| [(2 * i, 2 * i + 1), (2 * i + 1, 2 * i)]).map(pair));
            }
            Self::Tree => out.extend((0..d.min(n.saturating_sub(d))).map(|i| (i, i + d)).map(pair)),
            Self::TreeAll => out.extend((0..n.saturating_sub(d)).map(|i| (i, i + d)).map(pair)),
            Self::Bruck => {
                let further = |i| ((u64::from(i) + u64::from(d)) % u64::from(n)) as u32;
                out.extend((0..n).map(|i| (i, further(i))).map(pair));
            }
            Self::Gather => out.extend((1..n).map(|i| (i, 0)).map(pair)),
            Self::Scatter => out.extend((1..n).map(|i| (0, i)).map(pair)),
            Self::Ring => out.push(pair((level, (level + 1) % n))),
            Self::Recdbl => {
                let power = 1 << n.ilog2();
                if d < power {
                    let low = (0..power).filter(|k| k & d == 0);
                    out.extend(low.flat_map(|k| [(k, k + d), (k + d, k)]).map(pair));
                } else {
                    out.extend((0..n - power).map(|i| (i, i + power)).map(pair));
                }
            }
            Self::RecdblPaper => {
                let low = (0..n.saturating_sub(d)).filter(|k| k & d == 0);
                out.extend(low.flat_map(|k| [(k, k + d), (k + d, k)]).map(pair));
            }
            Self::Neighbour(count) => neighbour::pairs(n, *count, out),
            Self::Receivers(receivers) => receivers.pairs(n, draw, out),
            Self::Versus(first, second, part) => {
                let part = (*part).min(n);
                first.pairs(part, level, draw, out);
                let begin = out.len();
                let two = second.levels(n - part);
                if two > 0 {
                    second.pairs(n - part, level % two, draw.owned_by(draw.owner() ^ 1 << 63), out);
                }
                out[begin..].iter_mut().for_each(|pair| *pair = (pair.0.plus(part), pair.1.plus(part)));
            }
        }
    }
}

fn log2_up(n: u32) -> u32 {
    if n <= 1 { 0 } else { (n - 1).ilog2() + 1 }
}

/// A random permutation without fixed points, drawn as the program does: receivers one after the other from those left; if only
/// the last sender itself is left, it swaps with a random earlier sender.
fn random(n: u32, mut draw: Stream, out: &mut Vec<Pair>) {
    let begin = out.len();
    let mut left: Vec<RankId> = RankId::first(n).collect();
    for source in RankId::first(n) {
        if left == [source] {
            let other = begin + draw.below(u64::from(source)) as usize;
            let to = std::mem::replace(&mut out[other].1, source);
            out.push((source, to));
            return;
        }
        loop {
            let at = draw.below(left.len() as u64) as usize;
            if left[at] != source {
                out.push((source, left.swap_remove(at)));
                break;
            }
        }
    }
}

impl fmt::Display for LevelPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Rand => "rand",
            Self::RandPerm => "rand_perm",
            Self::Null => "null",
            Self::Bisect => "bisect",
            Self::BisectFbSym => "bisect_fb_sym",
            Self::Tree => "tree",
            Self::TreeAll => "tree_all",
            Self::Bruck => "bruck",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Ring => "ring",
            Self::Recdbl => "recdbl",
            Self::RecdblPaper => "recdbl_paper",
            Self::Neighbour(n) => return write!(f, "neighbor:{n}"),
            Self::Receivers(r) => return write!(f, "{r}"),
            Self::Versus(a, b, _) => return write!(f, "ptrnvsptrn:{a}::{b}"),
        };
        f.write_str(name)
    }
}
