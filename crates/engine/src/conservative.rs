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
    lookahead::Lookahead,
    meeting::{Known, Meeting},
    pin,
};

/// Runs each group in a thread of its own, the first in the calling one; returns the number of windows.
///
/// # Panics
/// If a handler panics in any thread.
pub(crate) fn run<D, O>(mut groups: Vec<Group<'_, D, O>>, crew: &Crew) -> u64
where
    D: Domain<Message: Send> + Send,
    O: Observer<D::Record> + Send,
{
    assert!(groups.len() > 1, "threads meet each other");
    let count = groups.len() as u32;
    let ahead = Lookahead::new(count, |from, to| groups[from as usize].lookahead(to));
    let meeting = crew::meeting(groups.len());
    crew::side_by_side(&mut groups, &meeting, |group| {
        Share { meeting: &meeting, ahead: &ahead, crew }.run(group)
    })
}

/// A thread's part in a run.
struct Share<'a, M> {
    meeting: &'a Meeting<Envelope<M>>,
    ahead: &'a Lookahead,
    crew: &'a Crew,
}

impl<M: Copy + Send> Share<'_, M> {
    /// Runs a group to the end; returns the number of windows.
    fn run<D, O>(&self, group: &mut Group<'_, D, O>) -> u64
    where
        D: Domain<Message = M>,
        O: Observer<D::Record>,
    {
        let Crew { end, budget, pin, stretch } = *self.crew;
        let _bound_to = pin.then(|| pin::bind(group.me as usize));
        let me = group.me as usize;
        let mut known = Known { next: Vec::new(), events: 0 };
        let (mut round, mut reached) = (0, 0);
        loop {
            round += 1;
            self.announce(group, round);
            if !self.meeting.wait(round) {
                break;
            }
            // From here on this thread knows what all others know, so all decide alike without another word.
            self.meeting.read(round, &mut known);
            for from in (0..known.next.len()).filter(|&from| from != me) {
                self.meeting.open(from, me, round, |envelope| group.deliver(&envelope, reached));
            }
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

    /// Posts what the last window left for others, and says where the group stands.
    fn announce<D, O>(&self, group: &mut Group<'_, D, O>, round: u64)
    where
        D: Domain<Message = M>,
        O: Observer<D::Record>,
    {
        let me = group.me as usize;
        for (to, mail) in group.outgoing.iter_mut().enumerate() {
            if !mail.is_empty() {
                self.meeting.post(me, to, round, mail);
            }
        }
        self.meeting.announce(me, round, group.next_time(), group.events, &group.sent);
        group.sent.fill(base::time::NEVER);
    }
}
