//! The summary for a person at a terminal: verdict first, then the numbers, aligned.

use crate::summary::{
    Congestion, Counted, Counts, CriticalPath, Latency, LatencyParts, Nodes, Performance, Sent, State,
    Summary,
};
use base::{time::display, visible};
use std::fmt::Write;

/// How text is decorated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Letters only, for files and pipes.
    Plain,
    /// ANSI colours, for terminals.
    Ansi,
}

/// Width of the column of labels.
const LABEL: usize = 14;

/// Renders a summary as lines, each ended by a newline.
#[must_use]
pub fn render(summary: &Summary, style: Style) -> String {
    let mut out = String::new();
    verdict(&mut out, summary, style);
    if summary.congestion.is_none() {
        line(&mut out, "simulated", &display(summary.simulated_ps));
    }
    counts(&mut out, "packets", summary.packets);
    counts(&mut out, "messages", summary.messages);
    if let Some(c) = &summary.congestion {
        congestion(&mut out, c);
    } else {
        line(&mut out, "delivered", &bytes(summary.bytes_delivered as f64));
    }
    throughput(&mut out, summary);
    latency(&mut out, summary, style);
    slow_down(&mut out, summary, style);
    by_hops(&mut out, summary, style);
    jobs(&mut out, summary, style);
    nodes(&mut out, summary);
    hybrid(&mut out, summary);
    resilience(&mut out, summary);
    congestion_control(&mut out, summary);
    adapter(&mut out, summary);
    service_classes(&mut out, summary);
    energy(&mut out, summary);
    estimated_error(&mut out, summary);
    if let Some(p) = &summary.performance {
        out.push('\n');
        performance(&mut out, p);
    }
    line(&mut out, "fingerprint", &summary.fingerprint);
    out
}

fn estimated_error(out: &mut String, summary: &Summary) {
    let Some(e) = &summary.estimated_error else { return };
    let signed = |error: f64| format!("{:+.1} %", error * 100.0);
    let plain = |error: f64| format!("{:.1} %", error * 100.0);
    let makespan = e.makespan.map_or_else(String::new, |error| format!("makespan {}, ", signed(error)));
    let mean = signed(e.completion_mean);
    line(
        out,
        "error",
        &format!("{makespan}completion times {mean} in the mean, estimated against \"{}\"", e.against),
    );
    let [mean, median, high] =
        [e.completion_mean_absolute, e.completion_p50_absolute, e.completion_p95_absolute].map(plain);
    line(out, "", &format!("messages are off by {mean} in the mean, {median} (p50), {high} (p95)"));
    let played = match e.windows {
        0 => "the whole run was played".to_owned(),
        1 => format!("1 window with {} of the bytes was played", plain(e.share)),
        n => format!("{n} windows with {} of the bytes were played", plain(e.share)),
    };
    line(out, "", &format!("{played}: {} messages", thousands(e.messages)));
}

fn energy(out: &mut String, summary: &Summary) {
    let Some(e) = &summary.energy else { return };
    let [total, routers, nics, links] = [e.total_j, e.routers_j, e.nics_j, e.links_j].map(|j| si(j, "J"));
    let parts = format!("routers {routers}, interfaces {nics}, links {links}");
    line(out, "energy", &format!("{total} ({parts}), {}", si(e.mean_w, "W")));
    if let (Some(all), Some(bits)) = (e.per_message_j, e.bits_per_message_j) {
        line(out, "", &format!("{} per message, {} of it for bits on links", si(all, "J"), si(bits, "J")));
    }
    for l in e.links.iter().filter(|l| l.asleep_share > 0.0) {
        line(
            out,
            "",
            &format!(
                "{}: links sleep {} of the time, {} wakings",
                l.class,
                percent(l.asleep_share),
                thousands(l.wakings)
            ),
        );
    }
}

