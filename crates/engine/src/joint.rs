//! Where all groups of a run meet after each window: the threads of one process, or those of several ranks.
//!
//! Read `MPI.md` beside this crate. Threads of one process meet as `meeting.rs` says. With ranks the meeting has two halves. In the first the threads of
//! a rank exchange their own mail and leave what is for others. Then the first thread, which alone speaks to other ranks, exchanges
//! all of it in one message to each rank and one from each. In the second half the threads read what came. After it every group of every rank knows
//! the same, so all take the same decisions.

use crate::{
    lookahead::Lookahead,
    mail::Mail,
    meeting::{Known, Meeting},
};
use base::{
    time::{NEVER, Ps},
    world::World,
};
use std::sync::{Mutex, PoisonError, RwLock};

/// What a group has for the others.
pub(crate) struct News<'a, M> {
    /// Number of the group among all.
    pub me: usize,
    /// Meetings count from 1.
    pub round: u64,
    /// Its next event.
    pub next: Ps,
    /// Events that it handled.
    pub events: u64,
    /// When the first of its mail is due, by group. All `NEVER` afterwards.
    pub sent: &'a mut [Ps],
    /// Its mail by group. Empty afterwards.
    pub mail: &'a mut [Vec<M>],
}

/// A meeting of all groups of a run.
pub(crate) enum Joint<M> {
    /// Of the threads of one process.
    Threads(Meeting<M>),
    /// Of the threads of several processes.
    Ranks(Ranks<M>),
}

impl<M: Mail> Joint<M> {
    /// A meeting of this rank's threads with each other and with those of the other ranks, which are as many.
    pub fn new(world: &World, meeting: Meeting<M>, threads: usize) -> Self {
        if world.is_alone() {
            return Self::Threads(meeting);
        }
        let groups = threads * world.ranks() as usize;
        let left = || Mutex::new(Left { row: Vec::new(), mail: vec![Vec::new(); groups] });
        let empty = || vec![Vec::new(); world.ranks() as usize];
        let known = Known { next: Vec::new(), events: 0 };
        Self::Ranks(Ranks {
            world: world.clone(),
            threads,
            groups,
            left: (0..threads).map(|_| left()).collect(),
            heard: RwLock::new(Heard { to: empty(), from: empty(), known }),
            quiet: vec![NEVER; threads],
            meeting,
        })
    }

    /// Exchanges news with all other groups and hands the mail that came to `take`; false if a thread of this rank failed.
    pub fn meet(&self, news: News<'_, M>, known: &mut Known, mut take: impl FnMut(M)) -> bool {
        match self {
            Self::Threads(meeting) => {
                let (me, round) = (news.me, news.round);
                for (to, mail) in news.mail.iter_mut().enumerate() {
                    if !mail.is_empty() {
                        meeting.post(me, to, round, mail);
                    }
                }
                debug_assert!(news.mail.iter().all(Vec::is_empty), "all mail has left");
                meeting.announce(me, round, news.next, news.events, news.sent);
                news.sent.fill(NEVER);
                if !meeting.wait(round) {
                    return false;
                }
                meeting.read(round, known);
                for from in (0..known.next.len()).filter(|&from| from != me) {
                    meeting.open(from, me, round, &mut take);
                }
                true
            }
            Self::Ranks(ranks) => ranks.meet(news, known, take),
        }
    }

    /// Lets nobody of this process wait for a thread that has failed.
    pub fn fail(&self) {
        match self {
            Self::Threads(meeting) => meeting.fail(),
            Self::Ranks(ranks) => ranks.meeting.fail(),
        }
    }
}

/// Lookahead among the groups of all ranks: each rank contributes what its own `threads` groups promise.
pub(crate) fn lookahead(world: &World, threads: usize, own: impl Fn(u32, u32) -> Option<Ps>) -> Lookahead {
    let groups = threads as u32 * world.ranks();
    if world.is_alone() {
        return Lookahead::new(groups, own);
    }
    let first = world.rank() * threads as u32;
    let promised = |from: u32| {
        let own = &own;
        (0..groups).map(move |to| if to == first + from { NEVER } else { own(from, to).unwrap_or(NEVER) })
    };
    let mine: Vec<Ps> = (0..threads as u32).flat_map(promised).collect();
    let all = world.all(&mine).concat();
    debug_assert_eq!(all.len(), (groups * groups) as usize, "every rank promises for as many threads");
    let least = |from: u32, to: u32| all[(from * groups + to) as usize];
    Lookahead::new(groups, |from, to| Some(least(from, to)).filter(|&time| time < NEVER))
}

/// A meeting of several ranks.
pub(crate) struct Ranks<M> {
    world: World,
    /// Threads of each rank.
    threads: usize,
    groups: usize,
    /// Where the threads of this rank meet, twice in a round.
    meeting: Meeting<M>,
    /// What each thread of this rank leaves for other ranks.
    left: Vec<Mutex<Left>>,
    /// What came from the other ranks.
    heard: RwLock<Heard>,
    /// No mail to anybody.
    quiet: Vec<Ps>,
}

