//! Runs written down: what each rank asked of its interface, how it waited, and how long it did something else in between.
//!
//! A record holds no payloads: what moves is known by its length. It holds waits as waits, not as times, so that it can be replayed ([`crate::replay`]) where
//! they take another time. A rank that looks again and again for the same thing is written as one wait that looks.
//!
//! File: [`MAGIC`]; blocks of steps, each of one rank: rank, length (u32), check sum (u64), steps one after another in postcard's encoding; the
//! [`Trailer`] in the same; where that is, its length, its check sum (u64 each), and the magic again. Numbers are little endian. Writer and reader hold
//! a block per rank.

use crate::core::{
    call::Call,
    types::{Code, Count, INVALID, Iovec},
};
use base::{
    hash::mix64,
    index::{Column, RankId},
    time::Ps,
};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Seek, SeekFrom, Write};

/// First and last bytes of a record; the number is that of the format.
pub const MAGIC: [u8; 8] = *b"nlportl1";

/// Steps are written when so many bytes have gathered for a rank.
const BLOCK: usize = 16 << 10;

/// Bytes before the steps of a block, and behind the trailer.
const HEAD: u64 = 16;
const FOOT: u64 = 32;

/// What a rank did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// It computed for so long, before whatever follows.
    Compute(Ps),
    /// It slept; true if that was a call of its own.
    Sleep(Ps, bool),
    /// It asked something of its interface.
    Ask {
        /// The call with its arguments.
        call: Box<Asked>,
        /// Handle or number that it got, [`INVALID`] for none.
        made: u32,
        /// Pieces of memory that the interface read.
        pieces: Vec<(u64, u64)>,
    },
    /// It looked for an event in queues.
    Events {
        /// Handles of the queues that it looked into.
        queues: Vec<u32>,
        /// Milliseconds of a look, as `PtlEQPoll` has them.
        timeout: u32,
        /// So many looks found nothing. 0: it looked until one found something.
        misses: u64,
    },
    /// It looked for a counter to reach its test.
    Counts {
        /// Counters and tests.
        tests: Vec<(u32, u64)>,
        /// Milliseconds of a look, as `PtlCTPoll` has them.
        timeout: u32,
        /// So many looks found no counter at its test. 0: it looked until one was.
        misses: u64,
    },
    /// It read a counter until it showed so much, and so often more.
    Count {
        /// The counter; [`INVALID`] for the messages served for the rank since the beginning, which a loop around `PtlAtomicSync` waits for.
        counter: u32,
        /// Successes and failures that it showed.
        shown: Count,
        /// Times that it read the same again.
        again: u64,
    },
    /// It polled memory until so many messages had been served for it since the beginning.
    Served(u64),
    /// The barrier of the start-up service.
    Barrier,
    /// It ended, at [`Ending::time`].
    End,
}

/// A call that can be compared: by its encoding.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Asked(pub Call);

impl PartialEq for Asked {
    fn eq(&self, other: &Self) -> bool {
        postcard::to_stdvec(self) == postcard::to_stdvec(other)
    }
}

/// How a rank ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// Where its blocks are.
    blocks: Vec<u64>,
    /// When it ended; `None` if it never did.
    pub time: Option<Ps>,
}

/// What a record says of the run as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trailer {
    /// Name of the program.
    pub program: String,
    /// Ranks on a terminal.
    pub ranks_per_node: u32,
    /// Where each rank's steps are and when it ended, by rank.
    pub ranks: Vec<Ending>,
    /// Pieces of memory that operations touched and that were not there: address, bytes.
    pub faults: Vec<(u64, u64)>,
    /// Simulated time at the end.
    pub time: Ps,
    /// Messages, and their bytes.
    pub messages: (u64, u64),
}

/// Check sum of bytes, as blocks and the trailer have it: it tells damage, not intent.
#[must_use]
pub fn sum(bytes: &[u8]) -> u64 {
    let word = |c: &[u8]| c.iter().rev().fold(0u64, |w, &b| w << 8 | u64::from(b));
    bytes.chunks(8).fold(bytes.len() as u64, |s, c| mix64(s ^ word(c)))
}

