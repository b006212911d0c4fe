//! Which hosts take part, and which rank each of them is.
//!
//! First a subset of hosts is chosen, in some order; then each mapping deals ranks to it: as it stands, or shuffled anew. The first
//! ranks may have a subset of their own ([`part_first`]), which is shuffled by itself.

use base::{
    mistakes::{Mistakes, Others},
    rng::{Purpose, Stream},
    sorted::SortedMap,
};
use fabric::subnet::{NONE, Subnet};
use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::collections::VecDeque;

/// Which hosts take part if there are more than ranks (ORCS: `--subset`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subset {
    /// At random, once for all mappings.
    Random,
    /// The first that a breadth-first search from the file's first node finds. Neighbours of a node come in the order in which the file
    /// (in other forms than DOT: the network written as DOT) names them first, as ORCS' graph library has them.
    LinearBfs,
    /// The least GUIDs.
    GuidAscending,
    /// The greatest GUIDs.
    GuidDescending,
}

/// So many hosts of a subnet, by their numbers, or of those in `pool`. In the order of numbers, or of the pool, if all take part and
/// nothing else is asked.
#[must_use]
pub fn subset(subnet: &Subnet, how: Subset, pool: Option<&[u32]>, ranks: u32, seed: u64) -> Vec<u32> {
    let every = || (0..subnet.hosts.len() as u32).collect();
    let mut hosts: Vec<u32> = match (how, pool) {
        (Subset::LinearBfs, None) => breadth_first(subnet),
        (Subset::LinearBfs, Some(pool)) => among(subnet, breadth_first(subnet), pool),
        (_, pool) => pool.map_or_else(every, <[u32]>::to_vec),
    };
    let all = hosts.len() as u32;
    let guid = |&host: &u32| identity(subnet, host);
    match how {
        Subset::GuidAscending => hosts.sort_by_key(guid),
        Subset::GuidDescending => hosts.sort_by_key(|h| std::cmp::Reverse(guid(h))),
        Subset::Random if ranks < all => {
            Stream::new(seed, Purpose::Placement, 1 << 63).shuffle(&mut hosts);
            hosts.truncate(ranks as usize);
            hosts.sort_unstable();
        }
        _ => {}
    }
    hosts.truncate(ranks as usize);
    debug_assert!(hosts.iter().all(|&h| (h as usize) < subnet.hosts.len()), "they are hosts of the subnet");
    hosts
}

/// Those of `hosts` that are in a pool.
#[must_use]
pub fn among(subnet: &Subnet, mut hosts: Vec<u32>, pool: &[u32]) -> Vec<u32> {
    let mut is = vec![false; subnet.hosts.len()];
    pool.iter().for_each(|&h| is[h as usize] = true);
    hosts.retain(|&h| is[h as usize]);
    hosts
}

/// Puts `part` of the hosts first, chosen among them in their turn (ORCS: `--part_subset`); the others keep their order. At random they
/// come in the order in which they are drawn.
pub fn part_first(subnet: &Subnet, hosts: &mut Vec<u32>, how: Subset, part: u32, seed: u64) {
    let first = match how {
        Subset::Random => {
            let mut drawn = hosts.clone();
            Stream::new(seed, Purpose::Placement, 1 << 63 | 1).shuffle(&mut drawn);
            drawn.truncate(part as usize);
            drawn
        }
        how => subset(subnet, how, Some(hosts), part, seed),
    };
    let mut taken = vec![false; subnet.hosts.len()];
    first.iter().for_each(|&h| taken[h as usize] = true);
    let all = hosts.len();
    hosts.retain(|&h| !taken[h as usize]);
    hosts.splice(0..0, first);
    debug_assert!(hosts.len() == all, "hosts change places, and none comes or goes");
}

/// The number by which a host is ordered: its GUID, or the hexadecimal digits after the first letter of its name, as ORCS reads them.
fn identity(subnet: &Subnet, host: u32) -> u64 {
    let node = &subnet.nodes[subnet.hosts[host as usize] as usize];
    if node.port_guid != 0 {
        return node.port_guid;
    }
    let digits: String = node.name.chars().skip(1).take_while(char::is_ascii_hexdigit).take(16).collect();
    u64::from_str_radix(&digits, 16).unwrap_or(0)
}

/// Place of each node in the order in which a DOT file of the network names them first: that of its own file, or of its links.
fn appearance(subnet: &Subnet) -> Vec<u32> {
    if subnet.as_listed {
        return (0..subnet.nodes.len() as u32).collect();
    }
    let (mut place, mut next) = (vec![NONE; subnet.nodes.len()], 0);
    let ends = subnet.edges.iter().flat_map(|e| [e.from, e.to]).chain(0..subnet.nodes.len() as u32);
    for node in ends {
        if place[node as usize] == NONE {
            place[node as usize] = next;
            next += 1;
        }
    }
    debug_assert!(next as usize == place.len(), "each node has a place");
    place
}

