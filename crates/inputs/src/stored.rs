//! What runs and sweeps left in their directories, read back to be shown and compared.

use crate::{bundle, text};
use netloom::{
    Input, Registry, RunOptions, Silent, compare,
    execute::execute,
    output::{Begun, Program, Target, manifest},
    page,
    prepare::prepare_text,
    saver::Signals,
    sweep::{
        kept,
        plan::plan_of,
        run::{self, Asked},
    },
};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

const PROGRAM: Program = Program { build: "inputs", version: "0", revision: "" };

const EXPERIMENT: &str = r#"
[experiment]
duration = "2 us"
[fabric]
topology = "torus"
dims = [2, 2]
terminals_per_router = 1
link.terminal = { bandwidth = "12.5 GB/s", latency = "10 ns", credit_delay = "10 ns", vc_buffer = "8 KiB" }
link.local = { bandwidth = "12.5 GB/s", latency = "10 ns", credit_delay = "10 ns", vc_buffer = "8 KiB" }
[routing]
algorithm = "dimension-order"
[[job]]
workload = "uniform"
message = "512 B"
load = 0.3
[model]
kind = "packet"
packet = "512 B"
chunk = "64 B"
[output]
messages = true
pairs = true
"#;

/// Keys of the part of a result that holds what was measured on this machine.
const MEASURED: [&str; 5] = ["wall_s", "cpu_s", "events_per_s", "chunk_hops_per_s", "peak_rss_bytes"];

const SWEEP: &str = "[[sweep.axis]]\npath = \"job.0.load\"\nvalues = [0.1, 0.3]\n[[plot]]\nx = \"load\"\ny = \"latency_mean_ns\"\n";

/// The directory of a run: its page is drawn, and it is compared with itself.
pub fn run(files: &[PathBuf]) -> Result<(), String> {
    let folder = files[0].parent().expect("it is in a folder");
    let runs = page::load(&[folder.to_owned()]).map_err(|e| text::of(&e))?;
    assert!(page::html(&runs).contains("</html>"), "a page is whole");
    // There may be no network to draw.
    drop(page::network(&runs[0]));
    let read = || compare::load(folder).map_err(|e| text::of(&e));
    let ((a, a_messages), (b, b_messages)) = (read()?, read()?);
    let compared = compare::compare(
        compare::Side { summary: &a, messages: a_messages.as_ref() },
        compare::Side { summary: &b, messages: b_messages.as_ref() },
        &compare::Tolerances::default(),
    );
    drop(compare::text(&compared, ["a", "b"], [&a, &b]));
    Ok(())
}

/// The directory of a sweep.
pub fn sweep(files: &[PathBuf]) -> Result<(), String> {
    let folder = files[0].parent().expect("it is in a folder");
    let read = kept::read(folder, None).map_err(|e| format!("{}: {}", folder.display(), text::of(&e)))?;
    for spec in &read.series.plots {
        // A figure may have nothing to show.
        if let Ok(figure) = netloom::figures::figure(spec, &read.series.sweep.axes, &read.rows) {
            drop(figure.plot.svg());
        }
    }
    Ok(())
}

/// Files of a folder as one input, `first` first.
fn bundled(folder: &Path, first: &str, names: &[&str]) -> Vec<u8> {
    let read = |name: &str| {
        let bytes = fs::read(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        if name.ends_with(".json") { steady(&bytes) } else { bytes }
    };
    let all: Vec<(&str, Vec<u8>)> = [first].iter().chain(names).map(|name| (*name, read(name))).collect();
    let parts: Vec<(&str, &[u8])> = all.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
    bundle(&parts)
}

/// A result without what differs from run to run and from host to host, so that a change which breaks a reader is the same one on every machine.
fn steady(json: &[u8]) -> Vec<u8> {
    fn walk(value: &mut Value) {
        let Value::Object(object) = value else { return };
        object.values_mut().for_each(walk);
        if let Some(host) = object.get_mut("host") {
            *host = "host".into();
        }
        if object.contains_key(MEASURED[0]) {
            // Processor time is absent where the clock did not move.
            for name in MEASURED {
                object.shift_remove(name);
            }
            object.extend(MEASURED.map(|name| (name.to_owned(), 1.into())));
        }
    }
    let mut value = serde_json::from_slice(json).expect("we wrote it");
    walk(&mut value);
    let mut text = serde_json::to_vec_pretty(&value).expect("it was JSON");
    text.push(b'\n');
    text
}

/// Files in a folder whose names end so, in order.
fn names(folder: &Path, end: &str) -> Vec<String> {
    let all = fs::read_dir(folder).expect("it was just written").flatten();
    let mut names: Vec<String> = all.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name.ends_with(end));
    names.sort();
    names
}

/// A run of two microseconds.
pub fn made_run() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("the directory for temporary files takes a folder");
    let directory = folder.path().join("run");
    let input = Input { file: "experiment".into(), set: Vec::new() };
    let prepared =
        prepare_text(&Registry::standard(), &input, EXPERIMENT.to_owned(), &RunOptions::default(), &Silent);
    let prepared = prepared.unwrap_or_else(|e| panic!("it is well formed: {e}"));
    let finished = execute(&prepared, &Silent).unwrap_or_else(|e| panic!("{e}"));
    let begun = Begun { started: "2000-01-01T00:00:00Z".to_owned(), inputs: Vec::new() };
    let about = manifest(&PROGRAM, &prepared, &finished, begun, "2000-01-01T00:00:01Z".to_owned());
    Target { directory: &directory, force: false }.store(&about, &finished).unwrap_or_else(|e| panic!("{e}"));
    let tables = names(&directory, ".parquet");
    tables.iter().map(|table| bundled(&directory, "summary.json", &["manifest.json", table])).collect()
}

/// A sweep of two points.
pub fn made_sweep() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("the directory for temporary files takes a folder");
    let directory = folder.path().join("sweep");
    let input = Input { file: "experiment".into(), set: Vec::new() };
    let plan = plan_of(&Registry::standard(), &input, format!("{EXPERIMENT}{SWEEP}"))
        .unwrap_or_else(|e| panic!("{}", text::of(&e)));
    let asked = Asked {
        out: &directory,
        threads: 1,
        shard: None,
        again: &[],
        options: RunOptions::default(),
        program: PROGRAM,
        signals: Arc::new(Signals::default()),
    };
    run::run(&plan, &asked, &Silent).map(drop).unwrap_or_else(|e| panic!("{e}"));
    let points = names(&directory.join("points"), ".json");
    let points: Vec<String> = points.iter().map(|name| format!("points/{name}")).collect();
    vec![bundled(&directory, "sweep.json", &points.iter().map(String::as_str).collect::<Vec<_>>())]
}
