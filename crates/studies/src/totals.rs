//! What runs of a hybrid study came to in all: throughput and packets, and messages of a workload that ends.

use crate::line::{Line, number};
use base::time::Ps;
use netloom::Prepared;
use results::summary::Summary;
use serde::{Deserialize, Serialize};

/// What one run came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Terminals of the network.
    pub terminals: u32,
    /// Virtual time at its end.
    pub simulated_ps: Ps,
    /// Packets that terminals handed over.
    pub packets_sent: u64,
    /// Payload that was delivered.
    pub bytes_delivered: u64,
    /// Messages that were delivered, if the run ended because all were.
    pub messages: Option<u64>,
}

/// Quantities of [`measure`], each after a mode's name.
const THROUGHPUT: &str = "throughput_gb_s_per_terminal";
const PACKETS: &str = "packets_sent_per_terminal";
const MESSAGES: &str = "messages";

/// The mode that others are held against.
const FIRST: &str = "high-fidelity";

/// By how many messages the modes are apart at most.
const APART: &str = "messages.apart";

impl Totals {
    /// Of a run that has ended.
    #[must_use]
    pub fn of(summary: &Summary, prepared: &Prepared) -> Self {
        let until_done = prepared.experiment["experiment"]["until"] == "workload-done";
        Self {
            terminals: prepared.run.fabric().map_or(0, |f| f.terminals()),
            simulated_ps: summary.simulated_ps,
            packets_sent: summary.packets.map_or(0, |p| p.injected),
            bytes_delivered: summary.bytes_delivered,
            messages: summary.messages.map(|m| m.delivered).filter(|_| until_done),
        }
    }
}

/// What runs of one seed say, by key: of each mode, and how far apart they are.
pub fn measure(modes: &[(&str, Option<Totals>)], add: &mut impl FnMut(String, f64)) {
    for (mode, totals) in modes {
        let of = |value: &dyn Fn(&Totals) -> f64| totals.as_ref().map_or(f64::NAN, value);
        let terminals = |t: &Totals| f64::from(t.terminals);
        // Bytes per picosecond are TB/s.
        let throughput = |t: &Totals| t.bytes_delivered as f64 / t.simulated_ps as f64 / terminals(t) * 1e3;
        add(format!("{mode}.{THROUGHPUT}"), of(&throughput));
        add(format!("{mode}.{PACKETS}"), of(&|t| t.packets_sent as f64 / terminals(t)));
    }
    let messages: Vec<u64> = modes.iter().filter_map(|(_, totals)| (*totals)?.messages).collect();
    if messages.len() < modes.len() {
        return;
    }
    for ((mode, _), messages) in modes.iter().zip(&messages) {
        add(format!("{mode}.{MESSAGES}"), *messages as f64);
    }
    let (least, most) = (messages.iter().min(), messages.iter().max());
    add(APART.to_owned(), most.zip(least).map_or(0.0, |(most, least)| (most - least) as f64));
}

/// What is said beside a mean: how far it is from that of high fidelity, or why there is none. `means` are all of the row.
pub fn why(key: &str, ours: f64, means: &[(String, f64)]) -> Option<String> {
    if key == APART {
        return Some(if ours == 0.0 { "equal in all modes" } else { "NOT equal in all modes" }.to_owned());
    }
    let (mode, what) = key.split_once('.').filter(|(_, what)| [THROUGHPUT, PACKETS].contains(what))?;
    if !ours.is_finite() {
        return Some("not counted when this run was kept".to_owned());
    }
    let first = means.iter().find(|(key, _)| *key == format!("{FIRST}.{what}"))?.1;
    (mode != FIRST).then(|| format!("{} % of high fidelity", number(ours / first * 100.0)))
}

/// Whether counts that must be equal are.
#[must_use]
pub fn agree(lines: &[Line]) -> bool {
    lines.iter().filter(|line| line.key == APART).all(|line| line.ours == Some(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(modes: &[(&str, Option<Totals>)]) -> Vec<(String, f64)> {
        let mut found = Vec::new();
        measure(modes, &mut |key, value| found.push((key, value)));
        found
    }

    #[test]
    fn modes_are_held_against_high_fidelity() {
        let one = |packets_sent, messages| {
            Some(Totals {
                terminals: 2,
                simulated_ps: 1000,
                packets_sent,
                bytes_delivered: 4000,
                messages: Some(messages),
            })
        };
        let all = found(&[(FIRST, one(10, 4)), ("lite", one(11, 4)), ("zombies", one(10, 7))]);
        let of = |key: &str| all.iter().find(|f| f.0 == key).unwrap().1;
        assert!((of("lite.throughput_gb_s_per_terminal") - 2000.0).abs() < 1e-9);
        assert!((of("lite.packets_sent_per_terminal") - 5.5).abs() < 1e-9);
        assert!((of(APART) - 3.0).abs() < 1e-9);
        let why = |key: &str, ours| why(key, ours, &all);
        assert_eq!(why("lite.packets_sent_per_terminal", 5.5).unwrap(), "110 % of high fidelity");
        assert_eq!(why("high-fidelity.packets_sent_per_terminal", 5.0), None);
        assert_eq!(why(APART, 3.0).unwrap(), "NOT equal in all modes");
        assert_eq!(
            why("lite.throughput_gb_s_per_terminal", f64::NAN).unwrap(),
            "not counted when this run was kept"
        );
    }

    /// Messages are compared only where a workload ends.
    #[test]
    fn open_loops_have_no_messages_to_compare() {
        let open = Some(Totals { terminals: 1, simulated_ps: 1, ..Totals::default() });
        assert!(found(&[(FIRST, open), ("lite", open)]).iter().all(|f| !f.0.contains("messages")));
        let line = |ours| Line {
            row: "a".to_owned(),
            key: APART.to_owned(),
            published: Some(0.0),
            ours: Some(ours),
            why: String::new(),
        };
        assert!(agree(&[]) && agree(&[line(0.0)]) && !agree(&[line(0.0), line(1.0)]));
    }
}