/// Hosts in the order in which a breadth-first search over the links, from the first node on, meets them.
fn breadth_first(subnet: &Subnet) -> Vec<u32> {
    let place = appearance(subnet);
    let first = (0u32..).zip(&place).min_by_key(|(_, place)| **place).map_or(0, |(node, _)| node);
    let mut seen = vec![false; subnet.nodes.len()];
    let mut queue: VecDeque<u32> = VecDeque::from([first]);
    seen[first as usize] = true;
    let (mut hosts, mut near) = (Vec::new(), Vec::new());
    while let Some(node) = queue.pop_front() {
        debug_assert!(seen[node as usize], "a node is queued when it is first seen");
        if subnet.is_host(node) {
            hosts.push(subnet.place(node));
        }
        near.clear();
        near.extend(subnet.out(node).iter().map(|&edge| subnet.edges[edge as usize].to));
        near.sort_unstable_by_key(|&to| place[to as usize]);
        for &to in &near {
            if !std::mem::replace(&mut seen[to as usize], true) {
                queue.push_back(to);
            }
        }
    }
    hosts
}

/// A mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Number of the line, from 1; 0 if the file as a whole, or a list in JSON, is meant.
    pub line: u64,
    /// What is wrong.
    pub message: String,
    /// How many mistakes it stands for: more than one where others are counted only.
    pub count: usize,
}

impl Mistake {
    pub(crate) fn new(line: u64, message: impl Into<String>) -> Self {
        Self { line, message: message.into(), count: 1 }
    }

    /// Of the whole file.
    pub(crate) fn whole(message: impl Into<String>) -> Self {
        Self::new(0, message)
    }

    /// Those of a file that are counted only.
    pub(crate) fn others(Others { count, message }: Others) -> Self {
        Self { count, ..Self::whole(message) }
    }
}

/// Where a host stands in a list.
#[derive(Clone, Copy)]
enum At {
    /// On a line of text.
    Line(u64),
    /// At this place of a list in JSON, from 0.
    Entry(u64),
}

impl At {
    fn mistake(self, message: &str) -> Mistake {
        match self {
            Self::Line(line) => Mistake::new(line, message),
            Self::Entry(entry) => Mistake::whole(format!("entry {entry}: {message}")),
        }
    }
}

/// Hosts of the first ranks as they are read.
struct Listed<'a> {
    finder: Finder<'a>,
    used: Vec<bool>,
    hosts: Vec<u32>,
    mistakes: Mistakes<Mistake>,
}

impl Listed<'_> {
    fn add(&mut self, at: At, word: &str) {
        let Some(host) = self.finder.find(word) else {
            return self.mistakes.push_with(|| at.mistake(&self.finder.unknown(word)));
        };
        if std::mem::replace(&mut self.used[host as usize], true) {
            let message = || format!("host `{word}` is there twice");
            return self.mistakes.push_with(|| at.mistake(&message()));
        }
        self.hosts.push(host);
    }
}

/// Hosts of the first ranks from the text of a file: a name, GUID (`0x..`) or number of a host on each line, or a JSON list of
/// numbers (also as `rank_to_host_index` of an object `mapping`). The order of ranks; `#` begins a comment.
///
/// # Errors
/// Its mistakes: as many as are shown, and the number of the others.
pub fn from_text(subnet: &Subnet, text: &str) -> Result<Vec<u32>, Vec<Mistake>> {
    let mut listed = Listed {
        finder: Finder::new(subnet),
        used: vec![false; subnet.hosts.len()],
        hosts: Vec::new(),
        mistakes: Mistakes::default(),
    };
    let trimmed = text.trim_start();
    if trimmed.starts_with(['[', '{']) {
        let before = text[..text.len() - trimmed.len()].matches('\n').count() as u64;
        let no_json = |e: serde_json::Error| Mistake::new(before + e.line() as u64, e.to_string());
        let whole: &RawValue = serde_json::from_str(trimmed).map_err(|e| vec![no_json(e)])?;
        let mut entry = 0;
        list_in(whole).elements(|element| {
            let at = At::Entry(entry);
            entry += 1;
            match serde_json::from_str::<String>(element) {
                Ok(name) => listed.add(at, &name),
                Err(_) => listed.add(at, element),
            }
        })?;
    } else {
        for (line, text) in (1..).zip(text.lines()) {
            let word = text.split('#').next().unwrap_or("").trim();
            if !word.is_empty() {
                listed.add(At::Line(line), word);
            }
        }
    }
    listed.mistakes.done(Mistake::others).map(|()| listed.hosts)
}

