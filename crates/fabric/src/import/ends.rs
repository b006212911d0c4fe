//! Cables told by their ends, whichever file tells them: nodes are numbered as they appear, left out if they are none of hosts, and a
//! port with two cables is a mistake.

use super::{
    lids,
    lines::{Lines, Skipped},
    role::{Strange, What, notes_of},
};
use crate::subnet::{Keep, Kind, MAX_PORTS, Node, Speed, Subnet, SubnetBuilder};
use base::{
    param::Problem,
    sorted::{SortedMap, SortedSet},
};

/// A speed, or the words of one that nobody knows.
pub(super) type Stated = Result<Speed, String>;

/// A node and its port.
type Place = (u32, u32);

/// One end of a cable.
pub(super) struct End {
    /// What the node is.
    pub(super) what: What,
    /// The end port, or the switch.
    pub(super) node: Node,
    /// Port of the node, from 1.
    pub(super) port: u32,
}

impl End {
    /// An end of which a file tells the port, the GUID of the port or switch (0 if it does not) and the LID. The node has as many ports as
    /// are seen of it.
    pub(super) fn of_port(what: What, name: &str, guid: u64, port: u32, lid: u32) -> Self {
        let switch = what == What::Switch;
        let node = Node {
            name: name.to_owned(),
            guid,
            port_guid: guid,
            kind: if switch { Kind::Switch } else { Kind::Host },
            role: what.role(),
            ports: port,
            port: if switch { 0 } else { port },
            lid,
            lmc: 0,
        };
        Self { what, node, port }
    }

    /// What tells the end port or switch from others: its GUID, its LID where there is none, or its name, and the port.
    fn key(&self) -> Key {
        let Node { guid, lid, port, ref name, .. } = self.node;
        match (guid, lid) {
            (0, 0) => (false, 0, port, name.clone()),
            (0, lid) => (false, lid.into(), port, String::new()),
            (guid, _) => (true, guid, port, String::new()),
        }
    }
}

/// Whether there is a GUID, it or the LID, the port, and the name of a node that has neither.
type Key = (bool, u64, u32, String);

/// All ends so far.
pub(super) struct Ends {
    keep: Keep,
    builder: SubnetBuilder,
    numbers: SortedMap<Key, u32>,
    /// What each GUID is of.
    what_of: SortedMap<u64, What>,
    /// Ends of cables by (node, port), and the line that gave them.
    cables: SortedMap<Place, (Place, Speed, u64)>,
    /// End ports that are left out.
    seen: SortedSet<Key>,
    /// Adapters that are left out: what they are, and their descriptions.
    adapters: SortedMap<(bool, u64, String), (What, String)>,
    /// Cables whose speed is unknown.
    strange: Strange,
    /// Lines that tell nothing.
    pub(super) skipped: Skipped,
}

/// Refuses what no node can have.
pub(super) fn check_port(port: u64, ports: u64) -> Result<(), String> {
    if ports > MAX_PORTS {
        return Err(format!("this node claims {ports} ports; the most that can be is {MAX_PORTS}"));
    }
    if port == 0 || port > ports {
        return Err(format!("this node has ports 1 to {ports}, not {port}"));
    }
    Ok(())
}

impl Ends {
    pub(super) fn new(keep: Keep) -> Self {
        Self {
            keep,
            builder: SubnetBuilder::default(),
            numbers: SortedMap::new(),
            what_of: SortedMap::new(),
            cables: SortedMap::new(),
            seen: SortedSet::new(),
            adapters: SortedMap::new(),
            strange: Strange::default(),
            skipped: Skipped::default(),
        }
    }

    /// A cable, told at one end or at both; one of unknown speed is taken for the usual one, and counted.
    ///
    /// # Errors
    /// If one of its ports has another cable, or an end was something else before.
    pub(super) fn cable(&mut self, mut a: End, mut b: End, speed: Stated, line: u64) -> Result<(), String> {
        for end in [&mut a, &mut b] {
            end.node.lid = lids::of_port(end.node.lid)?;
        }
        for end in [&a, &b].into_iter().filter(|end| end.node.guid != 0) {
            let before = *self.what_of.entry(end.node.guid).or_insert(end.what);
            before.same(end.what, end.node.guid)?;
        }
        if [&a, &b].iter().any(|end| end.what.is_left_out(self.keep)) {
            for end in [a, b].into_iter().filter(|end| end.what.is_left_out(self.keep)) {
                let key = end.key();
                if self.seen.insert(key.clone()) {
                    let described = || (end.what, end.node.name.clone());
                    self.adapters.entry((key.0, key.1, key.3)).or_insert_with(described);
                    self.builder.left_out.push(end.node);
                }
            }
            return Ok(());
        }
        let [a, b] = [a, b].map(|end| {
            let node = *self.numbers.entry(end.key()).or_insert_with(|| {
                self.builder.nodes.push(end.node);
                self.builder.nodes.len() as u32 - 1
            });
            let ports = &mut self.builder.nodes[node as usize].ports;
            *ports = end.port.max(*ports);
            (node, end.port)
        });
        if a == b {
            return Err("this cable leads from a port to itself".to_owned());
        }
        // A cable that both of its ends tell is one cable.
        let speed = speed.unwrap_or_else(|word| {
            if !self.cables.contains_key(&a) {
                self.strange.count(&word);
            }
            Speed::USUAL
        });
        for (here, there) in [(a, b), (b, a)] {
            let known = self.cables.entry(here).or_insert((there, speed, line));
            if known.0 != there {
                return Err(format!("this port has another cable already, by line {}", known.2));
            }
        }
        Ok(())
    }

    /// What else is to be told of the file.
    pub(super) fn note(&mut self, note: Option<String>) {
        self.builder.notes.extend(note);
    }

    /// The subnet; `what` says which lines were looked for.
    ///
    /// # Errors
    /// Mistakes noted before, and those of the subnet as a whole.
    pub(super) fn finish(mut self, lines: &mut Lines, what: &str) -> Result<Subnet, Vec<Problem>> {
        lines.done()?;
        let adapters = self.adapters.values().map(|(what, name)| (*what, name.as_str()));
        let mut notes = notes_of(adapters, self.keep);
        notes.append(&mut self.builder.notes);
        notes.extend(self.strange.note());
        notes.extend(self.skipped.note(what));
        self.builder.notes = notes;
        self.builder.tells_lids = true;
        for (&here, &(there, speed, _)) in &self.cables {
            if here < there {
                self.builder.cable(here, there, speed);
            }
        }
        self.builder.finish(&lines.name)
    }
}
