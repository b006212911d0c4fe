//! Zones: parts of a platform that make routes by rule. Within a zone routes are listed, or shortest, or follow a cluster's topology;
//! between zones they go through gateways.

use super::zone::{
    cluster::Cluster,
    shortest::{Hops, MOST_PLACES, Table, search},
};
use std::collections::{BTreeMap, BTreeSet};

pub mod cluster;
pub mod shortest;

/// How a zone makes routes between its own hosts and routers.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// Those that are listed.
    Full,
    /// Listed routes in a row with the fewest links, by a table for points and one for the zones inside.
    Floyd(Table, Table),
    /// The same, found anew each time: of equals it may take another.
    Dijkstra,
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
        // Where one route ends and the next begins at different gateways of a zone, what lies between them is crossed.
        let mut here = from;
        for hop in common.between(around_a[i], around_b[j])? {
            let across = common.across.get(&hop)?;
            if across.gateways.0 != here {
                self.find(here, across.gateways.0, depth - 1, out)?;
            }
            out.extend_from_slice(&across.links);
            here = across.gateways.1;
        }
        if here != to {
            self.find(here, to, depth - 1, out)?;
        }
        Some(())
    }

    fn within(&self, zone: u32, from: u32, to: u32, out: &mut Vec<u32>) -> Option<()> {
        let zone = &self.zones[zone as usize];
        let hops = match &zone.rule {
            // Of a point to itself only what is listed.
            Rule::Floyd(points, _) if from != to => points.path(from, to)?,
            Rule::Dijkstra if from != to => search(&zone.routes, Vec::len, from, to)?,
            Rule::Cluster(cluster) if !zone.routes.contains_key(&(from, to)) => {
                return cluster.route(from, to, out);
            }
            _ => vec![(from, to)],
        };
        for hop in hops {
            out.extend_from_slice(zone.routes.get(&hop)?);
        }
        Some(())
    }
}

impl Zone {
    /// Fills the tables of a Floyd zone, once all routes are listed.
    pub fn seal(&mut self) {
        let Rule::Floyd(points, zones) = &mut self.rule else { return };
        let routes = self.routes.iter().map(|(&ends, links)| (ends, links.len())).collect();
        let across = self.across.iter().map(|(&ends, across)| (ends, across.links.len())).collect();
        (*points, *zones) = (Table::new(&routes), Table::new(&across));
    }

    /// False if tables of the routes that are listed would be too large.
    #[must_use]
    pub fn fits(&self) -> bool {
        let few = |ends: &mut dyn Iterator<Item = u32>| ends.collect::<BTreeSet<_>>().len() <= MOST_PLACES;
        few(&mut self.routes.keys().flat_map(|&(a, b)| [a, b]))
            && few(&mut self.across.keys().flat_map(|&(a, b)| [a, b]))
    }

    /// Routes from one zone inside this one to another.
    fn between(&self, from: u32, to: u32) -> Option<Hops> {
        match &self.rule {
            Rule::Floyd(_, zones) => zones.path(from, to),
            Rule::Dijkstra => search(&self.across, |across| across.links.len(), from, to),
            Rule::Full | Rule::None | Rule::Cluster(_) => Some(vec![(from, to)]),
        }
    }
}
