//! Clusters: hosts of a kind on a topology of links of a kind.
//!
//! Routes are those of SimGrid's zones of the same name: star (up, backbone, down), fat tree (d-mod-k), torus (dimension order), dragonfly
//! (minimal, three colours of links). Every cable is two links, or one if it is shared by both directions.

/// A cable: the link up (away from the host, or from the lower number) and the link down.
pub type Cable = (u32, u32);

/// A cluster's hosts are numbered in a row from `first`.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Its first host.
    pub first: u32,
    /// Number of hosts.
    pub hosts: u32,
    /// The point that leads out of it.
    pub router: Option<u32>,
    /// Link of each host to itself.
    pub loopback: Option<Vec<u32>>,
    /// Link of each host, and then of each switch, that all its traffic crosses.
    pub limiter: Option<Vec<u32>>,
    /// What lies between the hosts.
    pub shape: Shape,
}

/// What joins a cluster's hosts, and the links of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A cable for each host, and a backbone.
    Star {
        /// A cable per host, counted from the cluster's first.
        cables: Vec<Cable>,
        /// Crossed once by every route.
        backbone: Option<u32>,
    },
    /// Switches in levels, routed by d-mod-k; see [`FatTree`].
    FatTree(FatTree),
    /// Rings in every dimension, routed in dimension order; see [`Torus`].
    Torus(Torus),
    /// Groups of chassis of routers, routed minimally; see [`Dragonfly`].
    Dragonfly(Dragonfly),
}

/// Fat tree: at level l a node has `down[l]` children below and `up[l]` parents above, with `ports[l]` cables to each.
#[derive(Clone, Debug, PartialEq)]
pub struct FatTree {
    /// Children per node by level, lowest first.
    pub down: Vec<u32>,
    /// Parents per node.
    pub up: Vec<u32>,
    /// Parallel cables between a node and each of its parents, by level.
    pub ports: Vec<u32>,
    /// By level, node below, and parent + `up` * port.
    pub cables: Vec<Vec<Cable>>,
    /// Hosts of fat trees before it in the platform's file: its own are counted on from there.
    pub before: u32,
}

/// Torus: node numbers count the first dimension fastest; a cable per node and dimension leads to the next node.
#[derive(Clone, Debug, PartialEq)]
pub struct Torus {
    /// Length of each dimension.
    pub dims: Vec<u32>,
    /// By node and dimension.
    pub cables: Vec<Cable>,
}

/// Dragonfly: groups of chassis of blades (routers) with nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Dragonfly {
    /// Groups, chassis per group, blades per chassis, nodes per blade.
    pub sizes: [u32; 4],
    /// Of each node.
    pub local: Vec<Cable>,
    /// Among the blades of each chassis, pairs in order.
    pub green: Vec<Cable>,
    /// Among the chassis of each group, for each blade, pairs in order.
    pub black: Vec<Cable>,
    /// Among groups, pairs in order.
    pub blue: Vec<Cable>,
    /// Route inside groups as SimGrid 3.32 does: after a green link it goes on as if in chassis 0.
    pub simgrid: bool,
}

impl Cluster {
    /// Appends the links between two of its points.
    pub fn route(&self, from: u32, to: u32, out: &mut Vec<u32>) -> Option<()> {
        let inside = |point: u32| point.checked_sub(self.first).filter(|n| *n < self.hosts);
        let (a, b) = (inside(from), inside(to));
        if let (Some(a), Some(b), Some(loopback)) = (a, b, &self.loopback)
            && a == b
        {
            out.push(loopback[a as usize]);
            return Some(());
        }
        match &self.shape {
            Shape::Star { cables, backbone } => {
                let known = |point: u32, n: Option<u32>| n.is_some() || Some(point) == self.router;
                if !known(from, a) || !known(to, b) {
                    return None;
                }
                if let Some(a) = a {
                    self.limit(a, out);
                    out.push(cables[a as usize].0);
                }
                out.extend(backbone);
                if let Some(b) = b {
                    let down = cables[b as usize].1;
                    // To itself a host crosses what is both up and down once.
                    if a != Some(b) {
                        out.push(down);
                        self.limit(b, out);
                    } else if down != cables[b as usize].0 {
                        out.push(down);
                    }
                }
                Some(())
            }
            Shape::FatTree(tree) => tree.route(self, a?, b?, out),
            Shape::Torus(torus) => torus.route(self, a?, b?, out),
            Shape::Dragonfly(dragonfly) => dragonfly.route(self, a?, b?, out),
        }
    }

    /// Appends the limiter of a node.
    fn limit(&self, node: u32, out: &mut Vec<u32>) {
        if let Some(&link) = self.limiter.as_ref().and_then(|l| l.get(node as usize)) {
            out.push(link);
        }
    }
}

impl FatTree {
    /// Nodes at each level, hosts first; `None` if there are too many.
    #[must_use]
    pub fn nodes(&self) -> Option<Vec<u32>> {
        (0..=self.down.len())
            .map(|level| {
                (0..self.down.len())
                    .try_fold(1u32, |n, i| n.checked_mul(if i < level { self.up[i] } else { self.down[i] }))
            })
            .collect()
    }

    /// Number of a node from its label.
    fn number(&self, level: usize, label: &[u32]) -> u32 {
        let mut factor = 1;
        (0..self.down.len()).fold(0, |sum, i| {
            let n = sum + label[i] * factor;
            factor *= if i < level { self.up[i] } else { self.down[i] };
            n
        })
    }

