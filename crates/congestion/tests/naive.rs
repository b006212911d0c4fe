//! A second opinion: static congestion counted from the text of random networks, message by message, straight from the rules of the
//! ORCS paper (Schneider, Hoefler, Lumsdaine, TR-675, sections 2 and 3). It shares the file with what it checks, and nothing else.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use base::rng::{Purpose, Stream};
use common::{ALL, count};
use fabric::import;
use std::{collections::BTreeMap, fmt::Write as _, fs, path::PathBuf};

/// A mistake that the second opinion makes on purpose.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Links keep their counts from level to level.
    KeepsCounts,
    /// A message gets what its least used link has.
    LeastUsed,
    /// The links to hosts do not count.
    NoEjection,
    /// A message that does not arrive counts on the links that it crossed.
    LostCount,
    /// A message waits for those that its sender sent, and not for those that it received.
    SentAlone,
}

const FAULTS: [Fault; 5] =
    [Fault::KeepsCounts, Fault::LeastUsed, Fault::NoEjection, Fault::LostCount, Fault::SentAlone];

/// What a mapping gives, in the words of the summary.
#[derive(Debug, PartialEq)]
struct Found {
    messages: u64,
    unreachable: u64,
    sum: u64,
    per_level: Vec<u32>,
    histogram: BTreeMap<u32, u64>,
    fraction: Option<f64>,
    /// By sum, of the links that were used.
    links: BTreeMap<u64, u64>,
    delay: u64,
    delay_of_orcs: u64,
}

/// Edges of a file of ours, in its order: tail, head, and the hosts for which the tail sends by it.
fn edges(text: &str) -> Vec<(&str, &str, Vec<&str>)> {
    let edge = |line| -> Option<_> {
        let words: Vec<&str> = str::split(line, '"').collect();
        let [_, tail, _, head, _, to, ..] = words[..] else { return None };
        Some((tail, head, to.split(',').collect()))
    };
    text.lines().filter_map(edge).collect()
}

/// Links of a message, and whether it arrives.
fn walk(edges: &[(&str, &str, Vec<&str>)], from: &str, to: &str) -> (Vec<usize>, bool) {
    let (mut at, mut links) = (from, Vec::new());
    while at != to {
        let next = edges.iter().position(|e| e.0 == at && (e.2 == ["*"] || e.2.contains(&to)));
        let Some(next) = next.filter(|_| links.len() < edges.len()) else { return (links, false) };
        links.push(next);
        at = edges[next].1;
        if at.starts_with('H') && at != to {
            return (links, false);
        }
    }
    (links, true)
}

/// Levels of a pattern of n ranks, by the formulas of the paper.
fn levels(name: &str, n: u32) -> Vec<Vec<(u32, u32)>> {
    let up = (0..).take_while(|l| 1 << l < n);
    match name {
        "gather" => vec![(1..n).map(|i| (i, 0)).collect()],
        "scatter" => vec![(1..n).map(|i| (0, i)).collect()],
        "bruck" => up.map(|l| (0..n).map(|i| (i, (i + (1 << l)) % n)).collect()).collect(),
        "tree" => {
            up.map(|l| (0..1 << l).map(|i| (i, i + (1 << l))).filter(|pair| pair.1 < n).collect()).collect()
        }
        "ring" => (0..n).map(|i| vec![(i, (i + 1) % n)]).collect(),
        "recdbl_paper" => {
            let both = |l: u32| (0..n).filter(move |i| i & 1 << l == 0 && i + (1 << l) < n);
            up.map(|l| both(l).flat_map(|i| [(i, i + (1 << l)), (i + (1 << l), i)]).collect()).collect()
        }
        "bisect" => vec![(0..n / 2).map(|i| (2 * i + 1, 2 * i)).collect()],
        _ => unreachable!("{name} is among these"),
    }
}

const PATTERNS: [&str; 7] = ["gather", "scatter", "bruck", "tree", "ring", "recdbl_paper", "bisect"];

