//! Distributions of sizes in files: a line for each point.

use super::{SizeCurve, WHOLE};
use crate::text;
use base::{mistakes::Mistakes, param::Problem, units};

/// Most points that are read.
const MAX_POINTS: usize = 1 << 20;

/// A point as written, and where its share stands.
struct Point<'a> {
    bytes: u64,
    share: f64,
    number: u64,
    line: &'a str,
    word: &'a str,
}

/// The curve of a file whose lines are `bytes share`: the share of messages that have so many bytes at most, in percent if the last one is 100, as a
/// fraction if it is 1. What follows a # is a comment. `key` names the file in problems.
///
/// # Errors
/// Mistakes of the file, each with its line and word.
pub fn read(content: &str, path: &str, key: &str) -> Result<SizeCurve, Vec<Problem>> {
    let mut problems = Mistakes::default();
    let mut points: Vec<Point<'_>> = Vec::new();
    for (number, line) in (1..).zip(content.lines()) {
        let stated = line.split('#').next().unwrap_or("");
        if stated.trim().is_empty() {
            continue;
        }
        match point(stated, points.last()) {
            _ if points.len() == MAX_POINTS => {
                return Err(text::whole(path, key, format!("there are more than {MAX_POINTS} points")));
            }
            Ok((bytes, share, word)) => points.push(Point { bytes, share, number, line, word }),
            Err((word, message)) => problems.push(text::at(path, key, number, line, word, message)),
        }
    }
    problems.done(|others| text::one(path, key, others.message).count(others.count))?;
    let Some(last) = points.last() else {
        return Err(text::whole(path, key, "there is no point: a line is `bytes share`"));
    };
    let unit = match last.share {
        share if (share - 100.0).abs() < 1e-9 => 100.0,
        share if (share - 1.0).abs() < 1e-9 => 1.0,
        _ => {
            let message = "the last share must be all messages: 100 in percent, or 1".to_owned();
            return Err(vec![text::at(path, key, last.number, last.line, last.word, message)]);
        }
    };
    let share = |p: &Point<'_>| ((p.share / unit * WHOLE as f64).round() as u64).min(WHOLE);
    if last.bytes == 0 {
        return Err(vec![text::at(
            path,
            key,
            last.number,
            last.line,
            last.word,
            "empty messages alone cannot fill a load".to_owned(),
        )]);
    }
    Ok(SizeCurve::new(points.iter().map(|p| (p.bytes, share(p))).collect()))
}

/// Bytes and share of a line, behind the point before it; or which of its words is wrong and why.
fn point<'a>(line: &'a str, before: Option<&Point<'_>>) -> Result<(u64, f64, &'a str), (&'a str, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [size, word] = words[..] else {
        let wrong = words.get(2).or(words.last()).copied().unwrap_or("");
        return Err((wrong, "a line is `bytes share`, as in `10000 15`".to_owned()));
    };
    let bytes = size.parse::<u64>().or_else(|_| units::parse_bytes(size)).map_err(|e| (size, e.message))?;
    let share = word.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share));
    let Some(share) = share else {
        return Err((word, format!("`{word}` is not a share from 0 to 100")));
    };
    match before {
        Some(p) if bytes < p.bytes => {
            Err((size, format!("sizes must ascend, and {} B stand before", p.bytes)))
        }
        Some(p) if share < p.share => Err((word, format!("shares add up, and {} stands before", p.share))),
        _ => Ok((bytes, share, word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(text: &str) -> Result<SizeCurve, Vec<Problem>> {
        read(text, "sizes.txt", "size_file")
    }

    #[test]
    fn percent_and_fractions_are_the_same() {
        let percent = curve(
            "# bytes percent\n0 0\n10000 15 # a comment\n\n30 kB 100\n".replace("30 kB", "30kB").as_str(),
        );
        let fraction = curve("0 0\n10000 0.15\n30000 1\n").unwrap();
        assert_eq!(percent.unwrap(), fraction);
        assert_eq!(fraction.points(), [(0, 0), (10_000, WHOLE / 100 * 15), (30_000, WHOLE)]);
        assert_eq!(curve("1000 0.5\n2000 1\n").unwrap().points()[0], (1000, 0));
    }

    #[test]
    fn mistakes_are_reported_with_their_words() {
        let wrong = |text: &str| -> Vec<(u64, String)> {
            let found = curve(text).unwrap_err();
            let excerpt = |p: &Problem| p.input.clone().map(|e| (e.line, e.text[e.start..e.end].to_owned()));
            found.iter().filter_map(excerpt).collect()
        };
        let one = |line: u64, word: &str| vec![(line, word.to_owned())];
        assert_eq!(
            wrong("0 0\nten 15\n10 -1\n5 nan\n20 100\n3\n1 1 1\n"),
            [
                (2, "ten".to_owned()),
                (3, "-1".to_owned()),
                (4, "nan".to_owned()),
                (6, "3".to_owned()),
                (7, "1".to_owned())
            ]
        );
        assert_eq!(wrong("10 10\n5 20\n10 100\n"), one(2, "5"));
        assert_eq!(wrong("10 30\n15 20\n20 100\n"), one(2, "20"));
        assert_eq!(wrong("10 30\n15 70\n"), one(2, "70"));
        assert_eq!(wrong("0 100\n"), one(1, "100"));
        assert_eq!(wrong("# nothing\n"), one(0, ""));
    }
}
