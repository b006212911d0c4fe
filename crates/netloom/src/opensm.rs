//! The distribution's OpenSM on a simulated network, its tables read back.
//!
//! ibsim plays the network from a `.net` file; opensm, with libumad2sim preloaded, believes it real, routes it once and dumps its
//! tables. Both run in a directory of their own with a socket name of their own, so that several can run at once. Neither is
//! trusted to end: opensm repeats for ever what it cannot route, and both can hang on a broken partner, so each is watched and
//! killed by its process handle, also when this call fails or is asked to stop. What opensm logs is read as it comes, so that an engine
//! that refuses the network is reported at once. Directories that killed runs left are removed by the next.

use crate::{
    cluster,
    error::{Error, ErrorKind},
    input::read_file,
};
use base::{scratch::Scratch, sorted::SortedMap};
use fabric::{
    export, import,
    subnet::{Keep, Kind, NONE, Subnet, Tables},
};
use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
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
    /// Configuration: for `torus-2QoS` its torus (`--torus_config`), for other engines opensm.conf (`--config`).
    pub configuration: Option<&'a Path>,
    /// Time after which OpenSM is stopped.
    pub timeout: Duration,
    /// Becomes true when all is to end.
    pub stop: &'a AtomicBool,
}

impl Request<'_> {
    /// An error if all is to end.
    fn go_on(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::new(
                ErrorKind::Limit,
                "stopped by a signal; OpenSM and the simulator were ended",
            ));
        }
        Ok(())
    }
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
    let scratch = Scratch::new("opensm").map_err(|e| trouble("the scratch directory", &e))?;
    let at = |name: &str| scratch.path().join(name);
    let failed = |e: std::io::Error| trouble("the scratch directory", &e);
    let mut net = Vec::new();
    export::cluster::net(subnet, &mut net)
        .and_then(|()| fs::write(at("network.net"), net))
        .map_err(failed)?;
    // As unique as the directory: two simulators on one socket would answer for each other.
    let socket = scratch.path().file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let host = manager(subnet)?;
    let ibsim = simulator(subnet, scratch.path(), &socket, request)?;
    let mut command = Command::new("opensm");
    command
        .args(["-o", "-D", "0x43", "-f"])
        .arg(at("opensm.log"))
        .arg("--dump_files_dir")
        .arg(scratch.path());
    command.args(["-R", &format!("{},no_fallback", request.engine), "--lmc", &request.lmc.to_string()]);
    if !request.roots.is_empty() || request.configuration.is_some() {
        // ibsim gives GUIDs of its own, in the order of the file.
        let image = import::load_keeping(&[at("network.net").display().to_string()], Keep::ALL)
            .map_err(Error::input)?;
        named(&mut command, subnet, &image, request, scratch.path())?;
    }
    if ["lash", "dfsssp", "nue", "torus-2QoS"].contains(&request.engine) {
        command.arg("-Q");
    }
    command
        .env("LD_PRELOAD", &library)
        .env("IBSIM_SOCKNAME", &socket)
        .env("OSM_TMP_DIR", scratch.path())
        .env("SIM_HOST", host);
    // OpenSM remembers LIDs from run to run, in a directory of the system's that two of them must not make at once.
    command.env("OSM_CACHE_DIR", scratch.path());
    let output = File::create(at("opensm.out")).map_err(failed)?;
    let errors = output.try_clone().map_err(failed)?;
    let child =
        command.current_dir(scratch.path()).stdin(Stdio::null()).stdout(output).stderr(errors).spawn();
    let mut opensm = Watched(child.map_err(|e| trouble("opensm", &e))?);
    wait(&mut opensm, scratch.path(), request)?;
    drop(ibsim);
    let routed = read(subnet, scratch.path())?;
    request.go_on()?;
    Ok(routed)
}

/// The host at which OpenSM runs, by its name in the file: the first with a cable at port 1, since the simulator lets a program see no other
/// port of an adapter, and OpenSM waits for ever at one that is down.
fn manager(subnet: &Subnet) -> Result<String, Error> {
    let first = |&&host: &&u32| {
        let node = &subnet.nodes[host as usize];
        let port =
            |edge: u32| subnet.edges[edge as usize].port.max(if node.ports > 1 { node.port } else { 1 });
        subnet.out(host).iter().any(|&edge| port(edge) == 1)
    };
    let host = subnet.hosts.iter().find(first).ok_or_else(|| {
        let message =
            "no host has a cable at port 1, and at no other port OpenSM can be run on a simulated network";
        Error::new(ErrorKind::Experiment, message)
    })?;
    Ok(export::cluster::record_names(subnet).swap_remove(*host as usize))
}