fn resilience(out: &mut String, summary: &Summary) {
    let Some(r) = &summary.resilience else { return };
    let mean =
        r.transmissions_mean.map_or_else(String::new, |m| format!(", {m:.4} transmissions per packet"));
    let again = thousands(r.sent.retransmitted);
    let redundant = if r.sent.redundant > 0 {
        format!(", {} redundant", thousands(r.sent.redundant))
    } else {
        String::new()
    };
    line(out, "resilience", &format!("{}: {again} sent again{redundant}{mean}", r.protocol));
    let both = |p: &crate::summary::ByPurpose| {
        format!("{} data, {} acknowledgements", thousands(p.data), thousands(p.acknowledgements))
    };
    line(
        out,
        "lost",
        &format!("{}; tampered {}; duplicates {}", both(&r.lost), both(&r.tampered), thousands(r.duplicates)),
    );
    if let (Some(rate), Some(share)) = (r.goodput_bytes_per_s, r.efficiency) {
        line(out, "goodput", &format!("{}/s, {} of what data packets carried", bytes(rate), percent(share)));
    }
}

fn congestion_control(out: &mut String, summary: &Summary) {
    let Some(c) = &summary.congestion_control else { return };
    let (marked, notices) = (thousands(c.marked), thousands(c.notifications));
    line(out, "control", &format!("{}: {marked} marks, {notices} notifications", c.scheme));
    for job in &c.jobs {
        let rate = job.accepted_bytes_per_s.map_or_else(String::new, |rate| format!("{}/s, ", bytes(rate)));
        let time = |ps: Option<f64>| ps.map_or_else(|| "-".to_owned(), float_time);
        let (packet, message) = (time(job.latency_mean_ps), time(job.message_latency_mean_ps));
        let held = job.held_rate_mean.map_or_else(String::new, |r| format!(", held back to {}", percent(r)));
        line(
            out,
            "",
            &format!("{}: {rate}packets {packet}, messages {message}{held}", visible::name(&job.name)),
        );
    }
}

fn adapter(out: &mut String, summary: &Summary) {
    let Some(a) = &summary.adapter else { return };
    let share = |share: Option<f64>| share.map_or_else(String::new, |s| format!(" ({})", percent(s)));
    let overtaken = format!("{} packets overtaken{}", thousands(a.overtaken), share(a.overtaken_fraction));
    line(out, "adapters", &overtaken);
    let Some(r) = &a.resequencing else { return };
    let time = |ps: Option<f64>| ps.map_or_else(|| "-".to_owned(), float_time);
    let (mean, added) = (time(r.held_mean_ps), time(r.added_mean_ps));
    let longest = r.held_max_ps.map_or_else(|| "-".to_owned(), display);
    let held = format!("held {}{}", thousands(r.held), share(r.held_fraction));
    line(out, "", &format!("{held}: {mean} mean, {longest} at most; {added} added per packet"));
    let buffer = format!("{} packets, {}", thousands(r.buffer_max_packets), bytes(r.buffer_max_bytes as f64));
    line(out, "", &format!("largest buffer {buffer}; gaps given up {}", thousands(r.gaps_given_up)));
}

fn service_classes(out: &mut String, summary: &Summary) {
    for (n, class) in summary.service_classes.iter().enumerate() {
        let latency = class.latency_ps.map_or_else(
            || "nothing arrived".to_owned(),
            |l| format!("latency {} mean, {} p99", float_time(l.mean), display(l.p99)),
        );
        let accepted = class
            .throughput
            .map_or_else(String::new, |t| format!(", {} accepted", percent(t.accepted_fraction)));
        let label = if n == 0 { "classes" } else { "" };
        line(out, label, &format!("{}: {latency}{accepted}", visible::name(&class.name)));
    }
}

