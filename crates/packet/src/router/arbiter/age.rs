//! The oldest packet first.

use base::registry::About;

pub(super) const ABOUT: About = About {
    name: "age",
    summary: "The oldest packet",
    doc: "The packet that was handed to its terminal first wins; of equally old ones, the lowest port and virtual channel. It keeps no state. Packets \
          that have come far are not held up by those just injected, which narrows the latency's spread.",
    source: "Abts and Weisser, Age-Based Packet Arbitration in Large-Radix k-ary n-cubes, SC 2007.",
    params: &[],
};
