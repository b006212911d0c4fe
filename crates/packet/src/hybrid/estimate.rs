//! By how much a run's mean latency may be off because packets were predicted.
//!
//! Four things make a run's mean wrong because of a stay. The window that was learned from is a sample: its mean has a standard error, by batch
//! means with Student's t. The stay itself would have been one, of its own length. And traffic or treatment may have changed, which the stretch after
//! the return shows: the mean that was predicted beside the mean that the network has then. The first two are independent, so their squares add up;
//! the third is a measurement of all of them, so the greater counts. A stay weighs as much as its share of the packets. The fourth is what a network misses
//! that does not run: where latency drifts (`drift.rs`), what is learned is older than what is predicted, and after the return the network is as much younger as
//! it stood still. That concerns all packets from the first stay on. An emptied network is taken as if it had been suspended.

use super::learn::Seen;
use base::time::Ps;
use results::batch::{Batch, confidence};
use serde::{Deserialize, Serialize};

/// Half-width of a window's mean above which the window was too short, as a fraction of the mean.
const TOO_WIDE: f64 = 0.1;

/// What is known of a window of which nothing can be said: it may be off by all of its mean.
const UNKNOWN: f64 = 1.0;

/// What a predictor learned from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Half-width of its mean latency at 95 %, as a fraction; none if it has too few batches.
    half_width: Option<f64>,
    /// How long it was.
    span: Ps,
}

impl Window {
    /// Of batches of `width` each, by time; the first and the last may be shorter.
    #[must_use]
    pub fn of(batches: &[(u64, Seen)], width: Ps) -> Self {
        let (Some(&(first, _)), Some(&(last, _))) = (batches.first(), batches.last()) else {
            return Self::default();
        };
        debug_assert!(batches.is_sorted_by_key(|b| b.0), "batches ascend");
        // A batch without deliveries is evidence too.
        let mut all = vec![Batch::default(); (last - first + 1).min(MOST) as usize];
        for &(at, Seen { count, sum }) in batches {
            if let Some(batch) = all.get_mut((at - first) as usize) {
                *batch = Batch { count, sum };
            }
        }
        // The last of an odd number stays as it is: a ratio of sums takes batches of any length.
        let pairs = |fine: &[Batch]| -> Vec<Batch> {
            let add = |pair: &[Batch]| Batch {
                count: pair.iter().map(|b| b.count).sum(),
                sum: pair.iter().map(|b| b.sum).sum(),
            };
            fine.chunks(2).map(add).collect()
        };
        let relative = |batches: &[Batch]| {
            let found = confidence(batches)?;
            (found.mean > 0.0).then(|| found.half_width / found.mean)
        };
        // Neighbours are alike where queues last longer than a batch: batches of twice the length show by how much more.
        let (fine, coarse) = (relative(&all), relative(&pairs(&all)));
        let half_width = fine.map(|fine| coarse.map_or(fine, |coarse| coarse.max(fine)));
        Self { half_width, span: (last - first + 1) * width }
    }

    /// How long it was.
    #[must_use]
    pub fn span(&self) -> Ps {
        self.span
    }
}

/// Most batches of a window that are looked at.
const MOST: u64 = 1 << 12;

/// What a stay predicted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stay {
    /// What was learned from.
    pub window: Window,
    /// How long it was.
    pub length: Ps,
    /// Packets that were predicted in it and count in the run's mean latency.
    pub packets: u64,
    /// How far off its mean was from that of the network after it, as a fraction.
    pub checked: Option<f64>,
    /// Packets that the network delivered between it and the next stay, and count.
    pub after: u64,
}

/// What predictions are worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean latency of the run may be off by this fraction of it, at 95 %.
    pub error: f64,
    /// A window was too short to say, or said that its mean is off by more than a tenth.
    pub short: bool,
}

