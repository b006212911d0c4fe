//! The table of cases in docs/flow.md: makespans on `packet` and on `flow`. A few rows are made again each time; `NETLOOM_LONG=1` makes all of them,
//! and says what the table is to be where it differs.

use netloom::Experiment;
use std::fs;

/// A row: example, network, overrides of the routing and how it is called, workload, whether single paths are shown, whether it is always made.
struct Case {
    file: &'static str,
    network: &'static str,
    routing: &'static [(&'static str, &'static str)],
    called: &'static str,
    workload: &'static str,
    single: bool,
    short: bool,
}

const RANDOM: &[(&str, &str)] = &[("routing.up", "random")];
const LEAST: &[(&str, &str)] = &[("routing.up", "least-queue")];
const PROGRESSIVE: &[(&str, &str)] = &[("routing.algorithm", "progressive-adaptive")];
const VALIANT: &[(&str, &str)] = &[("routing.algorithm", "valiant")];
const UGAL_L: &[(&str, &str)] = &[("routing.algorithm", "ugal-l")];
const UGAL_G: &[(&str, &str)] = &[("routing.algorithm", "ugal-g")];
const MINIMAL: &[(&str, &str)] = &[
    ("routing.dateline", ""),
    ("routing.algorithm", "minimal-adaptive"),
    ("model.router", "window"),
    ("model.vcs", "16"),
];

const fn case(
    network: &'static str,
    routing: &'static [(&'static str, &'static str)],
    called: &'static str,
    workload: &'static str,
) -> Case {
    let file = match network.as_bytes()[0] {
        b'f' => "fat-tree",
        b'd' => "dragonfly-72",
        b't' => "torus",
        _ => "slim-fly",
    };
    Case { file, network, routing, called, workload, single: false, short: false }
}

const fn single(of: Case) -> Case {
    Case { single: true, ..of }
}

const fn short(of: Case) -> Case {
    Case { short: true, ..of }
}

const FAT: &str = "fat tree, 64";
const FLY: &str = "dragonfly, 72";
const TORUS: &str = "torus, 64";
const SLIM: &str = "slim fly, 150";

const CASES: &[Case] = &[
    short(single(case(FAT, RANDOM, "`up = \"random\"`", "bisection"))),
    case(FAT, RANDOM, "`up = \"random\"`", "permutation"),
    single(case(FAT, LEAST, "`up = \"least-queue\"`", "bisection")),
    short(case(FAT, LEAST, "`up = \"least-queue\"`", "permutation")),
    case(FAT, LEAST, "`up = \"least-queue\"`", "incast"),
    case(FAT, LEAST, "`up = \"least-queue\"`", "all-to-all"),
    single(case(FLY, VALIANT, "`valiant`", "group-shift")),
    single(case(FLY, PROGRESSIVE, "`progressive-adaptive`", "group-shift")),
    single(case(FLY, PROGRESSIVE, "`progressive-adaptive`", "permutation")),
    case(FLY, PROGRESSIVE, "`progressive-adaptive`", "all-to-all"),
    single(case(FLY, UGAL_L, "`ugal-l`", "group-shift")),
    single(case(FLY, UGAL_G, "`ugal-g`", "permutation")),
    case(TORUS, MINIMAL, "`minimal-adaptive`", "permutation"),
    short(case(TORUS, MINIMAL, "`minimal-adaptive`", "tornado")),
    case(TORUS, MINIMAL, "`minimal-adaptive`", "all-to-all"),
    case(SLIM, VALIANT, "`valiant`", "permutation"),
    case(SLIM, VALIANT, "`valiant`", "all-to-all"),
    single(case(SLIM, UGAL_L, "`ugal-l`", "permutation")),
];

/// Makespan of a case on a model, in us, with its messages over paths as said.
fn makespan(case: &Case, model: &str, paths: &str) -> f64 {
    let file = format!("../../examples/{}.toml", case.file);
    let mut experiment = Experiment::from_file(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
    let ends =
        [("experiment.duration", ""), ("experiment.warmup", ""), ("experiment.until", "workload-done")];
    let common = [("job.0.arrival", "constant"), ("job.0.load", "1.0"), ("model.kind", model)];
    let all = case.workload == "all-to-all";
    let burst = [("job.0.bursts", "1"), ("job.0.order", "random"), ("job.0.message", "16 KiB")];
    let one = [("job.0.count", "1"), ("job.0.message", "256 KiB")];
    let name = match case.workload {
        "permutation" => "random-permutation",
        other => other,
    };
    let mut set = vec![("job.0.workload", name)];
    set.extend(if case.file == "slim-fly" { &[][..] } else { &ends });
    set.extend(common.iter().chain(case.routing));
    if all {
        set.extend(burst);
        set.extend((case.file == "slim-fly").then_some(("job.0.count", "")));
    } else {
        set.extend(one);
    }
    if model == "flow" {
        set.push(("model.paths", paths));
    }
    for (key, value) in set {
        experiment = experiment.set(key, value);
    }
    let finished = experiment.run().unwrap_or_else(|e| panic!("{file}, {model}: {e}"));
    finished.summary.jobs[0].makespan_ps.unwrap_or_else(|| panic!("{file}, {model}: it ends")) as f64 / 1e6
}

/// A row of the table.
fn row(case: &Case) -> String {
    let number = |us: f64| if us < 100.0 { format!("{us:.1}") } else { format!("{us:.0}") };
    let (packet, flow) = (makespan(case, "packet", ""), makespan(case, "flow", "divided"));
    let off = (flow / packet - 1.0) * 100.0;
    let off = if off.abs() < 0.5 { "0".to_owned() } else { format!("{off:+.0} %") };
    let single = if case.single { number(makespan(case, "flow", "single")) } else { String::new() };
    let workload = if case.workload == "incast" { "incast (all to one)" } else { case.workload };
    let row = format!(
        "| {} | {} | {workload} | {} | {} | {off} | {single} |",
        case.network,
        case.called,
        number(packet),
        number(flow)
    );
    row.replace("  |", " |").replace("group-shift", "group shift")
}

#[test]
fn the_page_has_the_makespans_of_both_models() {
    let page = fs::read_to_string("../../docs/flow.md").expect("the page");
    let long = std::env::var_os("NETLOOM_LONG").is_some();
    let rows: Vec<String> = CASES.iter().filter(|case| long || case.short).map(row).collect();
    let wrong: Vec<&String> =
        rows.iter().filter(|row| !page.lines().any(|line| line == row.as_str())).collect();
    assert!(wrong.is_empty(), "the table of docs/flow.md is to have these rows:\n{}", rows.join("\n"));
}
