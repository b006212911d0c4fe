//! Estimated errors of model `flow` beside the true ones, of two runs side by side.

use model::Finished;
use netloom::{
    Input, Prepared, Registry, RunOptions, Silent, estimate, execute::execute, prepare::prepare_text,
};
use results::{
    compare::{Side, Tolerances, compare},
    summary::{EstimatedError, Summary},
};

/// Sixteen hosts that everybody reaches over two spines, which packets choose by chance.
const TREE: &str = r#"
    experiment = { until = "workload-done" }
    routing = { algorithm = "nearest-common-ancestor", up = "random" }
    job = [{ workload = "bisection", message = "64 KiB", load = 1.0, count = 1 }]
    model = { kind = "flow", packet = "2 KiB", chunk = "256 B", router_delay = "90 ns" }
    [fabric]
    topology = "fat-tree"
    k = 4
    levels = 2
    link.terminal = { bandwidth = "12.5 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "16 KiB" }
    link.tree = { bandwidth = "12.5 GB/s", latency = "30 ns", credit_delay = "30 ns", vc_buffer = "16 KiB" }
"#;

fn prepared(text: &str, set: &[&str], messages: bool) -> Prepared {
    let input = Input { file: "tree".into(), set: set.iter().map(|&s| s.to_owned()).collect() };
    let options = RunOptions { messages, ..RunOptions::default() };
    prepare_text(&Registry::standard(), &input, text.to_owned(), &options, &Silent)
        .unwrap_or_else(|e| panic!("{set:?}: {e}"))
}

fn run(prepared: &Prepared) -> Finished {
    execute(prepared, &Silent).unwrap_or_else(|e| panic!("{e}"))
}

/// What is estimated, with the run that keeps no more than it was asked for.
fn estimated(set: &[&str], share: f64) -> EstimatedError {
    let prepared = prepared(TREE, set, true);
    estimate::refuse(Some(share), &prepared).expect("it is a run of flows");
    let finished = estimate::add(Some(share), &Registry::standard(), &prepared, run(&prepared), &Silent)
        .unwrap_or_else(|e| panic!("{set:?}: {e}"));
    assert!(finished.tables.iter().all(|t| t.name() != "messages"), "the experiment asks for no messages");
    let json = serde_json::from_str::<serde_json::Value>(&finished.summary.to_json()).expect("JSON");
    assert_eq!(json["estimated_error"]["against"], "packet");
    finished.summary.estimated_error.expect("it was asked for")
}

/// The error of two runs: makespan, mean with its sign and without.
fn truth(set: &[&str]) -> [f64; 3] {
    let [packet, flow] = ["packet", "flow"].map(|model| {
        let kind = format!("model.kind={model}");
        run(&prepared(TREE, &[set, &[&kind, "output.messages=true"]].concat(), false))
    });
    let table = |run: &Finished| run.tables.iter().position(|t| t.name() == "messages").expect("it is kept");
    let (a, b) = (&packet.tables[table(&packet)], &flow.tables[table(&flow)]);
    let [a, b] =
        [(&packet, a), (&flow, b)].map(|(run, table)| Side { summary: &run.summary, messages: Some(table) });
    let both = compare(a, b, &Tolerances::default());
    let messages = both.messages.expect("both kept their messages");
    let span = |s: &Summary| s.jobs[0].makespan_ps.unwrap_or(s.simulated_ps) as f64;
    [span(&flow.summary) / span(&packet.summary) - 1.0, messages.mean_signed, messages.mean]
}

/// A small run is played whole: the estimate is the error.
#[test]
fn of_a_small_run_the_error_is_the_true_one() {
    let cases: [&[&str]; 3] = [
        &[],
        &["routing.up=least-queue", "job.0.workload=random-permutation"],
        &["job.0.workload=all-to-all", "job.0.count=", "job.0.bursts=1", "job.0.message=8 KiB"],
    ];
    for set in cases {
        let (found, [makespan, signed, mean]) = (estimated(set, 0.1), truth(set));
        assert_eq!((found.windows, found.share), (0, 1.0), "{set:?}");
        assert_eq!(found.makespan, Some(makespan), "{set:?}");
        assert_eq!((found.completion_mean, found.completion_mean_absolute), (signed, mean), "{set:?}");
    }
}

/// Of a run that is too large a few windows are played: sign and size of the errors are right, and no more is played than was said.
#[test]
fn windows_come_near_the_truth() {
    let cases: [&[&str]; 2] = [
        &["job.0.message=8 MiB"],
        &["job.0.workload=uniform", "job.0.message=64 KiB", "job.0.count=120", "job.0.load=0.3"],
    ];
    for set in cases {
        let [makespan, signed, mean] = truth(set);
        let found = estimated(set, 0.2);
        assert!(found.windows > 0 && found.share <= 0.2 && found.share > 0.05, "{set:?}: {found:?}");
        assert_eq!(found, estimated(set, 0.2), "seeds alone draw windows");
        let near = |found: f64, truth: f64| (found - truth).abs() < (0.5 * truth.abs()).max(0.05);
        let all = [(found.makespan.expect("it ends"), makespan), (found.completion_mean, signed)];
        for (found, truth) in all.into_iter().chain([(found.completion_mean_absolute, mean)]) {
            assert!(near(found, truth), "{set:?}: {found} for {truth}");
        }
        // Played whole if that is allowed.
        assert_eq!(estimated(set, 1.0).makespan, Some(makespan), "{set:?}");
    }
}

#[test]
fn what_cannot_be_estimated_is_refused_by_name() {
    let cases: [(&[&str], &str); 2] = [
        (&["model.kind=packet"], "model \"packet\" has none"),
        (&["model.changes=[\"tree at 5 us = 0\"]"], "knows no `changes`"),
    ];
    for (set, why) in cases {
        let refused = estimate::refuse(Some(0.1), &prepared(TREE, set, true)).expect_err(why).to_string();
        assert!(refused.contains(why), "{refused}");
    }
    let file = "../../examples/flow-platform.toml";
    let text = std::fs::read_to_string(file).expect("an example");
    let input = Input { file: file.into(), set: Vec::new() };
    let options = RunOptions::default();
    let of_platform =
        prepare_text(&Registry::standard(), &input, text, &options, &Silent).expect("it is sound");
    let refused = estimate::refuse(Some(0.1), &of_platform).expect_err("no routers").to_string();
    assert!(refused.contains("a platform has no routers"), "{refused}");
    // Not asked for, nothing is refused.
    assert!(estimate::refuse(None, &prepared(TREE, &["model.kind=packet"], true)).is_ok());
    let cut = prepared(TREE, &["experiment.limit=1 us"], true);
    let refused = estimate::add(Some(0.1), &Registry::standard(), &cut, run(&cut), &Silent);
    assert!(refused.err().is_some_and(|e| e.to_string().contains("the run did not finish")));
}
