//! What a reader wants first: can the numbers be trusted, and what are they.

use super::{
    run::Finished,
    words::{bytes, count, escaped, percent, rate, table, three, time},
};
use results::{
    flags::FLAGS,
    summary::{State, Summary},
    text::{Style, render},
};
use std::fmt::Write;

/// Verdict of a run, with what its flags mean.
pub fn verdict(run: &Finished<'_>, several: bool) -> String {
    let verdict = &run.summary.verdict;
    let kind = match verdict.state {
        State::Ok if verdict.flags.is_empty() => "good",
        State::Ok | State::NotStationary | State::Saturated => "care",
        State::Incomplete | State::Starved | State::Deadlock => "bad",
    };
    let mut text = format!("<div class=\"verdict {kind}\"><p><strong>");
    if several {
        let _ = write!(text, "<bdi>{}</bdi>: ", escaped(run.name));
    }
    let _ = write!(text, "{}</strong></p>", verdict.state.name());
    if !verdict.flags.is_empty() {
        text += "<ul>";
        for flag in &verdict.flags {
            let meaning = FLAGS.iter().find(|(name, _)| name == flag).map_or("", |(_, meaning)| meaning);
            let _ = write!(
                text,
                "<li><code>{}</code>: {}</li>",
                escaped(flag),
                escaped(&meaning.replace('`', ""))
            );
        }
        text += "</ul>";
    }
    if !verdict.detail.is_empty() {
        let facts = lines(&verdict.detail.join("\n"));
        let _ = write!(text, "<details><summary>Facts behind it</summary><pre>{facts}</pre></details>");
    }
    text + "</div>\n"
}

/// The numbers of all runs, a column each.
pub fn numbers(runs: &[Finished<'_>]) -> String {
    let heads: Vec<&str> = ["quantity"].into_iter().chain(runs.iter().map(|run| run.name)).collect();
    let mut rows = Vec::new();
    let mut row = |name: &str, of: &dyn Fn(&Summary) -> Option<String>| {
        let cells: Vec<Option<String>> = runs.iter().map(|run| of(run.summary)).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "\u{2013}".to_owned()));
            rows.push([name.to_owned()].into_iter().chain(cells).collect());
        }
    };
    row("model", &|s| s.experiment["model"]["kind"].as_str().map(str::to_owned));
    row("simulated time", &|s| s.congestion.is_none().then(|| time(s.simulated_ps as f64)));
    row("packets delivered", &|s| s.packets.map(|p| count(p.delivered)));
    row("packets under way at the end", &|s| s.packets.map(|p| count(p.in_flight)));
    row("messages delivered", &|s| s.messages.map(|m| count(m.delivered)));
    row("payload delivered", &|s| s.congestion.is_none().then(|| bytes(s.bytes_delivered as f64)));
    row("offered, of the terminals' bandwidth", &|s| s.throughput?.offered_fraction.map(percent));
    row("accepted, of the terminals' bandwidth", &|s| s.throughput.map(|t| percent(t.accepted_fraction)));
    row("accepted", &|s| s.throughput.map(|t| rate(t.accepted_bytes_per_s)));
    row("packet latency, mean", &|s| s.latency_ps.map(|l| time(l.mean)));
    row("its 95 % interval", &|s| {
        s.confidence.as_ref().map(|c| format!("\u{b1}{}", time(c.mean_half_width_ps)))
    });
    row("packet latency, median", &|s| s.latency_ps.map(|l| time(l.p50 as f64)));
    row("packet latency, 99 %", &|s| s.latency_ps.map(|l| time(l.p99 as f64)));
    row("packet latency, greatest", &|s| s.latency_ps.map(|l| time(l.max as f64)));
    row("message latency, mean", &|s| s.message_latency_ps.map(|l| time(l.mean)));
    row("message latency, 99 %", &|s| s.message_latency_ps.map(|l| time(l.p99 as f64)));
    row("slow-down of messages, median", &|s| s.slow_down.as_ref().map(|d| three(d.p50)));
    row("slow-down of messages, 99 %", &|s| s.slow_down.as_ref().map(|d| three(d.p99)));
    row("routers visited, mean", &|s| s.hops_mean.map(three));
    row("busiest link", &|s| s.links.as_ref().map(|l| percent(l.max_utilisation)));
    row("links, mean", &|s| s.links.as_ref().map(|l| percent(l.mean_utilisation)));
    row("buffered, mean", &|s| s.buffers.map(|b| bytes(b.mean_bytes)));
    row("highest congestion of a link, summed over levels", &|s| {
        Some(s.congestion.as_ref()?.sum_max_cong.to_string())
    });
    row("effective bandwidth", &|s| s.congestion.as_ref()?.effective_bandwidth.map(percent));
    row("energy", &|s| s.energy.as_ref().map(|e| format!("{} J", three(e.total_j))));
    row("time predicted", &|s| s.hybrid.as_ref()?.predicted_share.map(percent));
    row("mean latency may be off by that, at most", &|s| s.hybrid.as_ref()?.error_estimate.map(percent));
    let mut text = table("Key numbers", &heads, &rows);
    for run in runs {
        let plain = render(&run.summary.without_performance(), Style::Plain);
        let _ = writeln!(
            text,
            "<details><summary>Summary of <bdi>{}</bdi> as the terminal shows it</summary><pre>{}</pre></details>",
            escaped(run.name),
            lines(&plain)
        );
    }
    text
}

