//! From what a file in DOT says to a network with its tables.

use super::graph::{ANY, Graph};
use crate::subnet::{
    Edge, Exit, Kind, MAX_ENTRIES, MAX_PORTS, NONE, Node, Role, Speed, Subnet, SubnetBuilder, Tables,
};
use base::param::Problem;

/// A GUID in a host's or switch's name: hexadecimal digits after the first letter, as ORCS takes them.
fn guid(name: &str) -> u64 {
    let rest = name.get(1..).unwrap_or("").trim_start_matches("0x");
    let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).take(16).count();
    if digits == rest.len() && digits == 16 { u64::from_str_radix(rest, 16).unwrap_or(0) } else { 0 }
}

pub(super) fn build(graph: &Graph, file: &str) -> Result<Subnet, Vec<Problem>> {
    let mut number = vec![NONE; graph.is_node.len()];
    let mut builder = SubnetBuilder::default();
    for &name in &graph.nodes {
        number[name as usize] = builder.nodes.len() as u32;
        let text = graph.names.get(name).to_owned();
        let kind = if text.starts_with('H') { Kind::Host } else { Kind::Switch };
        let port = u32::from(kind == Kind::Host);
        let guid = guid(&text);
        builder.nodes.push(Node {
            name: text,
            guid,
            port_guid: guid,
            kind,
            role: Role::Host,
            ports: 0,
            port,
            lid: 0,
            lmc: 0,
        });
    }
    for &(from, to) in &graph.edges {
        let (from, to) = (number[from as usize], number[to as usize]);
        let node = &mut builder.nodes[from as usize];
        node.ports += 1;
        if u64::from(node.ports) > MAX_PORTS {
            let message = format!("{} has more than {MAX_PORTS} links", node.name);
            return Err(vec![crate::subnet::whole(file, message)]);
        }
        let port = node.ports;
        builder.edges.push(Edge { from, port, to, to_port: 0, reverse: NONE, speed: Speed::USUAL });
    }
    pair(&mut builder.edges);
    builder.ordered = true;
    let mut subnet = builder.finish(file)?;
    subnet.sort_by_name();
    subnet.as_listed = true;
    if !graph.routes.is_empty() {
        subnet.tables = Some(tables(graph, &number, &subnet, file)?);
    }
    Ok(subnet)
}

/// Pairs the k-th edge of a direction with the k-th of the other.
fn pair(edges: &mut [Edge]) {
    let mut order: Vec<u32> = (0..edges.len() as u32).collect();
    let key = |edge: &Edge| (edge.from.min(edge.to), edge.from.max(edge.to));
    order.sort_by_key(|&e| (key(&edges[e as usize]), edges[e as usize].from, e));
    let mut begin = 0;
    while begin < order.len() {
        let first = edges[order[begin] as usize];
        let group = order[begin..].iter().take_while(|&&e| key(&edges[e as usize]) == key(&first)).count();
        let parallel = &order[begin..begin + group];
        let there = parallel.iter().take_while(|&&e| edges[e as usize].from == first.from).count();
        let (a, b) =
            if first.from == first.to { parallel.split_at(group / 2) } else { parallel.split_at(there) };
        for (&x, &y) in a.iter().zip(b) {
            let ports = (edges[x as usize].port, edges[y as usize].port);
            (edges[x as usize].reverse, edges[x as usize].to_port) = (y, ports.1);
            (edges[y as usize].reverse, edges[y as usize].to_port) = (x, ports.0);
        }
        begin += group;
    }
}

fn tables(graph: &Graph, number: &[u32], subnet: &Subnet, file: &str) -> Result<Tables, Vec<Problem>> {
    let hosts = subnet.hosts.len();
    if (hosts * subnet.switches.len()) as u64 >= MAX_ENTRIES {
        return Err(vec![crate::subnet::whole(file, "the routing tables are too large")]);
    }
    let mut tables = Tables::new(subnet, 1, false);
    let mut exits: Vec<Option<Exit>> = vec![None; hosts];
    // Out-edges come in the order of their heads, as graphviz has them.
    let mut order: Vec<u32> = (0..subnet.edges.len() as u32).collect();
    order.sort_by_key(|&e| (subnet.edges[e as usize].to, e));
    for e in order {
        let edge = &subnet.edges[e as usize];
        let begin = if e == 0 { 0 } else { graph.ends[e as usize - 1] as usize };
        let routes = &graph.routes[begin..graph.ends[e as usize] as usize];
        let place = subnet.place(edge.from);
        let row = |&name: &u32| {
            let node = number.get(name as usize).copied().filter(|&n| n != NONE && subnet.is_host(n))?;
            Some(subnet.place(node))
        };
        let all = routes == [ANY];
        let every = if all { hosts as u32 } else { 0 };
        let rows = (0..every).chain(routes.iter().filter_map(row));
        if !subnet.is_host(edge.from) {
            for row in rows {
                if tables.entry(subnet, row, place) == NONE {
                    tables.set(subnet, row, place, e);
                }
            }
            continue;
        }
        match &mut exits[place as usize] {
            Some(Exit::Listed(list)) => {
                for row in rows {
                    let entry = &mut list[row as usize];
                    *entry = if *entry == NONE { e } else { *entry };
                }
            }
            Some(_) => {}
            exit if all => *exit = Some(Exit::One(e)),
            exit => {
                let mut list = vec![NONE; hosts];
                rows.for_each(|row| list[row as usize] = e);
                *exit = Some(Exit::Listed(list));
            }
        }
    }
    for ((host, exit), slot) in (0u32..).zip(exits).zip(&mut tables.exits) {
        *slot = match exit {
            Some(Exit::Listed(list)) => simple(list, host),
            Some(exit) => exit,
            None => Exit::None,
        };
    }
    Ok(tables)
}

/// One edge for everything but the host itself is [`Exit::One`].
fn simple(list: Vec<u32>, host: u32) -> Exit {
    let mut others = (0u32..).zip(&list).filter(|(i, _)| *i != host).map(|(_, &e)| e);
    match others.next() {
        Some(first) if first != NONE && others.all(|e| e == first) => Exit::One(first),
        Some(_) => Exit::Listed(list),
        None => list.first().copied().filter(|&e| e != NONE).map_or(Exit::None, Exit::One),
    }
}
