//! iSLIP: outputs grant, inputs accept, and pointers move only where a grant of the first iteration was accepted.

use super::matching::{Frame, Matching, Side};
use base::registry::About;

pub(super) const ABOUT: About = About {
    name: "islip",
    summary: "Outputs grant, inputs accept; pointers move with first grants",
    doc: "Every free output grants one of its requests, every input accepts one of its grants; what is left is tried again, `iterations` times in all. Arbiters \
          note only what the first iteration granted and accepted. With round-robin arbiters this makes the outputs' pointers drift apart, so that \
          uniform traffic is switched without loss by one iteration.",
    source: "McKeown, The iSLIP Scheduling Algorithm for Input-Queued Switches, IEEE/ACM Transactions on Networking 1999.",
    params: &[],
};

pub(super) fn allocate(frame: &Frame, words: &[u64], matching: &mut Matching) {
    for iteration in 0..frame.iterations {
        let any = matching.two_stages(
            Side::Columns,
            |_, r| frame.turn(frame.arbiter, words, Side::Columns, r),
            |_, r| frame.turn(frame.arbiter, words, Side::Rows, r),
            |matching, n| {
                // Later iterations must not move pointers: a grant that is not the first could starve others.
                if iteration == 0 {
                    matching.learn(frame, n);
                }
            },
        );
        if !any {
            break;
        }
    }
}
