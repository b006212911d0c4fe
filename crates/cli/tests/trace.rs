//! `netloom trace`, from the outside.

use crate::common::netloom;
use insta::assert_snapshot;
use serde_json::Value as Json;
use std::{fs, path::Path};

const GOAL: &str = "tests/traces/small.goal";
const RANKS: &str = "tests/traces/small.ranks";
const EXAMPLE: &str = "../../examples/programs/tree-dissemination-16.goal";

fn good(arguments: &[&str]) -> String {
    let run = netloom(arguments);
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{arguments:?}");
    run.out
}

fn json(arguments: &[&str]) -> Json {
    serde_json::from_str(&good(&[arguments, &["--format", "json"]].concat())).expect("one JSON value")
}

#[test]
fn info_tells_what_is_in_a_file() {
    assert_snapshot!("trace-info-goal", good(&["trace", "info", GOAL]));
    assert_snapshot!("trace-info-ranks", good(&["trace", "info", RANKS]));
    let info = json(&["trace", "info", GOAL, "--unit", "1 us"]);
    assert_eq!(info["format"], "goal");
    assert_eq!(info["messages"]["bytes"], 1124);
    assert_eq!(info["compute_ps"]["max"], 2_500_000_000_000u64);
    assert_eq!(info["matching"], "exact");
    assert_eq!(json(&["trace", "info", RANKS])["collectives"]["bcast"]["bytes"], 4 << 20);
    // Three children have the broadcast from somebody, whatever the tree; all ranks exchange in two rounds of the sum.
    let expanded = &json(&["trace", "info", RANKS, "--expand", "simple"])["expanded"];
    assert_eq!(expanded["library"], "simple");
    assert_eq!(expanded["collectives"]["MPI_Bcast"]["messages"], 3);
    assert_eq!(expanded["collectives"]["MPI_Bcast"]["bytes"], 3 << 20);
    let sum = expanded["collectives"]["MPI_Allreduce"]["messages"].as_u64().expect("a number");
    assert_eq!(expanded["messages"]["count"], 8 + 3 + sum);
    assert!(good(&["trace", "info", RANKS, "--expand"]).contains("expanded    as openmpi: "));
}

#[test]
fn print_shows_operations() {
    assert_snapshot!("trace-print-goal", good(&["trace", "print", GOAL, "--ranks", "0-1,2", "--count", "2"]));
    assert_snapshot!("trace-print-ranks", good(&["trace", "print", RANKS, "--ranks", "3"]));
    let rows = json(&["trace", "print", GOAL]);
    assert_eq!(rows[0]["operations"][2]["after"][0]["started"], true);
    assert_eq!(rows[0]["complete"], true);
    let calls = json(&["trace", "print", RANKS, "--count", "1"]);
    assert_eq!(calls[0]["operations"][0]["call"], "irecv 8 KiB from 3 as r0");
    assert_eq!(calls[0]["complete"], false);
    let window = json(&["trace", "print", RANKS, "--from", "2", "--count", "2"]);
    let numbers: Vec<&Json> =
        window[0]["operations"].as_array().expect("rows").iter().map(|row| &row["number"]).collect();
    assert_eq!(numbers, [&Json::from(2), &Json::from(3)]);
    let all = json(&["trace", "print", GOAL]);
    let last = json(&["trace", "print", GOAL, "--from", "1"]);
    assert_eq!(all[0]["operations"][1], last[0]["operations"][0]);
    // What lies before a window is not shown, so the rank is not whole.
    assert_eq!((&last[0]["complete"], &last[0]["total"]), (&Json::from(false), &all[0]["total"]));
    assert_eq!(all[0]["total"].as_u64(), Some(all[0]["operations"].as_array().expect("rows").len() as u64));
    let beyond = json(&["trace", "print", GOAL, "--from", "99"]);
    assert_eq!((&beyond[0]["complete"], &beyond[0]["total"]), (&Json::from(false), &all[0]["total"]));
    let reported = good(&["trace", "print", GOAL, "--from", "99"]);
    assert_eq!(reported, format!("rank 0\n  nothing from 99 on: there are {}, from 0\n", all[0]["total"]));
    assert!(good(&["trace", "print", RANKS, "--from", "1"]).starts_with("rank 0\n  ..\n"));
}

#[test]
fn every_example_is_sound() {
    for entry in fs::read_dir("../../examples/programs").expect("examples") {
        let path = entry.expect("an entry").path();
        let info = json(&["trace", "info", path.to_str().expect("text")]);
        assert_eq!(info["matching"], "exact", "{}", path.display());
    }
}

