//! What a run costs: times, events, memory.

use crate::setup::Scheduling;
use base::{threads::Speculation, world::World};
use results::summary::{self, Performance};
use std::time::Instant;

/// What a run did, as its engine counts.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// Events that were handled, in all partitions.
    pub events: u64,
    /// Chunks that crossed a router, in models that have them.
    pub chunk_hops: Option<u64>,
    /// Partitions of the state.
    pub partitions: u32,
    /// Threads that were used.
    pub threads: u32,
    /// Windows after which threads met; reported only of several threads.
    pub windows: Option<u64>,
    /// What running ahead came to, if the scheduler does.
    pub speculation: Option<Speculation>,
}

/// Watches a run.
pub struct Clock {
    begun: Instant,
    cpu: Option<f64>,
    scheduling: Scheduling,
}

impl Clock {
    /// Starts watching a run in the calling thread and those that `scheduling` adds.
    #[must_use]
    pub fn start(scheduling: Scheduling) -> Self {
        Self { begun: Instant::now(), cpu: cpu_time(scheduling), scheduling }
    }

    /// What the run has cost so far. Rates of one thread count its processor time, those of several elapsed time.
    #[must_use]
    pub fn stop(&self, done: Done) -> Performance {
        let Done { events, chunk_hops, partitions, threads, windows, speculation } = done;
        debug_assert!(partitions > 0, "a run has a partition");
        debug_assert!(threads > 0, "a run has a thread");
        let speculation = speculation.map(|s| summary::Speculation {
            efficiency: s.efficiency(),
            rollbacks: s.rollbacks,
            rolled_back: s.rolled_back,
            failures: s.failures,
            peak_history_bytes: s.peak_bytes,
        });
        Performance {
            speculation,
            windows: windows.filter(|_| threads > 1),
            ..self.cost(events, chunk_hops, partitions, threads)
        }
    }

    /// The same of a run over several ranks, each of which did a part: added up, and the largest memory of all.
    #[must_use]
    pub fn stop_over(&self, done: Done, world: &World) -> Performance {
        if world.is_alone() {
            return self.stop(done);
        }
        let ahead = done.speculation.unwrap_or_default();
        let [events, hops, partitions] =
            world.sums([done.events, done.chunk_hops.unwrap_or(0), u64::from(done.partitions)]);
        let [handled, committed, rollbacks, rolled_back, failures] =
            world.sums([ahead.handled, ahead.committed, ahead.rollbacks, ahead.rolled_back, ahead.failures]);
        let peak_bytes = world.most(ahead.peak_bytes);
        let together =
            Speculation { handled, committed, rollbacks, rolled_back, failures, peak_bytes, ..ahead };
        let all = self.stop(Done {
            events,
            chunk_hops: done.chunk_hops.map(|_| hops),
            partitions: partitions as u32,
            speculation: done.speculation.map(|_| together),
            ..done
        });
        debug_assert!(events >= done.events, "all did no less than one");
        let [cpu_ns, known] = world.sums(all.cpu_s.map_or([0, 0], |s| [(s * 1e9) as u64, 1]));
        debug_assert!(known <= u64::from(world.ranks()), "every rank reports its time once");
        let wall = all.wall_s.max(1e-9);
        Performance {
            cpu_s: (known == u64::from(world.ranks())).then_some(cpu_ns as f64 / 1e9),
            peak_rss_bytes: Some(world.most(all.peak_rss_bytes.unwrap_or(0))).filter(|&bytes| bytes > 0),
            // Processor time of one rank says nothing of all: rates are those of elapsed time.
            events_per_s: events as f64 / wall,
            chunk_hops_per_s: all.chunk_hops.map(|hops| hops as f64 / wall),
            windows: done.windows,
            ranks: world.ranks(),
            ..all
        }
    }

    /// The same of a run without the engine, in this thread; what it did counts as events.
    #[must_use]
    pub fn alone(&self, events: u64) -> Performance {
        self.cost(events, None, 1, 1)
    }

    fn cost(&self, events: u64, chunk_hops: Option<u64>, partitions: u32, threads: u32) -> Performance {
        let wall_s = self.begun.elapsed().as_secs_f64();
        let cpu_s = self.cpu.and_then(|before| cpu_time(self.scheduling).map(|now| now - before));
        // A run between two ticks of the scheduler has taken none, as far as the system says: that is not known, and not nothing.
        let cpu_s = cpu_s.filter(|&t| t > 0.0);
        let time = cpu_s.filter(|_| threads == 1).unwrap_or(wall_s).max(1e-9);
        debug_assert!(time > 0.0, "rates are of some time");
        Performance {
            wall_s,
            cpu_s,
            events,
            events_per_s: events as f64 / time,
            chunk_hops,
            chunk_hops_per_s: chunk_hops.map(|n| n as f64 / time),
            peak_rss_bytes: peak_rss(),
            scheduler: self.scheduling.name().to_owned(),
            partitions,
            threads,
            windows: None,
            speculation: None,
            ranks: 1,
            chosen: None,
        }
    }
}

/// Processor time in seconds, where the system says: of this thread if the run has one, else of the whole process.
fn cpu_time(scheduling: Scheduling) -> Option<f64> {
    if scheduling.threads().count > 1 { process_time() } else { thread_time() }
}

/// Processor time of the calling thread in seconds, where the system says.
#[must_use]
pub fn thread_time() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<u64>().ok()? as f64 / 1e9)
}

#[cfg(unix)]
fn process_time() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

#[cfg(not(unix))]
fn process_time() -> Option<f64> {
    None
}

/// Largest resident memory of this process so far, where the system says.
#[must_use]
pub fn peak_rss() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|l| l.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}