/// What of a rank is not written yet.
#[derive(Default)]
struct Open {
    /// The last step, which the next one may change.
    last: Option<Step>,
    bytes: Vec<u8>,
}

/// Writes a record while a program runs.
pub struct Recorder {
    to: Box<dyn Write>,
    at: u64,
    ranks: Column<RankId, Open>,
    trailer: Trailer,
    /// Why there will be no record.
    failure: Option<String>,
}

impl Recorder {
    /// A record of so many ranks.
    ///
    /// # Errors
    /// If nothing can be written.
    pub fn new(mut to: Box<dyn Write>, program: &str, ranks: u32, ranks_per_node: u32) -> io::Result<Self> {
        to.write_all(&MAGIC)?;
        Ok(Self {
            to,
            at: MAGIC.len() as u64,
            ranks: (0..ranks).map(|_| Open::default()).collect(),
            trailer: Trailer {
                program: program.to_owned(),
                ranks_per_node,
                ranks: vec![Ending::default(); ranks as usize],
                ..Trailer::default()
            },
            failure: None,
        })
    }

    /// There will be no record.
    pub fn give_up(&mut self, why: String) {
        self.failure.get_or_insert(why);
    }

    /// A rank asked something and got an answer.
    pub fn asked(&mut self, rank: RankId, call: Call, answer: Result<u32, Code>, pieces: Vec<Iovec>) {
        let pieces = pieces.iter().map(|p| (p.base, p.length)).collect();
        let made = answer.unwrap_or(INVALID);
        self.step(rank, Step::Ask { call: Box::new(Asked(call)), made, pieces });
    }

    /// A rank looked for events, and found one or nothing.
    pub fn events(&mut self, rank: RankId, queues: Vec<u32>, timeout: u32, found: bool) {
        let last = &mut self.ranks[rank].last;
        if let Some(Step::Events { queues: q, timeout: t, misses }) = last
            && *misses > 0
            && (&*q, *t) == (&queues, timeout)
        {
            *misses = if found { 0 } else { *misses + 1 };
            return;
        }
        self.step(rank, Step::Events { queues, timeout, misses: u64::from(!found) });
    }

    /// A rank looked at counters, and one had reached its test or none.
    pub fn counts(&mut self, rank: RankId, tests: Vec<(u32, u64)>, timeout: u32, found: bool) {
        let last = &mut self.ranks[rank].last;
        if let Some(Step::Counts { tests: o, timeout: t, misses }) = last
            && *misses > 0
            && (&*o, *t) == (&tests, timeout)
        {
            *misses = if found { 0 } else { *misses + 1 };
            return;
        }
        self.step(rank, Step::Counts { tests, timeout, misses: u64::from(!found) });
    }

    /// A rank read a counter.
    pub fn count(&mut self, rank: RankId, counter: u32, shown: Count) {
        if let Some(Step::Count { counter: c, shown: old, again }) = &mut self.ranks[rank].last
            && *c == counter
        {
            if *old == shown {
                *again += 1;
                return;
            }
            if reached(shown, *old) {
                (*old, *again) = (shown, 0);
                return;
            }
        }
        self.step(rank, Step::Count { counter, shown, again: 0 });
    }

    /// A rank polled memory until so many messages had been served for it.
    pub fn served(&mut self, rank: RankId, served: u64) {
        if let Some(Step::Served(old)) = &mut self.ranks[rank].last {
            debug_assert!(*old <= served, "what was served stays so");
            *old = served;
            return;
        }
        self.step(rank, Step::Served(served));
    }

    /// A rank ended.
    pub fn ended(&mut self, rank: RankId, time: Ps) {
        if self.trailer.ranks[rank.index()].time.is_none() {
            self.step(rank, Step::End);
            self.trailer.ranks[rank.index()].time = Some(time);
        }
    }

