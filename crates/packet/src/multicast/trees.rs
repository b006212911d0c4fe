//! Trees of multicasts: where a message for several ranks is copied. State, rules, invariants and cost are in `MULTICAST.md`.

use crate::setup::Setup;
use base::{
    index::{ChannelId, Column, PortId, RouterId, TerminalId},
    rng::Stream,
};
use fabric::{
    graph::{Fabric, Peer},
    routing::{Choice, Congestion, Hop, Routing},
};
use model::setup::JobSetup;

/// A copy that a router makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Output, virtual channel and what the routing notes.
    pub choice: Choice,
    /// The first of its members, counted among those of the fork.
    pub offset: u32,
    /// Destination of the copy: a terminal, or the fork at the next router.
    pub next: TerminalId,
}

/// What a router does with a packet for several members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fork {
    /// Its branches in [`Trees::branches`].
    branches: (u32, u32),
    /// Its members in [`Trees::members`].
    members: (u32, u32),
}

/// The trees of a run. Forks are destinations behind the last terminal's.
#[derive(Debug, PartialEq, Eq)]
pub struct Trees {
    terminals: u32,
    forks: Vec<Fork>,
    branches: Vec<Branch>,
    members: Vec<TerminalId>,
    /// Where what a terminal sends goes first, if it sends by a tree.
    roots: Column<TerminalId, Option<TerminalId>>,
    /// Most copies that a router makes of one packet.
    most: Column<RouterId, u32>,
}

impl Trees {
    /// Those of a setup, `None` if no job needs any. Draws of the routing are taken once for each source, from `stream`.
    #[must_use]
    pub fn new(setup: &Setup, stream: Stream) -> Option<Self> {
        let (fabric, routing) = (&setup.fabric, setup.routing.as_ref());
        let mut trees = Self {
            terminals: fabric.terminals(),
            forks: Vec::new(),
            branches: Vec::new(),
            members: Vec::new(),
            roots: Column::filled(fabric.terminals() as usize, None),
            most: Column::filled(fabric.routers() as usize, 0),
        };
        let mut needed = false;
        for job in &setup.jobs {
            let Some(traffic) = job.work.traffic() else { continue };
            for (rank, &source) in base::index::RankId::first(job.placement.len() as u32).zip(&job.placement)
            {
                let Some(ranks) = traffic.members(rank) else { break };
                needed = true;
                let members: Vec<TerminalId> = ranks.iter().map(|r| job.placement[r.index()]).collect();
                if members.is_empty() {
                    continue;
                }
                let (router, in_port) = fabric.attached(source);
                let at = At { router, in_port, vc: ChannelId::FIRST, visited: 0, state: 0 };
                let random = stream.owned_by(u64::from(source) << 32);
                let grower = Grower { fabric, routing, source, random };
                trees.roots[source] = Some(trees.grow(&grower, at, &members));
            }
        }
        needed.then_some(trees)
    }

    /// Adds what leads from a router to `members`: the destination that a packet for them has there.
    fn grow(&mut self, grower: &Grower<'_>, at: At, members: &[TerminalId]) -> TerminalId {
        if let [only] = *members {
            self.members.push(only);
            return only;
        }
        let mut groups: Vec<(Choice, Vec<TerminalId>)> = Vec::new();
        for &member in members {
            let choice = grower.route(at, member);
            match groups.iter_mut().find(|(c, _)| *c == choice) {
                Some((_, group)) => group.push(member),
                None => groups.push((choice, vec![member])),
            }
        }
        let (fork, first) = (self.forks.len(), self.members.len() as u32);
        self.forks.push(Fork { branches: (0, 0), members: (first, first) });
        let mut branches = Vec::with_capacity(groups.len());
        for (choice, group) in groups {
            match grower.fabric.ports_of(at.router)[choice.port.index()].peer {
                Peer::Router { router, port } => {
                    let offset = self.members.len() as u32 - first;
                    let (vc, visited) = (choice.vc, at.visited.saturating_add(1));
                    let there = At { router, in_port: port, vc, visited, state: choice.state };
                    branches.push(Branch { choice, offset, next: self.grow(grower, there, &group) });
                }
                // Behind such a port there is one terminal: what is for it several times over goes there so often.
                Peer::Terminal(_) | Peer::None => {
                    for next in group {
                        branches.push(Branch { choice, offset: self.members.len() as u32 - first, next });
                        self.members.push(next);
                    }
                }
            }
        }
        let begin = self.branches.len() as u32;
        self.most[at.router] = self.most[at.router].max(branches.len() as u32);
        self.branches.extend(branches);
        self.forks[fork] = Fork {
            branches: (begin, self.branches.len() as u32),
            members: (first, self.members.len() as u32),
        };
        TerminalId::new(self.terminals + fork as u32)
    }

