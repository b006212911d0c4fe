//! The distribution's OpenSM on a simulated network, its tables read back.
//!
//! ibsim plays the network from a `.net` file; opensm, with libumad2sim preloaded, believes it real, routes it once and dumps its
//! tables. Both run in a directory of their own with a socket name of their own, so that several can run at once. Neither is
//! trusted to end: opensm repeats for ever what it cannot route, and both can hang on a broken partner, so each is watched and
//! killed by its process handle, also when this call fails.

use crate::{
    cluster,
    error::{Error, ErrorKind},
};
use fabric::{
    export, import,
    subnet::{Kind, Subnet},
};
use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// Engines of OpenSM that can be named.
pub const ENGINES: &[&str] =
    &["minhop", "updn", "dnup", "ftree", "lash", "dor", "sssp", "dfsssp", "nue", "torus-2QoS", "file"];
/// Time that ibsim gets to be ready.
const READY: Duration = Duration::from_secs(60);
/// How often processes are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// How OpenSM is to route.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// One of [`ENGINES`].
    pub engine: &'a str,
    /// Logarithm of the local identifiers of each host (LMC), 0 to 7.
    pub lmc: u8,
    /// Switches at the top, for `updn`: names, or GUIDs as `0x..`.
    pub roots: &'a [String],
    /// Time after which OpenSM is stopped.
    pub timeout: Duration,
}

/// Routes a network without tables by OpenSM: the same network with its tables.
///
/// # Errors
/// If there is no such engine, or the programs are not installed, fail, or do not end in time.
pub fn route(subnet: &Subnet, request: &Request<'_>) -> Result<Subnet, Error> {
    if !ENGINES.contains(&request.engine) {
        let message = format!("OpenSM has no engine `{}`", request.engine);
        let help = format!("there are {}", ENGINES.join(", "));
        return Err(Error::new(ErrorKind::Usage, message).with_help(help));
    }
    pipeline(subnet, request)
}

