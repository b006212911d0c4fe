//! Walks all routes: for each destination, the graph of situations that packets to it can be in.

use super::{
    graph::{Dependencies, find_cycle},
    report::{Astray, Fault},
};
use crate::{
    graph::{Fabric, Peer},
    routing::{Choice, Hop, Routing},
};
use base::{
    hash::mix64,
    index::{ChannelId, Column, PortId, RouterId, TerminalId},
    rng::{Purpose, Stream},
};

/// A situation: two with the same key have the same future.
#[derive(Clone, Copy)]
struct Situation {
    router: RouterId,
    in_port: PortId,
    vc: ChannelId,
    state: u32,
    memory: u64,
    /// Of the first packet found in it.
    source: TerminalId,
    visited: u16,
}

impl Situation {
    fn same(&self, other: &Self) -> bool {
        (self.router, self.in_port, self.vc, self.state, self.memory)
            == (other.router, other.in_port, other.vc, other.state, other.memory)
    }

    fn hash(&self) -> u64 {
        let a = u64::from(self.router) << 32 | u64::from(self.in_port);
        let b = u64::from(self.state) << 8 | u64::from(self.vc);
        mix64(a ^ mix64(b ^ mix64(self.memory)))
    }

    fn hop(&self, destination: TerminalId) -> Hop {
        Hop {
            router: self.router,
            in_port: self.in_port,
            vc: self.vc,
            visited: self.visited,
            source: self.source,
            destination,
            state: self.state,
            random: Stream::new(0, Purpose::Route, 0),
        }
    }
}

/// Situations in order of discovery; finds equals by open addressing.
#[derive(Default)]
struct Seen {
    all: Vec<Situation>,
    /// Index in `all` plus one; 0 is free. A power of two, at least twice as long as `all`.
    slots: Vec<u32>,
}

impl Seen {
    fn clear(&mut self) {
        self.all.clear();
        self.slots.fill(0);
    }

    /// Number of the situation, which is added if new.
    fn number(&mut self, situation: Situation) -> u32 {
        if self.slots.len() < 2 * (self.all.len() + 1) {
            let length = (4 * (self.all.len() + 1)).next_power_of_two();
            self.slots = vec![0; length];
            for i in 0..self.all.len() {
                let free = self.find(&self.all[i]);
                self.slots[free] = i as u32 + 1;
            }
        }
        let slot = self.find(&situation);
        if self.slots[slot] == 0 {
            self.all.push(situation);
            self.slots[slot] = self.all.len() as u32;
        }
        self.slots[slot] - 1
    }

    /// Slot of an equal, or the free one for it.
    fn find(&self, situation: &Situation) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = situation.hash() as usize & mask;
        while self.slots[slot] != 0 && !self.all[self.slots[slot] as usize - 1].same(situation) {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

/// Walks all routes, or those to as many destinations as the budget allows, and notes their dependencies. Returns the
/// number of situations and whether they are all.
pub(super) fn all(
    fabric: &Fabric,
    routing: &dyn Routing,
    budget: u64,
    dependencies: &mut Dependencies,
) -> Result<(u64, bool), Astray> {
    let all = ends(fabric, routing.facts().terminals_alike);
    let mut walker =
        Walker { fabric, routing, dependencies, seen: Seen::default(), next: Vec::new(), begin: Vec::new() };
    let mut states = 0u64;
    // No packet changes its plane, and planes are alike as long as nothing failed.
    let planes = if fabric.intact() { 1 } else { fabric.planes() };
    for plane in 0..planes {
        let ends: Vec<TerminalId> = all.iter().copied().filter(|&t| fabric.plane_of(t) == plane).collect();
        let share = (budget / u64::from(planes)).max(1) * u64::from(plane + 1);
        for destination in spread(&ends) {
            if states > 0 && states >= share {
                return Ok((states, false));
            }
            let complete = walker.toward(destination, &ends, share.saturating_sub(states))?;
            states += walker.seen.all.len() as u64;
            if !complete {
                return Ok((states, false));
            }
        }
    }
    Ok((states, true))
}

/// Terminals to walk between, those cut off left out: all, or one of each router.
fn ends(fabric: &Fabric, alike: bool) -> Vec<TerminalId> {
    let mut known = Column::filled(fabric.routers() as usize, false);
    fabric
        .reachable()
        .filter(|&t| {
            let known = &mut known[fabric.router_at(t)];
            !std::mem::replace(known, alike) || !alike
        })
        .collect()
}

/// All items, in an order of which every beginning is spread evenly.
fn spread<T: Copy>(items: &[T]) -> impl Iterator<Item = T> + '_ {
    let n = items.len();
    let coprime = |step: &usize| {
        let (mut a, mut b) = (*step, n);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a == 1
    };
    // A step near the golden ratio leaves no large gaps.
    let step = (n * 618 / 1000..).find(coprime).unwrap_or(1);
    (0..n).map(move |i| items[i * step % n])
}

struct Walker<'a, 'b> {
    fabric: &'a Fabric,
    routing: &'a dyn Routing,
    dependencies: &'a mut Dependencies<'b>,
    seen: Seen,
    /// Situations that follow one, by number: those of situation i are `next[begin[i]..begin[i + 1]]`.
    next: Vec<u32>,
    begin: Vec<usize>,
}

impl Walker<'_, '_> {
    /// Walks from all sources to one destination. False if the budget ended it early.
    fn toward(
        &mut self,
        destination: TerminalId,
        sources: &[TerminalId],
        budget: u64,
    ) -> Result<bool, Astray> {
        self.seen.clear();
        self.next.clear();
        self.begin.clear();
        let mut options = Vec::new();
        let mut complete = true;
        for source in spread(sources) {
            if self.seen.all.len() as u64 >= budget && !self.seen.all.is_empty() {
                complete = false;
                break;
            }
            let (router, in_port) = self.fabric.attached(source);
            self.arrive(
                destination,
                Situation { router, in_port, vc: ChannelId::FIRST, state: 0, memory: 0, source, visited: 0 },
            );
            while let Some(&situation) = self.seen.all.get(self.begin.len()) {
                self.begin.push(self.next.len());
                options.clear();
                self.routing.options(&situation.hop(destination), &mut options);
                self.expand(&situation, destination, &options)?;
            }
        }
        self.begin.push(self.next.len());
        let cycle = find_cycle(self.seen.all.len(), |i, out| {
            out.extend(self.next[self.begin[i]..self.begin[i + 1]].iter().map(|&n| n as usize));
        });
        match cycle {
            Some(cycle) => Err(astray(Fault::Endless, &self.seen.all[cycle[0]], destination)),
            None => Ok(complete),
        }
    }

