//! What every open-loop pattern can be mixed with: messages of several sizes, a uniform background, replies, and a bound on requests
//! that wait for theirs.

use super::rule::{Destinations, endless_if_zero};
use crate::{
    arrival::{Arrival, place},
    interval::Interval,
    size::{
        self, SizeCurve,
        registry::{NAMES, SIZE_DISTRIBUTIONS},
    },
    text,
    traffic::{Message, Traffic},
    work::{Built, JobContext},
};
use base::{
    index::RankId,
    param::{Kind, Param, Problem, Value, Values},
    registry::find,
    rng::{Purpose, Stream},
    time::Ps,
    units::parse_bytes,
};
use std::sync::Arc;

/// Sizes of messages.
pub const SIZES: Param = Param {
    name: "sizes",
    kind: Kind::Texts,
    default: Some(""),
    doc: "Patterns: sizes in place of `message`, one drawn for each message, such as `[\"64 B\", \"4 KiB\"]`; the load counts their mean.",
};
/// How often each size is drawn.
pub const SIZE_WEIGHTS: Param = Param {
    name: "size_weights",
    kind: Kind::Ints { min: 1, max: 1 << 20 },
    default: Some(""),
    doc: "Patterns: relative frequencies of `sizes`; equal ones if left out.",
};
/// Distribution that sizes are drawn from.
pub const SIZE_DISTRIBUTION: Param = Param {
    name: "size_distribution",
    kind: Kind::Choice(NAMES),
    default: Some(""),
    doc: "Patterns: in place of `message`, the size of each message is drawn from this distribution (`netloom list distributions`), to the nearest byte; the load counts its exact \
          mean. Such jobs also measure slow-downs, see `output.slow_down`.",
};
/// File that describes such a distribution.
pub const SIZE_FILE: Param = Param {
    name: "size_file",
    kind: Kind::File,
    default: Some(""),
    doc: "Patterns: as `size_distribution`, from a file. A line is `bytes share`: the share of messages that have so many bytes at most, in percent if the last is 100, as a \
          fraction if it is 1; straight between points. What follows a # is a comment.",
};
/// Share of messages that follow no pattern.
pub const BACKGROUND: Param = Param {
    name: "background",
    kind: Kind::Real { min: 0.0, max: 1.0 },
    default: Some(""),
    doc: "Patterns: chance that a message goes to a uniformly drawn other rank, whatever the pattern says; ranks that it leaves silent stay so.",
};
/// Ranks without background.
pub const BACKGROUND_EXCEPT: Param = Param {
    name: "background_except",
    kind: Kind::Ints { min: 0, max: u32::MAX as u64 },
    default: Some(""),
    doc: "Patterns: ranks that no background goes to.",
};
/// Size of replies.
pub const REPLY: Param = Param {
    name: "reply",
    kind: Kind::Bytes,
    default: Some(""),
    doc: "Patterns: every message is a request, answered at once and whole by its receiver with so many bytes. The load counts requests; \
          throughput counts both.",
};
/// Requests under way.
pub const OUTSTANDING: Param = Param {
    name: "outstanding",
    kind: Kind::Int { min: 1, max: 1 << 30 },
    default: Some(""),
    doc: "Patterns with `reply`: batch mode. Every rank creates so many requests at time 0 and the next whenever a reply reaches it, until \
          `count` are sent; it takes no `load` and no `arrival`.",
};

/// The keys of this file.
pub const KEYS: [&Param; 8] = [
    &SIZES,
    &SIZE_WEIGHTS,
    &SIZE_DISTRIBUTION,
    &SIZE_FILE,
    &BACKGROUND,
    &BACKGROUND_EXCEPT,
    &REPLY,
    &OUTSTANDING,
];

/// What is mixed in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mix {
    /// Sizes of messages.
    pub sizes: Sizes,
    /// Chance of background, and the ranks that it goes to, ascending; empty for all.
    pub background: (f64, Vec<RankId>),
    /// Bytes of a reply.
    pub reply: Option<u64>,
    /// Requests under way, if they are bounded.
    pub outstanding: u64,
}

