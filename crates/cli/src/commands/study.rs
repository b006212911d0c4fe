//! `netloom study NAME`: a paper's numbers, ours beside them, and why they differ.

use crate::{
    args::{Format, StudyArgs},
    console::Console,
    exit::{Exit, Outcome},
    program::PROGRAM,
    signals::{self, Heeded},
    terminal::Terminal,
};
use serde_json::json;
use std::{cell::OnceCell, sync::Arc};
use studies::{
    asked::{Asked, Form},
    files::Place,
    runner,
};

/// Lists the studies, or runs one.
///
/// # Errors
/// If there is no such study, it has mistakes, or one of its experiments fails.
pub fn study(args: &StudyArgs, console: &mut Console<'_>) -> Outcome {
    let place = args.studies.clone().map_or(Place::Own, Place::Directory);
    let Some(name) = &args.name else {
        return list(&place, args.format, console);
    };
    let form = match (args.smoke, args.quick, args.full) {
        (true, ..) => Form::Smoke,
        (_, true, _) => Form::Quick,
        (.., true) => Form::Full,
        _ => Form::Whole,
    };
    let heeded: OnceCell<Heeded> = OnceCell::new();
    let asked = Asked {
        form,
        row: args.row.clone(),
        set: args.set.clone(),
        out: args.out.clone(),
        threads: args.threads,
        program: PROGRAM,
        heed: &|| Arc::clone(&heeded.get_or_init(|| signals::heed(false, Default::default())).signals),
    };
    if args.verify {
        let verified = runner::verify(&place, name, &asked, &Terminal::new(console))?;
        console.answer(args.format, &verified.text, &verified.object)?;
        return Ok(if verified.agrees { Exit::Done } else { Exit::Differences });
    }
    let report = runner::run(&place, name, &asked, &Terminal::new(console))?;
    console.answer(args.format, &report.text, &report.object)?;
    Ok(if report.holds { Exit::Done } else { Exit::Differences })
}

fn list(place: &Place, format: Format, console: &mut Console<'_>) -> Outcome {
    let names = place.names();
    match format {
        Format::Json => console.print_json(&json!({"studies": names}))?,
        Format::Text if names.is_empty() => {
            console.remark(&format!("there are no studies in {}", place.name()));
        }
        Format::Text => console.print(&(names.join("\n") + "\n"))?,
    }
    Ok(Exit::Done)
}
