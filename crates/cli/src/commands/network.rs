//! Networks that commands about clusters name.

use crate::args::cluster::{EngineArgs, FailArgs, NetworkArgs};
use base::index::RouterId;
use fabric::{engines::Options, subnet::Subnet};
use netloom::{
    Error, ErrorKind, Registry,
    cluster::{self, Network, switch},
};

/// Reads the network.
///
/// # Errors
/// All mistakes of its files.
pub fn load(args: &NetworkArgs) -> Result<Network, Error> {
    let files: Vec<String> = args.files.iter().chain(&args.tables).cloned().collect();
    Network::load(&Registry::standard(), &files, &args.set, args.nodes)
}

/// Options of an engine for this network.
///
/// # Errors
/// If a root is no switch of it.
pub fn options(args: &EngineArgs, subnet: &Subnet) -> Result<Options, Error> {
    let roots =
        args.roots.iter().map(|name| switch(subnet, name).map(RouterId::new)).collect::<Result<_, _>>()?;
    Ok(Options { lmc: args.lmc, lanes: args.lanes, roots, seed: args.seed })
}

/// Refuses what only an engine heeds where tables are those of files or an experiment's routing says the paths.
///
/// # Errors
/// If local identifiers or roots are asked for.
pub fn without_engine(args: &EngineArgs) -> Result<(), Error> {
    if args.lmc == 0 && args.roots.is_empty() {
        return Ok(());
    }
    let message =
        "--lmc and --root are for engines: tables of files and an experiment's routing stay as they are";
    Err(Error::new(ErrorKind::Usage, message).with_help("give --engine, or leave them out"))
}

/// What failures leave of a network, and how much failed; nothing if nothing is to fail.
///
/// # Errors
/// If what is to fail is not there.
pub fn failed(args: &FailArgs, subnet: &Subnet, seed: u64) -> Result<Option<(Subnet, String)>, Error> {
    cluster::failed(subnet, &args.fail, args.fail_links, seed)
}
