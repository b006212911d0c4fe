//! `<cluster>`: hosts and links by number.

use super::{Link, MAX_LINKS, Parsed, PlatformReader};
use crate::platform::zone::cluster::{Cable, Cluster, Dragonfly, FatTree, Shape, Torus};
use roxmltree::Node;

/// Most hosts and switches of a cluster.
const MAX_NODES: u64 = 1 << 20;

/// Most numbers of a list of parameters: dimensions of a torus, levels of a fat tree. Twenty of length two have [`MAX_NODES`] hosts.
const MAX_LIST: usize = 64;

/// Bytes that a link takes beside its row: its name twice, and its place in the table of names.
const NAMED: u64 = 128;

/// What all cables of a cluster have in common.
struct Kind<'t> {
    id: &'t str,
    numbers: (f64, f64),
    sharing: &'t str,
}

impl<'a> PlatformReader<'a> {
    /// Reads a cluster into a zone.
    pub(super) fn cluster(&mut self, node: Node<'a, 'a>, id: &'a str, zone: u32) -> Parsed<Cluster> {
        let (prefix, suffix) =
            (node.attribute("prefix").unwrap_or(""), node.attribute("suffix").unwrap_or(""));
        let numbers = self.radical(node)?;
        let first = self.hosts.len() as u32;
        self.check_speed(node)?;
        base::memory::takes(numbers.len() as u64 * NAMED).map_err(|message| self.mistake(node, message))?;
        for n in &numbers {
            self.host(node, format!("{prefix}{n}{suffix}"), zone)?;
        }
        self.host_profiles(node);
        let hosts = numbers.len() as u32;
        let kind = Kind {
            id,
            numbers: (self.bandwidth(node, "bw")?, self.latency(node, "lat")?),
            sharing: node.attribute("sharing_policy").unwrap_or("SPLITDUPLEX"),
        };
        let loopback = self.per_node(node, "loopback", hosts, "FATPIPE")?;
        let shape = match node.attribute("topology").unwrap_or("FLAT") {
            "FLAT" => self.star(node, &kind, &numbers)?,
            "FAT_TREE" => Shape::FatTree(self.fat_tree(node, &kind, hosts)?),
            "TORUS" => Shape::Torus(self.torus(node, &kind, hosts)?),
            "DRAGONFLY" => Shape::Dragonfly(self.dragonfly(node, &kind, hosts)?),
            other => {
                let known = "FLAT, FAT_TREE, TORUS, DRAGONFLY";
                return Err(self.mistake(node, format!("there is no topology `{other}`: {known}")));
            }
        };
        let switches = match &shape {
            Shape::FatTree(tree) => tree.nodes().map_or(0, |n| n[1..].iter().sum()),
            Shape::Dragonfly(d) => d.sizes[0] * d.sizes[1] * d.sizes[2],
            Shape::Star { .. } | Shape::Torus(_) => 0,
        };
        let limiter = self.per_node(node, "limiter", hosts + switches, "SHARED")?;
        let router = match (&shape, node.attribute("router_id")) {
            (Shape::Star { .. }, given) => {
                let name = given
                    .filter(|g| !g.is_empty())
                    .map_or_else(|| format!("{prefix}{id}_router{suffix}"), str::to_owned);
                Some(self.router(node, &name, zone)?)
            }
            (_, Some(name)) if !name.is_empty() => Some(self.router(node, name, zone)?),
            _ => None,
        };
        Ok(Cluster { first, hosts, router, loopback, limiter, shape })
    }

    /// Numbers of the hosts: `0-15,20`.
    pub(super) fn radical(&self, node: Node<'a, 'a>) -> Parsed<Vec<u64>> {
        let text = self.attribute(node, "radical")?;
        let mut numbers = Vec::new();
        for part in text.split(',') {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let range = from.trim().parse::<u64>().ok().zip(to.trim().parse::<u64>().ok());
            let Some((from, to)) = range.filter(|(from, to)| from <= to) else {
                return Err(self.mistake(node, format!("`radical=\"{text}\"` is not written as 0-15,20")));
            };
            if (to - from).saturating_add(numbers.len() as u64) >= MAX_NODES {
                return Err(self.mistake(node, format!("a cluster has {MAX_NODES} hosts at most")));
            }
            numbers.extend(from..=to);
        }
        Ok(numbers)
    }

