//! Tables: the only home of state that handlers change, so that every change can be undone.
//!
//! A table is a vector of plain-old-data rows. While it records, [`Table::edit`] logs the row before handing it out, with the number of the event
//! that is being handled ([`Epoch`]). Undo replays the log backwards. Only tables of mode [`Undo`] can record: not recording costs them one
//! predictable branch per edit, and the others nothing.

pub mod ends;
pub mod heap;
pub mod map;
pub mod mode;

use crate::kept::{Damaged, Kept, put, take};
use base::index::Number;
use ends::ending;
use mode::{Mode, Undo};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    collections::VecDeque,
    fmt::Debug,
    marker::PhantomData,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// A row of a [`Table`]: plain old data.
pub trait Row: Copy + PartialEq + Debug + Serialize + DeserializeOwned + 'static {}
impl<T: Copy + PartialEq + Debug + Serialize + DeserializeOwned + 'static> Row for T {}

/// The number of the event that a partition handles: what is logged is logged under it. All tables of a partition share one, so beginning an event is
/// one store, however many tables there are.
#[derive(Clone, Debug, Default)]
pub struct Epoch(Arc<AtomicU64>);

impl Epoch {
    /// What is logged from here on belongs to event `number`.
    #[inline]
    pub fn set(&self, number: u64) {
        // One thread at a time has a partition; the atom is there because partitions move between threads.
        self.0.store(number, Ordering::Relaxed);
    }

    #[inline]
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What the engine does to tables without knowing their rows.
pub trait Journal: Kept {
    /// Starts recording under the numbers of `epoch`, or stops; both forget the log.
    ///
    /// # Panics
    /// If a table of a mode without journals is to record.
    fn record(&mut self, epoch: Option<&Epoch>);
    /// Undoes every change of event `number` and of later ones, latest first.
    fn undo_from(&mut self, number: u64);
    /// Forgets the changes of events before `number`: they are committed.
    fn forget_before(&mut self, number: u64);
    /// Bytes of what is logged.
    fn logged(&self) -> usize;
}

/// A row as it was before event `number` changed it.
#[derive(Clone, Copy, Debug)]
struct Former<T, I> {
    number: u64,
    index: I,
    row: T,
}

/// A vector of rows whose changes can be undone. `I` are the numbers that its rows go by.
#[derive(Clone, Debug)]
pub struct Table<T, M = Undo, I = u32> {
    rows: Vec<T>,
    log: VecDeque<Former<T, I>>,
    recording: Option<Epoch>,
    mode: PhantomData<M>,
}

impl<T: Row, M: Mode, I: Number> Table<T, M, I> {
    /// A table with `len` copies of `row`.
    #[must_use]
    pub fn new(len: usize, row: T) -> Self {
        Self::from(vec![row; len])
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A row to read.
    #[inline]
    #[must_use]
    pub fn get(&self, index: I) -> &T {
        &self.rows[index.index()]
    }

    /// A row to change.
    #[inline]
    pub fn edit(&mut self, index: I) -> &mut T {
        if M::JOURNALS && self.recording.is_some() {
            self.log_row(index);
        }
        &mut self.rows[index.index()]
    }

    // Cold for those that may record and do not, which are most; the call itself is the lesser part of logging a row.
    #[cold]
    #[inline(never)]
    fn log_row(&mut self, index: I) {
        let number = self.recording.as_ref().map_or(0, Epoch::get);
        // What an event changes again is logged already, as a rule just now.
        if self.log.back().is_some_and(|last| last.number == number && last.index == index) {
            return;
        }
        debug_assert!(
            self.log.back().is_none_or(|last| last.number <= number),
            "events are numbered as they are handled"
        );
        // The whole row, before it is handed out: what the handler will change of it is not known. Rows are small for that reason.
        self.log.push_back(Former { number, index, row: self.rows[index.index()] });
    }

    /// Hints that a row will be read soon; any index is allowed.
    #[inline]
    pub fn prefetch(&self, index: I) {
        base::prefetch::prefetch(self.rows.as_ptr().wrapping_add(index.index()));
    }

    /// The same for the last byte of a row: of rows that occupy two cache lines.
    #[inline]
    pub fn prefetch_end(&self, index: I) {
        let end = self.rows.as_ptr().wrapping_add(index.index() + 1).cast::<u8>();
        base::prefetch::prefetch(end.wrapping_sub(1));
    }

    /// Appends a row. Growth is not undone: owners keep what is in use in a row of their own ([`Pool`]).
    pub fn grow(&mut self, row: T) {
        self.rows.push(row);
    }

    /// All rows in their order, to read.
    #[must_use]
    pub fn rows(&self) -> &[T] {
        &self.rows
    }

    /// Bytes that the rows occupy.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<T>()
    }
}

impl<T: Row, M: Mode, I: Number> From<Vec<T>> for Table<T, M, I> {
    fn from(rows: Vec<T>) -> Self {
        Self { rows, log: VecDeque::new(), recording: None, mode: PhantomData }
    }
}

impl<T: Row, M: Mode, I: Number> PartialEq for Table<T, M, I> {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows
    }
}

