//! Arguments of `netloom record`.

use super::Format;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Arguments of `record`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct RecordArgs {
    /// What to do in place of recording.
    #[command(subcommand)]
    pub command: Option<RecordCommand>,
    /// File to write, such as app.ranks; packed if its name ends with .gz
    #[arg(long, value_name = "FILE", required = true)]
    pub out: Option<PathBuf>,
    /// The library that `record build` made; left out, one is built for this recording
    #[arg(long, value_name = "FILE")]
    pub library: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// The command that starts the program: `-- mpirun -n 16 ./app`
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub program: Vec<String>,
}

/// What else `record` does.
#[derive(Debug, Subcommand)]
pub enum RecordCommand {
    /// Build the library that records, with the machine's own MPI compiler (the environment's MPICC, or mpicc)
    Build {
        /// Directory of its sources and the library; made if it is missing
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Form of the result
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
}
