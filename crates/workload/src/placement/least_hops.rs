//! Least hops: the graph of messages is bisected along with the network, then ranks change places while that saves hops.
//!
//! **Bisection.** Free terminals are halved along the longest axis of a mesh or torus, elsewhere between two terminals far apart; ranks are halved so
//! that few messages cross (greedy growing, then exchanges); each half of the ranks gets one of the terminals, and so on down to
//! single ones (dual recursive bisection: Pellegrini 1994). **Exchanges.** Beside that start stand the linear placement and `min-manhattan`. From
//! each, ranks change places with the rank on (or move to) a terminal next to a partner's; a change may cost up to a bound that falls to 0 (threshold
//! accepting: Dueck, Scheuer 1990). The placement with the fewest hops wins, so it is never worse than either. Integers alone.

use super::{PlacementContext, min_manhattan};
use crate::program::matrix::{self, GroupId};
use base::{
    index::{Column, RouterId, TerminalId},
    param::{Kind, Param, Problem, Values},
    registry::About,
    rng::{Purpose, Stream},
};
use fabric::{graph::Fabric, metrics, topology::grid::GridShape};

pub(crate) const ABOUT: About = About {
    name: "least-hops",
    summary: "ranks where their messages have few links to cross: bisection of both graphs, then exchanges",
    doc: "The total of links over all point-to-point messages of the program is made small. Ranks and terminals are bisected together; from there, from the \
          linear placement and from `min-manhattan`, ranks change places for `effort` rounds, at first also where that costs some hops. The best \
          of the three ends is taken, so it is never worse than `min-manhattan` or the linear placement. Collectives do not count. Draws depend on the \
          run's seed. A program that is a trace is read twice for it.",
    source: "Pellegrini: Static mapping by dual recursive bisection, SHPCC 1994; Dueck, Scheuer: Threshold accepting, J. Comput. Phys. 90, 1990",
    params: &[Param {
        name: "effort",
        kind: Kind::Int { min: 0, max: 1_000_000 },
        default: Some("200"),
        doc: "rounds of exchanges, in each of which every rank tries one",
    }],
};

/// Most routers with terminals whose distances are kept in a table.
const MAX_ROUTERS: usize = 16_384;
/// Most messages: times the longest distance or the most rounds, they are a sum of 64 bits.
const MOST_MESSAGES: u64 = 1 << 45;

/// Terminal of each group of ranks.
type Placed = Column<GroupId, TerminalId>;
/// Side of each group of ranks in a bisection.
type Sides = Column<GroupId, u32>;

/// What does not change while ranks are placed.
struct Task<'a> {
    context: &'a PlacementContext<'a>,
    /// Row of the distance table of each terminal.
    row: Column<TerminalId, u32>,
    rows: usize,
    distance: Vec<u16>,
    /// Terminals of each row.
    terminals: Vec<Vec<TerminalId>>,
    /// Partners of each group of ranks and the messages with them, both directions.
    partners: Column<GroupId, Vec<(GroupId, u64)>>,
}

pub(crate) fn build(
    context: &PlacementContext<'_>,
    values: &Values,
) -> Result<Vec<TerminalId>, Vec<Problem>> {
    let ranks = context.need_room()?;
    let greedy = min_manhattan::build(context, &Values::default())?;
    let Some(program) = context.program else { return Ok(greedy) };
    let reported = |message: String| vec![Problem::new("placement", message)];
    let mut task = Task::new(context, ranks).map_err(reported)?;
    let pairs = matrix::pairs(program, context.each).map_err(|damage| reported(damage.0))?;
    if pairs.iter().map(|pair| pair.messages).sum::<u64>() > MOST_MESSAGES {
        let message = format!("there are more than {MOST_MESSAGES} messages, whose hops are not added up");
        return Err(reported(message));
    }
    for pair in pairs {
        if pair.high.index() < ranks {
            task.partners[pair.low].push((pair.high, pair.messages));
            task.partners[pair.high].push((pair.low, pair.messages));
        }
    }
    let linear = context.first_free(context.free.iter().copied())?;
    let starts = [Placed::from(linear), Placed::from(greedy), task.bisected(ranks)];
    let effort = values.int("effort");
    let ends = (0..).zip(starts).map(|(n, start)| {
        let stream = Stream::new(context.seed, Purpose::Placement, (u64::from(context.job) << 8) + 1 + n);
        task.exchanged(start, effort, stream)
    });
    let best = ends.min_by_key(|(total, _)| *total).map(|(_, placed)| placed);
    Ok(best.unwrap_or_default().into_cells())
}

