//! Which algorithm a call runs: what the call itself says, else what the user says, else what a table says.

use super::{CHUNK, Task, choice::Choice, registry::Algorithm, smpi_ompi, table::Table, tables::TABLES};
use crate::program::mpi::CollectiveKind;
use base::{
    param::Problem,
    registry::{find, nearest},
};

/// Most segments times children, or dozens of them, of a call.
const MAX_PARTS: u64 = 1 << 30;

/// Most rounds of a call: a rank that waits for nobody posts them all at one instant, and all of them take memory.
const MAX_ROUNDS: u32 = 1 << 22;

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

    /// Follows a table by name, except for collectives that `fixed` gives an algorithm by name: pairs such as `allreduce`, `ring`.
    ///
    /// # Errors
    /// All unknown names, each with the nearest. The key is `library` or that of the pair.
    pub fn read<'a>(
        library: &str,
        fixed: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let table = find(TABLES, library).unwrap_or_else(|| {
            let names = TABLES.iter().map(|t| t.about.name);
            problems.push(unknown("library", "MPI library", library, names));
            &TABLES[0]
        });
        let mut chooser = Self::new(table);
        for (key, name) in fixed {
            let keys = CollectiveKind::ALL.map(CollectiveKind::key);
            let Some(i) = keys.iter().position(|k| k == key) else {
                problems.push(unknown(key, "collective", key, keys.iter().map(String::as_str)));
                continue;
            };
            let kind = CollectiveKind::ALL[i];
            match Choice::named(kind, name) {
                Ok(choice) => chooser = chooser.with(kind, choice),
                Err(message) => problems.push(Problem::new(key, message)),
            }
        }
        if problems.is_empty() { Ok(chooser) } else { Err(problems) }
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
        task.sends_empty = self.table.sends_empty;
        task.within = Some(&smpi_ompi::WITHIN);
        // Rounds are counted by segments, and by children a few dozen at a time.
        let segments = task.bytes.checked_div(task.segment).unwrap_or(0);
        if segments.saturating_mul(u64::from(task.size / CHUNK + CHUNK)) > MAX_PARTS {
            let (name, segment) = (task.kind.name(), task.segment);
            return Err(format!(
                "{name} of {} B in segments of {segment} B has {segments} segments, too many for {} ranks; name larger segments",
                task.bytes, task.size
            ));
        }
        // Some have segments of their own where none are given.
        let rounds = if task.is_empty() { 0 } else { (choice.algorithm.rounds)(task) };
        if rounds > MAX_ROUNDS {
            let (name, by) = (task.kind.name(), choice.algorithm.about.name);
            return Err(format!(
                "{name} of {} B by `{by}` has {rounds} rounds, more than {MAX_ROUNDS}; choose larger segments, another algorithm, or fewer ranks",
                task.bytes
            ));
        }
        Ok(choice.algorithm)
    }
}

fn unknown<'a>(key: &str, what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Problem {
    let near = nearest(name, known.clone());
    let (lead, list) = if near.is_empty() { ("one of", known.collect()) } else { ("did you mean", near) };
    let list = list.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    let end = if lead == "one of" { "" } else { "?" };
    Problem::new(key, format!("there is no {what} `{name}`")).help(format!("{lead} {list}{end}"))
}

#[cfg(test)]
mod tests {
    use super::{super::registry::ALGORITHMS, *};
    use base::param::{Value, Values};

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
    fn the_page_on_programs_names_every_algorithm() {
        let page = std::fs::read_to_string("../../docs/rank-programs.md").unwrap();
        let row = |kind: CollectiveKind| {
            let names = ALGORITHMS.iter().filter(|a| a.kinds.contains(&kind));
            let names: Vec<String> = names.map(|a| format!("`{}`", a.about.name)).collect();
            format!("| `{}` | {} |\n", kind.key(), names.join(", "))
        };
        let rows: String = CollectiveKind::ALL.map(row).concat();
        assert!(page.contains(&rows), "docs/rank-programs.md lacks the table\n{rows}");
    }

    #[test]
    fn an_unknown_name_gets_the_nearest() {
        let error = Choice::named(CollectiveKind::Allreduce, "rign").unwrap_err();
        assert_eq!(error, "MPI_Allreduce has no algorithm `rign`; perhaps `ring`");
        let error = Choice::named(CollectiveKind::Scan, "xyz").unwrap_err();
        assert_eq!(
            error,
            "MPI_Scan has no algorithm `xyz`; perhaps `linear`, `recursive-doubling`, `direct`"
        );
    }

