//! Networks that commands about clusters work on: those of files, also where an experiment imports them, or the image of an experiment's
//! fabric.

use crate::{
    error::{Error, ErrorKind},
    experiment::{self, network::FabricOnly},
    faults,
    input::{Input, read_experiment},
    memory::{fits, limit_in_bytes},
    network::{fabric_bytes, planes_of},
    registry::Registry,
    watcher::{Phases, Silent, Watcher},
};
use base::{
    diag::{Diagnostic, Diagnostics},
    index::{PortId, RouterId},
    param::Problem,
    registry::{find, nearest},
    units::percent,
};
use fabric::{
    engines::{self, ENGINES, Engine, Options},
    faults::Faults,
    graph::Fabric,
    import,
    routing::{Routing, forwarding},
    subnet::{Keep, Subnet},
    topology::imported,
};
use std::sync::Arc;

/// An experiment's fabric and, if there is a `[routing]`, its routing.
pub type Closed = (Arc<Fabric>, Option<Arc<dyn Routing>>);

/// A network and how it routes, as far as its files say.
pub struct Network {
    /// Nodes, links, names; tables if the files have some.
    pub subnet: Subnet,
    /// What an experiment describes; none for a cluster's files.
    pub closed: Option<Closed>,
}

impl Network {
    /// Reads the network of a cluster's files, with the end ports that `keep` says (left out: hosts), or that of one experiment file
    /// (`.toml`), with the overrides of `set`.
    ///
    /// # Errors
    /// All mistakes of its files.
    pub fn load(
        registry: &Registry,
        files: &[String],
        set: &[String],
        keep: Option<Keep>,
    ) -> Result<Self, Error> {
        if let Some(toml) = files.iter().find(|f| f.ends_with(".toml")) {
            if files.len() > 1 {
                let message =
                    format!("the experiment `{toml}` stands alone; a cluster's files are given without one");
                return Err(Error::new(ErrorKind::Usage, message));
            }
            if keep.is_some() {
                let message = "--nodes is of a cluster's files; an experiment file says fabric.nodes";
                return Err(Error::new(ErrorKind::Usage, message));
            }
            return experiment_network(registry, &Input { file: toml.into(), set: set.to_vec() });
        }
        if !set.is_empty() {
            return Err(Error::new(
                ErrorKind::Usage,
                "--set overrides values of an experiment file, and there is none",
            ));
        }
        let subnet = import::load_keeping(files, keep.unwrap_or_default()).map_err(input_failure)?;
        Ok(Self { subnet, closed: None })
    }
}

/// Mistakes in files that the command line names.
fn input_failure(problems: Vec<Problem>) -> Error {
    let named = problems.into_iter().map(|mut p| {
        // A mistake without a line is reported with the file's name.
        if let Some(input) = p.input.as_ref().filter(|i| i.line == 0 && !i.file.is_empty()) {
            p.message = format!("{}: {}", input.file, p.message);
        }
        p
    });
    Error::input(named.collect())
}

fn experiment_network(registry: &Registry, input: &Input) -> Result<Network, Error> {
    let fabric = Arc::new(load(registry, input, EXPORT, &Silent)?);
    let text = read_experiment(&input.file)?;
    let mut diagnostics = Diagnostics::default();
    let name = input.file.display().to_string();
    let only = experiment::read_fabric(registry, &name, &text, &input.set, &mut diagnostics);
    let chosen = only.and_then(|only| only.routing);
    let (mut routing, mut follows) = (None, true);
    if let Some(chosen) = chosen.filter(|c| c.section.complete) {
        follows = forwarding::follows_files(chosen.entry, &chosen.section.values);
        match (chosen.entry.build)(Arc::clone(&fabric), &chosen.section.values) {
            Ok(built) => routing = Some(Arc::from(built)),
            Err(problems) => chosen.section.report(problems, &mut diagnostics),
        }
    }
    if !diagnostics.is_empty() {
        return Err(Error::Experiment(Box::new(diagnostics)));
    }
    let subnet = imported::network(&fabric);
    // Tables of files count where the experiment goes by them.
    let subnet = if follows { subnet } else { subnet.bare() };
    Ok(Network { subnet, closed: Some((fabric, routing)) })
}

