//! Runs studies.

use crate::{
    asked::{Asked, Form},
    beside,
    computed::{Special, Verified},
    curves, estimates,
    figures::{self, Extras},
    files::{Files, Place},
    haec_sim,
    hybrid::{self, Case},
    line::{Line, number},
    mars,
    programs::{self, Curves},
    simgrid,
    store::Store,
    study::{self, Row, RowsAre, Study},
    totals,
};
use base::registry::nearest;
use netloom::{Error, ErrorKind, RunOptions, Watcher, execute::execute};
use serde_json::{Value as Json, json};

/// Studies that compute something besides their rows.
const SPECIALS: &[Special] = &[haec_sim::SPECIAL, mars::SPECIAL, simgrid::SPECIAL];

/// A study's table and all that it shows beside it.
pub struct Report {
    /// The result as text, for people.
    pub text: String,
    /// The result as JSON, for programs.
    pub object: Json,
    /// False if what must hold does not: counts that must be equal, cases that must be covered.
    pub holds: bool,
}

/// Files of a study.
///
/// # Errors
/// If there is no such study.
pub fn find(place: &Place, name: &str) -> Result<Files, Error> {
    let names = place.names();
    if names.iter().any(|n| n == name) {
        return Ok(place.files(name));
    }
    let mut help = match nearest(name, names.iter().map(String::as_str)).first() {
        Some(near) => format!("did you mean `{near}`? "),
        None => String::new(),
    };
    help += &match names.is_empty() {
        true => format!("{} holds no study", place.name()),
        false => format!("{} holds {}", place.name(), names.join(", ")),
    };
    Err(Error::new(ErrorKind::Usage, format!("there is no study `{name}`")).with_help(help))
}

/// Computes a study's results a second time and counts deviations.
///
/// # Errors
/// If there is no such study, it has mistakes or no verification, or what is verified cannot be kept.
pub fn verify(
    place: &Place,
    name: &str,
    asked: &Asked<'_>,
    watcher: &dyn Watcher,
) -> Result<Verified, Error> {
    study::load(&find(place, name)?)?;
    let Some(verify) = SPECIALS.iter().find(|s| s.name == name).and_then(|s| s.verify) else {
        let with = SPECIALS.iter().filter(|s| s.verify.is_some());
        let names: Vec<String> = with.map(|s| format!("`{}`", s.name)).collect();
        let message = format!("study `{name}` has no verification");
        return Err(Error::new(ErrorKind::Usage, message).with_help(format!("{} has one", names.join(", "))));
    };
    verify(asked, watcher)
}

/// Runs a study.
///
/// # Errors
/// If there is no such study, it has mistakes, or one of its experiments fails.
pub fn run(place: &Place, name: &str, asked: &Asked<'_>, watcher: &dyn Watcher) -> Result<Report, Error> {
    let files = find(place, name)?;
    let study = study::load(&files)?;
    is_there(&study, asked)?;
    asked.out.as_deref().map_or(Ok(()), results::claim::check_name)?;
    if asked.threads.is_some() && study.rows_are != RowsAre::Hybrid {
        let message = format!("study `{name}` runs one experiment at a time");
        return Err(Error::new(ErrorKind::Usage, message).with_help("leave --threads out"));
    }
    let (mut curves, mut holds) = (Curves::default(), true);
    let mut lines = match study.rows_are {
        RowsAre::Summaries => rows(&study, &files, asked, &mut curves, watcher)?,
        RowsAre::Hybrid => hybrid(&study, &files, asked, watcher)?,
        RowsAre::Estimates => estimates(&study, &files, asked, &mut holds, watcher)?,
        RowsAre::Curves => curves_of(&study, &files, asked, watcher)?,
    };
    holds &= totals::agree(&lines);
    let special = SPECIALS.iter().find(|s| s.name == name).filter(|_| asked.row.is_none());
    let mut computed = special.map(|s| (s.compute)(&files, asked, watcher)).transpose()?;
    if let Some(computed) = &mut computed {
        lines.append(&mut computed.lines);
    }
    let extras = match asked.row {
        None => figures::run(&files, study.shorter(asked.form), watcher)?,
        Some(_) => Extras::default(),
    };
    if let Some(out) = &asked.out {
        extras.draw(out)?;
        curves.draw(out)?;
        let (unit, factor) = (study.beside.0.as_str(), study.beside.1);
        if let Some(plot) = beside::plot(&study.title, unit, factor, &lines).filter(|_| !unit.is_empty()) {
            hybrid::write(out, "beside", &plot.svg())?;
        }
    }
    let more = computed.as_ref().map_or("", |c| c.text.as_str());
    let text = text(&study, &lines) + &extras.text() + more;
    if let Some(computed) = &mut computed {
        lines.append(&mut computed.more);
    }
    let mut object = object(name, &study, &lines);
    object["extras"] = extras.json();
    object["curves"] = curves.json();
    if let Some(computed) = computed {
        object["computed"] = computed.object;
    }
    Ok(Report { text, object, holds })
}