#[test]
fn parts_and_copies_of_a_program() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let convert = |arguments: &[&str]| netloom(&[&["trace", "convert"], arguments].concat());
    let info = |name: &str| json(&["trace", "info", &path(name)]);
    // Two rounds of four messages, then an allreduce and a broadcast of all ranks.
    let whole = convert(&[RANKS, &path("whole.ranks"), "--ranks", "12"]);
    assert_eq!((whole.status, whole.err.as_str()), (0, ""));
    let whole = info("whole.ranks");
    assert_eq!(
        (&whole["ranks"], &whole["messages"]["count"], &whole["matching"]),
        (&12.into(), &24.into(), &"exact".into())
    );
    let before = convert(&[RANKS, &path("before.ranks"), "--collectives", "1"]);
    assert_eq!((before.status, before.err.as_str()), (0, ""));
    assert_eq!(
        (&info("before.ranks")["messages"]["count"], info("before.ranks")["collectives"].get("bcast")),
        (&8.into(), None)
    );
    assert_eq!(convert(&[RANKS, &path("behind.ranks"), "--after", "1"]).status, 0);
    let behind = info("behind.ranks");
    assert_eq!(
        (&behind["messages"]["count"], &behind["collectives"]["bcast"]["bytes"]),
        (&0.into(), &(4 << 20).into())
    );
    // A message that is received behind the barrier has no place before it.
    fs::write(
        path("across.ranks"),
        "ranks 2\nrank 0 {\nisend 8 B to 1 as a\nbarrier\nwait a\n}\nrank 1 {\nbarrier\nrecv 8 B from 0\n}\n",
    )
    .expect("a file");
    let cut = convert(&[&path("across.ranks"), &path("cut.ranks"), "--collectives", "1"]);
    assert_eq!(cut.status, 0, "{}", cut.err);
    assert_eq!(cut.err, "note: messages that cross the part's end were left out: 1\n");
    assert_eq!(
        (&info("cut.ranks")["messages"]["count"], &info("cut.ranks")["matching"]),
        (&0.into(), &"exact".into())
    );
    for (arguments, status, reported) in [
        ([RANKS, "--ranks=6"], 2, "a program of 4 ranks has no copies on 6 ranks"),
        ([RANKS, "--after=3"], 4, "rank 0 calls 2 collectives of all ranks, not 3"),
        ([EXAMPLE, "--after=1"], 2, "a graph of operations has no collectives"),
        ([RANKS, "--collectives=0"], 2, "0 is not in 1.."),
    ] {
        let run = convert(&[arguments[0], &path("no.ranks"), arguments[1]]);
        assert_eq!((run.status, run.out.as_str()), (status, ""), "{arguments:?}: {}", run.err);
        assert!(run.err.contains(reported), "{arguments:?}: {}", run.err);
        assert!(!Path::new(&path("no.ranks")).exists());
    }
}

