//! Who sends to whom, from a list of pairs.
//!
//! ```text
//! # ranks, or hosts by name or GUID; a line `level` begins the next level
//! 0 1
//! 2 -> 3
//! level
//! node01 HCA-1 -> node02 HCA-1
//! ```

use super::mapping::{Finder, Mistake};
use base::{index::RankId, mistakes::Mistakes, sorted::SortedMap};
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

/// A line of a list.
enum Line<'a> {
    Level,
    Pair(&'a str, &'a str),
    Wrong,
}

/// Lines of a list that say something, and their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (u64, Line<'_>)> {
    (1..).zip(text.lines()).filter_map(|(number, line)| {
        let line = match line.split('#').next().unwrap_or("").trim() {
            "" => return None,
            "level" => Line::Level,
            line => ends(line).map_or(Line::Wrong, |(from, to)| Line::Pair(from, to)),
        };
        Some((number, line))
    })
}

/// What the words of a list are.
enum Names<'a> {
    /// Ranks: the highest decides how many.
    Ranks { most: u32 },
    /// Hosts: a rank for each, in the order in which they come.
    Hosts { finder: Finder<'a>, rank_of: SortedMap<u32, u32>, hosts: Vec<u32> },
}

impl Names<'_> {
    /// The rank that a word means.
    fn rank(&mut self, word: &str, known: u32) -> Result<RankId, String> {
        match self {
            Self::Ranks { most } => {
                let number = word.parse().ok().filter(|&n: &u32| n < known);
                let number = number
                    .ok_or_else(|| format!("rank {word} is too many: the network has {known} hosts"))?;
                *most = number.max(*most);
                Ok(RankId::new(number))
            }
            Self::Hosts { finder, rank_of, hosts } => {
                let host = finder.find(word).ok_or_else(|| finder.unknown(word))?;
                let next = hosts.len() as u32;
                let number = *rank_of.entry(host).or_insert_with(|| {
                    hosts.push(host);
                    next
                });
                Ok(RankId::new(number))
            }
        }
    }
}

/// Reads a list. If all its words are numbers they are ranks, else hosts, by name, GUID (`0x..`) or number.
///
/// # Errors
/// Its mistakes: as many as are shown, and the number of the others.
pub fn from_text(subnet: &Subnet, text: &str) -> Result<PairList, Vec<Mistake>> {
    let number = |word: &str| word.parse::<u32>().is_ok();
    let of_ranks = lines(text).all(|(_, line)| !matches!(line, Line::Pair(a, b) if !number(a) || !number(b)));
    let mut names = match of_ranks {
        true => Names::Ranks { most: 0 },
        false => Names::Hosts { finder: Finder::new(subnet), rank_of: SortedMap::new(), hosts: Vec::new() },
    };
    let (mut levels, mut mistakes, known) =
        (vec![Vec::new()], Mistakes::default(), subnet.hosts.len() as u32);
    for (number, line) in lines(text) {
        let pair = match line {
            Line::Level if levels.last().is_some_and(Vec::is_empty) => continue,
            Line::Level => {
                levels.push(Vec::new());
                continue;
            }
            Line::Wrong => Err("a pair is written: FROM TO, or FROM -> TO".to_owned()),
            Line::Pair(from, to) => {
                names.rank(from, known).and_then(|from| Ok((from, names.rank(to, known)?)))
            }
        };
        match (pair, levels.last_mut()) {
            (Ok(pair), Some(level)) => level.push(pair),
            (Ok(_), None) => {}
            (Err(message), _) => mistakes.push(Mistake::new(number, message)),
        }
    }
    mistakes.done(Mistake::others)?;
    levels.retain(|level| !level.is_empty());
    if levels.is_empty() {
        return Err(vec![Mistake::whole("there is no pair in it")]);
    }
    Ok(match names {
        Names::Ranks { most } => PairList { levels, ranks: most + 1, hosts: None },
        Names::Hosts { hosts, .. } => PairList { levels, ranks: hosts.len() as u32, hosts: Some(hosts) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::import::{Source, read};

    const NET: &str = "Switch 4 \"S\"\n[1] \"Ha\"[1]\n[2] \"Hb 1\"[1]\n[3] \"Hc\"[1]\nHca 1 \"Ha\"\nHca 1 \"Hb 1\"\nHca 1 \"Hc\"\n";

    fn list(text: &str) -> Result<PairList, Vec<Mistake>> {
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
            let mistakes = list(text).expect_err(part);
            assert!(mistakes[0].line == line && mistakes[0].message.contains(part), "{text:?}: {mistakes:?}");
        }
    }
}
