//! Arguments of several commands.

use base::units::UnitError;
use clap::{Args, ValueEnum};
use netloom::MemoryLimit;
use std::path::PathBuf;

/// An experiment file and what overrides it.
#[derive(Debug, Args)]
pub struct Input {
    /// Experiment file (TOML); `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Override a value: `--set job.0.load=0.5`, or take its key out: `--set job.0.load=`; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = path_and_value)]
    pub set: Vec<String>,
}

impl Input {
    /// As the library takes it.
    #[must_use]
    pub fn input(&self) -> netloom::Input {
        netloom::Input { file: self.file.clone(), set: self.set.clone() }
    }
}

/// How much a command says beside its result, and in which colours.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Manner {
    /// Neither progress nor notes; warnings and errors stay
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// What each phase is, and when it began
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// Colour: where a terminal shows it, always or never
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
}

/// When text has colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On terminals; not with NO_COLOR, nor with TERM=dumb
    #[default]
    Auto,
    /// Also in files and pipes
    Always,
    /// Never, on terminals neither
    Never,
}

/// Form of an exported fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Input of Graphviz
    Dot,
    /// All of the graph, port numbers included; topology `graph` reads it back
    Json,
    /// One cable per line; topology `graph` reads it and numbers ports anew
    EdgeList,
    /// DOT with routes in edge comments, ORCS's input (without tables: without routes)
    Orcs,
    /// Network file of ibsim
    Net,
    /// The form of ibnetdiscover's output
    Ibnetdiscover,
    /// Forwarding tables, the form of opensm-lfts.dump
    Lfts,
    /// Lanes of service levels at switches, the form of opensm-sl2vl.dump
    Sl2vl,
    /// Service levels of paths: `slid dlid sl`
    PathSl,
    /// Next hops of an experiment's routing, with their virtual channels; routing `table` reads it (`fabric route`)
    Table,
    /// Paths of an experiment's routing, with their virtual channels; routing `source-routes` reads it (`fabric route`)
    SourceRoutes,
}

/// Form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned, for people
    Text,
    /// One JSON object
    Json,
}

pub(super) fn path_and_value(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((path, _)) if !path.trim().is_empty() => Ok(text.to_owned()),
        _ => Err("write PATH=VALUE, such as job.0.load=0.5".to_owned()),
    }
}

pub(super) fn memory_limit(text: &str) -> Result<MemoryLimit, String> {
    text.parse().map_err(reported)
}

pub(super) fn reported(e: UnitError) -> String {
    match e.help {
        Some(help) => format!("{}; {help}", e.message),
        None => e.message,
    }
}