fn is_wanted(row: &Row, asked: &Asked<'_>) -> bool {
    asked.row.as_ref().is_none_or(|part| row.name.contains(part.as_str()))
}

/// Refuses a choice of rows in which there is none.
fn is_there(study: &Study, asked: &Asked<'_>) -> Result<(), Error> {
    let Some(part) = asked.row.as_deref().filter(|_| !study.rows.iter().any(|row| is_wanted(row, asked)))
    else {
        return Ok(());
    };
    let names = || study.rows.iter().map(|row| row.name.as_str());
    let near = nearest(part, names());
    let shown = if near.is_empty() { names().take(8).collect() } else { near };
    let help = match shown.as_slice() {
        [] => "all that it says is computed beside rows: leave `--row` out".to_owned(),
        shown => format!("rows are such as `{}`", shown.join("`, `")),
    };
    Err(Error::new(ErrorKind::Usage, format!("no row of the study has `{part}` in its name")).with_help(help))
}

/// A row of a hybrid study in the form that is asked for.
fn case<'a>(study: &Study, row: &'a Row, asked: &Asked<'_>) -> Case<'a> {
    let shorter = study.shorter(asked.form).iter().chain(row.shorter(asked.form));
    let set = row.set.iter().chain(shorter).chain(&asked.set).cloned().collect();
    let seeds = if matches!(asked.form, Form::Smoke | Form::Quick) { 1 } else { row.seeds };
    Case { row, set, seeds, form: asked.form }
}

/// Runs the rows of a hybrid study, each reported when it is done, and draws their pictures.
fn hybrid(
    study: &Study,
    files: &Files,
    asked: &Asked<'_>,
    watcher: &dyn Watcher,
) -> Result<Vec<Line>, Error> {
    let cases: Vec<Case<'_>> =
        study.rows.iter().filter(|row| is_wanted(row, asked)).map(|row| case(study, row, asked)).collect();
    let (mut lines, mut all, store) =
        (Vec::new(), Vec::new(), Store::new(asked.out.as_deref(), asked.heed, asked.program));
    hybrid::run(&cases, asked.threads.unwrap_or(1), &store, files, watcher, &mut |case, found, pictures| {
        if let Some(out) = &asked.out {
            hybrid::draw(out, &pictures)?;
        }
        let reported = hybrid::lines(case, &found);
        watcher.remark(&format!("row {}: {}", case.row.name, hybrid::reported(&reported)));
        lines.extend(reported);
        all.push(found);
        Ok(())
    })?;
    if let Some(out) = &asked.out {
        let rows: Vec<_> = cases.iter().map(|case| case.row).zip(all).collect();
        hybrid::write(out, "table-3-mape", &hybrid::table(&study.title, &rows).svg())?;
    }
    Ok(lines)
}

/// Runs the rows of a study of estimates; says whether as many cases are covered as must be.
fn estimates(
    study: &Study,
    files: &Files,
    asked: &Asked<'_>,
    holds: &mut bool,
    watcher: &dyn Watcher,
) -> Result<Vec<Line>, Error> {
    let is_whole = matches!(asked.form, Form::Whole | Form::Full);
    let (more, least_more) = if is_whole { study.more } else { (0, 0) };
    let (mut lines, mut of_rows, mut beyond) =
        (Vec::new(), estimates::Cases::default(), estimates::Cases::default());
    for row in study.rows.iter().filter(|row| is_wanted(row, asked)) {
        let Case { set, seeds, .. } = case(study, row, asked);
        for (seeds, cases) in [(1..=seeds, &mut of_rows), (seeds + 1..=seeds + more, &mut beyond)] {
            let found = estimates::run(row, &set, seeds, files, watcher)?;
            cases.add(found.cases);
            lines.extend(found.lines);
        }
    }
    // What is asked of all rows as they are is not asked of some, or of others.
    let is_judged = asked.row.is_none() && asked.set.is_empty();
    let least = |least| if is_judged { least } else { 0 };
    let of_all = [("all", of_rows, study.least(asked.form)), ("all, more seeds", beyond, least_more)];
    for (of, cases, asked) in of_all.into_iter().take(if more > 0 { 2 } else { 1 }) {
        lines.extend(estimates::count(of, cases));
        let (judged, kept) = estimates::judge(of, cases, least(asked));
        lines.extend(judged);
        *holds &= kept;
    }
    Ok(lines)
}

