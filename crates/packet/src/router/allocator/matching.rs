//! Requests and what is granted of them: what all allocators share.

use crate::router::arbiter::{Arbiter, Place};
use engine::state::NIL;
use std::ops::Range;

/// What allocates: fills [`Matching::grants`] and [`Matching::changes`] of the requests there.
pub type Allocate = fn(&Frame, &[u64], &mut Matching);

/// A row asks for a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who asks, by number.
    pub row: u32,
    /// What it asks for, by number.
    pub column: u32,
    /// Lower ones come first, whatever the turns: 0 to 15.
    pub level: u8,
    /// When its packet began, below 2^60.
    pub age: u64,
    /// Whatever the caller goes by.
    pub label: u32,
    /// Which memory of arbiters knows its kind, see [`Frame::memories`].
    pub memory: u8,
}

/// What does not change from one allocation to the next, and the number of the present one.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Rows there are.
    pub rows: u32,
    /// Columns there are.
    pub columns: u32,
    /// Neighbouring rows that form a group (tree arbiters).
    pub row_group: u32,
    /// Neighbouring columns that form a group.
    pub column_group: u32,
    /// Arbiter of every row and column.
    pub arbiter: Arbiter,
    /// How often what is left is tried, for allocators that iterate.
    pub iterations: u32,
    /// Memories that every arbiter has: turns of one kind of requests do not move those of another.
    pub memories: u32,
    /// A name of its own in the network, the run's seed in it.
    pub name: u64,
    /// Number of the allocation, ascending.
    pub step: u64,
}

/// One of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Rows,
    Columns,
}

impl Side {
    pub(super) fn other(self) -> Self {
        if self == Self::Rows { Self::Columns } else { Self::Rows }
    }
}

impl Frame {
    /// Words that an allocation keeps: those of rows' arbiters, of columns', and one for the allocator.
    #[must_use]
    pub fn words(&self) -> usize {
        1 + self.memories as usize * self.of(Side::Columns, self.columns, 0).start
    }

    /// Words of the `n`th arbiter of a side, of one of its memories.
    fn of(&self, side: Side, n: u32, memory: u8) -> Range<usize> {
        let row = self.arbiter.words(self.columns, self.column_group);
        let column = || self.arbiter.words(self.rows, self.row_group);
        let (start, each) = match side {
            Side::Rows => (0, row),
            Side::Columns => (self.rows as usize * row, column()),
        };
        let mut start = start + n as usize * each;
        if memory > 0 {
            start += usize::from(memory) * (self.rows as usize * row + self.columns as usize * column());
        }
        start..start + each
    }

    /// The `n`th arbiter of a side: among the other one's members.
    fn place(&self, side: Side, n: u32) -> Place {
        let (requesters, group) = match side {
            Side::Rows => (self.columns, self.column_group),
            Side::Columns => (self.rows, self.row_group),
        };
        let name = self.name ^ (u64::from(n) << 1 | u64::from(side == Side::Rows)).rotate_left(40);
        Place { requesters, group, name, step: self.step }
    }

    /// Turn of a request at the arbiter of one of its sides, its level before it.
    #[inline]
    pub(super) fn turn(&self, arbiter: Arbiter, words: &[u64], side: Side, request: &Request) -> u64 {
        let (own, other) = request.on(side);
        // PIM draws lots whatever arbiters there are: words may be those of another kind then.
        let words = words.get(self.of(side, own, request.memory)).unwrap_or(&[]);
        u64::from(request.level) << 60 | arbiter.turn(words, &self.place(side, own), other, request.age)
    }
}

impl Request {
    /// Its number on a side, and that on the other one.
    #[inline]
    fn on(&self, side: Side) -> (u32, u32) {
        match side {
            Side::Rows => (self.row, self.column),
            Side::Columns => (self.column, self.row),
        }
    }
}

/// The best request at a row or column so far.
#[derive(Clone, Copy)]
struct Best {
    turn: u64,
    request: u32,
}
const NONE: Best = Best { turn: u64::MAX, request: NIL };

/// Requests of an allocation and what became of them. Kept from one to the next for its memory alone.
#[derive(Clone, Default)]
pub struct Matching {
    /// Who asks for what: by rows ascending, and columns ascending within a row; a pair once.
    pub requests: Vec<Request>,
    /// Requests that are granted, by their place.
    pub grants: Vec<u32>,
    /// Words that change, and what they become.
    pub changes: Vec<(usize, u64)>,
    /// Granted request of each row and column, `NIL` for none.
    pub(super) matched: [Vec<u32>; 2],
    best: [Vec<Best>; 2],
    touched: Vec<u32>,
    survivors: Vec<u32>,
    /// Requests per column, or an order of requests.
    pub(super) spare: Vec<u64>,
}

