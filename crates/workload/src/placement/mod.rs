//! Which terminal each rank of a job lives on.

pub mod breadth_first;
pub mod by_group;
pub mod explicit;
pub(crate) mod groups;
pub mod least_hops;
pub mod linear;
pub mod min_manhattan;
pub mod random;
pub mod round_robin;
pub mod xyz;

#[cfg(test)]
mod testing;

use crate::program::Program;
use base::{
    index::{Column, TerminalId},
    param::{Built, Problem, Values},
    registry::{About, Registered},
};
use fabric::graph::Fabric;

/// What a placement is built from, beside its own parameters.
#[derive(Clone, Copy)]
pub struct PlacementContext<'a> {
    /// Number of ranks to place, or of groups of them.
    pub ranks: u32,
    /// Ranks of a group, in their order: they share a terminal.
    pub each: u32,
    /// The network on which all of it runs.
    pub fabric: &'a Fabric,
    /// Terminals that no earlier job uses, ascending.
    pub free: &'a [TerminalId],
    /// Seed of the run.
    pub seed: u64,
    /// Index of the job.
    pub job: u32,
    /// What the ranks do, if it is a program: says who sends to whom.
    pub program: Option<&'a dyn Program>,
}

impl PlacementContext<'_> {
    /// Number of ranks as a length, if there is a free terminal for each.
    pub(crate) fn need_room(&self) -> Result<usize, Vec<Problem>> {
        let (free, terminals) = (self.free.len() as u32, self.fabric.terminals());
        let Err(mut problem) = room(self.ranks, self.each, free, terminals) else {
            return Ok(self.ranks as usize);
        };
        let off = self.fabric.cut_off();
        if !off.is_empty() {
            let names: Vec<String> = off.iter().take(8).map(ToString::to_string).collect();
            let more = if off.len() > 8 { ", .." } else { "" };
            let cut = format!("; faults cut off {} terminals: {}{more}", off.len(), names.join(", "));
            problem.help.get_or_insert_default().push_str(&cut);
        }
        Err(vec![problem])
    }

    /// For each terminal whether it is free.
    pub(crate) fn is_free(&self) -> Column<TerminalId, bool> {
        let mut free = Column::filled(self.fabric.terminals() as usize, false);
        self.free.iter().for_each(|&t| free[t] = true);
        free
    }

    /// The ranks on the first free ones of terminals in some order, in which each comes once.
    pub(crate) fn first_free(
        &self,
        order: impl IntoIterator<Item = TerminalId>,
    ) -> Result<Vec<TerminalId>, Vec<Problem>> {
        let (ranks, free) = (self.need_room()?, self.is_free());
        Ok(order.into_iter().filter(|&t| free[t]).take(ranks).collect())
    }
}

/// Refuses more ranks, or groups of `each` ranks, than terminals are free of those of a network.
///
/// # Errors
/// If there are more.
pub fn room(ranks: u32, each: u32, free: u32, terminals: u32) -> Result<(), Problem> {
    if ranks <= free {
        return Ok(());
    }
    let (who, holds) = match each {
        1 => ("ranks".to_owned(), "rank".to_owned()),
        each => (format!("groups of {each} ranks"), format!("group of {each} ranks")),
    };
    let message = format!("{ranks} {who} do not fit on {free} free terminals (the network has {terminals})");
    Err(Problem::new("ranks", message).help(format!("one terminal holds one {holds}")))
}

/// A placement of ranks on terminals that a job can name.
pub struct PlacementEntry {
    /// Name, documentation, parameters.
    pub about: About,
    /// Builds the terminal of each rank from checked parameters.
    pub build: fn(&PlacementContext<'_>, &Values) -> Built<Vec<TerminalId>>,
    /// What is wrong with its values on so many terminals, whatever their network is and whoever else is there; the first argument is the number of ranks, or of
    /// groups of ranks that share a terminal.
    pub mistakes: fn(u32, u32, &Values) -> Vec<Problem>,
}

/// For placements whose values say nothing about single terminals.
#[must_use]
pub fn no_mistakes(_: u32, _: u32, _: &Values) -> Vec<Problem> {
    Vec::new()
}

impl Registered for PlacementEntry {
    fn about(&self) -> &About {
        &self.about
    }
}

#[cfg(test)]
mod tests {
    use super::{testing::grid, *};
    use crate::{
        program::{
            generate::{
                ring,
                testing::{asking, defaults},
            },
            matrix::testing::Known,
        },
        registry::PLACEMENTS,
    };
    use base::{index::TerminalId, param::Value, registry::find};

    fn place(name: &str, ranks: u32, free: &[u32], seed: u64, job: u32) -> Result<Vec<u32>, Vec<Problem>> {
        let free: Vec<TerminalId> = free.iter().copied().map(TerminalId::new).collect();
        let fabric = grid("torus", &[5, 4], 1);
        let entry = find(PLACEMENTS, name).unwrap();
        let mut values = defaults(&entry.about);
        if name == "explicit" {
            let backwards = free.iter().rev().map(|&t| u64::from(t)).collect();
            values = values.with("terminals", Value::Ints(backwards));
        }
        let known = Known(ring::build(&asking(ranks.max(2)), &defaults(&ring::ABOUT)).unwrap());
        let program: Option<&dyn Program> = (ranks > 1).then_some(&known);
        let context = PlacementContext { ranks, fabric: &fabric, free: &free, seed, job, program, each: 1 };
        Ok((entry.build)(&context, &values)?.into_iter().map(TerminalId::number).collect())
    }

    #[test]
    fn every_rank_has_its_own_free_terminal() {
        let free: Vec<u32> = (0..20).filter(|t| t % 3 != 0).collect();
        for entry in PLACEMENTS {
            for ranks in [2, 7, free.len() as u32] {
                let mut placed = place(entry.about.name, ranks, &free, 1, 0).unwrap();
                placed.sort_unstable();
                placed.dedup();
                assert_eq!(placed.len(), ranks as usize, "{}", entry.about.name);
                assert!(placed.iter().all(|t| free.contains(t)), "{}", entry.about.name);
            }
            let refused = place(entry.about.name, 14, &free, 1, 0).unwrap_err();
            assert_eq!(refused[0].key, "ranks");
        }
    }

    #[test]
    fn linear_takes_the_first_free_ones() {
        assert_eq!(place("linear", 3, &[4, 5, 9, 10], 1, 0).unwrap(), [4, 5, 9]);
    }

    #[test]
    fn random_depends_on_seed_and_job_alone() {
        let free: Vec<u32> = (0..20).collect();
        let first = place("random", 20, &free, 1, 0).unwrap();
        assert_eq!(first, place("random", 20, &free, 1, 0).unwrap());
        assert_ne!(first, place("random", 20, &free, 2, 0).unwrap());
        assert_ne!(first, place("random", 20, &free, 1, 1).unwrap());
        assert_ne!(first, free);
    }
}
