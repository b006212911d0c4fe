//! SimGrid's platform XML, versions 4 and 4.1. See [`super::TOPOLOGY`] for what is read.

mod attributes;
mod cluster;
mod crowds;
mod lines;
mod places;
mod profiles;
mod units;

use super::{
    json::{turned, unknown},
    limits::{MAX_HOSTS, MAX_LINKS},
};
use crate::{
    platform::{
        Link, Platform, Policy, Profile,
        zone::{
            Across, Rule, Zone, Zones,
            shortest::{MOST_PLACES, Table},
            star::{Coordinates, Star},
        },
    },
    topology::graph::{self, Mistake, Place, done},
};
use base::{mistakes::Mistakes, sorted::SortedMap};
use roxmltree::{Document, Node, ParsingOptions};

/// Most elements of a file.
const MAX_NODES: u32 = 1 << 24;
/// Zones inside each other at most.
const MAX_DEPTH: usize = 32;

/// A name, and the element and perhaps attribute that it stands in.
type Parsed<T> = Result<T, Mistake>;

/// What is read so far. Routers are numbered from 2^31 until all hosts are known.
pub(super) struct PlatformReader<'a> {
    document: &'a Document<'a>,
    /// Where the document's lines begin.
    begins: graph::Lines<'a>,
    simgrid: bool,
    /// Reads a file that the platform names.
    files: &'a dyn Fn(&str) -> Result<String, String>,
    links: Vec<Link>,
    link_names: SortedMap<String, u32>,
    hosts: Vec<String>,
    points: SortedMap<String, u32>,
    host_zone: Vec<u32>,
    router_zone: Vec<u32>,
    /// Points made before each host and each router.
    host_rank: Vec<u32>,
    router_rank: Vec<u32>,
    zones: Vec<Zone>,
    zone_names: SortedMap<String, u32>,
    coordinates: SortedMap<u32, Coordinates>,
    traces: SortedMap<String, lines::Lines>,
    profiles: Vec<Profile>,
    /// What is not simulated, and how often it comes.
    passed: SortedMap<&'static str, u64>,
    /// Hosts of fat trees so far.
    in_fat_trees: u32,
    mistakes: Mistakes<Mistake>,
}

const ROUTER: u32 = 1 << 31;

/// Refuses what would take the parser far more memory or time than the text is long.
fn refuse_bombs(text: &str) -> Parsed<()> {
    let place = |at: usize, length: usize| {
        let (line, before) =
            (text[..at].matches('\n').count() as u64 + 1, text[..at].rfind('\n').map_or(0, |n| n + 1));
        Place { line, start: at - before, end: at - before + length }
    };
    // Platforms have none; a hundred bytes of them can mean gigabytes.
    if let Some(at) = text.find("<!ENTITY") {
        return Err(place(at, 8).mistake("entities are not read: write what they stand for"));
    }
    if let Some(at) = crowds::crowd(text) {
        let message = format!("this element has more than {} attributes", crowds::MAX_ATTRIBUTES);
        return Err(place(at, 1).mistake(message));
    }
    Ok(())
}

pub(super) fn read(
    text: &str,
    simgrid: bool,
    files: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Platform, Vec<Mistake>> {
    refuse_bombs(text).map_err(|mistake| vec![mistake])?;
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|e| {
        let pos = e.pos();
        let column = pos.col.saturating_sub(1) as usize;
        let place = Place { line: u64::from(pos.row), start: column, end: column + 1 };
        vec![place.mistake(format!("this is no XML: {e}"))]
    })?;
    let root = document.root_element();
    let mut reader = PlatformReader {
        document: &document,
        begins: graph::Lines::new(document.input_text()),
        simgrid,
        files,
        links: Vec::new(),
        link_names: SortedMap::new(),
        hosts: Vec::new(),
        points: SortedMap::new(),
        host_zone: Vec::new(),
        router_zone: Vec::new(),
        host_rank: Vec::new(),
        router_rank: Vec::new(),
        zones: Vec::new(),
        zone_names: SortedMap::new(),
        coordinates: SortedMap::new(),
        traces: SortedMap::new(),
        profiles: Vec::new(),
        passed: SortedMap::new(),
        in_fat_trees: 0,
        mistakes: Mistakes::default(),
    };
    reader.version(root)?;
    for child in root.children().filter(Node::is_element) {
        let read = match child.tag_name().name() {
            "zone" | "AS" | "cluster" => {
                reader.zone(child, None, 0);
                Ok(())
            }
            "config" => {
                reader.config(child);
                Ok(())
            }
            "trace" => reader.trace(child),
            "trace_connect" => reader.trace_connect(child),
            "prop" => Ok(()),
            "include" => Err(reader.mistake(child, "<include> cannot be read")),
            other => Err(reader.mistake(child, format!("<{other}> is not expected in a platform"))),
        };
        if let Err(mistake) = read {
            reader.keep(mistake);
        }
    }
    reader.finish()
}

