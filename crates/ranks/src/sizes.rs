//! Sizes of the messages that ranks send: a histogram, and on demand their numbers, means and spreads over time.

use base::{sorted::SortedMap, time::Ps};
use model::setup::JobOf;
use results::table::{Cell, Column, Table};
use serde::{Deserialize, Serialize};

/// A message that a rank has sent, as windows tell it apart.
#[derive(Clone, Copy, Debug)]
pub struct SentMessage {
    /// The job of its sender.
    pub job: u32,
    /// When its send was over.
    pub time: Ps,
    /// Its receiver lives on the same terminal.
    pub within: bool,
}

/// Number of messages, their bytes and the squares of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeSums {
    /// Number of messages.
    pub messages: u64,
    /// Their payload in bytes.
    pub bytes: u64,
    /// Sum of the squares of their sizes.
    pub squares: u128,
}

impl SizeSums {
    /// Adds a message.
    pub fn record(&mut self, bytes: u64) {
        let square = u128::from(bytes) * u128::from(bytes);
        self.add(&Self { messages: 1, bytes, squares: square });
    }

    /// Adds what others sent.
    pub fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// Mean size, 0 of no message.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.messages == 0 { 0.0 } else { self.bytes as f64 / self.messages as f64 }
    }

    /// Standard deviation of the sizes: of all that there are, so divided by their number.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        if self.messages == 0 {
            return 0.0;
        }
        // Exact but for the last division: differences of large squares would lose everything.
        let n = u128::from(self.messages);
        let square = u128::from(self.bytes).saturating_mul(u128::from(self.bytes));
        debug_assert!(self.squares.saturating_mul(n) >= square, "sizes spread by no less than nothing");
        let spread = self.squares.saturating_mul(n).saturating_sub(square);
        (spread as f64).sqrt() / n as f64
    }
}

/// Adds the columns of [`cells`] to a table.
pub(crate) fn with_sums(table: Table) -> Table {
    table
        .with("kind", Column::text())
        .with("reach", Column::text())
        .with("messages", Column::u64s())
        .with("bytes", Column::u64s())
        .with("mean_bytes", Column::f64s())
        .with("deviation_bytes", Column::f64s())
}

/// Messages of collectives or between ranks, within a terminal or leaving it, as the end of a row.
pub(crate) fn cells(collective: bool, within: bool, sums: &SizeSums) -> [Cell<'static>; 6] {
    [
        Cell::Text(if collective { "collective" } else { "point-to-point" }),
        Cell::Text(if within { "within" } else { "leaving" }),
        Cell::U64(sums.messages),
        Cell::U64(sums.bytes),
        Cell::F64(sums.mean()),
        Cell::F64(sums.deviation()),
    ]
}

/// What is told apart: window, job, whether it is a part of a collective, and whether it stays within its terminal.
type Kind = (u64, u32, bool, bool);

/// Sizes of the messages that ranks sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sizes {
    /// Point to point and of collectives, by size: cell 0 of those without bytes, cell n of those of `2^(n-1)` bytes and more.
    cells: Vec<[u64; 2]>,
    /// Length of a window of time; 0 for none.
    window: Ps,
    windows: SortedMap<Kind, SizeSums>,
}

impl Sizes {
    /// Nothing sent yet; `window` is the length of windows of time, 0 for none.
    #[must_use]
    pub fn new(window: Ps) -> Self {
        Self { window, ..Self::default() }
    }

    /// Adds a message of so many bytes, and what else it is if windows are asked for.
    #[inline]
    pub fn record(&mut self, bytes: u64, collective: bool, sent: impl FnOnce() -> SentMessage) {
        let cell = (u64::BITS - bytes.leading_zeros()) as usize;
        if cell >= self.cells.len() {
            self.cells.resize(cell + 1, [0; 2]);
        }
        self.cells[cell][usize::from(collective)] += 1;
        if self.window > 0 {
            self.record_in_window(bytes, collective, &sent());
        }
    }

    #[inline(never)]
    fn record_in_window(&mut self, bytes: u64, collective: bool, sent: &SentMessage) {
        let kind = (sent.time / self.window, sent.job, collective, sent.within);
        self.windows.entry(kind).or_default().record(bytes);
    }

