//! Platforms in whole experiments: links that fail, energy, hosts by name.

use netloom::Experiment;
use results::summary::{State, Summary};
use std::fs;

const FILE: &str = "../../examples/flow-platform.toml";

/// A run of the example with values set; the messages are those of a text, if there is one.
fn run(name: &str, messages: Option<&str>, set: &[(&str, &str)]) -> Result<Summary, String> {
    let mut experiment = Experiment::from_file(FILE).map_err(|e| e.to_string())?;
    if let Some(text) = messages {
        let file = format!("{}/{name}.pairs", env!("CARGO_TARGET_TMPDIR"));
        fs::write(&file, text).map_err(|e| e.to_string())?;
        experiment = experiment.set("job.0.file", file);
    }
    for (key, value) in set {
        experiment = experiment.set(key, value);
    }
    experiment.run().map(|finished| finished.summary).map_err(|e| e.to_string())
}

fn sound(name: &str, messages: &str, set: &[(&str, &str)]) -> Summary {
    run(name, Some(messages), set).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Hosts l0 to l3 are ranks 0 to 3, r0 to r7 ranks 4 to 11.
#[test]
fn ranks_may_be_named_by_their_hosts() {
    let numbers = sound("numbers", "0s 0 3 10MB\n0s 1 4 1MB\n1ms 11 0 1MB\n", &[]);
    let names = sound("names", "0s l0 l3 10MB\n0s l1 r0 1MB\n1ms r7 0 1MB\n", &[]);
    assert_eq!(numbers.fingerprint, names.fingerprint);
    let refused = run("strange", Some("0s l0 l4 10MB\n"), &[]).expect_err("there is no such host");
    assert!(refused.contains("neither the number of a rank nor the name of a host"), "{refused}");
    // A job's ranks are those of its placement.
    let some = [("job.0.ranks", "4"), ("job.0.placement", "random")];
    let refused = run("other", Some("0s 0 1 1MB\n0s r8 0 1MB\n"), &some).expect_err("there is no such host");
    assert!(refused.contains("r8"), "{refused}");
}

/// What crosses a link that fails stands still from then on; all else is as before.
#[test]
fn links_fail_by_name() {
    let messages = "0s 0 3 1MB\n0s 1 4 100MB\n";
    let whole = sound("whole", messages, &[]);
    assert_eq!((whole.verdict.state, whole.messages.map(|m| m.delivered)), (State::Ok, Some(2)));
    for at in ["0 s", "3 ms"] {
        let broken = sound("broken", messages, &[("faults.links", "[\"between\"]"), ("faults.at", at)]);
        assert_eq!(broken.verdict.state, State::Starved, "{:?}", broken.verdict);
        assert_eq!(broken.messages.map(|m| (m.injected, m.delivered)), Some((2, 1)));
        let least = |s: &Summary| s.message_latency_ps.as_ref().map(|l| l.min);
        assert_eq!(least(&broken), least(&whole));
    }
    // After the message is there nobody is harmed.
    let late = sound("late", messages, &[("faults.links", "[\"between_UP\"]"), ("faults.at", "1 s")]);
    assert_eq!(late.fingerprint, whole.fingerprint);
    let all = sound("all", messages, &[("faults.link_fraction", "1.0")]);
    assert_eq!(all.messages.map(|m| m.delivered), Some(0));
    for (key, value, said) in [
        ("faults.links", "[\"betwen\"]", "the platform has no link `betwen`"),
        ("faults.router_fraction", "0.5", "no routers or classes of links for `router_fraction`"),
    ] {
        let refused = run("refused", Some(messages), &[(key, value)]).expect_err(said);
        assert!(refused.contains(said), "{refused}");
    }
}

/// Interfaces take power all the time, and each link energy for its bits; a message within a cluster crosses its two ends' links and the backbone.
#[test]
fn platforms_have_energy() {
    let messages = "0s 0 3 1MB\n";
    let rules = [
        ("model.preset", "max-min"),
        ("energy.nic", "2.0"),
        ("energy.link_bit", "5.0"),
        ("energy.link_power", "0.5"),
    ];
    let summary = sound("energy", messages, &rules);
    let e = summary.energy.as_ref().expect("it was asked for");
    let seconds = summary.simulated_ps as f64 * 1e-12;
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
    assert!(e.routers_j == 0.0 && near(e.nics_j, 12.0 * 2.0 * seconds), "{e:?}");
    assert_eq!(e.links.len(), 1);
    let links = e.links[0].links as f64;
    let bits = 3.0 * 8e6 * 5e-12;
    assert!(near(e.links_j, bits + links * 0.5 * seconds), "{e:?}: {bits} J for bits, {links} links");
    let by_class = [&rules[..], &[("energy.class_link_bit", "[\"link=7\"]")]].concat();
    assert!(sound("class", messages, &by_class).energy.is_some_and(|e| e.links_j > links * 0.5 * seconds));
    assert!(run("terminal", Some(messages), &[("energy.class_link_bit", "[\"terminal=7\"]")]).is_err());
}
