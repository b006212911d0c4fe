//! Files of rank programs: what they hold is recognised by their content, never by their name.

use super::{
    Damage, Program, archive, goal,
    input::{Input, KEY},
    lower::{
        self,
        graph::{Graph, lower_graph},
        lower,
    },
    mpi::Script,
    place::Place,
    ranks,
    tar::{self, Tar},
    traces::{self, Listed, Scale},
};
use crate::work::{JobContext, Work};
use base::param::Built;
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};
use std::sync::Arc;

/// Bytes of a file that tell its format.
const HEAD: u64 = 1 << 16;

/// A format that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GOAL text: after comments it begins with `num_ranks` or `rank`.
    Goal,
    /// GOAL binary, as LogGOPSim reads it: it begins with the number 4223, in 64 bits, low byte first.
    GoalBinary,
    /// MPI calls as text ([`ranks`]).
    Ranks,
    /// The anchor file of an OTF2 archive ([`archive`]).
    Otf2,
    /// A time-independent trace of SimGrid ([`traces`]).
    Ti,
    /// A trace of liballprof ([`traces`]).
    Allprof,
    /// A trace of SST's DUMPI, named by its description (`.meta`) or the file of a rank ([`traces`]).
    Dumpi,
    /// A trace of Chakra in its JSON form ([`traces`]).
    ChakraJson,
    /// A trace of Chakra as messages of Protocol Buffers ([`traces`]).
    Chakra,
}

impl Format {
    /// Every format, in the order in which messages list their names.
    pub const ALL: [Self; 9] = [
        Self::Goal,
        Self::GoalBinary,
        Self::Ranks,
        Self::Otf2,
        Self::Ti,
        Self::Allprof,
        Self::Dumpi,
        Self::ChakraJson,
        Self::Chakra,
    ];

    /// Its name, also on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::GoalBinary => "goal-binary",
            Self::Ranks => "ranks",
            Self::Otf2 => "otf2",
            Self::Ti => "simgrid-ti",
            Self::Allprof => "liballprof",
            Self::Dumpi => "dumpi",
            Self::ChakraJson => "chakra-json",
            Self::Chakra => "chakra",
        }
    }

    /// True if a trace of this format may be a list of files, one for each rank.
    fn is_listed(self) -> bool {
        matches!(self, Self::Ti | Self::Allprof | Self::Dumpi | Self::ChakraJson | Self::Chakra)
    }

    /// True if this begins like an archive of tar, whose files may be traces of ranks.
    #[must_use]
    pub fn is_archive(head: &[u8]) -> bool {
        tar::begins(head)
    }

    /// The format of a file, the files that it lists, and the file of an archive that takes its place.
    ///
    /// # Errors
    /// If it cannot be read, or looks like none.
    fn found(input: &Input<'_>) -> Result<Found, Problem> {
        let head = input.head(HEAD).map_err(|e| input.unreadable(&e))?;
        if tar::begins(&head) {
            return archived(input);
        }
        Self::recognised(input, &head).map(|(format, listed)| Found { format, listed, inside: None })
    }

    /// The format of what begins with these bytes, and the files that it lists.
    fn recognised(input: &Input<'_>, head: &[u8]) -> Result<(Self, Option<Listed>), Problem> {
        if let Some(format) = Self::by(head) {
            return Ok((format, None));
        }
        for (mark, packer) in [(&b"\xfd7zXZ"[..], "xz"), (b"BZh", "bzip2")] {
            if head.starts_with(mark) {
                let message = format!("packed by {packer}, which is not read here");
                return Err(input.problem(message).help("unpack it, or pack it by gzip or zstd"));
            }
        }
        if let Some(listed) = traces::listed(input)? {
            return Self::of_list(listed).map(|(format, listed)| (format, Some(listed)));
        }
        let help = "GOAL text begins with `num_ranks N`, a GOAL binary with the number 4223, a program of MPI calls with `ranks N`, a \
                    time-independent trace with a rank and an action; of an OTF2 archive name the anchor file, `*.otf2`";
        let unknown = traces::ti::unknown_action(head).map_or_else(String::new, |(line, action)| {
            format!(
                ": line {line} begins with a rank, but `{action}` is no action of a time-independent trace"
            )
        });
        Err(input.problem(format!("this is no program of ranks in a known format{unknown}")).help(help))
    }

    /// The format of the files of a list, told by the first.
    fn of_list(listed: Listed) -> Result<(Self, Listed), Problem> {
        let first = Input::at(listed.paths[0].clone());
        let head = first.head(HEAD).map_err(|e| first.unreadable(&e))?;
        match Self::by(&head).filter(|format| format.is_listed()) {
            Some(format) => Ok((format, listed)),
            None => {
                Err(first.problem("this file of a list is no trace of ranks in a format that comes in lists"))
            }
        }
    }

    /// The format of what begins with these bytes, if any is known that does.
    #[must_use]
    pub fn by(head: &[u8]) -> Option<Self> {
        if goal::is_binary(head) {
            return Some(Self::GoalBinary);
        }
        if otf2::Anchor::begins(head) {
            return Some(Self::Otf2);
        }
        match first_word(head) {
            Some(b"num_ranks" | b"rank") => Some(Self::Goal),
            Some(b"ranks" | b"all") => Some(Self::Ranks),
            _ if traces::ti::begins(head) => Some(Self::Ti),
            _ if traces::dumpi::begins(head) => Some(Self::Dumpi),
            _ if traces::allprof::begins(head) => Some(Self::Allprof),
            _ => traces::chakra::form(head).map(|form| match form {
                traces::chakra::Form::Json => Self::ChakraJson,
                traces::chakra::Form::Messages => Self::Chakra,
            }),
        }
    }
}

