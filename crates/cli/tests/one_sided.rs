//! One-sided calls on every model that runs programs: closed forms, epochs without an end, what is refused, one fingerprint for all schedulers.

use crate::{common::netloom, trace_formats::runs};
use serde_json::Value as Json;
use std::fs;

/// Summaries of a program of two ranks on `delay`, `packet` and `flow`; `body` are its calls behind the making of a window.
fn summaries(body: &str) -> Vec<Json> {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("windows.ranks");
    fs::write(&file, format!("ranks 2\nall {{ win_create world as w }}\n{body}\n"))
        .expect("it can be written");
    runs(folder.path(), &file.display().to_string(), "library = \"simple\"")
}

fn makespans(body: &str) -> Vec<u64> {
    let of = |summary: &Json| {
        assert_eq!(summary["verdict"]["state"], "ok", "{body}: {summary}");
        summary["jobs"][0]["makespan_ps"].as_u64().expect("a time")
    };
    summaries(body).iter().map(of).collect()
}

/// The makespans of what follows the making of a window.
fn times(body: &str) -> Vec<u64> {
    let made = makespans("");
    makespans(body).iter().zip(made).map(|(whole, made)| whole - made).collect()
}

/// A sum of times on each model: so many empty messages one after the other, and these.
fn after(empty: u64, one: u64, more: &[Vec<u64>]) -> Vec<u64> {
    let zero = message(one);
    (0..zero.len()).map(|model| empty * zero[model] + more.iter().map(|m| m[model]).sum::<u64>()).collect()
}

/// On `flow` each message ends within a picosecond.
fn same(time: &[u64], form: &[u64], what: &str) {
    let near = time.iter().zip(form).all(|(time, form)| time.abs_diff(*form) <= 4);
    assert!(time[..2] == form[..2] && near, "{what}: {time:?}, by the form {form:?}");
}

/// The time of a message to the other rank.
fn message(bytes: u64) -> Vec<u64> {
    times(&format!("rank 0 {{ send {bytes} B to 1 }}\nrank 1 {{ recv {bytes} B from 0 }}"))
}

/// Each call that waits for an answer takes a message there and one back; what has no answer is there before what asks for it.
#[test]
fn calls_have_closed_forms() {
    let lock = |what: &str| times(&format!("rank 0 {{ win_lock w 1 shared\n{what}\nwin_unlock w 1 }}"));
    let big = || message(40_000);
    // A lock and its end ask and are answered.
    same(&lock(""), &after(4, 0, &[]), "lock");
    // So is a get, whose answer has the bytes; each waits for the one before if it is flushed.
    for flush in ["win_flush w 1", "win_flush_local w 1", "win_flush_all w"] {
        let asked = if flush.contains("local") { 0 } else { 2 };
        let get = lock(&format!("get 40000 B from 1 win w\nwin_flush_local w 1\n{flush}"));
        same(&get, &after(5 + asked, 0, &[big()]), flush);
    }
    same(&lock("get 40000 B from 1 win w as r\nwait r"), &after(5, 0, &[big()]), "lock");
    let swap = lock("compare_and_swap 40000 B to 1 win w\nwin_flush_local w 1");
    same(&swap, &after(4, 0, &[message(80_000), big()]), "swap");
    for both in ["fetch_and_op", "get_accumulate"] {
        let both = lock(&format!("{both} 40000 B to 1 win w\nwin_flush_local w 1"));
        same(&both, &after(4, 0, &[big(), big()]), "both");
    }
    // Nobody's window: nothing moves.
    same(&lock("put 1 GB to null win w"), &after(4, 0, &[]), "lock");
    // A lock of everybody is free, and so is its end if nothing was moved.
    same(&times("all { win_lock_all w\nwin_unlock_all w }"), &after(0, 0, &[]), "times");
    // Two fences are two barriers. Behind the get comes the second.
    same(&times("all { win_fence w\nwin_fence w }"), &after(2, 0, &[]), "times");
    let fenced = times("all { win_fence w }\nrank 0 { get 40000 B from 1 win w }\nall { win_fence w }");
    same(&fenced, &after(3, 0, &[big()]), "fenced");
    // A post comes before the get.
    let groups = "rank 1 { win_post w group [0]\nwin_wait w }\n\
        rank 0 { win_start w group [1]\nget 40000 B from 1 win w\nwin_complete w }";
    same(&times(groups), &after(2, 0, &[big()]), "times");
}

