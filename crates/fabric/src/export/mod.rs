//! Networks written for other programs: Graphviz, JSON, edge lists.
//!
//! All forms list the routers in order and each cable once, at its end with the lower router (or, between parallel ports,
//! the lower port) number. [`json`] keeps everything that a fabric's graph holds, port numbers included, and topology
//! `graph` reads it back; [`edge_list`], which it reads too, is shorter and numbers ports anew.

pub mod cluster;
pub mod routes;

use crate::graph::{Fabric, Peer};
use base::index::{PortId, RouterId, TerminalId};
use std::io::{self, Write};

/// Cables between routers: class, router and port at either end.
fn cables(
    fabric: &Fabric,
) -> impl Iterator<Item = (&'static str, (RouterId, PortId), (RouterId, PortId))> + '_ {
    let ports = move |router| {
        fabric.ports_of(router).iter().zip((0..).map(PortId::new)).map(move |(port, i)| (router, i, port))
    };
    RouterId::first(fabric.routers()).flat_map(ports).filter_map(|(router, i, port)| match port.peer {
        Peer::Router { router: peer, port: p } if (router, i) < (peer, p) => {
            Some((fabric.classes()[usize::from(port.class)], (router, i), (peer, p)))
        }
        _ => None,
    })
}

/// Graphviz: routers are boxes `r0`, `r1`.., terminals circles `t0`, `t1`.., one edge per cable with its class as
/// `class` and by colour, and the ports at the edge's ends. With several planes a circle is a node with a link to each.
///
/// # Errors
/// If writing fails.
pub fn dot(fabric: &Fabric, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "graph \"{}\" {{", fabric.topology())?;
    writeln!(out, "  node [shape=box];\n  edge [colorscheme=dark28, fontsize=8];")?;
    for router in RouterId::first(fabric.routers()) {
        writeln!(out, "  r{router};")?;
    }
    for terminal in 0..fabric.nodes() {
        writeln!(out, "  t{terminal} [shape=circle];")?;
    }
    for (terminal, (router, port)) in (0..).map(TerminalId::new).zip(fabric.attachments()) {
        let terminal = fabric.node_of(terminal);
        writeln!(out, "  r{router} -- t{terminal} [class=\"{}\", taillabel={port}];", fabric.classes()[0])?;
    }
    for (class, (a, p), (b, q)) in cables(fabric) {
        let colour = fabric.classes().iter().position(|c| *c == class).unwrap_or(0) % 8 + 1;
        writeln!(out, "  r{a} -- r{b} [class=\"{class}\", color={colour}, taillabel={p}, headlabel={q}];")?;
    }
    writeln!(out, "}}")
}

/// JSON, one cable and one terminal per line; topology `graph` reads it and builds the same network, but for the class of
/// ports without a cable and for the geometry that routings of the original topology know.
///
/// # Errors
/// If writing fails.
pub fn json(fabric: &Fabric, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{{\n\"format\": \"netloom-graph\",\n\"version\": 1,\n\"topology\": \"{}\",",
        fabric.topology()
    )?;
    writeln!(out, "\"routers\": {},", fabric.routers())?;
    write!(out, "\"ports\": [")?;
    for router in RouterId::first(fabric.routers()) {
        let comma = if router.number() == 0 { "" } else { ", " };
        write!(out, "{comma}{}", fabric.ports_of(router).len())?;
    }
    write!(out, "],\n\"links\": [")?;
    for (i, (class, (a, p), (b, q))) in cables(fabric).enumerate() {
        let comma = if i == 0 { "" } else { "," };
        write!(out, "{comma}\n{{\"class\": \"{class}\", \"a\": [{a}, {p}], \"b\": [{b}, {q}]}}")?;
    }
    write!(out, "\n],\n\"terminals\": [")?;
    for (i, (router, port)) in fabric.attachments().iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        write!(out, "{comma}\n[{router}, {port}]")?;
    }
    writeln!(out, "\n]\n}}")
}

/// An edge list: `routers N`, `terminals ROUTER N` for each router that has some, and `A B CLASS` for each cable.
///
/// # Errors
/// If writing fails.
pub fn edge_list(fabric: &Fabric, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "# {}\nrouters {}", fabric.topology(), fabric.routers())?;
    for router in RouterId::first(fabric.routers()) {
        let terminals =
            fabric.ports_of(router).iter().filter(|p| matches!(p.peer, Peer::Terminal(_))).count();
        if terminals > 0 {
            writeln!(out, "terminals {router} {terminals}")?;
        }
    }
    for (class, (a, _), (b, _)) in cables(fabric) {
        writeln!(out, "{a} {b} {class}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
