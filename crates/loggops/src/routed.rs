//! What the routing does otherwise than delays count: longer paths than the shortest, and packets of a message that go several ways at once.
//!
//! Packets of some pairs of terminals are walked through the idle network. Delays follow shortest paths, so the verdict says by how much those of the
//! routing differ. Of a routing that spreads packets a message here has one path, which matters where a link on it is slower than its interfaces.

use crate::routes::{Length, Lengths};
use base::{
    index::{RouterId, TerminalId},
    units::print_time,
};
use fabric::{
    graph::Fabric,
    routing::{Hop, Routing, walk},
};

/// The flag of routings whose paths are not the shortest.
pub const LONGER: &str = "shortest-paths";

/// The flag of routings that spread packets of a message.
pub const SPREADS: &str = "single-path";

/// Terminals whose pairs are walked, and draws of each pair.
const ENDS: usize = 16;
const DRAWS: u64 = 4;

/// Links of a path beyond which a packet goes in circles.
const MOST_LINKS: usize = 4_096;

/// Links or times that differ by less than a part of this many are not spoken of.
const PART: u64 = 20;

/// Sums over pairs: links between routers, and latency.
#[derive(Clone, Copy, Default)]
struct Sum {
    links: u64,
    latency: u64,
}

impl Sum {
    fn add(&mut self, length: Length) {
        self.links += u64::from(length.links);
        self.latency = self.latency.saturating_add(length.latency);
    }

    fn differs(&self, other: &Self) -> bool {
        let far = |a: u64, b: u64| a.abs_diff(b) > a.max(b) / PART;
        far(self.links, other.links) || far(self.latency, other.latency)
    }

    fn print(&self, pairs: u64) -> String {
        let links = self.links as f64 / pairs as f64;
        format!("{links:.1} links between routers and {}", print_time(self.latency / pairs))
    }
}

/// Flags of a verdict with their lines. `terminals` are those in use, in ascending order and all of one rail.
#[must_use]
pub fn flags(
    fabric: &Fabric,
    routing: &dyn Routing,
    lengths: &mut Lengths<'_>,
    terminals: &[TerminalId],
) -> Vec<(&'static str, String)> {
    let (mut shortest, mut routed, mut pairs, mut spreads) = (Sum::default(), Sum::default(), 0, false);
    let count = terminals.len().min(ENDS);
    let ends: Vec<TerminalId> = (0..count).map(|n| terminals[n * terminals.len() / count]).collect();
    let mut options = Vec::new();
    let routers: Vec<RouterId> = ends.iter().map(|&t| fabric.router_at(t)).collect();
    for &from in &ends {
        let counted = lengths.shortest(fabric, fabric.router_at(from), &routers);
        for (&to, least) in ends.iter().zip(counted) {
            let Some(least) = least.filter(|_| fabric.router_at(to) != fabric.router_at(from)) else {
                continue;
            };
            for draw in 0..DRAWS {
                let mut several = false;
                let mut look = |hop: &Hop| {
                    options.clear();
                    routing.options(hop, &mut options);
                    several |= options.windows(2).any(|w| w[0].port != w[1].port);
                };
                let start = walk::start(fabric, from, to, draw);
                let Some(path) = walk::walk(fabric, routing, start, MOST_LINKS, &mut look) else { continue };
                let length = lengths.along(fabric, &path);
                spreads |= several && length.slow;
                shortest.add(least);
                routed.add(length);
                pairs += 1;
            }
        }
    }
    let mut flags = Vec::new();
    if pairs > 0 && routed.differs(&shortest) {
        let (own, least) = (routed.print(pairs), shortest.print(pairs));
        let line =
            format!("paths of the routing have {own} on average; here all are shortest ones, of {least}");
        flags.push((LONGER, line));
    }
    if fabric.planes() > 1 {
        let line = "nodes have several rails; here each message takes the paths of the first";
        flags.push((SPREADS, line.to_owned()));
    }
    if spreads {
        let line = "the routing spreads a message's packets over several paths; here each message has one, at the pace of its slowest link";
        flags.push((SPREADS, line.to_owned()));
    }
    debug_assert!(pairs > 0 || !spreads, "nothing is said of paths that were not walked");
    flags
}
