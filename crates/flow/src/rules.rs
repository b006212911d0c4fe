//! What a preset says about a flow: factors by size, weight, cap, what the way back takes.

/// Factors of messages that are larger than a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The threshold in bytes.
    pub above: u64,
    /// Factor on the bandwidth of each link.
    pub bandwidth: f64,
    /// Factor on the latency of the route.
    pub latency: f64,
}

const fn step(above: u64, bandwidth: f64, latency: f64) -> Step {
    Step { above, bandwidth, latency }
}

/// Factors of SimGrid's SMPI model, smallest threshold first. Up to the first all factors are 1.
pub const SMPI: &[Step] = &[
    step(0, 0.812_084, 2.014_67),
    step(257, 0.338_112, 1.953_41),
    step(732, 0.341_987, 1.950_3),
    step(1426, 0.608_902, 1.610_75),
    step(3484, 0.774_93, 1.881_01),
    step(5776, 1.087_39, 2.187_96),
    step(9376, 0.587_29, 2.592_99),
    step(15_424, 0.697_866, 3.488_45),
    step(65_472, 0.940_694, 11.643_6),
];

/// Rules of sharing.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Factors by size; the largest threshold strictly below the size counts.
    pub factors: Vec<Step>,
    /// True: flows are weighted by 1 / (latency + sum of `scale` / bandwidth); false: all alike.
    pub weighted: bool,
    /// S, in bytes: see `weighted`.
    pub scale: f64,
    /// Bytes in flight at most: a flow gets at most `window` / (2 latency). None: no such cap.
    pub window: Option<f64>,
    /// Part of a flow that its way back takes (acknowledgements).
    pub cross: f64,
    /// A flow never gets more than the slowest of its links had when it began, even if that link becomes faster.
    pub frozen: bool,
}

impl Rules {
    /// Equal shares and nothing else.
    #[must_use]
    pub fn plain() -> Self {
        Self { factors: Vec::new(), weighted: false, scale: 0.0, window: None, cross: 0.0, frozen: false }
    }

    /// SimGrid's CM02 without window and cross-traffic: shares are as 1 / latency.
    #[must_use]
    pub fn maxmin() -> Self {
        Self { weighted: true, frozen: true, ..Self::plain() }
    }

    /// SimGrid's CM02: [`Rules::maxmin`] with a window of 4 MiB, and 5 % of each flow on its way back.
    #[must_use]
    pub fn cm02() -> Self {
        Self { window: Some(4_194_304.0), cross: 0.05, ..Self::maxmin() }
    }

    /// SimGrid's LV08, its default.
    #[must_use]
    pub fn lv08() -> Self {
        Self { factors: vec![step(0, 0.97, 13.01)], scale: 20_537.0, ..Self::cm02() }
    }

    /// SimGrid's SMPI: [`Rules::cm02`] with factors by size ([`SMPI`]) and a scale of 8775 B.
    #[must_use]
    pub fn smpi() -> Self {
        Self { factors: SMPI.to_vec(), scale: 8_775.0, ..Self::cm02() }
    }

    /// Factors on bandwidth and latency for a size.
    #[must_use]
    pub fn factors(&self, bytes: u64) -> (f64, f64) {
        if let [Step { above: 0, bandwidth, latency }] = self.factors[..] {
            // A factor without thresholds holds for empty messages as well.
            return (bandwidth, latency);
        }
        debug_assert!(self.factors.is_sorted_by_key(|s| s.above), "thresholds ascend");
        let step = self.factors.iter().rev().find(|s| s.above < bytes);
        step.map_or((1.0, 1.0), |s| (s.bandwidth, s.latency))
    }

    /// Weight of a flow whose links have this latency in seconds and these bandwidths.
    #[must_use]
    pub fn weight(&self, latency: f64, bandwidths: impl Iterator<Item = f64>) -> f64 {
        debug_assert!(latency >= 0.0, "a route's latency is not negative");
        if !self.weighted || latency == 0.0 {
            return 1.0;
        }
        let penalty =
            if self.scale > 0.0 { bandwidths.fold(latency, |sum, c| sum + self.scale / c) } else { latency };
        1.0 / penalty
    }

    /// The most that a flow may get; infinite for no cap. `slowest` is the least bandwidth of its links, `rate` its own cap in bytes per second, `factor`
    /// its factor on bandwidth.
    #[must_use]
    pub fn cap(&self, latency: f64, slowest: f64, rate: Option<f64>, factor: f64) -> f64 {
        debug_assert!(slowest >= 0.0, "a bandwidth is not negative");
        let frozen = if self.frozen { slowest } else { f64::INFINITY };
        frozen.min(self.windowed(latency)).min(rate.map_or(f64::INFINITY, |rate| rate / factor))
    }

    /// The most that a window lets a flow get on a way of such a latency in seconds; infinite without a window.
    #[must_use]
    pub fn windowed(&self, latency: f64) -> f64 {
        match self.window {
            Some(bytes) if latency > 0.0 => bytes / (2.0 * latency),
            _ => f64::INFINITY,
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these numbers are exact")]
mod tests {
    use super::*;

    #[test]
    fn factors_change_above_their_thresholds() {
        let rules = Rules::smpi();
        let at = |bytes| rules.factors(bytes);
        assert_eq!(at(0), (1.0, 1.0));
        assert_eq!(at(1), (0.812_084, 2.014_67));
        assert_eq!(at(257), (0.812_084, 2.014_67));
        assert_eq!(at(258), (0.338_112, 1.953_41));
        assert_eq!(at(65_472), (0.697_866, 3.488_45));
        assert_eq!(at(65_473), (0.940_694, 11.643_6));
        assert_eq!(Rules::lv08().factors(0), (0.97, 13.01));
        assert_eq!(Rules::plain().factors(1000), (1.0, 1.0));
    }

    #[test]
    fn weights_and_caps() {
        assert_eq!(Rules::plain().weight(1e-6, [1.0].into_iter()), 1.0);
        assert_eq!(Rules::maxmin().weight(1e-6, [1.0].into_iter()), 1e6);
        assert_eq!(Rules::lv08().weight(0.0, [1.0].into_iter()), 1.0);
        let lv08 = 1.0 / Rules::lv08().weight(1e-6, [1e9, 1e9].into_iter());
        assert!((lv08 - (1e-6 + 2.0 * 20_537e-9)).abs() < 1e-20);
        // A path of 10 ms tops at 209.7 MB/s.
        assert!((Rules::cm02().cap(1e-2, 1e9, None, 1.0) - 209_715_200.0).abs() < 1e-6);
        assert_eq!(Rules::cm02().cap(0.0, 1e9, Some(97.0), 0.97), 100.0);
        assert_eq!(Rules::plain().cap(1e-2, 1e9, None, 1.0), f64::INFINITY);
    }
}