    /// A rank did something.
    pub fn step(&mut self, rank: RankId, step: Step) {
        if self.trailer.ranks[rank.index()].time.is_some() {
            return;
        }
        let block = self.ranks[rank].bytes.len();
        debug_assert!(block < BLOCK || self.failure.is_some(), "full blocks are written");
        let old = self.ranks[rank].last.replace(step);
        self.put(rank, old);
        if self.ranks[rank].bytes.len() >= BLOCK {
            self.write(rank);
        }
    }

    fn put(&mut self, rank: RankId, step: Option<Step>) {
        let Some(step) = step else { return };
        match postcard::to_stdvec(&step) {
            Ok(bytes) => self.ranks[rank].bytes.extend_from_slice(&bytes),
            Err(e) => self.give_up(format!("a step cannot be encoded: {e}")),
        }
    }

    fn write(&mut self, rank: RankId) {
        let bytes = std::mem::take(&mut self.ranks[rank].bytes);
        if bytes.is_empty() || self.failure.is_some() {
            return;
        }
        debug_assert!(u32::try_from(bytes.len()).is_ok(), "a block's length has 32 bits");
        let last = self.trailer.ranks[rank.index()].blocks.last();
        debug_assert!(last.is_none_or(|&block| block < self.at), "blocks lie one behind another");
        self.trailer.ranks[rank.index()].blocks.push(self.at);
        let mut all = Vec::with_capacity(bytes.len() + HEAD as usize);
        all.extend_from_slice(&rank.number().to_le_bytes());
        all.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        all.extend_from_slice(&sum(&bytes).to_le_bytes());
        all.extend_from_slice(&bytes);
        self.at += all.len() as u64;
        if let Err(e) = self.to.write_all(&all) {
            self.give_up(format!("it cannot be written: {e}"));
        }
    }

    /// Writes what is left, with what the run was as a whole.
    ///
    /// # Errors
    /// Why there is no record.
    pub fn finish(
        mut self,
        time: Ps,
        messages: u64,
        bytes: u64,
        mut faults: Vec<(u64, u64)>,
    ) -> Result<(), String> {
        for rank in RankId::first(self.ranks.len() as u32) {
            let last = self.ranks[rank].last.take();
            self.put(rank, last);
            self.write(rank);
        }
        faults.sort_unstable();
        faults.dedup();
        (self.trailer.time, self.trailer.messages, self.trailer.faults) = (time, (messages, bytes), faults);
        if let Some(why) = self.failure {
            return Err(why);
        }
        let bytes = postcard::to_stdvec(&self.trailer).map_err(|e| format!("it cannot be encoded: {e}"))?;
        let mut all = bytes.clone();
        for number in [self.at, bytes.len() as u64, sum(&bytes)] {
            all.extend_from_slice(&number.to_le_bytes());
        }
        all.extend_from_slice(&MAGIC);
        let written = self.to.write_all(&all).and_then(|()| self.to.flush());
        written.map_err(|e| format!("it cannot be written: {e}"))
    }
}

/// True if a counter that shows the first has reached the second.
#[must_use]
pub fn reached(shown: Count, least: Count) -> bool {
    shown.success >= least.success && shown.failure >= least.failure
}

/// What a record is read from.
pub trait Source: Read + Seek {}
impl<T: Read + Seek> Source for T {}

/// A record that is read, block by block.
pub struct Record {
    from: Box<dyn Source>,
    size: u64,
    /// What it says of the run as a whole.
    pub trailer: Trailer,
    cursors: Column<RankId, Cursor>,
}

/// Where a rank is.
#[derive(Clone, Default)]
struct Cursor {
    block: usize,
    bytes: Vec<u8>,
    at: usize,
}

/// Most ranks of a record.
const MOST: usize = 1 << 20;

