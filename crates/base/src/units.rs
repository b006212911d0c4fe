//! Quantities as people write them (`"30 ns"`, `"16 KiB"`, `"400 Gb/s"`) and the exact numbers they stand for.
//!
//! Nothing is rounded: a quantity either is a whole number of picoseconds or bytes (a bandwidth: an exact fraction
//! of bytes per second) or is refused with the reason. Decimal and binary multiples are different units: `GB` is
//! 10^9 bytes, `GiB` is 2^30. Bits exist only in rates. The printers are inverse to the parsers.

use crate::{
    nearest::nearest,
    rate::Bandwidth,
    time::{MS, NS, Ps, S, US},
};

/// Longest time that can be written, in picoseconds (53 days): sums of a few times cannot overflow.
pub const MAX_TIME: Ps = 1 << 62;

/// Largest number of bytes that can be written (4 EiB).
pub const MAX_BYTES: u64 = 1 << 62;

/// What a quantity measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Times, kept in picoseconds.
    Time,
    /// Amounts of data, kept in bytes.
    Bytes,
    /// Rates, kept in bytes per second.
    Bandwidth,
}

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// What is wrong.
    pub message: String,
    /// How to write it instead.
    pub help: Option<String>,
}

/// A unit: its name and its size as a fraction of the family's base unit.
struct Unit(&'static str, u64, u64);

const TIMES: &[Unit] = &[
    Unit("ps", 1, 1),
    Unit("ns", NS, 1),
    Unit("us", US, 1),
    Unit("\u{b5}s", US, 1),
    Unit("\u{3bc}s", US, 1),
    Unit("ms", MS, 1),
    Unit("s", S, 1),
];
const BYTES: &[Unit] = &[
    Unit("B", 1, 1),
    Unit("kB", 1_000, 1),
    Unit("MB", 1_000_000, 1),
    Unit("GB", 1_000_000_000, 1),
    Unit("TB", 1_000_000_000_000, 1),
    Unit("KiB", 1 << 10, 1),
    Unit("MiB", 1 << 20, 1),
    Unit("GiB", 1 << 30, 1),
    Unit("TiB", 1 << 40, 1),
];
const RATES: &[Unit] = &[
    Unit("B/s", 1, 1),
    Unit("kB/s", 1_000, 1),
    Unit("MB/s", 1_000_000, 1),
    Unit("GB/s", 1_000_000_000, 1),
    Unit("TB/s", 1_000_000_000_000, 1),
    Unit("KiB/s", 1 << 10, 1),
    Unit("MiB/s", 1 << 20, 1),
    Unit("GiB/s", 1 << 30, 1),
    Unit("TiB/s", 1 << 40, 1),
    Unit("b/s", 1, 8),
    Unit("kb/s", 125, 1),
    Unit("Mb/s", 125_000, 1),
    Unit("Gb/s", 125_000_000, 1),
    Unit("Tb/s", 125_000_000_000, 1),
];

impl Family {
    fn units(self) -> &'static [Unit] {
        match self {
            Self::Time => TIMES,
            Self::Bytes => BYTES,
            Self::Bandwidth => RATES,
        }
    }

    /// The family with its article, for messages: `a time`.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Time => "a time",
            Self::Bytes => "a number of bytes",
            Self::Bandwidth => "a bandwidth",
        }
    }

    fn quantity(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Bytes => "data",
            Self::Bandwidth => "bandwidth",
        }
    }

    /// The unit proposed for a bare number.
    #[must_use]
    pub fn usual_unit(self) -> &'static str {
        match self {
            Self::Time => "ns",
            Self::Bytes => "B",
            Self::Bandwidth => "GB/s",
        }
    }

    /// All units, for messages and documentation: `ps, ns, us, ms, s`.
    #[must_use]
    pub fn unit_list(self) -> String {
        let ascii = self.units().iter().map(|u| u.0).filter(|name| name.is_ascii());
        ascii.collect::<Vec<_>>().join(", ")
    }
}

