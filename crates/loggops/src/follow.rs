//! The second look of `--check`: what records say of each rank, and whether the state agrees with that.
//!
//! A [`Follower`] reads records alone: which operations are over, when processors were busy, which messages are under way. [`Claims`] are read off the state
//! alone: how far each rank says it is, and which messages are where. Neither knows the other's numbers, so a fault in one of them shows where they are compared.

use super::{
    config::Cost,
    domain::{Act, Arrival, Context, Ended, Received, Sending},
};
use base::time::Ps;
use ranks::{
    messages::{Messages, Seen},
    roster::GlobalRank,
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Most faults that are kept.
const MOST: usize = 16;

/// What records say of a rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Course {
    /// All operations below are over.
    floor: u32,
    /// A bit for each operation of the floor's 64: it is over. Most operations end in order, so most need no more than this.
    now: u64,
    /// The same for the operations behind them.
    beyond: VecDeque<u64>,
    /// Its one processor is busy until then.
    busy: Ps,
    /// Its one interface can send from then on, and receive.
    sends: Ps,
    receives: Ps,
    /// Where messages are held behind earlier ones: by receiver, ascending.
    latest: Vec<Latest>,
    /// Which of them was the last one's receiver.
    last: u32,
}

/// The last arrival at a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Latest {
    receiver: u32,
    /// Which receiver's turn was next the last time: ranks send to their neighbours in turn. It may stand elsewhere by now.
    next: u32,
    at: Ps,
}

impl Course {
    /// How many words behind the floor's an operation that is not below it stands.
    fn word(&self, number: u32) -> usize {
        debug_assert!(number / 64 >= self.floor / 64, "words below the floor's are forgotten");
        (number / 64 - self.floor / 64) as usize
    }

    fn is_over(&self, number: u32) -> bool {
        let bit = 1 << (number % 64);
        number < self.floor
            || match self.word(number) {
                0 => self.now & bit != 0,
                n => self.beyond.get(n - 1).is_some_and(|bits| bits & bit != 0),
            }
    }

    /// False if it was over before.
    #[inline]
    fn ends(&mut self, number: u32) -> bool {
        // Most are of the floor's word, in which all below the floor have their bits.
        if number / 64 != self.floor / 64 {
            return self.ends_beyond(number);
        }
        let bit = 1 << (number % 64);
        if self.now & bit != 0 {
            return false;
        }
        self.now |= bit;
        if number == self.floor {
            self.rise();
        }
        true
    }

    /// The same of one in another word than the floor's, which stays where it is.
    #[inline(never)]
    fn ends_beyond(&mut self, number: u32) -> bool {
        if self.is_over(number) {
            return false;
        }
        let n = self.word(number);
        if n > self.beyond.len() {
            self.beyond.resize(n, 0);
        }
        self.beyond[n - 1] |= 1 << (number % 64);
        true
    }

    /// The floor, which is over, rises over all that follow each other, and over a word's end to the next one.
    #[inline]
    fn rise(&mut self) {
        debug_assert!(self.now >> (self.floor % 64) & 1 == 1, "the floor is over");
        self.floor += (self.now >> (self.floor % 64)).trailing_ones();
        if self.floor.is_multiple_of(64) {
            self.next_word();
        }
    }

    /// All of the floor's word are over.
    #[inline(never)]
    fn next_word(&mut self) {
        while self.floor.is_multiple_of(64) {
            self.now = self.beyond.pop_front().unwrap_or(0);
            self.floor += self.now.trailing_ones();
            if self.now & 1 == 0 {
                break;
            }
        }
    }

    /// Its processor works from `start` to `end`; gives until when it was busy, if that is later.
    #[inline]
    fn works(&mut self, start: Ps, end: Ps) -> Option<Ps> {
        debug_assert!(start <= end, "work ends after it began");
        let busy = self.busy;
        self.busy = busy.max(end);
        (start < busy).then_some(busy)
    }

    /// When a message that would be at its receiver at `alone` is there behind earlier ones.
    #[inline]
    fn behind(&mut self, receiver: u32, alone: Ps) -> Ps {
        let next = self.latest.get(self.last as usize).map_or(0, |l| l.next);
        match self.latest.get_mut(next as usize) {
            Some(latest) if latest.receiver == receiver => {
                self.last = next;
                latest.at = alone.max(latest.at);
                latest.at
            }
            _ => self.behind_any(receiver, alone),
        }
    }

    /// The same for a receiver whose turn it is not.
    #[inline(never)]
    fn behind_any(&mut self, receiver: u32, alone: Ps) -> Ps {
        let at = match self.latest.binary_search_by_key(&receiver, |l| l.receiver) {
            Ok(at) => at,
            Err(at) => {
                self.latest.insert(at, Latest { receiver, ..Latest::default() });
                at
            }
        };
        if let Some(last) = self.latest.get_mut(self.last as usize) {
            last.next = at as u32;
        }
        self.last = at as u32;
        let latest = &mut self.latest[at];
        latest.at = alone.max(latest.at);
        latest.at
    }