/// Words of several lines.
fn lines(words: &str) -> String {
    words.lines().fold(String::new(), |text, line| text + &escaped(line) + "\n")
}

/// Where a run came from, and how to repeat it.
pub fn provenance(run: &Finished<'_>) -> String {
    let m = run.manifest;
    let revision = if m.revision.is_empty() { String::new() } else { format!(" ({})", m.revision) };
    let mut rows = vec![
        vec!["program".to_owned(), format!("netloom {}{revision}", m.version)],
        vec!["fingerprint".to_owned(), m.fingerprint.clone()],
        vec!["seed".to_owned(), format!("seed {}", m.seed)],
    ];
    for input in &m.inputs {
        let short = input.blake3.get(..16).unwrap_or(&input.blake3);
        rows.push(vec![input.path.clone(), format!("BLAKE3 {short}.., {} B", count(input.bytes))]);
    }
    let mut text = format!("<h3><bdi>{}</bdi></h3>\n", escaped(run.name));
    if m.command.is_empty() {
        text += "<p>No command repeats it: the experiment came from standard input, or from an earlier version.</p>";
    } else {
        let command = escaped(&m.command);
        let _ = write!(
            text,
            "<p>Made by this command; <code>--out</code>, <code>--threads</code> and section <code>[engine]</code> change no result:</p><pre class=\"command\">{command}</pre>"
        );
    }
    text += &table("Where the numbers come from", &["what", "value"], &rows);
    let resolved = serde_json::to_string_pretty(&run.summary.experiment).unwrap_or_default();
    let _ = writeln!(
        text,
        "<details><summary>The experiment, with all defaults</summary><pre>{}</pre></details>",
        lines(&resolved)
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::hash::Fingerprint;
    use results::{
        output::Manifest,
        summary::{Hybrid, Verdict, Zombies},
    };

    /// A hybrid run says how far it may be off; others have no such row.
    #[test]
    fn predictions_have_their_error_beside_them() {
        let plain = Summary::new(Fingerprint::default(), Verdict::ok(), serde_json::json!({}));
        let hybrid = |predicted_share, error_estimate| Summary {
            hybrid: Some(Hybrid {
                phases: Vec::new(),
                switches: 1,
                zombies: Zombies { created: 0, discarded: 0, in_network: 0 },
                predictor_error: None,
                predicted_share,
                error_estimate,
            }),
            ..plain.clone()
        };
        let manifest = Manifest::default();
        let page =
            |summary: &Summary| numbers(&[Finished { name: "a", summary, manifest: &manifest, tables: &[] }]);
        // Without what the terminal shows, which says it too.
        let table = |page: &str| page.split("<details>").next().unwrap().to_owned();
        let said = table(&page(&hybrid(Some(0.5), Some(0.034))));
        assert!(said.contains("time predicted") && said.contains("50"), "{said}");
        let row = said.split("mean latency may be off by that, at most").nth(1).unwrap();
        assert!(row.split("</tr>").next().unwrap().contains("3.4"), "{said}");
        for other in [plain.clone(), hybrid(Some(0.0), None)] {
            assert!(!table(&page(&other)).contains("may be off"));
        }
    }
}
