//! Parallel iterative matching: grants and acceptances by lot.

use super::matching::{Frame, Matching, Request, Side};
use crate::router::arbiter::Arbiter;
use base::registry::About;

pub(super) const ABOUT: About = About {
    name: "pim",
    summary: "Outputs grant and inputs accept by lot",
    doc: "Every free output grants one of its requests by lot, every input accepts one of its grants by lot; what is left is tried again, `iterations` times in all. \
          One iteration leaves on average a quarter of the requests at most; of a full matrix it matches about 63 %. `arbiter` is not asked: \
          lots are those of arbiter `random`. BookSim draws a place and takes the first request from there on, which favours requests behind a gap.",
    source: "Anderson, Owicki, Saxe, Thacker, High-Speed Switch Scheduling for Local-Area Networks, ACM TOCS 1993.",
    params: &[],
};

pub(super) fn allocate(frame: &Frame, words: &[u64], matching: &mut Matching) {
    for iteration in 0..frame.iterations {
        // Each iteration draws lots of its own.
        let frame = Frame { name: frame.name.wrapping_add(u64::from(iteration) << 56), ..*frame };
        let lot = |side| move |_: &Matching, r: &Request| frame.turn(Arbiter::Random, words, side, r);
        if !matching.two_stages(Side::Columns, lot(Side::Columns), lot(Side::Rows), |_, _| {}) {
            break;
        }
    }
}
