//! Leaves joins out of a program: what waits for one waits for all that it waits for.

use crate::program::{After, Batch, Edge, Kind};

/// Most operations that a join may wait for and be left out: others would make a graph grow.
const MOST: usize = 4096;

/// The joins of a rank that were left out so far.
#[derive(Debug, Default)]
pub(super) struct Joins {
    /// Number as read, and what it waited for: numbers as written, and whether these need only have started.
    left: Vec<(u64, Vec<(u64, bool)>)>,
    /// Operations that have been read so far.
    read: u64,
}

impl Joins {
    /// Takes the joins out of the next batch of the rank, counts the others anew, and makes edges of all that they wait for: of the operation
    /// before first. Graphs with edges that lead backward hold no joins.
    pub(super) fn leave_out(&mut self, batch: &mut Batch) {
        let first = self.read;
        self.read += batch.ops.len() as u64;
        // Stable: edges of one operation keep their order.
        let mut order: Vec<Edge> = std::mem::take(&mut batch.edges);
        let sorted = order.is_sorted_by_key(|e| e.after);
        let joins = batch.ops.iter().any(|op| op.kind == Kind::Join);
        if !joins && self.left.is_empty() {
            batch.edges = implicit(first, batch);
            batch.edges.append(&mut order);
            return;
        }
        if !sorted {
            order.sort_by_key(|e| e.after);
        }
        let mut edges = order.into_iter().peekable();
        for (number, op) in (first..).zip(std::mem::take(&mut batch.ops)) {
            let mut waits = Vec::new();
            if op.after != After::Nothing && number > 0 {
                self.wait_for(number - 1, op.after == After::Start, &mut waits);
            }
            while let Some(edge) = edges.next_if(|e| e.after == number) {
                self.wait_for(edge.before, edge.on_start, &mut waits);
            }
            if op.kind == Kind::Join && waits.len() <= MOST {
                self.left.push((number, waits));
                continue;
            }
            let after = number - self.before(number) as u64;
            batch.edges.extend(waits.into_iter().map(|(before, on_start)| Edge { before, after, on_start }));
            batch.ops.push(op);
        }
    }

    /// Joins left out before this operation.
    fn before(&self, number: u64) -> usize {
        self.left.partition_point(|(join, _)| *join < number)
    }

    /// Adds that an operation is waited for, or all that it waited for, if it is a join: that starts and ends at once.
    fn wait_for(&self, number: u64, on_start: bool, waits: &mut Vec<(u64, bool)>) {
        let before = self.before(number);
        match self.left.get(before) {
            Some((join, all)) if *join == number => waits.extend(all),
            _ => waits.push((number - before as u64, on_start)),
        }
    }
}

/// Edges to the operations before.
fn implicit(first: u64, batch: &Batch) -> Vec<Edge> {
    let after = (first..).zip(&batch.ops).filter(|(number, op)| op.after != After::Nothing && *number > 0);
    after
        .map(|(number, op)| Edge { before: number - 1, after: number, on_start: op.after == After::Start })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::list::{calc, recv};

    #[test]
    fn what_waits_for_a_join_waits_for_what_it_waits_for() {
        let join = crate::program::Op { kind: Kind::Join, after: After::Finish, ..calc(0) };
        let after = crate::program::Op { after: After::Finish, ..calc(7) };
        let mut joins = Joins::default();
        let edge = |before, after| Edge { before, after, on_start: false };
        // 0 and 1 are waited for by 2, which 3 and 4 wait for; 4 is a join too.
        let mut batch =
            Batch { ops: vec![recv(0, 1, 0), recv(0, 1, 1), join], edges: vec![edge(0, 2)], notes: None };
        joins.leave_out(&mut batch);
        assert_eq!((batch.ops.len(), &batch.edges[..]), (2, &[][..]));
        let mut batch = Batch { ops: vec![after, join], edges: vec![edge(2, 4)], notes: None };
        joins.leave_out(&mut batch);
        assert_eq!((batch.ops.len(), &batch.edges[..]), (1, &[edge(1, 2), edge(0, 2)][..]));
        let mut batch = Batch { ops: vec![after], edges: Vec::new(), notes: None };
        joins.leave_out(&mut batch);
        assert_eq!(batch.edges, [edge(2, 3), edge(1, 3), edge(0, 3)]);
    }
}