fn hybrid(out: &mut String, summary: &Summary) {
    let Some(h) = &summary.hybrid else { return };
    let error =
        h.error_estimate.map_or_else(String::new, |e| format!(", mean latency within {}", percent(e)));
    let share =
        h.predicted_share.map_or_else(String::new, |s| format!(", {} of the time predicted", percent(s)));
    line(out, "hybrid", &format!("{} switches{share}{error}", h.switches));
    if let Some(error) = h.predictor_error {
        line(out, "", &format!("after returns predictions were off by {}", percent(error)));
    }
    for p in &h.phases {
        let (start, end) = (display(p.start_ps), display(p.end_ps));
        line(out, "", &format!("{:13} {start} to {end}, {} packets", p.mode, thousands(p.packets)));
    }
    let z = h.zombies;
    if z.created > 0 {
        let (all, gone, left) = (thousands(z.created), thousands(z.discarded), thousands(z.in_network));
        line(out, "zombies", &format!("{all} created, {gone} discarded, {left} in the network"));
    }
}

fn verdict(out: &mut String, summary: &Summary, style: Style) {
    let v = &summary.verdict;
    let code = match v.state {
        State::Ok => "32",
        State::NotStationary | State::Saturated => "33",
        _ => "31",
    };
    let others: Vec<&str> = v.flags.iter().map(String::as_str).filter(|&f| f != v.state.name()).collect();
    let others = if others.is_empty() { String::new() } else { format!(" (also: {})", others.join(", ")) };
    line(out, "verdict", &format!("{}{others}", paint(v.state.name(), code, style)));
    for detail in &v.detail {
        line(out, "", detail);
    }
}

fn counts(out: &mut String, label: &str, counts: Option<Counts>) {
    if let Some(c) = counts {
        let text = format!(
            "{} injected, {} delivered, {} in flight",
            thousands(c.injected),
            thousands(c.delivered),
            thousands(c.in_flight)
        );
        line(out, label, &text);
    }
}

fn congestion(out: &mut String, c: &Congestion) {
    let counted =
        |counts: &Counted| counts.0.iter().map(|(k, n)| format!("{k}: {n}")).collect::<Vec<_>>().join(", ");
    line(
        out,
        "pattern",
        &format!("{}, {} ranks, {} levels, {} mappings", c.pattern, c.ranks, c.levels, c.runs),
    );
    line(
        out,
        "congestion",
        &format!("{} (messages by the highest count along their path)", counted(&c.hist_max_cong)),
    );
    if let Some(fraction) = c.bandwidth_fraction {
        line(out, "bandwidth", &format!("{} of the peak", percent(fraction)));
    }
    if let Some(mean) = c.effective_bandwidth.filter(|_| c.runs > 1) {
        let half = c
            .effective_bandwidth_half_width
            .map_or_else(String::new, |h| format!(" ± {} at 95 %", percent(h)));
        line(out, "effective", &format!("{}{half}, mean over mappings", percent(mean)));
    }
    line(out, "sum of maxima", &c.sum_max_cong.to_string());
    if let (Some(orcs), Some(all)) = (&c.dep_max_delay_orcs2, &c.dep_max_delay_all_deps) {
        line(out, "longest chain", &format!("{orcs} by the rule of ORCS 2.0, {all} over all dependencies"));
    }
    if let (Some(used), Some(most)) = (c.edges_used, c.edge_cong_sum_max) {
        line(out, "links used", &format!("{used} of {}, most {most} messages", c.edges));
    }
}

fn throughput(out: &mut String, summary: &Summary) {
    if let Some(t) = &summary.throughput {
        let offered = t.offered_fraction.map(|f| format!("offered {}, ", percent(f))).unwrap_or_default();
        let rate = bytes(t.accepted_bytes_per_s);
        line(out, "throughput", &format!("{offered}accepted {} ({rate}/s)", percent(t.accepted_fraction)));
    }
    if let Some(l) = &summary.links {
        let classes: Vec<String> = l
            .classes
            .iter()
            .map(|c| {
                format!("{} {} (max {})", c.class, percent(c.mean_utilisation), percent(c.max_utilisation))
            })
            .collect();
        let all = format!("mean {}, max {}", percent(l.mean_utilisation), percent(l.max_utilisation));
        line(out, "links busy", &if classes.is_empty() { all } else { classes.join(", ") });
    }
    if let Some(b) = &summary.buffers {
        line(out, "buffers", &format!("mean {}, max {}", bytes(b.mean_bytes), bytes(b.max_bytes as f64)));
    }
}