impl Matching {
    /// For so many rows and columns at most.
    #[must_use]
    pub fn new(rows: usize, columns: usize) -> Self {
        Self {
            matched: [vec![NIL; rows], vec![NIL; columns]],
            best: [vec![NONE; rows], vec![NONE; columns]],
            ..Self::default()
        }
    }

    /// Allocates: afterwards `grants` and `changes` hold the answer.
    pub fn allocate(&mut self, how: Allocate, frame: &Frame, words: &[u64]) {
        debug_assert!(
            self.requests.windows(2).all(|w| (w[0].row, w[0].column) < (w[1].row, w[1].column)),
            "requests are sorted, a pair once"
        );
        self.grants.clear();
        self.changes.clear();
        match self.requests.as_slice() {
            [] => return,
            // Alone: every allocator grants it.
            [_] => self.grant(0),
            _ => how(frame, words, self),
        }
        // Allocators note what they grant; who was alone was granted here.
        if self.requests.len() == 1 {
            self.learn(frame, 0);
        }
        debug_assert!(self.grants.len() <= self.requests.len(), "only what is asked for is granted");
        for n in 0..self.grants.len() {
            let request = self.requests[self.grants[n] as usize];
            // Only what was granted is cleared: an allocation costs its requests, not the size of the router.
            self.matched[0][request.row as usize] = NIL;
            self.matched[1][request.column as usize] = NIL;
        }
    }

    /// Nobody of a request's two sides has a grant.
    #[inline]
    pub(super) fn is_open(&self, request: &Request) -> bool {
        self.matched[0][request.row as usize] == NIL && self.matched[1][request.column as usize] == NIL
    }

    /// Grants a request.
    #[inline]
    pub(super) fn grant(&mut self, n: u32) {
        let request = self.requests[n as usize];
        debug_assert!(self.is_open(&request), "a row and a column have one grant");
        self.matched[0][request.row as usize] = n;
        self.matched[1][request.column as usize] = n;
        self.grants.push(n);
    }

    /// The arbiters of both sides note that a request was served.
    #[inline]
    pub(super) fn learn(&mut self, frame: &Frame, n: u32) {
        let request = self.requests[n as usize];
        for side in [Side::Rows, Side::Columns] {
            let (own, other) = request.on(side);
            let first = frame.of(side, own, request.memory).start;
            let changes = &mut self.changes;
            frame
                .arbiter
                .served(&frame.place(side, own), other, |word, value| changes.push((first + word, value)));
        }
    }

    /// Those of side `first` choose among open requests, by `turn`; of what they chose, those of the other side choose by `second`, and that
    /// is granted. Says whether anything was.
    pub(super) fn two_stages(
        &mut self,
        first: Side,
        turn: impl Fn(&Self, &Request) -> u64,
        second: impl Fn(&Self, &Request) -> u64,
        mut granted: impl FnMut(&mut Self, u32),
    ) -> bool {
        self.survivors.clear();
        debug_assert!(self.touched.is_empty(), "nobody has a best request before the first is looked at");
        // One pass finds the best request of everybody on the first side: nothing is sorted, and only rows and columns with requests cost.
        for n in 0..self.requests.len() as u32 {
            let request = self.requests[n as usize];
            if self.is_open(&request) {
                let turn = turn(self, &request);
                self.compare(first, n, turn);
            }
        }
        for k in 0..self.touched.len() {
            let own = self.touched[k] as usize;
            let best = std::mem::replace(&mut self.best[first as usize][own], NONE);
            self.survivors.push(best.request);
        }
        self.touched.clear();
        for k in 0..self.survivors.len() {
            let n = self.survivors[k];
            let turn = second(self, &self.requests[n as usize]);
            self.compare(first.other(), n, turn);
        }
        // Whoever is touched now has a survivor, so grants follow.
        let any = !self.touched.is_empty();
        for k in 0..self.touched.len() {
            let own = self.touched[k] as usize;
            let best = std::mem::replace(&mut self.best[first.other() as usize][own], NONE);
            self.grant(best.request);
            granted(self, best.request);
        }
        self.touched.clear();
        any
    }

    /// A request competes at one of its sides.
    #[inline]
    fn compare(&mut self, side: Side, n: u32, turn: u64) {
        let own = self.requests[n as usize].on(side).0;
        let best = &mut self.best[side as usize][own as usize];
        if best.request == NIL {
            self.touched.push(own);
        }
        if best.request == NIL || turn < best.turn {
            *best = Best { turn, request: n };
        }
    }
}