    /// Adds what another partition's ranks sent.
    pub fn merge(&mut self, other: Self) {
        if other.cells.len() > self.cells.len() {
            self.cells.resize(other.cells.len(), [0; 2]);
        }
        for (mine, theirs) in self.cells.iter_mut().zip(other.cells) {
            *mine = [mine[0] + theirs[0], mine[1] + theirs[1]];
        }
        for (kind, sums) in other.windows {
            self.windows.entry(kind).or_default().add(&sums);
        }
    }

    /// The tables `message_sizes`, and `message_windows` where windows were asked for.
    #[must_use]
    pub fn tables(&self, jobs: &[JobOf<'_>]) -> Vec<Table> {
        let windows = (self.window > 0).then(|| self.by_window(jobs));
        std::iter::once(self.histogram()).chain(windows).collect()
    }

    /// One row per power of two that occurs.
    fn histogram(&self) -> Table {
        let mut table = Table::new("message_sizes")
            .with("from_bytes", Column::u64s())
            .with("below_bytes", Column::u64s())
            .with("messages", Column::u64s())
            .with("collective_messages", Column::u64s());
        for (n, &[plain, collective]) in self.cells.iter().enumerate().filter(|(_, c)| c[0] + c[1] > 0) {
            let from = if n == 0 { 0 } else { 1 << (n - 1) };
            let below = 1u64.checked_shl(n as u32).unwrap_or(u64::MAX);
            table.push(&[from, below, plain + collective, collective].map(Cell::U64));
        }
        table
    }

    /// One row per window, job and kind of message that occurs.
    fn by_window(&self, jobs: &[JobOf<'_>]) -> Table {
        let table = Table::new("message_windows").with("time_ps", Column::u64s()).with("job", Column::text());
        let mut table = with_sums(table);
        for (&(window, job, collective, within), sums) in &self.windows {
            let place = [Cell::U64(window.saturating_mul(self.window)), Cell::Text(jobs[job as usize].name)];
            table.push(&[&place[..], &cells(collective, within, sums)].concat());
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOBS: [JobOf<'static>; 1] = [JobOf { name: "job", program: None, start: 0 }];

    #[test]
    fn means_and_spreads_are_those_of_the_sizes() {
        let mut sums = SizeSums::default();
        assert_eq!((sums.mean(), sums.deviation()), (0.0, 0.0));
        [2, 4, 4, 4, 5, 5, 7, 9].into_iter().for_each(|bytes| sums.record(bytes));
        assert_eq!((sums.mean(), sums.deviation()), (5.0, 2.0));
        let mut alike = SizeSums::default();
        (0..1000).for_each(|_| alike.record((1 << 40) + 1));
        assert!(alike.deviation() < 1e-9, "nothing is lost in squares");
    }

    #[test]
    fn kinds_and_windows_add_up() {
        let (mut one, mut two) = (Sizes::new(10), Sizes::new(10));
        let all = [(3, 0, false, true), (9, 1, true, false), (10, 1, false, false), (25, 4096, true, true)];
        for (n, &(time, bytes, collective, within)) in all.iter().enumerate() {
            let sent = || SentMessage { job: 0, time, within };
            if n % 2 == 0 { &mut one } else { &mut two }.record(bytes, collective, sent);
        }
        one.merge(two);
        let tables = one.tables(&JOBS);
        let column = |t: usize, name: &str| tables[t].u64_column(name).expect("a column").to_vec();
        assert_eq!(column(0, "from_bytes"), [0, 1, 4096]);
        assert_eq!(column(0, "below_bytes"), [1, 2, 8192]);
        assert_eq!((column(0, "messages"), column(0, "collective_messages")), (vec![1, 2, 1], vec![0, 1, 1]));
        assert_eq!(column(1, "time_ps"), [0, 0, 10, 20]);
        assert_eq!(column(1, "bytes").iter().sum::<u64>(), 4098);
        assert_eq!(column(1, "messages").iter().sum::<u64>(), 4);
        assert_eq!(Sizes::new(0).tables(&JOBS).len(), 1, "no windows, no table of them");
    }
}