impl UnitError {
    fn new(message: String, help: impl Into<Option<String>>) -> Self {
        Self { message, help: help.into() }
    }

    /// The error of a number without unit, such as the TOML integer `30`.
    #[must_use]
    pub fn bare_number(number: &str, family: Family) -> Self {
        let mut help = format!("write \"{number} {}\" if that is meant", family.usual_unit());
        if family == Family::Bandwidth {
            help += "; GB/s, GiB/s and Gb/s are different units";
        }
        Self::new(format!("`{number}` has no unit, but {} needs one", family.noun()), help)
    }
}

impl std::fmt::Display for UnitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UnitError {}

/// Reads a time such as `"29.802 ns"`.
///
/// # Errors
/// If the text is no time, or no whole number of picoseconds, or longer than [`MAX_TIME`].
pub fn parse_time(text: &str) -> Result<Ps, UnitError> {
    let (n, d) = parse(text, Family::Time)?;
    if d != 1 {
        return Err(UnitError::new(
            format!("`{}` is not a whole number of picoseconds", text.trim()),
            "times are kept in whole picoseconds; round it yourself".to_owned(),
        ));
    }
    whole(n, MAX_TIME, text, "the longest time is 2^62 ps, about 53 days")
}

/// Reads a number of bytes such as `"16 KiB"`.
///
/// # Errors
/// If the text is no number of bytes, or no whole one, or above [`MAX_BYTES`].
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    let (n, d) = parse(text, Family::Bytes)?;
    if d != 1 {
        return Err(UnitError::new(format!("`{}` is not a whole number of bytes", text.trim()), None));
    }
    whole(n, MAX_BYTES, text, "the largest number of bytes is 2^62")
}

/// Reads a bandwidth such as `"2 GiB/s"` or `"400 Gb/s"`.
///
/// # Errors
/// If the text is no bandwidth, or zero, or its exact fraction does not fit 62 bits.
pub fn parse_bandwidth(text: &str) -> Result<Bandwidth, UnitError> {
    let (n, d) = parse(text, Family::Bandwidth)?;
    if n == 0 {
        return Err(UnitError::new("a bandwidth of zero carries nothing".to_owned(), None));
    }
    let fits = |x: u128| u64::try_from(x).ok();
    fits(n).zip(fits(d)).and_then(|(n, d)| Bandwidth::new(n, d)).ok_or_else(|| {
        let help = "the exact fraction of bytes per second must fit 62 bits: use fewer digits".to_owned();
        UnitError::new(format!("`{}` is out of range", text.trim()), help)
    })
}

/// Reads a percentage such as `"1 %"` as a part of one: 0.01. `None` if the text is none, or it is negative or not finite.
#[must_use]
pub fn percent(text: &str) -> Option<f64> {
    let percent: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    (percent >= 0.0 && percent.is_finite()).then_some(percent / 100.0)
}

/// Writes a time without loss, in the largest unit that keeps it at or above one: `"29.802 ns"`.
#[must_use]
pub fn print_time(ps: Ps) -> String {
    let unit = TIMES.iter().rev().find(|u| u.0.is_ascii() && ps >= u.1).unwrap_or(&TIMES[0]);
    let number = decimal(ps.into(), unit.1.into()).expect("powers of ten have finite decimals");
    format!("{number} {}", unit.0)
}

/// Writes a number of bytes in the largest binary unit that divides it: `"16 KiB"`.
#[must_use]
pub fn print_bytes(bytes: u64) -> String {
    let divides = |u: &&Unit| bytes != 0 && u.1.is_power_of_two() && bytes.is_multiple_of(u.1);
    let unit = BYTES.iter().filter(divides).max_by_key(|u| u.1).unwrap_or(&BYTES[0]);
    format!("{} {}", bytes / unit.1, unit.0)
}