impl Record {
    /// Opens a record.
    ///
    /// # Errors
    /// If it is none, or damaged: in words.
    pub fn open(mut from: Box<dyn Source>) -> Result<Self, String> {
        let cannot = |e: io::Error| format!("it cannot be read: {e}");
        let size = from.seek(SeekFrom::End(0)).map_err(cannot)?;
        let mut head = [0; 8];
        from.rewind().map_err(cannot)?;
        if size < 8 || from.read_exact(&mut head).is_err() || head != MAGIC {
            return Err("it is no record of a Portals program".into());
        }
        let cut = || "it ends too early: the run that wrote it did not come to its end".to_owned();
        if size < 8 + FOOT {
            return Err(cut());
        }
        let mut foot = [0; FOOT as usize];
        from.seek(SeekFrom::Start(size - FOOT)).map_err(cannot)?;
        from.read_exact(&mut foot).map_err(cannot)?;
        if foot[24..] != MAGIC {
            return Err(cut());
        }
        let (at, length, check) = (number(&foot[..8]), number(&foot[8..16]), number(&foot[16..24]));
        if at.checked_add(length).is_none_or(|end| end != size - FOOT) {
            return Err("its last bytes are damaged".into());
        }
        let mut bytes = vec![0; length as usize];
        from.seek(SeekFrom::Start(at)).map_err(cannot)?;
        from.read_exact(&mut bytes).map_err(cannot)?;
        if sum(&bytes) != check {
            return Err(format!("its trailer at byte {at} is damaged: a check sum differs"));
        }
        let trailer: Trailer = postcard::from_bytes(&bytes)
            .map_err(|e| format!("its trailer at byte {at} cannot be understood: {e}"))?;
        if trailer.ranks.is_empty() || trailer.ranks.len() > MOST || trailer.ranks_per_node == 0 {
            return Err(format!("it is of {} ranks", trailer.ranks.len()));
        }
        // Steps are then no more than bytes.
        if trailer.ranks.iter().any(|r| !r.blocks.is_sorted_by(|a, b| a < b)) {
            return Err("it names blocks out of their order".into());
        }
        let cursors = Column::filled(trailer.ranks.len(), Cursor::default());
        Ok(Self { from, size: at, trailer, cursors })
    }

    /// The next step of a rank; `None` at its end.
    ///
    /// # Errors
    /// If it is damaged: in words.
    pub fn next(&mut self, rank: RankId) -> Result<Option<Step>, String> {
        let cursor = &mut self.cursors[rank];
        if cursor.at == cursor.bytes.len() {
            let Some(&at) = self.trailer.ranks[rank.index()].blocks.get(cursor.block) else {
                return Ok(None);
            };
            cursor.block += 1;
            cursor.at = 0;
            let bytes = block(&mut self.from, self.size, rank, at);
            cursor.bytes = bytes.map_err(|why| format!("the block at byte {at}, of rank {rank}, {why}"))?;
        }
        debug_assert!(cursor.at < cursor.bytes.len(), "a block that is read on has steps left");
        let left = &cursor.bytes[cursor.at..];
        let (step, rest) = postcard::take_from_bytes(left)
            .map_err(|e| format!("a step of rank {rank} cannot be understood: {e}"))?;
        cursor.at = cursor.bytes.len() - rest.len();
        Ok(Some(step))
    }
}

/// A little-endian number of at most eight bytes.
fn number(bytes: &[u8]) -> u64 {
    debug_assert!(bytes.len() <= 8, "a number has 64 bits at most");
    bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))
}

