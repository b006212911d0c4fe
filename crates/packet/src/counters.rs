//! What the engine did up to each tick: a table for whoever tunes a scheduler. No result depends on it, and no two runs have the same.

use base::world::World;
use engine::{
    director::EngineCounts,
    kept::{put, take},
};
use model::failure::Failure;
use results::table::{Cell, Column, Table};

/// Counts of one rank by tick.
#[derive(Debug, Default)]
pub struct Counters(Vec<EngineCounts>);

impl Counters {
    /// Takes the counts at a tick.
    pub fn push(&mut self, counts: EngineCounts) {
        debug_assert!(self.0.last().is_none_or(|last| last.now <= counts.now), "ticks follow each other");
        self.0.push(counts);
    }

    /// The table `engine`, which the first rank makes of the counts of all; in the others it is empty.
    ///
    /// # Errors
    /// If what a rank sent is damaged.
    pub fn of_all(self, world: &World) -> Result<Table, Failure> {
        let mut bytes = Vec::new();
        put(&self.0, &mut bytes);
        let of = |bytes: Vec<u8>| take(&mut bytes.as_slice()).map_err(|_| Failure::Damaged);
        let ranks: Result<Vec<Vec<EngineCounts>>, Failure> =
            world.gather(bytes).into_iter().map(of).collect();
        Ok(table(&ranks?))
    }
}

fn table(ranks: &[Vec<EngineCounts>]) -> Table {
    let mut table = Table::new("engine").with("time_ps", Column::u64s()).with("rank", Column::u32s());
    for name in ["events", "windows", "handled", "rollbacks", "rolled_back", "peak_history_bytes", "ahead_ps"]
    {
        table = table.with(name, Column::u64s());
    }
    for (rank, rows) in (0..).zip(ranks) {
        for c in rows {
            let counts =
                [c.events, c.windows, c.handled, c.rollbacks, c.rolled_back, c.peak_history_bytes, c.ahead];
            let cells: Vec<Cell> =
                [Cell::U64(c.now), Cell::U32(rank)].into_iter().chain(counts.map(Cell::U64)).collect();
            table.push(&cells);
        }
    }
    table
}
