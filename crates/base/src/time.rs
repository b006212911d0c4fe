//! Virtual time: unsigned picoseconds.

/// A point in virtual time or a span of it, in picoseconds. 2^64 ps are 213 days.
pub type Ps = u64;

/// The end of time: no event carries it.
pub const NEVER: Ps = Ps::MAX;

/// One nanosecond, microsecond, millisecond and second in picoseconds.
pub const NS: Ps = 1_000;
/// One microsecond in picoseconds.
pub const US: Ps = 1_000_000;
/// One millisecond in picoseconds.
pub const MS: Ps = 1_000_000_000;
/// One second in picoseconds.
pub const S: Ps = 1_000_000_000_000;

/// Renders a time with three decimals in the largest unit that keeps it above one: `1.145 us`.
#[must_use]
pub fn display(ps: Ps) -> String {
    let (unit, name) = match ps {
        0..NS => return format!("{ps} ps"),
        NS..US => (NS, "ns"),
        US..MS => (US, "us"),
        MS..S => (MS, "ms"),
        _ => (S, "s"),
    };
    let thousandths = (u128::from(ps) * 1000 + u128::from(unit) / 2) / u128::from(unit);
    format!("{}.{:03} {name}", thousandths / 1000, thousandths % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_largest_unit() {
        assert_eq!(display(0), "0 ps");
        assert_eq!(display(999), "999 ps");
        assert_eq!(display(1_145_059), "1.145 us");
        assert_eq!(display(5 * S), "5.000 s");
    }
}
