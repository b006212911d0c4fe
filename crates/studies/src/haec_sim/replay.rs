//! Replays of LU.D and BT.D on 4,096 ranks by model `delay`: makespans, and times from each send to the completed receive (Tables 1 and 3 to 6).
//!
//! Each rank computes as long as Table 1 says that it did on Taurus, run time x exclusive application share, spread evenly over the iterations. A
//! replay may be shortened to a few iterations with their share of the computation: all iterations are alike.

use super::scenarios::{APPLICATIONS, Net, Scenario, ours, shortened};
use base::{
    sorted::SortedMap,
    time::{MS, NEVER, Ps},
};
use loggops::{DelayConfig, DelayJob, DelaySetup, observe::Measure, resilient::Resilient, simulate};
use model::setup::{JobSetup, Scheduling};
use netloom::Error;
use resilience::{Parameters, Protocol};
use results::table::{Column, Table};
use std::sync::Arc;

/// Iterations of the whole run, as the applications are called in [`APPLICATIONS`].
const WHOLE: [u64; 2] = [300, 250];

/// The same with the warm-up.
pub const WHOLE_AND_WARM_UP: [u64; 2] = [WHOLE[0] + 1, WHOLE[1] + 1];

/// One replay among all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Only {
    /// Index in [`APPLICATIONS`].
    pub application: usize,
    /// Index of its network.
    pub net: usize,
    /// Index of its mapping.
    pub mapping: usize,
    /// Protocol that its messages are sent by.
    pub protocol: Protocol,
}

/// How much is replayed.
pub struct Effort {
    /// Iterations of each application beside the warm-up; 0: all.
    pub iterations: [u64; 2],
    /// Samples of each mean.
    pub samples: u64,
    /// Only this one: for tests.
    pub only: Option<Only>,
}

/// Messages of one size.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// How many of them there are.
    pub messages: u64,
    /// Sum of the model's times in ps.
    pub transfer: u128,
    /// Sum of the times from the send to the completed receive.
    pub received: u128,
}

/// A replay of a scenario under a protocol, and what came of it.
pub struct Replay {
    /// Index of its scenario.
    pub scenario: usize,
    /// Protocol that its messages are sent by.
    pub protocol: Protocol,
    /// Iterations, warm-up included.
    pub iterations: u64,
    /// From start to end.
    pub makespan: Ps,
    /// Share of the ranks' time in which they compute.
    pub application: f64,
    /// By size of message.
    pub times: SortedMap<u64, Times>,
}

impl Replay {
    /// Mean of model times and of times to the completed receive in us, of messages of more than `low` and at most `high` bytes.
    #[must_use]
    pub fn mean(&self, low: u64, high: u64) -> Option<(f64, f64)> {
        let mut sum = Times::default();
        for times in self.times.range(low + 1..=high).map(|t| t.1) {
            sum.messages += times.messages;
            sum.transfer += times.transfer;
            sum.received += times.received;
        }
        let mean = |total: u128| total as f64 / sum.messages as f64 / 1e6;
        (sum.messages > 0).then(|| (mean(sum.transfer), mean(sum.received)))
    }
}

/// A run of Table 1: application, run time in seconds, exclusive application share in percent, and what is shown only.
pub type Run = (String, [f64; 3]);

/// Computation of a rank per iteration: run time x share of Table 1 over all iterations, warm-up included.
pub fn compute(runs: &[Run], application: usize) -> Option<Ps> {
    let [run_s, share, _] = runs.iter().find(|r| r.0 == APPLICATIONS[application].0)?.1;
    Some((run_s * share / 100.0 * 1_000.0 * MS as f64) as Ps / (WHOLE[application] + 1))
}

/// Replays all scenarios under all protocols; `progress` hears of each.
///
/// # Errors
/// Table 1 is missing, or a replay fails.
pub fn run(
    runs: &[Run],
    all: &[Scenario],
    nets: &[Net],
    effort: &Effort,
    progress: &dyn Fn(&Scenario, Protocol),
) -> Result<Vec<Replay>, Error> {
    let mut replays = Vec::new();
    for (index, s) in all.iter().enumerate() {
        let replay = |protocol| Only { application: s.application, net: s.net, mapping: s.mapping, protocol };
        let each = compute(runs, s.application).ok_or_else(|| ours("Table 1 is missing"))?;
        let asked = effort.iterations[s.application];
        let iterations = 1 + if asked == 0 { WHOLE[s.application] } else { asked };
        let wanted = |p: &Protocol| effort.only.is_none_or(|only| only == replay(*p));
        for protocol in Protocol::PAPER.into_iter().filter(wanted) {
            progress(s, protocol);
            let program = shortened(s.application, iterations - 1, each * iterations)?;
            let parameters = Parameters::table2(protocol);
            let setup = DelaySetup {
                jobs: vec![DelayJob {
                    name: APPLICATIONS[s.application].0.to_owned(),
                    program,
                    start: 0,
                    placement: s.placed.clone(),
                    compute_ppb: JobSetup::COMPUTE_AS_IS,
                }],
                config: DelayConfig::resilient(Resilient {
                    parameters,
                    samples: effort.samples,
                    seed: 1,
                    class_loss: None,
                    fits: None,
                }),
                fabric: Some(Arc::clone(&nets[s.net].fabric)),
                derived: None,
                seed: 1,
                scheduling: Scheduling::Sequential { partitions: 1 },
                limit: NEVER,
                timed: false,
                measure: Measure { messages: true, ..Measure::default() },
                check: false,
                energy: None,
                node: None,
            };
            let finished = simulate(&setup, &mut |_| true).map_err(|e| ours(&e.to_string()))?;
            let job = finished.summary.jobs.first().ok_or_else(|| ours("a replay has no job"))?;
            let table = finished.tables.iter().find(|t| t.name() == "message_times");
            replays.push(Replay {
                scenario: index,
                protocol,
                iterations,
                makespan: job.makespan_ps.ok_or_else(|| ours("a replay did not end"))?,
                application: job.compute_fraction.unwrap_or(0.0),
                times: table
                    .and_then(|t| times(t, s))
                    .ok_or_else(|| ours("a replay has no times of messages"))?,
            });
        }
    }
    Ok(replays)
}

/// Times of the application's own messages: those of collectives, which the paper does not count, have sizes of their own.
fn times(table: &Table, s: &Scenario) -> Option<SortedMap<u64, Times>> {
    let column = |name| match table.column(name) {
        Some(Column::U64(column)) => Some(column),
        _ => None,
    };
    let (bytes, messages) = (column("bytes")?, column("messages")?);
    let (transfer, received) = (column("transfer_ps")?, column("received_ps")?);
    let one = |i: usize| {
        let sum = |mean: u64| u128::from(mean) * u128::from(messages[i]);
        let times = Times { messages: messages[i], transfer: sum(transfer[i]), received: sum(received[i]) };
        (bytes[i], times)
    };
    let own = |&i: &usize| s.counts.keys().any(|k| k.0 == bytes[i]);
    Some((0..bytes.len()).filter(own).map(one).collect())
}
