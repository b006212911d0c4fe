//! Who sends to whom, from a list of pairs.
//!
//! ```text
//! # ranks, or hosts by name or GUID; a line `level` begins the next level
//! 0 1
//! 2 -> 3
//! level
//! node01 HCA-1 -> node02 HCA-1
//! ```

use super::mapping::Finder;
use base::{index::RankId, sorted::SortedMap};
use fabric::subnet::Subnet;
use workload::levels::Pair;

/// A pattern from a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairList {
    /// Sender and receiver, level by level.
    pub levels: Vec<Vec<Pair>>,
    /// Ranks that it needs, at least 1.
    pub ranks: u32,
    /// Host of each rank, if the list names hosts: in the order in which they appear.
    pub hosts: Option<Vec<u32>>,
}

/// Sender and receiver of a line: parted by `->`, a comma or tab, or else by blanks.
fn ends(line: &str) -> Option<(&str, &str)> {
    let (from, to) = line.split_once("->").or_else(|| line.split_once([',', '\t'])).or_else(|| {
        let (from, to) = line.split_once(' ')?;
        (!to.trim().contains(' ')).then_some((from, to))
    })?;
    let (from, to) = (from.trim(), to.trim());
    (!from.is_empty() && !to.is_empty()).then_some((from, to))
}

/// Reads a list. If all its words are numbers they are ranks, else hosts, by name, GUID (`0x..`) or number.
///
/// # Errors
/// Line (from 1; 0 for the list as a whole) and text of the first mistake.
pub fn from_text(subnet: &Subnet, text: &str) -> Result<PairList, (u64, String)> {
    let mut lines: Vec<(u64, Option<(&str, &str)>)> = Vec::new();
    for (number, line) in (1u64..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or("").trim();
        match line {
            "" => {}
            "level" => lines.push((number, None)),
            _ => {
                let both = ends(line)
                    .ok_or_else(|| (number, "a pair is written: FROM TO, or FROM -> TO".to_owned()))?;
                lines.push((number, Some(both)));
            }
        }
    }
    let words = lines.iter().filter_map(|(_, pair)| *pair).flat_map(|(a, b)| [a, b]);
    let of_ranks = words.clone().all(|word| word.parse::<u32>().is_ok());
    let finder = Finder::new(subnet);
    let (mut ranks, mut rank_of, mut hosts) = (0u32, SortedMap::new(), Vec::new());
    let mut rank = |line: u64, word: &str| -> Result<RankId, (u64, String)> {
        if of_ranks {
            let most = subnet.hosts.len();
            let number = word.parse().ok().filter(|&n: &u32| (n as usize) < most);
            let number = number
                .ok_or_else(|| (line, format!("rank {word} is too many: the network has {most} hosts")))?;
            ranks = ranks.max(number + 1);
            return Ok(RankId::new(number));
        }
        let host = finder.find(word).ok_or_else(|| (line, finder.unknown(word)))?;
        let next = hosts.len() as u32;
        let number = *rank_of.entry(host).or_insert_with(|| {
            hosts.push(host);
            next
        });
        Ok(RankId::new(number))
    };
    let mut levels = vec![Vec::new()];
    for (line, pair) in lines {
        match (pair, levels.last_mut()) {
            (Some((from, to)), Some(level)) => level.push((rank(line, from)?, rank(line, to)?)),
            _ => levels.push(Vec::new()),
        }
    }
    levels.retain(|level| !level.is_empty());
    if levels.is_empty() {
        return Err((0, "there is no pair in it".to_owned()));
    }
    let ranks = if of_ranks { ranks } else { hosts.len() as u32 };
    Ok(PairList { levels, ranks, hosts: (!of_ranks).then_some(hosts) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::import::{Source, read};

    const NET: &str = "Switch 4 \"S\"\n[1] \"Ha\"[1]\n[2] \"Hb 1\"[1]\n[3] \"Hc\"[1]\nHca 1 \"Ha\"\nHca 1 \"Hb 1\"\nHca 1 \"Hc\"\n";

    fn list(text: &str) -> Result<PairList, (u64, String)> {
        from_text(&read(vec![Source::memory("net", NET.as_bytes())]).expect("a network"), text)
    }

    #[test]
    fn pairs_are_of_ranks_or_of_hosts() {
        let pair = |a: u32, b: u32| (RankId::new(a), RankId::new(b));
        let ranks = list("# two levels\n0 1\n2 -> 0 # back\nlevel\n1,2\nlevel\n").expect("a list");
        assert_eq!(ranks.levels, [vec![pair(0, 1), pair(2, 0)], vec![pair(1, 2)]]);
        assert_eq!((ranks.ranks, ranks.hosts), (3, None));
        let hosts = list("Hc -> Hb 1\nHb 1 -> 0x100001\n").expect("a list");
        assert_eq!(hosts.levels, [vec![pair(0, 1), pair(1, 2)]]);
        assert_eq!((hosts.ranks, hosts.hosts), (3, Some(vec![2, 1, 0])));
    }

    #[test]
    fn mistakes_have_their_lines() {
        for (text, line, part) in [
            ("0 1\n2\n", 2, "FROM TO"),
            ("0 1 2\n", 1, "FROM TO"),
            ("0 3\n", 1, "the network has 3 hosts"),
            ("Ha -> \n", 1, "FROM TO"),
            ("Ha Hd\n", 1, "`Hd` is no host"),
            ("level\n# nothing\n", 0, "no pair"),
        ] {
            let (at, message) = list(text).expect_err(part);
            assert!(at == line && message.contains(part), "{text:?}: line {at}: {message}");
        }
    }
}
