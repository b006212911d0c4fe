//! What programs mark on their time lines: the table of it.

use crate::table::{Column, Table, TextColumn, codes};

/// An empty table `markers`: what programs mark, in the order of each rank, with the time at which the rank reaches it. Its `kind` is an instant (`mark`), or the beginning (`enter`) or
/// end (`leave`) of a region; regions of a rank lie within each other.
#[must_use]
pub fn table() -> Table {
    Table::new("markers")
        .with("job", Column::text())
        .with("rank", Column::u32s())
        .with("kind", Column::text())
        .with("name", Column::text())
        .with("time_ps", Column::u64s())
}

/// The columns of a table of markers.
pub(crate) struct Marks<'a> {
    /// Jobs by row, in the codes of the table of operations.
    jobs: Vec<u32>,
    ranks: &'a [u32],
    kinds: &'a TextColumn,
    names: &'a TextColumn,
    times: &'a [u64],
}

impl<'a> Marks<'a> {
    /// Those of a table of markers beside one of operations; none of another table.
    pub(crate) fn of(table: &'a Table, operations: &Table) -> Option<Self> {
        Some(Self {
            jobs: codes(table.text_column("job")?, operations.text_column("job")?),
            ranks: table.u32_column("rank")?,
            kinds: table.text_column("kind")?,
            names: table.text_column("name")?,
            times: table.u64_column("time_ps")?,
        })
    }

    /// Job and rank of each row, with its time.
    pub(crate) fn places(&self) -> impl Iterator<Item = ((u32, u32), u64)> + '_ {
        self.jobs.iter().zip(self.ranks).zip(self.times).map(|((&job, &rank), &time)| ((job, rank), time))
    }

    /// What a row is: `mark`, `enter` or `leave`.
    pub(crate) fn kind(&self, row: usize) -> &str {
        &self.kinds.words()[self.kinds.codes()[row] as usize]
    }

    /// Number of the name of a row among [`Marks::names`].
    pub(crate) fn name(&self, row: usize) -> u32 {
        self.names.codes()[row]
    }

    /// The different names.
    pub(crate) fn names(&self) -> &[String] {
        self.names.words()
    }

    /// True if some row is of this kind.
    pub(crate) fn has(&self, kind: &str) -> bool {
        self.kinds.words().iter().any(|word| word == kind)
    }
}