    /// A link for each node, if the cluster has `KIND_bw` (or limiter_link).
    fn per_node(
        &mut self,
        node: Node<'a, 'a>,
        kind: &str,
        nodes: u32,
        sharing: &str,
    ) -> Parsed<Option<Vec<u32>>> {
        let key = if kind == "limiter" { "limiter_link".to_owned() } else { format!("{kind}_bw") };
        if node.attribute(key.as_str()).is_none() {
            return Ok(None);
        }
        let bandwidth = self.bandwidth(node, &key)?;
        let latency = if kind == "limiter" { 0.0 } else { self.latency(node, &format!("{kind}_lat"))? };
        let id = self.attribute(node, "id")?;
        let links = (0..nodes).map(|n| {
            let name = format!("{id}_link_{n}_{kind}");
            self.cable(node, name, bandwidth, latency, sharing).map(|c| c.0)
        });
        links.collect::<Parsed<Vec<u32>>>().map(Some)
    }

    /// Refuses so many links more before they take memory; split ones are two each.
    fn room(&self, node: Node<'a, 'a>, kind: &Kind<'_>, cables: u64) -> Parsed<()> {
        let each = if matches!(kind.sharing, "SHARED" | "FATPIPE") { 1 } else { 2 };
        let all = cables.saturating_mul(each).saturating_add(self.links.len() as u64);
        if all > MAX_LINKS {
            return Err(self
                .mistake(node, format!("with this cluster there are {all} links: {MAX_LINKS} is the most")));
        }
        let bytes = cables.saturating_mul(each).saturating_mul(size_of::<Link>() as u64 + NAMED);
        base::memory::takes(bytes).map_err(|message| self.mistake(node, message))
    }

    fn cables(&mut self, node: Node<'a, 'a>, kind: &Kind<'_>, name: String, factor: f64) -> Parsed<Cable> {
        let (bandwidth, latency) = kind.numbers;
        self.cable(node, name, bandwidth * factor, latency, kind.sharing)
    }

    fn star(&mut self, node: Node<'a, 'a>, kind: &Kind<'_>, hosts: &[u64]) -> Parsed<Shape> {
        let id = kind.id;
        self.room(node, kind, hosts.len() as u64)?;
        let cables = hosts.iter().map(|n| self.cables(node, kind, format!("{id}_link_{n}"), 1.0));
        let cables = cables.collect::<Parsed<Vec<_>>>()?;
        let backbone = if node.attribute("bb_bw").is_some() {
            let (bandwidth, latency) = (self.bandwidth(node, "bb_bw")?, self.latency(node, "bb_lat")?);
            let sharing = node.attribute("bb_sharing_policy").unwrap_or("SHARED");
            Some(self.cable(node, format!("{id}_backbone"), bandwidth, latency, sharing)?.0)
        } else {
            None
        };
        Ok(Shape::Star { cables, backbone })
    }

    /// Lists of positive integers, separated by semicolons.
    fn parameters(&self, node: Node<'a, 'a>) -> Parsed<Vec<Vec<u32>>> {
        let text = self.attribute(node, "topo_parameters")?;
        if text.split(';').any(|part| part.split(',').nth(MAX_LIST).is_some()) {
            let message = format!("a list of `topo_parameters` has {MAX_LIST} numbers at most");
            return Err(self.mistake(node, message));
        }
        let list = |part: &str| {
            part.split(',').map(|n| n.trim().parse().ok().filter(|n| (1..=65_536).contains(n))).collect()
        };
        let lists: Option<Vec<Vec<u32>>> = text.split(';').map(list).collect();
        lists.ok_or_else(|| self.mistake(node, format!("`topo_parameters=\"{text}\"` is no list of sizes")))
    }

    fn counted(&self, node: Node<'a, 'a>, hosts: u32, needed: Option<u64>) -> Parsed<()> {
        match needed {
            Some(n) if n == u64::from(hosts) => Ok(()),
            Some(n) => {
                Err(self.mistake(node, format!("this topology has {n} hosts, but `radical` names {hosts}")))
            }
            None => Err(self.mistake(node, format!("a cluster has {MAX_NODES} hosts at most"))),
        }
    }