impl<T: Row, M: Mode, I: Number> Kept for Table<T, M, I> {
    fn save(&self, to: &mut Vec<u8>) {
        put(&self.rows, to);
    }

    fn load(&mut self, from: &mut &[u8]) -> Result<(), Damaged> {
        self.rows = take(from)?;
        self.log.clear();
        Ok(())
    }
}

impl<T: Row, M: Mode, I: Number> Journal for Table<T, M, I> {
    fn record(&mut self, epoch: Option<&Epoch>) {
        assert!(M::JOURNALS || epoch.is_none(), "tables of mode {} have no journal", M::NAME);
        self.recording = epoch.cloned();
        self.log.clear();
    }

    fn undo_from(&mut self, number: u64) {
        // Latest first: a row that was changed twice ends as it was before the first change.
        while let Some(former) = self.log.pop_back_if(|former| former.number >= number) {
            self.rows[former.index.index()] = former.row;
        }
    }

    fn forget_before(&mut self, number: u64) {
        // What is committed is never undone: forgetting it keeps the log as long as the events that may still be taken back.
        let committed = self.log.partition_point(|former| former.number < number);
        self.log.drain(..committed);
    }

    fn logged(&self) -> usize {
        self.log.len() * size_of::<Former<T, I>>()
    }
}

/// The number that stands for no row.
pub const NIL: u32 = u32::MAX;

/// A row with a link to another row of its table.
pub trait Linked: Row {
    /// The link, [`NIL`] for none.
    fn next(&self) -> u32;
    /// Changes the link.
    fn set_next(&mut self, next: u32);
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Head {
    free: u32,
    used: u32,
    in_use: u32,
}

/// A table whose rows are taken and given back; free rows are threaded through [`Linked`].
#[derive(Clone, Debug)]
pub struct Pool<T, M = Undo> {
    rows: Table<T, M>,
    head: Table<Head, M>,
}

impl<T: Linked, M: Mode> Default for Pool<T, M> {
    fn default() -> Self {
        Self { rows: Table::from(Vec::new()), head: Table::new(1, Head { free: NIL, used: 0, in_use: 0 }) }
    }
}

impl<T: Linked, M: Mode> Pool<T, M> {
    /// Takes a row and fills it.
    #[inline]
    pub fn take(&mut self, row: T) -> u32 {
        let head = self.head.edit(0);
        head.in_use += 1;
        // The row given back last comes first: it is warm.
        if head.free != NIL {
            let index = head.free;
            debug_assert!(index < head.used, "a free row was in use before");
            let slot = self.rows.edit(index);
            head.free = slot.next();
            *slot = row;
            return index;
        }
        let index = head.used;
        assert!(index < NIL, "a pool holds fewer than 2^32 rows");
        head.used += 1;
        // After an undo the table is longer than what is in use: growth is not taken back, so that marks need not hold lengths.
        if (index as usize) < self.rows.len() {
            *self.rows.edit(index) = row;
        } else {
            self.rows.grow(row);
        }
        index
    }

    /// Gives a row back.
    #[inline]
    pub fn give(&mut self, index: u32) {
        self.take_out(index);
    }

    /// Gives a row back and says what was in it.
    #[inline]
    pub fn take_out(&mut self, index: u32) -> T {
        let head = self.head.edit(0);
        debug_assert!(head.in_use > 0 && index < head.used, "a row is given back once");
        let row = self.rows.edit(index);
        let before = *row;
        head.in_use -= 1;
        row.set_next(std::mem::replace(&mut head.free, index));
        before
    }

    /// A row to read.
    #[inline]
    #[must_use]
    pub fn get(&self, index: u32) -> &T {
        self.rows.get(index)
    }