/// Files in which switches are named: roots and configuration, with the GUIDs of the simulated network in place of the real ones.
fn named(
    command: &mut Command,
    subnet: &Subnet,
    image: &Subnet,
    request: &Request<'_>,
    scratch: &Path,
) -> Result<(), Error> {
    let failed = |e: std::io::Error| trouble("the scratch directory", &e);
    if !request.roots.is_empty() {
        let guids = request.roots.iter().map(|name| {
            let node = image.switches[cluster::switch(subnet, name)? as usize];
            Ok(format!("{:#018x}\n", image.nodes[node as usize].guid))
        });
        fs::write(scratch.join("roots"), guids.collect::<Result<String, Error>>()?).map_err(failed)?;
        command.arg("-a").arg(scratch.join("roots"));
    }
    if let Some(path) = request.configuration {
        let text = read_file(path)?;
        let places = subnet.switches.iter().zip(&image.switches);
        let guids: SortedMap<u64, u64> =
            places.map(|(&a, &b)| (subnet.nodes[a as usize].guid, image.nodes[b as usize].guid)).collect();
        fs::write(scratch.join("configuration"), translated(&text, &guids)).map_err(failed)?;
        let option = if request.engine == "torus-2QoS" { "--torus_config" } else { "--config" };
        command.arg(option).arg(scratch.join("configuration"));
    }
    Ok(())
}

/// A text with other GUIDs (`0x..`) of switches; all else stays.
fn translated(text: &str, guids: &SortedMap<u64, u64>) -> String {
    let word = |word: &str| {
        let guid =
            word.trim_end().strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok())?;
        Some(word.replacen(word.trim_end(), &format!("{:#x}", guids.get(&guid)?), 1))
    };
    text.split_inclusive(char::is_whitespace).map(|w| word(w).unwrap_or_else(|| w.to_owned())).collect()
}

/// The same network with the tables that OpenSM made for its image, whose nodes have other GUIDs and may have another order.
///
/// # Errors
/// If the image is of another network.
pub fn onto(subnet: &Subnet, image: &Subnet) -> Result<Subnet, Error> {
    let other = || Error::new(ErrorKind::Internal, "OpenSM saw another network than it was given");
    let from = image.tables.as_ref().ok_or_else(other)?;
    // Both know an end port or switch by its name in the file between them, and the port.
    let places = |of: &Subnet, names: &[String]| -> SortedMap<(String, u32), u32> {
        let key = |n: u32| (names[n as usize].clone(), of.nodes[n as usize].port);
        (0..of.nodes.len() as u32).map(|n| (key(n), n)).collect()
    };
    let theirs: Vec<String> = image.nodes.iter().map(|n| n.name.clone()).collect();
    let (ours, theirs) = (places(subnet, &export::cluster::record_names(subnet)), places(image, &theirs));
    if ours.len() != theirs.len() || ours.len() != subnet.nodes.len() {
        return Err(other());
    }
    let mut node_of = vec![0; subnet.nodes.len()];
    for ((name, node), (same, place)) in ours.iter().zip(&theirs) {
        if name != same {
            return Err(other());
        }
        node_of[*place as usize] = *node;
    }
    let mut tables = Tables::new(subnet, from.planes, from.to_switches);
    for row in 0..from.rows(image) {
        let target = from.target(image, row);
        let place = subnet.place(node_of[target as usize]);
        let own = if image.is_host(target) {
            tables.row(place, row % from.planes)
        } else {
            tables.switch_row(subnet, place)
        };
        for (switch, &node) in (0u32..).zip(&image.switches) {
            let edge = from.entry(image, row, switch);
            let here = node_of[node as usize];
            let edge =
                if edge == NONE { None } else { subnet.edge_at(here, image.edges[edge as usize].port) };
            tables.set(subnet, own, subnet.place(here), edge.unwrap_or(NONE));
        }
    }
    let mut routed = subnet.bare();
    routed.tables = Some(tables);
    Ok(routed)
}

/// Waits until OpenSM has ended or left its tables.
fn wait(opensm: &mut Watched, scratch: &Path, request: &Request<'_>) -> Result<(), Error> {
    let (at, timeout) = (|name: &str| scratch.join(name), request.timeout);
    let (begun, mut log) = (Instant::now(), Log::default());
    loop {
        request.go_on()?;
        if let Some(why) = log.refusal(&at("opensm.log")) {
            let message = format!("OpenSM's `{}` cannot route this network: {why}", request.engine);
            let failure = Error::new(ErrorKind::Experiment, message);
            return Err(match request.engine {
                "torus-2QoS" if request.configuration.is_none() => {
                    failure.with_help("say where the torus lies, in a file that --opensm-conf names")
                }
                _ => failure,
            });
        }
        match opensm.0.try_wait() {
            Ok(Some(status)) if status.success() || at("opensm-lfts.dump").is_file() => return Ok(()),
            Ok(Some(status)) => {
                let message = format!("opensm ended with {status}: {}", tail(&at("opensm.out")));
                return Err(Error::new(ErrorKind::Experiment, message));
            }
            Ok(None) if begun.elapsed() >= timeout => {
                let message =
                    format!("opensm did not end in {} s: {}", timeout.as_secs(), tail(&at("opensm.log")));
                let help =
                    "an engine that does not suit the network is tried without end; else raise --timeout";
                return Err(Error::new(ErrorKind::Limit, message).with_help(help));
            }
            Ok(None) => sleep(LOOK),
            Err(e) => return Err(trouble("opensm", &e)),
        }
    }
}

