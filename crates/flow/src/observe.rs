//! What is measured: counts, latencies, the fingerprint of all happenings.

use super::{context::Context, domain::Record, pace::Counted};
use base::{hash::Fingerprint, index::TerminalId, sorted::SortedMap, time::Ps};
use engine::domain::Observer as Observe;
use model::setup::JobSetup;
use ranks::{
    messages::{Messages, Seen},
    tally::Tally,
};
use results::{
    histogram::{LatencyHistogram, Moments},
    slow_down::SlowDowns,
};
use std::sync::Arc;

/// A delivered message, for the table on demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// When it was whole.
    pub delivered: Ps,
    /// The same with its fraction.
    pub exact: f64,
    /// Number of the terminal that it comes from.
    pub source: TerminalId,
    /// The source's number of it.
    pub number: u32,
    /// Number of the terminal that it is for.
    pub destination: TerminalId,
    /// When it was sent.
    pub created: Ps,
    /// Its payload in bytes, without headers.
    pub bytes: u64,
}

/// A job's sums.
#[derive(Clone, Debug, Default)]
pub struct JobSums {
    /// Messages that were sent, arrived or not.
    pub begun: u64,
    /// Messages that have arrived as a whole.
    pub delivered: u64,
    /// Last message or operation.
    pub last: Ps,
    /// Time of computing, over all ranks.
    pub busy: u128,
    /// Messages under way over time, of traffic in a run that ends at a time.
    pub counted: Option<Box<Counted>>,
}

impl JobSums {
    /// Nothing happened yet to a job. What a program has under way comes and goes with its phases, and a workload that ends has no steady state.
    fn of(job: &JobSetup, cx: &Context) -> Self {
        let open = cx.open && job.work.program().is_none();
        Self { counted: open.then(|| Box::new(Counted::of(job.start, cx.warmup, cx.end))), ..Self::default() }
    }
}

/// A pair's sums.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pair {
    /// Latencies of messages, in picoseconds.
    pub latency: Moments,
    /// Its payload in bytes, without headers.
    pub bytes: u64,
}

/// Sums of a window of time.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeriesWindow {
    /// Messages that were sent, arrived or not.
    pub begun: u64,
    /// Messages that have arrived as a whole.
    pub delivered: u64,
    /// Payload of arrived messages in bytes.
    pub bytes: u64,
}

/// Measurements of a run.
pub struct Observer {
    cx: Arc<Context>,
    /// Sum over all happenings.
    pub fingerprint: Fingerprint,
    /// Virtual time of the last thing that happened.
    pub last: Ps,
    /// What was measured, by number of the job.
    pub jobs: Vec<JobSums>,
    /// Payload of messages that arrived: all, and those sent after the warm-up.
    pub bytes: (u64, u64),
    /// Payload of messages that arrived after the warm-up, whenever they were sent.
    pub whole: u64,
    /// Latencies of messages.
    pub latency: LatencyHistogram,
    /// The same by links on the way.
    pub by_hops: Vec<Moments>,
    /// The same over what each message would have taken alone, if asked for.
    pub slow_down: Option<SlowDowns>,
    /// What the message that is delivered next would have taken alone, if slow-downs are asked for.
    alone: Ps,
    /// By pair of terminals, if asked for.
    pub pairs: SortedMap<(TerminalId, TerminalId), Pair>,
    /// By message, if asked for.
    pub rows: Vec<Row>,
    /// By operation, if asked for.
    pub tally: Tally,
    /// By window, if asked for.
    pub windows: Vec<SeriesWindow>,
    /// Which messages were sent and arrived, if that is checked.
    pub messages: Option<Messages>,
    /// Messages that began, by number of the source; empty unless that is checked.
    pub numbers: Vec<u32>,
    /// What is wrong with the numbers of messages, if anything.
    pub misnumbered: Option<String>,
}

impl Observer {
    /// Nothing measured yet.
    #[must_use]
    pub fn new(cx: Arc<Context>) -> Self {
        Self {
            fingerprint: Fingerprint::default(),
            last: 0,
            jobs: cx.jobs.iter().map(|job| JobSums::of(job, &cx)).collect(),
            bytes: (0, 0),
            whole: 0,
            latency: LatencyHistogram::new(),
            slow_down: cx
                .measure
                .slow_down
                .then(|| SlowDowns::new(cx.jobs.iter().map(|job| job.work.size_ranges()))),
            alone: 0,
            by_hops: Vec::new(),
            pairs: SortedMap::new(),
            rows: Vec::new(),
            tally: Tally::new(cx.jobs.iter().any(|j| j.work.program().is_some()), cx.measure.window),
            windows: Vec::new(),
            messages: cx.check.then(Messages::default),
            numbers: vec![0; if cx.check { cx.fabric.terminals() as usize } else { 0 }],
            misnumbered: None,
            cx,
        }
    }