/// What a file turned out to hold.
struct Found {
    format: Format,
    /// The files of ranks, if they are listed or stand in an archive.
    listed: Option<Listed>,
    /// Of an archive, the file in it that stands for the trace, and how many files of ranks there are.
    inside: Option<(Input<'static>, usize)>,
}

/// The trace in an archive.
///
/// # Errors
/// If the archive is damaged or not read, or holds no trace or two.
fn archived(input: &Input<'_>) -> Result<Found, Problem> {
    let refused = |message: String| {
        let help = "pack the files of one trace: those of its ranks, and its list or description";
        input.problem(message).help(help)
    };
    if input.is_alone() {
        return Err(refused("an archive is read from a file".to_owned()));
    }
    let tar = Arc::new(Tar::open(input.place().path()).map_err(|message| input.problem(message))?);
    let (mut ranks, mut named) = (Vec::new(), Vec::new());
    for number in 0..tar.names().count() {
        let file = Input::at(Place::Member(Arc::clone(&tar), number));
        let head = file.head(HEAD).map_err(|e| file.unreadable(&e))?;
        if tar::begins(&head) {
            return Err(refused(format!("`{}` is an archive in an archive", tar.name(number))));
        }
        match Format::by(&head) {
            Some(Format::Dumpi) if traces::dumpi::describes(&head) => named.push((Format::Dumpi, None, file)),
            Some(format) if format.is_listed() => ranks.push((format, file)),
            Some(format) => {
                let (name, format) = (tar.name(number), format.name());
                let message = format!("`{name}` is of the format {format}, which has no file for each rank");
                return Err(refused(message).help("unpack it"));
            }
            // What else is in it: an explanation, say.
            None => {
                if let Some(listed) = traces::listed(&file)? {
                    let (format, listed) = Format::of_list(listed)?;
                    named.push((format, Some(listed), file));
                }
            }
        }
    }
    let files = ranks.len();
    if let [_, _, ..] = &named[..] {
        return Err(refused("the archive holds the lists or descriptions of two traces".to_owned()));
    }
    if let Some((format, listed, file)) = named.pop() {
        return Ok(Found { format, listed, inside: Some((file, files)) });
    }
    match ranks.into_iter().next() {
        Some((format, first)) => {
            let listed = Some(Listed { paths: traces::siblings(&first)? });
            Ok(Found { format, listed, inside: Some((first, files)) })
        }
        None => Err(refused("the archive holds no trace that has a file for each rank".to_owned())),
    }
}

/// The first word that is in no comment of either text format.
fn first_word(head: &[u8]) -> Option<&[u8]> {
    let mut rest = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    loop {
        let skipped = if rest.starts_with(b"/*") {
            rest.windows(2).position(|w| w == b"*/")? + 2
        } else if rest.starts_with(b"//") || rest.starts_with(b"#") {
            rest.iter().position(|&b| b == b'\n')?
        } else {
            let end =
                rest.iter().position(|b| !b.is_ascii_alphanumeric() && *b != b'_').unwrap_or(rest.len());
            return Some(&rest[..end]);
        };
        rest = rest[skipped..].trim_ascii_start();
    }
}

/// What a file holds.
#[derive(Clone)]
pub enum Content {
    /// Operations with dependencies.
    Program(Arc<dyn Program>),
    /// MPI calls of each rank, which become operations as a job's options say ([`Content::program`]).
    Script(Arc<dyn Script>),
    /// Work of each rank as a graph, whose collectives become operations in the same manner.
    Graph(Arc<dyn Graph>),
}

impl Content {
    /// Reads a file of any format. `scale` says what its numbers of computations stand for.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn read(input: &Input<'_>, scale: Scale) -> Built<(Format, Self)> {
        let Found { format, listed, inside } = Format::found(input).map_err(|problem| vec![problem])?;
        let archive = input;
        let input = inside.as_ref().map_or(input, |(file, _)| file);
        let content = match format {
            Format::Goal => Self::Program(Arc::new(goal::read_text(input, scale.unit)?)),
            Format::GoalBinary => Self::Program(Arc::new(goal::read_binary(input, scale.unit)?)),
            Format::Ranks => Self::Script(Arc::new(ranks::read(input)?)),
            Format::Otf2 => Self::Script(archive::read(input)?),
            Format::Ti => Self::Script(traces::ti::read(input, listed, scale)?),
            Format::Allprof => Self::Script(traces::allprof::read(input, listed)?),
            Format::Dumpi => Self::Script(traces::dumpi::read(input, listed)?),
            Format::ChakraJson => {
                Self::Graph(traces::chakra::read(input, listed, traces::chakra::Form::Json, scale)?)
            }
            Format::Chakra => {
                Self::Graph(traces::chakra::read(input, listed, traces::chakra::Form::Messages, scale)?)
            }
        };
        if let Some((_, files)) = inside.filter(|&(_, files)| files as u64 > u64::from(content.ranks())) {
            let ranks = content.ranks();
            let message =
                format!("the archive holds {files} files of ranks, but the trace has {ranks} ranks");
            return Err(vec![archive.problem(message).help("give each trace an archive of its own")]);
        }
        Ok((format, content))
    }