    fn fork(&self, destination: TerminalId) -> Option<&Fork> {
        self.forks.get(destination.number().checked_sub(self.terminals)? as usize)
    }

    /// Where what a terminal sends goes first, if it sends by a tree.
    #[must_use]
    pub fn root(&self, source: TerminalId) -> Option<TerminalId> {
        self.roots[source]
    }

    /// Most copies that a router makes of one packet, 0 if it makes none.
    #[must_use]
    pub fn most(&self, router: RouterId) -> u32 {
        self.most[router]
    }

    /// The copies that are made at the next router of a packet for `destination`; `None` of a packet for one terminal.
    #[must_use]
    pub fn branches(&self, destination: TerminalId) -> Option<&[Branch]> {
        let (begin, end) = self.fork(destination)?.branches;
        Some(&self.branches[begin as usize..end as usize])
    }

    /// Terminals that a packet for `destination` is for, in the order of their copies' numbers; `None` of a packet for one terminal.
    #[must_use]
    pub fn members(&self, destination: TerminalId) -> Option<&[TerminalId]> {
        let (begin, end) = self.fork(destination)?.members;
        Some(&self.members[begin as usize..end as usize])
    }
}

/// Bytes that the trees of a job take at most: a fork, a branch and a member for each pair of a source and a member.
#[must_use]
pub fn bytes(job: &JobSetup) -> u64 {
    let each = size_of::<Fork>() + size_of::<Branch>() + size_of::<TerminalId>();
    let Some(traffic) = job.work.traffic() else { return 0 };
    let ranks = base::index::RankId::first(job.placement.len() as u32);
    let members = ranks.map_while(|rank| traffic.members(rank)).map(|members| members.len() as u64);
    members.sum::<u64>().saturating_mul(each as u64)
}

/// Most members of a message that routers copy, 0 if they copy none.
#[must_use]
pub fn most_members(jobs: &[JobSetup]) -> u64 {
    let of = |job: &JobSetup| {
        let ranks = base::index::RankId::first(job.placement.len() as u32);
        let traffic = job.work.traffic()?;
        ranks.map_while(|rank| traffic.members(rank)).map(|members| members.len() as u64).max()
    };
    jobs.iter().filter_map(of).max().unwrap_or(0)
}

/// True if routers copy messages of some job.
#[must_use]
pub fn is_asked(jobs: &[JobSetup]) -> bool {
    let first = base::index::RankId::new(0);
    jobs.iter().any(|job| job.work.traffic().is_some_and(|t| t.members(first).is_some()))
}

/// Where a tree has got to.
#[derive(Clone, Copy)]
struct At {
    router: RouterId,
    in_port: PortId,
    vc: ChannelId,
    visited: u16,
    state: u32,
}

/// What a tree of one source is grown with.
struct Grower<'a> {
    fabric: &'a Fabric,
    routing: &'a dyn Routing,
    source: TerminalId,
    random: Stream,
}

impl Grower<'_> {
    fn route(&self, at: At, destination: TerminalId) -> Choice {
        let At { router, in_port, vc, visited, state } = at;
        let random = self.random.at(u64::from(visited) << 16);
        let source = self.source;
        let mut hop = Hop { router, in_port, vc, visited, source, destination, state, random };
        self.routing.route(&mut hop, &mut Blind)
    }
}

/// Shown to routings that never look.
struct Blind;

impl Congestion for Blind {
    fn backlog(&mut self, _: PortId) -> u64 {
        0
    }
}
