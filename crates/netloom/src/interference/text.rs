//! Interference for people: a line for each job.

use super::outcome::{Interference, Row};
use crate::compare_models::text::aligned;
use base::time::{Ps, display};

/// A quantity of a job: its heads together and alone, and its value.
type Quantity = (&'static str, fn(&super::taken::Taken) -> Option<String>);

const QUANTITIES: [Quantity; 4] = [
    ("makespan", |t| t.makespan_ps.map(display)),
    ("latency", |t| t.latency.map(|l| display(l.mean_ps.round() as Ps))),
    ("99 %", |t| t.latency.map(|l| display(l.p99_ps))),
    ("messages/s", |t| t.messages_per_s.map(rate)),
];

impl Interference {
    /// What was run, then the table.
    #[must_use]
    pub fn text(&self) -> String {
        let jobs = self.rows.len();
        let mut text = format!(
            "{}: {jobs} jobs on model {}, together ({}) and each alone in its place\n\n",
            self.name(),
            self.model,
            self.together.verdict.state.name()
        );
        text += &aligned(&self.lines());
        text
    }

    /// Cells of the table, its heads first; quantities that no job has are left out.
    #[must_use]
    pub fn lines(&self) -> Vec<Vec<String>> {
        let has = |of: fn(&super::taken::Taken) -> Option<String>| {
            self.rows.iter().any(|row| of(&row.together).or(of(&row.alone)).is_some())
        };
        let shown: Vec<&Quantity> = QUANTITIES.iter().filter(|(_, of)| has(*of)).collect();
        let mut head = vec!["job".to_owned(), "alone is".to_owned(), "ranks".to_owned()];
        head.extend(shown.iter().flat_map(|(name, _)| [(*name).to_owned(), "alone".to_owned()]));
        head.push("slow-down".to_owned());
        let line = |row: &Row| {
            let mut line =
                vec![row.name.clone(), row.summary.verdict.state.name().to_owned(), row.ranks.to_string()];
            let both = |of: fn(&super::taken::Taken) -> Option<String>| [of(&row.together), of(&row.alone)];
            line.extend(shown.iter().flat_map(|(_, of)| both(*of)).map(|cell| cell.unwrap_or_else(none)));
            line.push(row.slow_down.map_or_else(none, |(_, ratio)| format!("{ratio:.3}")));
            line
        };
        std::iter::once(head).chain(self.rows.iter().map(line)).collect()
    }
}

fn none() -> String {
    "-".to_owned()
}

fn rate(per_s: f64) -> String {
    match per_s {
        r if r >= 1e9 => format!("{:.3} G", r * 1e-9),
        r if r >= 1e6 => format!("{:.3} M", r * 1e-6),
        r if r >= 1e3 => format!("{:.3} k", r * 1e-3),
        r => format!("{r:.3}"),
    }
}
