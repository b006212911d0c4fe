//! From a resolved experiment to a run: network, links, jobs, then the model.
//!
//! What is built depends on what is sound: a mistake in one section does not hide those of another. Only an
//! experiment without mistakes becomes a run.

use crate::{
    error::Error,
    experiment::sections::Experiment,
    jobs::{self, Early},
    links,
    network::{self, Network, Room},
    networks::Networks,
    options::RunOptions,
    parts,
    watcher::Phases,
};
use base::diag::Diagnostics;
use fabric::topology::Sizes;
use model::{Run, setup::JobSetup};

/// Builds what the experiment describes; `None` if it has mistakes.
///
/// # Errors
/// If the tables of the routing do not fit in memory.
pub fn assemble(
    experiment: &Experiment,
    options: &RunOptions,
    phases: &Phases<'_>,
    room: Room<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<Option<Box<dyn Run>>, Error> {
    let early = rehearse(experiment, options, room, diagnostics)?;
    let network = network::build(experiment, phases, room, diagnostics)?;
    Ok(with_network(experiment, network, early, options, diagnostics))
}

/// Builds all but the network, if that is large and without other mistakes: what does not go together without it does not with it. Returns what is known of jobs.
fn rehearse(
    experiment: &Experiment,
    options: &RunOptions,
    room: Room<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<Vec<Option<Early>>, Error> {
    let Some(sizes) = network::large(experiment).filter(|_| diagnostics.is_empty()) else {
        return Ok(Vec::new());
    };
    network::refuse_by_size(experiment, &sizes, room)?;
    rehearsed_on(experiment, &sizes, options, room, diagnostics)
}

/// The same for a network of these sizes.
fn rehearsed_on(
    experiment: &Experiment,
    sizes: &Sizes,
    options: &RunOptions,
    room: Room<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<Vec<Option<Early>>, Error> {
    let notes = diagnostics.notes.len();
    let links = links::build(experiment, diagnostics);
    let terminals = u32::try_from(sizes.terminals).unwrap_or(u32::MAX);
    let early = jobs::early(experiment, terminals, links.terminal, diagnostics);
    let known: Option<Vec<JobSetup>> = early.iter().map(|job| Some(job.as_ref()?.setup.clone())).collect();
    if let Some(jobs) = known.filter(|_| diagnostics.is_empty()) {
        let jobs = alone(jobs, options);
        let params: Option<Vec<_>> = links.params.iter().copied().collect();
        let least = network::least(experiment, sizes, &jobs, &params.unwrap_or_default());
        parts::build(experiment, Network::default(), links, jobs, options, diagnostics);
        if diagnostics.is_empty() {
            room("the run", least)?;
        }
    }
    diagnostics.notes.truncate(notes);
    Ok(early)
}

/// The same with other jobs than the experiment's, on its network.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_jobs(
    experiment: &Experiment,
    jobs: Vec<JobSetup>,
    options: &RunOptions,
    phases: &Phases<'_>,
    room: Room<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<Option<Box<dyn Run>>, Error> {
    let network = network::build(experiment, phases, room, diagnostics)?;
    let links = links::build(experiment, diagnostics);
    Ok(parts::build(experiment, network, links, jobs, options, diagnostics))
}

/// The same on a network that others of its description share.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_shared(
    experiment: &Experiment,
    options: &RunOptions,
    networks: &Networks,
    phases: &Phases<'_>,
    room: Room<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<Option<Box<dyn Run>>, Error> {
    let key = Networks::key(experiment);
    let mut early = Vec::new();
    let network = match networks.get(&key) {
        Some(network) => network,
        None => {
            early = rehearse(experiment, options, room, diagnostics)?;
            let before = diagnostics.len();
            let network = network::build(experiment, phases, room, diagnostics)?;
            // One that was left out for mistakes elsewhere is not kept for others.
            if diagnostics.len() == before && network.fabric.is_some() {
                networks.keep(key, &network);
            }
            network
        }
    };
    Ok(with_network(experiment, network, early, options, diagnostics))
}

fn with_network(
    experiment: &Experiment,
    network: Network,
    early: Vec<Option<Early>>,
    options: &RunOptions,
    diagnostics: &mut Diagnostics,
) -> Option<Box<dyn Run>> {
    let links = links::build(experiment, diagnostics);
    let jobs = jobs::build(experiment, network.nodes.as_deref(), links.terminal, early, diagnostics);
    parts::build(experiment, network, links, alone(jobs, options), options, diagnostics)
}

/// The jobs, of which only one works if that is asked for.
fn alone(jobs: Vec<JobSetup>, options: &RunOptions) -> Vec<JobSetup> {
    let Some(alone) = options.alone else { return jobs };
    let others = |(n, job): (usize, JobSetup)| if n == alone { job } else { job.idle() };
    jobs.into_iter().enumerate().map(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Experiment as File, MemoryLimit, Registry, Watcher, experiment, prepare::Prepared, swarm::Swarm,
    };
    use std::sync::Mutex;

    /// 90,000 routers, which are much to build and little to write.
    const LARGE: &str = r#"
[experiment]
duration = "1 us"
[fabric]
topology = "mesh"
dims = [300, 300]
terminals_per_router = 1
link.terminal = { bandwidth = "2 GB/s", latency = "30 ns", credit_delay = "4 ns", vc_buffer = "1 KiB" }
link.local = { bandwidth = "2 GB/s", latency = "30 ns", credit_delay = "4 ns", vc_buffer = "1 KiB" }
[routing]
algorithm = "dimension-order"
[[job]]
name = "first"
workload = "uniform"
ranks = 80000
message = "64 B"
load = 0.01
[[job]]
name = "second"
workload = "uniform"
message = "64 B"
load = 0.01
[model]
kind = "packet"
packet = "64 B"
chunk = "64 B"
vcs = 1
"#;

    /// Hears what is built.
    #[derive(Default)]
    struct Phases(Mutex<Vec<String>>);

    impl Watcher for Phases {
        fn phase(&self, what: &str) {
            self.0.lock().unwrap().push(what.to_owned());
        }
    }

    /// The large experiment with other values, and whether its network was built.
    fn with(set: &[(&str, &str)], memory: MemoryLimit) -> (Result<Prepared, Error>, bool) {
        let options = RunOptions { memory: Some(memory), ..RunOptions::default() };
        let file = File::from_text(LARGE).options(options);
        let heard = Phases::default();
        let prepared = set.iter().fold(file, |file, (path, value)| file.set(path, value)).prepare(&heard);
        let built = heard.0.into_inner().unwrap().iter().any(|phase| phase == "building the network");
        (prepared, built)
    }

    const PROGRAMS: [(&str, &str); 7] = [
        ("model.kind", "delay"),
        ("job.0.workload", "ring"),
        ("job.0.load", ""),
        ("job.0.message", ""),
        ("job.1.workload", "ring"),
        ("job.1.load", ""),
        ("job.1.message", ""),
    ];

    #[test]
    fn mistakes_of_jobs_come_before_a_large_network_is_built() {
        let of_placement = [("job.0.placement", "explicit"), ("job.0.placement_file", "/nowhere")];
        let ring = [("job.0.workload", "ring"), ("job.0.load", ""), ("job.0.message", "")];
        let noisy = [&ring[..], &[("job.0.noise_file", "/nowhere")]].concat();
        for (set, words) in [
            (&[("job.1.ranks", "10001")][..], "10001 ranks do not fit on 10000 free terminals"),
            (&[("job.0.ranks", "90000")], "no terminal is left"),
            (&[("job.0.ranks", "90001")], "90001 ranks do not fit on 90000 free terminals"),
            // The pattern, which takes powers of two, is not asked.
            (
                &[("job.0.workload", "bit-complement"), ("job.0.ranks", "90003")],
                "90003 ranks do not fit on 90000 free terminals",
            ),
            (&[("job.1.start", "2 us")], "the job would start when the run is over"),
            (&[("job.0.workload", "matrix"), ("job.0.file", "/nowhere")], "at most 16384 ranks"),
            (&noisy, "cannot be read"),
            (&[("model.kind", "delay")], "this workload is traffic by rule"),
            (&[("model.chunk", "128 B")], "larger than a packet"),
            (&[("model.chunk", "2 KiB"), ("model.packet", "2 KiB")], "does not fit into the buffers"),
            (&[("fabric.link.local.latency", "2000 s")], "longer than 1000 s"),
            (&[("energy", "{}"), ("model.kind", "hybrid")], "takes no [energy]"),
        ] {
            let (prepared, built) = with(set, MemoryLimit::None);
            let error = prepared.err().unwrap_or_else(|| panic!("{set:?} is no mistake"));
            assert!(error.to_string().contains(words), "{set:?}: {error}");
            assert!(!built, "{set:?}: the network was built");
        }
        // So are lists of places. Which of them other jobs have taken is seen on the network.
        let twice = [("job.0.placement", "explicit"), ("job.0.ranks", "3"), ("job.0.terminals", "[7, 8, 7]")];
        let beyond =
            [("job.0.placement", "explicit"), ("job.0.ranks", "2"), ("job.0.terminals", "[7, 90000]")];
        let few = [("job.0.placement", "explicit"), ("job.0.terminals", "[7, 8, 9]")];
        for (set, words) in [
            (&of_placement[..], "cannot be read"),
            (&twice, "has a rank already"),
            (&beyond, "the last one is 89999"),
            (&few, "80000 ranks need 80000 terminals, 3 are given"),
        ] {
            let (prepared, built) = with(set, MemoryLimit::None);
            let error = prepared.err().unwrap_or_else(|| panic!("{set:?} is no mistake"));
            assert!(error.to_string().contains(words), "{set:?}: {error}");
            assert!(!built, "{set:?}: the network was built");
        }
        let second = [
            ("job.0.placement", "explicit"),
            ("job.0.ranks", "2"),
            ("job.0.terminals", "[7, 8]"),
            ("job.1.placement", "explicit"),
            ("job.1.ranks", "2"),
            ("job.1.terminals", "[8, 9]"),
        ];
        let (prepared, built) = with(&second, MemoryLimit::None);
        assert!(prepared.err().is_some_and(|e| e.to_string().contains("taken by an earlier job")) && built);
    }

    /// What does not fit is known from sizes and jobs nearly to the byte, and refused before anything is built.
    #[test]
    fn a_run_that_does_not_fit_is_refused_before_its_network_is_built() {
        let one = |set: &[(&str, &str)], percent: u64| {
            let (prepared, built) = with(set, MemoryLimit::None);
            let memory = prepared.unwrap_or_else(|e| panic!("{set:?}: {e}")).memory;
            assert!(built, "{set:?}");
            let (refused, built) = with(set, MemoryLimit::Bytes(memory.bytes * percent / 100));
            assert!(refused.is_err() && !built, "{set:?}: {memory:?}");
        };
        one(&[], 60);
        one(&[("model.kind", "flow")], 60);
        one(&[("model.kind", "congestion")], 60);
        one(&[("fabric.rails", "2")], 60);
        let tables = [
            ("model.kind", "congestion"),
            ("fabric.dims", "[60, 60]"),
            ("fabric.terminals_per_router", "16"),
            ("job.0.ranks", "100"),
            ("routing.algorithm", "shortest-path"),
        ];
        one(&tables, 60);
        one(&PROGRAMS, 30);
        // What fills buffers, or as much as links between routers take.
        let roomy = [
            ("experiment.duration", "10 us"),
            ("fabric.link.terminal.vc_buffer", "1 MiB"),
            ("fabric.link.local.vc_buffer", "1 MiB"),
            ("job.0.load", "0.9"),
            ("job.1.load", "0.9"),
        ];
        one(&roomy, 80);
        one(&[&roomy[..], &[("fabric.link.local.vc_buffer", "256 B")]].concat(), 60);
    }

    /// Sound experiments: of the examples, and of a swarm.
    fn sound() -> Vec<(String, String)> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let examples = files.filter(|path| path.extension().is_some_and(|e| e == "toml"));
        let mut all: Vec<_> = examples
            .map(|path| (path.display().to_string(), std::fs::read_to_string(&path).unwrap()))
            .collect();
        let swarm = Swarm { registry: Registry::standard(), seed: 7, ..Swarm::default() };
        all.extend((0..40).filter_map(|n| Some((format!("swarm {n}"), swarm.drawn(n).ok()?.0))));
        all
    }

    /// What a rehearsal without the network finds wrong is wrong: it finds nothing in what can run. And jobs that it knows are those of the run.
    #[test]
    fn rehearsals_find_nothing_wrong_with_what_can_run() {
        let (mut rehearsed, mut known) = (0, 0);
        for (name, text) in sound() {
            let mut diagnostics = Diagnostics::default();
            let Some(experiment) =
                experiment::read(&Registry::standard(), &name, &text, &[], &mut diagnostics)
            else {
                continue;
            };
            let sizes = experiment.fabric.as_ref().and_then(network::sizes);
            let Some(sizes) = sizes.filter(|_| diagnostics.is_empty() && experiment.series.is_none()) else {
                continue;
            };
            let room: Room<'_> = &|_, _| Ok(());
            let options = RunOptions { machine: true, ..RunOptions::default() };
            let early = rehearsed_on(&experiment, &sizes, &options, room, &mut diagnostics);
            let early = early.unwrap_or_else(|e| panic!("{name}: {e}"));
            if sizes.ports > 20_000 {
                assert!(diagnostics.is_empty(), "{name}: {diagnostics}");
                continue;
            }
            let found = std::mem::take(&mut diagnostics);
            let phases = crate::watcher::Phases(&crate::Silent);
            let run = assemble(&experiment, &options, &phases, room, &mut diagnostics);
            let Ok(Some(run)) = run else { continue };
            assert!(found.is_empty(), "{name}: {found}");
            rehearsed += 1;
            let ranks = |job: &JobSetup| (job.name.clone(), job.placement.len(), job.start);
            for (early, job) in early.iter().zip(run.jobs()) {
                let Some(early) = early else { continue };
                assert_eq!(ranks(&early.setup), ranks(job), "{name}");
                known += 1;
            }
        }
        assert!(rehearsed > 30 && known > 30, "{rehearsed} rehearsed");
    }
}