/// Text of the list in a JSON value: that of an object, or the value itself.
fn list_in(whole: &RawValue) -> List<'_> {
    #[derive(Deserialize)]
    struct Object<'a> {
        #[serde(borrow)]
        mapping: Option<&'a RawValue>,
        #[serde(borrow)]
        rank_to_host_index: Option<&'a RawValue>,
    }
    fn object(value: &RawValue) -> Option<Object<'_>> {
        // A list of two would be one, too.
        value.get().starts_with('{').then(|| serde_json::from_str(value.get()).ok())?
    }
    let outer = object(whole);
    let inner = outer.as_ref().and_then(|o| o.mapping).and_then(object);
    let list = inner.and_then(|o| o.rank_to_host_index).or(outer.and_then(|o| o.rank_to_host_index));
    List(list.unwrap_or(whole).get())
}

/// A list in JSON. Its elements are read one by one: none is kept.
struct List<'a>(&'a str);

impl<'a> List<'a> {
    /// Calls `each` with the text of every element.
    fn elements(self, each: impl FnMut(&'a str)) -> Result<(), Vec<Mistake>> {
        struct Elements<F>(F);
        impl<'de, F: FnMut(&'de str)> Visitor<'de> for Elements<F> {
            type Value = ();

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
                while let Some(element) = list.next_element::<&RawValue>()? {
                    (self.0)(element.get());
                }
                Ok(())
            }
        }
        serde_json::Deserializer::from_str(self.0)
            .deserialize_seq(Elements(each))
            .map_err(|_| vec![Mistake::whole("a mapping is a list of host numbers")])
    }
}

/// Hosts by what users call them.
pub(crate) struct Finder<'a> {
    subnet: &'a Subnet,
    /// Sorted names and their hosts.
    names: Vec<(&'a str, u32)>,
    /// GUIDs of ports and adapters, and their first hosts.
    guids: SortedMap<u64, u32>,
}

impl<'a> Finder<'a> {
    pub(crate) fn new(subnet: &'a Subnet) -> Self {
        let node = |&n: &u32| &subnet.nodes[n as usize];
        let hosts = || (0u32..).zip(&subnet.hosts);
        let mut names: Vec<(&str, u32)> = hosts().map(|(i, n)| (node(n).name.as_str(), i)).collect();
        names.sort_unstable();
        let mut guids = SortedMap::new();
        for (host, n) in hosts() {
            for guid in [node(n).port_guid, node(n).guid] {
                guids.entry(guid).or_insert(host);
            }
        }
        Self { subnet, names, guids }
    }

    /// A host by its name if no other has it, its GUID or its number.
    pub(crate) fn find(&self, word: &str) -> Option<u32> {
        let at = self.names.partition_point(|(n, _)| *n < word);
        if let Some(&(name, host)) = self.names.get(at)
            && name == word
            && self.names.get(at + 1).is_none_or(|(n, _)| *n != word)
        {
            return Some(host);
        }
        let digits = word.strip_prefix("0x").and_then(|d| u64::from_str_radix(d, 16).ok());
        if let Some(guid) = digits.filter(|&guid| guid != 0) {
            return self.guids.get(&guid).copied();
        }
        word.parse().ok().filter(|&n: &u32| (n as usize) < self.subnet.hosts.len())
    }

    /// Why a word is none.
    pub(crate) fn unknown(&self, word: &str) -> String {
        let same = self.names.iter().filter(|(name, _)| *name == word).count();
        if same > 1 {
            return format!("{same} hosts are called `{word}`: write a GUID as 0x.., or a number");
        }
        format!("`{word}` is no host: write a name, a GUID as 0x.., or a number")
    }
}

