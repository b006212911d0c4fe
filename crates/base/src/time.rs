//! Virtual time: unsigned picoseconds.

/// A point in virtual time or a span of it, in picoseconds. 2^64 ps are 213 days.
pub type Ps = u64;

/// A time computed in floating point, to the nearest picosecond, halves up: what `round` gives, which is a call. Nothing before zero, and [`Ps::MAX`]
/// beyond the end of time.
#[inline]
#[must_use]
pub fn rounded(ps: f64) -> Ps {
    let whole = ps as Ps;
    whole.saturating_add(Ps::from(ps - whole as f64 >= 0.5))
}

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
    fn rounds_as_the_library_does() {
        let large = (1u64 << 53) as f64;
        let ends = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.5, -3.0, 1.9e19, 2e19];
        let near = [0.0, 0.3, 0.5, 0.499_999_999_999_999_94, 1.5, 2.5, 1e6 + 0.5, large / 2.0 - 0.5];
        for ps in ends.into_iter().chain(near).chain([large - 1.0, large, large * 100.0]) {
            assert_eq!(rounded(ps), ps.round() as Ps, "{ps}");
        }
    }

    #[test]
    fn shows_the_largest_unit() {
        assert_eq!(display(0), "0 ps");
        assert_eq!(display(999), "999 ps");
        assert_eq!(display(1_145_059), "1.145 us");
        assert_eq!(display(5 * S), "5.000 s");
    }
}