    #[test]
    fn all_unknown_names_of_a_job_are_reported() {
        let problems =
            Chooser::read("opnmpi", [("alreduce", "ring"), ("bcast", "chian"), ("scan", "linear")]);
        let columns: Vec<_> = problems.unwrap_err().into_iter().map(|p| (p.key, p.message, p.help)).collect();
        let help = |text: &str| Some(text.to_owned());
        assert_eq!(
            columns[0],
            ("library".into(), "there is no MPI library `opnmpi`".into(), help("did you mean `openmpi`?"))
        );
        assert_eq!(columns[1].1, "there is no collective `alreduce`");
        assert!(columns[1].2.as_ref().unwrap().starts_with("did you mean `allreduce`"));
        assert_eq!(
            columns[2],
            ("bcast".into(), "MPI_Bcast has no algorithm `chian`; perhaps `chain`".into(), None)
        );
        assert_eq!(columns.len(), 3);
        assert!(Chooser::read("mpich", [("reduce_scatter_block", "butterfly")]).is_ok());
    }

    #[test]
    fn declared_parameters_are_the_settings() {
        for algorithm in ALGORITHMS {
            let defaults = algorithm.about.params.iter().fold(Values::default(), |values, p| {
                let text = p.default.unwrap();
                let value = text.parse().or_else(|_| base::units::parse_bytes(text)).unwrap();
                values.with(p.name, Value::Int(value))
            });
            let choice = Choice::with_values(algorithm, &defaults);
            let name = algorithm.about.name;
            assert_eq!((choice.segment, choice.radix), (algorithm.segment, algorithm.radix), "{name}");
        }
        let knomial = Choice::named(CollectiveKind::Bcast, "knomial").unwrap().algorithm;
        let values = Values::default().with("segment", Value::Int(5)).with("radix", Value::Int(8));
        let choice = Choice::with_values(knomial, &values);
        assert_eq!((choice.segment, choice.radix), (5, 8));
    }

    #[test]
    fn segments_are_no_more_than_rounds_can_count() {
        let root = crate::program::mpi::CommRank::new(0);
        let call = |bytes| {
            let kind = CollectiveKind::Bcast;
            let (counts, neighbours) = (None, None);
            let call = crate::program::mpi::Collective {
                kind,
                comm: 0,
                root,
                bytes,
                counts,
                neighbours,
                request: None,
                algorithm: None,
            };
            Task::new(&call, root, 64).unwrap()
        };
        for algorithm in ALGORITHMS.iter().filter(|a| a.kinds.contains(&CollectiveKind::Bcast)) {
            let choice = Choice { algorithm, segment: 1, radix: 2 };
            let chooser = Chooser::new(&TABLES[0]).with(CollectiveKind::Bcast, choice);
            assert!(chooser.choose(&mut call(1 << 20), None).is_ok());
            let error = chooser.choose(&mut call(3 << 30), None).unwrap_err();
            assert!(error.contains("3221225472 segments, too many for 64 ranks"), "{error}");
        }
        // Also where an algorithm has segments of its own.
        let mut cut = 0;
        for algorithm in ALGORITHMS.iter().filter(|a| a.kinds.contains(&CollectiveKind::Bcast)) {
            let chooser = Chooser::new(&TABLES[0]);
            match chooser.choose(&mut call(1 << 40), Some(algorithm.about.name)) {
                Ok(_) => assert!((algorithm.rounds)(&call(1 << 40)) <= MAX_ROUNDS),
                Err(error) => {
                    assert!(
                        error.contains("rounds, more than 4194304") || error.contains("too many"),
                        "{error}"
                    );
                    cut += 1;
                }
            }
        }
        assert!(cut >= 3, "{cut}");
    }

    #[test]
    fn the_call_wins_over_the_user_and_the_user_over_the_table() {
        let call = crate::program::mpi::Collective {
            kind: CollectiveKind::Allreduce,
            comm: 0,
            root: crate::program::mpi::CommRank::new(0),
            bytes: 8,
            counts: None,
            neighbours: None,
            request: None,
            algorithm: None,
        };
        let mut task = Task::new(&call, call.root, 8).unwrap();
        let ring = Choice::named(task.kind, "ring").unwrap();
        let table = Chooser::new(&TABLES[0]);
        let user = table.clone().with(task.kind, ring);
        assert_eq!(table.choose(&mut task, None).unwrap().about.name, "recursive-doubling");
        assert_eq!(user.choose(&mut task, None).unwrap().about.name, "ring");
        assert_eq!(user.choose(&mut task, Some("rabenseifner")).unwrap().about.name, "rabenseifner");
        assert!(user.choose(&mut task, Some("rabenseiffner")).unwrap_err().contains("`rabenseifner`"));
    }
}
