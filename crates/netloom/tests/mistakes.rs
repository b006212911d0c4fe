//! Mistakes in files are said, whatever key they are in; and routers are those that a file names.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use netloom::{Experiment, Silent};
use std::{fs, path::PathBuf};

fn examples() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> = all.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    all.sort();
    all
}

/// A text with another value of the key in a line, if there is one in it.
fn with_a_mistake(text: &str, line: usize, value: &str) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (key, _) = lines[line].split_once(" = ").filter(|(key, _)| !key.starts_with(['#', '[', ' ', '"']))?;
    lines[line] = format!("{key} = {value}");
    Some(lines.join("\n"))
}

/// Keys that are always tried: others once looked at them where their section had a mistake.
const NAMED: [&str; 3] = ["protocol = ", "kernel = ", "name = "];

/// One section with a mistake is no reason to stop: what looks at it beside its own reader copes with what is missing.
#[test]
fn a_mistake_in_any_key_is_said() {
    // Files are named from where the examples lie.
    std::env::set_current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples")).unwrap();
    let (mut tried, mut refused) = (0, 0);
    for path in examples() {
        let text = fs::read_to_string(&path).unwrap();
        // Large networks take long, and have no keys of their own.
        if ["65536", "524288", "8448"].iter().any(|n| path.to_string_lossy().contains(n)) {
            continue;
        }
        let share = if std::env::var_os("NETLOOM_LONG").is_some() { 1 } else { 8 };
        let named =
            |line: &usize| text.lines().nth(*line).is_some_and(|l| NAMED.iter().any(|n| l.starts_with(n)));
        let some = |line: &usize| (line + text.len()).is_multiple_of(share) || named(line);
        for line in (0..text.lines().count()).filter(some) {
            for value in ["{ wrong = 1 }", "\"no such thing\""] {
                let Some(wrong) = with_a_mistake(&text, line, value) else { continue };
                let experiment = Experiment::from_text(wrong.as_str());
                tried += 1;
                refused += usize::from(experiment.prepare(&Silent).is_err());
            }
        }
    }
    // A name may be any text, and keys of other models any value.
    assert!(tried > 100 && refused * 4 > tried * 3, "{refused} of {tried}");
}

const SERVICES: &str = r#"
[experiment]
duration = "40 us"
[fabric]
topology = "torus"
dims = [4, 4]
link.terminal = { bandwidth = "2 GB/s", latency = "50 ns", credit_delay = "5 ns", vc_buffer = "16 KiB" }
link.local = { bandwidth = "2 GB/s", latency = "50 ns", credit_delay = "5 ns", vc_buffer = "16 KiB" }
[routing]
algorithm = "dimension-order"
[[job]]
workload = "uniform"
message = "2 KiB"
load = 0.8
arrival = "poisson"
service = "a"
[model]
kind = "packet"
[service]
classes = ["a", "b"]
"#;

/// Classes make routers clocked ones, of the architecture that the file names: as if section [router] were there and said nothing.
#[test]
fn services_keep_the_architecture_of_routers() {
    let mut seen = Vec::new();
    for router in ["input-queued", "output-queued", "combined"] {
        let run = |sets: &[(&str, &str)]| {
            let run =
                sets.iter().fold(Experiment::from_text(SERVICES), |run, (key, value)| run.set(key, value));
            run.run().unwrap().summary.fingerprint
        };
        let alone = run(&[("model.router", router)]);
        assert_eq!(alone, run(&[("model.router", router), ("router.iterations", "1")]), "{router}");
        seen.push(alone);
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 3, "each architecture is another router");
}