impl<'a> Task<'a> {
    fn new(context: &'a PlacementContext<'a>, ranks: usize) -> Result<Self, String> {
        let fabric = context.fabric;
        let mut ends: Vec<RouterId> = context.free.iter().map(|&t| fabric.router_at(t)).collect();
        ends.sort_unstable();
        ends.dedup();
        let rows = ends.len();
        if rows > MAX_ROUTERS {
            return Err(format!("distances between {rows} routers do not fit the table of this placement"));
        }
        let mut distance = Vec::with_capacity(rows * rows);
        for &from in &ends {
            let all = metrics::distances(fabric, from);
            distance.extend(ends.iter().map(|&to| u16::try_from(all[to]).unwrap_or(u16::MAX)));
        }
        let mut row = Column::filled(fabric.terminals() as usize, u32::MAX);
        let mut terminals = vec![Vec::new(); rows];
        for &t in context.free {
            let r = ends.partition_point(|&e| e < fabric.router_at(t));
            row[t] = r as u32;
            terminals[r].push(t);
        }
        Ok(Self { context, row, rows, distance, terminals, partners: Column::filled(ranks, Vec::new()) })
    }

    fn hops(&self, a: TerminalId, b: TerminalId) -> u64 {
        self.distance[self.row[a] as usize * self.rows + self.row[b] as usize].into()
    }

    /// Hops of a group's messages if it stood on `at`; partners on `at` itself count as staying.
    fn cost(&self, group: GroupId, at: TerminalId, placed: &Placed) -> u64 {
        self.partners[group].iter().map(|&(p, n)| n * self.hops(at, placed[p])).sum()
    }

    fn total(&self, placed: &Placed) -> u64 {
        placed.iter().map(|(group, &at)| self.cost(group, at, placed)).sum::<u64>() / 2
    }

    /// Ranks change places for `effort` rounds. Returns the total of hops and the best placement on the way.
    fn exchanged(&self, mut placed: Placed, effort: u64, mut stream: Stream) -> (u64, Placed) {
        let mut who = Column::<TerminalId, Option<GroupId>>::filled(self.row.len(), None);
        placed.iter().for_each(|(group, &t)| who[t] = Some(group));
        let mut total = self.total(&placed);
        let mut best = (total, placed.clone());
        let messages: u64 = self.partners.cells().iter().flatten().map(|p| p.1).sum();
        // At first a change may cost a tenth of a hop of all of a rank's messages.
        let first = messages / placed.len().max(1) as u64 / 10;
        for round in 0..effort {
            let bound = first * (effort - round) / effort * u64::from(round * 4 < effort * 3);
            for group in GroupId::first(self.context.ranks) {
                let Some(to) = self.candidate(group, &placed, &mut stream) else { continue };
                let (from, other) = (placed[group], who[to]);
                let before =
                    self.cost(group, from, &placed) + other.map_or(0, |other| self.cost(other, to, &placed));
                placed[group] = to;
                if let Some(other) = other {
                    placed[other] = from;
                }
                let after =
                    self.cost(group, to, &placed) + other.map_or(0, |other| self.cost(other, from, &placed));
                if after > before + bound {
                    placed[group] = from;
                    if let Some(other) = other {
                        placed[other] = to;
                    }
                    continue;
                }
                who[to] = Some(group);
                who[from] = other;
                total = total + after - before;
            }
            if total < best.0 {
                best = (total, placed.clone());
            }
        }
        best
    }

    /// A terminal beside a random partner's.
    fn candidate(&self, group: GroupId, placed: &Placed, stream: &mut Stream) -> Option<TerminalId> {
        let partners = &self.partners[group];
        if partners.is_empty() {
            return None;
        }
        let (partner, _) = partners[stream.below(partners.len() as u64) as usize];
        let fabric = self.context.fabric;
        let ports = fabric.ports_of(fabric.router_at(placed[partner]));
        let port = &ports[stream.below(ports.len() as u64) as usize];
        let router = match port.peer {
            fabric::graph::Peer::Router { router, .. } => router,
            _ => fabric.router_at(placed[partner]),
        };
        let row = self.row_of(router)?;
        let here = &self.terminals[row];
        let to = here[stream.below(here.len() as u64) as usize];
        (to != placed[group]).then_some(to)
    }

