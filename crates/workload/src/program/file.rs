//! Files of rank programs: what they hold is recognised by their content, never by their name.

use super::{
    Damage, Program, archive, goal,
    input::{Input, KEY},
    lower::{self, lower},
    mpi::Script,
    ranks,
};
use crate::work::{JobContext, Work};
use base::param::Built;
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
    time::Ps,
};
use std::sync::Arc;

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
}

impl Format {
    /// Every format, in the order in which messages list their names.
    pub const ALL: [Self; 4] = [Self::Goal, Self::GoalBinary, Self::Ranks, Self::Otf2];

    /// Its name, also on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::GoalBinary => "goal-binary",
            Self::Ranks => "ranks",
            Self::Otf2 => "otf2",
        }
    }

    /// The format of a file.
    ///
    /// # Errors
    /// If it cannot be read, or looks like none.
    pub fn of(input: &Input<'_>) -> Result<Self, Problem> {
        let head = input.head(1 << 16).map_err(|e| input.unreadable(&e))?;
        if goal::is_binary(&head) {
            return Ok(Self::GoalBinary);
        }
        if otf2::Anchor::begins(&head) {
            return Ok(Self::Otf2);
        }
        for (mark, packer) in [(&b"\x28\xb5\x2f\xfd"[..], "zstd"), (b"\xfd7zXZ", "xz"), (b"BZh", "bzip2")] {
            if head.starts_with(mark) {
                let message = format!("packed by {packer}, which is not read here");
                return Err(input.problem(message).help("unpack it, or pack it by gzip"));
            }
        }
        match first_word(&head) {
            Some(b"num_ranks" | b"rank") => Ok(Self::Goal),
            Some(b"ranks" | b"all") => Ok(Self::Ranks),
            _ => {
                let help = "GOAL text begins with `num_ranks N`, a GOAL binary with the number 4223, a program of MPI calls with `ranks N`; of an \
                            OTF2 archive name the anchor file, `*.otf2`";
                Err(input.problem("this is no program of ranks in a known format").help(help))
            }
        }
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
}

impl Content {
    /// Reads a file of any format. `unit` is the time of one unit of GOAL's computations.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn read(input: &Input<'_>, unit: Ps) -> Built<(Format, Self)> {
        let format = Format::of(input).map_err(|problem| vec![problem])?;
        let content = match format {
            Format::Goal => Self::Program(Arc::new(goal::read_text(input, unit)?)),
            Format::GoalBinary => Self::Program(Arc::new(goal::read_binary(input, unit)?)),
            Format::Ranks => Self::Script(Arc::new(ranks::read(input)?)),
            Format::Otf2 => Self::Script(archive::read(input)?),
        };
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
        }
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        match self {
            Self::Program(program) => program.ranks(),
            Self::Script(script) => script.ranks(),
        }
    }
}

/// The library whose algorithms collectives follow unless another one is chosen.
pub const LIBRARY: &str = "openmpi";

/// The workload of a file.
pub const ABOUT: About = About {
    name: "trace",
    summary: "Rank program from a file: GOAL text or binary, MPI calls as text, or an OTF2 archive",
    doc: "Each rank sends, receives and computes as the file says. The format is recognised by its content; files packed by gzip are \
        read as they are. An OTF2 archive is named by its anchor file, `*.otf2`; what was between MPI calls is computation. GOAL does not say how long a unit of its computations is: `unit` does. The collectives of MPI calls become the \
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
    let program = Content::read(&input, unit)?.1.program(&input, context.lowering.clone())?;
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
        Format::of(&Input::bytes("x", bytes)).map_err(|p| p.message)
    }

    #[test]
    fn formats_are_reported_by_their_content() {
        assert_eq!(format(b"/* a\n*/ // b\n\n num_ranks 3"), Ok(Format::Goal));
        assert_eq!(format(b"\xef\xbb\xbf# a\r\n\r\nranks 3"), Ok(Format::Ranks));
        assert_eq!(format(&4223u64.to_le_bytes()), Ok(Format::GoalBinary));
        for other in [&b""[..], b"# only", b"/* open", b"{}", b"num_rank 3", b"0 init"] {
            assert!(format(other).is_err_and(|m| m.contains("no program of ranks")), "{other:?}");
        }
        assert!(format(b"BZh91AY").is_err_and(|m| m.contains("packed by bzip2")));
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
            Values::default().with("file", Value::Text(path)).with("unit", Value::Time(unit))
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
