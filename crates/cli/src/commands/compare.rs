//! `netloom compare A B`: two finished runs side by side; `netloom compare --models FILE`: one experiment on every model;
//! `netloom compare --alone FILE`: its jobs together, and each alone.

use crate::{
    args::{CompareArgs, Format},
    console::Console,
    exit::{Exit, Outcome},
    terminal::Terminal,
};
use netloom::{
    Input, Registry, RunOptions,
    compare::{Side, Tolerances, compare, load, text},
    compare_models::{compare_models, files as models_files},
    interference::{Asked, files as interference_files, interference},
};
use std::path::Path;

/// Compares the runs in two output directories (or two `summary.json`), or the models.
///
/// # Errors
/// If one of them cannot be read, or the experiment cannot be run.
pub fn run(args: &CompareArgs, console: &mut Console<'_>) -> Outcome {
    if let Some(file) = &args.models {
        return models(file, args, console);
    }
    if let Some(file) = &args.alone {
        return alone(file, args, console);
    }
    let [a_path, b_path] = [&args.a, &args.b].map(|path| path.as_deref().unwrap_or(Path::new("")));
    let (a, b) = (load(a_path)?, load(b_path)?);
    let tolerances = Tolerances { all: args.tolerance, named: args.named.clone() };
    let [a_side, b_side] = [&a, &b].map(|run| Side { summary: &run.0, messages: run.1.as_ref() });
    let comparison = compare(a_side, b_side, &tolerances);
    match args.format {
        Format::Text => {
            let names = [a_path, b_path].map(base::visible::path);
            console.print(&text(&comparison, [&names[0], &names[1]], [&a.0, &b.0]))?;
        }
        Format::Json => {
            let mut json = serde_json::json!(comparison);
            json["within"] = comparison.within().into();
            console.print_json(&json)?;
        }
    }
    Ok(if comparison.within() { Exit::Done } else { Exit::Differences })
}

/// Runs the experiment on every model that can carry it.
fn models(file: &Path, args: &CompareArgs, console: &mut Console<'_>) -> Outcome {
    let input = Input { file: file.to_owned(), set: args.set.clone() };
    let _claim = args.out.as_deref().map(|out| models_files::FILES.claim(out)).transpose()?;
    let options = RunOptions { threads: args.threads, ..RunOptions::default() };
    let found = compare_models(&Registry::standard(), &input, &options, &Terminal::new(console))?;
    // What was found is shown, whatever becomes of the files.
    let stored = args.out.as_deref().map(|directory| found.write(directory)).transpose();
    console.answer(args.format, &found.text(), &found.object())?;
    stored?;
    Ok(if found.compares() { Exit::Done } else { Exit::Experiment })
}

/// Runs the experiment with all jobs, and with each alone.
fn alone(file: &Path, args: &CompareArgs, console: &mut Console<'_>) -> Outcome {
    let input = Input { file: file.to_owned(), set: args.set.clone() };
    let _claim = args.out.as_deref().map(|out| interference_files::FILES.claim(out)).transpose()?;
    let asked = Asked { threads: args.threads, options: RunOptions::default() };
    let found = interference(&Registry::standard(), &input, &asked, &Terminal::new(console))?;
    let stored = args.out.as_deref().map(|directory| found.write(directory)).transpose();
    console.answer(args.format, &found.text(), &found.object())?;
    stored?;
    Ok(Exit::Done)
}
