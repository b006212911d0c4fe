//! One value of an axis of a sweep: what is put into the experiment, the number that it stands for, and what it is called.

use super::tree::{Data, Node};
use base::{
    time::Ps,
    units::{parse_bandwidth, parse_bytes, parse_time, print_bytes, print_time},
};

/// What a value measures, for tables and comparisons.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// An integer without unit.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// A time in picoseconds.
    Time(Ps),
    /// A number of bytes.
    Bytes(u64),
    /// A bandwidth in bytes per second.
    Bandwidth(f64),
    /// Anything else, as it is written.
    Text(String),
}

impl Measure {
    /// What a value of the file measures: a text with a unit is a quantity.
    #[must_use]
    pub fn of(data: &Data) -> Self {
        match data {
            Data::Integer(Some(n)) => i64::try_from(*n).map_or(Self::Real(*n as f64), Self::Integer),
            Data::Real(x) => Self::Real(*x),
            Data::Text(text) => Self::of_text(text),
            other => Self::Text(shown(other)),
        }
    }

    /// What a text measures.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        if let Ok(time) = parse_time(text) {
            return Self::Time(time);
        }
        if let Ok(bytes) = parse_bytes(text) {
            return Self::Bytes(bytes);
        }
        parse_bandwidth(text)
            .map_or_else(|_| Self::Text(text.to_owned()), |b| Self::Bandwidth(b.bytes_per_s()))
    }

    /// The number, in picoseconds, bytes or bytes per second where it is a quantity; none of a text.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match *self {
            Self::Integer(n) => Some(n as f64),
            Self::Real(x) | Self::Bandwidth(x) => Some(x),
            Self::Time(n) | Self::Bytes(n) => Some(n as f64),
            Self::Text(_) => None,
        }
    }

    /// What a column of such values adds to its name: its unit.
    #[must_use]
    pub fn suffix(&self) -> &'static str {
        match self {
            Self::Time(_) => "_ps",
            Self::Bytes(_) => "_bytes",
            Self::Bandwidth(_) => "_bytes_per_s",
            _ => "",
        }
    }

    /// True if both can be ordered with each other.
    #[must_use]
    pub fn compares(&self, other: &Self) -> bool {
        self.number().is_some() && other.number().is_some() && self.suffix() == other.suffix()
    }

    /// The value as the file would write it.
    #[must_use]
    pub fn data(&self) -> Data {
        match self {
            Self::Integer(n) => Data::Integer(Some(i128::from(*n))),
            Self::Real(x) => Data::Real(*x),
            Self::Time(time) => Data::Text(print_time(*time)),
            Self::Bytes(bytes) => Data::Text(print_bytes(*bytes)),
            Self::Bandwidth(rate) => Data::Text(format!("{rate:.0} B/s")),
            Self::Text(text) => Data::Text(text.clone()),
        }
    }

    /// Another value of the same kind.
    fn like(&self, number: f64) -> Self {
        // Twelve digits: a range of tenths has tenths, not 0.30000000000000004.
        let rounded = format!("{number:.11e}").parse().unwrap_or(number);
        let whole = number.round().max(0.0) as u64;
        match self {
            Self::Time(_) => Self::Time(whole),
            Self::Bytes(_) => Self::Bytes(whole),
            Self::Bandwidth(_) => Self::Bandwidth(number.round()),
            _ => Self::Real(rounded),
        }
    }
}

/// The unit that a number of the points has by its name, as [`Measure::suffix`] writes it: `latency_ps.mean` is a time.
#[must_use]
pub fn suffix_of(name: &str) -> &'static str {
    let ends_in = |suffix: &str| name.split('.').any(|part| part.ends_with(suffix));
    ["_ps", "_bytes_per_s"]
        .into_iter()
        .find(|suffix| ends_in(suffix))
        .unwrap_or_else(|| if ends_in("_bytes") || name.starts_with("bytes_") { "_bytes" } else { "" })
}

/// Values between two ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The first value.
    pub from: Measure,
    /// The last value.
    pub to: Measure,
    /// Equal ratios instead of equal distances.
    pub logarithmic: bool,
}

impl Range {
    /// The value at a fraction of the way, 0 for the first and 1 for the last. Both ends must be numbers.
    fn at(&self, fraction: f64) -> Measure {
        let (a, b) = (self.from.number().unwrap_or(0.0), self.to.number().unwrap_or(0.0));
        self.from.like(if self.logarithmic { a * libm::pow(b / a, fraction) } else { a + (b - a) * fraction })
    }

    /// So many values from end to end, each once. Integers stay integers where they can.
    #[must_use]
    pub fn values(&self, count: u64) -> Vec<Measure> {
        let last = count.saturating_sub(1).max(1) as f64;
        let inner = (0..count).map(|i| match i {
            0 => self.from.clone(),
            i if i + 1 == count => self.to.clone(),
            i => self.at(i as f64 / last),
        });
        let mut all: Vec<Measure> = inner.collect();
        if let (Measure::Integer(_), Measure::Integer(_)) = (&self.from, &self.to) {
            let whole = |m: &Measure| m.number().is_some_and(|x| (x - x.round()).abs() < 1e-9);
            if self.logarithmic || all.iter().all(whole) {
                all.iter_mut().for_each(|m| *m = Measure::Integer(m.number().unwrap_or(0.0).round() as i64));
            }
        }
        all.dedup();
        all
    }

