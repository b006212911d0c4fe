//! A finished sweep, read back from its directory.

use super::{
    outcome::Row,
    points::Point,
    store::{MARK, Store},
};
use crate::{
    error::{Error, ErrorKind},
    experiment::{
        level::{Level, Measure},
        series::{self, Series},
        sweep::Axis,
        tree::{Data, Node},
    },
    input::read_file_of,
};
use base::diag::Diagnostics;
use serde_json::Value as Json;
use std::path::Path;

/// Largest list of points.
const MAX_FILE: u64 = 1 << 30;

/// A finished sweep.
pub struct Kept {
    /// Its axes and figures.
    pub series: Series,
    /// Its points, in order.
    pub rows: Vec<Row>,
}

/// Reads a directory; figures are those of the file that was swept, or of another one with the same axes.
///
/// # Errors
/// If it is none, something of it is missing, or the file has mistakes.
pub fn read(directory: &Path, other: Option<&Path>) -> Result<Kept, Error> {
    let store = Store::existing(directory)?;
    let mark = directory.join(MARK);
    let damaged = |what: &str| {
        let message = format!("`{}` {what}", mark.display());
        Error::new(ErrorKind::Input, message).with_help("the command that made it writes it again")
    };
    let list: Json =
        serde_json::from_str(&read_file_of(&mark, MAX_FILE)?).map_err(|_| damaged("is not whole"))?;
    let set: Vec<String> = serde_json::from_value(list["set"].clone()).unwrap_or_default();
    let (name, words) = match other {
        Some(path) => (path.display().to_string(), read_file_of(path, MAX_FILE)?),
        None => (text(&list["file"]), text(&list["text"])),
    };
    let mut diagnostics = Diagnostics::default();
    let series = series::read(&name, &words, &set, &mut diagnostics);
    let Some(series) = series.filter(|_| diagnostics.is_empty()) else {
        let none = Error::new(ErrorKind::Experiment, format!("`{name}` has no [sweep]"));
        return Err(if diagnostics.is_empty() { none } else { Error::Experiment(Box::new(diagnostics)) });
    };
    let names: Vec<&str> = series.sweep.axes.iter().map(|axis| axis.name.as_str()).collect();
    if list["axes"] != serde_json::json!(names) {
        let message = format!("the axes of `{name}` are not those of `{}`", directory.display());
        return Err(Error::new(ErrorKind::Experiment, message).with_help("sweep it into another directory"));
    }
    let mut rows = Vec::new();
    for (number, point) in list["points"].as_array().into_iter().flatten().enumerate() {
        let id = point["id"].as_str().unwrap_or("");
        let record = store
            .load(id)
            .ok_or_else(|| damaged(&format!("names point {id}, which is not there or cannot be read")))?;
        let levels = series.sweep.axes.iter().map(|axis| level(axis, &text(&point["values"][&axis.name])));
        let point = Point { levels: levels.collect(), seed: point["seed"].as_u64().unwrap_or(0) };
        rows.push(Row { chain: number, point, record, kept: true });
    }
    Ok(Kept { series, rows })
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or("").to_owned()
}

/// The value of an axis with this label: one of the file's, or one that a search for saturation found between them.
fn level(axis: &Axis, label: &str) -> Level {
    let known = axis.levels.iter().find(|level| level.label == label);
    known.cloned().unwrap_or_else(|| {
        let data = match (label.parse(), label.parse()) {
            (Ok(whole), _) => Data::Integer(Some(whole)),
            (_, Ok(real)) => Data::Real(real),
            _ => Measure::of_text(label).data(),
        };
        let place = axis.paths.first().map(|(_, place)| *place);
        Level::new(place.map(|place| Node { place, data }).into_iter().collect(), None)
    })
}
