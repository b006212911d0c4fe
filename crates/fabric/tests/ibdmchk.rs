//! Verification beside `ibdmchk` of the distribution (ibutils): random subnets with random forwarding tables, drawn and written here, read by both.
//! Without that program the test says so and passes.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use base::rng::{Purpose, Stream};
use fabric::{
    import,
    subnet::NONE,
    verify::{Report, verify},
};
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A switch's port and what is behind it.
#[derive(Clone, Copy)]
struct Cable {
    ends: [(usize, usize); 2],
}

/// A subnet of switches and hosts, numbered one after the other: hosts have LIDs from 1, switches those behind them.
struct Drawn {
    hosts: usize,
    switches: usize,
    /// Hosts' cables come first; a host has one port.
    cables: Vec<Cable>,
    /// Port by switch and host.
    ports: Vec<Vec<Option<usize>>>,
}

/// Switches in a random tree with more cables, so that there are rings. Tables are a tree to each host, with mistakes now and then.
fn draw(dice: &mut Stream) -> Drawn {
    let (switches, hosts) = (2 + dice.below(5) as usize, 2 + dice.below(9) as usize);
    let mut used = vec![0; switches];
    let mut port = |switch: usize| {
        used[switch] += 1;
        (hosts + switch, used[switch])
    };
    let mut cables = Vec::new();
    for host in 0..hosts {
        let switch = if host < switches { host } else { dice.below(switches as u64) as usize };
        cables.push(Cable { ends: [(host, 1), port(switch)] });
    }
    let pairs: Vec<(usize, usize)> = (1..switches).map(|s| (dice.below(s as u64) as usize, s)).collect();
    let more = (0..dice.below(6)).map(|_| [(); 2].map(|()| dice.below(switches as u64) as usize));
    let more: Vec<_> = more.filter(|[a, b]| a != b).map(|[a, b]| (a, b)).collect();
    for (a, b) in pairs.into_iter().chain(more) {
        cables.push(Cable { ends: [port(a), port(b)] });
    }
    let arcs: Vec<_> = cables.iter().flat_map(|c| [c.ends, [c.ends[1], c.ends[0]]]).collect();
    let mut ports = vec![vec![None; hosts]; switches];
    let astray = dice.below(3) == 0;
    for host in 0..hosts {
        let mut known = vec![false; hosts + switches];
        known[host] = true;
        while known[hosts..].contains(&false) {
            let [from, to] = arcs[dice.below(arcs.len() as u64) as usize];
            if from.0 >= hosts && !known[from.0] && known[to.0] {
                known[from.0] = true;
                ports[from.0 - hosts][host] = Some(from.1);
            }
        }
        if astray && dice.below(4) == 0 {
            let switch = dice.below(switches as u64) as usize;
            let other = 1 + dice.below(used[switch] as u64) as usize;
            ports[switch][host] = Some(other).filter(|_| dice.below(2) == 0);
        }
    }
    Drawn { hosts, switches, cables, ports }
}

impl Drawn {
    fn guid(&self, node: usize) -> u64 {
        if node < self.hosts { 0x10_0000 + 2 * node as u64 } else { 0x20_0000 + (node - self.hosts) as u64 }
    }

    /// The form of opensm-subnet.lst: a line for each end of a cable.
    fn subnet(&self) -> String {
        let end = |(node, port): (usize, usize)| {
            let guid = self.guid(node);
            let (kind, ports, own, name) = match node.checked_sub(self.hosts) {
                None => ("CA", 1, guid + 1, format!("H{node:03}")),
                Some(switch) => ("SW", 36, guid, format!("L{switch:03}")),
            };
            format!(
                "{{ {kind} Ports:{ports:02x} SystemGUID:{guid:016x} NodeGUID:{guid:016x} PortGUID:{own:016x} VenID:000000 DevID:0000 \
                 Rev:000000A1 {{{name}}} LID:{:04x} PN:{port:02x} }}",
                node + 1
            )
        };
        let mut text = String::new();
        for Cable { ends: [a, b] } in &self.cables {
            for (a, b) in [(a, b), (b, a)] {
                let _ = writeln!(text, "{} {} PHY=4x LOG=ACT SPD=2.5", end(*a), end(*b));
            }
        }
        text
    }

