//! Numbers as readers want them, and words as HTML.

pub(crate) use crate::plot::scene::escaped;
use std::fmt::Write;

/// A number with three digits and a unit that grows by thousands.
fn scaled(value: f64, units: &[&str], step: f64) -> String {
    let (mut value, mut unit) = (value, 0);
    // 999.6 would be written as 1000.
    while value.abs() >= 0.9995 * step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    format!("{} {}", three(value), units[unit])
}

/// Three digits that count, at most.
pub fn three(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 99.95 || v == 0.0 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.1 => 2,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A time in picoseconds.
pub fn time(ps: f64) -> String {
    scaled(ps, &["ps", "ns", "\u{b5}s", "ms", "s"], 1e3)
}

/// Bytes, in binary units.
pub fn bytes(count: f64) -> String {
    scaled(count, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"], 1024.0)
}

/// Bytes per second.
pub fn rate(bytes_per_s: f64) -> String {
    scaled(bytes_per_s, &["B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"], 1e3)
}

/// A share, as percent.
pub fn percent(share: f64) -> String {
    format!("{} %", three(share * 100.0))
}

/// A whole number with thin spaces between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if digits.len() > 4 && n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push('\u{2009}');
        }
        text.push(digit);
    }
    text
}

/// The unit in which times up to this are read best: its name, and how many picoseconds it has.
pub fn time_unit(most_ps: f64) -> (&'static str, f64) {
    let units = [("ps", 1.0), ("ns", 1e3), ("\u{b5}s", 1e6), ("ms", 1e9), ("s", 1e12)];
    units.into_iter().rfind(|(_, size)| most_ps >= *size * 2.0).unwrap_or(units[0])
}

/// A table of HTML; cells are escaped here. The first column names the row, and columns that hold numbers stand to the right.
pub fn table(caption: &str, heads: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!(
        "<div class=\"scroll\" tabindex=\"0\"><table><caption>{}</caption><thead><tr>",
        escaped(caption)
    );
    let numbers = |n: usize| {
        let mut cells =
            rows.iter().filter_map(|row| row.get(n)).filter(|cell| *cell != "\u{2013}").peekable();
        n > 0 && cells.peek().is_some() && cells.all(|cell| is_number(cell))
    };
    let right: Vec<bool> = (0..heads.len()).map(numbers).collect();
    for (head, right) in heads.iter().zip(&right) {
        let class = if *right { " class=\"n\"" } else { "" };
        let _ = write!(text, "<th scope=\"col\"{class}>{}</th>", escaped(head));
    }
    text += "</tr></thead><tbody>\n";
    for row in rows {
        text += "<tr>";
        for (n, cell) in row.iter().enumerate() {
            let right = is_number(cell) || right.get(n).is_some_and(|right| *right);
            let _ = match n {
                0 => write!(text, "<th scope=\"row\"><bdi>{}</bdi></th>", escaped(cell)),
                _ if right => write!(text, "<td class=\"n\">{}</td>", escaped(cell)),
                _ => write!(text, "<td><bdi>{}</bdi></td>", escaped(cell)),
            };
        }
        text += "</tr>\n";
    }
    text + "</tbody></table></div>\n"
}

fn is_number(cell: &str) -> bool {
    cell.starts_with(|c: char| c.is_ascii_digit() || "-+\u{b1}".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.0, 1.0, 999.6, 1234.0, 56_789.0].map(time),
            ["0 ps", "1 ps", "1 ns", "1.23 ns", "56.8 ns"]
        );
        assert_eq!(bytes(1536.0), "1.5 KiB");
        assert_eq!(percent(0.1234), "12.3 %");
        assert_eq!(count(1_234_567), "1\u{2009}234\u{2009}567");
        assert_eq!(time_unit(5e9), ("ms", 1e9));
    }

    #[test]
    fn names_stay_words() {
        let text = table(
            "a<b",
            &["x"],
            &[vec!["<script>alert(1)</script>\u{202e}\u{1b}[31m".to_owned(), "12".to_owned()]],
        );
        assert!(!text.contains("<script") && !text.contains('\u{202e}') && !text.contains('\u{1b}'));
        assert!(text.contains("<td class=\"n\">12"));
    }
}