/// Runs the rows of a study of curves and draws them.
fn curves_of(
    study: &Study,
    files: &Files,
    asked: &Asked<'_>,
    watcher: &dyn Watcher,
) -> Result<Vec<Line>, Error> {
    let (mut lines, mut bounds, mut pictures) = (Vec::new(), curves::Bounds::default(), Vec::new());
    for row in study.rows.iter().filter(|row| is_wanted(row, asked)) {
        let Case { set, seeds, .. } = case(study, row, asked);
        let found = curves::run(row, &set, seeds, files, watcher)?;
        bounds.judged += found.bounds.judged;
        bounds.within += found.bounds.within;
        if let (Some(out), Some(picture)) = (&asked.out, &found.picture) {
            hybrid::draw(out, std::slice::from_ref(picture))?;
        }
        pictures.extend(found.picture);
        lines.extend(found.lines);
    }
    if let Some(out) = asked.out.as_ref().filter(|_| pictures.len() > 1) {
        hybrid::write(out, "curves", &curves::panels(&pictures).svg())?;
    }
    lines.push(curves::count(bounds));
    Ok(lines)
}

fn rows(
    study: &Study,
    files: &Files,
    asked: &Asked<'_>,
    curves: &mut Curves,
    watcher: &dyn Watcher,
) -> Result<Vec<Line>, Error> {
    let shorter = study.shorter(asked.form);
    let mut lines = Vec::new();
    for row in study.rows.iter().filter(|row| is_wanted(row, asked)) {
        let set = row.set.iter().chain(shorter).chain(&asked.set).cloned().collect();
        let summary: Json = match &row.program {
            Some(program) => {
                programs::run(program, files, &row.experiment, set, asked.form, curves, watcher)?
            }
            None => {
                let prepared = files.prepare(&row.experiment, set, &RunOptions::default(), watcher)?;
                let finished = execute(&prepared, watcher)?;
                serde_json::from_str(&finished.summary.to_json()).expect("a summary is JSON")
            }
        };
        for (key, published) in &row.published {
            let ours = value(&summary, key).and_then(Json::as_f64);
            if let (Some(program), "simulated_us", Some(bytes)) =
                (&row.program, key.as_str(), summary["bytes"].as_f64())
            {
                curves.publish(program, bytes, *published);
            }
            let (row, key, why) = (row.name.clone(), key.clone(), row.why.clone());
            lines.push(Line { row, key, published: Some(*published), ours, why });
        }
    }
    Ok(lines)
}

/// The value at a path of keys and list positions joined by dots.
fn value<'a>(summary: &'a Json, path: &str) -> Option<&'a Json> {
    path.split('.').try_fold(summary, |at, part| match part.parse::<usize>() {
        Ok(index) if at.is_array() => at.get(index),
        _ => at.get(part),
    })
}

fn text(study: &Study, lines: &[Line]) -> String {
    let head = match study.rows_are {
        RowsAre::Estimates => ["row", "quantity", "its estimate", "true", ""],
        _ => ["row", "quantity", "published", "ours", "why they differ"],
    };
    let head = head.map(str::to_owned);
    let mut cells = vec![head];
    for line in lines {
        let ours = line.ours.map_or_else(|| "absent".to_owned(), number);
        let published = line.published.map_or_else(|| "-".to_owned(), number);
        cells.push([line.row.clone(), line.key.clone(), published, ours, line.why.clone()]);
    }
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let mut text = format!("{}\n{}\n\n", study.title, study.paper);
    for [row, key, published, ours, why] in &cells {
        let [a, b, c, d] = widths;
        let line = format!("{row:a$}  {key:b$}  {published:>c$}  {ours:>d$}  {why}");
        text += line.trim_end();
        text.push('\n');
    }
    text
}

fn object(name: &str, study: &Study, lines: &[Line]) -> Json {
    let rows: Json = lines
        .iter()
        .map(|l| json!({"row": l.row, "key": l.key, "published": l.published, "ours": l.ours, "why": l.why}))
        .collect();
    json!({"study": name, "title": study.title, "paper": study.paper, "rows": rows})
}
