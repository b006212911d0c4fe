//! Which terminal each rank of a job lives on.

pub mod linear;
pub mod random;

use base::param::Problem;
use fabric::graph::Fabric;

/// What a placement is built from, beside its own parameters.
#[derive(Clone, Copy)]
pub struct PlacementContext<'a> {
    /// Number of ranks to place.
    pub ranks: u32,
    /// The network.
    pub fabric: &'a Fabric,
    /// Terminals that no earlier job uses, ascending.
    pub free: &'a [u32],
    /// Seed of the run.
    pub seed: u64,
    /// Index of the job.
    pub job: u32,
}

impl PlacementContext<'_> {
    /// Number of ranks as a length, if there is a free terminal for each.
    pub(crate) fn need_room(&self) -> Result<usize, Vec<Problem>> {
        let (ranks, free) = (self.ranks as usize, self.free.len());
        if ranks <= free {
            return Ok(ranks);
        }
        let message = format!(
            "{ranks} ranks do not fit on {free} free terminals (the network has {})",
            self.fabric.terminals()
        );
        let off = &self.fabric.cut_off;
        let mut help = "one terminal holds one rank".to_owned();
        if !off.is_empty() {
            let names: Vec<String> = off.iter().take(8).map(ToString::to_string).collect();
            let more = if off.len() > 8 { ", .." } else { "" };
            help += &format!("; faults cut off {} terminals: {}{more}", off.len(), names.join(", "));
        }
        Err(vec![Problem::new("ranks", message).help(help)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::PLACEMENTS;
    use base::{param::Values, registry::find};
    use std::sync::Arc;

    fn network(terminals: u32) -> Fabric {
        Fabric {
            topology: "test",
            classes: vec!["terminal"],
            port_base: vec![0, 0],
            ports: vec![],
            attach: vec![(0, 0); terminals as usize],
            shape: Arc::new(()),
            failed: 0,
            cut_off: Vec::new(),
        }
    }

    fn place(name: &str, ranks: u32, free: &[u32], seed: u64, job: u32) -> Result<Vec<u32>, Vec<Problem>> {
        let fabric = network(20);
        let context = PlacementContext { ranks, fabric: &fabric, free, seed, job };
        (find(PLACEMENTS, name).unwrap().build)(&context, &Values::default())
    }

    #[test]
    fn every_rank_has_its_own_free_terminal() {
        let free: Vec<u32> = (0..20).filter(|t| t % 3 != 0).collect();
        for entry in PLACEMENTS {
            for ranks in [0, 1, 7, free.len() as u32] {
                let mut placed = place(entry.about.name, ranks, &free, 1, 0).unwrap();
                placed.sort_unstable();
                placed.dedup();
                assert_eq!(placed.len(), ranks as usize);
                assert!(placed.iter().all(|t| free.contains(t)));
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
