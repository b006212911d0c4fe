//! What ranks do, and the phases of a hybrid run: bars over an axis of time.

use super::{
    chart::Caption,
    columns::find,
    run::Finished,
    words::{count, escaped, percent, table, time, time_unit},
};
use crate::plot::{Axis, axis::Scale, scene::number};
use base::sorted::SortedMap;
use results::table::Table;
use std::fmt::Write;

/// Most ranks with a row of their own.
const MOST_RANKS: usize = 48;

/// Pieces that a row of the time line has.
const PIECES: usize = 240;

/// Where the ranks of a run spend their time: a bar each, in states.
pub fn ranks(run: &Finished<'_>) -> Option<String> {
    let ranks = find(run.tables, "ranks")?;
    let (job, rank, span) =
        (ranks.text_column("job")?, ranks.u32_column("rank")?, ranks.u64_column("makespan_ps")?);
    let parts = ["compute_ps", "overhead_ps", "wait_ps"].map(|name| ranks.u64_column(name));
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
                svg += &bar(x, wide, line, state, &label);
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
        STATES,
        shown.len(),
        most,
        &svg,
        &table(caption, &own, &rows),
    ))
}

/// States of ranks, in the order of their colours.
const STATES: [&str; 3] = ["computing", "handling messages", "waiting"];

/// The same over time: the table of operations does not say how much of a send the processor handles.
const OVER_TIME: [&str; 3] = ["computing", "in a send", "waiting"];

/// An axis of simulated time from 0 to `end` picoseconds, below lanes that reach down to `bottom`; its lines stand behind them.
fn axis(left: f64, wide: f64, bottom: f64, end: f64) -> String {
    let (unit, size) = time_unit(end);
    let label = format!("time ({unit})");
    let range = Axis { min: Some(0.0), max: Some(end / size), ..Axis::default() };
    let scale = Scale::over(&range, std::iter::empty(), 7);
    let mut text = String::new();
    for (value, words) in &scale.marks {
        let (x, low, down) = (number(left + scale.at(*value) * wide), number(bottom), number(bottom + 10.0));
        let _ = write!(
            text,
            "<path class=\"rule\" d=\"M{x} 0V{low}\"/><text class=\"mid\" x=\"{x}\" y=\"{down}\">{words}</text>"
        );
    }
    let (x, right, low) = (number(left), number(left + wide), number(bottom));
    let (middle, below) = (number(left + wide / 2.0), number(bottom + 24.0));
    let _ = writeln!(
        text,
        "<path class=\"frame\" d=\"M{x} {low}H{right}\"/><text class=\"mid\" x=\"{middle}\" y=\"{below}\">{label}</text>"
    );
    text
}

fn bar(x: f64, wide: f64, line: usize, state: usize, label: &str) -> String {
    let (x, wide, y) = (number(x + 70.0), number(wide), 12 * line + 2);
    format!(
        "<rect class=\"k{state}\" x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"10\" data-t=\"{}\"/>",
        escaped(label)
    )
}

fn label(line: usize, words: &str) -> String {
    format!("<text class=\"end\" x=\"66\" y=\"{}\">{}</text>\n", 12 * line + 10, escaped(words))
}

/// Lanes over an axis of time up to `end`, in picoseconds.
fn lanes(
    Caption { id, title, note }: Caption<'_>,
    states: [&str; 3],
    lines: usize,
    end: f64,
    body: &str,
    numbers: &str,
) -> String {
    let keys = states.iter().enumerate().fold(String::new(), |text, (n, name)| {
        text + &format!("<span class=\"key\"><i class=\"k{n}\"></i>{name}</span>")
    });
    format!(
        "<figure class=\"chart wide\" id=\"{id}\"><figcaption><h3>{title}</h3><p>{}</p><p>{keys}</p></figcaption>\n\
         <div class=\"picture cells\" role=\"group\" tabindex=\"0\" aria-label=\"{title}: arrow keys read its bars\"><svg class=\"lanes\" viewBox=\"0 0 780 {}\" aria-hidden=\"true\" focusable=\"false\">\n{}{body}</svg></div>\n\
         <details><summary>Numbers</summary>{numbers}</details></figure>\n",
        escaped(note),
        12 * lines + 36,
        axis(70.0, 700.0, 12.0 * lines as f64 + 4.0, end)
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
                format!("{job}, rank {rank}: {} from {} to {}", OVER_TIME[state], span(first), span(last));
            let unit = 700.0 / PIECES as f64;
            svg += &bar(first as f64 * unit, (last - first) as f64 * unit, line, state, &words);
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
        "Run {}.{note} A piece has the state that fills most of it; what is in no operation waits. A send lasts until its buffer is free again, so a large one also waits for its receive.",
        run.name
    );
    let heads = ["rank", "job", OVER_TIME[0], OVER_TIME[1], OVER_TIME[2]];
    Some(lanes(
        Caption { id: "timeline", title: "What ranks do over time", note: &words },
        OVER_TIME,
        shown.len(),
        end as f64,
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
type Lanes = SortedMap<(String, u32), Vec<Span>>;

fn lanes_of(operations: &Table) -> Option<Lanes> {
    let (job, rank, kind) =
        (operations.text_column("job")?, operations.u32_column("rank")?, operations.text_column("kind")?);
    let (start, end) = (operations.u64_column("start_ps")?, operations.u64_column("end_ps")?);
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
        let state = usize::from(phase.is_surrogate());
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
        "<figure class=\"chart wide\" id=\"phases\"><figcaption><h3>Phases of the hybrid run</h3><p>Run <bdi>{}</bdi>, {} switches.</p>\
         <p><span class=\"key\"><i class=\"k0\"></i>every packet simulated</span><span class=\"key\"><i class=\"k1\"></i>predicted</span></p></figcaption>\n\
         <div class=\"picture cells\" role=\"group\" tabindex=\"0\" aria-label=\"Phases: arrow keys read them\"><svg class=\"lanes\" viewBox=\"0 0 780 64\" aria-hidden=\"true\" focusable=\"false\">{}{svg}</svg></div>{numbers}</figure>\n",
        escaped(run.name),
        hybrid.switches,
        axis(10.0, 760.0, 32.0, end)
    ))
}
