//! Extended generalised fat trees XGFT(h; m_1..m_h; w_1..w_h), any depth and radix, with parallel cables.
//!
//! Terminals are level 0, leaf switches level 1, the top level h. Terminal t has the digits a_1..a_h of its number in the
//! mixed base m, a_1 fastest. A switch of level l is named by a *subtree* (the digits above l: terminals t with
//! t / (m_1..m_l) = subtree are below it) and a *word* below w_1..w_l that distinguishes the switches above one subtree.
//! Switches are numbered level by level, leaves first; within a level by subtree, then word. So no table is needed.
//!
//! Ports of a switch at level l: m_l groups of p_l cables down (group = digit a_l), then w_(l+1) groups of p_(l+1) up.
//! By up group u the word grows from x to x + (w_1..w_l) u.

use super::{Sizes, Wiring};
use crate::{
    graph::Fabric,
    topology::entry::{Constant, Topology},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};

const CLASSES: &[&str] =
    &["terminal", "level-2", "level-3", "level-4", "level-5", "level-6", "level-7", "level-8"];
/// Most levels above the terminals.
const MAX_LEVELS: usize = 32;
const MAX: u64 = 1 << 20;

/// The registered extended generalised fat tree.
pub const TOPOLOGY: Topology = Topology {
    about: About {
        name: "xgft",
        summary: "fat tree of any depth and radix, full or slimmed: XGFT(h; m_1..m_h; w_1..w_h)",
        doc: "Level 0 are the terminals, level 1 the leaf switches, level h the top. A node of level l has `parents[l]` \
              (w_(l+1)) parents and a node of level l + 1 has `children[l]` (m_(l+1)) children, each over \
              `cables[l]` parallel cables. A terminal has one link: the first parents and cables are 1. \
              A level is slimmed by fewer parents (fewer switches), fewer cables, or slower links: the links below \
              level l are of class level-l (level-8 also stands for all levels above), and a class without \
              parameters of its own is like level-2. \
              Switches of radix 2 k in h levels give the full fat tree with half the switches at the top, all of whose \
              ports lead down, by children = [k, .., k, 2 k] and parents = [1, k, .., k]; the same top \
              with two cables to each subtree, for half the terminals, by children = [k, .., k], parents = \
              [1, k, .., k, k / 2] and cables = [1, .., 1, 2]. The k-ary n-tree is children = [k, .., k], \
              parents = [1, k, .., k]. Ports: down by child, then up by parent, cables of one pair side by side.",
        source: "Oehring, Ibel, Das, Kumar: On Generalized Fat Trees, IPPS 1995; parallel cables: Zahavi: \
                 Fat-Tree Routing and Node Ordering Providing Contention Free Traffic for MPI Global Collectives, JPDC \
                 2012; half top and slimming: Denzel, Li, Walker, Jin: A Framework for End-to-end Simulation of \
                 High-performance Computing Systems, SIMUTools 2008, section 3.2",
        params: &[
            Param {
                name: "children",
                kind: Kind::Ints { min: 1, max: MAX },
                default: None,
                doc: "children of a switch, level by level from the leaves: m_1..m_h",
            },
            Param {
                name: "parents",
                kind: Kind::Ints { min: 1, max: MAX },
                default: None,
                doc: "parents of a node, from the terminals (always 1): w_1..w_h",
            },
            Param {
                name: "cables",
                kind: Kind::Ints { min: 1, max: MAX },
                default: Some("[]"),
                doc: "parallel cables between a node and each of its parents, from the terminals (always 1); one \
                      everywhere if left out",
            },
        ],
    },
    classes: CLASSES,
    required: 2,
    sizes,
    build,
    small: &[
        // Half the switches at the top.
        &[("children", Constant::Ints(&[2, 2, 4])), ("parents", Constant::Ints(&[1, 2, 2]))],
        // The same top by double cables.
        &[
            ("children", Constant::Ints(&[2, 2, 2])),
            ("parents", Constant::Ints(&[1, 2, 1])),
            ("cables", Constant::Ints(&[1, 1, 2])),
        ],
        // Slimmed.
        &[("children", Constant::Ints(&[4, 3])), ("parents", Constant::Ints(&[1, 2]))],
        &[("children", Constant::Ints(&[2, 1, 3])), ("parents", Constant::Ints(&[1, 3, 1]))],
        &[("children", Constant::Ints(&[3])), ("parents", Constant::Ints(&[1]))],
    ],
};

