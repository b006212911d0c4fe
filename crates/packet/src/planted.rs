//! What tests that plant faults share: a run that stopped in its middle, and all that `--check` would say of it there.

use crate::{
    census::Census,
    check,
    host::inhabited,
    hybrid::conductor::Conductor,
    net::Router,
    network::Network,
    observe::Observer,
    one_way,
    sample::Sampler,
    setup::Setup,
    state::{Inhabited, PacketDomain},
    transport::check::Books,
};
use base::time::Ps;
use engine::{
    director::Pauses,
    executor::{Executor, Options},
};
use model::setup::{Measure, Until};
use std::sync::Arc;

/// A run in one partition.
pub(crate) type Run<R> = Executor<Inhabited<R>, Observer>;

/// A run up to `until`, settled.
pub(crate) fn run<R: Router>(setup: &Setup, until: Ps) -> Run<R> {
    run_on(setup, until, until, |_| Some(())).expect("nothing is planted")
}

/// A run to which something is done at `at`, and which goes on up to `until`, settled; nothing where the state has no place for it.
pub(crate) fn run_on<R: Router>(
    setup: &Setup,
    at: Ps,
    until: Ps,
    plant: impl Fn(&mut PacketDomain<R>) -> Option<()>,
) -> Option<Run<R>> {
    let net = Arc::new(Network::new(setup, 1).measured(setup));
    let (Until::Time(end) | Until::WorkloadDone { limit: end }) = setup.until;
    let observer = Observer::new(Arc::clone(&net), 0, end, Measure::default(), true)
        .in_turn(one_way::keeps_order(setup));
    let parts = [(inhabited::<R>(&net, 0), observer)];
    let mut run = Executor::new(parts, Options { tie_seed: 1, wheel_shift: 8 });
    let sampler = Sampler::new(end, end, 0, false, false);
    let mut director = Conductor::new(sampler, setup.hybrid.as_ref(), &net, end).expect("the setup is sound");
    for (time, plants) in [(at, true), (until, false)] {
        run.run_directed(time, &mut director, Pauses::after(u64::MAX), |_, _| true);
        run.settle();
        if plants {
            plant(&mut run.partitions[0].domain.carrier)?;
        }
    }
    Some(run)
}

/// What `--check` finds where a run stands.
pub(crate) fn faults<R: Router>(run: &Run<R>) -> Vec<String> {
    let part = &run.partitions[0];
    let (network, pending) = (&part.domain.carrier, part.agenda.pending());
    let sums = &part.observer.sums;
    let open = sums.packets.0 - sums.packets.1 - sums.tallies.all_lost();
    let ledger = sums.ledger.clone().expect("it is checked");
    let transport = Books::of(network, &pending).map(|books| books.verdict(&ledger)).unwrap_or_default();
    let census = Census::of(network, &pending);
    let credits = check::Books::of(network, &pending).balance(run.now()).err().map(|e| e.to_string());
    credits.into_iter().chain(ledger.verdict(open, Some(&census))).chain(transport).collect()
}

/// A fault by its name; nothing where the state has no place for it.
pub(crate) type Fault<R> = (&'static str, fn(&mut PacketDomain<R>) -> Option<()>);

/// Asserts that a run is sound where it stops, at each of these times, and that each fault is found at once where it can be planted first.
pub(crate) fn all_are_found<R: Router>(setup: &Setup, times: &[Ps], faults_of: &[Fault<R>]) {
    let mut left: Vec<Fault<R>> = faults_of.to_vec();
    let mut missed = Vec::new();
    for &until in times {
        assert_eq!(faults(&run::<R>(setup, until)), Vec::<String>::new(), "at {until} ps");
        left.retain(|(name, plant)| {
            let mut run = run::<R>(setup, until);
            let planted = plant(&mut run.partitions[0].domain.carrier).is_some();
            if planted && faults(&run).is_empty() {
                missed.push(*name);
            }
            !planted
        });
    }
    let left: Vec<&str> = left.iter().map(|fault| fault.0).collect();
    assert!(missed.is_empty() && left.is_empty(), "missed: {missed:?}; not planted: {left:?}");
}