/// A put and an accumulate are what a send is; what comes behind them is behind their bytes.
#[test]
fn puts_are_messages() {
    for put in ["put", "accumulate"] {
        let fenced =
            format!("all {{ win_fence w }}\nrank 0 {{ {put} 40000 B to 1 win w }}\nall {{ win_fence w }}");
        let sent =
            "all { barrier }\nrank 0 { bsend 40000 B to 1 }\nrank 1 { recv 40000 B from 0 }\nall { barrier }";
        same(&times(&fenced), &times(sent), put);
        let locked = format!("rank 0 {{ win_lock w 1 exclusive\n{put} 40000 B to 1 win w\nwin_unlock w 1 }}");
        let sent = "rank 0 { bsend 0 B to 1\nrecv 0 B from 1\nbsend 40000 B to 1 tag 1\nbsend 0 B to 1\nrecv 0 B from 1 }\n\
            rank 1 { recv 0 B from 0\nbsend 0 B to 0\nrecv 40000 B from 0 tag 1\nrecv 0 B from 0\nbsend 0 B to 0 }";
        same(&times(&locked), &times(sent), put);
    }
}

#[test]
fn an_epoch_without_an_end_says_who_waits_for_whom() {
    for (body, waits) in [
        ("rank 0 {\nwin_lock w 1 shared\nput 8 B to 1 win w }", "rank 0 waits for a message from rank 1"),
        ("rank 0 {\nwin_lock_all w\nput 8 B to 1 win w }", "rank 0 waits for a message from rank 1"),
        ("all { win_fence w }\nrank 1 {\nget 8 B from 0 win w }", "rank 1 waits for a message from rank 0"),
        ("rank 0 {\nwin_post w group [1] }\n", "rank 0 waits for a message from rank 1"),
        ("rank 0 {\nwin_start w group [1] }", "rank 0 waits for a message from rank 1"),
        ("rank 1 {\nwin_post w group [0]\nwin_wait w }", "rank 1 waits for a message from rank 0"),
        ("rank 0 { win_fence w }", "rank 0 waits for a message from rank 1"),
        // Whoever locks next waits for the target, and that for who does not let go.
        (
            "rank 0 {\nwin_lock w 1 exclusive }\nrank 1 {\nrecv 0 B from 1 tag 9\nwin_lock w 1 exclusive\nwin_unlock w 1 }",
            "rank 0 waits for a message from rank 1",
        ),
    ] {
        for summary in summaries(body) {
            assert_eq!(summary["verdict"]["state"], "deadlock", "{body}: {summary}");
            assert!(summary["verdict"].to_string().contains(waits), "{body}: {summary}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("windows.ranks").display().to_string();
    for (body, reported) in [
        ("rank 0 { put 8 B to 1 win w }", "no epoch is open on the window"),
        ("rank 0 { win_unlock w 1 }", "rank 1 of the window is not locked"),
        ("rank 0 { win_lock w 1 shared\nwin_lock w 1 shared }", "rank 1 of the window is locked already"),
        ("rank 0 { win_lock w 1 shared\nwin_free w }", "within an epoch that has not ended"),
        ("rank 0 { win_flush w 1 }", "outside of a lock"),
        ("rank 0 { win_wait w }", "MPI_Win_post was not called before"),
        ("rank 0 { win_complete w }", "MPI_Win_start was not called before"),
        ("rank 0 { win_start w group [1]\nput 8 B to 0 win w }", "not in the group of MPI_Win_start"),
        ("rank 0 { win_start w group [1, 1] }", "stands twice in a group"),
        ("all { win_fence w\nput 8 B to 0 win w\nwin_post w group [0] }", "within another epoch"),
        (
            "rank 0 { win_lock w 1 exclusive\nwin_unlock w 1 }\nrank 1 { win_lock w 1 shared\nwin_unlock w 1 }",
            "locks of both kinds on one rank are not modelled",
        ),
        (
            "rank 0 { win_lock w 1 exclusive\nwin_unlock w 1 }\nrank 1 { win_lock_all w\nwin_unlock_all w }",
            "locks of both kinds on one rank are not modelled",
        ),
        ("rank 0 { win_create world as w }", "the window `w` is not freed yet"),
        ("rank 0 { win_free w\nwin_fence w }", "this rank has no window `w` here"),
        ("rank 0 { win_fence v }", "no window was called `v`"),
        ("rank 0 { put 8 B to 7 win w }", "there is no rank 7"),
    ] {
        fs::write(&file, format!("ranks 2\nall {{ win_create world as w }}\n{body}\n"))
            .expect("it can be written");
        let run = netloom(&["trace", "info", &file, "--expand", "simple"]);
        assert_ne!(run.status, 0, "{body}");
        assert!(run.err.contains(reported), "{body}: {}", run.err);
    }
}

/// All kinds of epochs, with locks that are taken in turns; ranks share nothing but what they wait for.
const ALL_KINDS: &str = "ranks 8\n\
    all { win_create world as f\nwin_create world as x\nwin_create world as s\nwin_fence f }\n\
    all { repeat 3 as i { compute (rank * 7 % 5 + i) us\nput 20 KiB to (rank + i) % size win f\n\
      get 5 KiB from (rank + 3) % size win f\nwin_fence f } }\n\
    all { win_post f group [(rank + 7) % size]\nwin_start f group [(rank + 1) % size]\n\
      accumulate 9 KiB to (rank + 1) % size win f\nwin_complete f\nwin_wait f }\n\
    all { repeat 2 as i { win_lock x i exclusive\nget_accumulate 3 KiB to i win x\ncompute rank us\nwin_unlock x i } }\n\
    all { win_lock_all s\nfetch_and_op 8 B to (rank * 3) % size win s as r\nput 64 KiB to 0 win s\nwin_flush s 0\n\
      wait r\nwin_unlock_all s\nwin_free s\nwin_free x\nwin_free f }\n";

#[test]
fn all_schedulers_give_one_fingerprint() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("all.ranks").display().to_string();
    fs::write(&file, ALL_KINDS.replace("compute rank us", "compute (rank) us")).expect("it can be written");
    for (summary, kind) in runs(folder.path(), &file, "").iter().zip(["delay", "packet", "flow"]) {
        assert_eq!(summary["verdict"]["state"], "ok", "{kind}: {summary}");
    }
    // The experiment of the last run, on the models that have partitions.
    let experiment = fs::read_to_string(folder.path().join("run.toml")).expect("it was written");
    let before = experiment.split("[model]").next().expect("it has a model");
    for model in [
        "kind = \"delay\"\ncost = \"pure\"",
        "kind = \"packet\"\npacket = \"4 KiB\"\nchunk = \"1 KiB\"\neager = \"1 GiB\"",
    ] {
        let path = folder.path().join("model.toml");
        fs::write(&path, format!("{before}[model]\n{model}\n")).expect("it can be written");
        let path = path.display().to_string();
        let print = |more: &[&str]| {
            let run = netloom(&[&["run", &path, "--format", "json"], more].concat());
            let summary: Json = serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {}", run.err));
            assert_eq!(summary["verdict"]["state"], "ok", "{model} {more:?}: {summary}");
            summary["fingerprint"].to_string()
        };
        let first = print(&["--set", "engine.scheduler=sequential"]);
        for scheduler in ["conservative", "optimistic"] {
            let set = format!("engine.scheduler={scheduler}");
            assert_eq!(
                first,
                print(&["--set", &set, "--set", "engine.partitions=4", "--threads", "2"]),
                "{model} {scheduler}"
            );
        }
    }
}

/// A rank that frees its window early does not keep its lock from those that come late.
#[test]
fn who_frees_first_keeps_no_lock() {
    let late = "all { win_create world as x }\nrank 1 { compute 50 us }\n\
        all { win_lock x 0 exclusive\nput 1 KiB to 0 win x\nwin_unlock x 0\nwin_free x }";
    assert!(makespans(late).iter().all(|&time| time > 50_000_000));
    // Nor does one that never frees it.
    let never = late.replace("\nwin_free x", "");
    assert!(makespans(&never).iter().all(|&time| time > 50_000_000));
}

/// Gets are messages there and back, and no more, however many there are.
#[test]
fn gets_are_two_messages_each() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("gets.ranks").display().to_string();
    let counted = |gets: u32| {
        let text = format!(
            "ranks 2\nall {{ win_create world as w }}\nrank 0 {{ win_lock_all w\nrepeat {gets} {{ get 8 B from 1 win w }}\n\
             win_unlock_all w }}\nall {{ win_free w }}\n"
        );
        fs::write(&file, text).expect("it can be written");
        let run = netloom(&["trace", "info", &file, "--expand", "simple", "--format", "json"]);
        let info: Json = serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {}", run.err));
        info["expanded"]["messages"]["count"].as_u64().expect("a number")
    };
    assert_eq!(counted(20_000) - counted(1), 2 * 19_999);
}
