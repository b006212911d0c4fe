//! Files of rank programs, read and written in another format.

use crate::{
    error::{Error, ErrorKind},
    part_file::{PartFile, unwritable},
    recorded,
};
use base::{index::RankId, param::Problem, time::Ps};
use flate2::{Compression, write::GzEncoder};
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};
use workload::program::{
    Damage,
    collective::Chooser,
    file::{Content, Format},
    goal,
    input::Input,
    lower::Options,
    mpi::Script,
    ranks,
    reshape::{
        copies::copies,
        part::{Collectives, between, part},
    },
    traces::{Scale, TiWriter},
};

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file that is read as a program, too; of an archive the anchor.
    Program(Format),
    /// Paraver's files: states of ranks and messages, with their times.
    Paraver,
}

impl Target {
    /// Everything that is written, in the order in which messages list the names.
    pub const ALL: [Self; 6] = [
        Self::Program(Format::Goal),
        Self::Program(Format::GoalBinary),
        Self::Program(Format::Ranks),
        Self::Program(Format::Ti),
        Self::Program(Format::Otf2),
        Self::Paraver,
    ];

    /// Its name, also on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Program(format) => format.name(),
            Self::Paraver => "paraver",
        }
    }
}

/// What is to be converted, and how.
#[derive(Clone, Debug)]
pub struct Conversion<'a> {
    /// File of rank programs.
    pub file: &'a Path,
    /// What numbers of its computations stand for, and those of the result.
    pub scale: Scale,
    /// File to write; text whose name ends with .gz is packed.
    pub out: &'a Path,
    /// Format to write; left out, the name says it.
    pub to: Option<Target>,
    /// Which part of the program, on how many ranks.
    pub reshape: Reshape,
    /// Whose algorithms collectives follow where the format has no collectives.
    pub library: &'a str,
    /// A file for each rank beside the one that is named, which lists them.
    pub per_rank: bool,
    /// Files that exist may be replaced.
    pub force: bool,
}

/// Which part of a program of MPI calls is written, and on how many ranks; by default all of it as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reshape {
    /// Begin behind so many collectives of all ranks; 0 for the beginning.
    pub after: u64,
    /// End with so many further collectives of all ranks; `None` for the end.
    pub collectives: Option<u64>,
    /// In place of both: the collectives of all ranks between two recorded times, see [`between`]; the second may be left out.
    pub times: Option<(Ps, Option<Ps>)>,
    /// Number of ranks, a multiple of the file's: see [`copies`]. `None` for those of the file.
    pub ranks: Option<u32>,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// Ranks of the program.
    pub ranks: u32,
    /// What the result is.
    pub format: Target,
    /// What the result does not say as the file did, and what of the file was not used.
    pub notes: Vec<String>,
}

/// Reads a file: its format, and what it holds.
///
/// # Errors
/// If it cannot be read, or has mistakes.
pub fn read(file: &Path, scale: Scale) -> Result<(Format, Content), Error> {
    Content::read(&Input::file(file), scale).map_err(Error::input)
}

/// Ranks that a program of few words may have where each is counted or written; a larger one needs a byte of its file for each further rank.
const FREE_RANKS: u64 = 1 << 20;

/// Reads a file of which every rank is to be counted or written.
///
/// # Errors
/// As [`read`]; and if a few words speak of so many ranks that this would take hours.
pub fn read_whole(file: &Path, scale: Scale) -> Result<(Format, Content), Error> {
    let (format, content) = read(file, scale)?;
    // In all other formats each rank has bytes, or a file, of its own.
    let (ranks, bytes) = (u64::from(content.ranks()), file.metadata().map_or(0, |file| file.len()));
    let most = FREE_RANKS.saturating_add(bytes);
    if format == Format::Ranks && ranks > most {
        let message = format!(
            "{}: {ranks} ranks in {bytes} bytes: ranks are counted or written one by one, and at most {most} of such a file",
            file.display()
        );
        return Err(Error::new(ErrorKind::Limit, message).with_help("choose fewer ranks"));
    }
    Ok((format, content))
}