/// Sizes of messages.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sizes {
    /// Some sizes, and the sums of weights up to and with each.
    Listed(Vec<(u64, u64)>),
    /// Any size of a distribution.
    Drawn(SizeCurve),
}

impl Sizes {
    /// Bytes of so many messages, on the average.
    fn mean(&self) -> Built<(u64, u64)> {
        match self {
            Self::Listed(sizes) => {
                let (mut sum, mut below) = (0u64, 0);
                for &(bytes, to) in sizes {
                    let more = bytes.checked_mul(to - below).and_then(|b| sum.checked_add(b));
                    sum = more.ok_or_else(|| {
                        vec![Problem::new(SIZES.name, "sizes and weights exceed 2^64 bytes")]
                    })?;
                    below = to;
                }
                Ok((sum, below))
            }
            Self::Drawn(curve) => curve.mean().ok_or_else(|| {
                vec![Problem::new(SIZE_FILE.name, "sizes are too large: their mean does not fit 64 bits")]
            }),
        }
    }

    /// One of them.
    fn draw(&self, stream: &mut Stream) -> u64 {
        match self {
            Self::Listed(sizes) => match sizes[..] {
                [(bytes, _)] => bytes,
                _ => {
                    let drawn = stream.below(sizes[sizes.len() - 1].1);
                    sizes[sizes.partition_point(|&(_, to)| to <= drawn)].0
                }
            },
            Self::Drawn(curve) => curve.draw(stream),
        }
    }

    fn largest(&self) -> Option<u64> {
        match self {
            Self::Listed(sizes) => sizes.iter().map(|s| s.0).max(),
            Self::Drawn(curve) => Some(curve.largest()),
        }
    }

    /// What the job's keys ask for, if it is anything but `message`.
    fn read(values: &Values) -> Built<Option<Self>> {
        let keys = [SIZES.name, SIZE_DISTRIBUTION.name, SIZE_FILE.name];
        let mut given = keys.into_iter().filter(|&key| values.0.contains_key(key));
        let first = given.next();
        if let (Some(first), Some(second)) = (first, given.next()) {
            return Err(vec![Problem::new(second, format!("`{first}` gives sizes already"))]);
        }
        if first != Some(SIZES.name) && values.0.contains_key(SIZE_WEIGHTS.name) {
            return Err(vec![Problem::new(SIZE_WEIGHTS.name, "weights of sizes need `sizes`")]);
        }
        match (first, first.and_then(|key| values.0.get(key))) {
            (_, Some(Value::Texts(sizes))) => Ok(Some(Self::Listed(read_sizes(sizes, values)?))),
            (Some(key), Some(Value::Text(path))) if key == SIZE_FILE.name => {
                Ok(Some(Self::Drawn(read_curve(path)?)))
            }
            (_, Some(Value::Text(name))) => {
                Ok(find(SIZE_DISTRIBUTIONS, name).map(|entry| Self::Drawn(entry.curve())))
            }
            _ => Ok(None),
        }
    }
}

/// The distribution that a file describes.
fn read_curve(path: &str) -> Built<SizeCurve> {
    size::read(&text::read(path, SIZE_FILE.name)?, path, SIZE_FILE.name)
}

impl Mix {
    /// Of messages of one size, with nothing else.
    pub fn plain(bytes: u64) -> Self {
        Self {
            sizes: Sizes::Listed(vec![(bytes, 1)]),
            background: (0.0, Vec::new()),
            reply: None,
            outstanding: 0,
        }
    }

