//! DCQCN: marks by chance between two queue lengths, a rate that notifications cut by an estimate of congestion, and three stages of recovery.

use super::scheme::{Built, Context, Gauge, Mark, Pace, Scheme, SchemeEntry, Seen, Sent, WHOLE};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
    time::{NS, Ps},
};
use std::sync::Arc;

/// One, as alpha and g are kept: 32 bits of fraction.
const ONE: u64 = 1 << 32;

/// The scheme `dcqcn`.
pub const ENTRY: SchemeEntry = SchemeEntry {
    about: About {
        name: "dcqcn",
        summary: "marks by chance between two queue lengths; rates cut by an estimate of congestion, recovering in three stages",
        doc: "Data Centre Quantised Congestion Notification. A router marks a packet with a chance that rises from 0 to `pmax` while what waits for its output rises from `kmin` to `kmax`, and \
              always beyond. A destination notifies a source at the first mark and then at most once per `notification_interval`. At a notification the target rate becomes the present rate, that is cut by alpha/2, and alpha, the \
              estimate of congestion, moves to 1 by g; without one for `alpha_timer` it moves to 0 by g. The rate recovers at each end of `increase_timer` and after each `increase_bytes`: `recovery` \
              times half way to the target, then with the target raised by `additive_increase`, and once both counts are beyond `recovery` by `hyper_increase` times the excess. \
              Links have credits in place of priority flow control, so nothing is paused by frames. Rates are of each pair of terminals and count payload. Constants are the paper's where it gives them; \
              `hyper_increase` is ten times `additive_increase` and `min_rate` 100 Mb/s as in its authors' simulator. Devices have other ones.",
        source: "Zhu, Eran, Firestone, Guo, Lipshteyn, Liron, Padhye, Raindel, Yahia, Zhang: Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015",
        params: &[
            Param {
                name: "kmin",
                kind: Kind::Bytes,
                default: Some("5 kB"),
                doc: "Bytes that wait for an output up to which nothing is marked.",
            },
            Param {
                name: "kmax",
                kind: Kind::Bytes,
                default: Some("200 kB"),
                doc: "Bytes beyond which every packet is marked.",
            },
            Param {
                name: "pmax",
                kind: Kind::Real { min: 0.0, max: 1.0 },
                default: Some("0.01"),
                doc: "Chance of a mark at `kmax`.",
            },
            Param {
                name: "notification_interval",
                kind: Kind::Time,
                default: Some("50 us"),
                doc: "Least time between two notifications of one flow.",
            },
            Param {
                name: "alpha_timer",
                kind: Kind::Time,
                default: Some("55 us"),
                doc: "Time without a notification after which alpha falls.",
            },
            Param {
                name: "alpha_shift",
                kind: Kind::Int { min: 1, max: 16 },
                default: Some("8"),
                doc: "g is 2 to minus this power.",
            },
            Param {
                name: "increase_timer",
                kind: Kind::Time,
                default: Some("55 us"),
                doc: "Time after which the rate recovers a step.",
            },
            Param {
                name: "increase_bytes",
                kind: Kind::Bytes,
                default: Some("10 MB"),
                doc: "Bytes sent after which the rate recovers a step.",
            },
            Param {
                name: "recovery",
                kind: Kind::Int { min: 1, max: 1000 },
                default: Some("5"),
                doc: "Steps of fast recovery (F).",
            },
            Param {
                name: "additive_increase",
                kind: Kind::Bandwidth,
                default: Some("40 Mb/s"),
                doc: "By how much a step of additive increase raises the target.",
            },
            Param {
                name: "hyper_increase",
                kind: Kind::Bandwidth,
                default: Some("400 Mb/s"),
                doc: "The same of hyper increase, times the steps beyond `recovery`.",
            },
            Param {
                name: "min_rate",
                kind: Kind::Bandwidth,
                default: Some("100 Mb/s"),
                doc: "Lowest rate of a flow.",
            },
        ],
    },
    build,
};

/// Settings of the scheme, resolved. Rates are bytes per second.
#[derive(Clone, Debug)]
struct Dcqcn {
    kmin: u64,
    kmax: u64,
    /// Chance of a mark at `kmax`, in units of 2^-32.
    most: u64,
    interval: Ps,
    alpha_timer: Ps,
    g: u32,
    timer: Ps,
    bytes: u64,
    recovery: u64,
    additive: u64,
    hyper: u64,
    least: u64,
    line: u64,
}

