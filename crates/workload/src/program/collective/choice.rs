//! Which algorithm a call runs: what the call itself says, else what the user says, else what a table says.

use super::{ALGORITHMS, Algorithm, Task, table::Table};
use crate::program::mpi::CollectiveKind;
use base::registry::nearest;

/// An algorithm with its settings.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The algorithm.
    pub algorithm: &'static Algorithm,
    /// Bytes of a segment; 0 is none.
    pub segment: u64,
    /// Radix or window.
    pub radix: u32,
}

impl Choice {
    /// An algorithm by name, with its own settings.
    ///
    /// # Errors
    /// If this collective has no such algorithm: says which are near.
    pub fn named(kind: CollectiveKind, name: &str) -> Result<Self, String> {
        let of_kind = || ALGORITHMS.iter().filter(move |a| a.kinds.contains(&kind));
        if let Some(algorithm) = of_kind().find(|a| a.about.name == name) {
            return Ok(Self { algorithm, segment: algorithm.segment, radix: algorithm.radix });
        }
        let near = nearest(name, of_kind().map(|a| a.about.name));
        let known: Vec<&str> = if near.is_empty() { of_kind().map(|a| a.about.name).collect() } else { near };
        let list = known.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        Err(format!("{} has no algorithm `{name}`; perhaps {list}", kind.name()))
    }
}

/// Chooses the algorithm of every call of a job.
#[derive(Clone, Debug)]
pub struct Chooser {
    table: &'static Table,
    fixed: [Option<Choice>; CollectiveKind::ALL.len()],
}

impl Chooser {
    /// Follows a table.
    #[must_use]
    pub fn new(table: &'static Table) -> Self {
        Self { table, fixed: [None; CollectiveKind::ALL.len()] }
    }

    /// Takes one algorithm for all calls of a collective, whatever the table says.
    #[must_use]
    pub fn with(mut self, kind: CollectiveKind, choice: Choice) -> Self {
        self.fixed[kind as usize] = Some(choice);
        self
    }

    /// Chooses, and sets the task's segment and radix. `named` is the call's own wish.
    ///
    /// # Errors
    /// If the call names an algorithm that there is not.
    pub fn choose(&self, task: &mut Task, named: Option<&str>) -> Result<&'static Algorithm, String> {
        let choice = match (named, self.fixed[task.kind as usize]) {
            (Some(name), _) => Choice::named(task.kind, name)?,
            (None, Some(choice)) => choice,
            (None, None) => self.table.choose(task),
        };
        task.segment = choice.segment;
        task.radix = choice.radix;
        Ok(choice.algorithm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::collective::TABLES;

    #[test]
    fn names_are_unique_by_collective_and_every_collective_has_one() {
        for kind in CollectiveKind::ALL {
            let mut names: Vec<_> =
                ALGORITHMS.iter().filter(|a| a.kinds.contains(&kind)).map(|a| a.about.name).collect();
            assert!(!names.is_empty(), "{}", kind.name());
            names.sort_unstable();
            let all = names.len();
            names.dedup();
            assert_eq!(names.len(), all, "{}", kind.name());
        }
    }

    #[test]
    fn an_unknown_name_gets_the_nearest() {
        let error = Choice::named(CollectiveKind::Allreduce, "rign").unwrap_err();
        assert_eq!(error, "MPI_Allreduce has no algorithm `rign`; perhaps `ring`");
        let error = Choice::named(CollectiveKind::Scan, "xyz").unwrap_err();
        assert_eq!(error, "MPI_Scan has no algorithm `xyz`; perhaps `linear`, `recursive-doubling`");
    }

    #[test]
    fn the_call_wins_over_the_user_and_the_user_over_the_table() {
        let call = crate::program::mpi::Collective {
            kind: CollectiveKind::Allreduce,
            comm: 0,
            root: 0,
            bytes: 8,
            counts: None,
            neighbours: None,
            request: None,
            algorithm: None,
        };
        let mut task = Task::new(&call, 0, 8).unwrap();
        let ring = Choice::named(task.kind, "ring").unwrap();
        let table = Chooser::new(&TABLES[0]);
        let user = table.clone().with(task.kind, ring);
        assert_eq!(table.choose(&mut task, None).unwrap().about.name, "recursive-doubling");
        assert_eq!(user.choose(&mut task, None).unwrap().about.name, "ring");
        assert_eq!(user.choose(&mut task, Some("rabenseifner")).unwrap().about.name, "rabenseifner");
        assert!(user.choose(&mut task, Some("rabenseiffner")).unwrap_err().contains("`rabenseifner`"));
    }
}
