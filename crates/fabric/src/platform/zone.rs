//! Zones: parts of a platform that make routes by rule. Within a zone routes are listed, or shortest, or follow a cluster's topology;
//! between zones they go through gateways.

use super::zone::cluster::Cluster;
use std::collections::BTreeMap;

pub mod cluster;

/// How a zone makes routes between its own hosts and routers.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// Those that are listed.
    Full,
    /// The fewest listed routes in a row; of several the one through the lowest numbers.
    Shortest,
    /// None: nothing inside reaches anything inside, unless a route is listed.
    None,
    /// By the cluster's topology.
    Cluster(Cluster),
}

/// A route between two zones.
#[derive(Clone, Debug, PartialEq)]
pub struct Across {
    /// Where it begins and ends, inside the zones.
    pub gateways: (u32, u32),
    /// Links from the first gateway to the second, in order, by their numbers in the platform.
    pub links: Vec<u32>,
}

/// A zone: what it lies in, how it makes routes, and those that are listed.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    /// The zone around it.
    pub parent: Option<u32>,
    /// How it makes routes.
    pub rule: Rule,
    /// Listed routes, by source and destination.
    pub routes: BTreeMap<(u32, u32), Vec<u32>>,
    /// Routes between zones directly inside it.
    pub across: BTreeMap<(u32, u32), Across>,
}

/// All zones. A *point* is a host, numbered as the platform's hosts, or a router, numbered after them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Zones {
    /// Zone of each point.
    pub zone_of: Vec<u32>,
    /// Zones by their number, which [`Zones::zone_of`] and [`Zone::parent`] use.
    pub zones: Vec<Zone>,
}

/// Zones inside each other at most.
const DEPTH: u32 = 64;

impl Zones {
    /// Links from one point to another.
    #[must_use]
    pub fn route(&self, from: u32, to: u32) -> Option<Vec<u32>> {
        let mut links = Vec::new();
        self.find(from, to, DEPTH, &mut links)?;
        Some(links)
    }

    /// A zone and those around it, innermost first.
    fn around(&self, mut zone: u32) -> Vec<u32> {
        let mut all = vec![zone];
        while let Some(parent) = self.zones[zone as usize].parent {
            all.push(parent);
            zone = parent;
        }
        all
    }

    fn find(&self, from: u32, to: u32, depth: u32, out: &mut Vec<u32>) -> Option<()> {
        let (a, b) = (*self.zone_of.get(from as usize)?, *self.zone_of.get(to as usize)?);
        if a == b {
            return self.within(a, from, to, out);
        }
        let (around_a, around_b) = (self.around(a), self.around(b));
        let i = around_a.iter().position(|z| around_b.contains(z))?;
        let j = around_b.iter().position(|z| *z == around_a[i])?;
        // One of the points may lie in the common zone itself: then a route must be listed there.
        let (Some(i), Some(j), 1..) = (i.checked_sub(1), j.checked_sub(1), depth) else { return None };
        let common = &self.zones[*around_a.get(i + 1)? as usize];
        let across = common.across.get(&(around_a[i], around_b[j]))?;
        if across.gateways.0 != from {
            self.find(from, across.gateways.0, depth - 1, out)?;
        }
        out.extend_from_slice(&across.links);
        if across.gateways.1 != to {
            self.find(across.gateways.1, to, depth - 1, out)?;
        }
        Some(())
    }

    fn within(&self, zone: u32, from: u32, to: u32, out: &mut Vec<u32>) -> Option<()> {
        let zone = &self.zones[zone as usize];
        if let Some(links) = zone.routes.get(&(from, to)) {
            out.extend_from_slice(links);
            return Some(());
        }
        match &zone.rule {
            Rule::Full | Rule::None => None,
            Rule::Cluster(cluster) => cluster.route(from, to, out),
            Rule::Shortest => zone.shortest(from, to, out),
        }
    }
}

impl Zone {
    /// Breadth first over the listed routes.
    fn shortest(&self, from: u32, to: u32, out: &mut Vec<u32>) -> Option<()> {
        if from == to {
            return None;
        }
        let mut before: BTreeMap<u32, u32> = BTreeMap::from([(from, from)]);
        let mut wave = vec![from];
        while !before.contains_key(&to) && !wave.is_empty() {
            let mut next = Vec::new();
            for point in wave {
                for (&(_, end), _) in self.routes.range((point, 0)..=(point, u32::MAX)) {
                    if let std::collections::btree_map::Entry::Vacant(slot) = before.entry(end) {
                        slot.insert(point);
                        next.push(end);
                    }
                }
            }
            next.sort_unstable();
            wave = next;
        }
        let mut path = vec![to];
        while let Some(&point) = before.get(path.last()?) {
            if point == *path.last()? {
                break;
            }
            path.push(point);
        }
        path.reverse();
        if path.first() != Some(&from) {
            return None;
        }
        for pair in path.windows(2) {
            out.extend_from_slice(self.routes.get(&(pair[0], pair[1]))?);
        }
        Some(())
    }
}