/// Steps of a block.
fn block(from: &mut dyn Source, size: u64, rank: RankId, at: u64) -> Result<Vec<u8>, String> {
    let cannot = |e: io::Error| format!("cannot be read: {e}");
    if at.checked_add(HEAD).is_none_or(|end| end > size) {
        return Err("lies beyond the end".into());
    }
    let mut head = [0; HEAD as usize];
    from.seek(SeekFrom::Start(at)).map_err(cannot)?;
    from.read_exact(&mut head).map_err(cannot)?;
    let (owner, length, check) = (number(&head[..4]), number(&head[4..8]), number(&head[8..]));
    if owner != u64::from(rank) {
        return Err(format!("says that it is of rank {owner}"));
    }
    if length == 0 || length > size - at - HEAD {
        return Err(format!("says that it has {length} B"));
    }
    let mut bytes = vec![0; length as usize];
    from.read_exact(&mut bytes).map_err(cannot)?;
    if sum(&bytes) != check { Err("is damaged: a check sum differs".into()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests")]
    use super::*;
    use crate::core::operation::Op;
    use proptest::prelude::*;
    use std::{cell::RefCell, io::Cursor, rc::Rc};

    const FIRST: RankId = RankId::new(0);
    const SECOND: RankId = RankId::new(1);

    #[derive(Clone, Default)]
    struct Shared(Rc<RefCell<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A record of what `write` writes, as bytes.
    fn recorded(ranks: u32, write: impl FnOnce(&mut Recorder)) -> Vec<u8> {
        let to = Shared::default();
        let mut recorder = Recorder::new(Box::new(to.clone()), "test", ranks, 1).expect("memory takes it");
        write(&mut recorder);
        RankId::first(ranks).for_each(|r| recorder.ended(r, 1000 + u64::from(r)));
        recorder.finish(2000, 3, 4, vec![(9, 1), (5, 2), (9, 1)]).expect("memory takes it");
        to.0.take()
    }

    fn open(bytes: Vec<u8>) -> Result<Record, String> {
        Record::open(Box::new(Cursor::new(bytes)))
    }

    fn steps(record: &mut Record, rank: RankId) -> Result<Vec<Step>, String> {
        let mut all = Vec::new();
        while let Some(step) = record.next(rank)? {
            all.push(step);
        }
        Ok(all)
    }

    #[test]
    fn looks_become_waits() {
        let bytes = recorded(2, |r| {
            (0..5).for_each(|_| r.events(FIRST, vec![7], 0, false));
            r.events(FIRST, vec![7], 0, true);
            r.events(FIRST, vec![7], 0, true);
            r.events(FIRST, vec![7], 0, false);
            r.events(FIRST, vec![8], 0, true);
            for success in [0, 0, 1, 1, 3, 3, 3, 2] {
                r.count(SECOND, 4, Count { success, failure: 0 });
            }
        });
        let mut record = open(bytes).expect("it is whole");
        assert_eq!(
            (record.trailer.faults.as_slice(), record.trailer.ranks[1].time),
            (&[(5, 2), (9, 1)][..], Some(1001))
        );
        let look = |queue, misses| Step::Events { queues: vec![queue], timeout: 0, misses };
        assert_eq!(
            steps(&mut record, FIRST),
            Ok(vec![look(7, 0), look(7, 0), look(7, 1), look(8, 0), Step::End])
        );
        let count =
            |shown, again| Step::Count { counter: 4, shown: Count { success: shown, failure: 0 }, again };
        assert_eq!(steps(&mut record, SECOND), Ok(vec![count(3, 2), count(2, 0), Step::End]));
    }

    #[test]
    fn many_blocks_come_back_in_order() {
        let op = |n: u64| Call::Begin(Op { length: n, match_bits: n << 40, ..Op::default() });
        let bytes = recorded(3, |r| {
            for n in 0..3000 {
                r.asked(RankId::new((n % 3) as u32), op(n), Ok(INVALID), Vec::new());
            }
        });
        let mut record = open(bytes).expect("it is whole");
        for rank in RankId::first(3) {
            let all = steps(&mut record, rank).expect("it is whole");
            assert_eq!(all.len(), 1001);
            for (n, step) in all[..1000].iter().enumerate() {
                let call = Box::new(Asked(op(n as u64 * 3 + u64::from(rank))));
                assert_eq!(*step, Step::Ask { call, made: INVALID, pieces: Vec::new() });
            }
        }
    }

    proptest! {
        /// A byte that is another one is noticed, wherever it is.
        #[test]
        fn no_damage_goes_unnoticed(at in 0usize..1000, by in 1u8..) {
            let mut bytes = recorded(2, |r| (0..40).for_each(|n| r.step(RankId::new(n % 2), Step::Sleep(u64::from(n) << 30, false))));
            let at = at % bytes.len();
            bytes[at] ^= by;
            let read = open(bytes).and_then(|mut r| Ok((steps(&mut r, FIRST)?, steps(&mut r, SECOND)?)));
            prop_assert!(read.is_err());
        }
    }
}
