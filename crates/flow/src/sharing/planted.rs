//! Faults planted in the state of sharing, one at a time: the audit of `--check` finds all of them, at once or when the flow concerned is over.

use super::{Goal, Latent, NONE, Over, Policy, Sharing};
use crate::{fine_time::FineTime, rules::Rules};
use base::time::Ps;
use std::cmp::Reverse;

const LINKS: u32 = 6;

/// Routes of one to three of six links and a fat pipe; flows of all sizes that begin one after another, two at a time on each route.
fn busy() -> Sharing {
    let mut sharing = Sharing::new(Rules::maxmin(), 0);
    sharing.keep_audit();
    for n in 0..LINKS {
        sharing.link(1e9 + 1e8 * f64::from(n), 1e-6 * f64::from(1 + n), Policy::Shared);
    }
    let pipe = sharing.link(4e8, 1e-6, Policy::FatPipe);
    for n in 0..24u32 {
        let mut links: Vec<u32> = (0..=n % 3).map(|k| (n + k) % LINKS).collect();
        if n % 8 == 5 {
            links.push(pipe);
        }
        let route = sharing.route(links, &[], 0.0);
        for k in 0..2 {
            let begins = FineTime::at(u64::from(n) * 300_000);
            sharing.begin(begins, route, 20_000 + 7_000 * u64::from((5 * n + k) % 11), None, 2 * n + k);
        }
    }
    sharing
}

/// Flows that are over, up to a moment.
fn until(sharing: &mut Sharing, at: Ps) -> Vec<Over> {
    let mut over = Vec::new();
    while sharing.step(at, &mut over) {}
    over
}

/// A bundle of at least `n` flows that share links.
fn bundle(s: &Sharing, n: usize) -> usize {
    s.bundles.iter().position(|b| b.goals.len() >= n).expect("many share links")
}

/// Changes the goal of the first flow of a bundle.
fn goal(s: &mut Sharing, change: impl Fn(&mut Goal)) {
    let bundle = bundle(s, 1);
    let mut goals = std::mem::take(&mut s.bundles[bundle].goals).into_vec();
    change(&mut goals[0].0);
    s.bundles[bundle].goals = goals.into();
}

/// Changes the first of the flows in their latency.
fn latent(s: &mut Sharing, change: impl Fn(&mut Latent)) {
    let mut first = s.latent.pop().expect("some are in their latency").0;
    change(&mut first);
    s.latent.push(Reverse(first));
}

/// A flow that shares links.
fn flow(s: &Sharing) -> usize {
    s.bundles[bundle(s, 1)].goals.peek().expect("it has one").0.flow as usize
}