fn latency(out: &mut String, summary: &Summary, style: Style) {
    let mut rows = vec![cells(["latency", "min", "mean", "p50", "p95", "p99", "max", "count"])];
    for (label, block) in [("packet", &summary.latency_ps), ("message", &summary.message_latency_ps)] {
        if let Some(Latency { min, mean, p50, p95, p99, max, count }) = *block {
            let mean = float_time(mean);
            let mut row = vec![format!("  {label}"), display(min), mean];
            row.extend([p50, p95, p99, max].map(display));
            row.push(thousands(count));
            rows.push(row);
        }
    }
    table(out, &rows, style);
    if let (Some(c), Some(l)) = (&summary.confidence, &summary.latency_ps) {
        let relative = percent(c.mean_half_width_ps / l.mean);
        let level = c.level * 100.0;
        let width = float_time(c.mean_half_width_ps);
        line(
            out,
            "  confidence",
            &format!("mean ± {width} ({relative}) at {level:.0} %, {} batches", c.batches),
        );
    }
    if let Some(parts) = &summary.latency_parts_ps {
        let values = parts.to_array();
        let total: f64 = values.iter().sum();
        let shown = LatencyParts::NAMES.iter().zip(values).filter(|&(_, v)| v > 0.0);
        let texts: Vec<String> =
            shown.map(|(n, v)| format!("{n} {} ({})", float_time(v), percent(v / total))).collect();
        for (i, three) in texts.chunks(3).enumerate() {
            line(out, if i == 0 { "  parts" } else { "" }, &three.join(", "));
        }
    }
}

fn slow_down(out: &mut String, summary: &Summary, style: Style) {
    let Some(all) = &summary.slow_down else { return };
    let numbers = |values: [f64; 5], count: u64| {
        values.map(|times| format!("{times:.2}")).into_iter().chain([thousands(count)])
    };
    let mut rows = vec![cells(["slow-down of", "mean", "p50", "p95", "p99", "max", "count"])];
    let several = all.by_size.iter().any(|row| row.job != all.by_size[0].job);
    for row in &all.by_size {
        let of = if several { format!("{}, ", visible::name(&row.job)) } else { String::new() };
        let size = format!("  {of}{} to {} B", thousands(row.from_bytes), thousands(row.to_bytes));
        let values = numbers([row.mean, row.p50, row.p95, row.p99, row.max], row.count);
        rows.push([size].into_iter().chain(values).collect());
    }
    let values = numbers([all.mean, all.p50, all.p95, all.p99, all.max], all.count);
    rows.push(["  all messages".to_owned()].into_iter().chain(values).collect());
    table(out, &rows, style);
}

fn by_hops(out: &mut String, summary: &Summary, style: Style) {
    let mut rows = vec![cells(["routers", "packets", "min", "mean"])];
    for h in &summary.latency_by_hops {
        rows.push(vec![
            format!("  {}", h.hops),
            thousands(h.count),
            display(h.min_ps),
            float_time(h.mean_ps),
        ]);
    }
    table(out, &rows, style);
    if let Some(mean) = summary.hops_mean {
        line(out, "  mean", &format!("{mean:.3} routers"));
    }
}

fn jobs(out: &mut String, summary: &Summary, style: Style) {
    // One endless job adds nothing to the lines above.
    if summary.jobs.len() < 2 && summary.jobs.iter().all(|j| j.makespan_ps.is_none()) {
        return;
    }
    let mut rows = vec![cells(["job", "ranks", "delivered", "makespan", "computing"])];
    for j in &summary.jobs {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        rows.push(vec![
            format!("  {}", visible::name(&j.name)),
            thousands(u64::from(j.ranks)),
            or_dash(j.messages.map(|m| thousands(m.delivered))),
            or_dash(j.makespan_ps.map(display)),
            or_dash(j.compute_fraction.map(percent)),
        ]);
    }
    table(out, &rows, style);
    for j in &summary.jobs {
        let Some(path) = j.critical_path else { continue };
        let CriticalPath { compute_ps, overhead_ps, transfer_ps, wait_ps, messages, ranks } = path;
        let all = (compute_ps + overhead_ps + transfer_ps + wait_ps).max(1) as f64;
        let share = |part: u64| percent(part as f64 / all);
        let parts = [
            format!("computing {}", share(compute_ps)),
            format!("{} messages {}", thousands(messages), share(transfer_ps)),
            format!("their overhead {}", share(overhead_ps)),
            format!("waiting {}", share(wait_ps)),
        ];
        let of = if summary.jobs.len() > 1 { format!("{}: ", visible::name(&j.name)) } else { String::new() };
        let text = format!("{of}{}; over {} ranks", parts.join(", "), thousands(u64::from(ranks)));
        line(out, "critical path", &text);
    }
}

