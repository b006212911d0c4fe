//! The conservative scheduler: groups of partitions side by side in threads, each as far ahead as lookahead allows.
//!
//! After each window the threads meet ([`crate::meeting`]); then every thread knows every group's next event, and from these
//! and the lookaheads between groups ([`crate::lookahead`]) the bound of its own next window. All take the same decision to stop.
//! The threads end with the window that ends the run: between runs the partitions belong to the caller, who may look at them and
//! act on them (director ticks, checkpoints). What is committed does not depend on threads: every partition handles its events in the
//! order of their keys.

use crate::{
    domain::{Domain, Envelope, Observer},
    group::Group,
    lookahead::Lookahead,
    meeting::{Known, Meeting},
    pin,
};
use base::time::Ps;

/// What the threads of a run are given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crew {
    /// Virtual time at which the run ends.
    pub end: Ps,
    /// Events after which it stops, about.
    pub budget: u64,
    /// Bind threads to processors.
    pub pin: bool,
    /// See [`crate::executor::Threads::stretch`].
    pub stretch: Ps,
}

/// Looks at another thread's slot before the processor is given away: some microseconds.
pub(crate) const PATIENCE: u32 = 1000;

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
    // With more threads than processors, whoever looks on keeps another from working: then nobody looks twice.
    let crowded = std::thread::available_parallelism().is_ok_and(|n| n.get() < groups.len());
    let meeting = Meeting::new(groups.len(), if crowded { 0 } else { PATIENCE });
    let share = |group: &mut Group<'_, D, O>| Share { meeting: &meeting, ahead: &ahead, crew }.run(group);
    let (first, others) = groups.split_at_mut(1);
    std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(others.len());
        for group in others {
            let name = format!("netloom-{}", group.me);
            // A thread that the system refuses would leave the others waiting.
            match std::thread::Builder::new().name(name).spawn_scoped(scope, || share(group)) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    meeting.fail();
                    panic!("the system refuses a thread: {error}");
                }
            }
        }
        let windows = share(&mut first[0]);
        for thread in threads {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        windows
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
        let alarm = Alarm(self.meeting);
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
        // It rings when it is dropped, which is to happen in a panic alone.
        std::mem::forget(alarm);
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

/// Rings if its thread panics.
struct Alarm<'a, M>(&'a Meeting<Envelope<M>>);

impl<M> Drop for Alarm<'_, M> {
    fn drop(&mut self) {
        self.0.fail();
    }
}
