//! Reads a rank's lines ahead for the results of its tests, which are not in them.

use crate::program::{Damage, traces::files::RankLines};
use base::index::RankId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Source, destination and tag of a request.
type Name = (i64, i64, i64);

/// Lines of a rank's tests at which a request ended, as no wait follows.
pub(super) fn ended_by_tests(lines: &mut RankLines, rank: RankId) -> Result<BTreeSet<u64>, Damage> {
    let mut open: BTreeMap<Name, VecDeque<Option<u64>>> = BTreeMap::new();
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
                let name = (whole(), whole(), whole());
                if let Some(list) = open.get_mut(&name) {
                    list.pop_front();
                    if list.is_empty() {
                        open.remove(&name);
                    }
                }
            }
            "test" => {
                let name = (whole(), whole(), whole());
                if let Some(first) = open.get_mut(&name).and_then(|list| list.front_mut()) {
                    *first = Some(number);
                }
            }
            "waitall" => open.clear(),
            _ => {}
        }
    }
    Ok(open.into_values().flatten().flatten().collect())
}
