//! `[fabric]` with its links, and the network of an experiment alone.

use super::{
    file::{File, chosen, plain},
    keys::{Choices, EXPERIMENT, FABRIC, FAULTS, LINK},
    reader::{self, Spec},
    tree::{Data, Table},
};
use base::{
    diag::{Diagnostic, Diagnostics, Place},
    param::Value,
    registry::nearest,
};
use fabric::registry::{RoutingEntry, Topology};
use model::section::{Chosen, Section};

/// The network of an experiment and nothing else. What a mistake left open is `None` or an incomplete [`Section`].
pub struct FabricOnly {
    /// `[fabric]` without the links.
    pub fabric: Option<Chosen<Topology>>,
    /// Rails of the network; 1 after a mistake.
    pub rails: u64,
    /// `[faults]`, if it is there.
    pub faults: Option<Section>,
    /// `[routing]`, if it is there.
    pub routing: Option<Chosen<RoutingEntry>>,
    /// Seed of the run.
    pub seed: u64,
}

/// Checks `[fabric]` (its links may be missing), `[faults]` and the seed.
pub fn resolve_fabric(
    root: &Table,
    end: Place,
    choices: &Choices,
    diagnostics: &mut Diagnostics,
) -> FabricOnly {
    let file = File { root, end, choices };
    let fabric = file.part("fabric", true, diagnostics);
    let faults = file.part("faults", false, diagnostics);
    let routing = file.part("routing", false, diagnostics);
    let seed = match root.get("experiment").map(|e| &e.node.data) {
        Some(Data::Table(table)) => {
            let seed = EXPERIMENT.params.iter().filter(|p| p.name == "seed").copied().collect();
            let spec =
                Spec { title: "[experiment]", params: seed, also: &[], elsewhere: &Vec::new, lenient: true };
            reader::read(&spec, table, end, diagnostics)
        }
        _ => plain(&EXPERIMENT, "[experiment]", &[], &Table::default(), end, diagnostics),
    };
    let fabric = fabric.and_then(|(table, home)| {
        chosen(&choices.topology, FABRIC.params, table, home, &["link"], diagnostics)
    });
    FabricOnly {
        rails: rails_of(fabric.as_ref()),
        fabric,
        faults: faults.map(|(table, home)| plain(&FAULTS, "[faults]", &[], table, home, diagnostics)),
        routing: routing
            .and_then(|(table, home)| chosen(&choices.routing, &[], table, home, &[], diagnostics)),
        seed: match seed.get("seed") {
            Some(Value::Int(seed)) => *seed,
            _ => 0,
        },
    }
}

/// Rails that `[fabric]` asks for; 1 if it is not there or has a mistake.
pub(super) fn rails_of(fabric: Option<&Chosen<Topology>>) -> u64 {
    match fabric.and_then(|f| f.section.get("rails")) {
        Some(Value::Int(rails)) => *rails,
        _ => 1,
    }
}

/// Links by class, in the order of the topology's classes.
pub(super) type Links = Vec<(&'static str, Section)>;

/// `[fabric]`; its links may be missing if the model has no time.
pub(super) fn read_fabric(
    table: &Table,
    home: Place,
    time: bool,
    choices: &Choices,
    diagnostics: &mut Diagnostics,
) -> (Option<Chosen<Topology>>, Links) {
    let chosen = chosen(&choices.topology, FABRIC.params, table, home, &["link"], diagnostics);
    let Some(topology) = &chosen else { return (chosen, Vec::new()) };
    let classes = topology.entry.classes;
    let Some(link) = table.get("link") else {
        if !time || topology.entry.required == 0 {
            return (chosen, Vec::new());
        }
        let message = "[fabric] lacks `link`: the parameters of its links";
        let help = format!("add `link.CLASS = {{ .. }}` for each class: {}", classes.join(", "));
        diagnostics.push(Diagnostic::new(home, message).label("incomplete").help(help));
        return (chosen, Vec::new());
    };
    let Data::Table(given) = &link.node.data else {
        let message = format!("`link` must be a table, not {}", link.node.data.noun());
        let help = format!("write `link.CLASS = {{ .. }}` for each class: {}", classes.join(", "));
        diagnostics.push(Diagnostic::new(link.node.place, message).help(help));
        return (chosen, Vec::new());
    };
    let name = topology.entry.about.name;
    for entry in given.entries.iter().filter(|e| !classes.contains(&e.key.as_str())) {
        let message = format!("topology \"{name}\" has no link class `{}`", entry.key);
        let mut diagnostic = Diagnostic::new(entry.key_place, message).label("unknown class");
        if let Some(near) = nearest(&entry.key, classes.iter().copied()).first() {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        diagnostics.push(diagnostic.help(format!("its classes are {}", classes.join(", "))));
    }
    let link_home = link.key_place;
    let meant = |class: &str| {
        let unknown = given.entries.iter().filter(|e| !classes.contains(&e.key.as_str()));
        unknown
            .flat_map(|e| nearest(&e.key, classes.iter().copied()).first().copied())
            .any(|near| near == class)
    };
    let required = topology.entry.required;
    let mut links: Links = Vec::new();
    for (index, class) in classes.iter().enumerate() {
        let absent = given.get(class).is_none();
        if absent && (meant(class) || !time) {
            continue;
        }
        if absent && index >= required {
            // Like the last class that must be there.
            links.extend(
                required
                    .checked_sub(1)
                    .and_then(|last| links.get(last))
                    .cloned()
                    .map(|(_, section)| (*class, section)),
            );
        } else {
            links.extend(read_link(class, given, link_home, diagnostics));
        }
    }
    (chosen, links)
}

fn read_link(
    class: &'static str,
    given: &Table,
    link_home: Place,
    diagnostics: &mut Diagnostics,
) -> Option<(&'static str, Section)> {
    let title = format!("link.{class}");
    let Some(entry) = given.get(class) else {
        let message = format!("[fabric] lacks `{title}`");
        let keys: Vec<&str> = LINK.params.iter().map(|p| p.name).collect();
        let help = format!("every link class of the topology needs {}", keys.join(", "));
        diagnostics.push(Diagnostic::new(link_home, message).label("incomplete").help(help));
        return None;
    };
    let Data::Table(table) = &entry.node.data else {
        let message = format!("`{title}` must be a table, not {}", entry.node.data.noun());
        diagnostics.push(Diagnostic::new(entry.node.place, message));
        return None;
    };
    let mut section = plain(&LINK, &title, &[], table, entry.key_place, diagnostics);
    let zero = |key: &str, zero: Value| section.get(key) == Some(&zero);
    let mut refuse = |key: &str, message: &str, help: &str| {
        diagnostics.push(Diagnostic::new(section.place(key), message).help(help));
    };
    let mut complete = section.complete;
    if zero("credit_delay", Value::Time(0)) || zero("credit_delay", Value::Time(1)) {
        refuse("credit_delay", "`credit_delay` must be at least 2 ps", "a credit takes time to travel back");
        complete = false;
    }
    if zero("vc_buffer", Value::Int(0)) {
        refuse(
            "vc_buffer",
            "`vc_buffer` must hold something",
            "give every virtual channel at least one chunk",
        );
        complete = false;
    }
    section.complete = complete;
    Some((class, section))
}
