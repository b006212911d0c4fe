//! Samples of messages: means with their standard errors, the same for every number of threads.

use super::{
    coded::{Coding, Nodes},
    dor::{self, Ended},
    parameters::{Delays, Parameters, Tick},
    path::{Line, Path},
};
use base::{
    hash::mix64,
    rng::{Purpose, Stream},
    threads::started,
};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

/// Samples that share a random stream.
const BLOCK: u64 = 1_024;

/// Sums of samples in ticks: integers, so that their order does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// Number of samples.
    pub samples: u64,
    /// Sum of all samples.
    pub sum: u128,
    /// Sum of their squares.
    pub squares: u128,
}

impl Moments {
    /// Adds a sample.
    pub fn add(&mut self, ticks: Tick) {
        self.samples += 1;
        self.sum += u128::from(ticks);
        self.squares += u128::from(ticks) * u128::from(ticks);
    }

    /// Adds all of others.
    pub fn merge(&mut self, other: &Self) {
        self.samples += other.samples;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Mean in ticks.
    #[must_use]
    pub fn mean(&self) -> f64 {
        debug_assert!(self.samples > 0, "nothing has no mean");
        self.sum as f64 / self.samples as f64
    }

    /// Standard error of the mean in ticks: the square root of variance / samples.
    #[must_use]
    pub fn standard_error(&self) -> f64 {
        let n = u128::from(self.samples);
        if n < 2 {
            return 0.0;
        }
        // n * sum of squares - square of the sum: exact where it fits, which is below 2^60 ticks for a million samples.
        let spread = match (n.checked_mul(self.squares), self.sum.checked_mul(self.sum)) {
            (Some(a), Some(b)) => a.saturating_sub(b) as f64,
            _ => (n as f64 * self.squares as f64 - self.sum as f64 * self.sum as f64).max(0.0),
        };
        let n = n as f64;
        (spread / (n * (n - 1.0) * n)).sqrt()
    }
}

/// What to sample.
#[derive(Clone, Debug)]
pub struct Point<'a> {
    /// Protocol and its parameters.
    pub parameters: &'a Parameters,
    /// The links that packets cross, in order.
    pub path: &'a Path,
    /// Packets of the message.
    pub packets: u64,
    /// Seed of all samples' random streams.
    pub seed: u64,
}

/// What samples of a message say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimates {
    /// Transfer time in ticks: from the call of MPI until the receiver has processed the last packet it needed.
    pub time: Moments,
    /// Time in ticks until the sender could have gone on: as `time`, but with the last acknowledgement.
    pub acknowledged: Moments,
    /// Packets sent, those sent again and combinations beyond the need included.
    pub sent: Moments,
    /// Links that data packets have crossed.
    pub crossed: u64,
}

impl Estimates {
    fn merge(&mut self, other: &Self) {
        self.time.merge(&other.time);
        self.acknowledged.merge(&other.acknowledged);
        self.sent.merge(&other.sent);
        self.crossed += other.crossed;
    }
}

/// Samples a message `samples` times over `threads` threads.
///
/// # Errors
/// Parameters that do not go together.
pub fn sample(point: &Point<'_>, samples: u64, threads: usize) -> Result<Estimates, String> {
    let delays = point.parameters.delays()?;
    let blocks = samples.div_ceil(BLOCK);
    let next = AtomicU64::new(0);
    let work = || {
        let (mut all, mut sender) = (Estimates::default(), Sender::default());
        loop {
            let block = next.fetch_add(1, Ordering::Relaxed);
            if block >= blocks {
                return all;
            }
            let count = BLOCK.min(samples - block * BLOCK);
            sender.block(point, &delays, block, count, &mut all);
        }
    };
    let others = threads.clamp(1, blocks.max(1) as usize) - 1;
    let mut all = Estimates::default();
    thread::scope(|scope| {
        let handles = started(scope, others as u32, work);
        all.merge(&work());
        for handle in handles {
            all.merge(&handle.join().expect("a sampling thread does not panic"));
        }
    });
    Ok(all)
}

/// State of a thread, kept from message to message for its memory.
#[derive(Default)]
struct Sender {
    line: Line,
    nodes: Nodes,
}

