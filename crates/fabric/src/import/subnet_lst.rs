//! `opensm-subnet.lst` (and `ibdiagnet.lst`): a line for each end of a cable, both ends described. Numbers are hexadecimal.

use super::{
    lines::{Lines, hex},
    role::{Role, Strange, notes_of},
};
use crate::subnet::{Kind, MAX_PORTS, Node, Speed, Subnet, SubnetBuilder, whole};
use base::param::Problem;
use std::collections::{BTreeMap, BTreeSet};

/// A node and its port.
type Place = (u32, u32);

/// One end of a cable.
struct End {
    role: Role,
    node: Node,
    port: u32,
}

/// Reads nodes and cables.
pub(super) fn read(lines: &mut Lines) -> Result<Subnet, Vec<Problem>> {
    let mut builder = SubnetBuilder::default();
    let mut numbers: BTreeMap<(u64, u32), u32> = BTreeMap::new();
    // Ends of cables by (node, port), and the line that gave them.
    let mut cables: BTreeMap<Place, (Place, Speed, u64)> = BTreeMap::new();
    let (mut seen, mut records, mut roles) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    let mut strange = Strange::default();
    let mut text = String::new();
    while lines.next(&mut text) {
        if text.trim().is_empty() || text.starts_with('#') {
            continue;
        }
        let (a, b, speed) = match line(&text, &mut strange) {
            Ok(found) => found,
            Err(message) => {
                lines.mistake(&text, message);
                continue;
            }
        };
        if a.role.is_left_out() || b.role.is_left_out() {
            for end in [a, b].into_iter().filter(|end| end.role.is_left_out()) {
                if seen.insert((end.node.guid, end.node.port)) {
                    if records.insert(end.node.guid) {
                        roles.push(end.role);
                    }
                    builder.left_out.push(end.node);
                }
            }
            continue;
        }
        let [a, b] = [a, b].map(|end| {
            let key = (end.node.guid, end.node.port);
            let node = *numbers.entry(key).or_insert_with(|| {
                builder.nodes.push(end.node);
                builder.nodes.len() as u32 - 1
            });
            (node, end.port)
        });
        for (here, there) in [(a, b), (b, a)] {
            let known = cables.entry(here).or_insert((there, speed, lines.number));
            if known.0 != there {
                let message = format!("this port has another cable already, by line {}", known.2);
                lines.mistake(&text, message);
            }
        }
    }
    lines.done()?;
    builder.notes = notes_of(&roles).chain(strange.note()).collect();
    for (&here, &(there, speed, _)) in &cables {
        if here < there {
            builder.cable(here, there, speed);
        }
    }
    builder.finish(&lines.name)
}

fn line(text: &str, strange: &mut Strange) -> Result<(End, End, Speed), String> {
    let (a, rest) = end(text)?;
    let (b, rest) = end(rest)?;
    let word = |key: &str| rest.split_whitespace().find_map(|w| w.strip_prefix(key));
    let width =
        word("PHY=").and_then(|w| w.trim_end_matches('x').parse().ok()).filter(|w| (1..=12).contains(w));
    let stated = word("SPD=").unwrap_or("2.5");
    let rate = match stated {
        "2.5" => 0,
        "5" | "5.0" => 1,
        "10" | "10.0" => 2,
        "FDR10" => 3,
        "14" => 4,
        "25" => 5,
        "50" => 6,
        "100" => 7,
        "200" => 8,
        _ => {
            strange.count(stated);
            0
        }
    };
    Ok((a, b, Speed { width: width.unwrap_or(4), rate }))
}

/// `{ SW Ports:08 .. {name} LID:0002 PN:01 }` and what follows.
fn end(text: &str) -> Result<(End, &str), String> {
    let form = "an end is written: { SW Ports:08 .. NodeGUID:.. PortGUID:.. {name} LID:0002 PN:01 }";
    let inner = text.trim_start().strip_prefix('{').ok_or(form)?;
    let (head, rest) = inner.split_once('{').ok_or(form)?;
    // A description may hold braces: what follows it begins with LID.
    let (name, rest) = rest.split_once("} LID:").ok_or(form)?;
    let (tail, rest) = rest.split_once('}').ok_or(form)?;
    let value = |key: &str| head.split_whitespace().find_map(|w| w.strip_prefix(key)).and_then(hex);
    let kind = match head.split_whitespace().next() {
        Some(k) if k.starts_with("SW") => Kind::Switch,
        Some(k) if k.starts_with("CA") || k.starts_with("Rt") => Kind::Host,
        _ => return Err(form.to_owned()),
    };
    let role = Role::of(head.split_whitespace().next().unwrap_or(""), name);
    let mut words = tail.split_whitespace();
    let lid = words.next().and_then(hex).ok_or(form)?;
    let port = words.next().and_then(|w| hex(w.strip_prefix("PN:")?)).ok_or(form)?;
    let (guid, port_guid) = (value("NodeGUID:").ok_or(form)?, value("PortGUID:").ok_or(form)?);
    let ports = value("Ports:").ok_or(form)?;
    if ports > MAX_PORTS {
        return Err(format!("this node claims {ports} ports; the most that can be is {MAX_PORTS}"));
    }
    if port == 0 || port > ports {
        return Err(format!("this node has ports 1 to {ports}, not {port}"));
    }
    let own = if kind == Kind::Host { port as u32 } else { 0 };
    let node = Node {
        name: name.to_owned(),
        guid,
        port_guid,
        kind,
        ports: ports as u32,
        port: own,
        lid: u32::try_from(lid).unwrap_or(0),
        lmc: 0,
    };
    Ok((End { role, node, port: port as u32 }, rest))
}

/// Takes LIDs (and names, where a node has none but its identifier) of a subnet from the same subnet in another form.
pub(super) fn identify(mut known: Subnet, lst: Subnet, file: &str) -> Result<Subnet, Vec<Problem>> {
    let by_guid: BTreeMap<u64, &Node> =
        lst.nodes.iter().chain(&lst.left_out).map(|n| (n.port_guid, n)).collect();
    let mut found = 0;
    for node in known.nodes.iter_mut().chain(&mut known.left_out) {
        if let Some(n) = by_guid.get(&node.port_guid).or_else(|| by_guid.get(&node.guid)) {
            (node.lid, found) = (n.lid, found + 1);
        }
    }
    if found == 0 {
        return Err(vec![whole(
            file,
            "no GUID of this file is in the network's file: they tell of two clusters",
        )]);
    }
    Ok(known)
}