fn build(values: &Values, context: Context) -> Built {
    let mut problems = Vec::new();
    let (kmin, kmax) = (values.int("kmin"), values.int("kmax"));
    if kmin >= kmax {
        problems.push(Problem::new("kmax", format!("`kmax` is {kmax} B, not above `kmin`, {kmin} B")));
    }
    for key in ["alpha_timer", "increase_timer"] {
        if values.time(key) < NS {
            problems.push(Problem::new(key, format!("`{key}` takes 1 ns or more")));
        }
    }
    if values.int("increase_bytes") == 0 {
        problems.push(Problem::new("increase_bytes", "a step needs a byte at least"));
    }
    let rate = |key: &str| values.bandwidth(key).bytes_per_s().round() as u64;
    let least = rate("min_rate");
    if least == 0 || least > context.rate {
        let message = format!("it is {least} B/s; the terminals' links have {} B/s", context.rate);
        problems
            .push(Problem::new("min_rate", message).help("give a rate between 1 B/s and that of the links"));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Arc::new(Dcqcn {
        kmin,
        kmax,
        most: (values.real("pmax") * ONE as f64).round() as u64,
        interval: values.time("notification_interval"),
        alpha_timer: values.time("alpha_timer"),
        g: values.u32("alpha_shift"),
        timer: values.time("increase_timer"),
        bytes: values.int("increase_bytes"),
        recovery: values.int("recovery"),
        additive: rate("additive_increase"),
        hyper: rate("hyper_increase"),
        least,
        line: context.rate,
    }))
}

/// A pace that was notified, in words: what [`Pace`] keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Limiter {
    target: u64,
    rate: u64,
    alpha: u64,
    /// When alpha last moved.
    estimated: Ps,
    /// When the timer of increases last ended.
    stepped: Ps,
    /// Bytes since the last step by bytes.
    bytes: u64,
    /// Steps by the timer, and by bytes.
    steps: (u32, u32),
}

impl Limiter {
    /// None of a flow that was never notified: it sends as fast as its link.
    fn of(pace: &Pace) -> Option<Self> {
        let Pace([target, rate, alpha, estimated, stepped, bytes, steps]) = *pace;
        let steps = ((steps >> 32) as u32, steps as u32);
        (rate > 0).then_some(Self { target, rate, alpha, estimated, stepped, bytes, steps })
    }

    fn pace(self) -> Pace {
        let steps = u64::from(self.steps.0) << 32 | u64::from(self.steps.1);
        Pace([self.target, self.rate, self.alpha, self.estimated, self.stepped, self.bytes, steps])
    }
}

impl Dcqcn {
    /// A step of recovery, after its count was raised.
    fn increase(&self, l: &mut Limiter) {
        let (timer, bytes) = (u64::from(l.steps.0), u64::from(l.steps.1));
        if timer.max(bytes) > self.recovery {
            let excess = timer.min(bytes).saturating_sub(self.recovery);
            let by = if excess > 0 { self.hyper.saturating_mul(excess) } else { self.additive };
            l.target = l.target.saturating_add(by).min(self.line);
        }
        // Rounded up: else the rate would stop one short of its target for ever.
        l.rate = (l.rate + l.target).div_ceil(2).min(self.line);
    }

    /// Does what timers did until an instant.
    fn advance(&self, l: &mut Limiter, at: Ps) {
        let mut falls = at.saturating_sub(l.estimated) / self.alpha_timer;
        l.estimated += falls * self.alpha_timer;
        // What has fallen below its last bit stays there.
        while falls > 0 && l.alpha > 0 {
            l.alpha -= (l.alpha >> self.g).max(1);
            falls -= 1;
        }
        let mut ends = at.saturating_sub(l.stepped) / self.timer;
        l.stepped += ends * self.timer;
        while ends > 0 && (l.rate < self.line || l.target < self.line) {
            l.steps.0 = l.steps.0.saturating_add(1);
            self.increase(l);
            ends -= 1;
        }
        // At the line's rate steps change nothing but their count.
        l.steps.0 = l.steps.0.saturating_add(u32::try_from(ends).unwrap_or(u32::MAX));
    }
}

impl Scheme for Dcqcn {
    fn reach(&self, _: u64) -> u64 {
        self.kmax
    }

    fn mark(&self, seen: &Seen) -> Mark {
        if seen.queue <= self.kmin {
            return Mark::Clear;
        }
        if seen.queue > self.kmax {
            return Mark::Marked;
        }
        let part =
            u128::from(seen.queue - self.kmin) * u128::from(self.most) / u128::from(self.kmax - self.kmin);
        let mut random = seen.random;
        let marked = u128::from(random.next_u64() >> 32) < part;
        if marked { Mark::Marked } else { Mark::Clear }
    }

    fn interval(&self) -> Ps {
        self.interval
    }