    /// What the job's keys ask for, if it is anything.
    ///
    /// # Errors
    /// Lists that do not fit together, or the number of ranks.
    pub fn read(context: &JobContext, values: &Values) -> Built<Option<Self>> {
        let mut mix = Self::plain(context.message);
        if let Some(sizes) = Sizes::read(values)? {
            mix.sizes = sizes;
        }
        if let Some(Value::Real(share)) = values.0.get(BACKGROUND.name) {
            mix.background = (*share, background(context, values)?);
        } else if values.0.contains_key(BACKGROUND_EXCEPT.name) {
            return Err(vec![Problem::new(BACKGROUND_EXCEPT.name, "there is no `background`")]);
        }
        if let Some(Value::Int(bytes)) = values.0.get(REPLY.name) {
            mix.reply = Some(*bytes);
        }
        if let Some(Value::Int(n)) = values.0.get(OUTSTANDING.name) {
            mix.outstanding = *n;
        }
        if mix.outstanding > 0 && mix.reply.is_none() {
            let problem = Problem::new(OUTSTANDING.name, "requests under way are bounded by their replies");
            return Err(vec![problem.help("add `reply = \"64 B\"`: the size of a reply")]);
        }
        Ok(Some(mix).filter(|mix| *mix != Self::plain(context.message)))
    }

    /// Bytes of so many messages, on the average: a ratio, so that no load is rounded.
    pub fn mean(&self) -> Built<(u64, u64)> {
        self.sizes.mean()
    }

    /// What is wrong with a load, with the mean size that makes it so: it may come from a file, which is then named.
    pub fn name_sizes(mut problems: Vec<Problem>, bytes: u64, per: u64, values: &Values) -> Vec<Problem> {
        for problem in problems.iter_mut().filter(|p| p.key == "load") {
            let from = match values.0.get(SIZE_FILE.name) {
                Some(Value::Text(path)) => format!(" of `{path}`"),
                _ => String::new(),
            };
            problem.message += &format!("; the sizes{from} have a mean of {} bytes", bytes / per.max(1));
        }
        problems
    }
}

fn read_sizes(sizes: &[String], values: &Values) -> Built<Vec<(u64, u64)>> {
    if sizes.is_empty() {
        return Err(vec![Problem::new(SIZES.name, "there must be a size")]);
    }
    let weights = match values.0.get(SIZE_WEIGHTS.name) {
        Some(Value::Ints(weights)) => weights.clone(),
        _ => vec![1; sizes.len()],
    };
    if weights.len() != sizes.len() {
        let message = format!("{} sizes have {} weights", sizes.len(), weights.len());
        return Err(vec![Problem::new(SIZE_WEIGHTS.name, message)]);
    }
    let mut sum = 0;
    let read = |(i, text): (usize, &String)| {
        let bytes = parse_bytes(text).map_err(|e| vec![Problem::new(SIZES.name, e.message)])?;
        sum += weights[i];
        Ok((bytes, sum))
    };
    sizes.iter().enumerate().map(read).collect()
}

/// Ranks that background goes to; empty for all.
fn background(context: &JobContext, values: &Values) -> Built<Vec<RankId>> {
    let Some(Value::Ints(except)) = values.0.get(BACKGROUND_EXCEPT.name) else { return Ok(Vec::new()) };
    let refuse = |message: String| Err(vec![Problem::new(BACKGROUND_EXCEPT.name, message)]);
    if let Some(rank) = except.iter().find(|&&rank| rank >= u64::from(context.ranks)) {
        return refuse(format!("there is no rank {rank}: the job has {}, from 0", context.ranks));
    }
    let to: Vec<RankId> =
        RankId::first(context.ranks).filter(|&rank| !except.contains(&u64::from(rank))).collect();
    if to.len() < 2 {
        return refuse("background needs two ranks to go to".to_owned());
    }
    Ok(to)
}

/// A rule for destinations with all that can be mixed in.
pub(crate) struct Mixed<D> {
    pub rule: D,
    pub mix: Mix,
    /// When requests are created; none if replies say so.
    pub arrival: Option<Arc<dyn Arrival>>,
    pub count: u64,
    /// Mean load per rank in bytes per second, replies included.
    pub offered: Option<f64>,
    pub ranks: u32,
    pub stream: Stream,
    pub job: u32,
}

impl<D: Destinations> Mixed<D> {
    pub fn new(context: &JobContext, rule: D, mix: Mix, count: u64) -> Self {
        let stream = Stream::new(context.seed, Purpose::Mix, 0);
        let (ranks, job) = (context.ranks, context.job);
        Self { rule, mix, arrival: None, count: endless_if_zero(count), offered: None, ranks, stream, job }
    }