    /// The value in the middle between two of them; none if there is none left between.
    #[must_use]
    pub fn middle(&self, low: &Measure, high: &Measure) -> Option<Measure> {
        let middle = Self { from: low.clone(), to: high.clone(), logarithmic: self.logarithmic }.at(0.5);
        let middle = match (low, high) {
            (Measure::Integer(_), Measure::Integer(_)) => Measure::Integer(middle.number()?.round() as i64),
            _ => middle,
        };
        let (a, m, b) = (low.number()?, middle.number()?, high.number()?);
        (a.min(b) < m && m < a.max(b)).then_some(middle)
    }
}

/// A value of an axis: for each of its paths what is put there, what it measures, and its name in tables and legends.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// A value for each path.
    pub nodes: Vec<Node>,
    /// What the first of them measures, or the label if there is one.
    pub measure: Measure,
    /// Name of the value.
    pub label: String,
}

impl Level {
    /// Of values, one for each path, called by a label or else by the first of them.
    #[must_use]
    pub fn new(nodes: Vec<Node>, label: Option<&str>) -> Self {
        let first = nodes.first().map(|n| &n.data);
        let measure = match (label, first) {
            (Some(label), _) => Measure::Text(label.to_owned()),
            (None, Some(data)) => Measure::of(data),
            (None, None) => Measure::Text(String::new()),
        };
        let label = label.map(str::to_owned).or_else(|| first.map(shown)).unwrap_or_default();
        Self { nodes, measure, label }
    }
}

/// A value as TOML writes it; a text without its quotes.
#[must_use]
pub fn shown(data: &Data) -> String {
    let quoted = |node: &Node| match &node.data {
        Data::Text(text) => format!("{text:?}"),
        other => shown(other),
    };
    match data {
        Data::Text(text) => text.clone(),
        Data::Integer(n) => n.map_or_else(|| "?".to_owned(), |n| n.to_string()),
        Data::Real(x) => x.to_string(),
        Data::Bool(b) => b.to_string(),
        Data::Date => "a date".to_owned(),
        Data::List(items) => format!("[{}]", items.iter().map(quoted).collect::<Vec<_>>().join(", ")),
        Data::Table(table) => {
            let entries = table.entries.iter().map(|e| format!("{} = {}", e.key, quoted(&e.node)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(range: &Range, count: u64) -> Vec<String> {
        range.values(count).iter().map(|m| shown(&m.data())).collect()
    }

    #[test]
    fn ranges_have_round_values() {
        let range = |from, to, logarithmic| Range { from, to, logarithmic };
        let loads = range(Measure::Real(0.1), Measure::Real(1.0), false);
        assert_eq!(labels(&loads, 10).join(" "), "0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1");
        let ranks = range(Measure::Integer(1), Measure::Integer(64), true);
        assert_eq!(labels(&ranks, 7), ["1", "2", "4", "8", "16", "32", "64"]);
        assert_eq!(labels(&range(Measure::Integer(0), Measure::Integer(1), false), 3), ["0", "0.5", "1"]);
        let sizes = range(Measure::Bytes(1024), Measure::Bytes(1 << 20), true);
        assert_eq!(labels(&sizes, 3), ["1 KiB", "32 KiB", "1 MiB"]);
        let times = range(Measure::Time(1000), Measure::Time(3000), false);
        assert_eq!(labels(&times, 3), ["1 ns", "2 ns", "3 ns"]);
        let few = range(Measure::Integer(1), Measure::Integer(2), true);
        assert_eq!(labels(&few, 9), ["1", "2"], "each once");
        let falling = range(Measure::Real(4.0), Measure::Real(1.0), false);
        assert_eq!(labels(&falling, 4), ["4", "3", "2", "1"]);
    }

    #[test]
    fn halves_end_where_nothing_is_between() {
        let range = Range { from: Measure::Integer(1), to: Measure::Integer(9), logarithmic: false };
        assert_eq!(range.middle(&range.from, &range.to), Some(Measure::Integer(5)));
        assert_eq!(range.middle(&Measure::Integer(1), &Measure::Integer(2)), None);
        let range = Range { from: Measure::Real(0.5), to: Measure::Real(0.75), logarithmic: false };
        assert_eq!(range.middle(&range.from, &range.to), Some(Measure::Real(0.625)));
    }

    #[test]
    fn texts_with_units_are_quantities() {
        assert_eq!(Measure::of_text("1 KiB"), Measure::Bytes(1024));
        assert_eq!(Measure::of_text("2 ns"), Measure::Time(2000));
        assert_eq!(Measure::of_text("1 GB/s"), Measure::Bandwidth(1e9));
        assert_eq!(Measure::of_text("ugal-l").number(), None);
        assert!(!Measure::of_text("2 ns").compares(&Measure::Bytes(2)));
    }
}