impl Sender {
    fn block(&mut self, point: &Point<'_>, delays: &Delays, block: u64, count: u64, all: &mut Estimates) {
        let mut stream = Stream::new(mix64(point.seed), Purpose::Protocol, block);
        self.line.crossed = 0;
        for _ in 0..count {
            let ended = self.message(point, delays, &mut stream);
            all.time.add(ended.there);
            all.acknowledged.add(ended.gate);
            all.sent.add(ended.sent);
        }
        all.crossed += self.line.crossed;
    }

    /// One message from the call of MPI, at 0.
    fn message(&mut self, point: &Point<'_>, delays: &Delays, stream: &mut Stream) -> Ended {
        let Parameters { protocol, estimate, timeout, window, .. } = *point.parameters;
        self.line.clear(point.path.hops());
        if protocol.codes() {
            self.nodes.clear(point.path.hops());
        }
        let coding = Coding { delays, protocol, estimate, timeout, window, path: point.path };
        let (mut left, mut start, mut sent) = (point.packets, delays.injection, 0);
        loop {
            let count = left.min(u64::from(window));
            left -= count;
            let ended = if protocol.codes() {
                coding.generation(&mut self.line, &mut self.nodes, stream, start, count as usize)
            } else {
                dor::window(delays, timeout, point.path, &mut self.line, stream, start, count as usize)
            };
            debug_assert!(
                start < ended.there && ended.there < ended.gate,
                "an acknowledgement follows what it is of"
            );
            sent += ended.sent;
            if left == 0 {
                return Ended { sent, ..ended };
            }
            start = ended.gate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::{Occupancy, Protocol, Timeout};

    fn mean_us(parameters: Parameters, hops: u32, bytes: u64, samples: u64) -> (f64, f64) {
        let path = Path::uniform(hops, parameters.loss, parameters.tamper).unwrap();
        let packets = parameters.packets(bytes).unwrap();
        let point = Point { parameters: &parameters, path: &path, packets, seed: 7 };
        let all = sample(&point, samples, 2).unwrap().time;
        let unit = parameters.delays().unwrap().scale as f64 * 1e6;
        (all.mean() / unit, all.standard_error() / unit)
    }

    #[test]
    fn without_loss_every_message_takes_the_closed_form() {
        for occupancy in [Occupancy::Hop, Occupancy::Wire] {
            let p = Parameters { loss: 0.0, occupancy, ..Parameters::table2(Protocol::Dor) };
            let d = p.delays().unwrap();
            for hops in [1, 2, 3, 7] {
                let path = Path::uniform(hops, 0.0, 0.0).unwrap();
                for packets in [1, 2, 5, 6, 140] {
                    let point = Point { parameters: &p, path: &path, packets, seed: 1 };
                    let all = sample(&point, 3, 1).unwrap();
                    let exact = d.lossless(u64::from(hops), packets, 5);
                    assert_eq!(
                        (all.time.sum, all.time.samples),
                        (3 * u128::from(exact), 3),
                        "{occupancy:?} {hops} {packets}"
                    );
                    assert_eq!(all.crossed, 3 * packets * u64::from(hops));
                }
            }
        }
    }

    /// E = T0 + f / (1 - f) (RTO(1) + d_s) of one packet, f its loss on the way.
    #[test]
    fn one_packet_of_dor_takes_its_exact_expectation() {
        for (hops, loss, tamper) in [(1, 0.01, 0.0), (3, 0.01, 0.0), (10, 0.01, 0.0), (4, 0.05, 0.03)] {
            let p = Parameters { loss, tamper, ..Parameters::table2(Protocol::Dor) };
            let d = p.delays().unwrap();
            let fails = 1.0 - Path::uniform(hops, loss, tamper).unwrap().delivery();
            let (once, again) = (d.lossless(u64::from(hops), 1, 5), d.timeout(u64::from(hops), 1) + d.send);
            let expected = (once as f64 + fails / (1.0 - fails) * again as f64) / (d.scale as f64 * 1e6);
            let (mean, error) = mean_us(p, hops, 240, 200_000);
            assert!(
                (mean - expected).abs() < 4.0 * error + 1e-9,
                "{hops}: {mean} +- {error}, not {expected}"
            );
        }
    }

    /// Means of an independent program, whose own sampling error is 0.3 % (hop occupancy, loss 1 %, window 5).
    #[test]
    fn means_agree_with_an_independent_program() {
        for (bytes, hops, expected, samples) in [
            (240, 1, 2.77, 200_000),
            (240, 6, 12.56, 200_000),
            (3264, 1, 5.95, 100_000),
            (3264, 6, 18.15, 100_000),
            (204_800, 1, 293.9, 10_000),
            (204_800, 6, 1074.9, 10_000),
        ] {
            let (mean, error) = mean_us(Parameters::table2(Protocol::Dor), hops, bytes, samples);
            let theirs = 0.003 * expected;
            assert!(
                (mean - expected).abs() < 3.0 * error.hypot(theirs),
                "{bytes} B, {hops} hops: {mean} +- {error}, not {expected}"
            );
        }
    }

    /// A combination of one packet is worthless once in 256, on every hop. Lost, it costs a timer; worthless, the time until the acknowledgement
    /// reports rank 0, or a timer if that is lost.
    #[test]
    fn one_packet_of_coding_takes_its_exact_expectation() {
        for (timeout, counted, loss) in
            [(Timeout::Window, 5, 0.0), (Timeout::Window, 5, 0.02), (Timeout::Packet, 1, 0.02)]
        {
            let p = Parameters { loss, timeout, ..Parameters::table2(Protocol::Pnc) };
            let d = p.delays().unwrap();
            let (comes, worth) =
                (Path::uniform(3, loss, 0.0).unwrap().delivery(), (255.0f64 / 256.0).powi(3));
            let reported = (d.send + d.forth(3) + d.back(3)) as f64;
            let timer = (d.send + d.timeout(3, counted)) as f64;
            let (lost, worthless) = (1.0 - comes, comes * (1.0 - worth));
            let failed = lost * timer + worthless * (comes * reported + lost * timer);
            let expected = (d.lossless(3, 1, 5) as f64 + failed / (comes * worth)) / (d.scale as f64 * 1e6);
            let (mean, error) = mean_us(p, 3, 240, 200_000);
            assert!((mean - expected).abs() < 4.0 * error, "{timeout:?}: {mean} +- {error}, not {expected}");
        }
    }

    /// The sender goes on when an acknowledgement of all comes, and acknowledgements are lost as packets are: each try is heard of with the chance of both ways.
    #[test]
    fn one_packet_of_coding_is_acknowledged_after_its_exact_expectation() {
        for (timeout, counted) in [(Timeout::Window, 5), (Timeout::Packet, 1)] {
            let p = Parameters { loss: 0.1, timeout, ..Parameters::table2(Protocol::Pnc) };
            let d = p.delays().unwrap();
            let path = Path::uniform(3, p.loss, 0.0).unwrap();
            let (comes, worth) = (path.delivery(), (255.0f64 / 256.0).powi(3));
            let reported = (d.send + d.forth(3) + d.back(3)) as f64;
            let timer = (d.send + d.timeout(3, counted)) as f64;
            // From when the receiver has it: what fails costs a timer.
            let heard = comes * comes;
            let rest = reported + (1.0 - heard) / heard * timer;
            // A worthless packet that is heard of is followed at once, by one that may be worth as much as the first.
            let (there, worthless) = (comes * worth, comes * (1.0 - worth));
            let first = there * (comes * reported + (1.0 - comes) * (timer + rest))
                + worthless * (comes * reported + (1.0 - comes) * timer)
                + (1.0 - comes) * timer;
            let expected = d.injection as f64 + first / there;
            let point = Point { parameters: &p, path: &path, packets: 1, seed: 11 };
            let all = sample(&point, 100_000, 2).unwrap().acknowledged;
            let (mean, error) = (all.mean(), all.standard_error());
            assert!((mean - expected).abs() < 4.0 * error, "{timeout:?}: {mean} +- {error}, not {expected}");
        }
    }

    #[test]
    fn redundancy_pays_and_threads_do_not_matter() {
        let time = |protocol| mean_us(Parameters::table2(protocol), 6, 3264, 20_000).0;
        assert!(time(Protocol::Ncd) < time(Protocol::Pnc));
        let p = Parameters::table2(Protocol::Ncd);
        let path = Path::uniform(4, 0.02, 0.01).unwrap();
        for protocol in Protocol::ALL {
            let parameters = Parameters { protocol, ..p };
            let point = Point { parameters: &parameters, path: &path, packets: 7, seed: 3 };
            let one = sample(&point, 5_000, 1).unwrap();
            assert_eq!(one, sample(&point, 5_000, 3).unwrap());
            assert_ne!(one, sample(&Point { seed: 4, ..point }, 5_000, 3).unwrap());
            assert_eq!(one.time.samples, 5_000);
        }
    }
}
