//! Which classes of links lie between two terminals, for losses by class.
//!
//! The way is a shortest one, the first that a search finds that takes ports in ascending order: links of a class are alike, so what matters is the sequence of
//! classes, and of those few are different.

use base::{
    index::{Column, RouterId, TerminalId},
    sorted::SortedMap,
};
use fabric::graph::{Fabric, Peer};
use std::collections::VecDeque;

/// Most entries of the table.
const MAX_TABLE: u64 = 1 << 30;

/// Sequences of classes between routers with terminals.
#[derive(Clone, Debug)]
pub struct ClassPaths {
    /// Row of each terminal's router.
    row: Column<TerminalId, u32>,
    rows: usize,
    /// Index in `sequences`, row by row.
    table: Vec<u16>,
    /// Different sequences from the sender to the receiver; the first is empty.
    sequences: Vec<Vec<u8>>,
}

impl ClassPaths {
    /// Paths of a fabric.
    ///
    /// # Errors
    /// If it has too many routers for a table, or too many different paths.
    pub fn of(fabric: &Fabric) -> Result<Self, String> {
        let mut ends: Vec<RouterId> = fabric.attachments().iter().map(|a| a.0).collect();
        ends.sort_unstable();
        ends.dedup();
        let rows = ends.len();
        if (rows * rows) as u64 > MAX_TABLE {
            return Err(format!("paths between {rows} routers do not fit the table of losses by class"));
        }
        let row = fabric.attachments().iter().map(|a| ends.partition_point(|&e| e < a.0) as u32).collect();
        let mut known = SortedMap::from([(Vec::new(), 0u16)]);
        let mut table = Vec::with_capacity(rows * rows);
        for &from in &ends {
            let before = search(fabric, from);
            for &to in &ends {
                let mut sequence = Vec::new();
                let mut at = to;
                while let Some((router, class)) = before[at].filter(|_| at != from) {
                    sequence.push(class);
                    at = router;
                }
                sequence.reverse();
                let next = known.len();
                let index = *known.entry(sequence).or_insert(next.min(usize::from(u16::MAX)) as u16);
                if index == u16::MAX {
                    return Err("there are too many different paths for losses by class".to_owned());
                }
                table.push(index);
            }
        }
        let mut sequences = vec![Vec::new(); known.len()];
        known.into_iter().for_each(|(sequence, index)| sequences[usize::from(index)] = sequence);
        Ok(Self { row, rows, table, sequences })
    }

    /// Different sequences; the first is empty: the same router.
    #[must_use]
    pub fn sequences(&self) -> &[Vec<u8>] {
        &self.sequences
    }

    /// Index of the sequence between two terminals.
    #[inline]
    #[must_use]
    pub fn between(&self, from: TerminalId, to: TerminalId) -> u32 {
        let (a, b) = (self.row[from] as usize, self.row[to] as usize);
        debug_assert!(a < self.rows && b < self.rows, "a row for each router with terminals");
        u32::from(self.table[a * self.rows + b])
    }
}

/// By router: the one before it on a shortest path from `from`, and the class of the link between them.
fn search(fabric: &Fabric, from: RouterId) -> Column<RouterId, Option<(RouterId, u8)>> {
    let mut before = Column::filled(fabric.routers() as usize, None);
    let mut queue = VecDeque::from([from]);
    while let Some(router) = queue.pop_front() {
        for port in fabric.ports_of(router) {
            if let Peer::Router { router: next, .. } = port.peer
                && next != from
                && before[next].is_none()
            {
                before[next] = Some((router, port.class));
                queue.push_back(next);
            }
        }
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::metrics;
    use model::samples::{int, topology};

    #[test]
    fn paths_are_shortest_and_name_their_classes() {
        let given = [
            ("groups", int(9)),
            ("routers_per_group", int(4)),
            ("terminals_per_router", int(2)),
            ("global_ports_per_router", int(2)),
        ];
        let fabric = topology("dragonfly", &given);
        let paths = ClassPaths::of(&fabric).unwrap();
        let class = |name| fabric.classes().iter().position(|c| *c == name).unwrap() as u8;
        let (local, global) = (class("local"), class("global"));
        for a in TerminalId::first(fabric.terminals()) {
            let all = metrics::distances(&fabric, fabric.router_at(a));
            for b in TerminalId::first(fabric.terminals()) {
                let classes = &paths.sequences()[paths.between(a, b) as usize];
                assert_eq!(classes.len() as u32, all[fabric.router_at(b)]);
                let same_group = fabric.router_at(a).number() / 4 == fabric.router_at(b).number() / 4;
                assert!(same_group || classes.contains(&global), "another group is behind a global link");
                assert!(classes.iter().all(|&c| c == local || c == global));
            }
        }
        assert!(paths.sequences()[0].is_empty());
        for expected in [vec![local], vec![global], vec![local, global]] {
            assert!(paths.sequences().contains(&expected));
        }
    }
}
