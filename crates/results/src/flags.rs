//! The flags of verdicts: each name once, with what it says and what to do.

/// States and flags of a [`crate::summary::Verdict`], gravest state first, with their meanings.
pub const FLAGS: &[(&str, &str)] = &[
    ("deadlock", "packets or ranks wait for each other in a cycle; `detail` names it"),
    ("starved", "a source or packet waits without bound while others pass"),
    (
        "incomplete",
        "a limit ended the run before the workload was done; means describe a part of it. Also the state of runs whose programs are not whole",
    ),
    ("saturated", "sources offer more than the network accepts: latency depends on the length of the run"),
    ("not-stationary", "the mean latency drifts: the run is too short, or its warm-up"),
    ("approximate", "shares of links were found late, by the part of the times that `accuracy` allows"),
    ("clipped-sums", "ranks sent 2^64 bytes or more, or were busy for 2^64 ps: such sums end at 2^64 - 1"),
    ("contradicts-fabric", "delays written in the file differ from those that `[fabric]` gives"),
    (
        "divided-by-load",
        "the routing chooses among paths by load; this model divides messages as it would, but knows no queues",
    ),
    ("divided-evenly", "packets choose among paths by chance; this model divides messages equally over them"),
    (
        "input-dropped",
        "records of a file were read and not simulated; `detail` counts them, and if they moved messages the run is incomplete",
    ),
    (
        "mismatched-collectives",
        "ranks call different collectives, or with different sizes: no such program can run, so the run is incomplete",
    ),
    (
        "no-credits",
        "buffers hold less than their links carry until credits return; this model does not wait for credits, or within a message alone",
    ),
    ("never-predicted", "a hybrid run never left its network: all of it is model `packet`"),
    ("no-failure", "links were to fail, or a bandwidth to change, after the end of the run"),
    (
        "out-of-order",
        "adapters without room handed packets on before earlier ones: enlarge `buffer` of `[adapter]`",
    ),
    ("outside-validated-range", "the model was compared with others only below the load of this run"),
    ("short-window", "a hybrid run learned from too short a window to say how far it may be off"),
    (
        "shortest-paths",
        "the routing's paths are not the shortest ones; this model's delays are those of the shortest",
    ),
    ("single-path", "the routing spreads traffic; this model sends each message over one path"),
    (
        "sources-ended",
        "all messages were there before the run ended: throughput and the use of links are means over all of its time",
    ),
    (
        "starts-in-past",
        "of several processors of a rank each has its own clock, as in LogGOPSim: an operation may start before one of another processor that it waits for is over",
    ),
    ("still-filling", "ever more is under way, as in a network that fills: run longer"),
    (
        "too-few-samples",
        "too few deliveries to say whether the mean is steady, or the mean is known within more than 20 % only",
    ),
    ("truncated-messages", "messages are longer than the receives that they met"),
    ("unfinished-programs", "the run ended at its time with operations of ranks left"),
    ("unreachable", "some pairs have no path; their messages are not counted"),
    (
        "unreceived-messages",
        "messages arrived for which no receive was posted: receives are missing, so the run is incomplete",
    ),
];

/// True if `flag` has a line of its own.
#[must_use]
pub fn is_known(flag: &str) -> bool {
    FLAGS.iter().any(|(name, _)| *name == flag)
}