    fn notified(&self, pace: &mut Pace, at: Ps) {
        let mut l = Limiter::of(pace).unwrap_or(Limiter {
            target: self.line,
            rate: self.line,
            alpha: ONE,
            estimated: at,
            stepped: at,
            bytes: 0,
            steps: (0, 0),
        });
        self.advance(&mut l, at);
        l.target = l.rate;
        let cut = ((u128::from(l.rate) * u128::from(l.alpha)) >> 33) as u64;
        l.rate = (l.rate - cut).max(self.least);
        l.alpha = l.alpha - (l.alpha >> self.g) + (ONE >> self.g);
        (l.estimated, l.stepped, l.bytes, l.steps) = (at, at, 0, (0, 0));
        *pace = l.pace();
    }

    fn sent(&self, pace: &mut Pace, sent: Sent) -> Ps {
        let Some(mut l) = Limiter::of(pace) else { return sent.own };
        self.advance(&mut l, sent.at);
        l.bytes += u64::from(sent.bytes);
        while l.bytes >= self.bytes {
            l.bytes -= self.bytes;
            l.steps.1 = l.steps.1.saturating_add(1);
            self.increase(&mut l);
        }
        *pace = l.pace();
        let gap = (u128::from(sent.bytes) * 1_000_000_000_000).div_ceil(u128::from(l.rate));
        // A pause longer than all times lasts for ever.
        Ps::try_from(gap).unwrap_or(Ps::MAX).max(sent.own)
    }

    fn gauge(&self, pace: &Pace, at: Ps) -> Gauge {
        let Some(mut l) = Limiter::of(pace) else { return Gauge { rate: WHOLE, level: 0 } };
        self.advance(&mut l, at);
        let share = |part: u64, of: u64| (u128::from(part) * u128::from(WHOLE) / u128::from(of)) as u32;
        Gauge { rate: share(l.rate, self.line), level: share(l.alpha, ONE) }
    }

