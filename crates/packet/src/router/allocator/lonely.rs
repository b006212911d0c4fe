//! The lonely output allocator: inputs ask where few others do.

use super::matching::{Frame, Matching, Request, Side};
use base::registry::About;

pub(super) const ABOUT: About = About {
    name: "loa",
    summary: "Lonely output allocator: inputs ask where few others do",
    doc: "Every input chooses, of the outputs that it wants, the one that the fewest inputs want (ties by its arbiter); every output then chooses among those who came. An \
          input that is alone in wanting some output is always served. One iteration; `iterations` is not asked. \
          BookSim moves its pointers on by one with each grant, also if another was served.",
    source: "Gupta and McKeown, Designing and Implementing a Fast Crossbar Scheduler, IEEE Micro 1999; Dally and Towles, section 19.3.",
    params: &[],
};

pub(super) fn allocate(frame: &Frame, words: &[u64], matching: &mut Matching) {
    // How many want each column, then the least of these over what each row wants, its level before it.
    let mut wanted = std::mem::take(&mut matching.spare);
    let columns = frame.columns as usize;
    wanted.clear();
    wanted.resize(columns, 0);
    wanted.resize(columns + frame.rows as usize, u64::MAX);
    for request in &matching.requests {
        wanted[request.column as usize] += 1;
    }
    for request in &matching.requests {
        let row = columns + request.row as usize;
        wanted[row] = wanted[row].min(loneliness(&wanted, request));
    }
    matching.two_stages(
        Side::Rows,
        |_, r| {
            let least = loneliness(&wanted, r) == wanted[columns + r.row as usize];
            if least { frame.turn(frame.arbiter, words, Side::Rows, r) } else { u64::MAX }
        },
        |_, r| frame.turn(frame.arbiter, words, Side::Columns, r),
        |matching, n| matching.learn(frame, n),
    );
    matching.spare = wanted;
}

fn loneliness(wanted: &[u64], request: &Request) -> u64 {
    u64::from(request.level) << 32 | wanted[request.column as usize]
}
