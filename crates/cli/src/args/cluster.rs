//! Arguments of the commands about clusters: their files, engines, patterns.

use super::shared::{Form, Format};
use clap::{Args, ValueEnum};
use fabric::subnet::Keep;
use netloom::cluster::Failing;
use std::path::PathBuf;

/// A network: a cluster's files or an experiment.
#[derive(Clone, Debug, Default, Args)]
pub struct NetworkArgs {
    /// Files of a cluster in any order (DOT, .net, ibnetdiscover, opensm-subnet.lst; tables; lanes), packed by gzip or not, `-` for
    /// standard input; or one experiment file (.toml)
    #[arg(value_name = "FABRIC", required = true)]
    pub files: Vec<String>,
    /// A file more: tables or lanes; repeatable
    #[arg(long = "tables", value_name = "FILE")]
    pub tables: Vec<String>,
    /// Override a value of the experiment: `--set fabric.k=8`, or take its key out: `--set fabric.k=`; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Which end ports take part: hosts, storage (by their names), aggregation (SHARP), routers; several between commas, or all [default: hosts]
    #[arg(long, value_name = "KINDS", value_parser = Keep::parse)]
    pub nodes: Option<Keep>,
}

/// How an engine routes.
#[derive(Clone, Debug, Args)]
pub struct EngineArgs {
    /// Most lanes that the engine may use, 1 to 16
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub lanes: u8,
    /// Logarithm of the local identifiers of each host (LMC), 0 to 7
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=7))]
    pub lmc: u8,
    /// A switch at the top, for updn: its name, or GUID as 0x..; repeatable
    #[arg(long = "root", value_name = "SWITCH")]
    pub roots: Vec<String>,
    /// Seed of random choices and failures
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// What fails before a network is routed.
#[derive(Clone, Debug, Args)]
pub struct FailArgs {
    /// Cables between switches that fail first: a share such as 1%, or a number; drawn by the seed
    #[arg(long, value_name = "N|P%", default_value = "0", value_parser = Failing::parse)]
    pub fail_links: Failing,
    /// A switch that fails first, by its name or GUID (0x..), or the cable at a port of it: NAME:PORT; repeatable
    #[arg(long, value_name = "SWITCH[:PORT]")]
    pub fail: Vec<String>,
}

/// What is written in place of what is said.
#[derive(Debug, Args)]
pub struct WriteArgs {
    /// Write the network in this form; left out: say what it holds, how good its tables are, or how they compare
    #[arg(long, value_enum)]
    pub to: Option<Form>,
    /// Write this file; left out: standard output
    #[arg(long, value_name = "FILE", requires = "to")]
    pub out: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "out")]
    pub force: bool,
}