fn nodes(out: &mut String, summary: &Summary) {
    let Some(Nodes { within, leaving }) = summary.nodes else { return };
    let sent = |s: Sent| format!("{} messages ({})", thousands(s.messages), bytes(s.bytes as f64));
    line(out, "nodes", &format!("{} within, {} leaving", sent(within), sent(leaving)));
}

fn performance(out: &mut String, p: &Performance) {
    let cpu = p.cpu_s.map(|s| format!(", {s:.2} s of processor")).unwrap_or_default();
    let memory = p.peak_rss_bytes.map(|b| format!(", {} of memory", bytes(b as f64))).unwrap_or_default();
    line(out, "run time", &format!("{:.2} s{cpu}{memory}", p.wall_s));
    let mut speed = format!("{} events, {} M/s", thousands(p.events), millions(p.events_per_s));
    if let (Some(n), Some(rate)) = (p.chunk_hops, p.chunk_hops_per_s) {
        let _ = write!(speed, "; {} chunk-hops, {} M/s", thousands(n), millions(rate));
    }
    line(out, "speed", &speed);
    line(
        out,
        "scheduler",
        &format!(
            "{}, {} partition(s), {} thread(s), {} rank(s)",
            p.scheduler, p.partitions, p.threads, p.ranks
        ),
    );
}

fn line(out: &mut String, label: &str, text: &str) {
    let _ = writeln!(out, "{label:LABEL$} {text}");
}

fn cells<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

/// A blank line, a header and rows, the first column to the left and the others to the right; nothing without rows.
fn table(out: &mut String, rows: &[Vec<String>], style: Style) {
    if rows.len() < 2 {
        return;
    }
    out.push('\n');
    let width = |i: usize| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0);
    for (n, row) in rows.iter().enumerate() {
        let mut text = format!("{:w$}", row[0], w = width(0).max(LABEL));
        for (i, cell) in row.iter().enumerate().skip(1) {
            let _ = write!(text, "  {cell:>w$}", w = width(i));
        }
        let _ = writeln!(out, "{}", if n == 0 { paint(&text, "1", style) } else { text });
    }
}

fn paint(text: &str, code: &str, style: Style) -> String {
    match style {
        Style::Plain => text.to_owned(),
        Style::Ansi => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
    }
}

/// A mean as a time: it has a fraction of a picosecond only where that matters.
fn float_time(ps: f64) -> String {
    if ps < 1000.0 { format!("{ps:.1} ps") } else { display(ps.round() as u64) }
}

fn percent(fraction: f64) -> String {
    format!("{:.1} %", fraction * 100.0)
}

fn millions(rate: f64) -> String {
    format!("{:.2}", rate / 1e6)
}

