//! Zones: parts of a platform that make routes by rule. Within a zone routes are listed, or shortest, or follow a cluster's topology;
//! between zones they go through gateways.

use super::{
    passage::Passage,
    zone::{
        cluster::Cluster,
        shortest::{Hops, MOST_PLACES, Ranks, Table, search},
        star::{Coordinates, Star},
    },
};
use base::sorted::{SortedMap, SortedSet};

pub mod cluster;
pub mod shortest;
pub mod star;

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
    /// Up to the middle and down again.
    Star(Star),
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
    pub routes: SortedMap<(u32, u32), Vec<u32>>,
    /// Routes between zones directly inside it.
    pub across: SortedMap<(u32, u32), Across>,
    /// Routes between points directly inside that go before all others.
    pub bypass: SortedMap<(u32, u32), Vec<u32>>,
    /// Routes between zones inside, at any depth, that go before all others.
    pub bypass_across: SortedMap<(u32, u32), Across>,
    /// Of a zone of shortest paths, the rank of each point and of each zone inside: of equal paths it decides.
    pub ranks: (Ranks, Ranks),
}

impl Zone {
    /// A zone with nothing inside.
    #[must_use]
    pub fn empty(parent: Option<u32>) -> Self {
        Self {
            parent,
            rule: Rule::None,
            routes: SortedMap::new(),
            across: SortedMap::new(),
            bypass: SortedMap::new(),
            bypass_across: SortedMap::new(),
            ranks: Default::default(),
        }
    }
}

/// All zones. A *point* is a host, numbered as the platform's hosts, or a router, numbered after them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Zones {
    /// Zone of each point.
    pub zone_of: Vec<u32>,
    /// Zones by their number, which [`Zones::zone_of`] and [`Zone::parent`] use.
    pub zones: Vec<Zone>,
    /// Points that have coordinates.
    pub coordinates: SortedMap<u32, Coordinates>,
    /// Points through which zones are left for the middle of a star with coordinates around them.
    pub doors: SortedMap<u32, u32>,
}

/// Zones inside each other at most.
const DEPTH: u32 = 64;

impl Zones {
    /// The way from one point to another.
    #[must_use]
    pub fn passage(&self, from: u32, to: u32) -> Option<Passage> {
        let mut passage = Passage::default();
        self.find(from, to, DEPTH, &mut passage)?;
        Some(passage)
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

    fn find(&self, from: u32, to: u32, depth: u32, out: &mut Passage) -> Option<()> {
        let (a, b) = (*self.zone_of.get(from as usize)?, *self.zone_of.get(to as usize)?);
        if a == b {
            return match self.zones[a as usize].bypass.get(&(from, to)) {
                Some(links) => {
                    out.links.extend_from_slice(links);
                    Some(())
                }
                None => self.within(a, from, to, &mut out.links).and_then(|()| self.apart(a, from, to, out)),
            };
        }
        let (around_a, around_b) = (self.around(a), self.around(b));
        let i = around_a.iter().position(|z| around_b.contains(z))?;
        let j = around_b.iter().position(|z| *z == around_a[i])?;
        let (number, inside_a, inside_b) = (around_a[i], &around_a[..i], &around_b[..j]);
        let depth = depth.checked_sub(1)?;
        let common = &self.zones[number as usize];
        if let Some(across) = common.passing(inside_a, inside_b) {
            return self.cross(from, std::iter::once(across), to, depth, out);
        }
        // One of the points may lie in the common zone itself: then a route must be listed there.
        let (Some(&a), Some(&b)) = (inside_a.last(), inside_b.last()) else { return None };
        if let Rule::Star(Star { coordinates: true, .. }) = common.rule {
            let across = Across { gateways: (*self.doors.get(&a)?, *self.doors.get(&b)?), links: Vec::new() };
            self.apart(number, across.gateways.0, across.gateways.1, out)?;
            return self.cross(from, std::iter::once(&across), to, depth, out);
        }
        let hops = common.between(a, b)?.into_iter().map(|hop| common.across.get(&hop));
        self.cross(from, hops.collect::<Option<Vec<_>>>()?.into_iter(), to, depth, out)
    }

    /// Appends a way over routes between zones. Where one route ends and the next begins at different gateways of a zone, what lies between them is
    /// crossed.
    fn cross<'a>(
        &self,
        from: u32,
        hops: impl Iterator<Item = &'a Across>,
        to: u32,
        depth: u32,
        out: &mut Passage,
    ) -> Option<()> {
        let mut here = from;
        for across in hops {
            if across.gateways.0 != here {
                self.find(here, across.gateways.0, depth, out)?;
            }
            out.links.extend_from_slice(&across.links);
            here = across.gateways.1;
        }
        if here != to {
            self.find(here, to, depth, out)?;
        }
        Some(())
    }