    /// A row to change.
    #[inline]
    pub fn edit(&mut self, index: u32) -> &mut T {
        self.rows.edit(index)
    }

    /// Rows that were ever in use at a time.
    #[inline]
    #[must_use]
    pub fn made(&self) -> usize {
        self.rows.len()
    }

    /// Number of rows taken and not given back.
    #[must_use]
    pub fn in_use(&self) -> u32 {
        self.head.get(0).in_use
    }

    /// Bytes that the rows occupy.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.rows.bytes()
    }

    /// Hints that a row will be read soon; any index is allowed.
    #[inline]
    pub fn prefetch(&self, index: u32) {
        self.rows.prefetch(index);
    }

    /// The same for the last byte of a row: of rows that occupy two cache lines.
    #[inline]
    pub fn prefetch_end(&self, index: u32) {
        self.rows.prefetch_end(index);
    }
}

/// Rows in use are equal; what lies behind them does not matter.
impl<T: Linked, M: Mode> PartialEq for Pool<T, M> {
    fn eq(&self, other: &Self) -> bool {
        let used = self.head.get(0).used as usize;
        self.head == other.head && self.rows.rows()[..used] == other.rows.rows()[..used]
    }
}

/// Rows in use; what lies behind them does not matter.
impl<T: Linked, M: Mode> Kept for Pool<T, M> {
    fn save(&self, to: &mut Vec<u8>) {
        self.head.save(to);
        put(&self.rows.rows()[..self.head.get(0).used as usize], to);
    }

    fn load(&mut self, from: &mut &[u8]) -> Result<(), Damaged> {
        self.head.load(from)?;
        self.rows.load(from)?;
        let head = self.head.rows().first().ok_or(Damaged)?;
        // Only rows in use were saved.
        if head.used as usize == self.rows.len() { Ok(()) } else { Err(Damaged) }
    }
}

impl<T: Linked, M: Mode> Journal for Pool<T, M> {
    fn record(&mut self, epoch: Option<&Epoch>) {
        self.rows.record(epoch);
        self.head.record(epoch);
    }

    fn undo_from(&mut self, number: u64) {
        self.rows.undo_from(number);
        self.head.undo_from(number);
    }

    fn forget_before(&mut self, number: u64) {
        self.rows.forget_before(number);
        self.head.forget_before(number);
    }

    fn logged(&self) -> usize {
        self.rows.logged() + self.head.logged()
    }
}

/// A first-in-first-out list threaded through a pool: only its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fifo {
    /// First row, [`NIL`] if empty.
    pub head: u32,
    /// Last row; meaningless if empty.
    pub tail: u32,
}

impl Default for Fifo {
    fn default() -> Self {
        Self { head: NIL, tail: NIL }
    }
}

impl Fifo {
    /// True if nothing is in the list.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// Appends a row of `pool`.
    #[inline]
    pub fn push<T: Linked, M: Mode>(&mut self, pool: &mut Pool<T, M>, index: u32) {
        debug_assert!(index != NIL, "no row cannot be in a list");
        pool.edit(index).set_next(NIL);
        if self.head == NIL {
            self.head = index;
        } else {
            pool.edit(self.tail).set_next(index);
        }
        self.tail = index;
    }

    /// Puts a row of `pool` behind all that it does not come before. Costs a look at each row of the list, unless it is the last.
    pub fn insert<T: Linked, M: Mode>(
        &mut self,
        pool: &mut Pool<T, M>,
        index: u32,
        comes_before: impl Fn(&T, &T) -> bool,
    ) {
        if self.head == NIL || !comes_before(pool.get(index), pool.get(self.tail)) {
            return self.push(pool, index);
        }
        let (mut before, mut at) = (NIL, self.head);
        while !comes_before(pool.get(index), pool.get(at)) {
            debug_assert!(at != self.tail, "it comes before the last");
            (before, at) = (at, pool.get(at).next());
        }
        pool.edit(index).set_next(at);
        if before == NIL {
            self.head = index;
        } else {
            pool.edit(before).set_next(index);
        }
    }

    /// Removes the first row; the caller gives it back or keeps it.
    #[inline]
    pub fn pop<T: Linked, M: Mode>(&mut self, pool: &Pool<T, M>) -> Option<u32> {
        if self.head == NIL {
            return None;
        }
        let index = self.head;
        // The row itself is not written: who gives it back or files it elsewhere sets its link anyway.
        self.head = pool.get(index).next();
        Some(index)
    }