    /// Destination and bytes of a rank's message.
    fn what(&self, rank: RankId, index: u64) -> (RankId, u64) {
        let mut stream = place(self.stream, self.job, rank, index);
        let size = self.mix.sizes.draw(&mut stream);
        let (share, to) = &self.mix.background;
        if *share > 0.0 && stream.unit_open() <= *share {
            return (other(to, self.ranks, rank, &mut stream), size);
        }
        (self.rule.destination(rank, index), size)
    }
}

/// One of these ranks, or of all if the list is empty, but the rank itself.
fn other(to: &[RankId], ranks: u32, rank: RankId, stream: &mut Stream) -> RankId {
    if to.is_empty() {
        let drawn = stream.below(u64::from(ranks) - 1) as u32;
        return RankId::new(drawn + u32::from(drawn >= rank.number()));
    }
    let own = to.binary_search(&rank).ok();
    let drawn = stream.below((to.len() - usize::from(own.is_some())) as u64) as usize;
    to[drawn + usize::from(own.is_some_and(|own| drawn >= own))]
}

impl<D: Destinations> Traffic for Mixed<D> {
    fn message(&self, rank: RankId, index: u64, previous: Ps) -> Option<Message> {
        if index >= self.count || self.rule.silent(rank) {
            return None;
        }
        let time = match &self.arrival {
            Some(arrival) => arrival.time(rank, index, previous)?,
            None if index < self.mix.outstanding => 0,
            None => return None,
        };
        let (destination, bytes) = self.what(rank, index);
        Some(Message { time, destination, bytes })
    }

    fn total(&self, ranks: u32) -> Option<u64> {
        if self.arrival.is_none() || self.mix.reply.is_some() {
            return None;
        }
        let senders = RankId::first(ranks).filter(|&rank| !self.rule.silent(rank)).count() as u64;
        senders.checked_mul(self.count)
    }

    fn reply(&self, _rank: RankId, source: RankId, _index: u64) -> Option<(RankId, u64)> {
        self.mix.reply.map(|bytes| (source, bytes))
    }

    fn closed_loop(&self) -> bool {
        self.mix.reply.is_some()
    }

    fn requests(&self) -> bool {
        self.mix.reply.is_some()
    }

    fn next_request(&self, rank: RankId, answered: u64) -> Option<(RankId, u64)> {
        let index = self.mix.outstanding.checked_add(answered)?;
        (self.arrival.is_none() && index < self.count).then(|| self.what(rank, index))
    }

    fn largest(&self) -> Option<u64> {
        self.mix.sizes.largest().max(self.mix.reply)
    }

    fn size_ranges(&self) -> Vec<u64> {
        match &self.mix.sizes {
            Sizes::Listed(_) => Vec::new(),
            Sizes::Drawn(curve) => curve.deciles(),
        }
    }

    fn to_itself(&self) -> Option<RankId> {
        self.rule.to_itself()
    }

    fn offered_bytes_per_s(&self) -> Option<f64> {
        self.offered
    }

    fn period(&self) -> Option<Interval> {
        self.arrival.as_ref()?.period()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        pattern::uniform,
        testing::{chi_square, context, defaults},
        work::Work,
    };
    use base::sorted::SortedMap;
    use std::collections::VecDeque;

    fn build(ranks: u32, keys: &[(&Param, Value)]) -> Built<Arc<dyn Traffic>> {
        let with = |values: Values, (key, value): &(&Param, Value)| values.with(key.name, value.clone());
        let values = keys.iter().fold(defaults(&uniform::ABOUT), with);
        uniform::build(&context(ranks), &values).map(|w| w.into_traffic().unwrap())
    }

    fn texts(all: &[&str]) -> Value {
        Value::Texts(all.iter().map(|&t| t.to_owned()).collect())
    }

