//! The level patterns as workloads: static congestion counts their levels; other models send each rank's messages in the order of
//! levels, over and over, when the arrival process says so.

use super::{LevelPattern, PART, Pair};
use crate::{
    arrival::Arrival,
    pattern::{COUNT, endless_if_zero},
    traffic::{Message, Traffic},
    work::{Built, JobContext, Work},
};
use base::{
    index::{Column, RankId},
    param::{Kind, Param, Problem, Values},
    registry::About,
    rng::{Purpose, Stream},
    time::Ps,
};
use std::sync::Arc;

const SOURCE: &str = "Schneider, Hoefler, Lumsdaine: ORCS: An Oblivious Routing Congestion Simulator, Indiana University TR-675, \
                      2009, section 2.4, and the program, version 2.0";

/// Documentation of a pattern without parameters of its own.
const fn about(name: &'static str, summary: &'static str, doc: &'static str) -> About {
    About { name, summary, doc, source: SOURCE, params: &[COUNT] }
}

/// Patterns whose name says all.
pub(crate) const PLAIN: [About; 11] = [
    about(
        "rand",
        "every rank sends to one and receives from one, at random",
        "One level. Nobody sends to itself. Static congestion draws a new permutation for each mapping; other models keep the first.",
    ),
    about(
        "rand_perm",
        "a random permutation, fixed points included",
        "One level; as `rand`, but a rank may draw itself (then it sends nothing): the pattern as the paper defines it.",
    ),
    about(
        "bisect",
        "2 i + 1 sends to 2 i",
        "One level: half of the ranks send, each to one of the other half. An odd rank is left out.",
    ),
    about("bisect_fb_sym", "2 i and 2 i + 1 exchange", "One level: as `bisect`, in both directions."),
    about(
        "tree",
        "binomial tree: i < 2^l sends to i + 2^l in level l",
        "ceil(log2 n) levels, as in the paper's figure 6 and the program; the paper's formula is `tree_all`.",
    ),
    about(
        "tree_all",
        "every i sends to i + 2^l in level l, if there is one",
        "ceil(log2 n) levels: the formula that the paper gives for its tree.",
    ),
    about("bruck", "every i sends to i + 2^l mod n in level l", "ceil(log2 n) levels of n messages."),
    about("gather", "all send to rank 0", "One level."),
    about("scatter", "rank 0 sends to all", "One level."),
    about(
        "recdbl",
        "recursive doubling",
        "Exchanges over distance 2^l among the largest power of two of ranks; if ranks are left over, a last level sends from rank i to rank i + that power. The rule of the program; the paper's is `recdbl_paper`.",
    ),
    about(
        "recdbl_paper",
        "recursive doubling as the paper has it",
        "ceil(log2 n) levels: k and k + 2^l exchange if bit l of k is clear and k + 2^l < n.",
    ),
];

/// Any pattern by its text.
pub(crate) const ANY: About = About {
    name: "pattern",
    summary: "a pattern with levels, as `netloom congestion --pattern` writes it",
    doc: "One of rand, rand_perm, null, bisect, bisect_fb_sym, tree, tree_all, bruck, gather, scatter, ring, recdbl, recdbl_paper, \
          neighbor:N (N neighbours, peered from left to right; 2neighbor, 4neighbor, 6neighbor are synonyms), \
          recvs_one_src:COUNT[:SEND[:IDLE[:rand|linear]]] and recvs_all_src (the first COUNT ranks receive; others send to them with \
          chance SEND, else are idle with chance IDLE, else send to somebody else), and ptrnvsptrn:FIRST::SECOND: FIRST on the first \
          `part_ranks` ranks and SECOND on the others, level by level; SECOND restarts when it is exhausted. In `ring` level l is one \
          message from l to l + 1.",
    source: SOURCE,
    params: &[
        Param { name: "pattern", kind: Kind::Text, default: Some("bisect"), doc: "The pattern." },
        Param {
            name: "part_ranks",
            kind: Kind::Int { min: 0, max: u32::MAX as u64 },
            default: Some("2"),
            doc: "Ranks of the first pattern of ptrnvsptrn: 2 at least, and fewer than the job has.",
        },
        COUNT,
    ],
};