/// Geometry of an extended generalised fat tree. Levels are counted from 1, the leaves; vectors from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XgftShape {
    /// Children of a switch of level l at l - 1: m.
    pub children: Vec<u32>,
    /// Parents of a node of level l at l, terminals being level 0: w.
    pub parents: Vec<u32>,
    /// Parallel cables between levels l and l + 1 at l.
    pub cables: Vec<u32>,
    /// Number of the first switch of level l at l - 1, and their total last.
    pub first: Vec<u32>,
    /// Terminals below a switch of level l at l: m_1..m_l.
    pub below: Vec<u32>,
    /// Switches of level l above a subtree at l: w_1..w_l.
    pub words: Vec<u32>,
}

impl XgftShape {
    /// Levels of switches, h.
    #[must_use]
    pub fn levels(&self) -> u32 {
        self.children.len() as u32
    }

    /// Level of a switch, from 1.
    #[must_use]
    pub fn level(&self, router: u32) -> u32 {
        self.first.partition_point(|&first| first <= router) as u32
    }

    /// Subtree and word of a switch of a level.
    #[must_use]
    pub fn place(&self, level: u32, router: u32) -> (u32, u32) {
        let index = router - self.first[level as usize - 1];
        let words = self.words[level as usize];
        (index / words, index % words)
    }

    /// The switch at a place.
    #[must_use]
    pub fn router(&self, level: u32, subtree: u32, word: u32) -> u32 {
        self.first[level as usize - 1] + subtree * self.words[level as usize] + word
    }

    /// Subtree of level `level` that a terminal is in: the switches of this level with this subtree are above it.
    #[must_use]
    pub fn subtree(&self, level: u32, terminal: u32) -> u32 {
        terminal / self.below[level as usize]
    }

    /// First of the [`XgftShape::cables_down`] ports that lead from a switch of `level` above `terminal` toward it.
    #[must_use]
    pub fn down_port(&self, level: u32, terminal: u32) -> u32 {
        let child = self.subtree(level - 1, terminal) % self.children[level as usize - 1];
        child * self.cables[level as usize - 1]
    }

    /// Parallel cables from a switch of `level` to each child.
    #[must_use]
    pub fn cables_down(&self, level: u32) -> u32 {
        self.cables[level as usize - 1]
    }

    /// Ports that lead up from a switch of `level`: first and one past the last; none at the top.
    #[must_use]
    pub fn up_ports(&self, level: u32) -> (u32, u32) {
        let l = level as usize;
        let down = self.children[l - 1] * self.cables[l - 1];
        if level == self.levels() { (down, down) } else { (down, down + self.parents[l] * self.cables[l]) }
    }

    /// Ports of a switch of `level`.
    fn radix(&self, level: u32) -> u32 {
        self.up_ports(level).1
    }
}

/// The lists as given, checked against each other.
fn lists(values: &Values) -> Result<[Vec<u64>; 3], Vec<Problem>> {
    let (m, w, mut p) = (values.ints("children"), values.ints("parents"), values.ints("cables"));
    let h = m.len();
    if p.is_empty() {
        p = vec![1; h];
    }
    let mut problems = Vec::new();
    if h == 0 || h > MAX_LEVELS {
        let message = format!("there must be 1 to {MAX_LEVELS} levels, not {h}");
        problems.push(Problem::new("children", message));
    }
    for (key, list) in [("parents", &w), ("cables", &p)] {
        if list.len() != h {
            let message = format!("`children` has {h} levels, `{key}` {}", list.len());
            problems.push(Problem::new(key, message).help("give one number for each level"));
        } else if list.first().is_some_and(|&first| first != 1) {
            let message = format!("a terminal has one link, not {}", list[0]);
            problems.push(Problem::new(key, message).help("begin the list with 1"));
        }
    }
    if problems.is_empty() { Ok([m, w, p]) } else { Err(problems) }
}

fn sizes(values: &Values) -> Result<Sizes, Vec<Problem>> {
    Sizes::within_limits(counts(&lists(values)?), "children")
}