/// An engine by its name.
///
/// # Errors
/// If there is none of this name.
pub fn engine(name: &str) -> Result<&'static Engine, Error> {
    find(ENGINES, name).ok_or_else(|| {
        let names: Vec<&str> = ENGINES.iter().map(|e| e.about.name).collect();
        let help = match nearest(name, names.iter().copied()).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", names.join(", ")),
        };
        Error::new(ErrorKind::Usage, format!("there is no routing engine `{name}`")).with_help(help)
    })
}

/// Number of a switch by its name or GUID.
///
/// # Errors
/// If there is no such switch, or there are several of that name.
pub fn switch(subnet: &Subnet, name: &str) -> Result<u32, Error> {
    let guid = name.strip_prefix("0x").and_then(|d| u64::from_str_radix(d, 16).ok());
    let is = |&node: &u32| {
        let n = &subnet.nodes[node as usize];
        n.name == name || guid.is_some_and(|g| g == n.guid)
    };
    let mut found = (0u32..).zip(&subnet.switches).filter(|(_, node)| is(node)).map(|(place, _)| place);
    let usage = |message| Error::new(ErrorKind::Usage, message);
    let first = found.next().ok_or_else(|| usage(format!("the network has no switch `{name}`")))?;
    match found.count() {
        0 => Ok(first),
        more => {
            let message = format!("{} switches are called `{name}`", more + 1);
            Err(usage(message).with_help("write the GUID of one, as 0x.."))
        }
    }
}

/// How many cables fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Failing {
    /// A share of them, 0 to 1.
    Share(f64),
    /// So many cables; all of them if there are fewer.
    Number(u64),
}

impl Failing {
    /// Reads `1%` or a number.
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "write a share such as 1%, or a number of cables".to_owned();
        if text.contains('%') {
            return percent(text).filter(|part| *part <= 1.0).map(Self::Share).ok_or_else(wrong);
        }
        text.trim().parse().map(Self::Number).map_err(|_| wrong())
    }

    /// As a share of the cables between switches.
    fn share(self, subnet: &Subnet) -> f64 {
        match self {
            Self::Share(share) => share,
            Self::Number(n) => {
                let between = |e: &&fabric::subnet::Edge| !subnet.is_host(e.from) && !subnet.is_host(e.to);
                n as f64 / (subnet.edges.iter().filter(between).count() / 2).max(1) as f64
            }
        }
    }
}

/// What is left of a network when switches fail (by name or GUID), cables (by a switch and its port, `NAME:PORT`), and so many cables
/// between switches, drawn by the seed; and how much failed, in words. Nothing if nothing is to fail.
///
/// # Errors
/// If there is no such switch or cable, or nothing is left.
pub fn failed(
    subnet: &Subnet,
    names: &[String],
    links: Failing,
    seed: u64,
) -> Result<Option<(Subnet, String)>, Error> {
    let share = links.share(subnet);
    if share <= 0.0 && names.is_empty() {
        return Ok(None);
    }
    let mut faults = Faults { link_fraction: share.min(1.0), seed, ..Faults::default() };
    for name in names {
        // A name may hold colons itself.
        let cable = name.rsplit_once(':').and_then(|(of, port)| Some((of, port.parse::<u32>().ok()?)));
        match (switch(subnet, name), cable) {
            (Ok(whole), _) => faults.routers.push(RouterId::new(whole)),
            (Err(_), Some((of, port))) => {
                let at = switch(subnet, of)?;
                let edge = subnet.edge_at(subnet.switches[at as usize], port);
                if edge.is_none_or(|e| subnet.is_host(subnet.edges[e as usize].to)) {
                    let message = format!("port {port} of `{of}` has no cable to another switch");
                    let help = "cables between switches fail, and switches with all their hosts";
                    return Err(Error::new(ErrorKind::Usage, message).with_help(help));
                }
                faults.links.push((RouterId::new(at), PortId::new(port - 1)));
            }
            (Err(unknown), None) => {
                return Err(
                    unknown.with_help("write a switch's name or GUID (0x..), or that and a port: NAME:PORT")
                );
            }
        }
    }
    let (left, degraded) = subnet.degraded(&faults).map_err(Error::input)?;
    let cut = subnet.hosts.len() - left.hosts.len();
    let apart = match degraded.fabric.cut_off().len().saturating_sub(cut) {
        0 => String::new(),
        n => format!("; the network falls apart: {n} hosts cannot reach the others"),
    };
    let switches = match degraded.routers.len() {
        0 => String::new(),
        n => format!(", {n} switches"),
    };
    let text = format!("{} cables{switches}; {cut} hosts cut off and left out{apart}", degraded.links.len());
    Ok(Some((left, text)))
}