impl<'a> PlatformReader<'a> {
    fn place(&self, node: Node<'a, 'a>) -> Place {
        let range = node.range();
        let text = &self.document.input_text()[range.clone()];
        let length =
            text.find(['\n', '>']).map_or(text.len(), |n| n + usize::from(text[n..].starts_with('>')));
        self.begins.at(range.start, length)
    }

    fn mistake(&self, node: Node<'a, 'a>, message: impl Into<String>) -> Mistake {
        self.place(node).mistake(message)
    }

    fn blame(&mut self, node: Node<'a, 'a>, message: &str) {
        let mistake = self.mistake(node, format!("<{}> {message}", node.tag_name().name()));
        self.keep(mistake);
    }

    fn keep(&mut self, mistake: Mistake) {
        self.mistakes.push(mistake);
    }

    fn version(&self, root: Node<'a, 'a>) -> Result<(), Vec<Mistake>> {
        let wrong = |message: String| Err(vec![self.mistake(root, message)]);
        if root.tag_name().name() != "platform" {
            return wrong(format!("the file begins with <{}>, not <platform>", root.tag_name().name()));
        }
        self.attributes(root).map_err(|mistake| vec![mistake])?;
        match root.attribute("version") {
            Some("4" | "4.0" | "4.1") => Ok(()),
            Some(other) => wrong(format!("the version is {other}; versions 4 and 4.1 can be read")),
            None => {
                wrong("the platform does not state its version; versions 4 and 4.1 can be read".to_owned())
            }
        }
    }