    fn row_of(&self, router: RouterId) -> Option<usize> {
        let at = self.terminals.partition_point(|ts| self.context.fabric.router_at(ts[0]) < router);
        self.terminals.get(at).filter(|ts| self.context.fabric.router_at(ts[0]) == router).map(|_| at)
    }

    /// Both graphs bisected together.
    fn bisected(&self, ranks: usize) -> Placed {
        let mut placed = Placed::filled(ranks, TerminalId::default());
        let mut side = Sides::filled(ranks, 0);
        let mut mark = 0;
        // Terminals close to the first one, if there are more than ranks.
        let mut slots = self.context.free.to_vec();
        slots.sort_by_key(|&t| (self.hops(slots_first(self.context), t), t));
        slots.truncate(ranks);
        let mut work = vec![(slots, GroupId::first(self.context.ranks).collect::<Vec<_>>())];
        while let Some((slots, members)) = work.pop() {
            if let ([slot], [group]) = (slots.as_slice(), members.as_slice()) {
                placed[*group] = *slot;
                continue;
            }
            let (low, high) = self.halve_slots(slots);
            mark += 2;
            let (a, b) = self.halve_ranks(&members, low.len(), &mut side, mark);
            work.push((low, a));
            work.push((high, b));
        }
        placed
    }

    /// Terminals in two halves: along the longest axis of a grid, else between two that are far apart.
    fn halve_slots(&self, mut slots: Vec<TerminalId>) -> (Vec<TerminalId>, Vec<TerminalId>) {
        let fabric: &Fabric = self.context.fabric;
        let half = slots.len() / 2;
        if let Some(shape) = fabric.shape::<GridShape>().filter(|_| fabric.planes() == 1) {
            let at = |t: TerminalId| shape.coordinates(fabric.router_at(t).number());
            let extent = |d: usize| {
                let all = slots.iter().map(|&t| at(t)[d]);
                all.clone().max().unwrap_or(0) - all.min().unwrap_or(0)
            };
            let axis = (0..shape.dims.len()).max_by_key(|&d| (extent(d), d)).unwrap_or(0);
            slots.sort_by_key(|&t| (at(t)[axis], t));
        } else {
            let far = |from: TerminalId| {
                slots.iter().copied().max_by_key(|&t| (self.hops(from, t), t)).unwrap_or(from)
            };
            let a = far(slots[0]);
            let b = far(a);
            slots.sort_by_key(|&t| (self.hops(a, t) as i64 - self.hops(b, t) as i64, t));
        }
        let high = slots.split_off(half);
        (slots, high)
    }

    /// Ranks in two parts, the first of `size`, so that few messages cross. `side` is scratch; `mark` and `mark + 1` are new in it.
    fn halve_ranks(
        &self,
        members: &[GroupId],
        size: usize,
        side: &mut Sides,
        mark: u32,
    ) -> (Vec<GroupId>, Vec<GroupId>) {
        let (first, second) = (mark + 1, mark);
        members.iter().for_each(|&r| side[r] = second);
        let start = self.outermost(members, side, second);
        // Grow: the rank next that has most messages with the part, the earliest met among equals.
        let mut gain = base::sorted::SortedMap::<GroupId, (u64, u32)>::new();
        let mut queue = base::sorted::SortedSet::new();
        let mut met = 0;
        queue.insert((std::cmp::Reverse(0), 0, start));
        gain.insert(start, (0, 0));
        let mut rest = members.iter();
        for _ in 0..size {
            let next = queue.pop_first().map(|(_, _, r)| r);
            let Some(rank) = next.or_else(|| rest.by_ref().copied().find(|&r| side[r] == second)) else {
                break;
            };
            side[rank] = first;
            for &(p, n) in self.partners[rank].iter().filter(|p| side[p.0] == second) {
                met += 1;
                let entry = gain.entry(p).or_insert((0, met));
                queue.remove(&(std::cmp::Reverse(entry.0), entry.1, p));
                entry.0 += n;
                queue.insert((std::cmp::Reverse(entry.0), entry.1, p));
            }
        }
        self.exchange_sides(members, side, first, second);
        members.iter().copied().partition(|&r| side[r] == first)
    }

