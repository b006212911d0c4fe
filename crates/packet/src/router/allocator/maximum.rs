//! Maximum size: as many grants as there can be.

use super::matching::{Frame, Matching};
use base::registry::About;
use engine::state::NIL;

pub(super) const ABOUT: About = About {
    name: "maximum-size",
    summary: "As many grants as there can be",
    doc: "Grants as many requests as can be granted together, by augmenting paths. It is the yardstick for others, too slow for hardware, and not always better: it can \
          starve a row for the sake of size, and rotation of where the search begins only makes that unlikely. Requests of lower levels never \
          cost a grant of higher ones. No arbiter is asked, and `iterations` is not.",
    source: "Hopcroft and Karp 1973 (the problem); Dally and Towles, section 19.1; BookSim 2 `max_size` (augmenting paths).",
    params: &[],
};

pub(super) fn allocate(frame: &Frame, _: &[u64], matching: &mut Matching) {
    let count = matching.requests.len();
    // A word per request: the allocation's visit of its column, and before them the place where each row's requests begin.
    let begin = (frame.step % count as u64) as usize;
    let levels = matching.requests.iter().fold(0u32, |set, r| set | 1 << r.level);
    let mut visited = std::mem::take(&mut matching.spare);
    visited.clear();
    visited.resize(frame.columns as usize, 0);
    let mut visit = 0;
    for level in (0..16).filter(|l| levels >> l & 1 == 1) {
        for k in 0..count {
            let n = (begin + k) % count;
            let request = matching.requests[n];
            let first = n == 0 || matching.requests[n - 1].row != request.row;
            if first && matching.matched[0][request.row as usize] == NIL {
                visit += 1;
                augment(matching, n, level, visit, &mut visited);
            }
        }
    }
    matching.spare = visited;
    let matched = &matching.matched[0];
    for (n, request) in (0u32..).zip(&matching.requests) {
        if matched[request.row as usize] == n {
            matching.grants.push(n);
        }
    }
}

/// Finds a column for the row whose requests begin at `first`, moving other rows to other columns; requests above the level do not count.
fn augment(matching: &mut Matching, first: usize, level: u8, visit: u64, visited: &mut [u64]) -> bool {
    let row = matching.requests[first].row;
    let end = first + matching.requests[first..].iter().take_while(|r| r.row == row).count();
    for n in first..end {
        let request = matching.requests[n];
        let column = request.column as usize;
        if request.level > level || visited[column] == visit {
            continue;
        }
        // Marked by the number of the search: nothing has to be cleared between searches.
        visited[column] = visit;
        let holder = matching.matched[1][column];
        // A column that is taken is free if its holder finds another one.
        let moved = holder == NIL || {
            let row = matching.requests[holder as usize].row;
            let mut first = holder as usize;
            while first > 0 && matching.requests[first - 1].row == row {
                first -= 1;
            }
            augment(matching, first, level, visit, visited)
        };
        if moved {
            matching.matched[0][row as usize] = n as u32;
            matching.matched[1][column] = n as u32;
            return true;
        }
    }
    false
}
