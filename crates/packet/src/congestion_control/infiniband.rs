//! InfiniBand's congestion control: marks beyond a threshold, a table of delays between packets, an index that notifications raise and a timer lowers.

use super::scheme::{Built, Context, Gauge, Mark, Pace, Scheme, SchemeEntry, Seen, Sent, WHOLE};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
    time::{NS, Ps},
};
use std::sync::Arc;

/// Entries of the table if none is given.
const ENTRIES: u64 = 128;

/// The scheme `infiniband`.
pub const ENTRY: SchemeEntry = SchemeEntry {
    about: About {
        name: "infiniband",
        summary: "marks beyond a threshold; a table of delays between packets, raised by notifications, lowered by a timer",
        doc: "A packet is marked (FECN) when more waits for its output than a threshold and the output is the root of congestion: it has credits, so its link holds it back and not the buffer \
              behind. Outputs in `victim_mask` mark without credits, too. The threshold of weight w is (16 - w)/16 of `vc_buffer` of the output's link. Each marked packet \
              that arrives is answered by a notification (BECN). It raises the index into the table (CCTI) of its queue pair, or of its service level. After a packet of time t a flow pauses for t times \
              the entry, divided by 2^`cct_shift`. The timer lowers every index by one at multiples of `ccti_timer`. The specification leaves all settings to the user. An index that a burst drove to its limit takes as many timers to come back: 19.5 ms with the defaults, so warm-ups are long. \
              Not modelled: a trigger threshold above one (it only logs), the congestion log, credit starvation, the numbers of cells in which real devices count buffers.",
        source: "InfiniBand Architecture Specification, volume 1, annex A10; Mellanox' congestion control manager for OpenSM (defaults of threshold, marking rate and increase; form of the table). Defaults of \
                 limit and timer are choices of ours: the table's last entry, and 150 units of a device",
        params: &[
            Param {
                name: "threshold",
                kind: Kind::Int { min: 0, max: 15 },
                default: Some("15"),
                doc: "Weight of the threshold: 0 marks nothing, 1 is the highest threshold, 15 the lowest.",
            },
            Param {
                name: "marking_rate",
                kind: Kind::Int { min: 0, max: 65_535 },
                default: Some("10"),
                doc: "Packets of an output that could be marked and pass between two that are marked; 0: all are marked.",
            },
            Param {
                name: "packet_size",
                kind: Kind::Bytes,
                default: Some("0 B"),
                doc: "Packets with less payload are not marked.",
            },
            Param {
                name: "victim_mask",
                kind: Kind::Choice(&["terminals", "all", "none"]),
                default: Some("terminals"),
                doc: "Outputs that mark packets also while they lack credits: those to terminals, as is usual, all or none.",
            },
            Param {
                name: "per",
                kind: Kind::Choice(&["queue-pair", "service-level"]),
                default: Some("queue-pair"),
                doc: "What has an index of its own: each pair of terminals, or each sending terminal, whose messages then keep their order.",
            },
            Param {
                name: "ccti_increase",
                kind: Kind::Int { min: 1, max: 255 },
                default: Some("1"),
                doc: "By how much a notification raises the index.",
            },
            Param {
                name: "ccti_limit",
                kind: Kind::Int { min: 1, max: 65_535 },
                default: Some("127"),
                doc: "Largest index; the table has an entry for it. Entries of a longer `cct` are never used.",
            },
            Param {
                name: "ccti_min",
                kind: Kind::Int { min: 0, max: 255 },
                default: Some("0"),
                doc: "Smallest index; above 0 all flows are slowed from the start.",
            },
            Param {
                name: "ccti_timer",
                kind: Kind::Time,
                default: Some("153.6 us"),
                doc: "Time after which every index is lowered by one; devices count it in units of 1.024 us.",
            },
            Param {
                name: "cct",
                kind: Kind::Ints { min: 0, max: 16_383 },
                default: Some("[]"),
                doc: "The congestion control table: multipliers of a packet's time, by index, never falling. []: 7 i^2 / (95^2 x 0.218), rounded down, for i from 0 to 127.",
            },
            Param {
                name: "cct_shift",
                kind: Kind::Int { min: 0, max: 3 },
                default: Some("0"),
                doc: "Multipliers are divided by 2 to this power.",
            },
        ],
    },
    build,
};

/// The usual table: 7 i^2 / (95^2 x 0.218), rounded down.
#[must_use]
pub fn usual_table() -> Vec<u64> {
    // 0.218 = 218 / 1000: exact in integers.
    (0..ENTRIES).map(|i| 7 * i * i * 1000 / (95 * 95 * 218)).collect()
}

/// Settings of the scheme, resolved.
#[derive(Clone, Debug)]
struct InfiniBand {
    weight: u64,
    marking_rate: u32,
    packet_size: u32,
    /// Outputs that mark without credits: to terminals, and others.
    victims: (bool, bool),
    shared: bool,
    increase: u64,
    limit: u64,
    least: u64,
    timer: Ps,
    table: Vec<u64>,
    shift: u32,
}