    /// A rank far out: the last that a search meets.
    fn outermost(&self, members: &[GroupId], side: &Sides, inside: u32) -> GroupId {
        let mut last = members[0];
        for _ in 0..2 {
            let mut seen = base::sorted::SortedSet::from([last]);
            let mut queue = std::collections::VecDeque::from([last]);
            while let Some(rank) = queue.pop_front() {
                last = rank;
                for &(p, _) in self.partners[rank].iter().filter(|p| side[p.0] == inside) {
                    if seen.insert(p) {
                        queue.push_back(p);
                    }
                }
            }
        }
        last
    }

    /// Pairs of ranks change sides while that takes messages off the cut: best of each side first (Kernighan, Lin, without look-ahead).
    fn exchange_sides(&self, members: &[GroupId], side: &mut Sides, first: u32, second: u32) {
        let value = |group: GroupId, side: &Sides| -> i64 {
            let own = side[group];
            let mine = self.partners[group].iter().filter(|p| side[p.0] & !1 == own & !1);
            mine.map(|&(p, n)| if side[p] == own { -(n as i64) } else { n as i64 }).sum()
        };
        for _ in 0..members.len().min(400) {
            let best = |of: u32, side: &Sides| {
                let here = members.iter().copied().filter(|&r| side[r] == of);
                here.map(|r| (value(r, side), std::cmp::Reverse(r))).max()
            };
            let (Some((a, r)), Some((b, s))) = (best(first, side), best(second, side)) else { return };
            let (r, s) = (r.0, s.0);
            let between: i64 = self.partners[r].iter().filter(|p| p.0 == s).map(|p| p.1 as i64).sum();
            if a + b - 2 * between <= 0 {
                return;
            }
            side[r] = second;
            side[s] = first;
        }
    }
}

fn slots_first(context: &PlacementContext<'_>) -> TerminalId {
    context.free.first().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        placement::testing::{grid, place_program},
        program::{
            generate::{
                bt, lu, milc,
                testing::{asking, defaults, hops, made},
            },
            matrix::testing::Known,
        },
    };
    use base::param::Value;
    use std::sync::Arc;

    /// Sums that do not fit 64 bits would choose any placement.
    #[test]
    fn more_messages_than_can_be_weighed_are_refused() {
        let fabric = grid("torus", &[4, 4], 1);
        let placed = |rounds: u64| {
            let given = [("iterations", Value::Int(1 << 32)), ("cg_iterations", Value::Int(rounds))];
            let program = Known(made(&milc::ABOUT, milc::build, 16, &given));
            let effort = Values::default().with("effort", Value::Int(1));
            place_program(&fabric, build, &effort, 16, Some(&program)).map_err(|p| p[0].message.clone())
        };
        assert!(placed(1).is_ok());
        let refused = placed(1 << 14).unwrap_err();
        assert_eq!(refused, "there are more than 35184372088832 messages, whose hops are not added up");
        let refused = placed(1 << 32).unwrap_err();
        assert_eq!(refused, "there are more than 2^64 messages, which are not counted");
    }

    /// Fewer hops than both of HAEC-SIM's mappings, on a mesh and a torus.
    #[test]
    fn hops_are_fewer_than_with_either_published_mapping() {
        let class = |about| defaults(about).with("class", Value::Text("A".into()));
        let lu = lu::build(&asking(64), &class(&lu::ABOUT)).unwrap();
        let bt = bt::build(&asking(64), &class(&bt::ABOUT)).unwrap();
        for (name, script) in [("LU", &lu), ("BT", &bt)] {
            for topology in ["mesh", "torus"] {
                let fabric = grid(topology, &[4, 4, 4], 1);
                let program = Known(Arc::clone(script));
                let effort = Values::default().with("effort", Value::Int(200));
                let total = |build, values: &Values| {
                    let placed = place_program(&fabric, build, values, 64, Some(&program)).unwrap();
                    hops(script.as_ref(), &[4, 4, 4], topology == "torus", &placed)
                };
                let ours = total(build, &effort);
                let greedy = total(min_manhattan::build, &Values::default());
                let linear: Vec<u32> = (0..64).collect();
                let xyz = hops(script.as_ref(), &[4, 4, 4], topology == "torus", &linear);
                assert!(ours < greedy.min(xyz) || ours == xyz, "{name} {topology}: {ours}, {greedy}, {xyz}");
            }
        }
    }

    #[test]
    fn without_a_program_nobody_knows_who_talks() {
        let values = Values::default().with("effort", Value::Int(1));
        let refused = place_program(&grid("mesh", &[4, 4], 1), build, &values, 4, None).unwrap_err();
        assert_eq!(refused[0].key, "placement");
    }
}
