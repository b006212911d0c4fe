//! Draws the 72-node dragonfly of the tutorial: `cargo run -p netloom-fabric --example picture > docs/dragonfly-72.svg`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use base::{
    index::{RouterId, TerminalId},
    sorted::SortedSet,
};
use fabric::{
    graph::{Fabric, Peer},
    registry::{Constant, values},
    topology::dragonfly::TOPOLOGY,
};
use std::f64::consts::TAU;

const ROUTERS_PER_GROUP: u32 = 4;
const GROUPS: u32 = 9;
const STYLE: &str = "text{font:14px sans-serif;fill:#334}.small{font-size:12px}.local{stroke:#9ab;fill:none;stroke-width:1.5}\
.global{stroke:#69c;fill:none;stroke-width:1.5;opacity:.55}.terminal{stroke:#bbb}.way{stroke:#e60;fill:none;stroke-width:3.5}\
.router{fill:#246}.node{fill:#7a8}.hit{fill:#e60}";

type Point = (f64, f64);

/// Angle around the centre and distance from it.
fn at(angle: f64, distance: f64) -> Point {
    (310.0 + distance * angle.sin(), 310.0 - distance * angle.cos())
}

fn angle(router: u32) -> f64 {
    let (group, place) = (router / ROUTERS_PER_GROUP, router % ROUTERS_PER_GROUP);
    TAU / f64::from(GROUPS) * (f64::from(group) + (f64::from(place) - 1.5) * 0.2)
}

fn router(number: u32) -> Point {
    at(angle(number), 215.0)
}

fn terminal(number: u32, fabric: &Fabric) -> Point {
    let (router, port) = fabric.attached(TerminalId::new(number));
    let first = fabric.attachments().iter().filter(|a| a.0 == router).map(|a| a.1).min().unwrap_or(port);
    at(angle(router.number()) + (f64::from(port.number() - first.number()) - 0.5) * 0.06, 272.0)
}

/// A cable: global ones bend toward the centre, local ones outward.
fn cable(a: u32, b: u32, class: &str) -> String {
    let ((x, y), (u, v)) = (router(a), router(b));
    let middle = if class == "global" || a / ROUTERS_PER_GROUP != b / ROUTERS_PER_GROUP {
        let (m, n) = ((x + u) / 2.0, (y + v) / 2.0);
        (310.0 + (m - 310.0) * 0.45, 310.0 + (n - 310.0) * 0.45)
    } else {
        at((angle(a) + angle(b)) / 2.0, 215.0 + 14.0 * f64::from(a.abs_diff(b)))
    };
    format!("<path class='{class}' d='M{x:.1} {y:.1}Q{:.1} {:.1} {u:.1} {v:.1}'/>\n", middle.0, middle.1)
}

fn spoke(t: u32, fabric: &Fabric, class: &str) -> String {
    let ((x, y), (u, v)) = (terminal(t, fabric), router(fabric.router_at(TerminalId::new(t)).number()));
    format!("<path class='{class}' d='M{x:.1} {y:.1}L{u:.1} {v:.1}'/>\n")
}

/// Routers of the minimal path that visits four, from router 0 to the fourth group after its own.
fn path(fabric: &Fabric) -> Vec<u32> {
    let target = 4;
    let leaves = |&(_, peer): &(u32, u32)| peer / ROUTERS_PER_GROUP == target;
    let (exit, entry) = (0..ROUTERS_PER_GROUP)
        .flat_map(|r| peers(fabric, r).into_iter().map(move |p| (r, p)))
        .find(leaves)
        .expect("every pair of groups has a cable");
    let last = (target * ROUTERS_PER_GROUP..).find(|&r| r != entry).expect("a group has several routers");
    let mut path = vec![0, exit, entry, last];
    path.dedup();
    path
}

fn peers(fabric: &Fabric, router: u32) -> Vec<u32> {
    let peer = |p: &fabric::graph::Port| match p.peer {
        Peer::Router { router, .. } => Some(router.number()),
        _ => None,
    };
    fabric.ports_of(RouterId::new(router)).iter().filter_map(peer).collect()
}

fn main() {
    let sample = [
        ("groups", Constant::Int(GROUPS.into())),
        ("routers_per_group", Constant::Int(ROUTERS_PER_GROUP.into())),
        ("terminals_per_router", Constant::Int(2)),
        ("global_ports_per_router", Constant::Int(2)),
    ];
    let fabric = (TOPOLOGY.build)(&values(TOPOLOGY.about.params, &sample)).expect("a valid dragonfly");
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 620 690'>\n<title>The 72-node dragonfly</title>\n\
         <style>{STYLE}</style>\n<rect width='620' height='690' rx='12' fill='#fff'/>\n"
    );
    for class in ["global", "local"] {
        for r in 0..fabric.routers() {
            let same = |p: &u32| (p / ROUTERS_PER_GROUP == r / ROUTERS_PER_GROUP) == (class == "local");
            let far: SortedSet<u32> = peers(&fabric, r).into_iter().filter(|p| *p > r).filter(same).collect();
            svg += &far.into_iter().map(|p| cable(r, p, class)).collect::<String>();
        }
    }
    svg += &(0..fabric.terminals()).map(|t| spoke(t, &fabric, "terminal")).collect::<String>();
    let path = path(&fabric);
    let end = (0..)
        .find(|&t| path.ends_with(&[fabric.router_at(TerminalId::new(t)).number()]))
        .expect("routers have terminals");
    svg += &path.windows(2).map(|w| cable(w[0], w[1], "way")).collect::<String>();
    svg += &[0, end].map(|t| spoke(t, &fabric, "way")).concat();
    for r in 0..fabric.routers() {
        let (x, y) = router(r);
        let class = if path.contains(&r) { "hit" } else { "router" };
        svg += &format!(
            "<rect class='{class}' x='{:.1}' y='{:.1}' width='12' height='12' rx='2'/>\n",
            x - 6.0,
            y - 6.0
        );
    }
    for t in 0..fabric.terminals() {
        let (x, y) = terminal(t, &fabric);
        let class = if t == 0 || t == end { "hit" } else { "node" };
        svg += &format!("<circle class='{class}' cx='{x:.1}' cy='{y:.1}' r='4.5'/>\n");
    }
    for group in 0..GROUPS {
        let (x, y) = at(TAU / f64::from(GROUPS) * f64::from(group), 293.0);
        svg += &format!(
            "<text class='small' x='{x:.1}' y='{:.1}' text-anchor='middle'>{group}</text>\n",
            y + 4.0
        );
    }
    let caption = format!(
        "{GROUPS} groups of {ROUTERS_PER_GROUP} routers (squares) with 2 terminals each (circles): {} nodes",
        fabric.terminals()
    );
    let lines = [caption.as_str(), "orange: a minimal path that visits 4 routers, local, global, local"];
    for (line, y) in lines.into_iter().zip([640, 664]) {
        svg += &format!("<text x='310' y='{y}' text-anchor='middle'>{line}</text>\n");
    }
    println!("{svg}</svg>");
}