/// Counts a pattern over ranks on these hosts.
fn naive(text: &str, name: &str, hosts: &[String], fault: Option<Fault>) -> Found {
    let edges = edges(text);
    let mut found = Found {
        messages: 0,
        unreachable: 0,
        sum: 0,
        per_level: Vec::new(),
        histogram: BTreeMap::new(),
        fraction: None,
        links: BTreeMap::new(),
        delay: 0,
        delay_of_orcs: 0,
    };
    let mut sent: Vec<Sent> = Vec::new();
    let (mut used, mut counts) = (vec![0u64; edges.len()], vec![0u32; edges.len()]);
    for (level, pairs) in levels(name, hosts.len() as u32).into_iter().enumerate() {
        let host = |rank: u32| hosts[rank as usize].as_str();
        let paths: Vec<_> = pairs.iter().map(|&(a, b)| walk(&edges, host(a), host(b))).collect();
        if fault != Some(Fault::KeepsCounts) {
            counts.fill(0);
        }
        let counted = |(links, arrives): &(Vec<usize>, bool)| -> Vec<usize> {
            let all = *arrives || fault == Some(Fault::LostCount);
            let ejects = |link: &usize| fault != Some(Fault::NoEjection) || !edges[*link].1.starts_with('H');
            links.iter().copied().filter(|_| all).filter(ejects).collect()
        };
        for link in paths.iter().flat_map(counted) {
            counts[link] += 1;
            used[link] += 1;
        }
        let mut most = 0;
        for (&(from, to), path) in pairs.iter().zip(&paths) {
            let on = path.0.iter().filter(|_| path.1).map(|&link| counts[link]);
            let got = if fault == Some(Fault::LeastUsed) { on.min() } else { on.max() };
            let congestion = got.unwrap_or(0);
            found.messages += 1;
            found.unreachable += u64::from(!path.1);
            if congestion > 0 {
                *found.histogram.entry(congestion).or_default() += 1;
            }
            most = most.max(congestion);
            sent.push(Sent { level, from, to, congestion: congestion.into(), ends: [0; 2] });
        }
        found.sum += u64::from(most);
        found.per_level.push(most);
    }
    delays(&mut sent, fault);
    found.delay = sent.iter().map(|s| s.ends[0]).max().unwrap_or(0);
    found.delay_of_orcs = sent.iter().map(|s| s.ends[1]).max().unwrap_or(0);
    let count: u64 = found.histogram.values().sum();
    let fractions = found.histogram.iter().map(|(&c, &n)| n as f64 / f64::from(c)).sum::<f64>();
    found.fraction = (count > 0).then_some(fractions / count as f64);
    for sum in used.into_iter().filter(|&sum| sum > 0) {
        *found.links.entry(sum).or_default() += 1;
    }
    found
}

/// A message of a level.
struct Sent {
    level: usize,
    from: u32,
    to: u32,
    congestion: u64,
    /// When it is over: all that its sender did before comes first; and by the program.
    ends: [u64; 2],
}

/// A message takes as long as its congestion, and waits for what its sender sent and received in earlier levels. In the program only the
/// first message of a sender in a level waits, for the first that it received in the level directly before.
fn delays(sent: &mut [Sent], fault: Option<Fault>) {
    for n in 0..sent.len() {
        let Sent { level, from, congestion, .. } = sent[n];
        let earlier = sent[..n].iter().filter(|s| s.level < level);
        let took = |s: &&Sent| s.from == from || (s.to == from && fault != Some(Fault::SentAlone));
        let start = earlier.filter(took).map(|s| s.ends[0]).max().unwrap_or(0);
        let first = !sent[..n].iter().any(|s| s.level == level && s.from == from);
        let received = sent[..n].iter().find(|s| s.level + 1 == level && s.to == from);
        let waits = received.filter(|_| first).map_or(0, |s| s.ends[1]);
        sent[n].ends = [start + congestion, waits + congestion];
    }
}