    /// Sizes 1:3 of 1000 and 200 B: 400 B on the average, which fill the link at load 1.
    #[test]
    fn sizes_are_drawn_and_the_load_counts_their_mean() {
        let sizes = [(&SIZES, texts(&["1000 B", "200 B"])), (&SIZE_WEIGHTS, Value::Ints(vec![1, 3]))];
        let traffic = build(8, &sizes).unwrap();
        let (mut counts, mut last) = ([0, 0], 0);
        for k in 0..40_000 {
            let m = traffic.message(RankId::new(3), k, last).unwrap();
            counts[usize::from(m.bytes == 200)] += 1;
            last = m.time;
        }
        assert!(chi_square(&counts, &[1.0, 3.0]) < 10.8, "{counts:?}");
        // 400 B at 2 GiB/s are 186,264.514923 ps.
        assert_eq!(last, (39_999.0f64 * 400.0 / (2u64 << 30) as f64 * 1e12).round() as u64);
        assert_eq!(traffic.largest(), Some(1000));
        assert_eq!(traffic.offered_bytes_per_s(), Some(f64::from(1u32 << 31)));
    }

    /// What many messages bring in their time is the load, within four standard errors of the mean size.
    #[test]
    fn a_distribution_fills_the_load() {
        let traffic = build(8, &[(&SIZE_DISTRIBUTION, Value::Text("web-search".to_owned()))]).unwrap();
        let (count, mut bytes, mut last, mut squares) = (100_000u64, 0.0, 0, 0.0);
        for k in 0..count {
            let m = traffic.message(RankId::new(3), k, last).unwrap();
            (bytes, squares, last) = (bytes + m.bytes as f64, squares + (m.bytes as f64).powi(2), m.time);
        }
        // Constant arrival at load 1: a mean size of 1,711,250 B each time.
        let rate = (2u64 << 30) as f64;
        assert_eq!(last, ((count - 1) as f64 * 1_711_250.0 / rate * 1e12).round() as u64);
        let offered = bytes / (last as f64 * 1e-12);
        let error = squares.sqrt() / bytes;
        assert!((offered / rate - 1.0).abs() < 4.0 * error && error < 0.01, "{offered} {error}");
        assert_eq!(traffic.offered_bytes_per_s(), Some(rate));
        assert_eq!((traffic.largest(), traffic.size_ranges().len()), (Some(30_000_000), 10));
    }

    /// Tornado-like shares: rank 0 of 5 with a hot rank 3 and background to 1, 2, 4.
    #[test]
    fn background_is_uniform_over_its_ranks() {
        let keys = [(&BACKGROUND, Value::Real(1.0)), (&BACKGROUND_EXCEPT, Value::Ints(vec![3]))];
        let traffic = build(5, &keys).unwrap();
        let mut counts = vec![0; 5];
        for k in 0..30_000 {
            counts[traffic.message(RankId::new(2), k, 0).unwrap().destination.index()] += 1;
        }
        assert!(chi_square(&counts, &[1.0, 1.0, 0.0, 0.0, 1.0]) < 13.8, "{counts:?}");
    }

    /// Delivers messages one by one; returns requests sent by rank, the most under way at once, and messages in all.
    fn play(traffic: &dyn Traffic, ranks: u32) -> (Vec<u64>, Vec<u64>, u64) {
        let n = ranks as usize;
        let (mut sent, mut under_way, mut most, mut answered) =
            (vec![0; n], vec![0u64; n], vec![0; n], vec![0; n]);
        let mut flying = VecDeque::new();
        let mut total = 0;
        for rank in RankId::first(ranks) {
            for index in 0.. {
                let Some(m) = traffic.message(rank, index, 0) else { break };
                flying.push_back((rank, m.destination, false));
            }
        }
        for &(rank, _, _) in &flying {
            sent[rank.index()] += 1;
            under_way[rank.index()] += 1;
        }
        let mut arrived = SortedMap::new();
        while let Some((from, to, reply)) = flying.pop_front() {
            total += 1;
            for rank in 0..n {
                most[rank] = most[rank].max(under_way[rank]);
            }
            let rank = to.index();
            if reply {
                under_way[rank] -= 1;
                if let Some((next, _)) = traffic.next_request(to, answered[rank]) {
                    flying.push_back((to, next, false));
                    sent[rank] += 1;
                    under_way[rank] += 1;
                }
                answered[rank] += 1;
            } else {
                let index = arrived.entry((from, to)).or_insert(0);
                let (back, bytes) = traffic.reply(to, from, *index).unwrap();
                assert_eq!((back, bytes), (from, 64));
                *index += 1;
                flying.push_back((to, back, true));
            }
        }
        assert_eq!(answered, sent);
        (sent, most, total)
    }

