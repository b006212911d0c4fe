//! Axes: what is shown of them, where values lie, and round ticks.

/// What the numbers of an axis are, for its ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ticks {
    /// Round decimal numbers.
    #[default]
    Decimal,
    /// Bytes: on a logarithmic axis powers of two, written with binary units.
    Bytes,
    /// Places 0, 1, 2, .. that have names.
    Named,
}

/// An axis of a figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What it shows, with its unit.
    pub label: String,
    /// Equal ratios at equal distances.
    pub logarithmic: bool,
    /// Least value shown; none for what the values need.
    pub min: Option<f64>,
    /// Greatest value shown.
    pub max: Option<f64>,
    /// What its numbers are.
    pub ticks: Ticks,
    /// Names of its places, if they have names.
    pub names: Vec<String>,
}

/// An axis over its values: ends and ticks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scale {
    pub low: f64,
    pub high: f64,
    logarithmic: bool,
    /// Values that have a mark, and what is written there.
    pub marks: Vec<(f64, String)>,
}

impl Scale {
    /// Over values, with about so many marks.
    pub fn over(axis: &Axis, values: impl Iterator<Item = f64> + Clone, marks: usize) -> Self {
        let values = values.filter(|x| x.is_finite() && (!axis.logarithmic || *x > 0.0));
        let least = values.clone().reduce(f64::min);
        let most = values.reduce(f64::max);
        match axis.ticks {
            Ticks::Named => named(&axis.names),
            _ if axis.logarithmic => logarithmic(axis, least.unwrap_or(1.0), most.unwrap_or(10.0), marks),
            _ => linear(axis, least.unwrap_or(0.0), most.unwrap_or(1.0), marks),
        }
    }

    /// Where a value lies: 0 at the lower end, 1 at the upper.
    pub fn at(&self, value: f64) -> f64 {
        if self.logarithmic {
            // What is not above zero lies far below.
            let value = value.max(f64::MIN_POSITIVE);
            (value.log10() - self.low.log10()) / (self.high.log10() - self.low.log10())
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    /// True if a value lies between the ends.
    pub fn holds(&self, value: f64) -> bool {
        (-1e-9..=1.0 + 1e-9).contains(&self.at(value))
    }
}

fn named(names: &[String]) -> Scale {
    let marks = names.iter().enumerate().map(|(n, name)| (n as f64, name.clone())).collect();
    Scale { low: -0.5, high: names.len().max(1) as f64 - 0.5, logarithmic: false, marks }
}

/// The round number next to a step: 1, 2 or 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powi(step.log10().floor() as i32);
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= step * 0.999).unwrap_or(10.0);
    factor * power
}

fn linear(axis: &Axis, least: f64, most: f64, marks: usize) -> Scale {
    // Bars and distances are read from zero; what lies far above it has its own range.
    let least = if least > 0.0 && least < 0.5 * most { 0.0 } else { least };
    let (mut low, mut high) = (axis.min.unwrap_or(least), axis.max.unwrap_or(most));
    if high <= low && axis.min.is_some() {
        high = low + low.abs().max(1.0);
    } else if high <= low {
        (low, high) = (low - 0.5 * low.abs().max(1.0), low + 0.5 * low.abs().max(1.0));
    }
    let step = round_step((high - low) / marks.max(1) as f64);
    if axis.min.is_none() {
        low = (low / step + 1e-9).floor() * step;
    }
    if axis.max.is_none() {
        high = (high / step - 1e-9).ceil() * step;
    }
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    let decimals = usize::try_from(-(step.log10() + 1e-9).floor() as i64).unwrap_or(0);
    let mark = |n: i64| {
        let value = n as f64 * step;
        (value, plain(value, decimals))
    };
    Scale { low, high, logarithmic: false, marks: (first..=last).map(mark).collect() }
}