/// Deals ranks for a mapping: `hosts` from the rank `fixed` on in random order, which depends on seed, job and mapping alone. The first
/// `part` ranks, if that is more than are fixed, are shuffled among themselves, and the others too.
pub fn shuffle(hosts: &mut [u32], fixed: usize, part: usize, seed: u64, job: u32, run: u32) {
    let owner = 1 << 62 | u64::from(job) << 32 | u64::from(run);
    let from = fixed.min(hosts.len());
    let rest = part.clamp(from, hosts.len());
    Stream::new(seed, Purpose::Placement, owner).shuffle(&mut hosts[rest..]);
    Stream::new(seed, Purpose::Placement, owner | 1 << 63).shuffle(&mut hosts[from..rest]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::{
        export,
        import::{Source, read},
    };

    fn network(bytes: &[u8]) -> Subnet {
        read(vec![Source::memory("net", bytes)]).expect("a network")
    }

    fn names(subnet: &Subnet, hosts: &[u32]) -> Vec<String> {
        hosts.iter().map(|&h| subnet.nodes[subnet.hosts[h as usize] as usize].name.clone()).collect()
    }

    /// Neighbours come in the order in which the file names them first, not in that of the links: so has graphviz its out-edges.
    #[test]
    fn a_search_goes_as_in_orcs() {
        let text = b"digraph x { S1; H9; S1 -> S2; S2 -> H4; S1 -> H1; S1 -> H9; S2 -> H3; H9 -> S1; H1 -> S1; H4 -> S2; H3 -> S2; S2 -> S1 }";
        let subnet = network(text);
        let found = subset(&subnet, Subset::LinearBfs, None, 4, 1);
        assert_eq!(names(&subnet, &found), ["H9", "H1", "H4", "H3"]);
        let two = subset(&subnet, Subset::LinearBfs, Some(&[0, 1, 2]), 2, 1);
        assert_eq!(names(&subnet, &two), ["H1", "H4"], "of H1, H3, H4");
        // Nor does the order of the file go when something fails.
        let whole = subnet.degraded(&fabric::faults::Faults::default()).expect("nothing fails").0;
        let found = subset(&whole, Subset::LinearBfs, None, 4, 1);
        assert_eq!(names(&whole, &found), ["H9", "H1", "H4", "H3"]);
    }

    /// Of other files the order is that of the network written as DOT.
    #[test]
    fn a_search_is_the_same_after_conversion() {
        let net = b"Switch 4 \"S0\"\n[1] \"S2\"[1]\n[2] \"S1\"[1]\n[3] \"H3\"[1]\nSwitch 4 \"S1\"\n[2] \"H1\"[1]\n[3] \"H0\"[1]\nSwitch 4 \"S2\"\n[3] \"H2\"[1]\n\
                    Hca 1 \"H0\"\nHca 1 \"H1\"\nHca 1 \"H2\"\nHca 1 \"H3\"\n";
        let subnet = network(net);
        let mut dot = Vec::new();
        export::cluster::dot(&subnet, &mut dot).expect("written");
        let again = network(&dot);
        for ranks in [2, 4] {
            let search = |subnet: &Subnet| names(subnet, &subset(subnet, Subset::LinearBfs, None, ranks, 1));
            assert_eq!(search(&subnet), search(&again));
        }
        assert_eq!(names(&subnet, &subset(&subnet, Subset::LinearBfs, None, 4, 1)), ["H3", "H2", "H1", "H0"]);
    }

    #[test]
    fn lists_are_lines_or_json() {
        let subnet = network(b"digraph x { S -> H1; H1 -> S; S -> H2; H2 -> S; S -> H3; H3 -> S }");
        let read = |text: &str| from_text(&subnet, text);
        for text in [
            "H3 # the last\n\n0\n",
            "[2, 0]",
            "\n[\"H3\", \"H1\"]",
            r#"{"rank_to_host_index": [2, 0]}"#,
            r#"{"mapping": {"rank_to_host_index": [2, 0]}, "rank_to_host_index": [1], "more": {}}"#,
            r#"{"mapping": 3, "rank_to_host_index": [2, 0]}"#,
        ] {
            assert_eq!(read(text), Ok(vec![2, 0]), "{text}");
        }
        for (text, line, part) in [
            ("H1\nH1\n", 2, "twice"),
            ("[0, 0]", 0, "twice"),
            ("[0, 3]", 0, "`3` is no host"),
            ("[0, [1]]", 0, "`[1]` is no host"),
            ("{}", 0, "a mapping is a list"),
            ("\n\n[0,\n 1", 4, "EOF"),
            ("[0] 1", 1, "trailing"),
        ] {
            let mistakes = read(text).expect_err(part);
            assert!(mistakes[0].line == line && mistakes[0].message.contains(part), "{text}: {mistakes:?}");
        }
    }

    #[test]
    fn parts_are_chosen_and_shuffled_by_themselves() {
        let ends: String = (1..9).map(|i| format!("S -> H{i}; H{i} -> S; ")).collect();
        let subnet = network(format!("digraph x {{ {ends} }}").as_bytes());
        let mut hosts: Vec<u32> = (0..8).collect();
        part_first(&subnet, &mut hosts, Subset::GuidDescending, 3, 1);
        assert_eq!(hosts, [7, 6, 5, 0, 1, 2, 3, 4]);
        part_first(&subnet, &mut hosts, Subset::Random, 4, 1);
        let first: Vec<u32> = hosts[..4].to_vec();
        for run in 0..20 {
            let mut dealt = hosts.clone();
            shuffle(&mut dealt, 1, 4, 5, 0, run);
            assert_eq!(dealt[0], hosts[0], "it is fixed");
            assert!(
                dealt[..4].iter().all(|h| first.contains(h)) && dealt[4..].iter().all(|h| !first.contains(h))
            );
        }
    }
}
