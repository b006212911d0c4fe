//! Threads that run partitions side by side, whatever the scheduler: one begins in each thread, and nobody waits for one that failed.

use crate::{joint::Joint, mail::Mail, meeting::Meeting, patience::Patience};
use base::{time::Ps, world::World};
use std::time::Duration;

/// What the threads of a run are given.
#[derive(Clone)]
pub(crate) struct Crew {
    /// The ranks of the run; each has as many threads.
    pub world: World,
    /// Virtual time at which the run ends.
    pub end: Ps,
    /// Events after which it stops, about.
    pub budget: u64,
    /// Bind threads to processors.
    pub pin: bool,
    /// A planted fault, 0 in honest runs: see [`base::threads::Threads::stretch`].
    pub stretch: Ps,
}

/// A processor for each thread: some microseconds of looking, and of letting others work that the machine may have besides. Waking a thread
/// takes as long as that again.
const AWAKE: Patience = Patience { looks: 1000, yields: Duration::from_micros(200) };
/// More threads than processors: whoever looks on keeps another from working.
const CROWDED: Patience = Patience { looks: 0, yields: Duration::from_micros(20) };

/// A meeting of so many threads here, and as many in every other rank.
pub(crate) fn meeting<M: Mail>(world: &World, threads: usize) -> Joint<M> {
    let crowded = std::thread::available_parallelism().is_ok_and(|n| n.get() < threads);
    Joint::new(world, Meeting::new(threads, if crowded { CROWDED } else { AWAKE }), threads)
}

/// Does each share in a thread of its own, the first in the calling one, and gives what that one gave.
///
/// # Panics
/// If a share panics in any thread.
pub(crate) fn side_by_side<T: Send, M: Mail + Send, R: Send>(
    shares: &mut [T],
    meeting: &Joint<M>,
    work: impl Fn(&mut T) -> R + Sync,
) -> R {
    let work = |share: &mut T| {
        let alarm = Alarm(meeting);
        let done = work(share);
        // It rings when it is dropped, which is to happen in a panic alone.
        std::mem::forget(alarm);
        done
    };
    let (first, others) = shares.split_first_mut().expect("somebody works");
    std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(others.len());
        for (other, share) in (1..).zip(others) {
            // A thread that the system refuses would leave the others waiting.
            match std::thread::Builder::new()
                .name(format!("netloom-{other}"))
                .spawn_scoped(scope, || work(share))
            {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    meeting.fail();
                    panic!("the system refuses a thread: {error}");
                }
            }
        }
        let done = work(first);
        for thread in threads {
            thread.join().map(drop).unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        done
    })
}

/// Rings if its thread panics.
struct Alarm<'a, M: Mail>(&'a Joint<M>);

impl<M: Mail> Drop for Alarm<'_, M> {
    fn drop(&mut self) {
        self.0.fail();
    }
}