    /// The operations; those of MPI calls as `options` say.
    ///
    /// # Errors
    /// If the communicators that its ranks make do not fit together.
    pub fn program(self, input: &Input<'_>, options: lower::Options) -> Built<Arc<dyn Program>> {
        match self {
            Self::Program(program) => Ok(program),
            Self::Script(script) => lower(script, options).map_err(|Damage(m)| vec![input.problem(m)]),
            Self::Graph(graph) => Ok(lower_graph(graph, options)),
        }
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        match self {
            Self::Program(program) => program.ranks(),
            Self::Script(script) => script.ranks(),
            Self::Graph(graph) => graph.ranks(),
        }
    }

    /// What the file holds that becomes no operation, in words, as far as it was read.
    #[must_use]
    pub fn dropped(&self) -> Vec<String> {
        let dropped = match self {
            Self::Program(_) => Vec::new(),
            Self::Script(script) => script.dropped(),
            Self::Graph(graph) => graph.dropped(),
        };
        dropped.into_iter().map(|dropped| dropped.text).collect()
    }
}

/// The library whose algorithms collectives follow unless another one is chosen.
pub const LIBRARY: &str = "openmpi";

/// The workload of a file.
pub const ABOUT: About = About {
    name: "trace",
    summary: "Rank program from a file: GOAL text or binary, MPI calls as text, or a trace (OTF2, SimGrid, liballprof, DUMPI, Chakra)",
    doc: "Each rank sends, receives and computes as the file says. The format is recognised by its content; files packed by gzip or zstd are \
        read as they are, and so are archives (tar) of the files of all ranks. An OTF2 archive is named by its anchor file, `*.otf2`; what was between MPI calls is computation. GOAL does not say how long a unit of its computations is: `unit` does. \
        SimGrid's time-independent traces count floating-point operations: `speed` says how many a rank does in a second. Other traces have a file for each \
        rank: name one of them, or a list of all. The collectives of MPI calls become the \
        messages that an MPI library would send; `library` chooses which. The job has as many ranks as the \
        file; if `ranks` is given it must be that number. `netloom trace info FILE` shows what a file holds.",
    source: "Hoefler, Siebert, Lumsdaine 2009 (GOAL); binaries as LogGOPSim reads them",
    params: &[
        Param {
            name: KEY,
            kind: Kind::File,
            default: None,
            doc: "The file; relative to the experiment's folder",
        },
        Param {
            name: "unit",
            kind: Kind::Time,
            default: Some("1 ns"),
            doc: "Time of one unit of GOAL's computations",
        },
        Param {
            name: "speed",
            kind: Kind::Real { min: 1.0, max: 1e24 },
            default: Some("1e9"),
            doc: "Floating-point operations that a rank does in a second, for traces that count them",
        },
    ],
};

