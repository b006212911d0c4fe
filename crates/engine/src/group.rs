//! The partitions that one thread runs: in windows among themselves, without any other thread.
//!
//! Within a group, partition i sends nothing that is due before its next event + its lookahead; the least such promise bounds a window.
//! A group of one partition has no such bound, and its loop is: take the least key, handle it, commit its records.

use crate::{
    balance::Home,
    domain::{Domain, Envelope, Observer, PREFETCH_DISTANCES},
    partition::Partition,
};
use base::time::{NEVER, Ps};

/// Partitions run by one thread.
pub(crate) struct Group<'a, D: Domain, O> {
    /// Its own number.
    pub me: u32,
    members: Vec<(u32, &'a mut Partition<D, O>)>,
    /// Virtual time of each member's next event.
    next: Vec<Ps>,
    /// Shortest lookahead of each member to another one.
    reach: Vec<Ps>,
    homes: &'a [Home],
    tie_seed: u64,
    /// Messages to other groups, by group.
    pub outgoing: Vec<Vec<Envelope<D::Message>>>,
    /// When the first of them is due, by group.
    pub sent: Vec<Ps>,
    /// Events handled by this group.
    pub events: u64,
}

impl<'a, D: Domain, O: Observer<D::Record>> Group<'a, D, O> {
    /// A group of partitions with their numbers; `homes` says where all partitions are.
    pub fn new(
        me: u32,
        mut members: Vec<(u32, &'a mut Partition<D, O>)>,
        homes: &'a [Home],
        tie_seed: u64,
    ) -> Self {
        assert!(!members.is_empty(), "every group gets a partition");
        let next = members.iter_mut().map(|(_, p)| p.agenda.next_time()).collect();
        let reach = |&(from, ref part): &(u32, &mut Partition<D, O>)| {
            let others = members.iter().filter(|&&(to, _)| to != from);
            others.filter_map(|&(to, _)| part.domain.lookahead(to)).min().unwrap_or(NEVER)
        };
        let reach = members.iter().map(reach).collect();
        let groups = homes.iter().map(|h| h.group as usize + 1).max().unwrap_or(1);
        let outgoing = (0..groups).map(|_| Vec::new()).collect();
        Self { me, members, next, reach, homes, tie_seed, outgoing, sent: vec![NEVER; groups], events: 0 }
    }

    /// Virtual time of the group's next event, [`NEVER`] if there is none.
    pub fn next_time(&self) -> Ps {
        self.next.iter().copied().min().unwrap_or(NEVER)
    }

    /// Shortest lookahead from any member to any partition of group `to`; `None` if nothing is ever sent there.
    pub fn lookahead(&self, to: u32) -> Option<Ps> {
        let theirs = || (0..).zip(self.homes).filter(|(_, h)| h.group == to).map(|(p, _)| p);
        self.members.iter().filter_map(|(_, m)| theirs().filter_map(|p| m.domain.lookahead(p)).min()).min()
    }

    /// Handles events before `bound`, or about `budget` of them.
    pub fn run_to(&mut self, bound: Ps, budget: u64) {
        let limit = self.events.saturating_add(budget);
        while self.events < limit {
            let first = self.next_time();
            if first >= bound {
                return;
            }
            // Nobody's next event can cause anything at another member before the least of these.
            let promises = self.next.iter().zip(&self.reach).map(|(n, r)| n.saturating_add(*r));
            let window = promises.min().unwrap_or(NEVER).min(bound);
            assert!(window > first, "a window must make progress: a lookahead is zero");
            for member in 0..self.members.len() {
                if self.next[member] < window {
                    self.run_member(member, window, limit);
                }
            }
            self.exchange(window);
        }
    }

    /// Handles one member's events before `bound`; only a lone one may stop before.
    fn run_member(&mut self, member: usize, bound: Ps, limit: u64) {
        // Members that stop at different places would need a window of their own to meet again; a lone one has nobody to meet.
        let left = if self.members.len() == 1 { limit - self.events } else { u64::MAX };
        let (index, part) = &mut self.members[member];
        let large = part.domain.large();
        let mut done = 0;
        while let Some((lane, key, due)) = part.agenda.pop_before(bound) {
            done += 1;
            // Lines that the next events need are fetched while this one is handled: a few events ahead, nearer ones last.
            if large {
                for (stage, ahead) in PREFETCH_DISTANCES.into_iter().enumerate() {
                    if let Some(token) = part.agenda.ahead(ahead - 1) {
                        part.domain.prefetch(stage, token);
                    }
                }
            }
            part.handle(lane, key, &due, *index, self.tie_seed);
            if done >= left {
                break;
            }
        }
        part.events += done;
        self.events += done;
        self.next[member] = part.agenda.next_time();
    }

    /// Hands messages among the members over, and sorts those to other groups by group.
    fn exchange(&mut self, bound: Ps) {
        for from in 0..self.members.len() {
            if self.members[from].1.outbox.is_empty() {
                continue;
            }
            // Taken out for as long as other members are written to, and put back with its memory.
            let mut outbox = std::mem::take(&mut self.members[from].1.outbox);
            for envelope in outbox.drain(..) {
                let time = envelope.key.time + self.members[from].1.agenda.offset_of(envelope.lane);
                let group = self.homes[envelope.to as usize].group;
                if group == self.me {
                    self.deliver(&envelope, bound);
                } else {
                    let first = &mut self.sent[group as usize];
                    *first = time.min(*first);
                    self.outgoing[group as usize].push(envelope);
                }
            }
            self.members[from].1.outbox = outbox;
        }
    }

    /// Takes a message for a member in; it may not be due before `bound`, up to which its receiver has run.
    pub fn deliver(&mut self, envelope: &Envelope<D::Message>, bound: Ps) {
        let home = self.homes[envelope.to as usize];
        debug_assert_eq!(home.group, self.me, "mail comes to the thread that runs its receiver");
        let member = home.member as usize;
        let agenda = &mut self.members[member].1.agenda;
        let time = envelope.key.time + agenda.offset_of(envelope.lane);
        assert!(time >= bound, "a promised lookahead was broken by {envelope:?}");
        agenda.deliver(envelope);
        self.next[member] = self.next[member].min(time);
    }
}
