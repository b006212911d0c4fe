//! Separable allocation: one side chooses, then the other among what was chosen.

use super::matching::{Frame, Matching, Side};
use base::registry::About;

pub(super) const INPUT_FIRST: About = About {
    name: "separable-input-first",
    summary: "Inputs choose one request each, then outputs",
    doc: "Every free input chooses one of its requests, and every output one of those; what is left is tried again, `iterations` times in all. Arbiters note whatever \
          was granted. Inputs that choose the same output lose the cycle: a matching is maximal only after as many iterations as there are ports.",
    source: "Dally and Towles, Principles and Practices of Interconnection Networks, section 19.3; BookSim 2 (one iteration).",
    params: &[],
};

pub(super) const OUTPUT_FIRST: About = About {
    name: "separable-output-first",
    summary: "Outputs choose one request each, then inputs",
    doc: "Every free output chooses one of its requests, and every input one of those; what is left is tried again, `iterations` times in all. Arbiters note whatever \
          was granted: with one iteration this is iSLIP.",
    source: "Dally and Towles, Principles and Practices of Interconnection Networks, section 19.3; BookSim 2 (one iteration).",
    params: &[],
};

pub(super) fn input_first(frame: &Frame, words: &[u64], matching: &mut Matching) {
    allocate(frame, words, matching, Side::Rows);
}

pub(super) fn output_first(frame: &Frame, words: &[u64], matching: &mut Matching) {
    allocate(frame, words, matching, Side::Columns);
}

fn allocate(frame: &Frame, words: &[u64], matching: &mut Matching, first: Side) {
    for _ in 0..frame.iterations {
        let any = matching.two_stages(
            first,
            |_, r| frame.turn(frame.arbiter, words, first, r),
            |_, r| frame.turn(frame.arbiter, words, first.other(), r),
            |matching, n| matching.learn(frame, n),
        );
        // Nothing is left that could be granted: further iterations would find the same.
        if !any {
            break;
        }
    }
}