    fn route(&self, cluster: &Cluster, from: u32, to: u32, out: &mut Vec<u32>) -> Option<()> {
        let levels = self.down.len();
        let label = |mut n: u32| -> Vec<u32> {
            let digit = |m: &u32| {
                let d = n % m;
                n /= m;
                d
            };
            self.down.iter().map(digit).collect()
        };
        let (mut here, target) = (label(from), label(to));
        let nodes = self.nodes()?;
        let limiter = |level: usize, n: u32| nodes[..level].iter().sum::<u32>() + n;
        cluster.limit(from, out);
        let (mut level, mut rest) = (0, self.before + to);
        // At least one level up, so that a host reaches itself.
        while level == 0 || here[level..] != target[level..] {
            if level == levels {
                return None;
            }
            let (up, ports) = (self.up[level], self.ports[level]);
            let choice = rest % (up * ports);
            rest /= up;
            let node = self.number(level, &here);
            out.push(self.cables[level][(node * up * ports + choice) as usize].0);
            here[level] = choice % up;
            level += 1;
            cluster.limit(limiter(level, self.number(level, &here)), out);
        }
        self.descend(cluster, from, &mut here, &target, level, out);
        Some(())
    }

    /// Appends the way down from a switch to a host, both by label. A switch looks for its cable in a list: the first cable of each child, then the
    /// second. The search begins at the cables of the source's number; as in SimGrid the switch below goes on in its own list where the one above
    /// has found, and begins anew only once its list ends.
    fn descend(
        &self,
        cluster: &Cluster,
        from: u32,
        here: &mut [u32],
        target: &[u32],
        mut level: usize,
        out: &mut Vec<u32>,
    ) {
        let nodes = self.nodes().unwrap_or_default();
        while level > 0 {
            let mut place = (self.before + from) % self.ports[level - 1] * self.down[level - 1];
            while level > 0 && place < self.down[level - 1] * self.ports[level - 1] {
                let below = level - 1;
                if place % self.down[below] == target[below] {
                    let (up, port) = (self.up[below], place / self.down[below]);
                    let parent = std::mem::replace(&mut here[below], target[below]);
                    let node = self.number(below, here);
                    let cable = (node * self.ports[below] + port) * up + parent;
                    out.push(self.cables[below][cable as usize].1);
                    cluster.limit(nodes[..below].iter().sum::<u32>() + node, out);
                    level = below;
                }
                place += 1;
            }
        }
        debug_assert_eq!(here, target, "the way down ends at the host");
    }
}

impl Torus {
    fn route(&self, cluster: &Cluster, from: u32, to: u32, out: &mut Vec<u32>) -> Option<()> {
        let (mut here, mut factor) = (from, 1);
        cluster.limit(from, out);
        for (d, &size) in self.dims.iter().enumerate() {
            let at = |node: u32| node / factor % size;
            let (x, t) = (at(from), at(to));
            let right = (t > x && t <= x + size / 2) || (x > size / 2 && (x + size / 2) % size >= t);
            while at(here) != t {
                let x = at(here);
                let next = if right { (x + 1) % size } else { (x + size - 1) % size };
                let there = here - x * factor + next * factor;
                let owner = if right { here } else { there };
                let cable = self.cables[owner as usize * self.dims.len() + d];
                out.push(if right { cable.0 } else { cable.1 });
                here = there;
                cluster.limit(here, out);
            }
            factor *= size;
        }
        (here == to && (from != to || cluster.limiter.is_some())).then_some(())
    }
}

/// Number of the pair (a, b), a < b, among the pairs of n things in order.
#[must_use]
pub fn pair(a: u32, b: u32, n: u32) -> u32 {
    a * n - a * (a + 1) / 2 + b - a - 1
}

impl Dragonfly {
    /// The link from one of n things to another, among cables by pair from `base`.
    fn link(cables: &[Cable], base: u32, from: u32, to: u32, n: u32) -> u32 {
        let cable = cables[(base + pair(from.min(to), from.max(to), n)) as usize];
        if from < to { cable.0 } else { cable.1 }
    }

    fn route(&self, cluster: &Cluster, from: u32, to: u32, out: &mut Vec<u32>) -> Option<()> {
        let [groups, chassis, blades, nodes] = self.sizes;
        let place = |node: u32| {
            let router = node / nodes;
            (router / (chassis * blades), router / blades % chassis, router % blades)
        };
        let (mut at, target) = (place(from), place(to));
        let router = |(g, c, b): (u32, u32, u32)| cluster.hosts + (g * chassis + c) * blades + b;
        let green = |(g, c, b): (u32, u32, u32), to: u32| {
            Self::link(&self.green, (g * chassis + c) * (blades * (blades - 1) / 2), b, to, blades)
        };
        let black = |(g, c, b): (u32, u32, u32), to: u32| {
            Self::link(&self.black, (g * blades + b) * (chassis * (chassis - 1) / 2), c, to, chassis)
        };
        cluster.limit(from, out);
        out.push(self.local[from as usize].0);
        cluster.limit(router(at), out);
        let mut hop = |link: u32, to: (u32, u32, u32), at: &mut (u32, u32, u32)| {
            out.push(link);
            *at = to;
            cluster.limit(router(to), out);
        };
        if at.0 != target.0 {
            // The blue link to group j is at blade j of chassis 0.
            if at.2 != target.0 {
                hop(green(at, target.0), (at.0, at.1, target.0), &mut at);
            }
            if at.1 != 0 {
                hop(black(at, 0), (at.0, 0, at.2), &mut at);
            }
            let blue = Self::link(&self.blue, 0, at.0, target.0, groups);
            hop(blue, (target.0, 0, at.0), &mut at);
        }
        if at.2 != target.2 {
            let chassis = if self.simgrid { 0 } else { at.1 };
            hop(green(at, target.2), (at.0, chassis, target.2), &mut at);
        }
        if at.1 != target.1 {
            hop(black(at, target.1), target, &mut at);
        }
        out.push(self.local[to as usize].1);
        cluster.limit(to, out);
        Some(())
    }
}