    fn job(&mut self, terminal: TerminalId) -> &mut JobSums {
        &mut self.jobs[self.cx.rank[terminal].0 as usize]
    }

    /// Every source numbers its messages from 0.
    #[cold]
    fn check_number(&mut self, Seen { from, number, .. }: Seen) {
        let next = &mut self.numbers[from as usize];
        if number != *next && self.misnumbered.is_none() {
            self.misnumbered = Some(format!("message {number} of terminal {from} is its {next}th"));
        }
        *next = next.wrapping_add(1);
    }

    fn window(&mut self, time: Ps) -> Option<&mut SeriesWindow> {
        let number = time.checked_div(self.cx.measure.window)? as usize;
        if self.windows.len() <= number {
            self.windows.resize(number + 1, SeriesWindow::default());
        }
        Some(&mut self.windows[number])
    }

    fn delivered(&mut self, time: Ps, exact: f64, message: Seen, hops: u32) {
        let Seen { number, bytes, time: created, .. } = message;
        debug_assert!(created <= time, "a message arrives after it was sent");
        let (source, destination) = (TerminalId::new(message.from), TerminalId::new(message.to));
        if let Some(messages) = &mut self.messages {
            messages.arrived(message, time, created + self.cx.least_time(bytes));
        }
        let ends = u64::from(source) << 32 | u64::from(destination);
        self.fingerprint.add(time, ends, u64::from(number), bytes);
        self.last = self.last.max(time);
        let job = self.job(source);
        debug_assert!(job.delivered < job.begun, "no more arrives than was sent");
        job.delivered += 1;
        if let Some(counted) = &mut job.counted {
            counted.delivered(time);
        }
        job.last = job.last.max(time);
        self.bytes.0 = self.bytes.0.saturating_add(bytes);
        self.tally.message(source, time - created);
        if let Some(window) = self.window(time) {
            window.delivered += 1;
            window.bytes = window.bytes.saturating_add(bytes);
        }
        self.whole = self.whole.saturating_add(if time >= self.cx.warmup { bytes } else { 0 });
        if created < self.cx.warmup {
            return;
        }
        let latency = time - created;
        self.bytes.1 = self.bytes.1.saturating_add(bytes);
        self.latency.record(latency);
        if let Some(sums) = &mut self.slow_down {
            sums.record(self.cx.rank[source].0 as usize, bytes, latency, self.alone);
        }
        if self.by_hops.len() <= hops as usize {
            self.by_hops.resize(hops as usize + 1, Moments::default());
        }
        self.by_hops[hops as usize].record(latency);
        if self.cx.measure.pairs {
            let pair = self.pairs.entry((source, destination)).or_default();
            pair.latency.record(latency);
            pair.bytes = pair.bytes.saturating_add(bytes);
        }
        if self.cx.measure.messages {
            self.rows.push(Row { delivered: time, exact, source, number, destination, created, bytes });
        }
    }
}

impl Observe<Record> for Observer {
    fn commit(&mut self, record: &Record) {
        match *record {
            Record::Begun { time, message } => {
                let job = self.job(TerminalId::new(message.from));
                job.begun += 1;
                if let Some(counted) = &mut job.counted {
                    counted.begun(time);
                }
                if let Some(messages) = &mut self.messages {
                    messages.sent(message);
                    self.check_number(message);
                }
                if let Some(window) = self.window(time) {
                    window.begun += 1;
                }
            }
            Record::Delivered { time, exact, message, hops } => self.delivered(time, exact, message, hops),
            Record::Alone(time) => self.alone = time,
            Record::Met(met) => self.tally.met.push(met),
            Record::Operation(f) => {
                debug_assert!(f.ready <= f.time, "an operation ends after it could begin");
                let what = 1 << 63 | u64::from(f.slot) << 32 | u64::from(f.terminal);
                self.fingerprint.add(f.time, what, u64::from(f.number), f.bytes);
                self.last = self.last.max(f.time);
                let job = self.job(f.terminal);
                job.busy += u128::from(f.compute());
                job.last = job.last.max(f.time);
                let (job, first) = self.cx.rank[f.terminal];
                let rank = self.cx.roster.number(job, first).plus(u32::from(f.slot));
                self.tally.add(&f, job, rank, self.cx.measure.operations);
            }
        }
    }
}