/// What a thread leaves: its row (next event, events, first mail by group), and mail as words by group.
struct Left {
    row: Vec<u64>,
    mail: Vec<Vec<u64>>,
}

struct Heard {
    /// By rank: the rows of the sender's threads; then for each thread of the receiver and each of the sender a count and so many words.
    to: Vec<Vec<u64>>,
    from: Vec<Vec<u64>>,
    known: Known,
}

impl<M: Mail> Ranks<M> {
    fn meet(&self, news: News<'_, M>, known: &mut Known, mut take: impl FnMut(M)) -> bool {
        let first = self.world.rank() as usize * self.threads;
        let (me, own) = (news.me - first, first..first + self.threads);
        debug_assert!(own.contains(&news.me), "a group of this rank has news");
        let (mine, ours) = (2 * news.round - 1, 2 * news.round);
        {
            let left = &mut *self.left[me].lock().unwrap_or_else(PoisonError::into_inner);
            left.row.clear();
            left.row.extend([news.next, news.events]);
            left.row.extend(&*news.sent);
            for (to, mail) in news.mail.iter_mut().enumerate().filter(|(_, mail)| !mail.is_empty()) {
                if own.contains(&to) {
                    self.meeting.post(me, to - first, mine, mail);
                } else {
                    mail.drain(..).for_each(|m| m.write(&mut left.mail[to]));
                }
            }
        }
        debug_assert!(news.mail.iter().all(Vec::is_empty), "all mail has left");
        self.meeting.announce(me, mine, news.next, news.events, &news.sent[own]);
        news.sent.fill(NEVER);
        if !self.meeting.wait(mine) {
            return false;
        }
        // Opened before the second half: its box is used again in the next round's first.
        for from in (0..self.threads).filter(|&from| from != me) {
            self.meeting.open(from, me, mine, &mut take);
        }
        // One thread speaks for the rank: more is more than MPI must allow.
        if me == 0 {
            self.exchange();
        }
        self.meeting.announce(me, ours, NEVER, 0, &self.quiet);
        if !self.meeting.wait(ours) {
            return false;
        }
        // The first thread writes it again only after all have announced the next round, so readers do not wait.
        let heard = self.heard.read().unwrap_or_else(PoisonError::into_inner);
        known.clone_from(&heard.known);
        for (rank, words) in heard.from.iter().enumerate() {
            if rank != self.world.rank() as usize {
                self.open(words, me, &mut take);
            }
        }
        true
    }

    /// Words of a rank's rows.
    fn rows(&self) -> usize {
        self.threads * (2 + self.groups)
    }

    /// Exchanges what the threads of this rank left with the other ranks; the first thread alone does.
    fn exchange(&self) {
        let heard = &mut *self.heard.write().unwrap_or_else(PoisonError::into_inner);
        // All threads wait for this one: nobody else holds a lock.
        let mut left: Vec<_> =
            self.left.iter().map(|left| left.lock().unwrap_or_else(PoisonError::into_inner)).collect();
        let me = self.world.rank() as usize;
        for (rank, words) in heard.to.iter_mut().enumerate() {
            words.clear();
            left.iter().for_each(|left| words.extend(&left.row));
            // The own threads have each other's mail already.
            if rank == me {
                continue;
            }
            for to in 0..self.threads {
                for left in &mut left {
                    let mail = &mut left.mail[rank * self.threads + to];
                    words.push(mail.len() as u64);
                    words.append(mail);
                }
            }
        }
        self.world.exchange(&heard.to, &mut heard.from);
        let known = &mut heard.known;
        (known.events, known.next) = (0, vec![NEVER; self.groups]);
        for group in 0..self.groups {
            // The own rows stand where they would be sent from, as in every other rank.
            let (rank, row) = (group / self.threads, group % self.threads * (2 + self.groups));
            let words = if rank == me { &heard.to[rank] } else { &heard.from[rank] };
            let row = &words[row..row + 2 + self.groups];
            known.next[group] = known.next[group].min(row[0]);
            known.events += row[1];
            for (next, &due) in known.next.iter_mut().zip(&row[2..]) {
                // Mail counts as the receiver's, whether it was opened or not.
                *next = due.min(*next);
            }
        }
    }

    /// Hands out the mail for the thread `me` that a rank sent.
    fn open(&self, words: &[u64], me: usize, mut take: impl FnMut(M)) {
        let mut rest = &words[self.rows()..];
        for place in 0..self.threads * self.threads {
            let (count, more) = rest.split_first().expect("a count for each pair of threads");
            let (mut mail, more) = more.split_at(*count as usize);
            rest = more;
            // Other threads' mail is passed over by its length alone.
            while place / self.threads == me && !mail.is_empty() {
                take(M::read(&mut mail));
            }
        }
        debug_assert!(rest.is_empty(), "nothing follows the mail of the last pair");
    }
}