    fn attribute(&self, node: Node<'a, 'a>, name: &str) -> Parsed<&'a str> {
        node.attribute(name)
            .ok_or_else(|| self.mistake(node, format!("<{}> lacks `{name}`", node.tag_name().name())))
    }

    fn bandwidth(&self, node: Node<'a, 'a>, name: &str) -> Parsed<f64> {
        let text = self.attribute(node, name)?;
        units::bandwidth(text).map_err(|why| self.mistake(node, format!("`{name}=\"{text}\"` {why}")))
    }

    /// A latency; zero if it is left out.
    fn latency(&self, node: Node<'a, 'a>, name: &str) -> Parsed<f64> {
        let Some(text) = node.attribute(name) else { return Ok(0.0) };
        units::latency(text).map_err(|why| self.mistake(node, format!("`{name}=\"{text}\"` {why}")))
    }

    /// Adds a link; both directions if it is split. Returns it, or its directions.
    fn cable(
        &mut self,
        node: Node<'a, 'a>,
        name: String,
        bandwidth: f64,
        latency: f64,
        sharing: &str,
    ) -> Parsed<(u32, u32)> {
        let split = match sharing {
            "SHARED" | "FATPIPE" => false,
            "SPLITDUPLEX" | "FULLDUPLEX" => true,
            other => {
                return Err(self
                    .mistake(node, format!("`{other}` is no sharing policy: SHARED, FATPIPE, SPLITDUPLEX")));
            }
        };
        let policy = if sharing == "FATPIPE" { Policy::FatPipe } else { Policy::Shared };
        let names = if split { vec![format!("{name}_UP"), format!("{name}_DOWN")] } else { vec![name] };
        let first = self.links.len() as u32;
        for name in names {
            if self.links.len() as u64 >= MAX_LINKS {
                return Err(self.mistake(node, format!("there are more than {MAX_LINKS} links")));
            }
            if self.link_names.insert(name.clone(), self.links.len() as u32).is_some() {
                return Err(self.mistake(node, format!("link `{name}` comes twice")));
            }
            self.links.push(Link { name, bandwidth, latency, policy });
        }
        Ok((first, first + u32::from(split)))
    }

    /// Adds a host to a zone.
    fn host(&mut self, node: Node<'a, 'a>, name: String, zone: u32) -> Parsed<u32> {
        if self.hosts.len() as u64 >= MAX_HOSTS {
            return Err(self.mistake(node, format!("there are more than {MAX_HOSTS} hosts")));
        }
        let number = self.hosts.len() as u32;
        self.point(node, &name, number)?;
        self.host_rank.push(self.points.len() as u32);
        self.hosts.push(name);
        self.host_zone.push(zone);
        Ok(number)
    }

    fn router(&mut self, node: Node<'a, 'a>, name: &str, zone: u32) -> Parsed<u32> {
        let number = ROUTER + self.router_zone.len() as u32;
        self.point(node, name, number)?;
        self.router_rank.push(self.points.len() as u32);
        self.router_zone.push(zone);
        Ok(number)
    }

    fn point(&mut self, node: Node<'a, 'a>, name: &str, number: u32) -> Parsed<()> {
        match self.points.insert(name.to_owned(), number) {
            None => Ok(()),
            Some(_) => Err(self.mistake(node, format!("`{name}` comes twice"))),
        }
    }

    /// Reads a zone with all that is in it.
    fn zone(&mut self, node: Node<'a, 'a>, parent: Option<u32>, depth: usize) {
        if depth > MAX_DEPTH {
            return self.blame(node, "lies too deep in other zones");
        }
        let id = match self.attributes(node).and_then(|()| self.attribute(node, "id")) {
            Ok(id) => id,
            Err(mistake) => return self.keep(mistake),
        };
        let number = self.zones.len() as u32;
        if self.zone_names.insert(id.to_owned(), number).is_some() {
            self.keep(self.mistake(node, format!("zone `{id}` comes twice")));
        }
        self.zones.push(Zone::empty(parent));
        if node.tag_name().name() == "cluster" {
            match self.cluster(node, id, number) {
                Ok(cluster) => self.zones[number as usize].rule = Rule::Cluster(cluster),
                Err(mistake) => self.keep(mistake),
            }
            return;
        }
        let routing = node.attribute("routing").unwrap_or("Full");
        match routing {
            "Full" => self.zones[number as usize].rule = Rule::Full,
            "Floyd" => self.zones[number as usize].rule = Rule::Floyd(Table::default(), Table::default()),
            "Dijkstra" | "DijkstraCache" => self.zones[number as usize].rule = Rule::Dijkstra,
            "None" => {}
            "Cluster" => self.zones[number as usize].rule = Rule::Star(Star::default()),
            "Vivaldi" => {
                let star = Star { coordinates: true, ..Star::default() };
                self.zones[number as usize].rule = Rule::Star(star);
            }
            _ => self.blame(
                node,
                &format!(
                    "has routing `{routing}`: Full, Floyd, Dijkstra, Cluster, Vivaldi and None can be read"
                ),
            ),
        }
        for child in node.children().filter(Node::is_element) {
            if let Err(mistake) = self.element(child, number, depth) {
                self.keep(mistake);
            }
        }
        if routing == "Cluster" {
            self.end_star(node, number);
        }
        let zone = &self.zones[number as usize];
        if matches!(zone.rule, Rule::Floyd(..)) && !zone.fits() {
            self.blame(
                node,
                &format!("has more than {MOST_PLACES} places: routing Dijkstra has no such bound"),
            );
        }
    }

    fn element(&mut self, node: Node<'a, 'a>, zone: u32, depth: usize) -> Parsed<()> {
        // Zones look at theirs themselves.
        if !matches!(node.tag_name().name(), "zone" | "AS" | "cluster") {
            self.attributes(node)?;
        }
        match node.tag_name().name() {
            "zone" | "AS" | "cluster" => self.zone(node, Some(zone), depth + 1),
            "host" => {
                let name = self.attribute(node, "id")?.to_owned();
                self.check_speed(node)?;
                let host = self.host(node, name, zone)?;
                self.place_at(node, host)?;
                self.host_profiles(node);
            }
            "router" => {
                let name = self.attribute(node, "id")?;
                let router = self.router(node, name, zone)?;
                self.place_at(node, router)?;
            }
            "link" => {
                let name = self.attribute(node, "id")?.to_owned();
                let (bandwidth, latency) =
                    (self.bandwidth(node, "bandwidth")?, self.latency(node, "latency")?);
                let sharing = node.attribute("sharing_policy").unwrap_or("SHARED");
                let cable = self.cable(node, name, bandwidth, latency, sharing)?;
                self.link_profiles(node, cable)?;
            }
            "host_link" => self.host_link(node, zone)?,
            "cabinet" => self.cabinet(node, zone)?,
            "peer" => self.peer(node, zone)?,
            "backbone" => {
                let name = self.attribute(node, "id")?.to_owned();
                let (bandwidth, latency) =
                    (self.bandwidth(node, "bandwidth")?, self.latency(node, "latency")?);
                self.cable(node, name, bandwidth, latency, "SHARED")?;
            }
            "route" => self.route(node, zone)?,
            "zoneRoute" | "ASroute" => self.zone_route(node, zone)?,
            "bypassRoute" | "bypassZoneRoute" | "bypassASroute" => self.bypass(node, zone)?,
            "trace" => self.trace(node)?,
            "trace_connect" => self.trace_connect(node)?,
            "prop" | "disk" | "storage" | "storage_type" | "mount" => {}
            "include" => {
                return Err(self.mistake(node, format!("<{}> cannot be read", node.tag_name().name())));
            }
            other => return Err(self.mistake(node, format!("<{other}> is not expected in a zone"))),
        }
        Ok(())
    }

    fn named_point(&self, node: Node<'a, 'a>, attribute: &str) -> Parsed<u32> {
        let name = self.attribute(node, attribute)?;
        let found = self.points.get(name).copied();
        found.ok_or_else(|| self.mistake(node, unknown("host or router", name, self.points.keys())))
    }

    fn named_zone(&self, node: Node<'a, 'a>, attribute: &str) -> Parsed<u32> {
        let name = self.attribute(node, attribute)?;
        let found = self.zone_names.get(name).copied();
        found.ok_or_else(|| self.mistake(node, unknown("zone", name, self.zone_names.keys())))
    }

    fn link(&self, node: Node<'a, 'a>, name: &str) -> Parsed<u32> {
        let found = self.link_names.get(name).copied();
        found.ok_or_else(|| self.mistake(node, unknown("link", name, self.link_names.keys())))
    }

    /// The links of a route's `link_ctn`s, and those of the way back.
    fn links_of(&self, node: Node<'a, 'a>) -> Parsed<(Vec<u32>, Vec<u32>)> {
        let (mut links, mut back) = (Vec::new(), Vec::new());
        for child in node.children().filter(Node::is_element) {
            if child.tag_name().name() != "link_ctn" {
                let name = child.tag_name().name();
                return Err(self.mistake(child, format!("<{name}> is not expected in a route")));
            }
            self.attributes(child)?;
            let id = self.attribute(child, "id")?;
            let name = match child.attribute("direction") {
                Some(direction @ ("UP" | "DOWN")) => format!("{id}_{direction}"),
                None | Some("NONE") if self.link_names.contains_key(id) => id.to_owned(),
                None | Some("NONE") if self.link_names.contains_key(&format!("{id}_UP")) => {
                    let message = format!("link `{id}` is split: this route needs a `direction`, UP or DOWN");
                    return Err(self.mistake(child, message));
                }
                None | Some("NONE") => id.to_owned(),
                Some(other) => {
                    return Err(self.mistake(child, format!("`{other}` is no direction: UP, DOWN")));
                }
            };
            links.push(self.link(child, &name)?);
            back.push(self.link(child, &turned(&name, &self.link_names))?);
        }
        back.reverse();
        Ok((links, back))
    }

    fn symmetric(&self, node: Node<'a, 'a>) -> Parsed<bool> {
        match node.attribute("symmetrical") {
            None | Some("YES" | "yes" | "true" | "1") => Ok(true),
            Some("NO" | "no" | "false" | "0") => Ok(false),
            Some(other) => Err(self.mistake(node, format!("`symmetrical` is YES or NO, not `{other}`"))),
        }
    }

    fn route(&mut self, node: Node<'a, 'a>, zone: u32) -> Parsed<()> {
        let ends = (self.named_point(node, "src")?, self.named_point(node, "dst")?);
        let (links, back) = self.links_of(node)?;
        let symmetric = self.symmetric(node)? && ends.0 != ends.1;
        let Zone { routes, ranks, rule, .. } = &mut self.zones[zone as usize];
        appear(rule, &mut ranks.0, ends.0, ends.1);
        if routes.insert(ends, links).is_some() {
            return Err(
                self.mistake(node, "this route comes twice (or a symmetrical one was given the other way)")
            );
        }
        if symmetric && routes.insert((ends.1, ends.0), back).is_some() {
            return Err(
                self.mistake(node, "the reverse of this route was given before: say symmetrical=\"NO\"")
            );
        }
        Ok(())
    }

    fn zone_route(&mut self, node: Node<'a, 'a>, zone: u32) -> Parsed<()> {
        let ends = (self.named_zone(node, "src")?, self.named_zone(node, "dst")?);
        for end in [ends.0, ends.1] {
            if self.zones[end as usize].parent != Some(zone) {
                return Err(self.mistake(node, "a zoneRoute joins zones that lie directly in this zone"));
            }
        }
        let gateways = (self.named_point(node, "gw_src")?, self.named_point(node, "gw_dst")?);
        let (links, back) = self.links_of(node)?;
        let symmetric = self.symmetric(node)?;
        let Zone { across, ranks, rule, .. } = &mut self.zones[zone as usize];
        appear(rule, &mut ranks.1, ends.0, ends.1);
        across.insert(ends, Across { gateways, links });
        if symmetric {
            let turned = Across { gateways: (gateways.1, gateways.0), links: back };
            across.entry((ends.1, ends.0)).or_insert(turned);
        }
        Ok(())
    }

    /// Routers get numbers after the hosts.
    fn finish(self) -> Result<Platform, Vec<Mistake>> {
        done(self.mistakes)?;
        let hosts = self.hosts.len() as u32;
        let point = |p: u32| if p >= ROUTER { p - ROUTER + hosts } else { p };
        let ends = |(a, b): (u32, u32)| (point(a), point(b));
        let made = |p: u32| match p.checked_sub(ROUTER) {
            Some(router) => self.router_rank[router as usize],
            None => self.host_rank[p as usize],
        };
        // A zone in a star with coordinates is left by the router that has its name.
        let named = |(name, &zone): (&String, &u32)| {
            Some((zone, point(*self.points.get(&format!("router_{name}"))?)))
        };
        let doors = self.zone_names.iter().filter_map(named).collect();
        let zones = self.zones.into_iter().map(|mut zone| {
            if let Rule::Floyd(..) = zone.rule {
                let places = zone.routes.keys().flat_map(|&(a, b)| [a, b]);
                zone.ranks.0 = places.map(|place| (place, made(place))).collect();
            }
            zone.ranks.0 = zone.ranks.0.into_iter().map(|(place, rank)| (point(place), rank)).collect();
            zone.routes = zone.routes.into_iter().map(|(e, links)| (ends(e), links)).collect();
            zone.bypass = zone.bypass.into_iter().map(|(e, links)| (ends(e), links)).collect();
            for across in zone.across.values_mut().chain(zone.bypass_across.values_mut()) {
                across.gateways = ends(across.gateways);
            }
            match &mut zone.rule {
                Rule::Cluster(cluster) => cluster.router = cluster.router.map(point),
                Rule::Star(star) => {
                    for half in [&mut star.up, &mut star.down] {
                        *half =
                            std::mem::take(half).into_iter().map(|(p, links)| (point(p), links)).collect();
                    }
                }
                _ => {}
            }
            zone.seal();
            zone
        });
        let zone_of = self.host_zone.iter().chain(&self.router_zone).copied().collect();
        let coordinates = self.coordinates.into_iter().map(|(p, place)| (point(p), place)).collect();
        let zones = Zones { zone_of, zones: zones.collect(), coordinates, doors };
        let passed = self.passed.iter().map(|(what, count)| format!("{what} ({count})")).collect();
        Ok(Platform {
            hosts: self.hosts,
            links: self.links,
            routes: SortedMap::new(),
            zones: Some(zones),
            events: Vec::new(),
            profiles: self.profiles,
            passed,
        })
    }
}

/// Ranks the ends of a route by their first appearance, where that decides among equal paths.
fn appear(rule: &Rule, ranks: &mut SortedMap<u32, u32>, from: u32, to: u32) {
    if matches!(rule, Rule::Dijkstra) {
        for end in [from, to] {
            let next = ranks.len() as u32;
            ranks.entry(end).or_insert(next);
        }
    }
}