/// A file that turned out to be damaged while it was used.
#[must_use]
pub fn damaged(Damage(message): Damage) -> Error {
    Error::new(ErrorKind::Input, message)
}

/// The algorithms of a library by its name.
///
/// # Errors
/// If there is none of that name.
pub fn library(name: &str) -> Result<Chooser, Error> {
    Chooser::read(name, []).map_err(|problems| {
        let unknown = || Problem::new("library", "unknown library");
        let first = problems.into_iter().next().unwrap_or_else(unknown);
        let failure = Error::new(ErrorKind::Usage, first.message);
        match first.help {
            Some(help) => failure.with_help(help),
            None => failure,
        }
    })
}

/// Converts a file.
///
/// # Errors
/// If it cannot be read or has mistakes, the format cannot hold it, or the result not be written.
pub fn convert(asked: &Conversion<'_>) -> Result<Converted, Error> {
    let name = asked.out.display().to_string();
    let packed = name.ends_with(".gz");
    let target = match asked.to {
        Some(target) => target,
        None => by_name(name.strip_suffix(".gz").unwrap_or(&name))?,
    };
    let format = match target {
        Target::Program(format) if format != Format::Otf2 => format,
        timed => return with_times(timed, packed, asked),
    };
    fits(format, packed, asked.per_rank)?;
    let part_file = PartFile::new(asked.out, asked.force)?;
    let (content, mut notes) = reshaped(read_whole(asked.file, asked.scale)?.1, asked.reshape)?;
    notes.extend(write(&content, format, asked, part_file.part(), packed)?);
    part_file.keep().map_err(|e| unwritable(asked.out, &e))?;
    notes.extend(not_in_it(&content));
    Ok(Converted { ranks: content.ranks(), format: target, notes })
}

fn not_in_it(content: &Content) -> impl Iterator<Item = String> {
    content.dropped().into_iter().map(|dropped| format!("not in it: {dropped}"))
}

/// Writes what has times, which a trace of a real run alone has.
fn with_times(target: Target, packed: bool, asked: &Conversion<'_>) -> Result<Converted, Error> {
    let refused = |message: String, help: &str| Err(Error::new(ErrorKind::Usage, message).with_help(help));
    if packed || asked.per_rank {
        let message = format!("{} is written neither packed nor by rank", target.name());
        return refused(message, "leave `.gz` and `--per-rank` out");
    }
    let (format, content) = read(asked.file, asked.scale)?;
    let Content::Script(script) = &content else { return no_times(format) };
    if !matches!(format, Format::Otf2 | Format::Dumpi | Format::Allprof) {
        return no_times(format);
    }
    if asked.reshape != Reshape::default() {
        let message = "a part of a trace, or more ranks, has no recorded times".to_owned();
        return refused(message, "convert the whole trace");
    }
    let mut notes = match target {
        Target::Paraver => recorded::paraver(&**script, asked.out, asked.force)?,
        Target::Program(_) => recorded::otf2(&**script, asked.out)?,
    };
    if script.marks() {
        notes.push("marks for time lines were left out".to_owned());
    }
    notes.extend(not_in_it(&content));
    Ok(Converted { ranks: content.ranks(), format: target, notes })
}

fn no_times(format: Format) -> Result<Converted, Error> {
    let message = format!("{} has no recorded times, and a trace needs some", format.name());
    let help = "`netloom run --out DIR` with `output.operations = true` writes OTF2 and Paraver with simulated times";
    Err(Error::new(ErrorKind::Usage, message).with_help(help))
}