    fn fat_tree(&mut self, node: Node<'a, 'a>, kind: &Kind<'_>, hosts: u32) -> Parsed<FatTree> {
        let lists = self.parameters(node)?;
        let wrong =
            "a fat tree is \"levels; children,..; parents,..; cables,..\" with a number for each level";
        let [levels, down, up, ports] = &lists[..] else { return Err(self.mistake(node, wrong)) };
        if levels.len() != 1 || [down, up, ports].iter().any(|l| l.len() as u32 != levels[0]) {
            return Err(self.mistake(node, wrong));
        }
        let (down, up, ports) = (down.clone(), up.clone(), ports.clone());
        let mut tree = FatTree { down, up, ports, cables: Vec::new(), before: self.in_fat_trees };
        let nodes = tree.nodes().filter(|n| n.iter().map(|n| u64::from(*n)).sum::<u64>() <= 4 * MAX_NODES);
        let Some(nodes) = nodes else {
            return Err(self.mistake(node, "this fat tree has too many switches"));
        };
        self.counted(node, hosts, Some(u64::from(nodes[0])))?;
        self.in_fat_trees += hosts;
        let each = |level: usize| u64::from(tree.up[level]) * u64::from(tree.ports[level]);
        let all = (0..tree.down.len()).map(|level| u64::from(nodes[level]).saturating_mul(each(level)));
        self.room(node, kind, all.fold(0, u64::saturating_add))?;
        for (level, &below) in nodes[..tree.down.len()].iter().enumerate() {
            let each = tree.up[level] * tree.ports[level];
            let mut cables = Vec::new();
            for n in 0..below {
                for c in 0..each {
                    cables.push(self.cables(node, kind, format!("{}_link_{level}_{n}_{c}", kind.id), 1.0)?);
                }
            }
            tree.cables.push(cables);
        }
        Ok(tree)
    }

    fn torus(&mut self, node: Node<'a, 'a>, kind: &Kind<'_>, hosts: u32) -> Parsed<Torus> {
        let lists = self.parameters(node)?;
        let [dims] = &lists[..] else {
            return Err(self.mistake(node, "a torus is \"4,4,4\": the length of each dimension"));
        };
        let total =
            dims.iter().try_fold(1u64, |n, d| n.checked_mul(u64::from(*d)).filter(|n| *n <= MAX_NODES));
        self.counted(node, hosts, total)?;
        self.room(node, kind, u64::from(hosts) * dims.len() as u64)?;
        let mut cables = Vec::new();
        for n in 0..hosts {
            let mut factor = 1;
            for &size in dims {
                let x = n / factor % size;
                let next = n - x * factor + (x + 1) % size * factor;
                let name = format!("{}_link_from_{n}_to_{next}_dim_{}", kind.id, cables.len() % dims.len());
                cables.push(self.cables(node, kind, name, 1.0)?);
                factor *= size;
            }
        }
        Ok(Torus { dims: dims.clone(), cables })
    }

    fn dragonfly(&mut self, node: Node<'a, 'a>, kind: &Kind<'_>, hosts: u32) -> Parsed<Dragonfly> {
        let lists = self.parameters(node)?;
        let wrong = "a dragonfly is \"groups,blue links; chassis,black links; blades,green links; nodes\"";
        let sizes = match &lists[..] {
            [g, c, b, n] if [g, c, b].iter().all(|l| l.len() == 2) && n.len() == 1 => {
                [g[0], c[0], b[0], n[0]]
            }
            _ => return Err(self.mistake(node, wrong)),
        };
        let parallel = [lists[0][1], lists[1][1], lists[2][1]].map(f64::from);
        let [groups, chassis, blades, _] = sizes;
        if groups > blades {
            let message = format!(
                "{groups} groups need {groups} blades in a chassis, one for each blue link, not {blades}"
            );
            return Err(self.mistake(node, message));
        }
        let total =
            sizes.iter().try_fold(1u64, |n, d| n.checked_mul(u64::from(*d)).filter(|n| *n <= MAX_NODES));
        self.counted(node, hosts, total)?;
        let pairs = |n: u32| u64::from(n) * u64::from(n - 1) / 2;
        let (green, black) = (
            u64::from(groups) * u64::from(chassis) * pairs(blades),
            u64::from(groups) * u64::from(blades) * pairs(chassis),
        );
        let all = [u64::from(hosts), green, black, pairs(groups)];
        self.room(node, kind, all.into_iter().fold(0, u64::saturating_add))?;
        let id = kind.id;
        let mut some = |what: String, count: u64, factor: f64| {
            let cables = (0..count).map(|n| self.cables(node, kind, format!("{id}_{what}_{n}"), factor));
            cables.collect::<Parsed<Vec<_>>>()
        };
        let local = some("local_link".to_owned(), u64::from(hosts), 1.0)?;
        let green = some("green_link".to_owned(), green, parallel[2])?;
        let black = some("black_link".to_owned(), black, parallel[1])?;
        let blue = some("blue_link".to_owned(), pairs(groups), parallel[0])?;
        Ok(Dragonfly { sizes, local, green, black, blue, simgrid: self.simgrid })
    }
}
