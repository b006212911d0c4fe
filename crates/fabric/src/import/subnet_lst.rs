//! `opensm-subnet.lst` (and `ibdiagnet.lst`): a line for each end of a cable, both ends described. Numbers are hexadecimal.

use super::{
    ends::{End, Ends, Stated, check_port},
    lines::{Lines, hex},
    role::What,
};
use crate::subnet::{Keep, Kind, Node, Speed, Subnet, whole};
use base::{param::Problem, sorted::SortedMap};

/// Reads nodes and cables.
pub(super) fn read(lines: &mut Lines, keep: Keep) -> Result<Subnet, Vec<Problem>> {
    let mut ends = Ends::new(keep);
    let mut text = String::new();
    while lines.next(&mut text) {
        let start = text.trim_start();
        if start.is_empty() || start.starts_with('#') {
            continue;
        }
        if !start.starts_with('{') {
            ends.skipped.count(lines.number, start);
            continue;
        }
        let read = line(&text);
        if let Err(message) = read.and_then(|(a, b, speed)| ends.cable(a, b, speed, lines.number)) {
            lines.mistake(&text, message);
        }
    }
    ends.finish(lines, "no cables")
}

fn line(text: &str) -> Result<(End, End, Stated), String> {
    let (a, rest) = end(text)?;
    let (b, rest) = end(rest)?;
    let word = |key: &str| rest.split_whitespace().find_map(|w| w.strip_prefix(key));
    let width =
        word("PHY=").and_then(|w| w.trim_end_matches('x').parse().ok()).filter(|w| (1..=12).contains(w));
    let stated = word("SPD=").unwrap_or("2.5");
    let known = match stated {
        "2.5" => 0,
        "5" | "5.0" => 1,
        "10" | "10.0" => 2,
        "FDR10" => 3,
        "14" => 4,
        "25" => 5,
        "50" => 6,
        "100" => 7,
        "200" => 8,
        _ => return Ok((a, b, Err(stated.to_owned()))),
    };
    Ok((a, b, Ok(Speed { width: width.unwrap_or(4), rate: known })))
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
    let what = What::of(head.split_whitespace().next().unwrap_or(""), name);
    let mut words = tail.split_whitespace();
    let lid = words.next().and_then(hex).ok_or(form)?;
    let port = words.next().and_then(|w| hex(w.strip_prefix("PN:")?)).ok_or(form)?;
    let (guid, port_guid) = (value("NodeGUID:").ok_or(form)?, value("PortGUID:").ok_or(form)?);
    let ports = value("Ports:").ok_or(form)?;
    check_port(port, ports)?;
    let own = if kind == Kind::Host { port as u32 } else { 0 };
    let node = Node {
        name: name.to_owned(),
        guid,
        port_guid,
        kind,
        role: what.role(),
        ports: ports as u32,
        port: own,
        lid: u32::try_from(lid).unwrap_or(u32::MAX),
        lmc: 0,
    };
    Ok((End { what, node, port: port as u32 }, rest))
}

/// Takes LIDs (and names, where a node has none but its identifier) of a subnet from the same subnet in another form.
pub(super) fn identify(mut known: Subnet, lst: Subnet, file: &str) -> Result<Subnet, Vec<Problem>> {
    let by_guid: SortedMap<u64, &Node> =
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
            "no GUID of this file is in the network's file: they are of two clusters",
        )]);
    }
    Ok(known)
}