    /// Visits every row from first to last.
    pub fn iter<'a, T: Linked, M: Mode>(&self, pool: &'a Pool<T, M>) -> impl Iterator<Item = u32> + 'a {
        let first = (self.head != NIL).then_some(self.head);
        let rows = std::iter::successors(first, |&i| Some(pool.get(i).next()).filter(|&n| n != NIL));
        ending(rows, pool.made())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::{Purpose, Stream};

    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    struct Item {
        value: u64,
        next: u32,
    }

    impl Linked for Item {
        fn next(&self) -> u32 {
            self.next
        }
        fn set_next(&mut self, next: u32) {
            self.next = next;
        }
    }

    /// Inserted one by one, items come out sorted, equal ones in the order in which they came.
    #[test]
    fn inserted_items_come_out_in_order() {
        let mut stream = Stream::new(3, Purpose::Test, 0);
        for count in [0, 1, 2, 20] {
            let (mut pool, mut list, mut plain) = (Pool::<Item>::default(), Fifo::default(), Vec::new());
            for number in 0..count {
                let value = stream.below(5) << 8 | number;
                let index = pool.take(Item { value, next: NIL });
                list.insert(&mut pool, index, |a, b| a.value >> 8 < b.value >> 8);
                plain.push(value);
            }
            plain.sort_unstable();
            assert_eq!(list.iter(&pool).map(|i| pool.get(i).value).collect::<Vec<_>>(), plain);
            let last = pool.take(Item { value: 0, next: NIL });
            list.push(&mut pool, last);
            assert_eq!(list.iter(&pool).count() as u64, count + 1);
        }
    }

    #[test]
    fn any_sequence_of_changes_is_undone() {
        let mut random = Stream::new(1, Purpose::Test, 0);
        let mut pool = Pool::<Item>::default();
        let mut lists: Table<Fifo> = Table::new(3, Fifo::default());
        let epoch = Epoch::default();
        pool.record(Some(&epoch));
        lists.record(Some(&epoch));
        let step = |pool: &mut Pool<Item>, lists: &mut Table<Fifo>, random: &mut Stream| {
            let list = random.below(3) as u32;
            if random.below(2) == 0 {
                let item = pool.take(Item { value: random.next_u64(), next: NIL });
                lists.edit(list).push(pool, item);
            } else if let Some(item) = lists.edit(list).pop(pool) {
                pool.give(item);
            }
        };
        let mut number = 0;
        for _ in 0..200 {
            let (before, first) = ((pool.clone(), lists.clone()), number);
            for _ in 0..random.below(30) {
                epoch.set(number);
                number += random.below(2);
                step(&mut pool, &mut lists, &mut random);
            }
            pool.undo_from(first);
            lists.undo_from(first);
            assert!(pool == before.0 && lists == before.1);
            number = first + 1;
            epoch.set(first);
            step(&mut pool, &mut lists, &mut random);
            // What is committed is no longer there to be undone; the rest still is.
            if number % 7 == 0 {
                pool.forget_before(number - 3);
                lists.forget_before(number - 3);
            }
        }
        assert!(pool.logged() > 0 && lists.logged() < 30 * 40);
    }

    #[test]
    #[should_panic(expected = "have no journal")]
    fn only_tables_with_journals_record() {
        Table::<u32, mode::Full>::new(1, 0).record(Some(&Epoch::default()));
    }

    #[test]
    fn lists_are_first_in_first_out() {
        let mut pool = Pool::<Item>::default();
        let mut list = Fifo::default();
        for value in 0..5 {
            let item = pool.take(Item { value, next: NIL });
            list.push(&mut pool, item);
        }
        let values: Vec<u64> = list.iter(&pool).map(|i| pool.get(i).value).collect();
        assert_eq!(values, [0, 1, 2, 3, 4]);
        assert_eq!(pool.in_use(), 5);
        // Taken and filed in turns, down to nothing and on.
        for value in 5..40 {
            let taken = list.pop(&pool).expect("there are some");
            assert_eq!(pool.get(taken).value, value - 5);
            pool.give(taken);
            let item = pool.take(Item { value, next: NIL });
            list.push(&mut pool, item);
        }
        let rest: Vec<u64> = std::iter::from_fn(|| list.pop(&pool)).map(|i| pool.get(i).value).collect();
        assert_eq!(rest, [35, 36, 37, 38, 39]);
        assert_eq!(list.pop(&pool), None);
    }
}
