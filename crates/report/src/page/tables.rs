//! The busiest links, the traffic matrix, jobs and ranks.

use super::{
    chart::Caption,
    columns::{find, floats, texts, u32s, u64s},
    network::{Loads, Wires, scale},
    run::Finished,
    words::{count, escaped, percent, rate, table, time},
};
use crate::plot::scene::number;
use results::table::Table;
use std::{collections::BTreeMap, fmt::Write};

/// Links in the ranking.
const RANKED: usize = 20;
/// Most rows and columns of the matrix.
const CELLS: usize = 48;
/// Most ranks with a row of their own.
const MOST_RANKS: usize = 48;
/// Pieces that a row of the time line has.
const PIECES: usize = 240;

/// The busiest links of a run.
pub fn ranking(run: &Finished<'_>, wires: &Wires, loads: &Loads) -> String {
    let mut order: Vec<usize> = (0..wires.all.len()).collect();
    order.sort_by(|&a, &b| loads.mean[b].total_cmp(&loads.mean[a]).then(a.cmp(&b)));
    let peak = |place: usize| loads.frames.iter().map(|f| f.used[place]).reduce(f64::max);
    let rows: Vec<Vec<String>> = order
        .iter()
        .take(RANKED)
        .enumerate()
        .map(|(n, &place)| {
            let wire = &wires.all[place];
            let (used, carried) = (loads.mean[place], loads.mean[place] * wire.bandwidth);
            let most = peak(place).map_or_else(|| "\u{2013}".to_owned(), percent);
            vec![
                format!("{}", n + 1),
                wire.name.clone(),
                wire.class.clone(),
                percent(used),
                most,
                rate(carried),
                format!("{}", wire.link),
            ]
        })
        .collect();
    let heads = ["rank", "link", "class", "used", "most in an interval", "carried", "number in tables"];
    table(&format!("Busiest links of {}", run.name), &heads, &rows)
}

/// Shares of bandwidth by class.
pub fn classes(run: &Finished<'_>) -> String {
    let Some(links) = &run.summary.links else { return String::new() };
    let row = |c: &results::summary::LinkClass| {
        vec![c.class.clone(), count(c.links), percent(c.mean_utilisation), percent(c.max_utilisation)]
    };
    let rows: Vec<_> = links.classes.iter().map(row).collect();
    if rows.is_empty() {
        String::new()
    } else {
        table(&format!("Use of links by class, {}", run.name), &["class", "links", "mean", "busiest"], &rows)
    }
}

/// The traffic matrix of a run as a picture; blocks of neighbouring nodes where there are many.
pub fn matrix(run: &Finished<'_>) -> Option<String> {
    let pairs = find(run.tables, "pairs")?;
    let (from, to) = (u32s(pairs, "source")?, u32s(pairs, "destination")?);
    let (what, amounts) =
        ["bytes", "packets", "messages"].iter().find_map(|w| Some((*w, floats(pairs, w)?)))?;
    let nodes = from.iter().chain(to).max().map_or(0, |most| *most as usize + 1);
    let each = nodes.div_ceil(CELLS).max(1);
    let side = nodes.div_ceil(each);
    let mut sums = vec![0.0; side * side];
    for ((&a, &b), amount) in from.iter().zip(to).zip(&amounts) {
        sums[a as usize / each * side + b as usize / each] += amount;
    }
    let most = sums.iter().copied().fold(0.0, f64::max);
    let size = 440.0 / side as f64;
    let mut svg = String::from(
        "<svg class=\"net matrix\" viewBox=\"-60 -24 510 500\" aria-hidden=\"true\" focusable=\"false\">\n",
    );
    let name = |n: usize| {
        if each == 1 {
            format!("{n}")
        } else {
            format!("{} to {}", n * each, ((n + 1) * each).min(nodes) - 1)
        }
    };
    let _ = write!(svg, "<rect class=\"d0\" x=\"0\" y=\"0\" width=\"440\" height=\"440\"/>");
    for (n, sum) in sums.iter().enumerate().filter(|s| *s.1 > 0.0) {
        let (row, column) = (n / side, n % side);
        // The least amount that is shown must differ from nothing.
        let step = 1 + (sum / most * 14.0).round() as usize;
        let (x, y) = (number(column as f64 * size), number(row as f64 * size));
        let _ = write!(
            svg,
            "<rect class=\"d{}\" x=\"{x}\" y=\"{y}\" width=\"{1}\" height=\"{1}\" data-t=\"{2} \u{2192} {3}: {4} {what}\"/>",
            step.min(15),
            number(size),
            name(row),
            name(column),
            count(*sum as u64)
        );
    }
    svg += "\n<text x=\"220\" y=\"-8\">to node</text><text x=\"-10\" y=\"220\" transform=\"rotate(-90 -10 220)\">from node</text>";
    let _ = writeln!(
        svg,
        "<text x=\"4\" y=\"458\">0</text><text x=\"436\" y=\"458\">{0}</text><text x=\"-16\" y=\"12\">0</text><text x=\"-16\" y=\"440\">{0}</text></svg>",
        nodes.saturating_sub(1)
    );
    let mut by: Vec<(usize, f64)> = sums.iter().copied().enumerate().filter(|s| s.1 > 0.0).collect();
    by.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let rows: Vec<Vec<String>> = by
        .iter()
        .take(RANKED)
        .map(|(n, sum)| vec![format!("{} \u{2192} {}", name(n / side), name(n % side)), count(*sum as u64)])
        .collect();
    let blocks = if each > 1 { format!(" Each square is {each} by {each} nodes.") } else { String::new() };
    let title = escaped(run.name);
    let scale = scale();
    Some(format!(
        "<figure class=\"chart\" id=\"matrix\"><figcaption><h3>Traffic matrix</h3><p>Run <bdi>{title}</bdi>: {what} from node to node.{blocks}</p></figcaption>\n\
         <p class=\"scale\">{what} in a square: 0 {scale} {}</p>\n\
         <div class=\"picture cells\" role=\"group\" tabindex=\"0\" aria-label=\"Traffic matrix\">{svg}</div>\n\
         <details><summary>Largest squares</summary>{}</details></figure>\n",
        count(most as u64),
        table("Largest squares of the matrix", &["nodes", what], &rows)
    ))
}

