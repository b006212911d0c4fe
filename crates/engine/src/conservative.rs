//! The conservative scheduler: groups of partitions side by side in threads, each as far ahead as lookahead allows.
//!
//! After each window the threads meet ([`crate::meeting`]); then every thread knows every group's next event, and from these
//! and the lookaheads between groups ([`crate::lookahead`]) the bound of its own next window. All take the same decision to stop.
//! The threads end with the window that ends the run: between runs the partitions belong to the caller, who may look at them and
//! act on them (director ticks, checkpoints). What is committed does not depend on threads: every partition handles its events in the
//! order of their keys.

use crate::{
    crew::{self, Crew},
    domain::{Domain, Envelope, Observer},
    group::Group,
    joint::{self, Joint, News},
    lookahead::Lookahead,
    meeting::Known,
    pin,
    words::Message,
};
use base::time::Ps;

/// Runs each group in a thread of its own, the first in the calling one; returns the number of windows.
///
/// # Panics
/// If a handler panics in any thread.
pub(crate) fn run<D, O>(mut groups: Vec<Group<'_, D, O>>, crew: &Crew) -> u64
where
    D: Domain<Message: Send> + Send,
    O: Observer<D::Record> + Send,
{
    let count = groups.len();
    assert!(count > 1 || !crew.world.is_alone(), "groups meet each other");
    let ahead = joint::lookahead(&crew.world, count, |from, to| groups[from as usize].lookahead(to));
    let meeting = crew::meeting(&crew.world, count);
    crew::side_by_side(&mut groups, &meeting, |group| {
        Share { meeting: &meeting, ahead: &ahead, crew }.run(group)
    })
}

/// A thread's part in a run.
struct Share<'a, M> {
    meeting: &'a Joint<Envelope<M>>,
    ahead: &'a Lookahead,
    crew: &'a Crew,
}

impl<M: Message + Send> Share<'_, M> {
    /// Runs a group to the end; returns the number of windows.
    fn run<D, O>(&self, group: &mut Group<'_, D, O>) -> u64
    where
        D: Domain<Message = M>,
        O: Observer<D::Record>,
    {
        let Crew { end, budget, pin, stretch, .. } = *self.crew;
        let _bound_to = pin.then(|| pin::bind(group.me as usize));
        let me = group.me as usize;
        let mut known = Known { next: Vec::new(), events: 0 };
        let (mut round, mut reached) = (0, 0);
        loop {
            round += 1;
            if !self.meet(group, round, &mut known, reached) {
                break;
            }
            // From here on this thread knows what all others know, so all decide alike without another word.
            let first = known.next.iter().copied().min().unwrap_or(end);
            if first >= end || known.events >= budget {
                break;
            }
            // Whatever is still to come is due at `reached` or later: from the next round's mail on, `deliver` checks it.
            reached = self.ahead.bound(me, &known.next).saturating_add(stretch).min(end);
            group.run_to(reached, budget);
        }
        round - 1
    }

    /// Posts what the last window left for others, says where the group stands, and takes its mail, which is due at `reached` or later.
    fn meet<D, O>(&self, group: &mut Group<'_, D, O>, round: u64, known: &mut Known, reached: Ps) -> bool
    where
        D: Domain<Message = M>,
        O: Observer<D::Record>,
    {
        let (me, next, events) = (group.me as usize, group.next_time(), group.events);
        // Taken out for the meeting, which empties them while the group takes what came; put back with their memory.
        let (mut mail, mut sent) = (std::mem::take(&mut group.outgoing), std::mem::take(&mut group.sent));
        let news = News { me, round, next, events, sent: &mut sent, mail: &mut mail };
        let met = self.meeting.meet(news, known, |envelope| group.deliver(&envelope, reached));
        (group.outgoing, group.sent) = (mail, sent);
        met
    }
}
