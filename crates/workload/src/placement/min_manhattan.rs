//! Minimum Manhattan distance: ranks that talk most are placed next to each other.

use super::PlacementContext;
use crate::program::matrix::{self, GroupId};
use base::{
    index::{Column, RouterId, TerminalId},
    param::{Problem, Values},
    registry::About,
};
use fabric::{
    graph::{Fabric, Peer},
    topology::grid::GridShape,
};
use std::collections::VecDeque;

pub(crate) const ABOUT: About = About {
    name: "min-manhattan",
    summary: "ranks that exchange most messages next to each other (greedy, from the program's messages)",
    doc: "Pairs of ranks are taken by the number of point-to-point messages in both directions, most first, ties by the lower, then the higher rank. If \
          neither is placed, the lower rank goes to the first free terminal; a rank whose partner is placed goes to the first free terminal that a \
          breadth-first search from the partner's router meets, which looks along +x, -x, +y, -y.. on meshes and tori, and along ports in their \
          order elsewhere. Ranks without messages come last, in order. Collectives do not count. A program that is a trace is read once for it.",
    source: "HAEC-SIM, section 4 (min md mapping); its tables 7 and 8 are met to the last digit",
    params: &[],
};

/// Where ranks and terminals stand while pairs are placed.
struct Placing<'a> {
    context: &'a PlacementContext<'a>,
    /// Terminals of each router, ascending.
    terminals: Column<RouterId, Vec<TerminalId>>,
    free: Column<TerminalId, bool>,
    /// Terminals of `context.free` before this place are taken.
    first: usize,
    placed: Column<GroupId, Option<TerminalId>>,
    /// Routers met by the search with this number.
    met: Column<RouterId, u64>,
    search: u64,
    queue: VecDeque<RouterId>,
}

pub(crate) fn build(context: &PlacementContext<'_>, _: &Values) -> Result<Vec<TerminalId>, Vec<Problem>> {
    let ranks = context.need_room()?;
    let Some(program) = context.program else {
        let message = "this placement needs a rank program, which says who sends to whom";
        return Err(vec![
            Problem::new("placement", message).help("use it with a trace or a generated program"),
        ]);
    };
    let pairs = matrix::pairs(program, context.each);
    let mut pairs = pairs.map_err(|damage| vec![Problem::new("placement", damage.0)])?;
    pairs.retain(|p| p.high.index() < ranks);
    pairs.sort_by_key(|p| (std::cmp::Reverse(p.messages), p.low, p.high));
    let mut placing = Placing::new(context, ranks);
    for pair in pairs {
        let (low, high) = (pair.low, pair.high);
        match (placing.placed[low], placing.placed[high]) {
            (Some(_), Some(_)) => {}
            (None, None) => {
                let at = placing.first_free(low);
                placing.near(at, high);
            }
            (Some(at), None) => placing.near(at, high),
            (None, Some(at)) => placing.near(at, low),
        }
    }
    let groups = GroupId::first(context.ranks);
    Ok(groups.map(|group| placing.placed[group].unwrap_or_else(|| placing.first_free(group))).collect())
}

impl<'a> Placing<'a> {
    fn new(context: &'a PlacementContext<'a>, ranks: usize) -> Self {
        let fabric = context.fabric;
        let mut terminals = Column::filled(fabric.routers() as usize, Vec::new());
        for terminal in TerminalId::first(fabric.terminals()) {
            terminals[fabric.router_at(terminal)].push(terminal);
        }
        Self {
            context,
            terminals,
            free: context.is_free(),
            first: 0,
            placed: Column::filled(ranks, None),
            met: Column::filled(fabric.routers() as usize, 0),
            search: 0,
            queue: VecDeque::new(),
        }
    }

    fn take(&mut self, group: GroupId, terminal: TerminalId) {
        self.free[terminal] = false;
        self.placed[group] = Some(terminal);
    }

    /// Puts a group on the first free terminal. There is one: free terminals are as many as groups at least.
    fn first_free(&mut self, group: GroupId) -> TerminalId {
        while !self.free[self.context.free[self.first]] {
            self.first += 1;
        }
        let terminal = self.context.free[self.first];
        self.take(group, terminal);
        terminal
    }

    /// Puts a group on the first free terminal met from where its partner is.
    fn near(&mut self, partner: TerminalId, group: GroupId) {
        let fabric = self.context.fabric;
        self.search += 1;
        self.queue.clear();
        let start = fabric.router_at(partner);
        self.met[start] = self.search;
        self.queue.push_back(start);
        while let Some(router) = self.queue.pop_front() {
            if let Some(&t) = self.terminals[router].iter().find(|&&t| self.free[t]) {
                return self.take(group, t);
            }
            for port in ports(fabric, router) {
                if let Peer::Router { router: to, .. } = fabric.ports_of(router)[port].peer
                    && self.met[to] < self.search
                {
                    self.met[to] = self.search;
                    self.queue.push_back(to);
                }
            }
        }
        // Nothing free can be reached from there.
        self.first_free(group);
    }
}

/// A router's ports in the order of the search: in grids, port 2 d + 1 leads toward greater coordinates and comes before port 2 d.
fn ports(fabric: &Fabric, router: RouterId) -> impl Iterator<Item = usize> {
    let links = fabric.shape::<GridShape>().map_or(0, |shape| 2 * shape.dims.len());
    (0..fabric.ports_of(router).len()).map(move |port| if port < links { port ^ 1 } else { port })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        placement::testing::{grid, place_program},
        program::{
            generate::{
                bt, lu,
                testing::{asking, defaults, hops},
            },
            matrix::testing::Known,
        },
    };
    use base::param::Value;

    /// HAEC-SIM, tables 7 and 8, min md mapping, both applications on both topologies of 16 x 16 x 16.
    #[test]
    fn hops_are_the_published_ones() {
        let class_d = |about| defaults(about).with("class", Value::Text("D".into()));
        let lu = lu::build(&asking(4096), &class_d(&lu::ABOUT)).unwrap();
        let bt = bt::build(&asking(4096), &class_d(&bt::ABOUT)).unwrap();
        for (script, topology, expected) in [
            (&lu, "mesh", 6_048_588_664),
            (&lu, "torus", 3_766_463_068),
            (&bt, "mesh", 2_137_480_380),
            (&bt, "torus", 2_091_663_000),
        ] {
            let fabric = grid(topology, &[16, 16, 16], 1);
            let program = Known(std::sync::Arc::clone(script));
            let placed = place_program(&fabric, build, &Values::default(), 4096, Some(&program)).unwrap();
            assert_eq!(
                hops(script.as_ref(), &[16, 16, 16], topology == "torus", &placed),
                expected,
                "{topology}"
            );
        }
    }

    #[test]
    fn without_a_program_nobody_knows_who_talks() {
        let refused =
            place_program(&grid("mesh", &[4, 4], 1), build, &Values::default(), 4, None).unwrap_err();
        assert_eq!(refused[0].key, "placement");
    }
}
