//! Communicators and groups of a rank, by the numbers that the trace gives them.

use super::record::Record;
use crate::program::{
    mpi::{Call, Comm, CommRank, WORLD},
    traces::calls::Found,
};
use base::{index::RankId, sorted::SortedMap};
use std::sync::Arc;

/// Numbers of the trace below this are no communicator, none, all ranks, and the caller alone.
const FIRST: i64 = 4;
const ALL: i64 = 2;
const ALONE: i64 = 3;

/// What is known of a communicator.
#[derive(Clone, Debug, Default)]
struct Known {
    number: Comm,
    /// How many ranks it has, and the caller's rank in it.
    size: Option<u32>,
    me: Option<u32>,
    /// Extents of a Cartesian grid.
    dims: Vec<i64>,
}

/// A group: ranks of a communicator.
#[derive(Clone, Debug)]
struct Group {
    /// Number in the trace.
    comm: i64,
    members: Members,
}

/// Ranks of a group.
#[derive(Clone, Debug)]
enum Members {
    /// All of a communicator with so many.
    All(u32),
    Some(Vec<i64>),
}

impl Members {
    fn list(&self) -> Vec<i64> {
        match self {
            Self::All(size) => (0..i64::from(*size)).collect(),
            Self::Some(ranks) => ranks.clone(),
        }
    }
}

/// Communicators and groups.
#[derive(Debug)]
pub(super) struct Comms {
    ranks: u32,
    known: SortedMap<i64, Known>,
    groups: SortedMap<i64, Group>,
    made: Comm,
}

impl Comms {
    pub(super) fn new(rank: RankId, ranks: u32) -> Self {
        let world = Known { number: WORLD, size: Some(ranks), me: Some(rank.number()), dims: Vec::new() };
        Self { ranks, known: SortedMap::from([(ALL, world)]), groups: SortedMap::new(), made: 0 }
    }

    /// True if this function makes a communicator or a window.
    pub(super) fn makes(name: &str) -> bool {
        matches!(
            name,
            "Comm_dup"
                | "Comm_split"
                | "Comm_create"
                | "Cart_create"
                | "Cart_sub"
                | "Graph_create"
                | "Win_create"
        )
    }

    /// What a number stands for.
    pub(super) fn find(&self, handle: i64) -> Found {
        match self.known.get(&handle) {
            Some(known) => Found::Made(known.number),
            None if handle == ALONE => Found::Alone,
            None => Found::Unknown,
        }
    }

    /// Takes note that a group has all ranks of a communicator.
    pub(super) fn group_of(&mut self, comm: i64, handle: i64) {
        if let Some(size) = self.known.get(&comm).and_then(|known| known.size) {
            self.groups.insert(handle, Group { comm, members: Members::All(size) });
        }
    }

    /// Ranks of a group as this communicator counts them, if it is made of that.
    pub(super) fn group_on(&self, handle: i64, comm: i64) -> Option<Arc<[CommRank]>> {
        let group = self.groups.get(&handle).filter(|group| group.comm == comm)?;
        let rank = |rank: i64| u32::try_from(rank).ok().map(CommRank::new);
        group.members.list().into_iter().map(rank).collect()
    }

    /// A number of ranks, if there can be so many.
    pub(super) fn ranks_of(&self, size: i64) -> Result<u32, String> {
        let size = u32::try_from(size).ok().filter(|&size| size <= self.ranks);
        size.ok_or_else(|| {
            format!("a communicator cannot have more ranks than there are files, {}", self.ranks)
        })
    }

    /// Takes note of what a call says of communicators and groups; returns a call that makes or frees one.
    pub(super) fn record(&mut self, r: &Record) -> Result<Option<Call>, String> {
        let n = &r.numbers;
        match r.name {
            "Comm_size" => {
                let size = self.ranks_of(n[1])?;
                if n[0] == ALL && size != self.ranks {
                    return Err(format!("there are {size} ranks, but files of {}", self.ranks));
                }
                if let Some(known) = self.known.get_mut(&n[0]) {
                    known.size = Some(size);
                }
            }
            "Comm_rank" => {
                if let Some(known) = self.known.get_mut(&n[0]) {
                    known.me = u32::try_from(n[1]).ok();
                }
            }
            "Comm_free" | "Comm_disconnect" => {
                let freed = self.known.remove(&n[0]).filter(|_| n[0] >= FIRST);
                return Ok(freed.map(|known| Call::CommFree(known.number)));
            }
            "Comm_dup" => {
                let Some(parent) = self.known.get(&n[0]).cloned() else { return Ok(None) };
                let comm = parent.number;
                let new = self.make(n[1], parent);
                return Ok(Some(Call::CommDup { comm, new }));
            }
            "Comm_split" => {
                let Some(comm) = self.known.get(&n[0]).map(|known| known.number) else { return Ok(None) };
                // Without a color there is no new communicator either.
                let color = u32::try_from(n[1]).ok().filter(|_| n[3] >= FIRST);
                let new = self.make(n[3], Known::default());
                return Ok(Some(Call::CommSplit { comm, color, key: n[2], new }));
            }
            "Comm_create" => {
                let group = self.groups.get(&n[1]).filter(|group| group.comm == n[0]);
                return match group.map(|group| group.members.list()) {
                    Some(ranks) => self.create(n[0], &ranks, n[2], &[]),
                    None => Ok(None),
                };
            }
            "Graph_create" => {
                let ranks: Vec<i64> = (0..i64::from(self.ranks_of(n[2])?)).collect();
                return self.create(n[1], &ranks, *n.last().unwrap_or(&0), &[]);
            }
            "Cart_create" => {
                let dims = r.list(0).to_vec();
                let cells = dims.iter().try_fold(1i64, |cells, &dim| cells.checked_mul(dim));
                let cells = self.ranks_of(cells.unwrap_or(i64::MAX))?;
                let ranks: Vec<i64> = (0..i64::from(cells)).collect();
                return self.create(n[0], &ranks, n[3], &dims);
            }
            "Cart_sub" => return Ok(self.cart_sub(n[1], r.list(0), n[2])),
            _ => self.group(r),
        }
        Ok(None)
    }

