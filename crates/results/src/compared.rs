//! A comparison of two runs as text.

use crate::{
    compare::{Comparison, MessageKey, Seconds},
    summary::Summary,
};
use base::visible;
use std::fmt::Write;

fn model(summary: &Summary) -> &str {
    summary.experiment["model"]["kind"].as_str().unwrap_or("?")
}

/// A comparison for a person at a terminal; the runs are called by these names.
#[must_use]
pub fn text(c: &Comparison, names: [&str; 2], [a, b]: [&Summary; 2]) -> String {
    let mut text = format!("A  {} ({})\nB  {} ({})\n", names[0], model(a), names[1], model(b));
    if c.identical {
        text += "both happened alike, to the last picosecond (same fingerprint)\n";
    }
    let wide = c.differences.iter().map(|d| visible::name(&d.name).len()).max().unwrap_or(0).max(8);
    let _ = writeln!(
        text,
        "\n{:wide$}  {:>16}  {:>16}  {:>10}  {:>9}",
        "quantity", "A", "B", "difference", "tolerance"
    );
    let number = |n: Option<f64>| match n {
        Some(n) if n.fract() == 0.0 && n.abs() < 1e15 => format!("{n:.0}"),
        Some(n) => format!("{n:.6}"),
        None => "-".to_owned(),
    };
    let percent = |n: f64| format!("{:.4} %", n * 100.0);
    for d in &c.differences {
        let name = visible::name(&d.name);
        let relative = d.relative.map_or_else(|| "-".to_owned(), percent);
        let tolerance = d.tolerance.map_or_else(|| "none".to_owned(), percent);
        let mark = if d.within { "" } else { "  BEYOND" };
        let (a, b) = (number(d.a), number(d.b));
        let _ = writeln!(text, "{name:wide$}  {a:>16}  {b:>16}  {relative:>10}  {tolerance:>9}{mark}");
    }
    match &c.messages {
        Some(m) => {
            let _ = writeln!(
                text,
                "\nmessages  {} in both, {} only in A, {} only in B\nlatency of B against A: {:+.3} % in the mean; error {:.3} % mean, {:.3} % median, {:.3} % p95, {:.3} % greatest",
                m.matched,
                m.only_a,
                m.only_b,
                m.mean_signed * 100.0,
                m.mean * 100.0,
                m.p50 * 100.0,
                m.p95 * 100.0,
                m.max * 100.0
            );
            if let Some(MessageKey { source, destination, number }) = m.worst.filter(|_| m.max > 0.0) {
                let _ = writeln!(text, "greatest: message {number} from terminal {source} to {destination}");
            }
        }
        None => {
            text += "\nmessages  not stored by both runs: set `messages = true` in [output] to compare them one by one\n"
        }
    }
    if let Some(Seconds { a, b, ratio }) = c.seconds {
        let _ = writeln!(text, "time      A {a:.3} s, B {b:.3} s: A takes {ratio:.2} times as long as B");
    }
    let beyond = c.differences.iter().filter(|d| !d.within).count();
    let judged = c.differences.iter().filter(|d| d.tolerance.is_some()).count();
    let _ = writeln!(text, "{beyond} of {judged} quantities are beyond their tolerance");
    text
}
