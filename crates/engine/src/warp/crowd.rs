//! The partitions that one thread runs ahead. Among themselves they go window by window, as conservative ones do, so only other threads, and what a
//! rollback changes, make them go back.

use super::{
    member::{Member, Post},
    panics,
};
use crate::{
    balance::Home,
    domain::{Domain, Observer},
    partition::Partition,
};
use base::{
    threads::{Optimism, Speculation},
    time::{NEVER, Ps},
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Partitions run ahead by one thread.
pub(crate) struct Crowd<'a, D: Domain, O> {
    /// Its own number.
    pub me: u32,
    members: Vec<Member<'a, D, O>>,
    reach: Vec<Ps>,
    /// Next event of each member, while a window is run.
    next: Vec<Ps>,
    homes: &'a [Home],
    /// What is for other threads, by thread.
    pub outgoing: Vec<Vec<Post<D::Message>>>,
    /// When the first of it is due, by thread.
    pub sent: Vec<Ps>,
    optimism: &'a Optimism,
    /// How far beyond the first event of all this thread goes now.
    ahead: Ps,
    pub peak_bytes: usize,
    /// Events handled and rolled back when `ahead` was last set.
    judged: (u64, u64),
}

impl<'a, D: Domain, O: Observer<D::Record>> Crowd<'a, D, O> {
    /// Partitions with their numbers; `homes` says where all partitions are.
    pub fn new(
        me: u32,
        members: Vec<(u32, &'a mut Partition<D, O>)>,
        homes: &'a [Home],
        optimism: &'a Optimism,
        tie_seed: u64,
        ahead: Ps,
    ) -> Self {
        assert!(!members.is_empty(), "every thread gets a partition");
        let numbers: Vec<u32> = members.iter().map(|(number, _)| *number).collect();
        let members: Vec<_> = members
            .into_iter()
            .map(|(number, part)| Member::new(number, part, tie_seed, optimism.fault))
            .collect();
        let reach: Vec<Ps> =
            members.iter().map(|m| m.lookahead(numbers.iter().copied()).unwrap_or(NEVER)).collect();
        assert!(reach.iter().all(|&reach| reach > 0), "a window must make progress: a lookahead is zero");
        let threads = homes.iter().map(|h| h.group as usize + 1).max().unwrap_or(1);
        let outgoing = (0..threads).map(|_| Vec::new()).collect();
        let sent = vec![NEVER; threads];
        Self {
            me,
            members,
            reach,
            next: Vec::new(),
            homes,
            outgoing,
            sent,
            optimism,
            ahead,
            peak_bytes: 0,
            judged: (0, 0),
        }
    }

    /// Shortest lookahead from any member to any partition of thread `to`; `None` if nothing is ever sent there.
    pub fn lookahead(&self, to: u32) -> Option<Ps> {
        let theirs = || (0..).zip(self.homes).filter(|(_, h)| h.group == to).map(|(p, _)| p);
        self.members.iter().filter_map(|m| m.lookahead(theirs())).min()
    }

    /// Virtual time of the first event that is not handled.
    pub fn next_time(&mut self) -> Ps {
        self.members.iter_mut().map(Member::next_time).min().unwrap_or(NEVER)
    }

    /// Events committed by this thread in this run.
    pub fn committed(&self) -> u64 {
        self.members.iter().map(|m| m.counts.committed).sum()
    }

    /// Takes what another thread sent.
    pub fn take(&mut self, post: &Post<D::Message>) {
        let home = self.homes[post.to() as usize];
        debug_assert_eq!(home.group, self.me, "mail comes to the thread that runs its receiver");
        self.members[home.member as usize].take(post);
    }

    /// Commits what is before `first`, the first event of all threads.
    pub fn commit(&mut self, first: Ps) {
        // Asked here, where history is longest: a round has just been run, and nothing is forgotten yet.
        let bytes = self.members.iter_mut().map(Member::history_bytes).sum();
        self.peak_bytes = self.peak_bytes.max(bytes);
        self.members.iter_mut().for_each(|m| m.commit(first));
    }

    /// Runs from `first`, the first event of all, ahead of what is `certain`, but not to `end`; then says what others must know.
    pub fn run(&mut self, first: Ps, certain: Ps, end: Ps) {
        let open: usize = self.members.iter().map(Member::open).sum();
        // A full history waits for commitment: what is certain is committed in the next round, so the run goes on.
        let free = self.optimism.history.saturating_sub(open);
        let bound = if free == 0 { certain } else { first.saturating_add(self.ahead).max(certain) }.min(end);
        let budget = if free == 0 { u64::MAX } else { free.min(self.optimism.batch) as u64 };
        self.run_to(bound, certain, budget);
        self.settle();
        self.adapt(certain.saturating_sub(first).max(1));
    }

    fn run_to(&mut self, bound: Ps, certain: Ps, budget: u64) {
        let mut handled = 0;
        loop {
            // What a member has passed without sending it again is no promise: others here must not run on it.
            self.members.iter_mut().for_each(Member::resolve_passed);
            self.hand_over();
            // Nobody's next event can cause anything at another member before the least of these: within it, order among members is kept.
            let mut next = std::mem::take(&mut self.next);
            next.clear();
            next.extend(self.members.iter_mut().map(Member::next_time));
            let promises = next.iter().zip(&self.reach).map(|(n, r)| n.saturating_add(*r));
            let window = promises.min().unwrap_or(NEVER).min(bound);
            let before = handled;
            // A member that failed waits for the next round, when more of its past is known.
            for (member, &next) in next.iter().enumerate() {
                if next < window && self.members[member].failed_at.is_none() {
                    handled += self.run_member(member, window, certain, budget - handled.min(budget));
                }
            }
            self.next = next;
            self.hand_over();
            // Nothing left, all that is left failed, or enough for one round.
            if handled == before || handled >= budget {
                return;
            }
        }
    }

    /// Runs a member to `bound`, or about `budget` events.
    fn run_member(&mut self, member: usize, bound: Ps, certain: Ps, budget: u64) -> u64 {
        let alone = self.members.len() == 1;
        let force = self.optimism.stumble;
        let member = &mut self.members[member];
        let begun = member.counts.handled;
        loop {
            // What is not certain may meet a state that never was. Its panic is no panic: the event waits until its past is known.
            let result = panics::quietly(|| {
                catch_unwind(AssertUnwindSafe(|| {
                    while member.handle_next(bound) {
                        if alone && member.counts.handled - begun >= budget.max(1) {
                            break;
                        }
                        if force > 0 && member.stumbles(force) {
                            return true;
                        }
                    }
                    false
                }))
            });
            match result {
                Ok(false) => break,
                Ok(true) => member.stumble(),
                Err(_) => {
                    member.fail();
                    if member.failed_at.is_some_and(|at| at >= certain) {
                        break;
                    }
                    // All that precedes this event is known: so it fails for good, and this time its panic is heard.
                    member.failed_at = None;
                    member.handle_next(bound.min(certain));
                }
            }
        }
        member.counts.handled - begun
    }

    /// Hands over what members sent: to others of this thread at once.
    fn hand_over(&mut self) {
        for from in 0..self.members.len() {
            if self.members[from].outbox.is_empty() {
                continue;
            }
            // Taken out for as long as other members are written to, and put back with its memory.
            let mut outbox = std::mem::take(&mut self.members[from].outbox);
            for post in outbox.drain(..) {
                let (lane, key) = post.place();
                let group = self.homes[post.to() as usize].group;
                if group == self.me {
                    self.take(&post);
                } else {
                    let due = self.members[from].virtual_time(lane, key);
                    let first = &mut self.sent[group as usize];
                    *first = due.min(*first);
                    self.outgoing[group as usize].push(post);
                }
            }
            self.members[from].outbox = outbox;
        }
    }

    /// Cancels what will not be sent again; what that takes back in other members may cancel more.
    fn settle(&mut self) {
        loop {
            self.members.iter_mut().for_each(Member::resolve_passed);
            if self.members.iter().all(|m| m.outbox.is_empty()) {
                return;
            }
            self.hand_over();
        }
    }

    /// Goes further ahead while little is taken back, and less far while much is.
    fn adapt(&mut self, lookahead: Ps) {
        let counts = |of: fn(&Member<'a, D, O>) -> u64| self.members.iter().map(of).sum::<u64>();
        let (handled, back) = (counts(|m| m.counts.handled), counts(|m| m.counts.rolled_back));
        let (new, wasted) = (handled - self.judged.0, back - self.judged.1);
        // A few events say nothing.
        if new < self.optimism.batch as u64 / 4 {
            return;
        }
        self.judged = (handled, back);
        let most = self.optimism.bound.unwrap_or(Ps::MAX / 4);
        let next = match wasted * 100 / new.max(1) {
            0..=9 => self.ahead.saturating_mul(5) / 4 + 1,
            10..=24 => self.ahead,
            _ => self.ahead / 4 * 3,
        };
        // Less than one lookahead is no running ahead at all.
        self.ahead = next.max(lookahead).min(most);
    }

    /// Takes back all that is not committed.
    pub fn withdraw(&mut self) {
        self.members.iter_mut().for_each(Member::withdraw);
        self.hand_over();
    }

    /// Ends running ahead; adds what it came to.
    pub fn end(self, total: &mut Speculation) -> Ps {
        total.peak_bytes = total.peak_bytes.max(self.peak_bytes as u64);
        for member in self.members {
            let counts = member.end();
            total.handled += counts.handled;
            total.committed += counts.committed;
            total.rollbacks += counts.rollbacks;
            total.rolled_back += counts.rolled_back;
            total.failures += counts.failures;
        }
        self.ahead
    }
}
