//! `netloom trace convert FILE OUT`

use super::file::{damaged, read};
use crate::{
    args::ConvertArgs,
    console::Console,
    exit::{Exit, Outcome},
};
use base::param::Problem;
use flate2::{Compression, write::GzEncoder};
use netloom::{Error, ErrorKind, part_file::PartFile};
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};
use workload::program::{
    collective::Chooser,
    file::{Content, Format},
    goal::{self, Losses},
    input::Input,
    lower::Options,
    ranks,
};

pub(super) fn convert(args: &ConvertArgs, console: &mut Console<'_>) -> Outcome {
    let out = args.out.display().to_string();
    let packed = out.ends_with(".gz");
    let format = match &args.to {
        Some(format) => *format,
        None => by_name(out.strip_suffix(".gz").unwrap_or(&out))?,
    };
    if format == Format::Otf2 {
        let message = "an OTF2 archive needs the times of a run";
        let help = "`netloom run --out DIR` with `output.operations = true` writes one";
        return Err(Error::new(ErrorKind::Usage, message).with_help(help));
    }
    if !matches!(format, Format::Goal | Format::GoalBinary | Format::Ranks) {
        let message = format!("{} is read but not written", format.name());
        return Err(Error::new(ErrorKind::Usage, message).with_help("write goal, goal-binary or ranks"));
    }
    if packed && format == Format::GoalBinary {
        let message = "a GOAL binary is not packed, since its readers map it into memory";
        return Err(Error::new(ErrorKind::Usage, message).with_help("leave `.gz` out"));
    }
    let part_file = PartFile::new(&args.out, args.force)?;
    let content = read(&args.input)?.1;
    let losses = write(&content, format, args, part_file.part(), packed)?;
    part_file.keep().map_err(|e| unwritable(&args.out, &e))?;
    for line in losses.lines() {
        console.remark(&format!("note: {line}"));
    }
    console.print(&format!("{out}: {} ranks, {}\n", content.ranks(), format.name()))?;
    Ok(Exit::Done)
}

fn by_name(name: &str) -> Result<Format, Error> {
    match Path::new(name).extension().and_then(|e| e.to_str()) {
        Some("goal") => Ok(Format::Goal),
        Some("bin") => Ok(Format::GoalBinary),
        Some("ranks") => Ok(Format::Ranks),
        Some("otf2") => Ok(Format::Otf2),
        _ => {
            let message = format!("the name `{name}` does not tell the format");
            let help = "end it with .goal, .bin or .ranks, or add --to goal, goal-binary or ranks";
            Err(Error::new(ErrorKind::Usage, message).with_help(help))
        }
    }
}

fn write(
    content: &Content,
    to: Format,
    args: &ConvertArgs,
    path: &Path,
    packed: bool,
) -> Result<Losses, Error> {
    let unit = args.input.unit;
    let program = match (content, to) {
        (Content::Script(script), Format::Ranks) => {
            return written(path, packed, |out| {
                ranks::write(&**script, out).map(|()| Losses::default()).map_err(|e| match e {
                    ranks::WriteError::Io(e) => unwritable(path, &e),
                    ranks::WriteError::Damage(damage) => damaged(damage),
                })
            });
        }
        (Content::Program(_) | Content::Graph(_), Format::Ranks) => {
            let message = "a graph of operations cannot be written as MPI calls";
            let help = "its dependencies may be ones that no order of calls has";
            return Err(Error::new(ErrorKind::Usage, message).with_help(help));
        }
        _ => {
            let chooser = Chooser::read(&args.library, []).map_err(unknown_library)?;
            let options = Options { chooser, reduce_ps_per_byte: 0 };
            content.clone().program(&Input::file(&args.input.file), options).map_err(Error::input)?
        }
    };
    let program = &*program;
    let reported = |e| match e {
        goal::WriteError::Io(e) => unwritable(path, &e),
        goal::WriteError::Damage(damage) => damaged(damage),
        goal::WriteError::Unfit(message) => Error::new(ErrorKind::Output, message),
    };
    if to == Format::Goal {
        return written(path, packed, |out| goal::write_text(program, unit, out).map_err(reported));
    }
    let mut out = BufWriter::new(File::create(path).map_err(|e| unwritable(path, &e))?);
    let losses = goal::write_binary(program, unit, &mut out).map_err(reported)?;
    out.flush().map_err(|e| unwritable(path, &e))?;
    Ok(losses)
}

/// Lets `write` write a file, packed by gzip or not.
fn written(
    path: &Path,
    packed: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<Losses, Error>,
) -> Result<Losses, Error> {
    let fails = |e: io::Error| unwritable(path, &e);
    let mut out = BufWriter::new(File::create(path).map_err(fails)?);
    let losses = if packed {
        let mut packer = BufWriter::new(GzEncoder::new(&mut out, Compression::default()));
        let losses = write(&mut packer)?;
        packer.into_inner().map_err(|e| fails(e.into_error()))?.finish().map_err(fails)?;
        losses
    } else {
        write(&mut out)?
    };
    out.flush().map_err(fails)?;
    Ok(losses)
}

pub(super) fn unknown_library(problems: Vec<Problem>) -> Error {
    let first = problems.into_iter().next().unwrap_or_else(|| Problem::new("library", "unknown library"));
    let failure = Error::new(ErrorKind::Usage, first.message);
    match first.help {
        Some(help) => failure.with_help(help),
        None => failure,
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorKind::Output, format!("cannot write `{}`: {error}", path.display()))
}