type Fault = (&'static str, fn(&mut Sharing));

const FAULTS: &[Fault] = &[
    ("a flow that shares links is lost", |s| {
        let bundle = bundle(s, 2);
        s.bundles[bundle].goals.pop();
    }),
    ("a flow shares links twice", |s| {
        let bundle = bundle(s, 1);
        let goal = *s.bundles[bundle].goals.peek().expect("it has one");
        s.bundles[bundle].goals.push(goal);
    }),
    ("a flow ends sooner", |s| goal(s, |goal| goal.clock -= 10.0)),
    ("a flow ends later", |s| goal(s, |goal| goal.clock += 10.0)),
    ("a goal is another flow's", |s| goal(s, |goal| goal.flow = (goal.flow + 1) % 48)),
    ("a share is too high", |s| {
        let bundle = bundle(s, 1);
        s.bundles[bundle].share *= 1.001;
    }),
    ("a share is too low", |s| {
        let bundle = bundle(s, 1);
        s.bundles[bundle].share *= 0.999;
    }),
    ("a clock goes ahead", |s| {
        let bundle = bundle(s, 1);
        s.bundles[bundle].clock += 5.0;
    }),
    ("a clock goes back", |s| {
        let bundle = bundle(s, 1);
        s.bundles[bundle].clock -= 5.0;
    }),
    ("a bundle is brought to a later moment", |s| {
        let bundle = bundle(s, 1);
        s.bundles[bundle].since = s.bundles[bundle].since.after(1e-8);
    }),
    ("a weight is another", |s| {
        let bundle = bundle(s, 1);
        s.bundles[bundle].weight *= 2.0;
    }),
    ("a bundle takes another route", |s| {
        let bundle = bundle(s, 1);
        s.bundles[bundle].route = (s.bundles[bundle].route + 1) % 24;
    }),
    ("the solver counts another number of flows", |s| {
        let bundle = bundle(s, 2) as u32;
        s.meet(s.routes[s.bundles[bundle as usize].route as usize].uses[0].0);
        s.solver.set_count(bundle, 1);
    }),
    ("an end is not noted", |s| {
        let bundle = bundle(s, 1) as u32;
        s.alarms.set(bundle, FineTime::NEVER);
    }),
    ("an end is noted for another moment", |s| {
        let bundle = bundle(s, 1) as u32;
        let at = s.alarms.of(bundle).after(1e-7);
        s.alarms.set(bundle, at);
    }),
    ("a flow is lost in its latency", |s| {
        s.latent.pop().expect("some are in their latency");
    }),
    ("a flow is in its latency twice", |s| {
        let first = *s.latent.peek().expect("some are in their latency");
        s.latent.push(first);
    }),
    ("a latency is longer", |s| latent(s, |latent| latent.until = latent.until.after(1e-9))),
    ("a latency is another flow's", |s| latent(s, |latent| latent.flow = (latent.flow + 1) % 48)),
    ("a flow is another message's", |s| {
        let flow = flow(s);
        s.flows[flow].tag += 1;
    }),
    ("a flow has less to do", |s| {
        let flow = s.latent.peek().expect("some are in their latency").0.flow as usize;
        s.flows[flow].work -= 1.0;
    }),
    ("a flow is in no bundle", |s| {
        let flow = flow(s);
        s.flows[flow].bundle = NONE;
    }),
    ("a flow is not counted", |s| s.active -= 1),
    ("a flow is counted twice", |s| s.active += 1),
    ("a link has become faster", |s| {
        for link in 0..LINKS {
            s.solver.set_capacity(link, 2e9);
        }
    }),
    ("a link has become slower", |s| {
        for link in 0..LINKS {
            s.solver.set_capacity(link, 5e8);
        }
    }),
    ("a fat pipe lets less through", |s| s.solver.set_capacity(LINKS, 1e8)),
];

#[test]
fn planted_faults_are_found() {
    let mut sound = busy();
    let mut ended = 0;
    for at in (0..400).map(|n| n * 5_000_000) {
        ended += until(&mut sound, at).len();
        assert_eq!(sound.faults(), Vec::<String>::new(), "at {at} ps");
    }
    assert_eq!((ended, sound.active()), (48, 0));
    let missed: Vec<&str> = FAULTS
        .iter()
        .filter(|(_, plant)| {
            let mut sharing = busy();
            until(&mut sharing, 5_000_000);
            assert!(sharing.latent.len() > 1 && sharing.active() > 10);
            plant(&mut sharing);
            // What is wrong for later alone shows when it comes.
            sharing.faults().is_empty() && {
                until(&mut sharing, Ps::MAX);
                sharing.faults().is_empty()
            }
        })
        .map(|(name, _)| *name)
        .collect();
    assert!(FAULTS.len() >= 20 && missed.is_empty(), "{missed:?}");
}

/// What is wrong at a moment is named at that moment, before its flow ends.
#[test]
fn what_is_wrong_now_is_named_now() {
    let named = [
        ("a share is too high", " B/s"),
        ("a share is too low", "nothing keeps it from more"),
        ("an end is noted for another moment", "ends at another moment than is noted"),
        ("a flow is another message's", "is not what it began as"),
        ("a latency is longer", "until another moment than when it began"),
        ("a flow is not counted", "flows are counted"),
    ];
    for (name, words) in named {
        let mut sharing = busy();
        until(&mut sharing, 5_000_000);
        let (_, plant) = FAULTS.iter().find(|fault| fault.0 == name).expect("it is on the list");
        plant(&mut sharing);
        let faults = sharing.faults();
        assert!(faults.iter().any(|fault| fault.contains(words)), "{name}: {faults:?}");
    }
}