/// Builds the workload of a file.
///
/// # Errors
/// Mistakes in the file; a number of ranks that is not the file's.
pub fn build(context: &JobContext, values: &Values) -> Built<Work> {
    let unit = values.time("unit");
    if unit == 0 {
        return Err(vec![Problem::new("unit", "a unit of computations needs some time")]);
    }
    let input = Input::file(values.text(KEY));
    let scale = Scale { unit, speed: values.real("speed") };
    let program = Content::read(&input, scale)?.1.program(&input, context.lowering.clone())?;
    let ranks = program.ranks();
    if context.asked && context.ranks != ranks {
        let message = format!("the job asks for {} ranks, but the file has {ranks}", context.ranks);
        return Err(vec![Problem::new("ranks", message).help("leave `ranks` out")]);
    }
    Ok(Work::Program(program))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::context;
    use base::{index::RankId, param::Value, time::NS};
    use std::{fs, path::Path};

    fn format(bytes: &[u8]) -> Result<Format, String> {
        Format::found(&Input::bytes("x", bytes)).map(|f| f.format).map_err(|p| p.message)
    }

    #[test]
    fn formats_are_reported_by_their_content() {
        assert_eq!(format(b"/* a\n*/ // b\n\n num_ranks 3"), Ok(Format::Goal));
        assert_eq!(format(b"\xef\xbb\xbf# a\r\n\r\nranks 3"), Ok(Format::Ranks));
        assert_eq!(format(&4223u64.to_le_bytes()), Ok(Format::GoalBinary));
        assert_eq!(format(b"\n# a\n 0 init 1"), Ok(Format::Ti));
        for other in [&b""[..], b"# only", b"/* open", b"{}", b"num_rank 3", b"0 begin"] {
            assert!(format(other).is_err_and(|m| m.contains("no program of ranks")), "{other:?}");
        }
        assert!(format(b"BZh91AY").is_err_and(|m| m.contains("packed by bzip2")));
    }

    /// A file has its name in a message once; of a folder the file to name is told.
    #[test]
    fn messages_name_files_once_and_the_anchor_of_a_folder() {
        let input = Input::bytes("x.json", b"");
        let said = |message: &str| input.problem(message).message;
        for message in ["x.json: wrong", "x.json:3: wrong", "x.json, node 3: wrong"] {
            assert_eq!(said(message), message);
        }
        assert_eq!(
            (said("wrong"), said("x.jsonl: wrong")),
            ("x.json: wrong".into(), "x.json: x.jsonl: wrong".into())
        );
        let folder = std::env::temp_dir().join(format!("netloom-folder-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let help = || Format::found(&Input::file(&folder)).err().unwrap().help.unwrap_or_default();
        assert_eq!(help(), "this is a folder: name a file in it");
        fs::write(folder.join("traces.otf2"), "").unwrap();
        assert!(
            help().contains("name its anchor file, `") && help().ends_with("/traces.otf2`"),
            "{}",
            help()
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_job_reads_its_file() {
        let folder = std::env::temp_dir().join(format!("netloom-trace-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        write("a.goal", "num_ranks 2\nrank 0 {\ncalc 3\n}\nrank 1 {\n}\n");
        write("b.goal", "num_ranks 2\nrank 0 {\ncalk 3\n}\nrank 1 {\n}\n");
        write("c.ranks", "ranks 2\nall { barrier }\n");
        let values = |name: &str, unit: u64| {
            let path = folder.join(name).display().to_string();
            Values::default()
                .with("file", Value::Text(path))
                .with("unit", Value::Time(unit))
                .with("speed", Value::Real(1e9))
        };
        let free = JobContext { asked: false, ..context(9) };
        let work = build(&free, &values("a.goal", 2 * NS)).unwrap();
        assert_eq!(work.ranks(), Some(2));
        let mut batch = super::super::Batch::default();
        work.program().unwrap().open(RankId::new(0)).fill(&mut batch).unwrap();
        assert_eq!(batch.ops[0].amount, 6 * NS);
        let refused = |context: &JobContext, values: &Values| {
            let problem = build(context, values).err().unwrap()[0].clone();
            (problem.key, problem.message, problem.input.map(|i| i.line))
        };
        let asked = JobContext { asked: true, ..context(9) };
        let (key, message, _) = refused(&asked, &values("a.goal", NS));
        assert_eq!(
            (key.as_str(), message.as_str()),
            ("ranks", "the job asks for 9 ranks, but the file has 2")
        );
        assert_eq!(refused(&free, &values("a.goal", 0)).0, "unit");
        assert_eq!(refused(&free, &values("b.goal", NS)).2, Some(3));
        let lowered = build(&free, &values("c.ranks", NS)).unwrap();
        let mut batch = super::super::Batch::default();
        lowered.program().unwrap().open(RankId::new(1)).fill(&mut batch).unwrap();
        assert!(lowered.ranks() == Some(2) && batch.ops.iter().any(|op| op.peer == RankId::new(0)));
        let missing = refused(&free, &values("none", NS));
        assert!(missing.1.contains("cannot be read") && missing.2 == Some(0) && Path::new(&folder).exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
