//! Reads a rank's lines ahead for the results of its tests, which are not in them.

use crate::program::{Damage, traces::files::RankLines};
use base::{
    index::RankId,
    sorted::{SortedMap, SortedSet},
};
use std::collections::VecDeque;

/// Source, destination and tag as the trace writes them; all zero where requests have no names.
pub(super) type Name = (i64, i64, i64);

/// The name under which a request of this one was opened: a receive from anybody is waited for by what it got.
pub(super) fn opened(name: Name, is_open: impl Fn(&Name) -> bool) -> Option<Name> {
    let (source, destination, tag) = name;
    let sources = [source, -555, -1];
    sources.into_iter().flat_map(|s| [tag, -444, -1].map(|t| (s, destination, t))).find(is_open)
}

/// Lines of a rank's tests at which a request ended, as no wait follows.
pub(super) fn ended_by_tests(lines: &mut RankLines, rank: RankId) -> Result<SortedSet<u64>, Damage> {
    let mut open: SortedMap<Name, VecDeque<Option<u64>>> = SortedMap::new();
    let me = i64::from(rank.number());
    while let Some((number, line)) = lines.next_line()? {
        let mut words = line.split_ascii_whitespace().skip(1);
        let action = words.next().unwrap_or("").to_ascii_lowercase();
        let mut whole = || words.next().and_then(|word| word.parse::<i64>().ok()).unwrap_or(0);
        match action.as_str() {
            "isend" | "irecv" => {
                let (partner, tag) = (whole(), whole());
                let name = if action == "isend" { (me, partner, tag) } else { (partner, me, tag) };
                open.entry(name).or_default().push_back(None);
            }
            "wait" => {
                let name = opened((whole(), whole(), whole()), |name| open.contains_key(name));
                if let Some(name) = name
                    && let Some(list) = open.get_mut(&name)
                {
                    list.pop_front();
                    if list.is_empty() {
                        open.remove(&name);
                    }
                }
            }
            "test" => {
                let name = opened((whole(), whole(), whole()), |name| open.contains_key(name));
                if let Some(first) = name.and_then(|name| open.get_mut(&name)?.front_mut()) {
                    *first = Some(number);
                }
            }
            "waitall" => open.clear(),
            _ => {}
        }
    }
    Ok(open.into_values().flatten().flatten().collect())
}
