//! Poisson arrival: independent exponential gaps, also before the first message.

use super::{Arrival, ArrivalContext, stream};
use base::{
    index::RankId,
    param::{Problem, Values},
    registry::About,
    rng::Purpose,
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "poisson",
    summary: "independent exponential gaps",
    doc: "The gap before every message of a rank, the first included, is exponential with mean \
          message / (load * bandwidth), rounded to a picosecond. Ranks are independent. Open-loop M/./1 formulas apply \
          to it.",
    source: "Dally & Towles, Principles and Practices of Interconnection Networks, section 24.2",
    params: &[],
};

struct Poisson {
    /// Mean gap in picoseconds.
    mean: f64,
    seed: u64,
    job: u32,
}

impl Arrival for Poisson {
    fn time(&self, rank: RankId, index: u64, previous: Ps) -> Option<Ps> {
        let u = stream(self.seed, Purpose::Arrival, self.job, rank, index).unit_open();
        // Not negative; the cast saturates.
        let gap = (-libm::log(u) * self.mean).round() as u64;
        previous.checked_add(gap)
    }
}

pub(crate) fn build(context: &ArrivalContext, _: &Values) -> Result<Arc<dyn Arrival>, Vec<Problem>> {
    let mean = context.interval()?.as_f64();
    Ok(Arc::new(Poisson { mean, seed: context.seed, job: context.job }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rate::Bandwidth;

    /// Chi-square over ten bins of equal chance, 9 degrees of freedom; and gaps of a rank do not depend on another's.
    #[test]
    fn gaps_are_exponential_and_independent() {
        let bandwidth = Bandwidth::new(1_000_000_000, 1).unwrap();
        let c = ArrivalContext { seed: 4, job: 0, load: 0.5, bandwidth, bytes: 1000, per: 1 };
        let (a, n, mean) = (build(&c, &Values::default()).unwrap(), 50_000u64, 2e6);
        let mut counts = [0u64; 10];
        for k in 0..n {
            let gap = a.time(RankId::new(7), k, 1_000).unwrap() - 1_000;
            let quantile = 1.0 - (-(gap as f64) / mean).exp();
            counts[((quantile * 10.0) as usize).min(9)] += 1;
        }
        let e = n as f64 / 10.0;
        let chi: f64 = counts.iter().map(|&c| (c as f64 - e).powi(2) / e).sum();
        assert!(chi < 27.9, "{chi}: chance below 0.1 %");
        assert!((0..100).any(|k| a.time(RankId::new(7), k, 0) != a.time(RankId::new(8), k, 0)));
    }
}
