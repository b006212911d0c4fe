//! Names, GUIDs and ports of the files that a cluster was read from, as columns beside our numbers, so that cables and nodes of tables can be found in
//! the machine room. Tables of other topologies get no such columns.

use base::index::{LinkId, TerminalId};
use fabric::{
    graph::Fabric,
    links::End,
    platform::Platform,
    subnet::{Node, Subnet},
    topology::imported::ImportedShape,
};
use results::table::{Column, Table, TextColumn};

fn subnet(fabric: &Fabric) -> Option<&Subnet> {
    fabric.shape::<ImportedShape>().map(|shape| &*shape.subnet)
}

/// The node of a terminal, whatever plane it is in.
fn host<'a>(subnet: &'a Subnet, fabric: &Fabric, terminal: TerminalId) -> Option<&'a Node> {
    let number = *subnet.hosts.get(fabric.node_of(terminal).index())?;
    subnet.nodes.get(number as usize)
}

/// What the file of a platform or of a cluster calls a host; none on other networks.
#[must_use]
pub fn of_terminal(fabric: &Fabric, terminal: TerminalId) -> Option<String> {
    if let Some(platform) = fabric.shape::<Platform>() {
        return platform.hosts.get(terminal.index()).cloned();
    }
    host(subnet(fabric)?, fabric, terminal).map(|node| node.name.clone())
}

/// What the files call an end of a link.
#[derive(Default)]
struct EndNames {
    name: String,
    guid: String,
    /// Port of the cable, numbered from 1.
    port: u32,
}

fn named(subnet: &Subnet, fabric: &Fabric, end: End) -> Option<EndNames> {
    let (node, port) = match end {
        End::Router { router, port } => {
            let switch = router.number() % fabric.routers_per_plane().max(1);
            let number = *subnet.switches.get(switch as usize)?;
            (subnet.nodes.get(number as usize)?, port.number() + 1)
        }
        End::Terminal(terminal) => {
            let node = host(subnet, fabric, terminal)?;
            (node, node.port)
        }
        End::Nowhere => return None,
    };
    Some(EndNames { name: node.name.clone(), guid: guid(node), port })
}

/// The GUID of an end port, or of its node; empty if the files know none.
fn guid(node: &Node) -> String {
    match (node.port_guid, node.guid) {
        (0, 0) => String::new(),
        (0, own) => format!("{own:#018x}"),
        (port, _) => format!("{port:#018x}"),
    }
}

/// A table with a row per link, with what the files call the links' ends.
#[must_use]
pub fn of_links(mut table: Table, fabric: &Fabric, links: &[LinkId]) -> Table {
    let Some(subnet) = subnet(fabric) else { return table };
    for (end, ends) in ["from", "to"].into_iter().zip([false, true]) {
        let (mut names, mut guids, mut ports) = (TextColumn::default(), TextColumn::default(), Vec::new());
        for &link in links {
            let both = fabric.ends_of_link(link);
            let own = named(subnet, fabric, if ends { both.1 } else { both.0 });
            let EndNames { name, guid, port } = own.unwrap_or_default();
            names.push(&name);
            guids.push(&guid);
            ports.push(port);
        }
        table = table
            .with(&format!("{end}_name"), Column::Text(names))
            .with(&format!("{end}_guid"), Column::Text(guids))
            .with(&format!("{end}_cable_port"), Column::U32(ports));
    }
    table
}

/// A table with a row per pair of nodes, with what the files call them.
#[must_use]
pub fn of_pairs(table: Table, fabric: &Fabric, pairs: &[(TerminalId, TerminalId)]) -> Table {
    let Some(subnet) = subnet(fabric) else { return table };
    let name = |terminal| host(subnet, fabric, terminal).map_or("", |node| node.name.as_str());
    let sources = Column::Text(pairs.iter().map(|pair| name(pair.0)).collect());
    let destinations = Column::Text(pairs.iter().map(|pair| name(pair.1)).collect());
    table.with("source_name", sources).with("destination_name", destinations)
}