    fn make(&mut self, handle: i64, known: Known) -> Comm {
        self.made += 1;
        if handle >= FIRST {
            self.known.insert(handle, Known { number: self.made, ..known });
        }
        self.made
    }

    fn create(
        &mut self,
        comm: i64,
        ranks: &[i64],
        handle: i64,
        dims: &[i64],
    ) -> Result<Option<Call>, String> {
        let Some(parent) = self.known.get(&comm) else { return Ok(None) };
        let (number, me) = (parent.number, parent.me);
        let group: Option<Vec<CommRank>> =
            ranks.iter().map(|&rank| u32::try_from(rank).ok().map(CommRank::new)).collect();
        let group = group.ok_or("a group has a rank that there cannot be")?;
        let me = me.and_then(|me| ranks.iter().position(|&rank| rank == i64::from(me))).map(|me| me as u32);
        let known = Known { number: 0, size: Some(ranks.len() as u32), me, dims: dims.to_vec() };
        let new = self.make(handle, known);
        Ok(Some(Call::CommCreate { comm: number, group: Arc::from(group), new }))
    }

    /// Splits a grid into those of the dimensions that remain: its color is the place in the others.
    fn cart_sub(&mut self, comm: i64, remain: &[i64], handle: i64) -> Option<Call> {
        let grid = self.known.get(&comm).filter(|grid| grid.dims.len() == remain.len())?;
        let (number, dims, mut rest) = (grid.number, grid.dims.clone(), i64::from(grid.me?));
        let (mut color, mut key, mut others, mut own) = (0, 0, 1, 1);
        let mut left = Vec::new();
        // The last dimension changes fastest.
        for (&dim, &remains) in dims.iter().zip(remain).rev() {
            let place = rest.checked_rem(dim)?;
            rest /= dim;
            if remains != 0 {
                key += place * own;
                own *= dim;
                left.push(dim);
            } else {
                color += place * others;
                others *= dim;
            }
        }
        left.reverse();
        let known =
            Known { number: 0, size: u32::try_from(own).ok(), me: u32::try_from(key).ok(), dims: left };
        let new = self.make(handle, known);
        Some(Call::CommSplit { comm: number, color: u32::try_from(color).ok(), key, new })
    }

    /// Calls that make groups. What cannot be known is not: a communicator of it is not either.
    fn group(&mut self, r: &Record) {
        let n = &r.numbers;
        let made = match r.name {
            "Comm_group" => {
                let size = self.known.get(&n[0]).and_then(|known| known.size);
                size.map(|size| (n[1], Group { comm: n[0], members: Members::All(size) }))
            }
            "Group_incl" | "Group_excl" | "Group_range_incl" | "Group_range_excl" => {
                self.groups.get(&n[0]).and_then(|group| {
                    let all = group.members.list();
                    let ranges_of = r.name.contains("range");
                    let places = if ranges_of { ranges(r, all.len())? } else { r.list(0).to_vec() };
                    let rank = |&place: &i64| all.get(usize::try_from(place).ok()?).copied();
                    let mut ranks: Vec<i64> = places.iter().map(rank).collect::<Option<_>>()?;
                    if r.name.ends_with("excl") {
                        ranks.sort_unstable();
                        ranks = all.into_iter().filter(|rank| ranks.binary_search(rank).is_err()).collect();
                    }
                    Some((n[2], Group { comm: group.comm, members: Members::Some(ranks) }))
                })
            }
            "Group_union" | "Group_intersection" | "Group_difference" => {
                let both = self.groups.get(&n[0]).zip(self.groups.get(&n[1]));
                both.filter(|(a, b)| a.comm == b.comm).map(|(a, b)| {
                    let ranks = joined(r.name, a.members.list(), b.members.list());
                    (n[2], Group { comm: a.comm, members: Members::Some(ranks) })
                })
            }
            "Group_free" => {
                self.groups.remove(&n[0]);
                None
            }
            _ => None,
        };
        if let Some((handle, group)) = made {
            self.groups.insert(handle, group);
        }
    }
}

/// What a call makes of two groups: the order is that of the first, then of the second.
fn joined(call: &str, a: Vec<i64>, b: Vec<i64>) -> Vec<i64> {
    let sorted = |list: &[i64]| {
        let mut sorted = list.to_vec();
        sorted.sort_unstable();
        sorted
    };
    let (in_a, in_b) = (sorted(&a), sorted(&b));
    let of_b = |rank: &i64| in_b.binary_search(rank).is_ok();
    match call {
        "Group_union" => {
            a.into_iter().chain(b.into_iter().filter(|rank| in_a.binary_search(rank).is_err())).collect()
        }
        "Group_intersection" => a.into_iter().filter(of_b).collect(),
        _ => a.into_iter().filter(|rank| !of_b(rank)).collect(),
    }
}

/// Places that ranges (first, last, stride) name, if there are not more than a group has.
fn ranges(r: &Record, most: usize) -> Option<Vec<i64>> {
    let mut places = Vec::new();
    let count = usize::try_from(r.numbers[1]).ok()?;
    for range in 0..count {
        let &[first, last, stride] = r.list(range) else { return None };
        let mut place = first;
        while stride != 0 && (if stride > 0 { place <= last } else { place >= last }) {
            places.push(place);
            if places.len() > most {
                return None;
            }
            place += stride;
        }
    }
    Some(places)
}
