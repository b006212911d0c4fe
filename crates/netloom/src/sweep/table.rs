//! The tidy table of a sweep: a row for each point, a column for each axis and each number of the summary.

use super::{
    outcome::{Outcome, Row, object},
    plan::Plan,
    points::search,
    store::{MARK, Store},
};
use crate::{
    error::Error,
    experiment::{level::Measure, sweep::Sweep},
    output::Program,
};
use base::sorted::SortedMap;
use results::{
    numbers::numbers,
    summary::State,
    table::{Column, Table},
};
use serde_json::json;
use std::io::Write;

/// Writes the tables and the list of points.
///
/// # Errors
/// If the system refuses.
pub(super) fn write(plan: &Plan, outcome: &Outcome, store: &Store, program: &Program) -> Result<(), Error> {
    let metadata = [
        ("netloom.version", program.version.to_owned()),
        ("netloom.revision", program.revision.to_owned()),
        ("netloom.file", plan.file.1.clone()),
        ("netloom.set", json!(plan.input.set).to_string()),
    ]
    .map(|(key, value)| (key.to_owned(), value));
    let sweep = &plan.series.sweep;
    store.put_table(&points(sweep, &outcome.rows), &metadata)?;
    if let Some(table) = saturation(sweep, &outcome.rows) {
        store.put_table(&table, &metadata)?;
    }
    let names: Vec<&str> = sweep.axes.iter().map(|axis| axis.name.as_str()).collect();
    let points: Vec<_> = outcome.rows.iter().map(|row| object(row, &names)).collect();
    let all = json!({
        "schema": "netloom-sweep-1", "version": program.version, "file": plan.file.0, "text": plan.file.1,
        "set": plan.input.set, "axes": names, "points": points,
    });
    let text = format!("{all:#}\n");
    let text = base::visible::screen(&text);
    store.put(MARK, &mut |file| file.write_all(text.as_bytes()))
}

/// One row per point. A number that a point does not have is no number (NaN).
#[must_use]
pub fn points(sweep: &Sweep, rows: &[Row]) -> Table {
    let text = |of: &dyn Fn(&Row) -> String| {
        let texts: Vec<String> = rows.iter().map(of).collect();
        Column::Text(texts.iter().map(String::as_str).collect())
    };
    let mut table = Table::new("points")
        .with("point", Column::U64((0..rows.len() as u64).collect()))
        .with("id", text(&|row| row.record.id.clone()));
    for axis in 0..sweep.axes.len() {
        let (name, column) = axis_column(sweep, axis, rows);
        table = table.with(&name, column);
    }
    let flags =
        |row: &Row| row.record.summary.as_ref().map_or_else(String::new, |s| s.verdict.flags.join(" "));
    table = table
        .with("seed", Column::U64(rows.iter().map(|row| row.point.seed).collect()))
        .with("state", text(&|row| row.record.state.clone()))
        .with("flags", text(&flags));
    let all: Vec<SortedMap<String, f64>> =
        rows.iter().map(|row| numbers_of(row).into_iter().collect()).collect();
    for name in names(rows) {
        if table.column(&name).is_none() {
            let column = all.iter().map(|of| of.get(&name).copied().unwrap_or(f64::NAN)).collect();
            table = table.with(&name, Column::F64(column));
        }
    }
    table
}

fn numbers_of(row: &Row) -> Vec<(String, f64)> {
    row.record.summary.as_ref().map_or_else(Vec::new, numbers)
}

/// Names of all numbers, in the order of the summaries.
fn names(rows: &[Row]) -> Vec<String> {
    let (mut names, mut known) = (Vec::new(), base::sorted::SortedSet::new());
    for (name, _) in rows.iter().flat_map(numbers_of) {
        if known.insert(name.clone()) {
            names.push(name);
        }
    }
    names
}

/// Name and values of an axis's column: numbers with their unit in the name, or else the values as they are written.
fn axis_column(sweep: &Sweep, axis: usize, rows: &[Row]) -> (String, Column) {
    let levels = || rows.iter().map(|row| &row.point.levels[axis]);
    let first = levels().next().map(|level| level.measure.clone());
    let comparable = first.as_ref().is_some_and(|first| levels().all(|level| level.measure.compares(first)));
    let suffix = first.filter(|_| comparable).map_or("", |first| first.suffix());
    let own = &sweep.axes[axis].name;
    let name = if own.ends_with(suffix) { own.clone() } else { format!("{own}{suffix}") };
    let numbers = || levels().filter_map(|level| level.measure.number());
    let whole = levels().all(|level| matches!(level.measure, Measure::Integer(_)));
    let exact: Option<Vec<u64>> = levels()
        .map(|level| match level.measure {
            Measure::Time(n) | Measure::Bytes(n) => Some(n),
            _ => None,
        })
        .collect();
    let column = match exact {
        Some(exact) => Column::U64(exact),
        None if comparable && whole => Column::I64(numbers().map(|x| x as i64).collect()),
        None if comparable => Column::F64(numbers().collect()),
        None => Column::Text(levels().map(|level| level.label.as_str()).collect()),
    };
    (name, column)
}

/// Where saturation begins, for each chain that was climbed: the greatest value that was carried, the least that was not, and what was
/// accepted at the former. What does not lie within the axis is no number.
#[must_use]
pub fn saturation(sweep: &Sweep, rows: &[Row]) -> Option<Table> {
    let (climbed, _) = search(sweep)?;
    let chains: Vec<&[Row]> = rows.chunk_by(|a, b| a.chain == b.chain).collect();
    let firsts: Vec<Row> = chains.iter().map(|rows| rows[0].clone()).collect();
    let mut table = Table::new("saturation");
    for axis in (0..sweep.axes.len()).filter(|&axis| axis != climbed) {
        let (name, column) = axis_column(sweep, axis, &firsts);
        table = table.with(&name, column);
    }
    table = table.with("seed", Column::U64(firsts.iter().map(|row| row.point.seed).collect()));
    let (name, _) = axis_column(sweep, climbed, rows);
    let carried =
        |row: &&Row| row.record.summary.as_ref().is_some_and(|s| s.verdict.state < State::Saturated);
    let stopped = |row: &&Row| row.record.summary.is_some() && !carried(row);
    let value = |row: Option<&Row>| {
        row.and_then(|row| row.point.levels[climbed].measure.number()).unwrap_or(f64::NAN)
    };
    let accepted = |row: Option<&Row>| {
        let throughput = row.and_then(|row| row.record.summary.as_ref()?.throughput);
        throughput.map_or(f64::NAN, |t| t.accepted_fraction)
    };
    let last = |rows: &&[Row]| -> Option<Row> { rows.iter().rfind(carried).cloned() };
    let first = |rows: &&[Row]| -> Option<Row> { rows.iter().find(stopped).cloned() };
    let of = |of: &dyn Fn(&&[Row]) -> f64| Column::F64(chains.iter().map(of).collect());
    Some(
        table
            .with(&format!("carried.{name}"), of(&|rows| value(last(rows).as_ref())))
            .with(&format!("saturated.{name}"), of(&|rows| value(first(rows).as_ref())))
            .with("carried.accepted_fraction", of(&|rows| accepted(last(rows).as_ref()))),
    )
}