/// A number with so many decimals, without the sign of a zero, with spaces between thousands beyond four digits.
fn plain(value: f64, decimals: usize) -> String {
    let value = if value == 0.0 { 0.0 } else { value };
    // Digits that nobody counts.
    if decimals > 12 || value.abs() >= 1e16 {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if digits.len() > 4 && n > 0 && (digits.len() - n) % 3 == 0 {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    rest.map_or_else(|| format!("{sign}{grouped}"), |rest| format!("{sign}{grouped}.{rest}"))
}

fn logarithmic(axis: &Axis, least: f64, most: f64, marks: usize) -> Scale {
    let (low, high) = (axis.min.unwrap_or(least).max(f64::MIN_POSITIVE), axis.max.unwrap_or(most));
    let high = if high > low { high } else { low * 10.0 };
    if axis.ticks == Ticks::Bytes {
        return bytes(low, high, marks);
    }
    let few = (high / low).log10() < 2.0;
    let factors: &[f64] = if few { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let (first, last) = (low.log10().floor() as i32 - 1, high.log10().ceil() as i32 + 1);
    let all = (first..=last).flat_map(|power| factors.iter().map(move |f| f * 10_f64.powi(power)));
    let all: Vec<f64> = all.collect();
    // Ends without a wish go out to the next mark.
    let low = axis.min.map_or_else(|| below(&all, low), |_| low);
    let high = axis.max.map_or_else(|| above(&all, high), |_| high);
    let within: Vec<f64> = all.into_iter().filter(|v| (low * 0.999..=high * 1.001).contains(v)).collect();
    let every = within.len().div_ceil(marks.max(2) + 2).max(1);
    let mark = |(n, &v): (usize, &f64)| (v, if n % every == 0 { power_or_plain(v) } else { String::new() });
    Scale { low, high, logarithmic: true, marks: within.iter().enumerate().map(mark).collect() }
}

fn below(all: &[f64], value: f64) -> f64 {
    all.iter().copied().rfind(|v| *v <= value * 1.001).unwrap_or(value)
}

fn above(all: &[f64], value: f64) -> f64 {
    all.iter().copied().find(|v| *v >= value * 0.999).unwrap_or(value)
}

fn power_or_plain(value: f64) -> String {
    let power = value.log10().floor() as i32;
    if (-3..5).contains(&power) {
        return plain(value, usize::try_from(-power).unwrap_or(0));
    }
    format!("{:e}", (value / 10_f64.powi(power)).round() * 10_f64.powi(power))
}

/// Powers of two, a constant ratio apart.
fn bytes(low: f64, high: f64, marks: usize) -> Scale {
    let (first, last) = (low.log2().floor() as i32, high.log2().ceil() as i32);
    let every = ((last - first) as usize).div_ceil(marks.max(2)).max(1);
    let all = (first..=last).step_by(every).map(|power| (2_f64.powi(power), binary(power)));
    Scale { low: low.min(2_f64.powi(first)), high: 2_f64.powi(last), logarithmic: true, marks: all.collect() }
}

fn binary(power: i32) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = (power / 10).clamp(0, 4);
    format!("{} {}", 2_f64.powi(power - 10 * unit), units[unit as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64], marks: usize) -> Vec<String> {
        Scale::over(axis, values.iter().copied(), marks).marks.into_iter().map(|m| m.1).collect()
    }

    #[test]
    fn marks_are_round() {
        let axis = Axis::default();
        assert_eq!(labels(&axis, &[0.1, 0.93], 5), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&axis, &[0.0, 27_000.0], 5), ["0", "10 000", "20 000", "30 000"]);
        assert_eq!(labels(&axis, &[995.0, 1003.0], 4), ["994", "996", "998", "1000", "1002", "1004"]);
        assert_eq!(labels(&axis, &[-2.0, 2.0], 4), ["-2", "-1", "0", "1", "2"]);
        assert!(!labels(&axis, &[], 4).is_empty() && !labels(&axis, &[3.0], 4).is_empty());
        let log = Axis { logarithmic: true, ..Axis::default() };
        assert_eq!(labels(&log, &[0.3, 90.0], 5), ["0.1", "1", "10", "100"]);
        assert_eq!(labels(&log, &[3.0, 9.0], 5), ["2", "5", "10"]);
        assert_eq!(labels(&log, &[0.0, 1.0, 1e9], 5)[0], "1");
        let bytes = Axis { ticks: Ticks::Bytes, ..log };
        assert_eq!(
            labels(&bytes, &[256.0, 1_048_576.0], 4),
            ["256 B", "2 KiB", "16 KiB", "128 KiB", "1 MiB"]
        );
    }

    #[test]
    fn ends_that_are_asked_for_hold() {
        let axis = Axis { max: Some(3.3), ..Axis::default() };
        let scale = Scale::over(&axis, [0.0, 100.0].into_iter(), 5);
        assert!((scale.at(3.3) - 1.0).abs() < 1e-12 && !scale.holds(3.4) && scale.holds(0.0));
    }
}