/// Of a run in whose mean latency so many packets count, and which drifts by so much of that mean in a picosecond; none if nothing was predicted.
#[must_use]
pub fn estimate(stays: &[Stay], measured: u64, drift: f64) -> Option<Estimate> {
    let predicted = |s: &&Stay| s.packets > 0;
    if !stays.iter().any(|s| predicted(&s)) {
        return None;
    }
    // The stay that high fidelity would have seen is a sample as well, the shorter the wider. Both are independent samples of one mean.
    let known = |stay: &Stay| {
        let Window { half_width, span } = stay.window;
        let known = half_width.unwrap_or(UNKNOWN) * (1.0 + span as f64 / stay.length.max(1) as f64).sqrt();
        known.max(stay.checked.unwrap_or(0.0))
    };
    // Not the root of squares: stays follow one another, and what misleads one window mostly misleads the next.
    let (mut sum, mut stood) = (0.0, 0.0);
    for stay in stays {
        // From the middle of the window to the middle of the stay, and what the network had missed by then.
        let aged = stood + (stay.window.span + stay.length) as f64 / 2.0;
        sum += known(stay).max(drift * aged) * stay.packets as f64;
        stood += stay.length as f64;
        sum += drift * stood * stay.after as f64;
    }
    let short = |s: &Stay| s.window.half_width.is_none_or(|h| h > TOO_WIDE);
    let short = stays.iter().filter(predicted).any(short);
    Some(Estimate { error: sum / measured.max(1) as f64, short })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batches(means: &[u64]) -> Vec<(u64, Seen)> {
        let seen = |mean: u64| Seen { count: 10, sum: u128::from(10 * mean) };
        means.iter().enumerate().map(|(n, &mean)| (n as u64 + 7, seen(mean))).collect()
    }

    #[test]
    fn what_wanders_is_less_certain_than_what_alternates() {
        let alternating: Vec<u64> = (0..16).map(|n| 100 + 20 * (n % 2)).collect();
        let wandering: Vec<u64> = (0..16).map(|n| 100 + 20 * (n / 4 % 2)).collect();
        let [a, w, e] = [&alternating, &wandering, &vec![100; 16]]
            .map(|m| Window::of(&batches(m), 5).half_width.unwrap());
        assert!((e, a, w) == (0.0, a, w) && a > 0.03 && w > 1.3 * a, "{e} {a} {w}");
        assert_eq!(Window::of(&batches(&alternating), 5).span, 80);
        assert_eq!(Window::of(&batches(&[1; 3]), 5).half_width, None, "too few");
    }

    #[test]
    fn windows_stays_and_checks_add_up() {
        let window = Window { half_width: Some(0.03), span: 100 };
        let stay = Stay { window, length: 100, packets: 50, checked: None, after: 20 };
        let error = |stays: &[Stay]| estimate(stays, 100, 0.0).unwrap();
        assert!((error(&[stay]).error - 0.5 * 0.03 * 2f64.sqrt()).abs() < 1e-12);
        assert!((error(&[Stay { checked: Some(0.2), ..stay }]).error - 0.1).abs() < 1e-12);
        assert!(!error(&[stay]).short);
        let unknown = error(&[stay, Stay { window: Window::default(), ..stay }]);
        assert!(unknown.short && unknown.error > 0.5);
        assert_eq!(estimate(&[Stay { packets: 0, ..stay }], 100, 0.0), None);
    }

    /// Twice the same stay in a drift of a thousandth per picosecond: what is predicted lags by 100 ps and then by 200, what the network delivers by 100 and 200.
    #[test]
    fn a_drift_concerns_what_is_delivered_after_a_stay_too() {
        let window = Window { half_width: Some(0.03), span: 100 };
        let stay = Stay { window, length: 100, packets: 20, checked: None, after: 30 };
        let drifting = estimate(&[stay, stay], 100, 0.001).unwrap().error;
        assert!((drifting - (0.2 * 0.1 + 0.3 * 0.1 + 0.2 * 0.2 + 0.3 * 0.2)).abs() < 1e-12, "{drifting}");
        let slight = estimate(&[stay], 100, 0.0001).unwrap().error;
        assert!((slight - (0.2 * 0.03 * 2f64.sqrt() + 0.3 * 0.01)).abs() < 1e-12, "{slight}");
    }
}
