//! Pieces of work of a rank's nodes.

use super::{
    kinds::{ABSENT, FOREIGN, SIZELESS, TIMELESS, UNKNOWN},
    node::{COLLECTIVE, COMP, Comm, MEM_LOAD, MEM_STORE, METADATA, Node, RECV, SEND},
};
use crate::program::{
    ANY_TAG,
    lower::graph::{Group, Piece, Work},
    mpi::{Collective, CollectiveKind as K, CommRank, WORLD},
    traces::{
        notes::{Notes, RankNotes},
        words::picoseconds,
    },
};
use base::{
    index::RankId,
    sorted::SortedMap,
    time::{Ps, US},
};
use std::sync::Arc;

/// Processors of a rank.
const HOST: u8 = 0;
const KERNELS: u8 = 1;
const NETWORK: u8 = 2;

/// What pieces are made with.
pub(super) struct Making<'a> {
    pub(super) ranks: u32,
    pub(super) rank: RankId,
    /// Operations a second.
    pub(super) speed: f64,
    pub(super) groups: &'a SortedMap<String, Arc<Group>>,
    pub(super) notes: &'a Notes,
    pub(super) met: RankNotes,
}

impl Making<'_> {
    /// The pieces of nodes whose dependencies are places in an order.
    pub(super) fn pieces(mut self, nodes: Vec<Node>, order: &[u32]) -> Vec<Piece> {
        // Collectives are counted by the numbers of their nodes, which are the same way round at all ranks of a group.
        let mut of_group: Vec<(&str, u64)> = Vec::new();
        for node in &nodes {
            if let Some(comm) = node.comm.as_ref().filter(|_| node.kind == COLLECTIVE && !node.host) {
                of_group.push((comm.group.as_deref().unwrap_or(""), node.id));
            }
        }
        of_group.sort_unstable();
        let mut numbers = SortedMap::new();
        for (place, &(name, id)) in of_group.iter().enumerate() {
            let first = of_group.partition_point(|&(other, _)| other < name);
            numbers.insert(id, (place - first) as u32);
        }
        let mut pieces = Vec::with_capacity(nodes.len());
        for &place in order {
            let node = &nodes[place as usize];
            let (work, cpu) = self.work(node, numbers.get(&node.id).copied().unwrap_or(0));
            pieces.push(Piece {
                work,
                cpu,
                after: node.after.iter().map(|&place| place as u32).collect(),
                origin: u32::try_from(node.id).unwrap_or(u32::MAX),
            });
        }
        pieces
    }

    fn note(&mut self, kind: u64) {
        self.met.met(kind, self.notes);
    }

    /// What a node becomes, and the processor that does it.
    fn work(&mut self, node: &Node, number: u32) -> (Work, u8) {
        let time = node.micros.saturating_mul(US);
        match (node.kind, &node.comm) {
            (METADATA, _) => (Work::Nothing, HOST),
            _ if node.host => (self.compute(node, time), HOST),
            (SEND | RECV | COLLECTIVE, Some(comm)) => match self.transfer(node.kind, comm, number, time) {
                Ok(work) => (work, NETWORK),
                Err(kind) => {
                    self.note(kind);
                    (Work::Compute(time), NETWORK)
                }
            },
            (COMP, _) => (self.compute(node, time), KERNELS),
            (MEM_LOAD | MEM_STORE, _) => (self.compute(node, time), NETWORK),
            _ => {
                self.note(UNKNOWN);
                (Work::Compute(time), HOST)
            }
        }
    }

    fn compute(&mut self, node: &Node, time: Ps) -> Work {
        let time = if time == 0 { picoseconds(node.operations as f64 / self.speed) } else { time };
        if time == 0 && matches!(node.kind, MEM_LOAD | MEM_STORE) {
            self.note(TIMELESS);
        }
        Work::Compute(time)
    }

    /// Messages of a node, or why there are none.
    fn transfer(&self, kind: u64, comm: &Comm, number: u32, time: Ps) -> Result<Work, u64> {
        let sent = |peer: Option<u32>| {
            let (peer, bytes) = peer.zip(comm.bytes).ok_or(SIZELESS)?;
            if peer >= self.ranks { Err(ABSENT) } else { Ok((RankId::new(peer), comm.tag % ANY_TAG, bytes)) }
        };
        if kind == SEND {
            return sent(comm.destination).map(|(to, tag, bytes)| Work::Send(to, tag, bytes));
        }
        if kind == RECV {
            return sent(comm.source).map(|(from, tag, bytes)| Work::Receive(from, tag, bytes));
        }
        let group = self.groups.get(comm.group.as_deref().unwrap_or("")).ok_or(ABSENT)?;
        let size = group.members.len() as u64;
        // What a rank does with itself takes what it took; if no other has a file, the others are missing.
        if size == 1 && self.ranks > 1 {
            return Ok(Work::Compute(time));
        }
        if size == 1 && comm.bytes.is_some() {
            return Err(ABSENT);
        }
        if group.members.iter().any(|rank| rank.number() >= self.ranks) {
            return Err(ABSENT);
        }
        if !group.members.contains(&self.rank) {
            return Err(FOREIGN);
        }
        // A barrier moves nothing.
        let (number_of, bytes) = match (comm.collective, comm.bytes) {
            (Some(9), _) => (9, 0),
            (Some(number), Some(bytes)) => (number, bytes),
            _ => return Err(SIZELESS),
        };
        let (kind, bytes) = match number_of {
            0 => (K::Allreduce, bytes),
            1 => (K::Reduce, bytes),
            2 => (K::Allgather, bytes),
            3 => (K::Gather, bytes),
            4 => (K::Scatter, bytes.div_ceil(size)),
            5 => (K::Bcast, bytes),
            6 => (K::Alltoall, bytes.div_ceil(size)),
            7 | 8 => (K::ReduceScatterBlock, bytes.div_ceil(size)),
            9 => (K::Barrier, 0),
            _ => return Err(UNKNOWN),
        };
        let root = CommRank::new(comm.root);
        let call = Collective {
            kind,
            comm: WORLD,
            root,
            bytes,
            counts: None,
            neighbours: None,
            request: None,
            algorithm: None,
        };
        Ok(Work::Collective(call, Arc::clone(group), number))
    }
}