/// Writes a bandwidth without loss, in the unit that gives a short number, at best between 1 and 1000: `"5.25 GiB/s"`.
///
/// Every bandwidth that [`parse_bandwidth`] reads is written so that it is read again; another fraction without a
/// finite decimal (one third of a byte per second) is written as a fraction.
#[must_use]
pub fn print_bandwidth(bandwidth: Bandwidth) -> String {
    let (n, d) = bandwidth.ratio();
    let written = RATES.iter().filter_map(|u| {
        let (n, d) = (u128::from(n) * u128::from(u.2), u128::from(d) * u128::from(u.1));
        let number = decimal(n, d)?;
        let awkward = if (1..1000).contains(&(n / d)) { 0 } else { 3 };
        Some((number.len() + awkward, format!("{number} {}", u.0)))
    });
    let best = written.min_by_key(|&(length, _)| length);
    best.map_or_else(|| format!("{n}/{d} B/s"), |(_, text)| text)
}

fn whole(n: u128, max: u64, text: &str, help: &str) -> Result<u64, UnitError> {
    match u64::try_from(n) {
        Ok(n) if n <= max => Ok(n),
        _ => Err(UnitError::new(format!("`{}` is too large", text.trim()), help.to_owned())),
    }
}

/// The quantity as a reduced fraction of the family's base unit.
fn parse(text: &str, family: Family) -> Result<(u128, u128), UnitError> {
    let text = text.trim();
    let shape = || {
        let example = format!("\"30 {}\"", family.usual_unit());
        UnitError::new(
            format!("`{text}` is not {}", family.noun()),
            format!("write a number and a unit, such as {example}"),
        )
    };
    if let Some(rest) = text.strip_prefix('-') {
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(UnitError::new(format!("{} cannot be negative", family.noun()), None));
        }
        return Err(shape());
    }
    let (number, name) = split(text).ok_or_else(shape)?;
    if name.is_empty() {
        return Err(UnitError::bare_number(text, family));
    }
    let unit = family.units().iter().find(|u| u.0 == name).ok_or_else(|| unknown_unit(name, family))?;
    let fraction = number
        .scaled(unit)
        .ok_or_else(|| UnitError::new(format!("`{text}` is out of range"), "use fewer digits".to_owned()))?;
    Ok(fraction)
}

fn unknown_unit(name: &str, family: Family) -> UnitError {
    for other in [Family::Time, Family::Bytes, Family::Bandwidth] {
        if other.units().iter().any(|u| u.0 == name) {
            let message = format!("`{name}` measures {}, but {} is wanted here", other.noun(), family.noun());
            return UnitError::new(message, format!("its units are {}", family.unit_list()));
        }
    }
    let folded = |u: &&Unit| u.0.eq_ignore_ascii_case(name);
    let mut near: Vec<&str> = family.units().iter().filter(folded).map(|u| u.0).collect();
    if near.is_empty() {
        near = nearest(name, family.units().iter().map(|u| u.0).filter(|n| n.is_ascii()));
    }
    let mut help = format!("its units are {}", family.unit_list());
    if let Some(best) = near.first() {
        help = format!("did you mean `{best}`? {help}");
    }
    UnitError::new(format!("`{name}` is not a unit of {}", family.quantity()), help)
}

/// A decimal number `digits * 10^exponent`.
struct Decimal {
    digits: u128,
    exponent: i32,
}

impl Decimal {
    /// The number times the unit, reduced; `None` if a part exceeds 128 bits on the way.
    fn scaled(&self, unit: &Unit) -> Option<(u128, u128)> {
        if self.digits == 0 {
            return Some((0, 1));
        }
        let (up, down) = (self.exponent.max(0).unsigned_abs(), self.exponent.min(0).unsigned_abs());
        let ten = 10u128.checked_pow(down)?;
        let g = gcd(self.digits, ten);
        let (mut n, mut d) = (self.digits / g, ten / g);
        for factor in [10u128.checked_pow(up)?, u128::from(unit.1)] {
            let g = gcd(factor, d);
            d /= g;
            n = n.checked_mul(factor / g)?;
            let g = gcd(n, d);
            (n, d) = (n / g, d / g);
        }
        d = d.checked_mul(unit.2.into())?;
        let g = gcd(n, d);
        Some((n / g, d / g))
    }
}