/// Bytes that an entry of a switch's table takes at most while an engine routes and its tables are looked at: what the engine needs, the table, and its copy
/// with the lanes.
const ENTRY: u64 = 48;

/// Tables by an engine.
///
/// # Errors
/// If there is no such engine, it cannot route the network, or the tables do not fit in memory.
pub fn route(subnet: &Subnet, name: &str, options: &Options) -> Result<Subnet, Error> {
    if !options.roots.is_empty() && engine(name)?.about.name != "updn" {
        let message = format!("--root says where `updn` begins; `{name}` has no roots");
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let engine = engine(name)?;
    let entries = (subnet.hosts.len() as u64 * subnet.switches.len() as u64) << options.lmc;
    fits("the network's tables", entries.saturating_mul(ENTRY), limit_in_bytes(None))?;
    engines::route(subnet, engine, options).map_err(|problems| {
        let first = problems.into_iter().next();
        let (message, help) = first.map_or_else(Default::default, |p| (p.message, p.help));
        let failure = Error::new(ErrorKind::Experiment, message);
        match help {
            Some(help) => failure.with_help(help),
            None => failure,
        }
    })
}

/// Router ports of the largest network that is measured: larger ones would take hours.
const MOST_MEASURED: u64 = 1 << 27;

/// What is to be done with a network, and how many times its own memory that takes at most, itself included.
pub type Purpose = (&'static str, u64);

/// Computing metrics: three times the network's own memory at most.
pub const MEASURE: Purpose = ("the network with its metrics", 3);
/// Writing in another form.
pub const EXPORT: Purpose = ("the network and its export", 4);

/// Reads and builds what `[fabric]` describes and `[faults]` leaves.
///
/// # Errors
/// If the file cannot be read or has mistakes, or the fabric does not fit in memory.
pub fn load(
    registry: &Registry,
    input: &Input,
    purpose: Purpose,
    watcher: &dyn Watcher,
) -> Result<Fabric, Error> {
    let (phases, text) = (Phases(watcher), read_experiment(&input.file)?);
    let mut diagnostics = Diagnostics::default();
    let name = input.file.display().to_string();
    let read = experiment::read_fabric(registry, &name, &text, &input.set, &mut diagnostics);
    phases.begin("building the network");
    let built = read.and_then(|only| build(&only, purpose, &mut diagnostics).transpose());
    match built {
        Some(fabric) if diagnostics.is_empty() => fabric,
        _ => Err(Error::Experiment(Box::new(diagnostics))),
    }
}

/// The fabric; `None` if it has mistakes, a failure if it does not fit in memory.
fn build(
    only: &FabricOnly,
    (what, times): Purpose,
    diagnostics: &mut Diagnostics,
) -> Result<Option<Fabric>, Error> {
    let Some(chosen) = only.fabric.as_ref().filter(|f| f.section.complete) else { return Ok(None) };
    if chosen.entry.about.name == fabric::topology::platform::TOPOLOGY.about.name {
        let message =
            "a platform lists links and routes of hosts: it has no routers and cables to measure or write";
        diagnostics.push(Diagnostic::new(chosen.section.place("topology"), message));
        return Ok(None);
    }
    let ports = (chosen.entry.sizes)(&chosen.section.values).map_or(0, |sizes| sizes.ports);
    if what == MEASURE.0 && ports > MOST_MEASURED {
        let message =
            format!("a plane of the network has {ports} router ports: measuring it would take hours");
        let help = format!("measure a smaller one of its kind, of up to {MOST_MEASURED} ports");
        return Err(Error::new(ErrorKind::Limit, message).with_help(help));
    }
    if let Some(bytes) = fabric_bytes(chosen, only.rails) {
        fits(what, bytes.saturating_mul(times), limit_in_bytes(None))?;
    }
    match planes_of(chosen, only.rails) {
        Ok(whole) if only.faults.is_none() => Ok(Some(whole)),
        Ok(whole) => Ok(only.faults.as_ref().and_then(|f| faults::left(f, only.seed, &whole, diagnostics))),
        Err(problems) => {
            chosen.section.report(problems, diagnostics);
            Ok(None)
        }
    }
}