#[test]
fn conversions_there_and_back() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let convert = |from: &str, to: &str| good(&["trace", "convert", from, to]);
    let said = convert(EXAMPLE, &path("a.bin"));
    assert!(said.ends_with("a.bin: 16 ranks, goal-binary\n"), "{said}");
    convert(&path("a.bin"), &path("b.goal.gz"));
    convert(&path("b.goal.gz"), &path("c.goal"));
    convert(&path("c.goal"), &path("d.bin"));
    let bytes = |name: &str| fs::read(path(name)).expect("it was written");
    assert_eq!(bytes("a.bin"), bytes("d.bin"));
    assert!(bytes("b.goal.gz").starts_with(&[0x1f, 0x8b]));
    let count = |file: &str| json(&["trace", "info", file])["operations"].clone();
    assert_eq!(count(EXAMPLE), count(&path("c.goal")));
    convert(RANKS, &path("e.ranks"));
    convert(&path("e.ranks"), &path("f.ranks"));
    let calls = |file: &str| {
        let mut rows = json(&["trace", "print", file, "--ranks", "0-3", "--count", "99"]);
        for row in rows
            .as_array_mut()
            .expect("ranks")
            .iter_mut()
            .flat_map(|r| r["operations"].as_array_mut().expect("calls"))
        {
            row["place"].take();
        }
        rows
    };
    assert_eq!(calls(&path("e.ranks")), calls(&path("f.ranks")));
    for library in ["simple", "openmpi", "mpich", "smpi", "smpi-ompi"] {
        let lowered = path(&format!("{library}.goal"));
        let run = netloom(&["trace", "convert", RANKS, &lowered, "--library", library]);
        assert_eq!(run.status, 0, "{}", run.err);
        let info = json(&["trace", "info", &lowered]);
        assert_eq!((&info["ranks"], &info["matching"]), (&Json::from(4), &Json::from("exact")));
        assert!(info["messages"]["bytes"].as_u64().expect("bytes") >= 8 * 8192 + 3 * (1 << 20), "{info}");
    }
    let finer = netloom(&["trace", "convert", GOAL, &path("g.goal"), "--unit", "1 ps"]);
    assert_eq!(finer.status, 0);

    for (arguments, status, reported) in [
        ([EXAMPLE, &path("a.bin"), "--to=goal-binary"], 7, "exists already"),
        ([EXAMPLE, &path("a.txt"), "--force"], 2, "does not show the format"),
        ([EXAMPLE, &path("a.otf2"), "--force"], 2, "has no recorded times"),
        ([EXAMPLE, &path("a.bin.gz"), "--force"], 2, "is not packed"),
        ([EXAMPLE, &path("a.ranks"), "--force"], 2, "cannot be written as MPI calls"),
        ([RANKS, &path("x.goal"), "--library=opnmpi"], 2, "did you mean `openmpi`?"),
        ([EXAMPLE, "no/such/folder/x.goal", "--force"], 7, "cannot write"),
        ([EXAMPLE, &path("a.bin"), "--to=gaol"], 2, "there are goal, goal-binary, ranks"),
        (["tests/traces/none", &path("y.goal"), "--force"], 4, "cannot be read"),
    ] {
        let run = netloom(&[&["trace", "convert"][..], &arguments].concat());
        assert_eq!((run.status, run.out.as_str()), (status, ""), "{arguments:?}: {}", run.err);
        assert!(run.err.contains(reported), "{arguments:?}: {}", run.err);
    }
    let left: Vec<_> =
        fs::read_dir(folder.path()).expect("a directory").flatten().map(|e| e.path()).collect();
    assert!(left.iter().all(|p| p.extension() != Some("part".as_ref())), "{left:?}");
    assert!(!Path::new(&path("x.goal")).exists());
}

#[test]
fn mistakes_are_reported_with_their_lines() {
    for name in ["goal", "ranks"] {
        let run = netloom(&["trace", "info", &format!("tests/traces/wrong.{name}")]);
        assert_eq!((run.status, run.out.as_str()), (4, ""));
        assert_snapshot!(format!("trace-wrong-{name}"), run.err);
    }
    for (arguments, status, reported) in [
        (&["trace", "print", GOAL, "--ranks", "2-3"][..], 2, "there is no rank 3"),
        (&["trace", "print", GOAL, "--ranks", "3-2"], 2, "write ranks as 0-3,7"),
        (&["trace", "info", GOAL, "--unit", "0 ns"], 2, "needs some time"),
        (&["resilient", "--fit", "x", "--error", "nan"], 2, "above 0"),
        (&["resilient", "--fit", "x", "--error", "0"], 2, "above 0"),
        (&["resilient", "--fit", "x", "--error=-1"], 2, "above 0"),
        (&["resilient", "--fit", "x", "--most-loss", "1"], 2, "below 1"),
        (&["trace", "info", GOAL, "--unit", "5"], 2, "no unit"),
        (&["trace", "info", GOAL, "--expand"], 2, "nothing to expand"),
        (&["trace", "info", RANKS, "--expand", "none"], 2, "none"),
        (&["trace", "info", "Cargo.toml"], 4, "no program of ranks in a known format"),
        (&["trace", "info", "tests"], 4, "cannot be read"),
        (&["trace"], 2, "Usage"),
    ] {
        let run = netloom(arguments);
        assert_eq!((run.status, run.out.as_str()), (status, ""), "{arguments:?}: {}", run.err);
        assert!(run.err.contains(reported), "{arguments:?}: {}", run.err);
    }
}

