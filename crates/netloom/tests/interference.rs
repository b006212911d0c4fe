//! Jobs together and alone. Those that share no link take what they take alone, to the last picosecond; those that share one take what their shares of
//! it say.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use netloom::{
    Error, Experiment, Input, Registry, RunOptions, Silent,
    interference::{Asked, Interference, interference, outcome::Slowed},
};
use std::{fs, path::PathBuf};

/// Two routers of two terminals each, twice; the lane between the pairs carries nothing if jobs stay on a pair.
const LINE: &str = r#"
[fabric]
topology = "parking-lot"
routers = 4
terminals_per_router = 2
link.terminal = { bandwidth = "10 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "16 KiB" }
link.lane = { bandwidth = "10 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "16 KiB" }
[routing]
algorithm = "shortest-path"
"#;

fn written(name: &str, text: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("netloom-interference-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    fs::write(&file, text).unwrap();
    file
}

fn ran(name: &str, text: &str, set: &[&str], threads: u32) -> Result<Interference, netloom::Error> {
    let set = set.iter().map(|s| (*s).to_owned()).collect();
    let input = Input { file: written(name, text), set };
    interference(&Registry::standard(), &input, &Asked { threads, options: RunOptions::default() }, &Silent)
}

fn random(model: &str) -> String {
    let job = "[[job]]\nworkload = \"uniform\"\nmessage = \"2 KiB\"\nload = 0.4\narrival = \"poisson\"\nranks = 4\n";
    format!(
        "[experiment]\nduration = \"60 us\"\nwarmup = \"5 us\"\n{LINE}{job}copies = 2\nname = \"part\"\n[model]\n{model}"
    )
}

const PACKET: &str = "kind = \"packet\"\npacket = \"1 KiB\"\nchunk = \"256 B\"\nvcs = 2\n";

/// Random traffic of two copies on the two halves of the line: every number is the same, on every model with messages.
#[test]
fn partitions_without_a_common_link_do_not_slow_each_other_down() {
    let hybrid =
        "kind = \"hybrid\"\npacket = \"1 KiB\"\nchunk = \"256 B\"\nvcs = 2\n[hybrid]\npredictor = \"mean\"\n";
    for (name, model) in [("packet", PACKET), ("flow", "kind = \"flow\"\n"), ("hybrid", hybrid)] {
        let found = ran(&format!("apart-{name}.toml"), &random(model), &[], 2).unwrap();
        assert_eq!(found.rows.iter().map(|r| r.name.as_str()).collect::<Vec<_>>(), ["part-0", "part-1"]);
        for row in &found.rows {
            assert!(row.together.latency.unwrap().messages > 100, "{name}: {row:?}");
            assert_eq!(row.slow_down, Some((Slowed::Latency, 1.0)), "{name}");
            assert_eq!(row.together, row.alone, "{name}");
        }
        assert_ne!(found.rows[0].together, found.rows[1].together, "copies have random streams of their own");
    }
}

/// The same for programs, `delay` included, with copies that start one after the other.
#[test]
fn programs_apart_do_not_slow_each_other_down() {
    let job = "[[job]]\nworkload = \"collective\"\noperation = \"alltoall\"\nvector = \"8 KiB\"\nranks = 4\ncopies = 2\nevery = \"3 us\"\nname = \"part\"\n";
    let text = |model: &str| format!("[experiment]\nuntil = \"workload-done\"\n{LINE}{job}[model]\n{model}");
    for (name, model) in [("packet", PACKET), ("flow", "kind = \"flow\"\n"), ("delay", "kind = \"delay\"\n")]
    {
        let found = ran(&format!("programs-{name}.toml"), &text(model), &[], 1).unwrap();
        let makespans: Vec<_> = found.rows.iter().map(|r| r.together.makespan_ps.unwrap()).collect();
        assert!(makespans.iter().all(|m| *m > 1_000_000), "{name}: {makespans:?}");
        for row in &found.rows {
            assert_eq!(row.slow_down, Some((Slowed::Makespan, 1.0)), "{name}");
        }
        let starts: Vec<_> =
            found.together.experiment["job"].as_array().unwrap().iter().map(|j| j["start"].clone()).collect();
        assert_eq!(starts, ["0 ps", "3 us"], "{name}");
    }
}

/// Two flows from one router to the next: each has half the lane, so `B` bytes take `2 B / bandwidth` and not `B / bandwidth` on top of the latency.
fn shared(model: &str) -> String {
    let job = |n: u32| {
        format!(
            "[[job]]\nworkload = \"bisection\"\nmessage = \"1 MB\"\nload = 0.5\ncount = 1\nranks = 2\nplacement = \"explicit\"\nterminals = [{n}, {}]\n",
            n + 2
        )
    };
    format!("[experiment]\nuntil = \"workload-done\"\n{LINE}{}{}[model]\n{model}", job(0), job(1))
}

#[test]
fn equal_flows_on_one_link_take_twice_as_long() {
    let found = ran("shared-flow.toml", &shared("kind = \"flow\"\n"), &[], 2).unwrap();
    // Three links of 20 ns and two routers of 100 ns; 1 MB at 10 GB/s takes 100 us.
    for row in &found.rows {
        let latency = 3 * 20_000 + 2 * 100_000;
        assert_eq!(row.alone.makespan_ps, Some(latency + 100_000_000));
        assert_eq!(row.together.makespan_ps, Some(latency + 200_000_000));
    }
    let free = ["fabric.link.terminal.latency=0 s", "fabric.link.lane.latency=0 s", "model.router_delay=0 s"];
    let found = ran("shared-flow.toml", &shared("kind = \"flow\"\n"), &free, 2).unwrap();
    assert!(found.rows.iter().all(|row| row.slow_down == Some((Slowed::Makespan, 2.0))), "{}", found.text());
    // Packets take turns: the last of each comes within a packet of the end.
    let found = ran("shared-packet.toml", &shared(PACKET), &[], 1).unwrap();
    for row in &found.rows {
        let (_, ratio) = row.slow_down.unwrap();
        assert!((ratio - 2.0).abs() < 0.01, "{}", found.text());
    }
}

/// The same bytes for every number of threads; the run together is that of the file, and no run for itself changes its own random numbers.
#[test]
fn threads_change_nothing() {
    let text = random(PACKET);
    let (one, four) =
        (ran("threads.toml", &text, &[], 1).unwrap(), ran("threads.toml", &text, &[], 4).unwrap());
    let plain = |found: &Interference| {
        let summaries = [&found.together].into_iter().chain(found.rows.iter().map(|r| &r.summary));
        summaries.map(|s| s.without_performance().to_json()).collect::<Vec<_>>()
    };
    assert_eq!(plain(&one), plain(&four));
    assert_eq!((one.text(), one.rows.len()), (four.text(), 2));
    let run = Experiment::from_text(text).run().unwrap();
    assert_eq!(run.summary.fingerprint, one.together.fingerprint);
    assert_ne!(one.rows[0].summary.fingerprint, one.rows[1].summary.fingerprint);
}

#[test]
fn what_has_no_interference_is_refused() {
    let said = |name: &str, text: &str, set: &[&str]| ran(name, text, set, 1).err().unwrap().to_string();
    let one = said("one.toml", &random(PACKET), &["job.0.copies="]);
    assert!(one.contains("jobs slow each other down, and") && one.contains("has 1"), "{one}");
    let congestion = "[routing]\nalgorithm = \"minimal\"\n[model]\nkind = \"congestion\"\n";
    let switch = "[experiment]\n[fabric]\ntopology = \"single-switch\"\nterminals = 8\n";
    let jobs = "[[job]]\nworkload = \"bisect\"\nranks = 4\ncopies = 2\n";
    let timeless = said("congestion.toml", &format!("{switch}{jobs}{congestion}"), &[]);
    assert!(timeless.contains("model \"congestion\" has no time"), "{timeless}");
    let every = said("every.toml", &random(PACKET), &["job.0.copies=", "job.0.every=1 us"]);
    assert!(every.contains("`every` is the time between the starts of copies"), "{every}");
    let wide = said("wide.toml", &random(PACKET), &["job.0.ranks=5"]);
    assert!(wide.contains("5 ranks"), "{wide}");
}

/// Copies that nobody could tell apart, or that would never start, are refused, each mistake once.
#[test]
fn wrong_copies_have_their_errors() {
    let said = |name: &str, text: &str, set: &[&str]| ran(name, text, set, 1).err().unwrap().to_string();
    let job =
        "[[job]]\nworkload = \"uniform\"\nmessage = \"2 KiB\"\nload = 0.4\nranks = 2\nname = \"part-1\"\n";
    let twice =
        said("twice.toml", &random(PACKET).replace("[model]", &format!("{job}[model]")), &["job.0.ranks=2"]);
    assert!(twice.contains("two jobs are called \"part-1\", one of them a copy"), "{twice}");
    let late = said("late.toml", &random(PACKET), &["job.0.every=4000000 s", "job.0.copies=3"]);
    assert!(late.contains("the last of 3 copies would start later than 2^62 ps"), "{late}");
    let none = said("none.toml", &random(PACKET), &["job.0.copies=0", "job.0.every=1 us"]);
    assert!(none.contains("copies") && !none.contains("there are none"), "{none}");
    let all = ran("all.toml", &random(PACKET), &["job.0.ranks="], 1).err().unwrap();
    let Error::Experiment(mistakes) = &all else { panic!("{all}") };
    assert!(
        mistakes.sorted()[0]
            .help
            .contains(&"give this job `ranks`: its first copy takes all terminals that are left".to_owned()),
        "{mistakes:?}"
    );
}

/// A run that its end cuts has no makespans: neither of programs, nor of traffic that was to be done.
#[test]
fn cut_runs_have_no_makespans() {
    let job = "[[job]]\nworkload = \"collective\"\noperation = \"alltoall\"\nvector = \"64 KiB\"\nranks = 4\ncopies = 2\nname = \"part\"\n";
    let text = |end: &str| format!("[experiment]\n{end}\n{LINE}{job}[model]\n{PACKET}");
    let makespans = |name: &str, end: &str| -> Vec<_> {
        let found = ran(name, &text(end), &[], 1).unwrap();
        assert!(found.rows.iter().all(|r| r.slow_down.is_none()) || end.contains("1 s"), "{end}");
        found.rows.iter().flat_map(|r| [r.together.makespan_ps, r.alone.makespan_ps]).collect()
    };
    assert!(
        makespans("whole.toml", "until = \"workload-done\"\nlimit = \"1 s\"").iter().all(Option::is_some)
    );
    for end in ["until = \"workload-done\"\nlimit = \"10 us\"", "duration = \"10 us\""] {
        assert_eq!(makespans("cut.toml", end), [None; 4], "{end}");
    }
}

/// Copies are jobs: the resolved experiment has each of them, and is the same experiment.
#[test]
fn copies_read_back_as_jobs() {
    let text = random(PACKET);
    let run = Experiment::from_text(&text).run().unwrap();
    let jobs = run.summary.experiment["job"].as_array().unwrap().clone();
    assert_eq!(jobs.len(), 2);
    assert!(jobs.iter().all(|j| j.get("copies").is_none() && j.get("every").is_none()));
    let whole = "[[job]]\nworkload = \"uniform\"\nmessage = \"2 KiB\"\nload = 0.4\narrival = \"poisson\"\nranks = 4\n";
    let written = text.replace("copies = 2\nname = \"part\"", "name = \"part-0\"");
    let written = written.replace("[model]", &format!("{whole}name = \"part-1\"\n[model]"));
    assert_eq!(Experiment::from_text(written).run().unwrap().summary.fingerprint, run.summary.fingerprint);
}