/// Outcome of the jobs of all runs.
pub fn jobs(runs: &[Finished<'_>]) -> String {
    let row = |(run, job): (&Finished<'_>, &results::summary::Job)| {
        let none = || "\u{2013}".to_owned();
        vec![
            job.name.clone(),
            run.name.to_owned(),
            count(u64::from(job.ranks)),
            job.messages.map_or_else(none, |m| count(m.delivered)),
            job.makespan_ps.map_or_else(none, |ps| time(ps as f64)),
            job.compute_fraction.map_or_else(none, percent),
        ]
    };
    let all = runs.iter().flat_map(|run| run.summary.jobs.iter().map(move |job| (run, job)));
    let rows: Vec<_> = all.map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    table(
        "Jobs",
        &["job", "run", "ranks", "messages delivered", "time from start to end", "share spent computing"],
        &rows,
    )
}

/// Where the ranks of a run spend their time: a bar each, in states.
pub fn ranks(run: &Finished<'_>) -> Option<String> {
    let ranks = find(run.tables, "ranks")?;
    let (job, rank, span) = (texts(ranks, "job")?, u32s(ranks, "rank")?, u64s(ranks, "makespan_ps")?);
    let parts = ["compute_ps", "overhead_ps", "wait_ps"].map(|name| u64s(ranks, name));
    let [compute, overhead, wait] = [parts[0]?, parts[1]?, parts[2]?];
    let most = (*span.iter().max()?).max(1) as f64;
    let every = ranks.rows().div_ceil(MOST_RANKS);
    let names: Vec<&str> = job.iter().collect();
    let shown: Vec<usize> = (0..ranks.rows()).step_by(every).collect();
    let mut svg = String::new();
    for (line, &n) in shown.iter().enumerate() {
        let all = (compute[n] + overhead[n] + wait[n]).max(1) as f64;
        let long = 700.0 * span[n] as f64 / most;
        let mut x = 0.0;
        for (value, state) in [(compute[n], 0), (overhead[n], 1), (wait[n], 2)] {
            let wide = long * value as f64 / all;
            if wide > 0.0 {
                let label = format!(
                    "{}, rank {}: {} {} of {}",
                    names[n],
                    rank[n],
                    STATES[state],
                    time(value as f64),
                    time(span[n] as f64)
                );
                svg += &bar((x, wide, line), state, &label);
            }
            x += wide;
        }
        svg += &label(line, &format!("rank {}", rank[n]));
    }
    let note = if every > 1 { format!(" One of {every} ranks is shown.") } else { String::new() };
    let words = format!(
        "Run {}: each bar is a rank from its start to its end, {} at most.{note} States of the whole run are added up.",
        run.name,
        time(most)
    );
    let (own, caption) =
        (["rank", "job", "whole", "computing", "handling messages", "waiting"], "Time of ranks");
    let rows: Vec<Vec<String>> = shown
        .iter()
        .map(|&n| {
            let of = |ps: u64| time(ps as f64);
            vec![
                format!("{}", rank[n]),
                names[n].to_owned(),
                of(span[n]),
                of(compute[n]),
                of(overhead[n]),
                of(wait[n]),
            ]
        })
        .collect();
    Some(lanes(
        Caption { id: "ranks", title: "Where ranks spend their time", note: &words },
        shown.len(),
        &svg,
        &table(caption, &own, &rows),
    ))
}

/// States of ranks, in the order of their colours.
const STATES: [&str; 3] = ["computing", "handling messages", "waiting"];

fn bar((x, wide, line): (f64, f64, usize), state: usize, label: &str) -> String {
    let (x, wide, y) = (number(x + 70.0), number(wide), 12 * line + 2);
    format!(
        "<rect class=\"k{state}\" x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"10\" data-t=\"{}\"/>",
        escaped(label)
    )
}

fn label(line: usize, words: &str) -> String {
    format!("<text class=\"end\" x=\"66\" y=\"{}\">{}</text>\n", 12 * line + 10, escaped(words))
}

fn lanes(Caption { id, title, note }: Caption<'_>, lines: usize, body: &str, numbers: &str) -> String {
    let keys = STATES.iter().enumerate().fold(String::new(), |text, (n, name)| {
        text + &format!("<span class=\"key\"><i class=\"k{n}\"></i>{name}</span>")
    });
    format!(
        "<figure class=\"chart wide\" id=\"{id}\"><figcaption><h3>{title}</h3><p>{}</p><p>{keys}</p></figcaption>\n\
         <div class=\"picture cells\" role=\"group\" tabindex=\"0\" aria-label=\"{title}\"><svg class=\"lanes\" viewBox=\"0 0 780 {}\" aria-hidden=\"true\" focusable=\"false\">\n{body}</svg></div>\n\
         <details><summary>Numbers</summary>{numbers}</details></figure>\n",
        escaped(note),
        12 * lines + 6
    )
}

/// What ranks do over time, where operations were recorded.
pub fn timeline(run: &Finished<'_>) -> Option<String> {
    let operations = find(run.tables, "operations")?;
    let rows = lanes_of(operations)?;
    let end = rows.values().flatten().map(|o| o.end).max()?.max(1);
    let every = rows.len().div_ceil(MOST_RANKS);
    let shown: Vec<_> = rows.iter().step_by(every).collect();
    let mut svg = String::new();
    let mut numbers = Vec::new();
    for (line, ((job, rank), spans)) in shown.iter().enumerate() {
        let busy = pieces(spans, end);
        for &Stretch { first, end: last, state } in &busy {
            let span = |piece: usize| time(end as f64 * piece as f64 / PIECES as f64);
            let words =
                format!("{job}, rank {rank}: {} from {} to {}", STATES[state], span(first), span(last));
            let unit = 700.0 / PIECES as f64;
            svg += &bar((first as f64 * unit, (last - first) as f64 * unit, line), state, &words);
        }
        svg += &label(line, &format!("rank {rank}"));
        let share = |state: usize| {
            let some: usize = busy.iter().filter(|b| b.state == state).map(|b| b.end - b.first).sum();
            percent(some as f64 / PIECES as f64)
        };
        numbers.push(vec![format!("{rank}"), job.clone(), share(0), share(1), share(2)]);
    }
    let note = if every > 1 { format!(" One of {every} ranks is shown.") } else { String::new() };
    let words = format!(
        "Run {}: from left to right 0 to {}.{note} A piece has the state that fills most of it; what is in no operation waits.",
        run.name,
        time(end as f64)
    );
    let heads = ["rank", "job", "computing", "handling messages", "waiting"];
    Some(lanes(
        Caption { id: "timeline", title: "What ranks do over time", note: &words },
        shown.len(),
        &svg,
        &table("States of ranks over time", &heads, &numbers),
    ))
}

/// An operation of a rank.
struct Span {
    /// When it begins, in picoseconds.
    start: u64,
    /// When it ends, in picoseconds; not before `start`.
    end: u64,
    /// Index in [`STATES`].
    state: usize,
}

/// Pieces of a line one after another that have one state.
struct Stretch {
    first: usize,
    /// One past the last.
    end: usize,
    /// Index in [`STATES`].
    state: usize,
}

/// Operations by job and rank.
type Lanes = BTreeMap<(String, u32), Vec<Span>>;

fn lanes_of(operations: &Table) -> Option<Lanes> {
    let (job, rank, kind) =
        (texts(operations, "job")?, u32s(operations, "rank")?, texts(operations, "kind")?);
    let (start, end) = (u64s(operations, "start_ps")?, u64s(operations, "end_ps")?);
    let mut lanes = Lanes::new();
    for (row, (job, kind)) in job.iter().zip(kind.iter()).enumerate() {
        let state = match kind {
            "calc" => 0,
            "send" => 1,
            _ => 2,
        };
        lanes.entry((job.to_owned(), rank[row])).or_default().push(Span {
            start: start[row],
            end: end[row],
            state,
        });
    }
    Some(lanes)
}

/// Stretches of pieces of one state; a piece without an operation waits.
fn pieces(spans: &[Span], end: u64) -> Vec<Stretch> {
    let mut filled = vec![[0.0_f64; 3]; PIECES];
    let at = |time: u64| time as f64 / end as f64 * PIECES as f64;
    for &Span { start, end: stop, state } in spans {
        let (a, b) = (at(start), at(stop));
        let (first, last) = (a as usize, (b as usize).min(PIECES - 1));
        for (n, piece) in filled.iter_mut().enumerate().take(last + 1).skip(first) {
            piece[state] += (b.min(n as f64 + 1.0) - a.max(n as f64)).max(0.0);
        }
    }
    let mut stretches: Vec<Stretch> = Vec::new();
    for (n, piece) in filled.iter().enumerate() {
        let state = if piece[0].max(piece[1]) < 0.05 { 2 } else { usize::from(piece[1] > piece[0]) };
        match stretches.last_mut() {
            Some(last) if last.state == state => last.end = n + 1,
            _ => stretches.push(Stretch { first: n, end: n + 1, state }),
        }
    }
    stretches
}

/// The phases of a hybrid run as a band.
pub fn phases(run: &Finished<'_>) -> Option<String> {
    let hybrid = run.summary.hybrid.as_ref()?;
    let end = hybrid.phases.last()?.end_ps.max(1) as f64;
    let mut svg = String::new();
    let mut rows = Vec::new();
    for (n, phase) in hybrid.phases.iter().enumerate() {
        let (from, to) = (phase.start_ps as f64 / end, phase.end_ps as f64 / end);
        let state = usize::from(phase.mode == "surrogate");
        let words = format!(
            "{} from {} to {}, {} packets",
            phase.mode,
            time(phase.start_ps as f64),
            time(phase.end_ps as f64),
            count(phase.packets)
        );
        let (x, wide) = (number(from * 760.0 + 10.0), number((to - from) * 760.0));
        let _ = write!(
            svg,
            "<rect class=\"k{state}\" x=\"{x}\" y=\"4\" width=\"{wide}\" height=\"24\" data-t=\"{}\"/>",
            escaped(&words)
        );
        rows.push(vec![
            format!("{}", n + 1),
            phase.mode.clone(),
            time(phase.start_ps as f64),
            time(phase.end_ps as f64),
            count(phase.packets),
        ]);
    }
    let numbers = table("Phases", &["phase", "mode", "begin", "end", "packets delivered"], &rows);
    Some(format!(
        "<figure class=\"chart wide\" id=\"phases\"><figcaption><h3>Phases of the hybrid run</h3><p>Run <bdi>{}</bdi>, {} switches; from left to right 0 to {}.</p>\
         <p><span class=\"key\"><i class=\"k0\"></i>every packet simulated</span><span class=\"key\"><i class=\"k1\"></i>predicted</span></p></figcaption>\n\
         <div class=\"picture cells\" role=\"group\" tabindex=\"0\" aria-label=\"Phases\"><svg class=\"lanes\" viewBox=\"0 0 780 32\" aria-hidden=\"true\" focusable=\"false\">{svg}</svg></div>{numbers}</figure>\n",
        escaped(run.name),
        hybrid.switches,
        time(end)
    ))
}