/// Groups of ranks that share a terminal are placed by the messages between them, and keys that a cost does not read are refused.
#[test]
fn groups_of_ranks_are_placed_by_their_messages() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("run.toml").display().to_string();
    // Ranks 4 apart write to each other, and groups of two ranks are 2 apart.
    let calls = "ranks 8\nall {\nirecv 8 B from (rank + 4) % 8 as r\nsend 8 B to (rank + 4) % 8\nwait r\n}\n";
    fs::write(folder.path().join("far.ranks"), calls).expect("it can be written");
    let run = |placement: &str, more: &str| {
        let text = format!(
            "[experiment]\nname = \"groups\"\nseed = 1\nuntil = \"workload-done\"\n[fabric]\ntopology = \"mesh\"\ndims = [4]\nterminals_per_router = 1\n\
             link.terminal = {{ bandwidth = \"9 GB/s\", latency = \"100 ns\", credit_delay = \"100 ns\", vc_buffer = \"16 KiB\" }}\n\
             link.local = {{ bandwidth = \"9 GB/s\", latency = \"1 us\", credit_delay = \"1 us\", vc_buffer = \"16 KiB\" }}\n\
             [routing]\nalgorithm = \"dimension-order\"\n[[job]]\nworkload = \"trace\"\nfile = \"far.ranks\"\nranks_per_terminal = 2\n\
             placement = \"{placement}\"\n[model]\nkind = \"delay\"\ncost = \"pure\"\nlatency = \"1 ns\"\nhop_latency = \"1 us\"\n{more}\n"
        );
        fs::write(&file, text).expect("it can be written");
        netloom(&["run", &file, "--format", "json"])
    };
    for (placement, ps) in [("linear", 2_001_000), ("min-manhattan", 1_001_000), ("least-hops", 1_001_000)] {
        let run = run(placement, "");
        assert_eq!(run.status, 0, "{placement}: {}", run.err);
        let summary: Json = serde_json::from_str(&run.out).expect("a summary");
        assert_eq!(summary["jobs"][0]["makespan_ps"], ps, "{placement}");
    }
    for (key, more) in [
        ("fit", "fit = \"nosuch.txt\""),
        ("evaluate", "evaluate = \"fit\""),
        ("class_loss", "class_loss = [\"local=0.1\"]"),
    ] {
        let run = run("linear", more);
        assert_eq!(run.status, 3, "{more}: {}", run.err);
        assert!(run.err.contains(&format!("`{key}` has no effect with `cost = \"pure\"`")), "{}", run.err);
    }
}

/// What latencies of a network are made of says nothing without one.
#[test]
fn parts_of_a_latency_have_no_effect_without_a_network() {
    let check = |set: &str| netloom(&["check", "../../examples/sweep3d-loggops.toml", "--set", set]).err;
    for key in ["router_delay='5 ns'", "chunk='1 KiB'", "control='8 B'"] {
        let (name, _) = key.split_once('=').expect("a key");
        let noted = format!("`{name}` of [model] has no effect: there is no [fabric]");
        assert!(check(&format!("model.{key}")).contains(&noted), "{}", check(&format!("model.{key}")));
    }
}