/// A part of a program on more ranks, and what was left out of it.
fn reshaped(content: Content, asked: Reshape) -> Result<(Content, Vec<String>), Error> {
    if asked == Reshape::default() {
        return Ok((content, Vec::new()));
    }
    let refused = |message: String, help: &str| Err(Error::new(ErrorKind::Usage, message).with_help(help));
    let Content::Script(mut script) = content else {
        let message =
            "a graph of operations has no collectives and no calls, so it has no parts and no copies";
        return refused(message.to_owned(), "use a file of MPI calls or a trace of an MPI program");
    };
    let mut notes = Vec::new();
    let mut span = Collectives { after: asked.after, count: asked.collectives };
    if let Some((from, to)) = asked.times {
        span = between(&*script, from, to).map_err(damaged)?;
        let count = span.count.map_or_else(|| "all".to_owned(), |count| count.to_string());
        notes.push(format!("the part is {count} collectives of all ranks behind the first {}", span.after));
    }
    if span.after > 0 || span.count.is_some() {
        let cut = part(script, span).map_err(damaged)?;
        for (crossing, end) in cut.crossing.into_iter().zip(["beginning", "end"]) {
            if crossing > 0 {
                notes.push(format!("messages that cross the part's {end} were left out: {crossing}"));
            }
        }
        script = cut.script;
    }
    if let Some(ranks) = asked.ranks {
        let of = script.ranks();
        if ranks == 0 || !ranks.is_multiple_of(of) {
            let message = format!("a program of {of} ranks has no copies on {ranks} ranks");
            return refused(message, "ask for a multiple of its ranks");
        }
        script = copies(script, ranks / of).map_err(damaged)?;
    }
    Ok((Content::Script(script), notes))
}

/// Refuses formats that are not written, or not so.
fn fits(format: Format, packed: bool, per_rank: bool) -> Result<(), Error> {
    let refused = |message: String, help| Err(Error::new(ErrorKind::Usage, message).with_help(help));
    if !matches!(format, Format::Goal | Format::GoalBinary | Format::Ranks | Format::Ti) {
        let message = format!("{} is read but not written", format.name());
        return refused(message, "write goal, goal-binary, ranks, simgrid-ti, otf2 or paraver");
    }
    if packed && format == Format::GoalBinary {
        let message = "a GOAL binary is not packed, since its readers map it into memory";
        return refused(message.to_owned(), "leave `.gz` out");
    }
    if per_rank && (packed || format != Format::Ti) {
        let message = "files for each rank are those of SimGrid's traces (simgrid-ti), not packed";
        return refused(message.to_owned(), "leave `--per-rank` out");
    }
    Ok(())
}

fn by_name(name: &str) -> Result<Target, Error> {
    match Path::new(name).extension().and_then(|e| e.to_str()) {
        Some("goal") => Ok(Target::Program(Format::Goal)),
        Some("bin") => Ok(Target::Program(Format::GoalBinary)),
        Some("ranks") => Ok(Target::Program(Format::Ranks)),
        Some("otf2") => Ok(Target::Program(Format::Otf2)),
        Some("prv") => Ok(Target::Paraver),
        _ => {
            let message = format!("the name `{name}` does not show the format");
            let help = "end it with .goal, .bin, .ranks, .otf2 or .prv, or add --to goal, goal-binary, ranks, simgrid-ti, otf2 or paraver";
            Err(Error::new(ErrorKind::Usage, message).with_help(help))
        }
    }
}

fn write(
    content: &Content,
    to: Format,
    asked: &Conversion<'_>,
    path: &Path,
    packed: bool,
) -> Result<Vec<String>, Error> {
    let marks = match content {
        Content::Script(script) if to != Format::Ranks && script.marks() => {
            Some("marks for time lines were left out".to_owned())
        }
        _ => None,
    };
    let more = |losses: Vec<String>| losses.into_iter().chain(marks).collect();
    let program = match (content, to) {
        (Content::Script(script), Format::Ranks) => {
            return written(path, packed, |out| {
                ranks::write(&**script, out).map(|()| Vec::new()).map_err(|e| of_calls(e, path))
            });
        }
        (Content::Script(script), Format::Ti) => {
            return time_independent(&**script, asked, path, packed).map(more);
        }
        (Content::Program(_) | Content::Graph(_), Format::Ranks | Format::Ti) => {
            let message = "a graph of operations cannot be written as MPI calls";
            let help = "its dependencies may be ones that no order of calls has";
            return Err(Error::new(ErrorKind::Usage, message).with_help(help));
        }
        _ => {
            let options = Options { chooser: library(asked.library)?, reduce_ps_per_byte: 0 };
            content.clone().program(&Input::file(asked.file), options).map_err(Error::input)?
        }
    };
    graph(&*program, to, asked.scale.unit, path, packed).map(more)
}

