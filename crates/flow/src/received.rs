//! Bytes that arrive in the measured time. A message counts by what of it arrives then, whenever it began, as packets do on `packet`.

use super::{fine_time::FineTime, rules::Rules, sharing::Sharing};
use base::time::Ps;

/// What messages under way at the end of the warm-up have received by then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Received {
    /// End of the warm-up.
    from: Ps,
    /// In bytes, once that time has come.
    before: Option<f64>,
}

impl Received {
    /// Nothing has arrived. `from` is the end of the warm-up.
    #[must_use]
    pub fn new(from: Ps) -> Self {
        Self { from, before: (from == 0).then_some(0.0) }
    }

    /// Looks at what is under way, if the warm-up ends before `next`, the instant to which the sharing goes on. `bytes` gives a message's bytes by tag.
    #[inline]
    pub fn passes(&mut self, next: FineTime, sharing: &Sharing, rules: &Rules, bytes: impl Fn(u32) -> u64) {
        // Rounded as the times at which messages are whole: each is counted once.
        if self.before.is_none() && next.rounded() >= self.from {
            self.before = Some(of_those_under_way(FineTime::at(self.from), sharing, rules, bytes));
        }
    }

    /// Bytes that arrived from the end of the warm-up to `end`: of whole messages those of all that became whole in that time.
    #[must_use]
    pub fn until(
        mut self,
        end: Ps,
        sharing: &Sharing,
        rules: &Rules,
        bytes: impl Fn(u32) -> u64,
        whole: u64,
    ) -> u64 {
        let end = FineTime::at(end);
        self.passes(end, sharing, rules, &bytes);
        let Some(before) = self.before else { return 0 };
        let after = of_those_under_way(end, sharing, rules, bytes);
        debug_assert!(before >= 0.0 && after >= 0.0, "nothing is received less than not at all");
        (whole as f64 + after - before).max(0.0).round() as u64
    }
}

/// Bytes that messages under way have received by a moment.
fn of_those_under_way(at: FineTime, sharing: &Sharing, rules: &Rules, bytes: impl Fn(u32) -> u64) -> f64 {
    let received = |(tag, left): (u32, f64)| {
        let all = bytes(tag);
        (all as f64 - left * rules.factors(all).0).max(0.0)
    };
    sharing.left(at).map(received).sum()
}
