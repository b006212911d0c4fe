//! The command line as typed. Nothing here touches the machine.

pub mod cluster;
mod record;
pub mod resilient;
pub mod series;
pub mod shared;
mod trace;

use crate::{exit::Exit, program::VERSION};
use base::units;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
#[cfg(feature = "opensm")]
use cluster::OpensmArgs;
use cluster::{CongestionArgs, ImportArgs, RouteArgs, VerifyArgs};
use netloom::{MemoryLimit, estimate};
pub use record::{RecordArgs, RecordCommand};
use resilient::ResilientArgs;
use series::{InitArgs, PlotArgs, ReportArgs, SweepArgs};
pub use shared::{Form, Format, Input};
use shared::{Manner, memory_limit, path_and_value, reported};
use std::path::PathBuf;
pub use trace::{ConvertArgs, TraceArgs, TraceCommand, TraceInput};

/// Simulator of high-performance-computing interconnects.
#[derive(Debug, Parser)]
#[command(
    name = "netloom",
    version = VERSION,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = after_help()
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// How much is said.
    #[command(flatten)]
    pub manner: Manner,
}

fn after_help() -> String {
    let codes = Exit::ALL.iter().map(|&exit| format!("\n  {:2}  {}", exit as u8, exit.meaning()));
    let streams = "The result goes to standard output, everything else to standard error.";
    format!("{streams}\n\nExit codes:{}", codes.collect::<String>())
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write commented files to start from; without a kind, list the kinds
    Init(InitArgs),
    /// Simulate an experiment
    Run(RunArgs),
    /// Go on with a run that left a checkpoint
    Resume(ResumeArgs),
    /// Parse, resolve, check for deadlock and predict memory; no simulation
    Check(CheckArgs),
    /// Measure the network of an experiment, or write it for other programs
    Fabric {
        /// What to do with it.
        #[command(subcommand)]
        command: FabricCommand,
    },
    /// List what an experiment can name
    List(ListArgs),
    /// Explain a name: what it does, its keys, where it comes from
    Explain(ExplainArgs),
    /// Print the JSON schema of the experiment file
    Schema,
    /// Print the reference of the experiment file as Markdown, or write its pages, with examples that are run and their figures
    Reference {
        /// Write a page for each entry into this folder of a book, and list them in its SUMMARY.md; what its `reference` held is replaced
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Print the manual page, or write those of all commands
    Man {
        /// Write a page for each command into this directory, which is made if it is missing
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Print the completions of a shell
    Completions {
        /// Which shell reads them
        shell: Shell,
    },
    /// Remove what killed runs left in a directory: half results, half checkpoints. A run tidies its own name by itself
    Clean {
        /// Directory that holds output directories
        #[arg(value_name = "DIR", default_value = ".")]
        dir: PathBuf,
        /// Form of the result
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Regenerate a study's table beside the published numbers; without a name, list the studies
    Study(StudyArgs),
    /// Run the points of an experiment's `[sweep]`, several at a time; those that ended are kept
    Sweep(SweepArgs),
    /// Draw the figures (`[[plot]]`) of a finished sweep as SVG and PDF
    Plot(PlotArgs),
    /// Make the page (report.html) of finished runs, several overlaid
    Report(ReportArgs),
    /// Run random small experiments under every scheduler, whole and in pieces, and compare
    Swarm(SwarmArgs),
    /// Sample messages by resilient protocols (HAEC-SIM) over links that lose packets
    Resilient(Box<ResilientArgs>),
    /// Put two finished runs side by side (ends with 10 if they differ by more than the tolerances), or one experiment on every model, or with each of its jobs alone
    Compare(CompareArgs),
    /// Compare the flow model with another simulator's scenarios
    Flow {
        /// What to do.
        #[command(subcommand)]
        command: FlowCommand,
    },
    /// Compile and run Portals 4 programs, unmodified, on a simulated machine
    #[cfg(all(feature = "portals", target_os = "linux", target_arch = "x86_64"))]
    Portals {
        /// What to do.
        #[command(subcommand)]
        command: PortalsCommand,
    },
    /// Look into a file of rank programs (GOAL, MPI calls, OTF2) or convert it
    Trace(TraceArgs),
    /// Record what a real MPI program calls, unmodified, as a program of ranks
    Record(RecordArgs),
    /// Count messages per link for a pattern: static congestion of a cluster's tables or of an experiment's routing
    Congestion(CongestionArgs),
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Experiment file, and the values that the command line sets in it.
    #[command(flatten)]
    pub input: Input,
    /// Write manifest, summary and tables into this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace the output directory if it exists
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Threads; with more than one, the conservative scheduler is used unless the experiment names another
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: u32,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Run the checkers: exactly-once delivery, credits, buffers, order
    #[arg(long)]
    pub check: bool,
    /// Memory that the run may need, such as "8 GiB", or "none"; left out: what the machine has
    #[arg(long, value_name = "SIZE", value_parser = memory_limit)]
    pub memory_limit: Option<MemoryLimit>,
    /// Model "flow": estimate its errors by playing so much of the run's bytes on model "packet" [without a value: 10 %; small runs are played whole]
    #[arg(long, value_name = "SHARE", num_args = 0..=1, require_equals = true, default_missing_value = "10 %", value_parser = estimate::share)]
    pub estimate_error: Option<f64>,
}

/// What to do with Portals programs.
#[derive(Debug, Subcommand)]
pub enum PortalsCommand {
    /// Compile a program as `portals run` needs it: the C compiler's arguments, with the headers at hand
    Cc(PortalsCcArgs),
    /// Run a program on the machine that an experiment with a section [portals] describes
    Run(PortalsRunArgs),
    /// Replay a recorded run without its program, on any machine with as many terminals
    Replay(PortalsReplayArgs),
    /// Make a directory to build libraries and programs against: headers, libraries, compilers, pkg-config
    Sdk(PortalsSdkArgs),
}

/// Arguments of `portals sdk`.
#[derive(Debug, Args)]
pub struct PortalsSdkArgs {
    /// Directory of the kit, which stays where it is made
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Replace files of a directory that is not empty
    #[arg(long)]
    pub force: bool,
}

/// A dialect of the interface's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Dialect {
    /// Sandia's reference implementation.
    Sandia,
    /// Bull's BXI interconnect, with its own names.
    Bull,
}

/// Arguments of `portals cc`.
#[derive(Debug, Args)]
pub struct PortalsCcArgs {
    /// Whose portals4.h the program is written for: `sandia` (4.3, with the names of 4.2) or `bull` (BXI)
    #[arg(long, value_enum, default_value_t = Dialect::Sandia)]
    pub dialect: Dialect,
    /// Arguments of the compiler (the environment's CC, or cc): `prog.c -o prog`. It hears of -v
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub arguments: Vec<String>,
}

/// Arguments of `portals run`.
#[derive(Debug, Args)]
pub struct PortalsRunArgs {
    /// Number of ranks
    #[arg(short = 'n', long = "ranks", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub ranks: u32,
    /// Experiment file with [fabric], [model] and [portals]
    #[arg(long, value_name = "FILE")]
    pub fabric: PathBuf,
    /// Override a value of it: `--set portals.loss=0.01`, or take its key out: `--set portals.loss=`; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = path_and_value)]
    pub set: Vec<String>,
    /// Begin each line of output with its rank
    #[arg(long)]
    pub label: bool,
    /// Stack of a rank
    #[arg(long, value_name = "SIZE", default_value = "8 MiB", value_parser = stack_size)]
    pub stack: usize,
    /// Processor time after which a rank that computes without any call is ended
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub host_limit: u64,
    /// Print simulated time and messages on standard error when all is over
    #[arg(long)]
    pub summary: bool,
    /// Form in which the end of the run is reported; with json the output of ranks goes to standard error
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Run the checkers: every message served once, as it was posted, and everything under way where it should be
    #[arg(long)]
    pub check: bool,
    /// Write down what the ranks ask of their interfaces, for `portals replay`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Replace the record if it exists
    #[arg(long, requires = "record")]
    pub force: bool,
    /// Library that the program links and of which each rank gets a copy of its own; may be repeated
    #[arg(long = "private", value_name = "LIBRARY")]
    pub private: Vec<PathBuf>,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub program: Vec<String>,
}

/// Arguments of `portals replay`.
#[derive(Debug, Args)]
pub struct PortalsReplayArgs {
    /// What `portals run --record` wrote
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
    /// Experiment file with [fabric], [model] and [portals]
    #[arg(long, value_name = "FILE")]
    pub fabric: PathBuf,
    /// Override a value of it: `--set model.kind='"packet"'`; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = path_and_value)]
    pub set: Vec<String>,
    /// Run the checkers, as `portals run --check` does
    #[arg(long)]
    pub check: bool,
    /// Also print when each rank ended, here and when it was recorded
    #[arg(long)]
    pub ranks: bool,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Experiment file, and the values that the command line sets in it.
    #[command(flatten)]
    pub input: Input,
    /// Simulate the beginning, and say what 2, 4, 8 and 16 threads could gain at most
    #[arg(long)]
    pub scaling: bool,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// What to do with a fabric. Of the file only the sections fabric and faults and the seed are read.
#[derive(Debug, Subcommand)]
pub enum FabricCommand {
    /// Print distances, bisection, diversity of paths and cost; failed links count as failed
    Metrics(MetricsArgs),
    /// Write routers, terminals and cables for other programs; failed links are left out
    Export(ExportArgs),
    /// Read a cluster's files (DOT, .net, ibnetdiscover, tables, lanes), say what they hold or write them in another form
    Import(ImportArgs),
    /// Check forwarding tables: reach, loops, length, balance, credit loops
    Verify(VerifyArgs),
    /// Compute forwarding tables by a routing engine, also around failed links
    Route(RouteArgs),
    /// Route a network by the real OpenSM, run beside ibsim on this machine, and read its tables back
    #[cfg(feature = "opensm")]
    Opensm(OpensmArgs),
}

/// Arguments of `fabric metrics`.
#[derive(Debug, Args)]
pub struct MetricsArgs {
    /// Experiment file, and the values that the command line sets in it.
    #[command(flatten)]
    pub input: Input,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Arguments of `fabric export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Experiment file, and the values that the command line sets in it.
    #[command(flatten)]
    pub input: Input,
    /// Form of the file
    #[arg(long, value_enum)]
    pub to: Form,
    /// Only this plane of a network with several rails, numbered from 0; left out: all (Graphviz only)
    #[arg(long, value_name = "PLANE")]
    pub plane: Option<u32>,
    /// Compute tables by this engine, for the forms that hold tables
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<String>,
    /// Write this file; left out: standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "out")]
    pub force: bool,
}

/// Arguments of `resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// Output directory of the run, or its checkpoint, DIR.checkpoint
    pub dir: PathBuf,
    /// Threads; left out: as many as before. No more than the run's partitions are used
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Memory that the run may need: SIZE or `none`; left out: what the machine has
    #[arg(long, value_name = "SIZE", value_parser = memory_limit)]
    pub memory_limit: Option<MemoryLimit>,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only these: topologies, routings, workloads, arrivals, placements, models, routers, predictors, directors, engines, collectives, libraries, distributions or sections
    pub kind: Option<String>,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A name that `netloom list` shows, a key (`load`, `job.load`) or a flag of results
    pub name: Option<String>,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Arguments of `study`.
#[derive(Debug, Args)]
pub struct StudyArgs {
    /// Name of the study; without it they are listed
    pub name: Option<String>,
    /// Shortest form, for tests
    #[arg(long, conflicts_with = "quick")]
    pub smoke: bool,
    /// Short form, minutes
    #[arg(long)]
    pub quick: bool,
    /// Replay whole applications, not only some of their iterations (haec-sim; hours)
    #[arg(long, conflicts_with_all = ["smoke", "quick"])]
    pub full: bool,
    /// Compute the study's results a second time by an independent implementation and count deviations (haec-sim); with --out a run that
    /// is started again goes on where it was
    #[arg(long)]
    pub verify: bool,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Only rows whose name contains this; figures, and what is computed beside rows, are left out
    #[arg(long, value_name = "TEXT")]
    pub row: Option<String>,
    /// Override a value in the experiments of the chosen rows, after all that the study sets: `--set 'experiment.duration=1 ms'`; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = path_and_value, requires = "row")]
    pub set: Vec<String>,
    /// Write the study's figures (SVG) into this directory; runs of hybrid studies are kept there and not run again
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// So many runs at a time (hybrid studies); left out: one, whose times nothing disturbs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), requires = "name", conflicts_with = "verify")]
    pub threads: Option<u32>,
    /// Directory that holds the studies; left out: those of this program
    #[arg(long, value_name = "DIR")]
    pub studies: Option<PathBuf>,
}

/// Arguments of `swarm`.
#[derive(Debug, Args)]
pub struct SwarmArgs {
    /// Seed of the swarm
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Number of experiments
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub count: u64,
    /// Only the experiment with this number, counted from 0
    #[arg(long, value_name = "N", conflicts_with = "count")]
    pub only: Option<u64>,
    /// Draw only experiments of this model: packet, hybrid or delay
    #[arg(long, value_name = "KIND", value_parser = ["packet", "hybrid", "delay"])]
    pub model: Option<String>,
    /// Print the experiments
    #[arg(long)]
    pub print: bool,
    /// Plant a fault into the parallel runs, to see it found
    #[arg(long, value_enum)]
    pub plant: Option<Plant>,
    /// Form of the result; with json the experiments of --print are in the object
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// A fault that a swarm must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Plant {
    /// Threads run a microsecond further than their lookahead allows
    WrongLookahead,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
#[command(
    override_usage = "netloom compare [OPTIONS] <A> <B>\n       netloom compare [OPTIONS] --models <FILE>\n       netloom compare [OPTIONS] --alone <FILE>"
)]
pub struct CompareArgs {
    /// Output directory of a run, or its summary.json: what differences are relative to
    #[arg(value_name = "A", required_unless_present = "experiment", conflicts_with = "experiment")]
    pub a: Option<PathBuf>,
    /// Directory or summary.json of the other run
    #[arg(value_name = "B", required_unless_present = "experiment", conflicts_with = "experiment")]
    pub b: Option<PathBuf>,
    /// Relative difference that is allowed
    #[arg(long, value_name = "X", default_value = "0", value_parser = tolerance, conflicts_with = "experiment")]
    pub tolerance: f64,
    /// The same for one quantity, or all whose names begin so: `--tolerance-of jobs=0.05`; repeatable
    #[arg(long = "tolerance-of", value_name = "NAME=X", value_parser = named_tolerance, conflicts_with = "experiment")]
    pub named: Vec<(String, f64)>,
    /// Instead of two runs: run this experiment (TOML; `-` for standard input) on every model that can carry it; ends with 3 if fewer than two do
    #[arg(long, value_name = "FILE", group = "experiment")]
    pub models: Option<PathBuf>,
    /// Instead of two runs: run this experiment with all its jobs, and with each of them alone in its place, and report how much they slow each other down
    #[arg(long, value_name = "FILE", group = "experiment")]
    pub alone: Option<PathBuf>,
    /// With --models or --alone: override a value of the experiment, as `run` does; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = path_and_value, requires = "experiment", conflicts_with = "a")]
    pub set: Vec<String>,
    /// With --models or --alone: write the table (CSV, Parquet) into this directory, and the figure (SVG, PDF) or the JSON object; those of an earlier comparison are replaced
    #[arg(long, value_name = "DIR", requires = "experiment", conflicts_with = "a")]
    pub out: Option<PathBuf>,
    /// With --models: threads of each run; the models run one after another. With --alone: runs at a time, each in one thread
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024), requires = "experiment", conflicts_with = "a")]
    pub threads: u32,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// What to do with the flow model.
#[derive(Debug, Subcommand)]
pub enum FlowCommand {
    /// Make experiments of a file of scenarios, run them and compare when their flows end; ends with 10 if one is beyond its tolerance
    Scenarios(ScenarioArgs),
}

/// Arguments of `flow scenarios`.
#[derive(Debug, Args)]
pub struct ScenarioArgs {
    /// Scenarios with links, flows and completion times (JSON)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Keep the experiment files in this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Only this scenario
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// Only these rules, such as LV08
    #[arg(long, value_name = "NAME")]
    pub rules: Option<String>,
    /// Write the experiment files and run nothing
    #[arg(long, requires = "out")]
    pub no_run: bool,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

fn stack_size(text: &str) -> Result<usize, String> {
    let bytes = units::parse_bytes(text).map_err(reported)?;
    let sizes = 16 << 10..=1 << 30;
    if sizes.contains(&bytes) { Ok(bytes as usize) } else { Err("a stack has 16 KiB to 1 GiB".to_owned()) }
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x >= 0.0 => Ok(x),
        _ => Err("write a relative difference such as 0.05".to_owned()),
    }
}

fn named_tolerance(text: &str) -> Result<(String, f64), String> {
    match text.split_once('=') {
        Some((name, x)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), tolerance(x.trim())?)),
        _ => Err("write NAME=X, such as jobs=0.05".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_declaration_is_consistent() {
        Arguments::command().debug_assert();
    }
}