    fn count(&self) -> u64 {
        let below = u64::from(self.floor / 64 * 64);
        let words = std::iter::once(&self.now).chain(&self.beyond);
        below + words.map(|bits| u64::from(bits.count_ones())).sum::<u64>()
    }
}

/// What the state of a rank says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claim {
    /// Operations that it has taken up, or read where those may be taken up in any order.
    pub reached: u32,
    /// Numbers of those that are not over, ascending.
    pub open: Vec<u32>,
    /// When its processor is free; none where that says nothing.
    pub free: Option<Ps>,
    /// What contradicts itself.
    pub faults: Vec<String>,
}

/// What the state of all ranks says, and which messages it holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims {
    /// By rank, of all jobs.
    pub ranks: Vec<Claim>,
    /// Messages on their way or waiting, by what they are but for the time; none if some were dropped because they lay beyond the end.
    pub messages: Option<Vec<Seen>>,
    /// Operations that are counted as over, where they are.
    pub done: Option<u64>,
    /// What contradicts itself.
    pub faults: Vec<String>,
}

/// What records say of the ranks of one partition, or of several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Follower {
    /// Number of the first rank followed.
    first: u32,
    courses: Vec<Course>,
    messages: Messages,
    faults: Vec<String>,
}

impl Follower {
    /// Of so many ranks from `first` on, before anything has happened.
    #[must_use]
    pub fn new(first: GlobalRank, ranks: usize) -> Self {
        Self { first: first.number(), courses: vec![Course::default(); ranks], ..Self::default() }
    }

    #[cold]
    #[inline(never)]
    fn fault(&mut self, what: impl FnOnce() -> String) {
        if self.faults.len() < MOST {
            self.faults.push(what());
        }
    }

    #[inline]
    fn course(&mut self, rank: GlobalRank) -> &mut Course {
        &mut self.courses[(rank.number() - self.first) as usize]
    }

    /// A processor did something at `start` and was busy until then.
    #[cold]
    fn was_busy(&mut self, rank: GlobalRank, start: Ps, busy: Ps) {
        self.fault(|| format!("rank {rank} does something at {start} ps and is busy until {busy} ps"));
    }

    /// An interface cannot begin before the gap behind the message before is over.
    #[cold]
    fn began_early(&mut self, rank: GlobalRank, start: Ps, before: Ps) {
        self.fault(|| format!("an interface of rank {rank} begins at {start} ps, before {before} ps"));
    }

    // A function for each kind of record, none of them in line: what one for all kinds saves of its caller's registers costs the simplest kinds, which are the
    // most frequent, more than their work.
    /// A send was taken up.
    #[inline(never)]
    pub fn sending(&mut self, cx: &Context, s: &Sending) {
        let message = seen(cx, s.host, s.to, s.number, s.bytes, s.arrival);
        self.messages.sent(message);
        if cx.config.cost == Cost::LogGops && has_one_processor(cx) {
            let course = self.course(s.host);
            let busy = course.works(s.start, s.end);
            let mut before = 0;
            // What stays within a terminal leaves the interface alone.
            if cx.nics == 1 && !cx.stays(s.host, s.to) {
                let next = s.start.saturating_add(cx.config.sending(s.bytes).1);
                before = std::mem::replace(&mut course.sends, next);
            }
            if let Some(busy) = busy {
                self.was_busy(s.host, s.start, busy);
            }
            if s.start < before {
                self.began_early(s.host, s.start, before);
            }
        }
        let alone = s.start.saturating_add(cx.least(s.host, s.to, s.bytes));
        if cx.nodes.is_some() || cx.config.resilient.is_some() {
            return self.messages.not_before(&message, s.arrival, alone);
        }
        let arrival = match cx.overtaking {
            true => self.course(s.host).behind(s.to.number(), alone),
            false => alone,
        };
        if s.arrival != arrival {
            self.is_to_arrive(s, arrival);
        }
    }

    /// A message is said to be there at another time than it can be.
    #[cold]
    #[inline(never)]
    fn is_to_arrive(&mut self, s: &Sending, arrival: Ps) {
        let (from, to, at) = (s.host, s.to, s.arrival);
        self.fault(|| format!("a message from {from} to {to} is to arrive at {at} ps, not {arrival} ps"));
    }

    /// A message was taken in.
    #[inline(never)]
    pub fn arrival(&mut self, cx: &Context, a: &Arrival) {
        if cx.config.cost == Cost::LogGops && has_one_processor(cx) {
            let course = self.course(a.host);
            let busy = course.works(a.start, a.end);
            let mut before = 0;
            if cx.nics == 1 && !cx.landing {
                let next = a.start.saturating_add(cx.config.receiving(a.bytes).1);
                before = std::mem::replace(&mut course.receives, next);
            }
            if let Some(busy) = busy {
                self.was_busy(a.host, a.start, busy);
            }
            if a.start < before {
                self.began_early(a.host, a.start, before);
            }
        }
    }

    /// A message was received.
    #[inline(never)]
    pub fn received(&mut self, cx: &Context, r: &Received) {
        let message = seen(cx, r.from, r.host, r.send, r.bytes, r.arrival);
        // Of several processors each has a clock of its own, and what it does may lie before what another one did to cause it.
        let earliest = if cx.cpus == 1 { r.arrival.max(r.posted) } else { 0 };
        self.messages.arrived(message, r.end, earliest);
    }