/// Neighbours of the entry `neighbor`.
pub(crate) const NEIGHBOUR: About = About {
    name: "neighbor",
    summary: "every rank exchanges with some others, peered from left to right",
    doc: "One level. From rank 0 on, every rank is peered with the next ranks that have less than `neighbors` and are no peers \
          yet; peers send to each other.",
    source: SOURCE,
    params: &[
        Param {
            name: "neighbors",
            kind: Kind::Int { min: 1, max: 1 << 16 },
            default: Some("2"),
            doc: "Peers of a rank.",
        },
        COUNT,
    ],
};

/// Builds one of [`PLAIN`].
pub(crate) fn plain(index: usize, context: &JobContext, values: &Values) -> Built<Work> {
    let name = PLAIN[index].name;
    let pattern = LevelPattern::parse(name, PART).map_err(|e| vec![Problem::new("workload", e)])?;
    build(pattern, context, values)
}

/// Builds the entry `pattern`.
pub(crate) fn any(context: &JobContext, values: &Values) -> Built<Work> {
    let part = values.u32("part_ranks");
    let pattern = LevelPattern::parse(&values.text("pattern"), part);
    let pattern = pattern.map_err(|e| vec![Problem::new("pattern", e)])?;
    let judged = pattern.judge_part(part, context.ranks);
    judged
        .map_err(|e| vec![Problem::new("part_ranks", format!("{part} ranks of the first pattern: {e}"))])?;
    build(pattern, context, values)
}

/// Builds the entry `neighbor`.
pub(crate) fn neighbour(context: &JobContext, values: &Values) -> Built<Work> {
    build(LevelPattern::Neighbour(values.u32("neighbors")), context, values)
}

fn build(pattern: LevelPattern, context: &JobContext, values: &Values) -> Built<Work> {
    context.need_two_ranks()?;
    let mut to = Column::filled(context.ranks as usize, Vec::new());
    let mut pairs: Vec<Pair> = Vec::new();
    let draw = draw(context.seed, context.job, 0);
    for level in 0..pattern.levels(context.ranks) {
        pattern.pairs(context.ranks, level, draw, &mut pairs);
    }
    for (a, b) in pairs.into_iter().filter(|(a, b)| a != b) {
        to[a].push(b);
    }
    let (arrival, offered) = match &context.arrival {
        Some(_) => context.arrivals(context.message, 1).map(|(a, o)| (Some(a), Some(o)))?,
        None => (None, None),
    };
    let senders = to.iter().filter(|(_, to)| !to.is_empty()).count() as f64 / f64::from(context.ranks);
    let count = endless_if_zero(values.int("count"));
    let bytes = context.message;
    Ok(Work::Traffic(Arc::new(LevelTraffic {
        pattern,
        to,
        arrival,
        bytes,
        count,
        offered: offered.map(|o| o * senders),
    })))
}

/// The random stream of a mapping (a run) of a job: what is random in a pattern is drawn from it.
#[must_use]
pub fn draw(seed: u64, job: u32, run: u32) -> Stream {
    Stream::new(seed, Purpose::Setup, 1 << 62 | u64::from(job) << 32 | u64::from(run))
}

struct LevelTraffic {
    pattern: LevelPattern,
    /// Receivers of each rank, level by level.
    to: Column<RankId, Vec<RankId>>,
    arrival: Option<Arc<dyn Arrival>>,
    bytes: u64,
    count: u64,
    offered: Option<f64>,
}

impl Traffic for LevelTraffic {
    fn message(&self, rank: RankId, index: u64, previous: Ps) -> Option<Message> {
        let to = &self.to[rank];
        if to.is_empty() || index >= self.count {
            return None;
        }
        let time = self.arrival.as_ref()?.time(rank, index, previous)?;
        Some(Message { time, destination: to[(index % to.len() as u64) as usize], bytes: self.bytes })
    }

    fn total(&self, _ranks: u32) -> Option<u64> {
        self.arrival.as_ref()?;
        let senders = self.to.iter().filter(|(_, to)| !to.is_empty()).count() as u64;
        senders.checked_mul(self.count)
    }

    fn reply(&self, _rank: RankId, _source: RankId, _index: u64) -> Option<(RankId, u64)> {
        None
    }

    fn closed_loop(&self) -> bool {
        false
    }

    fn offered_bytes_per_s(&self) -> Option<f64> {
        self.offered
    }

    fn levels(&self) -> Option<&LevelPattern> {
        Some(&self.pattern)
    }
}
