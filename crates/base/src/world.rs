//! The processes of one run, called *ranks* as in MPI, and what they say to each other.
//!
//! A [`Transport`] moves words among them; it can do one thing, [`Transport::exchange`], which all ranks do together. [`World`] makes of it what a run
//! needs: minima, bytes gathered at the first rank, bytes from it. A run in one process has the [`World::ALONE`], which costs nothing.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, PoisonError},
};

/// Moves words among the ranks of a run.
pub trait Transport: Send + Sync {
    /// Number of this process, from 0.
    fn rank(&self) -> u32;

    /// Number of processes.
    fn ranks(&self) -> u32;

    /// Hands `to[r]` to each other rank r, and puts what r handed over into `from[r]`, whose memory is used again. All ranks call it equally
    /// often, from one thread each. The own entries are left as they are.
    fn exchange(&self, to: &[Vec<u64>], from: &mut [Vec<u64>]);
}

/// The ranks of a run, seen from one of them.
#[derive(Clone, Default)]
pub struct World(Option<Arc<dyn Transport>>);

impl World {
    /// One process without any others.
    pub const ALONE: Self = Self(None);

    /// The ranks that a transport connects.
    #[must_use]
    pub fn new(transport: Arc<dyn Transport>) -> Self {
        if transport.ranks() > 1 { Self(Some(transport)) } else { Self::ALONE }
    }

    /// So many ranks that are threads of this process, for tests: one end for each.
    ///
    /// A rank whose end is dropped while others wait for it makes them panic.
    #[must_use]
    pub fn of_threads(ranks: u32) -> Vec<Self> {
        let office = Arc::new(Office {
            ranks,
            state: Mutex::new(Post {
                boxes: vec![VecDeque::new(); (ranks * ranks) as usize],
                gone: vec![false; ranks as usize],
            }),
            changed: Condvar::new(),
        });
        let end = |rank| Self::new(Arc::new(End { rank, office: Arc::clone(&office) }));
        (0..ranks).map(end).collect()
    }

    /// True if there is no other rank.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.0.is_none()
    }

    /// Number of this rank.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.0.as_ref().map_or(0, |t| t.rank())
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.0.as_ref().map_or(1, |t| t.ranks())
    }

    /// True of the rank that reports, writes and decides for all.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.rank() == 0
    }

    /// All ranks exchange words; see [`Transport::exchange`].
    pub fn exchange(&self, to: &[Vec<u64>], from: &mut [Vec<u64>]) {
        if let Some(transport) = &self.0 {
            transport.exchange(to, from);
        }
    }

    /// What every rank has, by rank.
    #[must_use]
    pub fn all(&self, mine: &[u64]) -> Vec<Vec<u64>> {
        let to = vec![mine.to_vec(); self.ranks() as usize];
        let mut from = to.clone();
        self.exchange(&to, &mut from);
        from
    }

    /// The least of what the ranks have.
    #[must_use]
    pub fn least(&self, mine: u64) -> u64 {
        if self.is_alone() {
            return mine;
        }
        self.all(&[mine]).into_iter().map(|of| of[0]).min().unwrap_or(mine)
    }

    /// The largest of what the ranks have.
    #[must_use]
    pub fn most(&self, mine: u64) -> u64 {
        !self.least(!mine)
    }

    /// The sums of what the ranks have.
    #[must_use]
    pub fn sums<const N: usize>(&self, mine: [u64; N]) -> [u64; N] {
        if self.is_alone() {
            return mine;
        }
        let all = self.all(&mine);
        std::array::from_fn(|i| all.iter().map(|of| of[i]).sum())
    }

    /// The bytes of all ranks, by rank, at the first one; elsewhere nothing.
    #[must_use]
    pub fn gather(&self, mine: Vec<u8>) -> Vec<Vec<u8>> {
        if self.is_alone() {
            return vec![mine];
        }
        let ranks = self.ranks() as usize;
        let (mut to, mut from) = (vec![Vec::new(); ranks], vec![Vec::new(); ranks]);
        if !self.is_first() {
            to[0] = packed(&mine);
        }
        self.exchange(&to, &mut from);
        if !self.is_first() {
            return Vec::new();
        }
        let others = from.iter().skip(1).map(|words| unpacked(words));
        std::iter::once(mine).chain(others).collect()
    }

    /// The bytes of all ranks, by rank, at every one.
    #[must_use]
    pub fn all_bytes(&self, mine: &[u8]) -> Vec<Vec<u8>> {
        self.all(&packed(mine)).iter().map(|words| unpacked(words)).collect()
    }

    /// The bytes of the first rank, at every one; those of the others are not read.
    #[must_use]
    pub fn from_first(&self, mine: Vec<u8>) -> Vec<u8> {
        if self.is_alone() {
            return mine;
        }
        let ranks = self.ranks() as usize;
        let words = if self.is_first() { packed(&mine) } else { Vec::new() };
        let (to, mut from) = (vec![words; ranks], vec![Vec::new(); ranks]);
        self.exchange(&to, &mut from);
        if self.is_first() { mine } else { unpacked(&from[0]) }
    }

    /// The part of `0..count` that belongs to a rank: consecutive, and as even as can be.
    #[must_use]
    pub fn share_of(&self, rank: u32, count: u32) -> std::ops::Range<u32> {
        let ranks = u64::from(self.ranks());
        let at = |rank: u64| (rank * u64::from(count) / ranks) as u32;
        at(u64::from(rank))..at(u64::from(rank) + 1)
    }
}

