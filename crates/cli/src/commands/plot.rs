//! `netloom plot DIR --out FIGURES`: the figures of a finished sweep.

use crate::{
    args::series::PlotArgs,
    console::Console,
    exit::{Exit, Outcome},
};
use netloom::{
    Error, ErrorKind,
    figures::{figure, put},
    ours,
    sweep::kept,
};
use serde_json::json;

/// Draws every `[[plot]]`.
///
/// # Errors
/// If the sweep cannot be read, a figure shows nothing, or it cannot be written.
pub fn plot(args: &PlotArgs, console: &mut Console<'_>) -> Outcome {
    let kept = kept::read(&args.dir, args.file.as_deref())?;
    if kept.series.plots.is_empty() {
        let help = "add [[plot]] with `x` and `y` (see `netloom explain plot`), and name the file by --file";
        return Err(
            Error::new(ErrorKind::Experiment, "the file of this sweep has no [[plot]]").with_help(help)
        );
    }
    let _claim = ours::claim(&args.out)?;
    let (mut written, mut shown) = (Vec::new(), String::new());
    for spec in &kept.series.plots {
        let figure = figure(spec, &kept.series.sweep.axes, &kept.rows)?;
        figure.remarks.iter().for_each(|remark| console.remark(&format!("note: {remark}")));
        let files = put(&figure.plot, &args.out, &figure.name)?;
        shown.extend(files.iter().map(|file| base::visible::path(file) + "\n"));
        written.extend(files.iter().map(|path| path.display().to_string()));
    }
    console.answer(args.format, &shown, &json!({"figures": written}))?;
    Ok(Exit::Done)
}