/// Sizes, or `None` if they overflow.
fn counts([m, w, p]: &[Vec<u64>; 3]) -> Option<Sizes> {
    let product = |list: &[u64]| list.iter().try_fold(1u64, |product, &n| product.checked_mul(n));
    let (mut routers, mut ports) = (0u64, 0u64);
    for level in 1..=m.len() {
        let here = product(&m[level..])?.checked_mul(product(&w[..level])?)?;
        let up = if level < m.len() { w[level].checked_mul(p[level])? } else { 0 };
        let radix = m[level - 1].checked_mul(p[level - 1])?.checked_add(up)?;
        routers = routers.checked_add(here)?;
        ports = ports.checked_add(here.checked_mul(radix)?)?;
    }
    Some(Sizes { routers, terminals: product(m)?, ports, ends: product(&m[1..])? })
}

fn shape([m, w, p]: &[Vec<u64>; 3]) -> XgftShape {
    let narrow = |list: &[u64]| list.iter().map(|&n| n as u32).collect::<Vec<u32>>();
    let (children, parents, cables) = (narrow(m), narrow(w), narrow(p));
    let running = |list: &[u32]| {
        let products = list.iter().scan(1, |product, n| {
            *product *= n;
            Some(*product)
        });
        [1].into_iter().chain(products).collect::<Vec<u32>>()
    };
    let (below, words) = (running(&children), running(&parents));
    let mut first = vec![0];
    for level in 1..=children.len() {
        let subtrees = below[children.len()] / below[level];
        first.push(first[level - 1] + subtrees * words[level]);
    }
    XgftShape { children, parents, cables, first, below, words }
}

fn build(values: &Values) -> Result<Fabric, Vec<Problem>> {
    let lists = lists(values)?;
    Sizes::within_limits(counts(&lists), "children")?;
    let shape = shape(&lists);
    let top = shape.levels();
    let count = |level: u32| shape.first[level as usize] - shape.first[level as usize - 1];
    let mut wiring = Wiring::new(
        (1..=top).flat_map(|level| (0..count(level)).map(|_| shape.radix(level)).collect::<Vec<_>>()),
    );
    for level in 1..top {
        wire_level(&mut wiring, &shape, level);
    }
    for leaf in 0..count(1) {
        for port in 0..shape.children[0] {
            wiring.terminal(leaf, port);
        }
    }
    Ok(wiring.finish(TOPOLOGY.about.name, CLASSES, shape))
}

