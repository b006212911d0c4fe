//! Which launcher started this process, as its environment says.

/// What launchers say to the processes that they start: the variable with their number, and the launcher. A batch job's own variables are
/// not among them: a program that its script starts directly is alone, whatever the job has.
const LAUNCHERS: &[(&str, &str)] = &[
    ("OMPI_COMM_WORLD_SIZE", "Open MPI"),
    ("PMI_SIZE", "MPICH, Intel MPI or Cray"),
    ("MV2_COMM_WORLD_SIZE", "MVAPICH2"),
    ("SLURM_STEP_NUM_TASKS", "Slurm (srun)"),
    ("JSM_NAMESPACE_SIZE", "jsrun"),
    ("FLUX_JOB_SIZE", "Flux"),
    ("PALS_SIZE", "PALS"),
];

/// A launcher that started this process and others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// Its name for people; several launchers that set the same variable have one together.
    pub name: &'static str,
    /// Variable of the environment that says so.
    pub variable: &'static str,
    /// Processes that it started.
    pub ranks: u32,
}

/// The launcher that an environment names, if it started several processes; of several names the one with most.
#[must_use]
pub fn launcher(environment: impl Fn(&str) -> Option<String>) -> Option<Launcher> {
    let named = |&(variable, name): &(&'static str, &'static str)| {
        let ranks = environment(variable)?.trim().parse().ok()?;
        (ranks > 1).then_some(Launcher { name, variable, ranks })
    };
    let found: Vec<Launcher> = LAUNCHERS.iter().filter_map(named).collect();
    let most = found.iter().map(|l| l.ranks).max()?;
    found.into_iter().find(|l| l.ranks == most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_is_known_by_its_variable() {
        let of = |variables: &'static [(&str, &str)]| {
            launcher(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("SLURM_NTASKS", "8")]), None, "a batch script starts one process");
        assert_eq!(of(&[("PMI_SIZE", "1")]), None);
        assert_eq!(of(&[("PMI_SIZE", "many")]), None);
        let found = of(&[("SLURM_STEP_NUM_TASKS", "1"), ("OMPI_COMM_WORLD_SIZE", "4")]);
        assert_eq!(found.map(|l| (l.name, l.ranks)), Some(("Open MPI", 4)));
    }
}
