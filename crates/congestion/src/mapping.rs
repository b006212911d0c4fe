//! Which hosts take part, and which rank each of them is.
//!
//! First a subset of hosts is chosen, in some order; then each mapping deals ranks to it: as it stands, or shuffled anew.

use base::rng::{Purpose, Stream};
use fabric::subnet::{NONE, Subnet};
use std::collections::VecDeque;

/// Which hosts take part if there are more than ranks (ORCS: `--subset`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subset {
    /// At random, once for all mappings.
    Random,
    /// The first that a breadth-first search from the file's first node finds.
    LinearBfs,
    /// The least GUIDs.
    GuidAscending,
    /// The greatest GUIDs.
    GuidDescending,
}

/// So many hosts of a subnet, by their numbers. In the order of numbers if all take part and nothing else is asked.
#[must_use]
pub fn subset(subnet: &Subnet, how: Subset, ranks: u32, seed: u64) -> Vec<u32> {
    let all = subnet.hosts.len() as u32;
    let mut hosts: Vec<u32> = match how {
        Subset::LinearBfs => breadth_first(subnet),
        _ => (0..all).collect(),
    };
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
    debug_assert!(hosts.iter().all(|&h| h < all), "they are hosts of the subnet");
    hosts
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

/// Hosts in the order in which a breadth-first search over the links, from the first node on, meets them.
fn breadth_first(subnet: &Subnet) -> Vec<u32> {
    let mut seen = vec![false; subnet.nodes.len()];
    let mut queue: VecDeque<u32> = VecDeque::from([0]);
    seen[0] = true;
    let mut hosts = Vec::new();
    while let Some(node) = queue.pop_front() {
        debug_assert!(seen[node as usize], "a node is queued when it is first seen");
        if subnet.is_host(node) {
            hosts.push(subnet.place(node));
        }
        for &edge in subnet.out(node) {
            let to = subnet.edges[edge as usize].to;
            if !std::mem::replace(&mut seen[to as usize], true) {
                queue.push_back(to);
            }
        }
    }
    hosts
}

/// Hosts of the first ranks from the text of a file: a name, GUID (`0x..`) or number of a host on each line, or a JSON list of
/// numbers (also as `rank_to_host_index` of an object `mapping`). The order of ranks; `#` begins a comment.
///
/// # Errors
/// Line (from 1; 0 for JSON) and text of the first mistake.
pub fn from_text(subnet: &Subnet, text: &str) -> Result<Vec<u32>, (u64, String)> {
    let mut hosts = Vec::new();
    let trimmed = text.trim_start();
    let words: Vec<(u64, String)> = if trimmed.starts_with(['[', '{']) {
        let json: serde_json::Value =
            serde_json::from_str(trimmed).map_err(|e| (e.line() as u64, e.to_string()))?;
        let list = json
            .pointer("/mapping/rank_to_host_index")
            .or_else(|| json.get("rank_to_host_index"))
            .unwrap_or(&json);
        let list = list.as_array().ok_or((0, "a mapping is a list of host numbers".to_owned()))?;
        list.iter().map(|v| (0, v.as_str().map_or_else(|| v.to_string(), str::to_owned))).collect()
    } else {
        let lines = text.lines().map(|l| l.split('#').next().unwrap_or("").trim().to_owned());
        (1..).zip(lines).filter(|(_, l)| !l.is_empty()).collect()
    };
    let mut names: Vec<(&str, u32)> =
        (0u32..).zip(&subnet.hosts).map(|(i, &n)| (subnet.nodes[n as usize].name.as_str(), i)).collect();
    names.sort_unstable();
    let mut used = vec![false; subnet.hosts.len()];
    for (line, word) in words {
        let host = find(subnet, &names, &word);
        let host = host.ok_or_else(|| {
            (line, format!("`{word}` is no host: write a name, a GUID as 0x.., or a number"))
        })?;
        if std::mem::replace(&mut used[host as usize], true) {
            return Err((line, format!("host `{word}` is there twice")));
        }
        hosts.push(host);
    }
    Ok(hosts)
}

fn find(subnet: &Subnet, names: &[(&str, u32)], word: &str) -> Option<u32> {
    let at = names.partition_point(|(n, _)| *n < word);
    if let Some(&(name, host)) = names.get(at)
        && name == word
        && names.get(at + 1).is_none_or(|(n, _)| *n != word)
    {
        return Some(host);
    }
    if let Some(guid) =
        word.strip_prefix("0x").and_then(|d| u64::from_str_radix(d, 16).ok().filter(|&g| g != 0))
    {
        let is =
            |&n: &u32| [subnet.nodes[n as usize].port_guid, subnet.nodes[n as usize].guid].contains(&guid);
        return subnet.hosts.iter().position(is).map(|i| i as u32).filter(|&i| i != NONE);
    }
    word.parse().ok().filter(|&n: &u32| (n as usize) < subnet.hosts.len())
}

/// Deals ranks for a mapping: `hosts` from the rank `fixed` on in random order, which depends on seed, job and mapping alone.
pub fn shuffle(hosts: &mut [u32], fixed: usize, seed: u64, job: u32, run: u32) {
    let owner = 1 << 62 | u64::from(job) << 32 | u64::from(run);
    let from = fixed.min(hosts.len());
    Stream::new(seed, Purpose::Placement, owner).shuffle(&mut hosts[from..]);
}
