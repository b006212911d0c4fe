//! Networks that commands about clusters work on: imported, or the image of an experiment's fabric.

use crate::{
    args::Input,
    cluster_args::{EngineArgs, NetworkArgs},
    commands,
    exit::Exit,
    experiment,
    failure::Failure,
    prepare::read_file,
    stages::Stages,
};
use base::{
    diag::Diagnostics,
    param::Problem,
    registry::{find, nearest},
};
use fabric::{
    engines::{self, ENGINES, Engine, Options},
    graph::Fabric,
    import,
    routing::Routing,
    subnet::Subnet,
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

impl NetworkArgs {
    /// The experiment file, if the network is one.
    fn experiment(&self) -> Option<Input> {
        let toml = self.files.iter().find(|f| f.ends_with(".toml"))?;
        Some(Input { file: toml.into(), set: self.set.clone() })
    }

    /// Reads the network.
    ///
    /// # Errors
    /// All mistakes of its files.
    pub fn load(&self) -> Result<Network, Failure> {
        if let Some(input) = self.experiment() {
            if self.files.len() + self.tables.len() > 1 {
                let message = "an experiment file stands alone; a cluster's files are given without one";
                return Err(Failure::new(Exit::Usage, message));
            }
            return experiment_network(&input);
        }
        if !self.set.is_empty() {
            return Err(Failure::new(
                Exit::Usage,
                "--set overrides values of an experiment file, and there is none",
            ));
        }
        let files: Vec<String> = self.files.iter().chain(&self.tables).cloned().collect();
        let subnet = import::load(&files).map_err(input_failure)?;
        Ok(Network { subnet, closed: None })
    }
}

/// Mistakes in files that the command line names.
fn input_failure(problems: Vec<Problem>) -> Failure {
    let named = problems.into_iter().map(|mut p| {
        // A mistake without a line is told with the file's name.
        if let Some(input) = p.input.as_ref().filter(|i| i.line == 0 && !i.file.is_empty()) {
            p.message = format!("{}: {}", input.file, p.message);
        }
        p
    });
    Failure::input(named.collect())
}

fn experiment_network(input: &Input) -> Result<Network, Failure> {
    let fabric = Arc::new(commands::fabric::load(input, commands::fabric::EXPORT, &Stages::new(false))?);
    let text = read_file(&input.file)?;
    let mut diagnostics = Diagnostics::default();
    let name = input.file.display().to_string();
    let only = experiment::read_fabric(&name, &text, &input.set, &mut diagnostics);
    let chosen = only.and_then(|only| only.routing);
    let mut routing = None;
    if let Some(chosen) = chosen.filter(|c| c.section.complete) {
        match (chosen.entry.build)(Arc::clone(&fabric), &chosen.section.values) {
            Ok(built) => routing = Some(Arc::from(built)),
            Err(problems) => chosen.section.tell(problems, &mut diagnostics),
        }
    }
    if !diagnostics.is_empty() {
        return Err(Failure::Experiment(Box::new(diagnostics)));
    }
    Ok(Network { subnet: Subnet::from_fabric(&fabric), closed: Some((fabric, routing)) })
}

/// An engine by its name.
///
/// # Errors
/// If there is none of this name.
pub fn engine(name: &str) -> Result<&'static Engine, Failure> {
    find(ENGINES, name).ok_or_else(|| {
        let names: Vec<&str> = ENGINES.iter().map(|e| e.about.name).collect();
        let help = match nearest(name, names.iter().copied()).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", names.join(", ")),
        };
        Failure::new(Exit::Usage, format!("there is no routing engine `{name}`")).with_help(help)
    })
}

impl EngineArgs {
    /// Options of an engine for this network.
    ///
    /// # Errors
    /// If a root is no switch of it.
    pub fn options(&self, subnet: &Subnet) -> Result<Options, Failure> {
        let roots = self.roots.iter().map(|name| switch(subnet, name)).collect::<Result<_, _>>()?;
        Ok(Options { lmc: self.lmc, lanes: self.lanes, roots, seed: self.seed })
    }
}

/// Number of a switch by its name or GUID.
///
/// # Errors
/// If there is no such switch.
pub fn switch(subnet: &Subnet, name: &str) -> Result<u32, Failure> {
    let guid = name.strip_prefix("0x").and_then(|d| u64::from_str_radix(d, 16).ok());
    let is = |&node: &u32| {
        let n = &subnet.nodes[node as usize];
        n.name == name || guid.is_some_and(|g| g == n.guid)
    };
    let found = subnet.switches.iter().position(is).map(|i| i as u32);
    found.ok_or_else(|| Failure::new(Exit::Usage, format!("the network has no switch `{name}`")))
}

/// Tables by an engine.
///
/// # Errors
/// If there is no such engine, or it cannot route the network.
pub fn route(subnet: &Subnet, name: &str, options: &Options) -> Result<Subnet, Failure> {
    engines::route(subnet, engine(name)?, options).map_err(|problems| {
        let first = problems.into_iter().next();
        let (message, help) = first.map_or_else(Default::default, |p| (p.message, p.help));
        let failure = Failure::new(Exit::Experiment, message);
        match help {
            Some(help) => failure.with_help(help),
            None => failure,
        }
    })
}
