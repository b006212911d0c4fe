//! The optimistic scheduler: Time Warp (Jefferson 1985) over threads, in rounds.
//!
//! Read `TIMEWARP.md` beside this crate. In a round every thread takes its mail, commits what is certain for all, runs its partitions ahead
//! (`crowd.rs`) and posts what they sent. Between rounds nothing is under way but the mail that everybody knows of, so the first event of all, the
//! global virtual time, is a minimum of what was announced.

mod crowd;
mod doubt;
mod member;
mod panics;
mod past;
mod sent;

use crate::{
    balance::Home,
    crew::{self, Crew},
    domain::{Domain, Observer},
    joint::{self, Joint, News},
    lookahead::Lookahead,
    meeting::Known,
    partition::Partition,
    pin,
    words::Message,
};
pub use base::threads::{Fault, Optimism, Speculation};
use base::time::NEVER;
use crowd::Crowd;
use member::Post;
pub use panics::quietly;

/// The partitions of a thread, with their numbers.
pub(crate) type Members<'a, D, O> = Vec<(u32, &'a mut Partition<D, O>)>;

/// Runs the members of each thread, the first in the calling one. All is committed or taken back at the end.
///
/// # Panics
/// If a handler panics whose past is certain.
pub(crate) fn run<D, O>(
    members: Vec<Members<'_, D, O>>,
    homes: &[Home],
    crew: &Crew,
    optimism: &Optimism,
    total: &mut Speculation,
    tie_seed: u64,
) where
    D: Domain<Message: Send, Record: Send> + Send,
    O: Observer<D::Record> + Send,
{
    let begun = total.ahead;
    let count = members.len();
    let mut crowds: Vec<_> = (crew.world.rank() * count as u32..)
        .zip(members)
        .map(|(me, members)| Crowd::new(me, members, homes, optimism, tie_seed, begun))
        .collect();
    let ahead = joint::lookahead(&crew.world, count, |from, to| crowds[from as usize].lookahead(to));
    let meeting = crew::meeting(&crew.world, count);
    let rounds = crew::side_by_side(&mut crowds, &meeting, |crowd| {
        Share { meeting: &meeting, ahead: &ahead, crew, optimism }.run(crowd)
    });
    total.rounds += rounds;
    total.ahead = crowds.into_iter().map(|crowd| crowd.end(total)).min().unwrap_or(0);
}

/// A thread's part in a run.
struct Share<'a, M> {
    meeting: &'a Joint<Post<M>>,
    ahead: &'a Lookahead,
    crew: &'a Crew,
    optimism: &'a Optimism,
}

impl<M: Message + Send> Share<'_, M> {
    /// Runs a thread's partitions to the end; returns the number of rounds.
    fn run<D, O>(&self, crowd: &mut Crowd<'_, D, O>) -> u64
    where
        D: Domain<Message = M>,
        O: Observer<D::Record>,
    {
        let Crew { end, budget, pin, .. } = *self.crew;
        let _bound_to = pin.then(|| pin::bind(crowd.me as usize));
        let mut known = Known { next: Vec::new(), events: 0 };
        let mut round = 0;
        loop {
            round += 1;
            if !self.meet(crowd, round, &mut known) {
                break;
            }
            let first = known.next.iter().copied().min().unwrap_or(NEVER);
            let early = if let Some(Fault::EarlyCommit(early)) = self.optimism.fault { early } else { 0 };
            // Whoever sends from now on sends from an event at `first` or later: what is before cannot change any more.
            crowd.commit(first.saturating_add(early).min(end));
            if first >= end || known.events >= budget {
                // All withdraw, each by itself; what that cancels is the last mail.
                crowd.withdraw();
                round += 1;
                self.meet(crowd, round, &mut known);
                break;
            }
            crowd.run(first, self.ahead.bound(crowd.me as usize, &known.next), end);
        }
        round
    }

    /// Posts what this thread has for others, says where it stands, waits for all and takes its mail; false if a thread failed.
    fn meet<D, O>(&self, crowd: &mut Crowd<'_, D, O>, round: u64, known: &mut Known) -> bool
    where
        D: Domain<Message = M>,
        O: Observer<D::Record>,
    {
        if self.optimism.fault == Some(Fault::BlindToMail) {
            crowd.sent.iter_mut().filter(|due| **due < NEVER).for_each(|due| *due = NEVER - 1);
        }
        // Taken last: handing mail over may have made somebody's next event earlier.
        let (me, next, events) = (crowd.me as usize, crowd.next_time(), crowd.committed());
        let (mut mail, mut sent) = (std::mem::take(&mut crowd.outgoing), std::mem::take(&mut crowd.sent));
        let news = News { me, round, next, events, sent: &mut sent, mail: &mut mail };
        let met = self.meeting.meet(news, known, |post| crowd.take(&post));
        (crowd.outgoing, crowd.sent) = (mail, sent);
        met
    }
}
