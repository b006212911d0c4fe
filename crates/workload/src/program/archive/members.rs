//! Who is who in an archive: its ranks, its communicators, the functions of MPI, and whose its markers are.

use crate::program::mpi::{Call, Comm, CommRank};
use base::{
    index::{Column, RankId},
    sorted::{SortedMap, SortedSet},
};
use otf2::{Archive, GroupType, Marker, Scope, paradigm};
use std::sync::Arc;

/// A communicator of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Group {
    World,
    /// The calling rank alone.
    Alone,
    /// Its number as a script counts, and its ranks in the world's.
    Some(Comm, Arc<[CommRank]>),
}

impl Group {
    /// Size of a communicator of some ranks, and a rank's number in it.
    pub(super) fn size(&self, rank: RankId) -> Option<(u64, CommRank)> {
        match self {
            Self::World => None,
            Self::Alone => Some((1, CommRank::new(0))),
            Self::Some(_, members) => {
                let place = members.iter().position(|m| m.of_world() == rank).unwrap_or(0);
                Some((members.len() as u64, CommRank::from_index(place)))
            }
        }
    }
}

/// Regions of MPI: as their paradigm says, or, since some tracers (EZTrace) call all functions the user's, as their name says.
pub(super) fn functions(archive: &Archive) -> SortedSet<u32> {
    let d = &archive.definitions;
    let is = |r: &otf2::Region| {
        r.paradigm == paradigm::MPI || (r.paradigm == paradigm::USER && d.text(r.name).starts_with("MPI_"))
    };
    d.regions.iter().filter(|(_, r)| is(r)).map(|(&number, _)| number).collect()
}

/// Locations by rank: as MPI's group says, else the first location of each process.
pub(super) fn ranks(archive: &Archive) -> Vec<u64> {
    let d = &archive.definitions;
    if !d.ranks().is_empty() {
        return d.ranks().to_vec();
    }
    let mut first = SortedMap::new();
    for (&number, location) in d.locations.iter().rev() {
        first.insert(location.group, number);
    }
    first.retain(|group, _| d.location_groups.get(group).is_some_and(|g| g.kind == 1));
    first.into_values().collect()
}

/// What each of so many ranks says of the communicators that it is in: they are there.
pub(super) fn defined(groups: &SortedMap<u32, Group>, ranks: usize) -> Column<RankId, Vec<Call>> {
    let mut all = Column::filled(ranks, Vec::new());
    for group in groups.values() {
        let Group::Some(new, members) = group else { continue };
        for member in &**members {
            all[member.of_world()].push(Call::CommDefine { group: Arc::clone(members), new: *new });
        }
    }
    all
}

/// The communicators of an archive. The first that has all ranks in their order is the world; others like it are its copies, with messages of their own.
pub(super) fn groups(archive: &Archive, ranks: &[u64]) -> SortedMap<u32, Group> {
    let d = &archive.definitions;
    let mut all = SortedMap::new();
    let (mut made, mut met) = (0, false);
    for (&number, comm) in &d.comms {
        let Some(group) = d.groups.get(&comm.group).filter(|g| g.paradigm == paradigm::MPI) else { continue };
        let members: Option<Vec<CommRank>> = match group.kind {
            GroupType::Alone => {
                all.insert(number, Group::Alone);
                continue;
            }
            GroupType::Ranks => {
                group.members.iter().map(|&m| u32::try_from(m).ok().map(CommRank::new)).collect()
            }
            GroupType::Locations => {
                let place = |m: &u64| ranks.iter().position(|r| r == m).map(CommRank::from_index);
                group.members.iter().map(place).collect()
            }
            GroupType::Other(_) => None,
        };
        let Some(members) = members.filter(|m| m.iter().all(|r| r.index() < ranks.len())) else {
            continue;
        };
        let all_ranks =
            members.len() == ranks.len() && members.iter().enumerate().all(|(n, r)| n == r.index());
        let world = all_ranks && !met;
        met |= all_ranks;
        all.insert(
            number,
            if world {
                Group::World
            } else {
                made += 1;
                Group::Some(made, members.into())
            },
        );
    }
    all
}

/// Markers by rank, with their times in picoseconds, earliest first: those of a rank's location, and at rank 0 those of the whole trace. Others say
/// nothing of one rank.
pub(super) fn by_rank(
    archive: &Archive,
    ranks: &[u64],
    markers: Vec<Marker>,
) -> SortedMap<RankId, Vec<(u64, String)>> {
    let mut all: SortedMap<RankId, Vec<(u64, String)>> = SortedMap::new();
    // Instants that a run of ours marks are regions as well, whose place among the others is known.
    let noted = |marker: &Marker| (marker.group.as_str(), marker.category.as_str()) == ("netloom", "mark");
    for marker in markers.into_iter().filter(|marker| !noted(marker)) {
        let rank = match marker.scope {
            Scope::Global => Some(0),
            Scope::Location(location) => ranks.iter().position(|&l| l == location),
            Scope::Other(..) => None,
        };
        if let Some(rank) = rank {
            let time = archive.definitions.clock.picoseconds(marker.time);
            all.entry(RankId::from_index(rank)).or_default().push((time, marker.text));
        }
    }
    all.values_mut().for_each(|list| list.sort_by_key(|marker| marker.0));
    all
}