fn build(values: &Values, _: Context) -> Built {
    let mut problems = Vec::new();
    let given = values.ints("cct");
    let table = if given.is_empty() { usual_table() } else { given };
    let (limit, least) = (values.int("ccti_limit"), values.int("ccti_min"));
    if limit >= table.len() as u64 {
        let message = format!("the table has {} entries, from 0; `ccti_limit` is {limit}", table.len());
        problems.push(Problem::new("ccti_limit", message).help("lower it, or give a longer `cct`"));
    }
    if least > limit {
        let message = format!("the smallest index, {least}, is above the largest, {limit}");
        problems.push(Problem::new("ccti_min", message));
    }
    if !table.is_sorted() {
        let message = "a higher index would send faster: the entries fall somewhere";
        problems.push(Problem::new("cct", message));
    }
    let timer = values.time("ccti_timer");
    if timer < NS {
        problems.push(Problem::new("ccti_timer", "the timer takes 1 ns or more"));
    }
    let packet_size = values.int("packet_size");
    if packet_size > u64::from(u32::MAX) {
        problems.push(Problem::new("packet_size", "no packet is so large"));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mask = values.text("victim_mask");
    Ok(Arc::new(InfiniBand {
        weight: values.int("threshold"),
        marking_rate: values.u32("marking_rate"),
        packet_size: packet_size as u32,
        victims: (mask != "none", mask == "all"),
        shared: values.text("per") == "service-level",
        increase: values.int("ccti_increase"),
        limit,
        least,
        timer,
        table,
        shift: values.u32("cct_shift"),
    }))
}

impl InfiniBand {
    /// The index of a pace at an instant: words are the index after the last notification, and when that was.
    fn index(&self, pace: &Pace, at: Ps) -> u64 {
        let Pace([index, since, ..]) = *pace;
        // The timer runs on its own: it ends at its multiples, for all flows at once.
        let ended = at / self.timer - since / self.timer;
        index.saturating_sub(ended).max(self.least)
    }
}

impl Scheme for InfiniBand {
    fn is_marking(&self) -> bool {
        self.weight > 0
    }

    fn reach(&self, buffer: u64) -> u64 {
        buffer * (16 - self.weight) / 16
    }

    fn mark(&self, seen: &Seen) -> Mark {
        let counts = seen.bytes >= self.packet_size;
        let root = seen.credits || if seen.out { self.victims.0 } else { self.victims.1 };
        if !counts || !root || seen.queue <= self.reach(seen.buffer) {
            Mark::Clear
        } else if seen.passed < self.marking_rate {
            Mark::Passed
        } else {
            Mark::Marked
        }
    }

    fn is_shared(&self) -> bool {
        self.shared
    }

    fn notified(&self, pace: &mut Pace, at: Ps) {
        let index = (self.index(pace, at) + self.increase).min(self.limit);
        *pace = Pace([index, at, 0, 0, 0, 0, 0]);
    }

    fn sent(&self, pace: &mut Pace, sent: Sent) -> Ps {
        let multiplier = self.table[self.index(pace, sent.at) as usize];
        sent.own + (sent.own.saturating_mul(multiplier) >> self.shift)
    }

    fn gauge(&self, pace: &Pace, at: Ps) -> Gauge {
        let index = self.index(pace, at);
        let one = 1u64 << self.shift;
        let rate = u64::from(WHOLE) * one / (one + self.table[index as usize]);
        Gauge { rate: rate as u32, level: index as u32 }
    }

    fn level(&self) -> Option<&'static str> {
        Some("ccti")
    }

    fn is_recovered(&self, pace: &Pace, at: Ps) -> bool {
        self.index(pace, at) == self.least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{
        param::Value,
        rng::{Purpose, Stream},
        time::US,
    };

    fn built(given: &[(&str, Value)]) -> Built {
        let find = |key: &str| given.iter().find(|g| g.0 == key).map(|g| g.1.clone());
        let values = Values::complete(ENTRY.about.params, find);
        build(&values, Context { rate: 25_000_000_000 })
    }

    fn scheme(given: &[(&str, Value)]) -> Arc<dyn Scheme> {
        built(given).unwrap_or_else(|p| panic!("{p:?}"))
    }

    fn seen(queue: u64) -> Seen {
        let random = Stream::new(1, Purpose::Test, 0);
        Seen { queue, buffer: 16_000, credits: true, out: false, bytes: 1024, passed: 0, random }
    }

    #[test]
    fn marks_begin_beyond_the_threshold_of_the_root() {
        for weight in 1..=15u64 {
            let scheme = scheme(&[("threshold", Value::Int(weight)), ("marking_rate", Value::Int(0))]);
            let threshold = 1000 * (16 - weight);
            assert!(scheme.is_marking());
            assert_eq!(scheme.reach(16_000), threshold);
            assert_eq!(scheme.mark(&seen(threshold)), Mark::Clear, "weight {weight}");
            assert_eq!(scheme.mark(&seen(threshold + 1)), Mark::Marked, "weight {weight}");
            // A victim: the buffer behind holds it back. Outputs to terminals are in the mask.
            assert_eq!(scheme.mark(&Seen { credits: false, ..seen(16_000) }), Mark::Clear);
            assert_eq!(scheme.mark(&Seen { credits: false, out: true, ..seen(16_000) }), Mark::Marked);
        }
        assert!(!scheme(&[("threshold", Value::Int(0))]).is_marking());
        let small = scheme(&[("packet_size", Value::Int(1025)), ("marking_rate", Value::Int(0))]);
        assert_eq!(small.mark(&seen(16_000)), Mark::Clear);
        // Two pass between two that are marked.
        let rare = scheme(&[("marking_rate", Value::Int(2))]);
        let marks = [0, 1, 2].map(|passed| rare.mark(&Seen { passed, ..seen(16_000) }));
        assert_eq!(marks, [Mark::Passed, Mark::Passed, Mark::Marked]);
    }

    /// A scripted case: what the index is, and how long a packet of 100 ns makes its flow pause.
    #[test]
    fn the_index_rises_and_falls_as_the_rules_say() {
        let table = Value::Ints(vec![0, 1, 2, 4, 8, 16]);
        let given = [
            ("cct", table),
            ("ccti_limit", Value::Int(5)),
            ("ccti_increase", Value::Int(2)),
            ("ccti_min", Value::Int(1)),
            ("ccti_timer", Value::Time(10 * US)),
            ("cct_shift", Value::Int(1)),
        ];
        let scheme = scheme(&given);
        let mut pace = Pace::default();
        let mut at = |time: Ps, notified: bool| {
            if notified {
                scheme.notified(&mut pace, time);
            }
            let sent = Sent { bytes: 1024, own: 100_000, at: time };
            let Gauge { level, rate } = scheme.gauge(&pace, time);
            (level, scheme.sent(&mut pace, sent), rate, scheme.is_recovered(&pace, time))
        };
        // At rest at the least index: entry 1, halved: a pause of half a packet after the packet.
        assert_eq!(at(0, false), (1, 150_000, 666_666, true));
        assert_eq!(at(3 * US, true), (3, 300_000, 333_333, false));
        // 4 + 2 is beyond the limit; then the timer ends at its multiples, not a period after the notification.
        assert_eq!(at(4 * US, true), (5, 900_000, 111_111, false));
        assert_eq!(at(10 * US - 1, false).0, 5);
        assert_eq!(at(10 * US, false).0, 4);
        assert_eq!(at(39 * US, false), (2, 200_000, 500_000, false));
        // A notification at the very end of the timer: one down, two up.
        assert_eq!(at(40 * US, true), (3, 300_000, 333_333, false));
        assert_eq!(at(60 * US, false), (1, 150_000, 666_666, true));
        assert_eq!(at(900 * US, false).0, 1);
    }

    #[test]
    fn the_usual_table_is_the_published_formula() {
        let table = usual_table();
        let of = |i: f64| (7.0 * i * i / (95.0 * 95.0) / 0.218) as u64;
        assert!((0..ENTRIES).all(|i| table[i as usize] == of(i as f64)));
        assert_eq!((table[16], table[17], table[127]), (0, 1, 57));
    }

    /// A second implementation that lets each timer end, one by one, against the lazy count.
    #[test]
    fn random_notifications_agree_with_a_timer_that_ends_each_time() {
        for seed in 0..40 {
            let mut random = Stream::new(seed, Purpose::Test, 1);
            let (limit, least) = (1 + random.below(126), random.below(2));
            let (increase, timer) = (1 + random.below(9), 1000 * (1 + random.below(50)));
            let given = [
                ("ccti_limit", Value::Int(limit)),
                ("ccti_min", Value::Int(least)),
                ("ccti_increase", Value::Int(increase)),
                ("ccti_timer", Value::Time(timer)),
            ];
            let (scheme, table) = (scheme(&given), usual_table());
            let (mut pace, mut index, mut now, mut next) = (Pace::default(), least, 0, timer);
            for _ in 0..2000 {
                let part = 1 + random.below(40);
                now += random.below(3 * timer / part);
                while next <= now {
                    index = if index > least { index - 1 } else { index };
                    next += timer;
                }
                if random.below(3) == 0 {
                    index = (index + increase).min(limit);
                    scheme.notified(&mut pace, now);
                }
                let sent = Sent { bytes: 64, own: 5_120, at: now };
                let pause = scheme.sent(&mut pace, sent);
                assert_eq!(pause, 5_120 * (1 + table[index as usize]), "seed {seed} at {now}");
                assert_eq!(scheme.is_recovered(&pace, now), index == least);
            }
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_refused_by_name() {
        let refused = |key: &str, value: Value| {
            let problems = built(&[(key, value)]).err().unwrap_or_default();
            problems.iter().map(|p| p.key.clone()).collect::<Vec<_>>()
        };
        assert_eq!(refused("ccti_limit", Value::Int(128)), ["ccti_limit"]);
        assert_eq!(refused("ccti_min", Value::Int(128)), ["ccti_min"]);
        assert_eq!(refused("cct", Value::Ints(vec![3, 2])), ["ccti_limit", "cct"]);
        assert_eq!(refused("ccti_timer", Value::Time(10)), ["ccti_timer"]);
    }
}
