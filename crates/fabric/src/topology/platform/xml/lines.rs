//! The lines of profiles: times, and what is so from then on.
//!
//! A profile is lines of a time and a value. `PERIODICITY p` has it begin again p after it began, `LOOPAFTER d` d after its last line. Times and values
//! that are drawn (STOCHASTIC) are refused: two runs of one file must be the same.

/// Lines of a profile at most.
const MAX_LINES: usize = 1 << 20;

/// Shortest time in seconds after which a profile may begin again.
const SHORTEST: f64 = 1e-9;

/// Times and values, and the time after which they come again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lines {
    pub(super) values: Vec<(f64, f64)>,
    pub(super) period: Option<f64>,
}

/// Reads the lines of a profile; `periodicity` is that of the element, if it has one.
pub(super) fn lines(text: &str, periodicity: Option<f64>) -> Result<Lines, String> {
    let (mut values, mut period, mut after) = (Vec::<(f64, f64)>::new(), periodicity, None);
    for (n, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '%']) {
            continue;
        }
        let wrong = |what: &str| Err(format!("line {} of the profile {what}: `{line:.60}`", n + 1));
        let mut words = line.split_whitespace();
        let (Some(first), second) = (words.next(), words.next()) else { continue };
        let number = |text: Option<&str>| text.and_then(|t| t.parse::<f64>().ok()).filter(|n| n.is_finite());
        match first {
            "PERIODICITY" => period = number(second),
            "LOOPAFTER" => after = number(second),
            "STOCHASTIC" => return wrong("draws its values, which is not read"),
            _ => {
                let (Some(time), Some(value)) = (number(Some(first)), number(second)) else {
                    return wrong("is no time and value");
                };
                if time < values.last().map_or(0.0, |v| v.0) {
                    return wrong("is earlier than the one before");
                }
                if values.len() >= MAX_LINES {
                    return Err(format!("a profile has {MAX_LINES} lines at most"));
                }
                values.push((time, value));
            }
        }
        if words.next().is_some() {
            return wrong("has more than two words");
        }
    }
    let last = values.last().map_or(0.0, |v| v.0);
    let period = match (period, after) {
        (Some(period), None) if period <= 0.0 => None,
        (Some(_), Some(_)) => return Err("a profile has PERIODICITY or LOOPAFTER, not both".to_owned()),
        (period, after) => period.or_else(|| after.map(|after| last + after)),
    };
    if period.is_some_and(|period| period < last || period <= 0.0) {
        return Err("a profile begins again before it is over".to_owned());
    }
    // Virtual time counts picoseconds: what comes again sooner would change without end at one instant, or be all that a run does.
    if let Some(period) = period.filter(|&period| period < SHORTEST) {
        return Err(format!("a profile begins again after {period} s; {SHORTEST} s is the least"));
    }
    Ok(Lines { values, period })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_have_times_values_and_periods() {
        let read = |text: &str| lines(text, None);
        let values = vec![(0.0, 1.0), (2.5, 3.0)];
        let once = Lines { values: values.clone(), period: None };
        assert_eq!(read("# a profile\n0.0 1.0\n\n 2.5\t3\n"), Ok(once));
        let again = |period| Ok(Lines { values: values.clone(), period: Some(period) });
        assert_eq!(read("PERIODICITY 4\n0 1\n2.5 3\n"), again(4.0));
        assert_eq!(read("0 1\n2.5 3\nLOOPAFTER 2"), again(4.5));
        assert_eq!(lines("0 1\n2.5 3", Some(7.0)), again(7.0));
        for wrong in [
            "1 2\n0 3",
            "STOCHASTIC\n",
            "0",
            "a b",
            "0 1 2",
            "PERIODICITY 1\n0 1\n2 3",
            "PERIODICITY 1\nLOOPAFTER 1\n0 1",
            "PERIODICITY 1e-12\n0 1",
            "0 1\nLOOPAFTER 1e-300",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