    fn level(&self) -> Option<&'static str> {
        Some("alpha_millionths")
    }

    /// A flow that was notified keeps its estimate.
    fn is_recovered(&self, pace: &Pace, _: Ps) -> bool {
        Limiter::of(pace).is_none()
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

    const LINE: u64 = 5_000_000_000;

    fn built(given: &[(&str, Value)]) -> Built {
        let find = |key: &str| given.iter().find(|g| g.0 == key).map(|g| g.1.clone());
        let values = Values::complete(ENTRY.about.params, find);
        build(&values, Context { rate: LINE })
    }

    fn scheme(given: &[(&str, Value)]) -> Arc<dyn Scheme> {
        built(given).unwrap_or_else(|p| panic!("{p:?}"))
    }

    fn seen(queue: u64, number: u64) -> Seen {
        let random = Stream::new(1, Purpose::Test, 0).at(number);
        Seen { queue, buffer: 1 << 20, credits: false, out: false, bytes: 1024, passed: 0, random }
    }

    #[test]
    fn chances_rise_between_the_two_lengths() {
        let scheme = scheme(&[("pmax", Value::Real(0.2))]);
        let share = |queue| {
            let marked = |&n: &u64| scheme.mark(&seen(queue, n)) == Mark::Marked;
            (0..50_000).filter(marked).count() as f64 / 50_000.0
        };
        assert_eq!((share(5_000), share(200_001)), (0.0, 1.0));
        for (queue, chance) in [(102_500, 0.1), (200_000, 0.2), (54_000, 0.0503)] {
            assert!((share(queue) - chance).abs() < 0.006, "{queue}: {} for {chance}", share(queue));
        }
    }

    /// The paper's rules by hand: the first notification halves the rate, five timers bring it back to the target, each half of the way, and the sixth
    /// raises the target.
    #[test]
    fn a_cut_and_its_recovery() {
        let scheme = scheme(&[]);
        let mut pace = Pace::default();
        let rate = |pace: &Pace, at| Limiter::of(pace).map(|_| scheme.gauge(pace, at).rate);
        assert_eq!((rate(&pace, 0), scheme.is_recovered(&pace, 0)), (None, true));
        scheme.notified(&mut pace, 7 * US);
        let at = |n: u64| 7 * US + n * 55 * US;
        assert_eq!(rate(&pace, at(0)), Some(500_000));
        assert_eq!(rate(&pace, at(1) - 1), Some(500_000));
        let recovered: Vec<_> = (1..=5).map(|n| rate(&pace, at(n)).unwrap_or(0)).collect();
        assert_eq!(recovered, [750_000, 875_000, 937_500, 968_750, 984_375]);
        // A second one: the target is the rate of then, and alpha is still one, less what five quiet timers took.
        scheme.notified(&mut pace, at(5));
        let alpha = (255.0f64 / 256.0).powi(5);
        let expected = 984_375.0 * (1.0 - alpha / 2.0);
        let got = f64::from(rate(&pace, at(5)).unwrap_or(0));
        assert!((got - expected).abs() < 2.0, "{got} for {expected}");
        // Bytes count, too: five times 10 MB bring it as far, and the pause follows the rate.
        for _ in 0..50 {
            scheme.sent(&mut pace, Sent { bytes: 1_000_000, own: 200 * US, at: at(5) + 1 });
        }
        let expected = 984_375.0 - (984_375.0 - expected) / 32.0;
        let got = f64::from(rate(&pace, at(5) + 1).unwrap_or(0));
        assert!((got - expected).abs() < 2.0, "{got} for {expected}");
        let pause = scheme.sent(&mut pace, Sent { bytes: 1_000_000, own: 200 * US, at: at(5) + 2 });
        assert!((pause as f64 * got / 1e6 - 200e6).abs() < 1e3, "{pause}");
    }

    /// A flow as a loop of events in floating point.
    struct Naive {
        target: f64,
        rate: f64,
        alpha: f64,
        fall: Ps,
        end: Ps,
        bytes: u64,
        timer: u32,
        count: u32,
        limited: bool,
    }

    impl Naive {
        fn step(&mut self) {
            if self.timer.max(self.count) > 5 {
                let excess = self.timer.min(self.count).saturating_sub(5);
                self.target += if excess > 0 { 50e6 * f64::from(excess) } else { 5e6 };
                self.target = self.target.min(LINE as f64);
            }
            self.rate = (self.rate + self.target) / 2.0;
        }

        fn advance(&mut self, now: Ps) {
            while self.limited && self.fall.min(self.end) <= now {
                if self.fall <= self.end {
                    self.alpha *= 255.0 / 256.0;
                    self.fall += 55 * US;
                } else {
                    self.timer += 1;
                    self.step();
                    self.end += 55 * US;
                }
            }
        }

        fn notified(&mut self, now: Ps) {
            self.advance(now);
            self.limited = true;
            self.target = self.rate;
            self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(12.5e6);
            self.alpha = self.alpha * 255.0 / 256.0 + 1.0 / 256.0;
            (self.fall, self.end, self.bytes, self.timer, self.count) =
                (now + 55 * US, now + 55 * US, 0, 0, 0);
        }

        fn sent(&mut self, bytes: u64, now: Ps) -> f64 {
            self.advance(now);
            self.bytes += bytes;
            while self.limited && self.bytes >= 10_000_000 {
                self.bytes -= 10_000_000;
                self.count += 1;
                self.step();
            }
            bytes as f64 * 1e12 / self.rate
        }
    }

    #[test]
    fn random_notifications_agree_with_a_loop_of_events() {
        for seed in 0..20 {
            let mut random = Stream::new(seed, Purpose::Test, 2);
            let (scheme, mut pace, mut now) = (scheme(&[]), Pace::default(), 0);
            let line = LINE as f64;
            let mut naive = Naive {
                target: line,
                rate: line,
                alpha: 1.0,
                fall: 0,
                end: 0,
                bytes: 0,
                timer: 0,
                count: 0,
                limited: false,
            };
            for _ in 0..3000 {
                now += random.below(40 * US);
                if random.below(30) == 0 {
                    scheme.notified(&mut pace, now);
                    naive.notified(now);
                }
                let bytes = if random.below(50) == 0 { 9_000_000 } else { 4096 };
                let own = bytes * 1_000_000_000_000 / LINE;
                let pause = scheme.sent(&mut pace, Sent { bytes: bytes as u32, own, at: now }) as f64;
                if !naive.limited {
                    assert!((pause - own as f64).abs() < 0.5, "{pause}");
                    continue;
                }
                let expected = naive.sent(bytes, now).max(own as f64);
                // Pauses are rounded up to a picosecond, rates to a byte per second.
                assert!(
                    (pause - expected).abs() < 1.0 + 1e-6 * expected,
                    "seed {seed}: {pause} for {expected}"
                );
            }
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_refused_by_name() {
        let refused = |key: &str, value: Value| {
            let problems = built(&[(key, value)]).err().unwrap_or_default();
            problems.iter().map(|p| p.key.clone()).collect::<Vec<_>>()
        };
        assert_eq!(refused("kmax", Value::Int(5_000)), ["kmax"]);
        assert_eq!(refused("alpha_timer", Value::Time(10)), ["alpha_timer"]);
        assert_eq!(refused("increase_bytes", Value::Int(0)), ["increase_bytes"]);
    }
}