/// Splits `"1.5e3 ns"` into its number and its unit; `None` if it does not start with a number.
fn split(text: &str) -> Option<(Decimal, &str)> {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let integer = digits(0);
    let mut end = integer;
    let mut fraction = "";
    if text[end..].starts_with('.') {
        let n = digits(end + 1);
        fraction = &text[end + 1..end + 1 + n];
        end += 1 + n;
    }
    if integer == 0 || text[..end].ends_with('.') {
        return None;
    }
    let integer = &text[..integer];
    let mut exponent = 0i32;
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let n = digits(end + 1 + sign);
        if n > 0 {
            exponent = text[end + 1..end + 1 + sign + n].parse().ok().filter(|e| (-99..=99).contains(e))?;
            end += 1 + sign + n;
        }
    }
    let fraction = fraction.trim_end_matches('0');
    let all = format!("{integer}{fraction}");
    let significant = all.trim_start_matches('0');
    let digits = if significant.is_empty() { 0 } else { significant.parse().ok()? };
    let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    Some((Decimal { digits, exponent }, text[end..].trim_start()))
}

/// `n / d` as a decimal number, if it has a finite one of at most 60 places and fits.
fn decimal(n: u128, d: u128) -> Option<String> {
    let (integer, mut rest) = (n / d, n % d);
    let mut text = integer.to_string();
    if rest != 0 {
        text.push('.');
    }
    for _ in 0..60 {
        if rest == 0 {
            return Some(text);
        }
        rest = rest.checked_mul(10)?;
        text.push(char::from(b'0' + (rest / d) as u8));
        rest %= d;
    }
    None
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_exactly() {
        assert_eq!(parse_time("30 ns"), Ok(30 * NS));
        assert_eq!(parse_time("3.725 ns"), Ok(3_725));
        assert_eq!(parse_time("0 s"), Ok(0));
        assert_eq!(parse_time("1ms"), Ok(MS));
        assert_eq!(parse_time("2.50 \u{b5}s"), Ok(2_500_000));
        assert_eq!(parse_time("1e-3 s"), Ok(MS));
        assert_eq!(parse_bytes("16 KiB"), Ok(16_384));
        assert_eq!(parse_bytes("16 kB"), Ok(16_000));
        assert_eq!(parse_bytes("0.5 KiB"), Ok(512));
        assert_eq!(parse_bandwidth("2 GiB/s"), Ok(Bandwidth::new(2 << 30, 1).unwrap()));
        assert_eq!(parse_bandwidth("5.25 GiB/s"), Ok(Bandwidth::new(5_637_144_576, 1).unwrap()));
        assert_eq!(parse_bandwidth("400 Gb/s"), parse_bandwidth("50 GB/s"));
        assert_eq!(parse_bandwidth("1 b/s"), Ok(Bandwidth::new(1, 8).unwrap()));
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "the same division")]
    fn percentages_are_parts_of_one() {
        assert_eq!(percent("1 %"), Some(0.01));
        assert_eq!(percent(" 250% "), Some(2.5));
        assert_eq!(percent("0 %"), Some(0.0));
        for wrong in ["", "%", "1", "-1 %", "NaN %", "inf %", "1 % %", "1 percent"] {
            assert_eq!(percent(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn one_chunk_on_the_published_links() {
        let chunk = |rate: &str| parse_bandwidth(rate).unwrap().time_rounded(64).unwrap();
        assert_eq!(chunk("2 GiB/s"), parse_time("29.802 ns").unwrap());
        assert_eq!(chunk("5.25 GiB/s"), parse_time("11.353 ns").unwrap());
        assert_eq!(chunk("4.7 GiB/s"), parse_time("12.682 ns").unwrap());
    }

    fn reported<T: std::fmt::Debug>(result: Result<T, UnitError>) -> String {
        let error = result.unwrap_err();
        format!("{} | {}", error.message, error.help.unwrap_or_default())
    }

    #[test]
    fn says_what_is_wrong() {
        let cases = [
            (reported(parse_time("30")), "`30` has no unit", "\"30 ns\""),
            (reported(parse_time("30 GiB")), "`GiB` measures a number of bytes", "ps, ns, us, ms, s"),
            (reported(parse_time("30 nsec")), "`nsec` is not a unit", "ns"),
            (reported(parse_time("-1 ns")), "cannot be negative", ""),
            (reported(parse_time("0.0001 ps")), "not a whole number of picoseconds", "whole picoseconds"),
            (reported(parse_time("100 000 s")), "`000 s` is not a unit", ""),
            (reported(parse_time("9999999 s")), "too large", "53 days"),
            (reported(parse_time("1e99 s")), "out of range", ""),
            (reported(parse_time("soon")), "`soon` is not a time", "\"30 ns\""),
            (reported(parse_time("")), "`` is not a time", ""),
            (reported(parse_time("1. ns")), "is not a time", ""),
            (reported(parse_time("-")), "`-` is not a time", ""),
            (reported(parse_bytes("16 KB")), "`KB` is not a unit", "did you mean `kB`"),
            (reported(parse_bytes("0.3 B")), "not a whole number of bytes", ""),
            (reported(parse_bytes("99999999999 TiB")), "too large", ""),
            (reported(parse_bandwidth("0 GB/s")), "zero", ""),
            (reported(parse_bandwidth("2 GiB")), "measures a number of bytes", "GiB/s"),
            (reported(parse_bandwidth("99999999999 TB/s")), "out of range", "62 bits"),
        ];
        for (said, message, help) in cases {
            assert!(said.contains(message) && said.contains(help), "{said:?} lacks {message:?} or {help:?}");
        }
    }

    #[test]
    fn prints_the_usual_forms() {
        for text in ["0 ps", "29.802 ns", "1 ms", "1.145059 us", "53 s"] {
            assert_eq!(print_time(parse_time(text).unwrap()), text);
        }
        for text in ["0 B", "1 KiB", "1000 B", "16 KiB", "3 GiB"] {
            assert_eq!(print_bytes(parse_bytes(text).unwrap()), text);
        }
        for text in ["2 GiB/s", "5.25 GiB/s", "4.7 GiB/s", "50 GB/s", "1 b/s", "100 MB/s"] {
            assert_eq!(print_bandwidth(parse_bandwidth(text).unwrap()), text);
        }
        assert_eq!(print_bandwidth(Bandwidth::new(1, 3).unwrap()), "1/3 B/s");
    }

    proptest! {
        #[test]
        fn times_survive_printing(ps in 0..=MAX_TIME) {
            prop_assert_eq!(parse_time(&print_time(ps)), Ok(ps));
        }

        #[test]
        fn bytes_survive_printing(bytes in 0..=MAX_BYTES, shift in 0u32..62) {
            prop_assert_eq!(parse_bytes(&print_bytes(bytes >> shift << shift)), Ok(bytes >> shift << shift));
        }

        #[test]
        fn bandwidths_survive_printing(n in 1u32.., places in 0u32..6, unit in 0..RATES.len()) {
            let number = decimal(n.into(), 10u128.pow(places)).unwrap();
            if let Ok(rate) = parse_bandwidth(&format!("{number} {}", RATES[unit].0)) {
                prop_assert_eq!(parse_bandwidth(&print_bandwidth(rate)), Ok(rate));
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,12}|[0-9.e+-]{0,8} ?[a-zA-Z/]{0,6}") {
            let _ = (parse_time(&text), parse_bytes(&text), parse_bandwidth(&text));
        }
    }
}
