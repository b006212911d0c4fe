//! Arguments of commands around a run: starting files, series of runs, their figures.

use super::shared::{Format, Input, memory_limit};
use clap::Args;
use netloom::MemoryLimit;
use std::path::PathBuf;

/// Arguments of `sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// The experiment with its sweep.
    #[command(flatten)]
    pub input: Input,
    /// Directory of the points and their table; the same command goes on there
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Points that run at a time, each in one thread; left out: as many as there are processors
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Run only the I-th of N parts, so that several processes share the work: `1/4`
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<(u32, u32)>,
    /// Run kept points again: those of a state (`failed`, `saturated`) or one by its id; repeatable
    #[arg(long, value_name = "STATE|ID")]
    pub again: Vec<String>,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Run the checkers, as `run --check` does
    #[arg(long)]
    pub check: bool,
    /// Memory that all points together may need: SIZE or `none`; left out: what the machine has
    #[arg(long, value_name = "SIZE", value_parser = memory_limit)]
    pub memory_limit: Option<MemoryLimit>,
}

/// Arguments of `plot`.
#[derive(Debug, Args)]
pub struct PlotArgs {
    /// Output directory of `netloom sweep`
    pub dir: PathBuf,
    /// Directory of the figures; those that netloom made are replaced
    #[arg(long, value_name = "FIGURES")]
    pub out: PathBuf,
    /// Take `[[plot]]` from this file instead of the one that was swept; its `[sweep]` must have the same axes
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Arguments of `init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// What for: routings, cluster, trace, application, training, portals or topology
    pub kind: Option<String>,
    /// Directory of the files; left out: called as the kind
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

fn shard(text: &str) -> Result<(u32, u32), String> {
    let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    numbers
        .filter(|(i, n)| (1..=*n).contains(i))
        .ok_or_else(|| "write I/N, such as 1/4 for the first of four".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_count_from_one() {
        assert_eq!(shard("2/4"), Ok((2, 4)));
        for wrong in ["0/4", "5/4", "2", "a/b", "1/0"] {
            assert!(shard(wrong).is_err(), "{wrong}");
        }
    }
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Output directories of runs; several are overlaid
    #[arg(value_name = "DIR", required = true)]
    pub dirs: Vec<PathBuf>,
    /// Write the page to this file; left out: report.html in the first directory
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write the network of the first run to this file: SVG, moving where loads over time were recorded
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    pub force: bool,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}