/// Plugs in the cables between a level and the one above.
fn wire_level(wiring: &mut Wiring, shape: &XgftShape, level: u32) {
    let l = level as usize;
    let class = level.min(CLASSES.len() as u32 - 1) as u8;
    let (down, _) = shape.up_ports(level);
    for router in shape.first[l - 1]..shape.first[l] {
        let (subtree, word) = shape.place(level, router);
        let (above, digit) = (subtree / shape.children[l], subtree % shape.children[l]);
        for up in 0..shape.parents[l] {
            let parent = shape.router(level + 1, above, word + up * shape.words[l]);
            for cable in 0..shape.cables[l] {
                let ports = (down + up * shape.cables[l] + cable, digit * shape.cables[l] + cable);
                wiring.link(class, (router, ports.0), (parent, ports.1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::Peer,
        metrics::{diameter, distances},
        registry::{Constant, values},
        topology::{testing::links, tree},
    };
    use base::index::{RouterId, TerminalId};

    fn parameters(m: &'static [u64], w: &'static [u64], p: &'static [u64]) -> Values {
        let sample =
            [("children", Constant::Ints(m)), ("parents", Constant::Ints(w)), ("cables", Constant::Ints(p))];
        values(TOPOLOGY.about.params, &sample)
    }

    fn xgft(m: &'static [u64], w: &'static [u64], p: &'static [u64]) -> Fabric {
        build(&parameters(m, w, p)).unwrap()
    }

    #[test]
    fn counts_follow_their_closed_forms() {
        let fabric = xgft(&[4, 3, 2], &[1, 2, 3], &[1, 2, 1]);
        // Level l: m_(l+1)..m_h w_1..w_l switches.
        assert_eq!(fabric.shape::<XgftShape>().unwrap().first, [0, 6, 10, 16]);
        assert_eq!(fabric.terminals(), 24);
        assert_eq!(links(&fabric), [24, 6 * 2 * 2, 4 * 3, 0, 0, 0, 0, 0]);
        assert_eq!(diameter(&fabric), Some(4));
    }

    #[test]
    fn a_full_tree_needs_half_the_switches_at_the_top() {
        // Radix 8: 64 leaves, 64 in the middle, 32 at the top with eight ports down each.
        for (m, w, p) in [(&[4, 4, 8][..], &[1u64, 4, 4][..], &[][..]), (&[4, 4, 4], &[1, 4, 2], &[1, 1, 2])]
        {
            let fabric = xgft(m, w, p);
            let shape = fabric.shape::<XgftShape>().unwrap();
            let level = |l: usize| shape.first[l] - shape.first[l - 1];
            assert_eq!((level(1), level(2)), (2 * level(3), 2 * level(3)));
            assert_eq!(level(1) * 4, fabric.terminals());
            for router in RouterId::first(fabric.routers()) {
                let ports = fabric.ports_of(router);
                assert!(ports.len() == 8 && ports.iter().all(|p| p.peer != Peer::None), "{router}");
            }
            let counts = links(&fabric);
            assert_eq!(counts[..3], [u64::from(fabric.terminals()); 3], "the same bandwidth on all levels");
        }
    }

    #[test]
    fn a_k_ary_n_tree_is_one() {
        let fabric = xgft(&[3, 3, 3], &[1, 3, 3], &[]);
        let sample = [("k", Constant::Int(3)), ("levels", Constant::Int(3))];
        let tree = (tree::TOPOLOGY.build)(&values(tree::TOPOLOGY.about.params, &sample)).unwrap();
        assert_eq!((fabric.routers(), fabric.ports().len()), (tree.routers(), tree.ports().len()));
        for leaf in RouterId::first(9) {
            assert_eq!(distances(&fabric, leaf).cells()[..9], distances(&tree, leaf).cells()[..9]);
        }
    }

    #[test]
    fn switches_are_above_the_terminals_that_they_reach_downward() {
        let fabric = xgft(&[2, 3, 4], &[1, 2, 2], &[1, 1, 3]);
        let shape = fabric.shape::<XgftShape>().unwrap();
        for router in RouterId::first(fabric.routers()) {
            let level = shape.level(router.number());
            let (subtree, word) = shape.place(level, router.number());
            assert_eq!(shape.router(level, subtree, word), router.number());
            for terminal in
                TerminalId::first(fabric.terminals()).filter(|&t| shape.subtree(level, t.number()) == subtree)
            {
                for cable in 0..shape.cables_down(level) {
                    let port = shape.down_port(level, terminal.number()) + cable;
                    match fabric.ports_of(router)[port as usize].peer {
                        Peer::Terminal(t) => assert_eq!((t, level), (terminal, 1)),
                        Peer::Router { router: child, .. } => {
                            let (below, _) = shape.place(level - 1, child.number());
                            assert_eq!(
                                (shape.level(child.number()), below),
                                (level - 1, shape.subtree(level - 1, terminal.number()))
                            );
                        }
                        Peer::None => panic!("unplugged"),
                    }
                }
            }
            let (up, end) = shape.up_ports(level);
            for port in up..end {
                let Peer::Router { router: parent, .. } = fabric.ports_of(router)[port as usize].peer else {
                    panic!("up leads to switches");
                };
                assert_eq!(shape.level(parent.number()), level + 1);
            }
        }
    }

    #[test]
    fn impossible_lists_are_refused() {
        let key = |m, w, p| {
            sizes(&parameters(m, w, p)).unwrap_err().iter().map(|p| p.key.clone()).collect::<Vec<_>>()
        };
        assert_eq!(key(&[], &[], &[]), ["children"]);
        assert_eq!(key(&[4, 4], &[1], &[]), ["parents"]);
        assert_eq!(key(&[4, 4], &[2, 2], &[2, 1]), ["parents", "cables"]);
        assert_eq!(key(&[1 << 20, 1 << 20, 1 << 20, 1 << 20], &[1, 1, 1, 1], &[]), ["children"]);
        assert_eq!(key(&[1 << 20, 1 << 12], &[1, 1], &[]), ["children"]);
    }
}