/// A network with parallel cables and tables that lead astray now and then, as text.
fn draw(dice: &mut Stream) -> (String, Vec<String>) {
    let (switches, count) = (1 + dice.below(6) as usize, 2 + dice.below(9) as usize);
    let hosts: Vec<String> = (0..count).map(|n| format!("H{n:02}")).collect();
    let at: Vec<usize> = hosts.iter().map(|_| dice.below(switches as u64) as usize).collect();
    let mut cables: Vec<(usize, usize)> = (1..switches).map(|s| (dice.below(s as u64) as usize, s)).collect();
    for _ in 0..dice.below(4) {
        let (a, b) = (dice.below(switches as u64) as usize, dice.below(switches as u64) as usize);
        cables.extend((a != b).then_some((a, b)));
    }
    let arcs: Vec<(usize, usize)> = cables.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
    let mut text = "digraph {\n".to_owned();
    let mut to: Vec<Vec<&str>> = vec![Vec::new(); arcs.len()];
    let (mut own, astray) = (vec![true; count], dice.below(3) == 0);
    for (host, &home) in hosts.iter().zip(&at) {
        let mut known = vec![false; switches];
        known[home] = true;
        while known.contains(&false) {
            let arc = dice.below(arcs.len() as u64) as usize;
            if !known[arcs[arc].0] && known[arcs[arc].1] {
                known[arcs[arc].0] = true;
                to[arc].push(host);
            }
        }
        if astray && dice.below(3) == 0 && !arcs.is_empty() {
            // An entry is lost, or leads another way: perhaps in a circle.
            let from = dice.below(switches as u64) as usize;
            let mine = |arc: &usize| arcs[*arc].0 == from;
            (0..arcs.len()).filter(mine).for_each(|arc| to[arc].retain(|h| *h != host.as_str()));
            let other = (0..arcs.len()).filter(mine).nth(dice.below(4) as usize);
            if let Some(other) = other.filter(|_| from != home) {
                to[other].push(host);
            }
            own[host[1..].parse::<usize>().unwrap()] = dice.below(2) == 0;
        }
    }
    for ((host, &home), own) in hosts.iter().zip(&at).zip(own) {
        let _ = writeln!(text, "\"{host}\" -> \"S{home}\" [comment = \"*\"];");
        let named = if own { host.as_str() } else { "nobody" };
        let _ = writeln!(text, "\"S{home}\" -> \"{host}\" [comment = \"{named}\"];");
    }
    for (&(a, b), to) in arcs.iter().zip(to) {
        let named = if to.is_empty() { "nobody".to_owned() } else { to.join(",") };
        let _ = writeln!(text, "\"S{a}\" -> \"S{b}\" [comment = \"{named}\"];");
    }
    text.push_str("}\n");
    (text, hosts)
}

/// The same by the crate.
fn ours(file: &str, name: &str, ranks: &[u32]) -> Found {
    let subnet = import::load(&[file.to_owned()]).unwrap();
    let found = count(&subnet, name, 2, ranks, ALL);
    let number = |n: &serde_json::Number| n.as_f64().unwrap() as u64;
    let by_number = |counted: &results::summary::Counted| -> BTreeMap<u64, u64> {
        counted.0.iter().map(|(key, count)| (key.parse().unwrap(), *count)).collect()
    };
    Found {
        messages: found.messages,
        unreachable: found.unreachable,
        sum: number(&found.sum_max_cong),
        per_level: found.max_cong_per_level,
        histogram: by_number(&found.hist_max_cong).into_iter().map(|(c, n)| (c as u32, n)).collect(),
        fraction: found.bandwidth_fraction,
        links: by_number(&found.edge_cong_hist),
        delay: found.dep_max_delay_all_deps.as_ref().map_or(0, number),
        delay_of_orcs: found.dep_max_delay_orcs2.as_ref().map_or(0, number),
    }
}

fn same(a: &Found, b: &Found) -> bool {
    let near = match (a.fraction, b.fraction) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-12,
        (a, b) => a.is_none() && b.is_none(),
    };
    let fraction = None;
    near && Found { fraction, ..copy(a) } == Found { fraction, ..copy(b) }
}

fn copy(found: &Found) -> Found {
    let Found { per_level, histogram, links, .. } = found;
    Found { per_level: per_level.clone(), histogram: histogram.clone(), links: links.clone(), ..*found }
}

#[test]
fn random_networks_are_counted_alike() {
    let cases = if std::env::var_os("NETLOOM_LONG").is_some() { 100_000 } else { 1_500 };
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("naive-congestion.dot").display().to_string();
    let mut missed: Vec<Fault> = FAULTS.to_vec();
    let mut unreachable = 0;
    for seed in 0..cases {
        let mut dice = Stream::new(seed, Purpose::Setup, 7);
        let (text, hosts) = draw(&mut dice);
        let name = PATTERNS[dice.below(PATTERNS.len() as u64) as usize];
        let mut ranks: Vec<u32> = (0..hosts.len() as u32).collect();
        dice.shuffle(&mut ranks);
        ranks.truncate(2 + dice.below(ranks.len() as u64 - 1) as usize);
        fs::write(&file, &text).unwrap();
        let names: Vec<String> = ranks.iter().map(|&rank| hosts[rank as usize].clone()).collect();
        let ours = ours(&file, name, &ranks);
        let theirs = naive(&text, name, &names, None);
        assert!(same(&ours, &theirs), "{seed}: {name} on {names:?}\n{text}\n{ours:?}\n{theirs:?}");
        unreachable += ours.unreachable;
        missed.retain(|&fault| same(&ours, &naive(&text, name, &names, Some(fault))));
    }
    assert!(missed.is_empty(), "no case shows {missed:?}");
    assert!(unreachable > cases / 10, "{unreachable} messages do not arrive");
}