/// Writes GOAL, text or binary.
fn graph(
    program: &dyn workload::program::Program,
    to: Format,
    unit: Ps,
    path: &Path,
    packed: bool,
) -> Result<Vec<String>, Error> {
    let reported = |e| match e {
        goal::WriteError::Io(e) => unwritable(path, &e),
        goal::WriteError::Damage(damage) => damaged(damage),
        goal::WriteError::Unfit(message) => Error::new(ErrorKind::Output, message),
    };
    if to == Format::Goal {
        return written(path, packed, |out| {
            goal::write_text(program, unit, out).map(|losses| losses.lines()).map_err(reported)
        });
    }
    let mut out = BufWriter::new(File::create(path).map_err(|e| unwritable(path, &e))?);
    let losses = goal::write_binary(program, unit, &mut out).map_err(reported)?;
    out.flush().map_err(|e| unwritable(path, &e))?;
    Ok(losses.lines())
}

/// Writes a trace of SimGrid: one file, or a list and a file for each rank. Names in a list are seen from its folder.
fn time_independent(
    script: &dyn Script,
    asked: &Conversion<'_>,
    path: &Path,
    packed: bool,
) -> Result<Vec<String>, Error> {
    let mut writer = TiWriter::new(script, asked.scale.speed, library(asked.library)?).map_err(damaged)?;
    let ranks = RankId::first(script.ranks());
    if !asked.per_rank {
        return written(path, packed, |out| {
            let mut ranks = ranks;
            ranks.try_for_each(|rank| writer.rank(rank, out)).map_err(|e| of_calls(e, path))?;
            Ok(writer.losses())
        });
    }
    let mut list = String::new();
    for rank in ranks {
        let to = of_rank(asked.out, rank);
        let part_file = PartFile::new(&to, asked.force)?;
        written(part_file.part(), false, |out| writer.rank(rank, out).map_err(|e| of_calls(e, &to)))?;
        part_file.keep().map_err(|e| unwritable(&to, &e))?;
        list += &to.file_name().unwrap_or_default().to_string_lossy();
        list.push('\n');
    }
    std::fs::write(path, list).map_err(|e| unwritable(path, &e))?;
    Ok(writer.losses())
}

/// `lu.txt` lists `lu-0.txt`, `lu-1.txt` and so on.
fn of_rank(list: &Path, rank: RankId) -> PathBuf {
    let stem = list.file_stem().unwrap_or_default().to_string_lossy();
    let extension = list.extension().map_or("txt".into(), |e| e.to_string_lossy());
    list.with_file_name(format!("{stem}-{rank}.{extension}"))
}

/// Lets `write` write a file, packed by gzip or not.
pub(crate) fn written<T>(
    path: &Path,
    packed: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Error>,
) -> Result<T, Error> {
    let fails = |e: io::Error| unwritable(path, &e);
    let mut out = BufWriter::new(File::create(path).map_err(fails)?);
    let result = if packed {
        let mut packer = BufWriter::new(GzEncoder::new(&mut out, Compression::default()));
        let result = write(&mut packer)?;
        packer.into_inner().map_err(|e| fails(e.into_error()))?.finish().map_err(fails)?;
        result
    } else {
        write(&mut out)?
    };
    out.flush().map_err(fails)?;
    Ok(result)
}

fn of_calls(error: ranks::WriteError, path: &Path) -> Error {
    match error {
        ranks::WriteError::Io(e) => unwritable(path, &e),
        ranks::WriteError::Damage(damage) => damaged(damage),
    }
}