    fn arrive(&mut self, destination: TerminalId, mut situation: Situation) -> u32 {
        situation.memory = self.routing.memory(&situation.hop(destination));
        self.seen.number(situation)
    }

    fn expand(
        &mut self,
        from: &Situation,
        destination: TerminalId,
        options: &[Choice],
    ) -> Result<(), Astray> {
        let fail = |fault, choice: &Choice| {
            Err(Astray { port: choice.port, vc: choice.vc, ..astray(fault, from, destination) })
        };
        if options.is_empty() {
            return Err(astray(Fault::NoChoice, from, destination));
        }
        if u64::from(from.visited) > 4 * u64::from(self.fabric.routers()) + 16 || from.visited == u16::MAX {
            return Err(astray(Fault::Endless, from, destination));
        }
        let escapes = self.routing.facts().escapes.map(ChannelId::new);
        let escaped = from.visited > 0 && escapes.is_some_and(|first| from.vc < first);
        for choice in options {
            if choice.vc >= ChannelId::new(self.routing.vcs()) {
                return fail(Fault::NoSuchVc, choice);
            }
            let peer =
                self.fabric.ports_of(from.router).get(choice.port.index()).map_or(Peer::None, |p| p.peer);
            match peer {
                Peer::None => return fail(Fault::Unplugged, choice),
                Peer::Terminal(terminal) if terminal == destination => {}
                Peer::Terminal(_) => return fail(Fault::WrongTerminal, choice),
                Peer::Router { router, port } => {
                    let outside = escapes.is_some_and(|first| choice.vc >= first);
                    if escaped && outside {
                        return fail(Fault::LeavesEscape, choice);
                    }
                    if escapes.is_some() && options.iter().all(|o| Some(o.vc) >= escapes) {
                        return fail(Fault::NoEscape, choice);
                    }
                    // Who waits for an adaptive channel waits for an escape channel, too: dependencies of the latter decide.
                    let counts = escapes.is_none() || (!outside && (escaped || from.visited == 0));
                    if counts {
                        self.dependencies.add(from.router, from.in_port, from.vc, choice.port, choice.vc);
                    }
                    let to = Situation {
                        router,
                        in_port: port,
                        vc: choice.vc,
                        state: choice.state,
                        visited: from.visited + 1,
                        ..*from
                    };
                    let number = self.arrive(destination, to);
                    self.next.push(number);
                }
            }
        }
        Ok(())
    }
}

fn astray(fault: Fault, at: &Situation, destination: TerminalId) -> Astray {
    Astray {
        fault,
        router: at.router,
        port: PortId::new(0),
        vc: ChannelId::FIRST,
        source: at.source,
        destination,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_visits_all_once() {
        for n in [1u32, 2, 3, 10, 99, 100] {
            let items: Vec<u32> = (0..n).collect();
            let mut visited: Vec<u32> = spread(&items).collect();
            visited.sort_unstable();
            assert_eq!(visited, items);
        }
    }

    #[test]
    fn equal_situations_get_one_number() {
        let mut seen = Seen::default();
        let at = |router| Situation {
            router,
            in_port: PortId::new(1),
            vc: ChannelId::FIRST,
            state: 7,
            memory: 9,
            source: TerminalId::new(router.number()),
            visited: 3,
        };
        for round in 0..2 {
            for router in 0..1000 {
                assert_eq!(seen.number(at(RouterId::new(router))), router, "round {round}");
            }
        }
    }
}