    #[test]
    fn a_batch_keeps_its_bound_and_ends() {
        let keys = [(&REPLY, Value::Int(64)), (&OUTSTANDING, Value::Int(3))];
        let mut context = context(6);
        context.arrival = None;
        let with = |values: Values, (key, value): &(&Param, Value)| values.with(key.name, value.clone());
        let values = keys.iter().fold(defaults(&uniform::ABOUT), with).with("count", Value::Int(10));
        let traffic = uniform::build(&context, &values).map(Work::into_traffic).unwrap().unwrap();
        let (sent, most, total) = play(&*traffic, 6);
        assert_eq!((sent, most, total), (vec![10; 6], vec![3; 6], 120));
        assert_eq!((traffic.offered_bytes_per_s(), traffic.requests()), (None, true));
    }

    /// Replies of a sixteenth of 1 KiB add a sixteenth to what is offered.
    #[test]
    fn replies_add_to_the_offered_load() {
        let traffic = build(6, &[(&REPLY, Value::Int(64))]).unwrap();
        assert_eq!(traffic.offered_bytes_per_s(), Some(f64::from(1u32 << 31) * 17.0 / 16.0));
        assert_eq!(
            (traffic.reply(RankId::new(1), RankId::new(4), 0), traffic.next_request(RankId::new(1), 0)),
            (Some((RankId::new(4), 64)), None)
        );
    }

    #[test]
    fn mixes_that_make_no_sense_are_refused() {
        let key = |keys: &[(&Param, Value)]| build(5, keys).err().unwrap()[0].key.clone();
        assert_eq!(key(&[(&SIZES, texts(&["10"]))]), "sizes");
        assert_eq!(
            key(&[(&SIZES, texts(&["10 B"])), (&SIZE_WEIGHTS, Value::Ints(vec![1, 2]))]),
            "size_weights"
        );
        assert_eq!(key(&[(&SIZE_WEIGHTS, Value::Ints(vec![1, 2]))]), "size_weights");
        let except = |ranks: Vec<u64>, share| {
            [(&BACKGROUND, Value::Real(share)), (&BACKGROUND_EXCEPT, Value::Ints(ranks))]
        };
        assert_eq!(key(&except(vec![5], 0.5)), "background_except");
        assert_eq!(key(&except(vec![0, 1, 2, 3], 0.5)), "background_except");
        assert_eq!(key(&except(vec![1], 0.0)[1..]), "background_except");
        assert_eq!(key(&[(&SIZES, texts(&[]))]), "sizes");
        let hadoop = (&SIZE_DISTRIBUTION, Value::Text("hadoop".to_owned()));
        assert_eq!(key(&[(&SIZES, texts(&["10 B"])), hadoop.clone()]), "size_distribution");
        assert_eq!(key(&[hadoop.clone(), (&SIZE_WEIGHTS, Value::Ints(vec![1]))]), "size_weights");
        let file = (&SIZE_FILE, Value::Text("no such file".to_owned()));
        assert_eq!((key(&[hadoop, file.clone()]), key(&[file])), ("size_file".into(), "size_file".into()));
        assert_eq!(key(&[(&OUTSTANDING, Value::Int(1))]), "outstanding");
    }

    #[test]
    fn a_load_that_sizes_of_a_file_make_impossible_names_the_file() {
        let path = std::env::temp_dir().join(format!("netloom-sizes-{}", std::process::id()));
        std::fs::write(&path, "18446744073709551615 1\n").unwrap();
        let problems = build(5, &[(&SIZE_FILE, Value::Text(path.display().to_string()))]).err().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(problems[0].message.contains(&*path.display().to_string()), "{}", problems[0].message);
    }
}
