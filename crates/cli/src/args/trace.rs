//! Arguments of `netloom trace`.

use super::shared::Format;
use clap::{Args, Subcommand};
use netloom::{
    conversion::Target,
    values::{RankRange, speed, time, unit_of_time},
};
use std::path::PathBuf;
use workload::program::{file::LIBRARY, traces::Scale};

/// Arguments of `trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// What to do with the file.
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// What to do with a file of rank programs.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Show what a file holds: ranks, operations, messages, computing; do sends and receives fit together?
    Info {
        /// File of rank programs, and the unit of its computations.
        #[command(flatten)]
        input: TraceInput,
        /// Of MPI calls, also count what they become: the messages of collectives, by the algorithms of this library: simple, openmpi, mpich
        #[arg(long, value_name = "LIBRARY", num_args = 0..=1, default_missing_value = LIBRARY)]
        expand: Option<String>,
        /// Form of the result
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Print operations of some ranks: the first ones, or a window
    Print {
        /// File of rank programs, and the unit of its computations.
        #[command(flatten)]
        input: TraceInput,
        /// Ranks, such as 0-3,7
        #[arg(long, value_name = "RANKS", default_value = "0", value_delimiter = ',', value_parser = clap::value_parser!(RankRange))]
        ranks: Vec<RankRange>,
        /// Operations of each rank
        #[arg(long, value_name = "N", default_value_t = 20)]
        count: u64,
        /// Number of the first of them
        #[arg(long, value_name = "N", default_value_t = 0)]
        from: u64,
        /// Form of the result
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Write a file in another format
    Convert(ConvertArgs),
}

/// Arguments of `trace convert`.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// File of rank programs, and the unit of its computations.
    #[command(flatten)]
    pub input: TraceInput,
    /// File to write; text whose name ends with .gz is packed. With recorded times: FOLDER/traces.otf2, or NAME.prv
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// Format to write: goal, goal-binary, ranks, simgrid-ti, otf2, paraver; left out: by the name (.goal, .bin, .ranks, .otf2, .prv)
    #[arg(long, value_name = "FORMAT", value_parser = target)]
    pub to: Option<Target>,
    /// Leave out what comes before the N-th collective of all ranks, and that one; messages across this end are left out at both ends
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub after: u64,
    /// End with the N-th collective of all ranks from there on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub collectives: Option<u64>,
    /// Begin behind the last collective of all ranks that all had called by this time of the trace
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with_all = ["after", "collectives"])]
    pub from: Option<u64>,
    /// End with the first collective of all ranks that none had called before this time of the trace
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with_all = ["after", "collectives"])]
    pub until: Option<u64>,
    /// Write so many ranks, a multiple of the file's: copies of them, of which only collectives of all ranks reach beyond their own copy
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub ranks: Option<u32>,
    /// Where the format has no collectives: whose algorithms they follow: simple, openmpi, mpich
    #[arg(long, value_name = "LIBRARY", default_value = LIBRARY)]
    pub library: String,
    /// Of SimGrid's traces: a file for each rank, which the one that is named lists
    #[arg(long)]
    pub per_rank: bool,
    /// Replace files that exist
    #[arg(long)]
    pub force: bool,
    /// Form of the result
    #[arg(long = "format", value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// A file of rank programs.
#[derive(Debug, Args)]
pub struct TraceInput {
    /// GOAL text or binary, MPI calls as text, a trace (OTF2, SimGrid, liballprof, DUMPI, Chakra); packed by gzip or zstd or not
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Time of one unit of GOAL's computations
    #[arg(long, value_name = "TIME", default_value = "1 ns", value_parser = unit_of_time)]
    pub unit: u64,
    /// Floating-point operations that a rank does in a second, for traces that count them
    #[arg(long, value_name = "NUMBER", default_value = "1e9", value_parser = speed)]
    pub speed: f64,
}

impl TraceInput {
    /// What the file's numbers of computations stand for.
    #[must_use]
    pub fn scale(&self) -> Scale {
        Scale { unit: self.unit, speed: self.speed }
    }
}

fn target(text: &str) -> Result<Target, String> {
    let found = Target::ALL.into_iter().find(|target| target.name() == text);
    found.ok_or_else(|| format!("there are {}", Target::ALL.map(Target::name).join(", ")))
}
