//! The oldest packet first.

use base::registry::About;

pub(super) const ABOUT: About = About {
    name: "age",
    summary: "The oldest packet",
    doc: "The packet whose message was created first wins; of equally old ones, the lowest port and virtual channel. It keeps no state. Packets \
          that have come far or waited long at their source are not held up by those just created, which narrows the latency's spread and gives equal shares.",
    source: "BookSim 2 (`priority = age`, by the time of creation); Abts and Weisser, Age-Based Packet Arbitration in Large-Radix k-ary n-cubes, SC 2007.",
    params: &[],
};