    /// An operation is over.
    #[inline(never)]
    pub fn ended(&mut self, cx: &Context, e: &Ended) {
        if e.act == Act::Calc {
            self.computed(cx, e);
        }
        if !self.course(e.host).ends(e.number) {
            self.done_twice(e);
        }
    }

    /// A computation is over.
    #[inline(never)]
    fn computed(&mut self, cx: &Context, e: &Ended) {
        let busy = if has_one_processor(cx) { self.course(e.host).works(e.start, e.end) } else { None };
        if let Some(busy) = busy {
            self.was_busy(e.host, e.start, busy);
        }
    }

    /// An operation was over before.
    #[cold]
    #[inline(never)]
    fn done_twice(&mut self, e: &Ended) {
        self.fault(|| format!("operation {} of rank {} was done twice", e.number, e.host));
    }

    /// Adds what the next ranks did.
    pub fn merge(&mut self, other: Self) {
        self.courses.extend(other.courses);
        self.messages.merge(other.messages);
        self.faults.extend(other.faults);
    }

    /// Operations that are over.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.courses.iter().map(Course::count).sum()
    }

    /// What is wrong, in the records and where the state says something else.
    #[must_use]
    pub fn verdict(&self, claims: &Claims) -> Vec<String> {
        let mut faults = self.faults.clone();
        faults.extend(claims.faults.iter().cloned());
        if let Some(done) = claims.done.filter(|&done| done != self.operations()) {
            faults.push(format!("{done} operations are counted, {} were done", self.operations()));
        }
        for ((rank, course), claim) in (self.first..).zip(&self.courses).zip(&claims.ranks) {
            faults.extend(claim.faults.iter().map(|fault| format!("rank {rank} {fault}")));
            let (reached, open) = (claim.reached, claim.open.len() as u64);
            if course.count() + open != u64::from(reached) {
                let over = course.count();
                faults.push(format!("rank {rank} has come to {reached}, {over} are over and {open} are not"));
            }
            if let Some(number) = claim.open.iter().find(|&&n| course.is_over(n) || n >= reached) {
                faults
                    .push(format!("operation {number} of rank {rank} waits and is over, or was not reached"));
            }
            if let Some(free) = claim.free.filter(|&free| free < course.busy) {
                let busy = course.busy;
                faults.push(format!("the processor of rank {rank} is free at {free} ps, not {busy} ps"));
            }
        }
        faults.extend(self.messages.clone().verdict(claims.messages.as_deref()));
        faults.truncate(MOST);
        faults
    }
}

/// Of several processors, and of shared ones, nothing is known here.
#[inline]
fn has_one_processor(cx: &Context) -> bool {
    cx.cpus == 1 && cx.nodes.is_none()
}

/// A message as both its ends know it. Where interfaces take messages in, the receiver does not know when it was there first.
#[inline]
fn seen(cx: &Context, from: GlobalRank, to: GlobalRank, number: u32, bytes: u64, arrival: Ps) -> Seen {
    let time = if cx.landing { 0 } else { arrival };
    Seen { from: from.number(), to: to.number(), number, bytes, time }
}

#[cfg(test)]
mod tests {
    use super::Course;
    use base::{
        rng::{Purpose, Stream},
        sorted::{SortedMap, SortedSet},
    };

    /// Receivers in turn, in turns that change, and at random, against a plain map.
    #[test]
    fn messages_stay_behind_the_last_one_to_the_same_receiver() {
        for seed in 0..50 {
            let mut draw = Stream::new(seed, Purpose::Test, 0);
            let (mut course, mut naive) = (Course::default(), SortedMap::new());
            let mut turns: Vec<u32> = (0..1 + draw.below(9)).map(|_| draw.below(20) as u32).collect();
            for n in 0..400 {
                if draw.below(40) == 0 {
                    turns.push(draw.below(20) as u32);
                }
                let receiver =
                    if draw.below(8) == 0 { draw.below(20) as u32 } else { turns[n % turns.len()] };
                let alone = 1000 + draw.below(500);
                let latest = naive.entry(receiver).or_insert(0);
                *latest = alone.max(*latest);
                assert_eq!(course.behind(receiver, alone), *latest, "seed {seed}: {n}");
            }
        }
    }

    #[test]
    fn a_course_is_a_set_of_operations() {
        for seed in 0..50 {
            let mut draw = Stream::new(seed, Purpose::Test, 0);
            let (mut course, mut naive) = (Course::default(), SortedSet::new());
            for n in 0..400 {
                // Near the order, or anywhere.
                let number = if seed % 2 == 0 { n + draw.below(5) } else { draw.below(500) } as u32;
                assert_eq!(course.ends(number), naive.insert(number), "seed {seed}: {number}");
                assert_eq!(course.count(), naive.len() as u64);
            }
            assert!((0..600).all(|n| course.is_over(n) == naive.contains(&n)), "seed {seed}");
            assert!((0..course.floor).all(|n| naive.contains(&n)) && !naive.contains(&course.floor));
        }
    }
}