/// Decimal multiples of bytes, three digits after the point.
fn bytes(n: f64) -> String {
    let units = [(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.iter().find(|(size, _)| n >= *size) {
        Some((size, name)) => format!("{:.3} {name}", n / size),
        None => format!("{n:.0} B"),
    }
}

/// Four digits and a prefix of the SI.
fn si(x: f64, unit: &str) -> String {
    let prefixes = [
        (1e12, "T"),
        (1e9, "G"),
        (1e6, "M"),
        (1e3, "k"),
        (1.0, ""),
        (1e-3, "m"),
        (1e-6, "u"),
        (1e-9, "n"),
        (1e-12, "p"),
    ];
    // What is rounded up to a thousand has the next prefix.
    let fits = |size: f64| x.abs() >= size * 0.999_95;
    let (size, prefix) = prefixes.into_iter().find(|p| fits(p.0)).unwrap_or(if x == 0.0 {
        (1.0, "")
    } else {
        prefixes[prefixes.len() - 1]
    });
    let scaled = x / size;
    let digits = if scaled.abs() >= 999.95 {
        0
    } else if scaled.abs() >= 99.995 {
        1
    } else if scaled.abs() >= 9.999_5 {
        2
    } else {
        3
    };
    format!("{scaled:.digits$} {prefix}{unit}")
}

/// `1234567` as `1,234,567`.
fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_four_digits() {
        let of = |x| si(x, "J");
        assert_eq!((of(0.448_8), of(3.116_7e-4)), ("448.8 mJ".to_owned(), "311.7 uJ".to_owned()));
        assert_eq!((of(4_505.41), of(0.0)), ("4.505 kJ".to_owned(), "0.000 J".to_owned()));
        assert_eq!(
            (of(999.97), of(12.346), of(2e-13)),
            ("1.000 kJ".to_owned(), "12.35 J".to_owned(), "0.200 pJ".to_owned())
        );
    }
    use crate::summary::{Verdict, tests::full};
    use base::hash::Fingerprint;

    #[test]
    fn numbers_have_separators_and_units() {
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(thousands(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!([0.0, 999.0, 1000.0, 1.5e9].map(bytes), ["0 B", "999 B", "1.000 kB", "1.500 GB"]);
        assert_eq!([12.25, 1_145_059.4].map(float_time), ["12.2 ps", "1.145 us"]);
    }

    #[test]
    fn a_full_summary_reads_like_this() {
        let text = render(&full(), Style::Plain);
        let expected = "\
verdict        saturated (also: not-stationary)
               router 3 port 2 is full
simulated      1.000 ms
packets        1,234,567 injected, 1,234,000 delivered, 567 in flight
messages       1,234,567 injected, 1,234,000 delivered, 567 in flight
delivered      1.264 GB
throughput     offered 100.0 %, accepted 75.0 % (150.000 GB/s)
links busy     global 60.0 % (max 99.0 %)
buffers        mean 1.000 MB, max 2.000 MB

latency                min      mean       p50       p95       p99       max  count
  packet        666.244 ns  1.500 us  1.400 us  2.000 us  3.000 us  4.000 us     10
  message       666.244 ns  1.500 us  1.400 us  2.000 us  3.000 us  4.000 us     10
  confidence   mean ± 12.345 ns (0.8 %) at 95 %, 20 batches
";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains("\n  4                   6    1.145 us    1.600 us\n"), "{text}");
        assert!(text.contains("9,000,000 events, 6.00 M/s; 12,000,000 chunk-hops, 8.00 M/s"), "{text}");
        assert!(text.ends_with(&format!("{}\n", full().fingerprint)));
        assert!(text.lines().all(|l| l == l.trim_end()), "trailing blanks: {text}");
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn colour_adds_nothing_but_escapes() {
        let coloured = render(&full(), Style::Ansi);
        let mut bare = String::new();
        for (i, part) in coloured.split("\u{1b}[").enumerate() {
            bare.push_str(if i == 0 { part } else { part.split_once('m').unwrap().1 });
        }
        assert_ne!(bare, coloured);
        assert_eq!(bare, render(&full(), Style::Plain));
    }

    #[test]
    fn absent_blocks_leave_no_trace() {
        let bare = Summary::new(Fingerprint::default(), Verdict::ok(), serde_json::Value::Null);
        let labels: Vec<String> = render(&bare, Style::Plain)
            .lines()
            .map(|l| l.split_whitespace().next().unwrap().to_owned())
            .collect();
        assert_eq!(labels, ["verdict", "simulated", "delivered", "fingerprint"]);
    }
}
