//! Numbers with units as the format writes them: `1.25GBps`, `500ns`; a plain number is in bytes per second or seconds.

use super::super::limits::MAX_LATENCY;

/// Splits a number from its unit.
fn split(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    // An exponent's e belongs to the number if digits follow.
    let mut end = 0;
    let bytes = text.as_bytes();
    while let Some(&b) = bytes.get(end) {
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let exponent = matches!(b, b'e' | b'E')
            && (digit(end + 1) || (matches!(bytes.get(end + 1), Some(b'+' | b'-')) && digit(end + 2)));
        let sign = matches!(b, b'+' | b'-') && (end == 0 || matches!(bytes[end - 1], b'e' | b'E'));
        if !(b.is_ascii_digit() || b == b'.' || exponent || sign) {
            break;
        }
        end += 1;
    }
    let number: f64 = text[..end].parse().map_err(|_| "is not a number with a unit".to_owned())?;
    Ok((number, text[end..].trim()))
}

/// Bytes per second, above zero.
pub(super) fn bandwidth(text: &str) -> Result<f64, String> {
    let (number, unit) = split(text)?;
    let (stem, bits) =
        match unit {
            "" => ("", 1.0),
            _ => match (unit.strip_suffix("Bps"), unit.strip_suffix("bps")) {
                (Some(stem), _) => (stem, 1.0),
                (_, Some(stem)) => (stem, 8.0),
                _ => return Err(
                    "has no unit of bandwidth (Bps, bps, kBps, MBps, GBps, TBps, KiBps, MiBps, GiBps, ..)"
                        .to_owned(),
                ),
            },
        };
    let factor = match stem {
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        "Ti" => 1_099_511_627_776.0,
        _ => {
            return Err(
                "has no unit of bandwidth (Bps, bps, kBps, MBps, GBps, TBps, KiBps, MiBps, GiBps, ..)"
                    .to_owned(),
            );
        }
    };
    let value = number * factor / bits;
    if value > 0.0 && value.is_finite() { Ok(value) } else { Err("must be above zero".to_owned()) }
}

/// Operations per second, not negative.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    let (number, unit) = split(text)?;
    let stems = [("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12), ("P", 1e15), ("E", 1e18)];
    let factor = match unit.strip_suffix('f') {
        None if unit.is_empty() => Some(1.0),
        None => None,
        Some(stem) => stems.iter().find(|s| s.0 == stem).map(|s| s.1),
    };
    let value = factor.map(|factor| number * factor).filter(|value| (0.0..f64::INFINITY).contains(value));
    value.ok_or_else(|| "is no speed (f, kf, Mf, Gf, Tf, ..)".to_owned())
}

/// Seconds, not negative.
pub(super) fn latency(text: &str) -> Result<f64, String> {
    let (number, unit) = split(text)?;
    let value = match unit {
        "" | "s" => number,
        "ms" => number * 1e-3,
        "us" => number * 1e-6,
        "ns" => number * 1e-9,
        "ps" => number * 1e-12,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err("has no unit of time (s, ms, us, ns, ps)".to_owned()),
    };
    if (0.0..=MAX_LATENCY).contains(&value) {
        Ok(value)
    } else {
        Err(format!("must be from 0 to {MAX_LATENCY} s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_units() {
        assert_eq!(bandwidth("1250000000.0Bps"), Ok(1.25e9));
        assert_eq!(bandwidth("1.25GBps"), Ok(1.25e9));
        assert_eq!(bandwidth("10Gbps"), Ok(1.25e9));
        assert_eq!(bandwidth("1KiBps"), Ok(1024.0));
        assert_eq!(bandwidth("5e9"), Ok(5e9));
        assert!(bandwidth("-1GBps").is_err() && bandwidth("0Bps").is_err());
        assert!(bandwidth("1GB").is_err() && bandwidth("fast").is_err() && bandwidth("").is_err());
        assert_eq!((speed("98.5Mf"), speed("2"), speed(" 1Gf")), (Ok(98.5e6), Ok(2.0), Ok(1e9)));
        assert!(speed("1GHz").is_err() && speed("-1f").is_err());
        assert_eq!(latency("5e-07s"), Ok(5e-7));
        assert!((latency("50us").unwrap() - 5e-5).abs() < 1e-18);
        assert!(latency("-1us").is_err() && latency("1 year").is_err());
    }
}