    /// The form of opensm.fdbs.
    fn tables(&self) -> String {
        let mut text = String::new();
        for (switch, ports) in self.ports.iter().enumerate() {
            let guid = self.guid(self.hosts + switch);
            let _ = writeln!(text, "dump_ucast_routes: Switch 0x{guid:016x}\nLID    : Port : Hops : Optimal");
            for (host, port) in ports.iter().enumerate() {
                let entry = port.map_or("UNREACHABLE".to_owned(), |p| format!("{p:03}  : 01   : yes"));
                let _ = writeln!(text, "0x{:04X} : {entry}", host + 1);
            }
            let _ = writeln!(text, "0x{:04X} : 000  : 00   : yes", self.hosts + switch + 1);
        }
        text
    }
}

/// What both say of tables.
#[derive(Debug, PartialEq)]
struct Said {
    lost: u64,
    /// Pairs by links of their path, and whether channels wait in a circle; only where all arrive.
    rest: Option<(Vec<(usize, u64)>, bool)>,
}

impl Said {
    fn of(report: &Report) -> Self {
        let lost = report.unreached + report.loops;
        let lengths = report.lengths.iter().copied().enumerate().filter(|(_, pairs)| *pairs > 0).collect();
        Self { lost, rest: (lost == 0).then_some((lengths, report.cycle.is_some())) }
    }

    fn read(text: &str) -> Self {
        let lost = text.lines().filter(|line| line.contains("Fail to find a path")).count() as u64;
        let hops = text.split("LFT ROUTE HOP HISTOGRAM").nth(1).unwrap_or_default();
        let rows = hops.lines().skip_while(|line| !line.starts_with("HOPS")).skip(1);
        let row = |line: &str| {
            let (hops, pairs) = line.trim().split_once(' ')?;
            Some((hops.parse().ok()?, pairs.trim().parse().ok()?))
        };
        let lengths: Vec<(usize, u64)> = rows.map_while(row).collect();
        assert!(lost > 0 || text.contains("redit loop") || text.contains("redit Loop"), "{text}");
        Self { lost, rest: (lost == 0).then_some((lengths, !text.contains("no credit loops found"))) }
    }
}

fn theirs(at: &Path) -> Option<String> {
    let mut command = Command::new("ibdmchk");
    command.current_dir(at).args(["-s", "subnet.lst", "-f", "tables.fdbs", "-m", "none.mcfdbs"]);
    let output = command.output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}

#[test]
fn random_tables_are_judged_as_ibdmchk_does() {
    let at = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ibdmchk");
    fs::create_dir_all(&at).unwrap();
    fs::write(at.join("none.mcfdbs"), "").unwrap();
    let cases = if std::env::var_os("NETLOOM_LONG").is_some() { 10_000 } else { 500 };
    let (mut lost, mut circles, mut sound, mut planted) = (0, 0, 0, 0);
    for seed in 0..cases {
        let mut dice = Stream::new(seed, Purpose::Setup, 11);
        let drawn = draw(&mut dice);
        let files = [("subnet.lst", drawn.subnet()), ("tables.fdbs", drawn.tables())];
        files.iter().for_each(|(name, text)| fs::write(at.join(name), text).unwrap());
        let Some(text) = theirs(&at) else {
            eprintln!("SKIPPED: ibdmchk is not there (apt-get install ibutils)");
            return;
        };
        let paths = files.each_ref().map(|(name, _)| at.join(name).display().to_string());
        let subnet = import::load(&paths).unwrap();
        let tables = subnet.tables.as_ref().unwrap();
        let (ours, theirs) = (Said::of(&verify(&subnet, tables)), Said::read(&text));
        assert_eq!(ours, theirs, "{seed}: {}{}{text}", files[0].1, files[1].1);
        lost += u32::from(ours.lost > 0);
        circles += u32::from(ours.rest.as_ref().is_some_and(|rest| rest.1));
        sound += u32::from(ours.rest.is_some_and(|rest| !rest.1));
        // A planted fault: one entry is not as the file has it.
        let mut other = tables.clone();
        let entry = dice.below((drawn.hosts * drawn.switches) as u64) as usize;
        other.next[entry] = NONE;
        planted += u32::from(Said::of(&verify(&subnet, &other)) != theirs);
    }
    println!(
        "{lost} lose messages, {circles} have credit loops, {sound} are sound; {planted} show a lost entry"
    );
    assert!(lost > 100 && circles > 30 && sound > 200 && planted > cases as u32 / 2);
}