    /// Adds the time that lies between two points in a star with coordinates.
    fn apart(&self, zone: u32, from: u32, to: u32, out: &mut Passage) -> Option<()> {
        if let Rule::Star(Star { coordinates: true, .. }) = self.zones[zone as usize].rule {
            out.between += Star::apart(*self.coordinates.get(&from)?, *self.coordinates.get(&to)?);
        }
        Some(())
    }

    fn within(&self, zone: u32, from: u32, to: u32, out: &mut Vec<u32>) -> Option<()> {
        let zone = &self.zones[zone as usize];
        let hops = match &zone.rule {
            // Of a point to itself only what is listed.
            Rule::Floyd(points, _) if from != to => points.path(from, to)?,
            Rule::Dijkstra if from != to => search(&zone.routes, Vec::len, &zone.ranks.0, from, to)?,
            Rule::Cluster(cluster) if !zone.routes.contains_key(&(from, to)) => {
                return cluster.route(from, to, out);
            }
            Rule::Star(star) if !zone.routes.contains_key(&(from, to)) => {
                star.route(from, to, out);
                return Some(());
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
    /// Fills the tables of a Floyd zone, once all routes are listed and places ranked.
    pub fn seal(&mut self) {
        let Rule::Floyd(points, zones) = &mut self.rule else { return };
        let routes = self.routes.iter().map(|(&ends, links)| (ends, links.len())).collect();
        let across = self.across.iter().map(|(&ends, across)| (ends, across.links.len())).collect();
        (*points, *zones) = (Table::new(&routes, &self.ranks.0), Table::new(&across, &self.ranks.1));
    }

    /// False if tables of the routes that are listed would be too large.
    #[must_use]
    pub fn fits(&self) -> bool {
        let few = |ends: &mut dyn Iterator<Item = u32>| ends.collect::<SortedSet<_>>().len() <= MOST_PLACES;
        few(&mut self.routes.keys().flat_map(|&(a, b)| [a, b]))
            && few(&mut self.across.keys().flat_map(|&(a, b)| [a, b]))
    }

    /// Routes from one zone inside this one to another.
    fn between(&self, from: u32, to: u32) -> Option<Hops> {
        match &self.rule {
            Rule::Floyd(_, zones) => zones.path(from, to),
            Rule::Dijkstra => search(&self.across, |across| across.links.len(), &self.ranks.1, from, to),
            Rule::Full | Rule::None | Rule::Cluster(_) | Rule::Star(_) => Some(vec![(from, to)]),
        }
    }

    /// The route that goes before all others between two points inside, by the zones around each, innermost first: of those that are listed the one
    /// whose outer zone is the innermost, then the one whose other zone is.
    fn passing(&self, around_a: &[u32], around_b: &[u32]) -> Option<&Across> {
        let listed = |a: usize, b: usize| self.bypass_across.get(&(*around_a.get(a)?, *around_b.get(b)?));
        let outer = 0..around_a.len().max(around_b.len());
        outer.into_iter().find_map(|outer| {
            let inner = (0..outer).find_map(|n| listed(n, outer).or_else(|| listed(outer, n)));
            inner.or_else(|| listed(outer, outer))
        })
    }
}
