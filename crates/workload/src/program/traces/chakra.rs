//! Execution traces of Chakra: one file for each rank, a graph of nodes that compute and communicate.
//!
//! Files are messages of Protocol Buffers, each behind its length, or JSON with a list `workload_graph`. **Dependencies** are those of data, as
//! Chakra's own feeder takes them: control dependencies say which operator called which, and that one is not over. **Resources**, as in ASTRA-sim: what the
//! processor of the host does, kernels, and communication take turns among themselves, on processors 0, 1 and 2 of the rank. A collective that the host only
//! issues is computation of the host. **Sizes**: an all-gather or gather says what one rank contributes, a reduce-scatter, scatter or all-to-all
//! the whole of a rank. **Groups** have the ranks that a node `process_group:init` says, else those whose traces name them; a collective of a group is the n-th
//! by its nodes' numbers. A node without a recorded time takes as long as its operations at the given speed.
//!
//! A rank's nodes are in memory while it is read. A library for Protocol Buffers would bring its code generator's runtime for two messages
//! with a dozen fields; the decoder here is a page (`message.rs`), and what it does with damage is known.

use super::{
    files::Listed,
    notes::{Notes, RankNotes},
    siblings::siblings,
    words::Scale,
};
use crate::program::{
    Damage,
    input::Input,
    lower::graph::{Graph, Group, Piece},
    mpi::Dropped,
    place::Place,
};
use base::{index::RankId, param::Built, sorted::SortedMap};
use kinds::{ABSENT, CONTROL, FOREIGN, MISSING, SIZELESS, TIMELESS, UNREAD};
use node::Node;
use pieces::Making;
use std::sync::Arc;

mod json;
mod kinds;
mod message;
mod node;
mod pieces;
#[cfg(test)]
mod tests;

/// The two forms of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::program) enum Form {
    Json,
    Messages,
}

/// The form of what begins with these bytes, if it is such a trace.
pub(in crate::program) fn form(head: &[u8]) -> Option<Form> {
    if head.trim_ascii_start().starts_with(b"{") {
        let key = b"\"workload_graph\"";
        return head.windows(key.len()).any(|part| part == key).then_some(Form::Json);
    }
    message::begins(head).then_some(Form::Messages)
}

/// Reads a trace: a list of files, or the name of one of them.
///
/// # Errors
/// If a file is missing or damaged.
pub(in crate::program) fn read(
    input: &Input<'_>,
    listed: Option<Listed>,
    form: Form,
    scale: Scale,
) -> Built<Arc<dyn Graph>> {
    let paths = match listed {
        Some(listed) => listed.paths,
        None => siblings(input).map_err(|problem| vec![problem])?,
    };
    let mut chakra =
        Chakra { paths: paths.into(), form, scale, groups: SortedMap::new(), notes: Arc::default() };
    let refused = |Damage(message): Damage| vec![input.problem(message)];
    // Groups by name: the ranks that name them, and those that are said to be in them.
    let mut groups: SortedMap<String, (Vec<u32>, Vec<u32>)> = SortedMap::new();
    for rank in 0..chakra.paths.len() as u32 {
        for node in chakra.nodes(RankId::new(rank)).map_err(refused)? {
            for (name, ranks) in node.groups.unwrap_or_default() {
                groups.entry(name).or_default().1 = ranks;
            }
            if let Some(name) = node.comm.and_then(|comm| comm.group) {
                let named = &mut groups.entry(name).or_default().0;
                if named.last() != Some(&rank) {
                    named.push(rank);
                }
            }
        }
    }
    let all = (0..chakra.ranks()).collect::<Vec<u32>>();
    // The group without a name is that of all ranks.
    let groups = std::iter::once((String::new(), (all.clone(), all))).chain(groups);
    for (number, (name, (named, said))) in groups.enumerate() {
        let members = if said.is_empty() { named } else { said };
        let members = members.into_iter().map(RankId::new).collect();
        chakra.groups.insert(name, Arc::new(Group { number: number as u32, members }));
    }
    Ok(Arc::new(chakra))
}

struct Chakra {
    paths: Arc<[Place]>,
    form: Form,
    scale: Scale,
    groups: SortedMap<String, Arc<Group>>,
    notes: Arc<Notes>,
}

impl Chakra {
    fn nodes(&self, rank: RankId) -> Result<Vec<Node>, Damage> {
        let path = &self.paths[rank.index()];
        let nodes = match self.form {
            Form::Json => json::read(path)?,
            Form::Messages => message::read(path)?,
        };
        for node in &nodes {
            let wrong = |what| Damage(format!("{}, node {}: {what}", path, node.id));
            node.check(self.scale.speed).map_err(wrong)?;
        }
        Ok(nodes)
    }
}

impl Graph for Chakra {
    fn ranks(&self) -> u32 {
        self.paths.len() as u32
    }

    fn cpus(&self) -> u8 {
        3
    }

    fn open(&self, rank: RankId) -> Result<Box<dyn Iterator<Item = Piece> + Send>, Damage> {
        let mut nodes = self.nodes(rank)?;
        let mut met = RankNotes::new(rank);
        nodes.iter().filter(|node| node.groups.is_none()).for_each(|_| met.met(UNREAD, &self.notes));
        met.met_times(CONTROL, nodes.iter().map(|node| node.control).sum(), &self.notes);
        let order = node::order(&mut nodes, || met.met(MISSING, &self.notes))
            .map_err(|what| Damage(format!("{}: {what}", self.paths[rank.index()])))?;
        let making = Making {
            ranks: self.ranks(),
            rank,
            speed: self.scale.speed,
            groups: &self.groups,
            notes: &self.notes,
            met,
        };
        Ok(Box::new(making.pieces(nodes, &order).into_iter()))
    }

    fn describe(&self, rank: RankId, origin: u32) -> String {
        format!("{}, node {origin}", self.paths[rank.index()])
    }

    fn dropped(&self) -> Vec<Dropped> {
        let text = |kind: u64, n: u64| match kind {
            SIZELESS => format!(
                "{n} communication nodes do not say what they move: they take their recorded time, without messages"
            ),
            TIMELESS => format!("{n} nodes have neither a time nor a number of operations, and take none"),
            MISSING => format!("{n} dependencies name nodes that are not in the trace"),
            ABSENT => format!(
                "{n} communication nodes are with ranks that have no file, and take their recorded time"
            ),
            FOREIGN => format!(
                "{n} communication nodes are of a group that their rank is not in, and take their recorded time"
            ),
            CONTROL => format!(
                "{n} control dependencies are passed over: they say which operator called which, and that one need not be over"
            ),
            UNREAD => {
                format!("{n} lists of process groups cannot be read: the ranks that name a group are in it")
            }
            _ => format!("{n} nodes are of a type that is not known, and take their recorded time"),
        };
        let dropped = |(kind, n)| Dropped {
            text: text(kind, n),
            messages: !matches!(kind, TIMELESS | MISSING | CONTROL),
        };
        self.notes.totals().into_iter().map(dropped).collect()
    }

    fn noted(&self) -> Vec<u64> {
        self.notes.words()
    }

    fn note(&self, noted: &[u64]) {
        self.notes.add(noted);
    }
}