/// Arguments of `fabric import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Files of the cluster, or an experiment with a fabric.
    #[command(flatten)]
    pub network: NetworkArgs,
    /// Form and file of what is written, if anything is.
    #[command(flatten)]
    pub write: WriteArgs,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Arguments of `fabric verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Files of the cluster, or an experiment with a fabric.
    #[command(flatten)]
    pub network: NetworkArgs,
    /// Compute tables by this engine in place of those of the files
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<String>,
    /// How it routes.
    #[command(flatten)]
    pub routing: EngineArgs,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Arguments of `fabric route`.
#[derive(Debug, Args)]
pub struct RouteArgs {
    /// Files of the cluster, or an experiment with a fabric.
    #[command(flatten)]
    pub network: NetworkArgs,
    /// The engine: see `netloom list engines`. Left out: the routing of an experiment, for `--to table` and `--to source-routes`
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<String>,
    /// How it routes.
    #[command(flatten)]
    pub routing: EngineArgs,
    /// What fails first.
    #[command(flatten)]
    pub failures: FailArgs,
    /// Form and file of what is written, if anything is.
    #[command(flatten)]
    pub write: WriteArgs,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Arguments of `fabric opensm`.
#[cfg(feature = "opensm")]
#[derive(Debug, Args)]
pub struct OpensmArgs {
    /// Files of the cluster, or an experiment with a fabric.
    #[command(flatten)]
    pub network: NetworkArgs,
    /// OpenSM's routing engine: minhop, updn, dnup, ftree, lash, dor, sssp, dfsssp, nue, torus-2QoS
    #[arg(long, value_name = "ENGINE", default_value = "minhop")]
    pub engine: String,
    /// Logarithm of the local identifiers of each host (LMC), 0 to 7
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=7))]
    pub lmc: u8,
    /// A switch at the top, for updn: its name, or GUID as 0x..; repeatable
    #[arg(long = "root", value_name = "SWITCH")]
    pub roots: Vec<String>,
    /// Configuration for OpenSM: opensm.conf, or for torus-2QoS the file that says where its torus lies. GUIDs of switches are this network's
    #[arg(long, value_name = "FILE")]
    pub opensm_conf: Option<PathBuf>,
    /// Seconds after which OpenSM is stopped
    #[arg(long, value_name = "S", default_value_t = 120)]
    pub timeout: u64,
    /// Form and file of what is written, if anything is.
    #[command(flatten)]
    pub write: WriteArgs,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// What is counted; the summary as JSON holds all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Metric {
    /// Sum over levels of the highest congestion, by mapping
    SumMaxCong,
    /// Messages by congestion, and the fraction of the peak bandwidth
    HistMaxCong,
    /// Mappings by their fraction of the peak bandwidth, and its mean
    HistAccBand,
    /// Longest chain of dependent messages, by mapping
    DepMaxDelay,
    /// Sum of congestion of each link
    #[value(alias = "get_cong_map")]
    GetCableCong,
    /// Pairs of hosts that cross each link when all send to all
    #[value(alias = "routequal")]
    EdgeForwardingIndex,
}

/// Which hosts take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum SubsetArg {
    /// At random, once
    Rand,
    /// As a breadth-first search from the file's first node finds them
    LinearBfs,
    /// Least GUIDs first
    GuidOrderAsc,
    /// Greatest GUIDs first
    GuidOrderDesc,
}

/// Which identifier of a host a message uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MultipathArg {
    /// The host's first identifier
    First,
    /// One at random for each message
    Random,
}

/// Colours of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MapColours {
    /// Grey to dark violet, for all eyes and for prints
    Safe,
    /// Green to red, as ORCS draws it
    GreenToRed,
}

/// Arguments of `congestion`.
#[derive(Debug, Args)]
pub struct CongestionArgs {
    /// Files of the cluster, or an experiment with a fabric.
    #[command(flatten)]
    pub network: NetworkArgs,
    /// Who sends to whom: bisect, bisect_fb_sym, rand, tree, bruck, gather, scatter, ring, recdbl, neighbor:N, FIRST::SECOND .., or pairs:FILE with a pair of ranks or hosts on each line
    #[arg(long, short, default_value = "bisect")]
    pub pattern: String,
    /// Ranks of the first of two merged patterns
    #[arg(long, visible_alias = "part-commsize", value_name = "N", default_value_t = workload::levels::PART)]
    pub part_ranks: u32,
    /// What is printed
    #[arg(long, short, value_enum, default_value_t = Metric::HistMaxCong)]
    pub metric: Metric,
    /// Ranks; 0: all hosts, an even number
    #[arg(long, visible_alias = "commsize", value_name = "N", default_value_t = 0)]
    pub ranks: u32,
    /// Random mappings of ranks to hosts
    #[arg(long, visible_alias = "num-runs", value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    pub runs: u32,
    /// Ranks to hosts: shuffle (anew for each mapping), identity, or a file with a host for each rank; a shorter file fixes the
    /// first ranks and shuffles the others
    #[arg(long, value_name = "HOW", default_value = "shuffle")]
    pub mapping: String,
    /// Which hosts take part if there are more than ranks
    #[arg(long, value_enum, default_value_t = SubsetArg::Rand)]
    pub subset: SubsetArg,
    /// Which of these hosts the first of two merged patterns has, shuffled by themselves
    #[arg(long, visible_alias = "part_subset", value_enum)]
    pub part_subset: Option<SubsetArg>,
    /// Only these hosts take part: a file as for --mapping
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,
    /// Only this level of the pattern, from 0
    #[arg(long, value_name = "L")]
    pub level: Option<u32>,
    /// Print the pairs of every level, by rank and by host of the first mapping
    #[arg(long)]
    pub print_pattern: bool,
    /// Print the hosts in the order of ranks of the first mapping
    #[arg(long)]
    pub print_hosts: bool,
    /// Compute tables by this engine in place of those of the files
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<String>,
    /// How it routes.
    #[command(flatten)]
    pub routing: EngineArgs,
    /// What fails first; with --engine alone.
    #[command(flatten)]
    pub failures: FailArgs,
    /// Which identifier of a host a message uses, if hosts have several
    #[arg(long, value_enum, default_value_t = MultipathArg::First)]
    pub multipath: MultipathArg,
    /// Sum links as ORCS 2.0 does: the partial counts after every message (its quirk; not the paper's definition)
    #[arg(long)]
    pub partial_counts: bool,
    /// Draw the links by their congestion into this file (.svg, .pdf or .dot)
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// Colours of the map, from unused to most used
    #[arg(long, value_enum, default_value_t = MapColours::Safe, requires = "map")]
    pub map_colours: MapColours,
    /// Replace the file if it exists
    #[arg(long, requires = "map")]
    pub force: bool,
    /// Worker threads; 0: as many as the machine has
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: u32,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}
