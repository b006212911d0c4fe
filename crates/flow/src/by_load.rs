//! The parts of a message on the paths of a routing that chooses among them by load.
//!
//! Packets of the message ask the routing itself, one after another. It sees the messages that are on the links, the packets before included. So
//! whatever the rule is, parts follow it, and no rule is written down twice.

use super::walk::{Loads, Routed, WHOLE, follow};
use base::{index::TerminalId, rng::Stream};

/// Bytes of a packet: a message has no more packets than these need.
pub const PACKET: u64 = 2048;

/// Packets of a message that are asked: a power of two up to [`WHOLE`], so that each stands for a whole number of parts.
#[must_use]
pub fn packets(bytes: u64) -> u32 {
    bytes.div_ceil(PACKET).clamp(1, u64::from(WHOLE)).next_power_of_two() as u32
}

/// What packets answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The solver's links by number, with what crosses each in parts of [`WHOLE`].
    pub links: Vec<(u32, u32)>,
    /// Routers on the ways of all packets together.
    pub routers: u32,
    /// Number of packets.
    pub packets: u32,
}

impl Asked {
    /// Links with the part of the message that crosses each.
    #[must_use]
    pub fn parts(&self) -> Vec<(u32, f64)> {
        self.links.iter().map(|&(link, part)| (link, f64::from(part) / f64::from(WHOLE))).collect()
    }

    /// Routers on the way, in the mean over all packets.
    #[must_use]
    pub fn routers(&self) -> f64 {
        f64::from(self.routers) / f64::from(self.packets.max(1))
    }

    /// True if on some link it differs from what was before by more than one packet: less is the grain of the sample.
    #[must_use]
    pub fn differs(&self, mut before: impl Iterator<Item = (u32, u32)>) -> bool {
        let grain = WHOLE / self.packets.max(1);
        let (mut left, mut right) = (self.links.iter().copied().peekable(), before.by_ref().peekable());
        loop {
            let far = match (left.peek().copied(), right.peek().copied()) {
                (None, None) => return false,
                (Some((l, part)), r) if r.is_none_or(|r| l < r.0) => {
                    left.next();
                    part > grain
                }
                (l, Some((r, part))) if l.is_none_or(|l| r < l.0) => {
                    right.next();
                    part > grain
                }
                (Some((_, now)), Some((_, then))) => {
                    left.next();
                    right.next();
                    now.abs_diff(then) > grain
                }
                (Some(_), None) | (None, Some(_)) => return true,
            };
            if far {
                return true;
            }
        }
    }
}

/// Asks so many packets for their ways from one terminal to another. What is on the links is as before afterwards. `None` if a packet goes astray.
pub fn ask(
    routed: Routed<'_>,
    source: TerminalId,
    destination: TerminalId,
    random: &dyn Fn(u64) -> Stream,
    packets: u32,
    shared: &[u32],
    on: &mut [u32],
) -> Option<Asked> {
    debug_assert!(packets.is_power_of_two() && packets <= WHOLE, "each packet is a whole number of parts");
    let each = WHOLE / packets;
    let (mut crossed, mut routers, mut sound) = (Vec::with_capacity(8 * packets as usize), 0, true);
    for n in 0..u64::from(packets) {
        let from = crossed.len();
        let loads = Loads { shared, parts: on };
        match follow(routed, source, destination, random(n), &Some(loads), &mut crossed, &mut |_| ()) {
            Some(visited) => routers += visited,
            None => sound = false,
        }
        // The next packet sees it.
        crossed[from..].iter().for_each(|&link| on[shared[link as usize] as usize] += each);
        if !sound {
            break;
        }
    }
    crossed.iter_mut().for_each(|link| *link = shared[*link as usize]);
    crossed.iter().for_each(|&link| on[link as usize] -= each);
    crossed.sort_unstable();
    let links = crossed.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32 * each)).collect();
    sound.then_some(Asked { links, routers, packets })
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{param::Value, rng::Purpose};
    use model::samples::{int, routing, topology};

    #[test]
    fn short_messages_have_few_packets() {
        let sizes = [0, 1, PACKET, PACKET + 1, 3 * PACKET, 40 * PACKET, 1 << 40];
        assert_eq!(sizes.map(packets), [1, 1, 1, 2, 4, 32, 32]);
    }

    /// Four messages of a leaf at once and one that finds two ports up taken.
    #[test]
    fn packets_avoid_what_is_on_the_links() {
        let fabric = topology("fat-tree", &[("k", int(4)), ("levels", int(2))]);
        let up = [("up", Value::Text("least-queue".to_owned()))];
        let routing = routing(&fabric, "nearest-common-ancestor", &up);
        let routed = Routed { fabric: &fabric, routing: &*routing };
        let shared: Vec<u32> = (0..fabric.links()).collect();
        let mut on = vec![0; shared.len()];
        let (from, to) = (TerminalId::new(0), TerminalId::new(15));
        let stream = Stream::new(1, Purpose::Route, 0);
        let asked = |packets, on: &mut Vec<u32>| {
            let before = on.clone();
            let found = ask(routed, from, to, &|n| stream.owned_by(n), packets, &shared, on).expect("a way");
            assert_eq!(before, *on, "it leaves the links as they were");
            assert_eq!(found.links.iter().map(|l| l.1).sum::<u32>(), 4 * WHOLE);
            found
        };
        let even = asked(32, &mut on);
        assert_eq!(even.links.iter().filter(|l| l.1 == 8).count(), 8, "{even:?}");
        assert!((even.routers() - 3.0).abs() < 1e-12);
        assert_eq!(asked(1, &mut on).links.len(), 4);
        let ups: Vec<u32> = even.links.iter().filter(|l| l.1 == 8).map(|l| l.0).take(2).collect();
        ups.iter().for_each(|&l| on[l as usize] = WHOLE);
        let uneven = asked(32, &mut on);
        assert!(uneven.links.iter().all(|l| !ups.contains(&l.0)), "{uneven:?}");
        assert!(uneven.differs(even.links.iter().copied()));
        assert!(!even.differs(even.links.iter().copied()));
    }

    #[test]
    fn a_packet_more_or_less_is_no_difference() {
        let asked = |links: &[(u32, u32)]| Asked { links: links.to_vec(), routers: 1, packets: 16 };
        let one = asked(&[(1, 32), (3, 10), (5, 22)]);
        let differs = |links: &[(u32, u32)]| {
            let there = one.differs(links.iter().copied());
            assert_eq!(there, asked(links).differs(one.links.iter().copied()), "either way");
            there
        };
        assert!(!differs(&[(1, 32), (3, 12), (5, 20)]));
        assert!(differs(&[(1, 32), (3, 13), (5, 19)]));
        assert!(!differs(&[(1, 32), (2, 2), (3, 8), (5, 22)]));
        assert!(differs(&[(1, 32), (3, 10), (5, 19), (7, 3)]));
        assert!(differs(&[(1, 32), (5, 22)]));
    }
}
