//! The busiest links, the traffic matrix, jobs.

use super::{
    columns::{find, floats},
    network::{Loads, Wires, scale},
    run::Finished,
    words::{count, escaped, percent, rate, table, time},
};
use crate::plot::scene::number;
use std::fmt::Write;

/// Links in the ranking.
const RANKED: usize = 20;
/// Most rows and columns of the matrix.
const CELLS: usize = 48;

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
    let (from, to) = (pairs.u32_column("source")?, pairs.u32_column("destination")?);
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