/// A directory that goes away with its owner.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> std::io::Result<Self> {
        let base = std::env::temp_dir();
        for number in 0..1_000 {
            let path = base.join(format!("netloom-opensm-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        Err(std::io::Error::other("no name is free"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A process that does not outlive its owner.
struct Watched(Child);

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first file of these names in the usual directories of libraries.
fn library(names: &[&str]) -> Option<PathBuf> {
    let roots = ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib"];
    let mut directories: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
    for root in roots {
        let inside =
            fs::read_dir(root).into_iter().flatten().flatten().map(|e| e.path()).filter(|p| p.is_dir());
        directories.extend(inside);
    }
    for directory in directories.clone() {
        directories.push(directory.join("umad2sim"));
        directories.push(directory.join("ibsim"));
    }
    directories.iter().flat_map(|d| names.iter().map(move |n| d.join(n))).find(|p| p.is_file())
}

fn missing(what: &str) -> Error {
    let message = format!("{what} is not installed");
    Error::new(ErrorKind::Input, message)
        .with_help("install opensm, ibsim-utils and infiniband-diags (Debian's names)")
}

fn trouble(what: &str, error: &std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::NotFound {
        missing(what)
    } else {
        Error::new(ErrorKind::Internal, format!("{what}: {error}"))
    }
}

/// The end of a log, for messages.
fn tail(path: &Path) -> String {
    let mut text = String::new();
    if let Ok(mut file) = File::open(path) {
        let _ = file.read_to_string(&mut text);
    }
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}

fn pipeline(subnet: &Subnet, request: &Request<'_>) -> Result<Subnet, Error> {
    let library = library(&["libumad2sim.so", "libumad2sim.so.0"]).ok_or_else(|| missing("libumad2sim"))?;
    let scratch = Scratch::new().map_err(|e| trouble("the scratch directory", &e))?;
    let at = |name: &str| scratch.0.join(name);
    let failed = |e: std::io::Error| trouble("the scratch directory", &e);
    let mut net = Vec::new();
    export::cluster::net(subnet, &mut net)
        .and_then(|()| fs::write(at("network.net"), net))
        .map_err(failed)?;
    // As unique as the directory: two simulators on one socket would answer for each other.
    let socket = scratch.0.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let ibsim = simulator(subnet, &scratch.0, &socket)?;
    let mut command = Command::new("opensm");
    command.args(["-o", "-D", "0x43", "-f"]).arg(at("opensm.log")).arg("--dump_files_dir").arg(&scratch.0);
    command.args(["-R", &format!("{},no_fallback", request.engine), "--lmc", &request.lmc.to_string()]);
    if !request.roots.is_empty() {
        // ibsim gives GUIDs of its own, in the order of the file.
        let image = import::load(&[at("network.net").display().to_string()]).map_err(Error::input)?;
        let guids = request.roots.iter().map(|name| {
            let node = image.switches[cluster::switch(subnet, name)? as usize];
            Ok(format!("{:#018x}\n", image.nodes[node as usize].guid))
        });
        fs::write(at("roots"), guids.collect::<Result<String, Error>>()?).map_err(failed)?;
        command.arg("-a").arg(at("roots"));
    }
    if ["lash", "dfsssp", "nue", "torus-2QoS"].contains(&request.engine) {
        command.arg("-Q");
    }
    command.env("LD_PRELOAD", &library).env("IBSIM_SOCKNAME", &socket).env("OSM_TMP_DIR", &scratch.0);
    // OpenSM remembers LIDs from run to run, in a directory of the system's that two of them must not make at once.
    command.env("OSM_CACHE_DIR", &scratch.0);
    let output = File::create(at("opensm.out")).map_err(failed)?;
    let errors = output.try_clone().map_err(failed)?;
    let child = command.current_dir(&scratch.0).stdin(Stdio::null()).stdout(output).stderr(errors).spawn();
    let mut opensm = Watched(child.map_err(|e| trouble("opensm", &e))?);
    wait(&mut opensm, &scratch.0, request.timeout)?;
    drop(ibsim);
    read(subnet, &scratch.0)
}

/// Waits until OpenSM has ended or left its tables.
fn wait(opensm: &mut Watched, scratch: &Path, timeout: Duration) -> Result<(), Error> {
    let at = |name: &str| scratch.join(name);
    let begun = Instant::now();
    loop {
        match opensm.0.try_wait() {
            Ok(Some(status)) if status.success() || at("opensm-lfts.dump").is_file() => return Ok(()),
            Ok(Some(status)) => {
                let message = format!("opensm ended with {status}: {}", tail(&at("opensm.out")));
                return Err(Error::new(ErrorKind::Experiment, message));
            }
            Ok(None) if begun.elapsed() >= timeout => {
                let message =
                    format!("opensm did not end in {} s: {}", timeout.as_secs(), tail(&at("opensm.log")));
                let help = "an engine that does not suit the network is tried for ever; else raise --timeout";
                return Err(Error::new(ErrorKind::Limit, message).with_help(help));
            }
            Ok(None) => sleep(LOOK),
            Err(e) => return Err(trouble("opensm", &e)),
        }
    }
}

/// Starts ibsim and waits until it is ready.
fn simulator(subnet: &Subnet, scratch: &Path, socket: &str) -> Result<Watched, Error> {
    let log = scratch.join("ibsim.out");
    let output = File::create(&log).map_err(|e| trouble("the scratch directory", &e))?;
    let errors = output.try_clone().map_err(|e| trouble("the scratch directory", &e))?;
    let count = |kind: Kind| subnet.nodes.iter().filter(|n| n.kind == kind).count();
    let ports: usize = subnet.nodes.iter().map(|n| n.ports as usize + 1).sum();
    let (switches, all) = (count(Kind::Switch), subnet.nodes.len());
    let mut command = Command::new("ibsim");
    command.args(["-s", "-n"]);
    for (option, value) in [("-N", all + 16), ("-S", switches + 16), ("-P", ports * 2 + 64), ("-L", 65_535)] {
        command.args([option, &value.to_string()]);
    }
    command.arg(scratch.join("network.net")).env("IBSIM_SOCKNAME", socket).current_dir(scratch);
    let child = command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn();
    let mut ibsim = Watched(child.map_err(|e| trouble("ibsim", &e))?);
    let begun = Instant::now();
    loop {
        let text = fs::read_to_string(&log).unwrap_or_default();
        if text.contains("ready") {
            return Ok(ibsim);
        }
        if let Ok(Some(status)) = ibsim.0.try_wait() {
            return Err(Error::new(
                ErrorKind::Experiment,
                format!("ibsim ended with {status}: {}", tail(&log)),
            ));
        }
        if begun.elapsed() > READY {
            return Err(Error::new(ErrorKind::Limit, format!("ibsim was not ready in 60 s: {}", tail(&log))));
        }
        sleep(LOOK);
    }
}

/// The tables, and lanes at switches if they were dumped, on the network as it was.
fn read(subnet: &Subnet, scratch: &Path) -> Result<Subnet, Error> {
    let mut files = vec![scratch.join("network.net"), scratch.join("opensm-lfts.dump")];
    files.extend(Some(scratch.join("opensm-sl2vl.dump")).filter(|p| p.is_file()));
    let files: Vec<String> = files.iter().map(|p| p.display().to_string()).collect();
    let mut routed = import::load(&files).map_err(Error::input)?;
    // ibsim gives GUIDs of its own; nodes are in the same order.
    if routed.hosts.len() != subnet.hosts.len() || routed.switches.len() != subnet.switches.len() {
        return Err(Error::new(ErrorKind::Internal, "OpenSM saw another network than it was given"));
    }
    // Without the service levels of paths the maps alone say nothing.
    routed.lanes = None;
    Ok(routed)
}