/// OpenSM's log as it grows.
#[derive(Default)]
struct Log {
    file: Option<File>,
    /// A line that is not complete.
    rest: Vec<u8>,
    /// What was last said, and before.
    last: [String; 2],
}

impl Log {
    /// With this OpenSM says that it will try for ever.
    const GIVES_UP: &str = "No routing engine able to successfully configure";

    /// Why no engine routes the network, once that is logged: the two messages before.
    fn refusal(&mut self, path: &Path) -> Option<String> {
        if self.file.is_none() {
            self.file = File::open(path).ok();
        }
        self.file.as_mut()?.read_to_end(&mut self.rest).ok()?;
        while let Some(end) = self.rest.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            if line.contains(Self::GIVES_UP) {
                return Some(
                    self.last.iter().filter(|l| !l.is_empty()).cloned().collect::<Vec<_>>().join("; "),
                );
            }
            // `Nov 25 02:56:09 864504 [3C89B6C0] 0x01 -> message`
            if let Some((_, said)) = line.trim_end().split_once(" -> ") {
                self.last.rotate_left(1);
                said.clone_into(&mut self.last[1]);
            }
        }
        None
    }
}

/// Starts ibsim and waits until it is ready.
fn simulator(subnet: &Subnet, scratch: &Path, socket: &str, request: &Request<'_>) -> Result<Watched, Error> {
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
        request.go_on()?;
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
    let mut routed = import::load_keeping(&files, Keep::ALL).map_err(Error::input)?;
    // ibsim gives GUIDs of its own; nodes are in the same order.
    if routed.hosts.len() != subnet.hosts.len() || routed.switches.len() != subnet.switches.len() {
        return Err(Error::new(ErrorKind::Internal, "OpenSM saw another network than it was given"));
    }
    // Without the service levels of paths the maps alone say nothing.
    routed.lanes = None;
    Ok(routed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_name_the_simulated_switches() {
        let guids = SortedMap::from([(0xb8599f0300, 0x20_0000), (0xb8599f0301, 0x20_0001)]);
        let text = "torus 4 4 4\nxp_link 0xb8599f0300 0x000000b8599f0301\n# 0x12 stays\n";
        let expected = "torus 4 4 4\nxp_link 0x200000 0x200001\n# 0x12 stays\n";
        assert_eq!(translated(text, &guids), expected);
    }

    /// The image of a network, with tables, is laid back on it: names and order differ, ways do not.
    #[test]
    fn tables_of_the_image_are_those_of_the_network() {
        let text = "switchguid=0x9(9)\nSwitch 4 \"S-9\" # \"b\" lid 7\n[1] \"H-1\"[1](5) # \"z\" lid 1\n[2] \"S-8\"[1] # \"a\" lid 3\n[3] \"H-1\"[2](6) # \"z\" lid 2\n\
                    switchguid=0x8(8)\nSwitch 4 \"S-8\" # \"a\" lid 3\n[3] \"H-2\"[1](4) # \"y\" lid 4\ncaguid=0x1\nCa 2 \"H-1\" # \"z\"\ncaguid=0x2\nCa 1 \"H-2\" # \"y\"\n";
        let source = |name: &str, bytes: &[u8]| {
            import::read(vec![import::Source::memory(name, bytes)]).expect("a network")
        };
        let subnet = source("net", text.as_bytes());
        let mut net = Vec::new();
        export::cluster::net(&subnet, &mut net).expect("written");
        let image = cluster::route(&source("image", &net), "minhop", &fabric::engines::Options::default())
            .expect("routed");
        let routed = onto(&subnet, &image).expect("the same network");
        let own = cluster::route(&subnet, "minhop", &fabric::engines::Options::default()).expect("routed");
        assert_eq!(routed.tables, own.tables);
        assert!(onto(&source("other", b"Switch 2 \"S\"\n[1] \"H\"[1]\nHca 1 \"H\"\n"), &image).is_err());
    }
}
