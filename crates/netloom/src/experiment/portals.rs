//! `[portals]`: its tables of nodes.

use super::{
    keys::PORTALS,
    reader::{self, Owner, Spec},
    tree::{Data, Entry, Node, Table},
};
use base::{
    diag::{Diagnostic, Diagnostics},
    param::Param,
};
use model::section::Section;
use portals::nic;

/// `[[portals.node]]`: each with what it leaves to `[portals]`.
pub(super) fn read_nodes(portals: &Table, diagnostics: &mut Diagnostics) -> Vec<Section> {
    let Some(Entry { node: Node { data, place }, .. }) = portals.get("node") else { return Vec::new() };
    let Data::List(items) = data else {
        let diagnostic = Diagnostic::new(*place, "`node` must be a list of tables");
        diagnostics.push(diagnostic.help("write [[portals.node]] with two brackets"));
        return Vec::new();
    };
    let own = |key: &str| !nic::GLOBAL.contains(&key);
    let mut params: Vec<Param> = PORTALS.params.iter().filter(|p| own(p.name)).copied().collect();
    params.push(nic::NODES);
    let spec = Spec {
        title: "[[portals.node]]",
        params: params.into(),
        also: &[],
        elsewhere: &|| nic::GLOBAL.iter().map(|key| (*key, Owner::Section("[portals]"))).collect(),
        lenient: false,
    };
    let mut sections = Vec::new();
    for item in items {
        let Data::Table(table) = &item.data else {
            diagnostics.push(Diagnostic::new(item.place, "a node must be a table"));
            continue;
        };
        let common = portals.entries.iter().filter(|e| {
            PORTALS.params.iter().any(|p| p.name == e.key) && own(&e.key) && table.get(&e.key).is_none()
        });
        let mut table = table.clone();
        table.entries.extend(common.cloned());
        sections.push(reader::read(&spec, &table, item.place, diagnostics));
    }
    sections
}
