//! Mistakes that the naive model can make on purpose.

/// Faults that can be planted: a case that shows one of them would show the same fault in the crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A fat pipe is a link that flows share.
    PipeIsShared,
    /// At a fat pipe both directions add up.
    PipeAdds,
    /// The window is no cap.
    NoWindow,
    /// The rate of a message's own is no cap.
    NoRate,
    /// A rate of a message's own counts its headers too.
    RateOfWork,
    /// The slowest link is that of now, not of the beginning.
    NotFrozen,
    /// A link without bandwidth is the slowest for ever.
    FrozenAtZero,
    /// All flows have the same weight.
    NoWeight,
    /// Weights are those of the bandwidths at the beginning.
    WeightStays,
    /// Weights have latencies with their factors.
    WeightWithFactor,
    /// The way back takes nothing.
    NoCross,
    /// On a link there and back the greater part counts.
    CrossOnce,
    /// Nobody waits for a latency.
    NoLatency,
    /// Who waits for its latency takes its share.
    LatencyTakes,
    /// A threshold counts for messages of its size.
    ThresholdCounts,
    /// Bandwidths do not change.
    NoChange,
    /// Of changes at one time the first holds.
    FirstChangeHolds,
    /// What a link was given while it was down is lost.
    DownForgets,
    /// Each link of a divided route takes all.
    Undivided,
    /// Each takes what its own bottleneck gives it, whatever others leave.
    SolvedOnce,
    /// What one bottleneck leaves of a link is taken from its capacity once for all flows.
    ForgetsFixed,
    /// Of equal flows the youngest ends first.
    YoungestFirst,
    /// Messages without bytes wait until their links have bandwidth.
    EmptyWaits,
    /// A detour begins without latency.
    DetourAtOnce,
    /// A detour begins with a latency without its factor.
    DetourNoFactor,
    /// A detour begins from the first byte.
    DetourAnew,
}

/// All of them.
pub const FAULTS: &[Fault] = &[
    Fault::PipeIsShared,
    Fault::PipeAdds,
    Fault::NoWindow,
    Fault::NoRate,
    Fault::RateOfWork,
    Fault::NotFrozen,
    Fault::FrozenAtZero,
    Fault::NoWeight,
    Fault::WeightStays,
    Fault::WeightWithFactor,
    Fault::NoCross,
    Fault::CrossOnce,
    Fault::NoLatency,
    Fault::LatencyTakes,
    Fault::ThresholdCounts,
    Fault::NoChange,
    Fault::FirstChangeHolds,
    Fault::DownForgets,
    Fault::Undivided,
    Fault::SolvedOnce,
    Fault::ForgetsFixed,
    Fault::YoungestFirst,
    Fault::EmptyWaits,
    Fault::DetourAtOnce,
    Fault::DetourNoFactor,
    Fault::DetourAnew,
];