/// Their number, then the bytes, eight to a word.
fn packed(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    std::iter::once(bytes.len() as u64).chain(bytes.chunks(8).map(word)).collect()
}

fn unpacked(words: &[u64]) -> Vec<u8> {
    let Some((&len, words)) = words.split_first() else { return Vec::new() };
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.truncate(len as usize);
    bytes
}

/// What threads that are ranks share.
struct Office {
    ranks: u32,
    state: Mutex<Post>,
    changed: Condvar,
}

struct Post {
    /// What was handed over and not yet taken, by sender and receiver.
    boxes: Vec<VecDeque<Vec<u64>>>,
    /// Ranks whose end is dropped.
    gone: Vec<bool>,
}

/// A thread's end.
struct End {
    rank: u32,
    office: Arc<Office>,
}

impl Transport for End {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.office.ranks
    }

    fn exchange(&self, to: &[Vec<u64>], from: &mut [Vec<u64>]) {
        let (me, ranks) = (self.rank as usize, self.office.ranks as usize);
        let mut post = self.office.state.lock().unwrap_or_else(PoisonError::into_inner);
        for other in (0..ranks).filter(|&other| other != me) {
            post.boxes[me * ranks + other].push_back(to[other].clone());
        }
        self.office.changed.notify_all();
        for other in (0..ranks).filter(|&other| other != me) {
            from[other] = loop {
                if let Some(words) = post.boxes[other * ranks + me].pop_front() {
                    break words;
                }
                // What it sent before it went away has been taken.
                assert!(!post.gone[other], "rank {other} has gone, and rank {me} waits for it");
                post = self.office.changed.wait(post).unwrap_or_else(PoisonError::into_inner);
            };
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let mut post = self.office.state.lock().unwrap_or_else(PoisonError::into_inner);
        post.gone[self.rank as usize] = true;
        drop(post);
        self.office.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does something in every rank.
    fn each<T: Send>(ranks: u32, work: impl Fn(&World) -> T + Sync) -> Vec<T> {
        std::thread::scope(|scope| {
            let started: Vec<_> = World::of_threads(ranks)
                .into_iter()
                .map(|world| {
                    let work = &work;
                    scope.spawn(move || work(&world))
                })
                .collect();
            started.into_iter().map(|thread| thread.join().expect("no rank fails")).collect()
        })
    }

    #[test]
    fn ranks_know_what_all_have() {
        for ranks in [1, 2, 5] {
            let known = each(ranks, |world| {
                let me = u64::from(world.rank());
                let sums = world.sums([me, 1]);
                (world.least(me + 3), world.most(me), sums, world.all(&[me]).len())
            });
            let n = u64::from(ranks);
            assert_eq!(known, vec![(3, n - 1, [n * (n - 1) / 2, n], ranks as usize); ranks as usize]);
        }
    }

    #[test]
    fn bytes_come_whole_and_in_order() {
        let bytes = |rank: u32| (0..=rank as u8 * 9).collect::<Vec<u8>>();
        let got = each(3, |world| {
            let mine = bytes(world.rank());
            (world.gather(mine.clone()), world.all_bytes(&mine), world.from_first(mine))
        });
        let all: Vec<Vec<u8>> = (0..3).map(bytes).collect();
        for (rank, (gathered, everywhere, first)) in got.into_iter().enumerate() {
            assert_eq!(gathered, if rank == 0 { all.clone() } else { Vec::new() });
            assert_eq!((everywhere, first), (all.clone(), bytes(0)));
        }
    }

    #[test]
    fn shares_cover_all_and_nobody_is_without() {
        let worlds = World::of_threads(3);
        let shares: Vec<_> = (0..3).map(|r| worlds[0].share_of(r, 8)).collect();
        assert_eq!(shares, [0..2, 2..5, 5..8]);
        assert!((0..3).all(|r| worlds[0].share_of(r, 3).len() == 1));
        assert_eq!(World::ALONE.share_of(0, 5), 0..5);
    }

    #[test]
    fn nobody_waits_for_a_rank_that_is_gone() {
        let mut worlds = World::of_threads(2);
        drop(worlds.pop());
        let waits = std::panic::AssertUnwindSafe(|| worlds[0].least(1));
        assert!(std::panic::catch_unwind(waits).is_err());
    }
}