/// Archives of Score-P, recorded on real machines, replay under both models with every message delivered.
#[test]
fn archives_replay_on_delay_and_packet() {
    let data = std::env::var_os("NETLOOM_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), Into::into);
    for (packed, anchor, ranks, messages) in [
        ("tracer-stencil4d-otf2.tar.gz", "traces-32/traces.otf2", 32, 992),
        ("pipit-pingpong-otf2.tar.gz", "ping-pong-otf2/traces.otf2", 2, 16),
        ("pipit-pingpong-otf2.tar.gz", "ping-pong-otf2-papi/traces.otf2", 2, 16),
    ] {
        let file = data.join("traces").join(packed);
        if !file.exists() {
            eprintln!("SKIPPED: {} is missing", file.display());
            continue;
        }
        let folder = tempfile::tempdir().expect("a directory");
        let unpacked =
            std::process::Command::new("tar").arg("xzf").arg(&file).arg("-C").arg(folder.path()).status();
        assert!(unpacked.expect("tar runs").success());
        for model in [
            "kind = \"delay\"\ncost = \"resilient\"\nsamples = 64",
            "kind = \"packet\"\npacket = \"64 KiB\"\nchunk = \"64 KiB\"\neager = \"1 GiB\"",
        ] {
            let experiment = format!(
                "[experiment]\nname = \"archive\"\nseed = 1\nuntil = \"workload-done\"\n\
                 [fabric]\ntopology = \"mesh\"\ndims = [4, 4, 2]\nterminals_per_router = 1\n\
                 link.terminal = {{ bandwidth = \"9 GB/s\", latency = \"100 ns\", credit_delay = \"100 ns\", vc_buffer = \"256 KiB\" }}\n\
                 link.local = {{ bandwidth = \"9 GB/s\", latency = \"1 us\", credit_delay = \"1 us\", vc_buffer = \"256 KiB\" }}\n\
                 [routing]\nalgorithm = \"dimension-order\"\n\
                 [[job]]\nworkload = \"trace\"\nfile = \"{anchor}\"\nplacement = \"linear\"\n[model]\n{model}\n"
            );
            let path = folder.path().join("run.toml");
            fs::write(&path, experiment).expect("it can be written");
            let summary = json(&["run", &path.display().to_string()]);
            assert_eq!(summary["verdict"]["state"], "ok", "{anchor} {model}: {summary}");
            assert_eq!(summary["jobs"][0]["ranks"], ranks);
            let counts = &summary["messages"];
            assert_eq!(counts["injected"], counts["delivered"]);
            // Messages of collectives included.
            assert_eq!(counts["delivered"], messages, "{anchor} {model}");
        }
    }
}

/// Fits are made by one command and taken by a run; what they do not cover is reported with its key.
#[test]
fn fits_take_the_place_of_samples() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let made = good(&[
        "resilient",
        "--protocol",
        "pnc",
        "--hops",
        "1-4",
        "--fit",
        &path("fits.txt"),
        "--most-loss",
        "0.02",
        "--steps",
        "4",
        "--samples",
        "200",
        "--error",
        "1",
    ]);
    assert_eq!(made.lines().count(), 5, "{made}");
    let again = netloom(&["resilient", "--protocol", "pnc", "--hops", "1", "--fit", &path("fits.txt")]);
    assert!(again.status == 7 && !folder.path().join("fits.txt.part").exists());
    let experiment = |dims: &str, more: &str| {
        format!(
            "[experiment]\nname = \"fit\"\nseed = 1\nuntil = \"workload-done\"\n[fabric]\ntopology = \"mesh\"\ndims = {dims}\nterminals_per_router = 1\n\
             link.terminal = {{ bandwidth = \"9 GB/s\", latency = \"100 ns\", credit_delay = \"100 ns\", vc_buffer = \"16 KiB\" }}\n\
             link.local = {{ bandwidth = \"9 GB/s\", latency = \"1 us\", credit_delay = \"1 us\", vc_buffer = \"16 KiB\" }}\n\
             [routing]\nalgorithm = \"dimension-order\"\n[[job]]\nworkload = \"nas-lu\"\nclass = \"S\"\nranks = 4\niterations = 1\nplacement = \"linear\"\n\
             [model]\nkind = \"delay\"\ncost = \"resilient\"\nprotocol = \"pnc\"\nevaluate = \"fit\"\n{more}\n[output]\nmessages = true\n"
        )
    };
    let file = path("run.toml");
    let run = |dims: &str, more: &str| {
        fs::write(&file, experiment(dims, more)).expect("it can be written");
        netloom(&["run", &file, "--format", "json"])
    };
    let fine = run("[3, 2]", "fit = \"fits.txt\"");
    assert_eq!(fine.status, 0, "{}", fine.err);
    let text = experiment("[3, 2]", "fit = \"fits.txt\"").replace("evaluate = \"fit\"\n", "");
    fs::write(&file, text).expect("it can be written");
    assert!(netloom(&["check", &file]).err.contains("`fit` has no effect with `evaluate = \"samples\"`"));
    for (dims, more, reported) in [
        ("[3, 2]", "", "needs a file of fits"),
        ("[3, 2]", "fit = \"none.txt\"", "cannot be read"),
        ("[3, 2]", "fit = \"run.toml\"", "a file of fits begins with"),
        ("[3, 2]", "fit = \"fits.txt\"\nloss = 0.03", "outside of what was fitted"),
        ("[3, 2]", "fit = \"fits.txt\"\nwindow = 6", "1 to 5 packets were fitted"),
        (
            "[3, 2]",
            "fit = \"fits.txt\"\noccupancy = \"wire\"",
            "of other parameters: occupancy=hop (here wire)",
        ),
        ("[4, 3]", "fit = \"fits.txt\"", "no fit of 5 hops, only of 1 to 4"),
    ] {
        let run = run(dims, more);
        assert_ne!(run.status, 0, "{more}");
        assert!(run.err.contains(reported), "{more}: {}", run.err);
        assert!(
            !more.contains("fits.txt") || run.err.contains("fits.txt: "),
            "the file is named: {}",
            run.err
        );
    }
}
