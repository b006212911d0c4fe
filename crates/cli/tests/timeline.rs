//! Time lines of rank programs as browsers show them, beside the tables they are made of: programs of every kind on every model that has time.

use crate::common::netloom;
use base::sorted::{SortedMap, SortedSet};
use serde_json::Value as Json;
use std::{fs, path::Path};

const FILE: &str = r#"
[experiment]
name = "lines"
until = "workload-done"
[fabric]
topology = "fat-tree"
k = 4
levels = 2
link.terminal = { bandwidth = "12.5 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "16 KiB" }
link.tree = { bandwidth = "12.5 GB/s", latency = "30 ns", credit_delay = "30 ns", vc_buffer = "16 KiB" }
[routing]
algorithm = "d-mod-k"
JOBS
[model]
kind = "packet"
packet = "2 KiB"
chunk = "256 B"
eager = "4 KiB"
overhead = "200 ns"
[output]
operations = true
csv = true
report = false
"#;

/// Requests, messages to oneself, receives from anybody with any tag, a probe, large messages, persistent requests, collectives that go on beside others.
const REQUESTS: &str = r#"ranks 4
all {
  repeat 3 as step {
    irecv 16 KiB from (rank - 1) % size tag step as in
    irecv 1 KiB from rank tag 77 as own
    isend 16 KiB to (rank + 1) % size tag step as out
    isend 1 KiB to rank tag 77
    iallreduce 8 B as sum
    compute 3 us
    wait own
    compute 500 ns
    waitall
    barrier
  }
}
rank 0 {
  recv 64 B from any tag any
  probe 64 B from 2 tag 9
  recv 64 B from any tag any
}
rank 1-2 {
  compute (rank * 2) us
  send 64 B to 0 tag (7 + rank)
}
rank 3 {
  recv_init 2 KiB from null as nobody
  send_init 1 KiB to rank tag 5 as mine
  irecv 1 KiB from rank tag 5 as back
  start mine
  waitall mine back
}
"#;

const JOBS: [(&str, &str); 5] = [
    (
        "halo",
        r#"[[job]]
workload = "conjugate-gradient"
ranks = 16
dims = [4, 2, 2]
face_bytes = "6 KiB"
periodic = true
iterations = 3
compute_time = "5 us""#,
    ),
    (
        "all-reduce",
        r#"[[job]]
workload = "collective"
operation = "allreduce"
vector = "16 KiB"
iterations = 2
ranks = 16"#,
    ),
    (
        "requests",
        r#"[[job]]
workload = "trace"
file = "requests.ranks"
ranks_per_terminal = 2"#,
    ),
    (
        "jobs",
        r#"[[job]]
name = 'silent "one"'
workload = "trace"
file = "silent.ranks"
[[job]]
name = "späte\u001b[2J"
workload = "trace"
file = "requests.ranks"
start = "7 us"
[[job]]
name = "third"
workload = "trace"
file = "graph.goal"
placement = "linear""#,
    ),
    (
        "lots",
        r#"[[job]]
workload = "trace"
file = "lots.ranks""#,
    ),
];

/// Operations of two processors of a rank at a time.
const GRAPH: &str = "num_ranks 2\nrank 0 {\na: calc 4000 cpu 0\nb: calc 3000 cpu 1\nc: send 100b to 1 tag 3\nc requires a\n}\n\
    rank 1 {\na: recv 100b from 0 tag 3\nb: calc 10\nb irequires a\n}\n";

/// A table by columns.
struct Table(SortedMap<String, Vec<String>>);

impl Table {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a table");
        let mut lines = text.lines().map(fields);
        let names = lines.next().expect("a head");
        let mut columns: SortedMap<String, Vec<String>> =
            names.iter().map(|n| (n.clone(), Vec::new())).collect();
        for line in lines {
            for (name, value) in names.iter().zip(line) {
                columns.get_mut(name).expect("a column").push(value);
            }
        }
        Self(columns)
    }

    fn rows(&self) -> usize {
        self.0["job"].len()
    }

    fn text(&self, column: &str, row: usize) -> &str {
        &self.0[column][row]
    }

    fn number(&self, column: &str, row: usize) -> Option<u64> {
        self.0[column][row].parse().ok()
    }
}

/// Fields of a line of CSV.
fn fields(line: &str) -> Vec<String> {
    let (mut all, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => field.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    all.push(field);
    all
}

/// Microseconds with six digits behind the point, as they are written, in picoseconds.
fn picoseconds(text: &str) -> u64 {
    let (whole, part) = text.split_once('.').expect("a point");
    assert_eq!(part.len(), 6, "{text}");
    whole.parse::<u64>().expect("digits") * 1_000_000 + part.parse::<u64>().expect("digits")
}

/// A bar, and the arrows that begin and end in it.
#[derive(Clone, Debug, Default)]
struct Bar {
    name: String,
    thread: String,
    start: u64,
    end: u64,
    args: Json,
    sent: Vec<u64>,
    received: Vec<u64>,
}

/// Reads a time line as Perfetto does: events by instants cut to nanoseconds, those of an instant in the order of the file; arrows bind to the bar that is open.
struct Reader {
    names: SortedMap<(u64, u64), String>,
    processes: SortedMap<u64, String>,
    open: SortedMap<(u64, u64), Vec<Bar>>,
    bars: Vec<(u64, Bar)>,
    /// Instants: thread and name.
    marks: Vec<(String, String, u64)>,
    begun: SortedSet<u64>,
    ended: SortedSet<u64>,
}

impl Reader {
    fn read(text: &str) -> Self {
        let all: Json = serde_json::from_str(text).expect("JSON");
        let events = all["traceEvents"].as_array().expect("events");
        let lines: Vec<&str> = text.lines().filter(|l| l.starts_with("{\"ph\"")).collect();
        assert_eq!(lines.len(), events.len(), "an event on each line");
        let at = |line: &str| {
            let rest = line.split_once("\"ts\":")?.1;
            Some(picoseconds(&rest[..rest.find(|c: char| c != '.' && !c.is_ascii_digit())?]))
        };
        let mut timed: Vec<(u64, &Json)> =
            lines.iter().zip(events).map(|(l, e)| (at(l).unwrap_or(0), e)).collect();
        assert!(timed.is_sorted_by_key(|t| t.0), "events come by time");
        timed.sort_by_key(|t| t.0 / 1000);
        let (names, processes, open, bars, marks) = Default::default();
        let mut reader =
            Self { names, processes, open, bars, marks, begun: SortedSet::new(), ended: SortedSet::new() };
        timed.iter().for_each(|&(at, event)| reader.event(at, event));
        assert!(reader.open.values().all(Vec::is_empty), "bars without an end: {:?}", reader.open);
        assert_eq!(reader.begun, reader.ended, "each arrow has two ends");
        reader
    }

    /// The bar that is open.
    fn bar(&mut self, thread: (u64, u64)) -> &mut Bar {
        self.open.get_mut(&thread).and_then(|open| open.last_mut()).expect("arrows begin and end in bars")
    }

    fn event(&mut self, at: u64, event: &Json) {
        let number = |key: &str| event[key].as_u64();
        let text = |value: &Json| value.as_str().expect("a text").to_owned();
        let pid = number("pid").filter(|&pid| pid > 0).expect("a process");
        let thread = (pid, number("tid").unwrap_or(0));
        match (event["ph"].as_str(), event["name"].as_str()) {
            (Some("M"), Some("process_name")) => {
                _ = self.processes.insert(pid, text(&event["args"]["name"]));
            }
            (Some("M"), Some("thread_name")) => {
                let twice = self.names.insert(thread, text(&event["args"]["name"]));
                assert!(twice.is_none() && thread.1 > 0, "a thread is named once");
            }
            (Some("M"), _) => assert_eq!(event["args"]["sort_index"].as_u64(), Some(thread.1)),
            (Some("B"), Some(name)) => {
                let own = self.names.get(&thread).expect("a named thread").clone();
                let bar = Bar {
                    name: name.into(),
                    thread: own,
                    start: at,
                    args: event["args"].clone(),
                    ..Bar::default()
                };
                let open = self.open.entry(thread).or_default();
                assert!(
                    open.is_empty() || bar.thread.ends_with(", regions"),
                    "bars of a thread follow each other"
                );
                open.push(bar);
            }
            (Some("E"), _) => {
                let mut bar = self.open.entry(thread).or_default().pop().expect("a bar is open");
                bar.end = at;
                assert!(bar.start <= at, "a bar ends after its beginning");
                self.bars.push((pid, bar));
            }
            (Some("i"), Some(name)) => {
                assert_eq!(event["s"], "t");
                self.marks.push((self.names[&thread].clone(), name.into(), at));
            }
            (Some("s"), _) => {
                let id = number("id").expect("a message");
                assert!(self.begun.insert(id), "an arrow begins once");
                self.bar(thread).sent.push(id);
            }
            (Some("f"), _) => {
                let id = number("id").expect("a message");
                assert!(
                    self.begun.contains(&id) && self.ended.insert(id),
                    "an arrow ends once, after its beginning"
                );
                assert_eq!(event["bp"], "e");
                self.bar(thread).received.push(id);
            }
            other => panic!("an unknown event {other:?}"),
        }
    }
}

/// Runs a file and compares the time line with the tables; number of arrows, summary.
fn compare(directory: &Path, jobs: &str, sets: &[&str]) -> (usize, Json) {
    let file = directory.join("lines.toml");
    fs::write(&file, FILE.replace("JOBS", jobs)).expect("a file");
    let out = directory.join("out");
    let (file, to) = (file.to_string_lossy().into_owned(), out.to_string_lossy().into_owned());
    let mut arguments = vec!["run", &file, "--out", &to, "--force", "--format", "json"];
    sets.iter().for_each(|set| arguments.extend(["--set", set]));
    let run = netloom(&arguments);
    let summary: Json = serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{sets:?}: {}", run.err));
    let operations = Table::read(&out.join("operations.csv"));
    let transfers = Table::read(&out.join("transfers.csv"));
    let line = Reader::read(&fs::read_to_string(out.join("timeline.json")).expect("a time line"));
    let mut bars: SortedMap<(String, u64, u64), &Bar> = SortedMap::new();
    let mut mains = SortedSet::new();
    for (pid, bar) in &line.bars {
        if bar.thread == "critical path" || bar.thread.ends_with(", regions") {
            continue;
        }
        let rank = bar.thread.strip_prefix("rank ").expect("a rank's thread");
        let rank = rank.split(',').next().and_then(|r| r.parse::<u64>().ok()).expect("a rank");
        if !bar.thread.contains(',') {
            mains.insert((pid, rank));
        }
        let number = bar.args["operation"].as_u64().expect("a number");
        // Tables show what acts on a terminal as a code.
        let job = line.processes[pid].replace('\u{1b}', "\\u001b");
        let twice = bars.insert((job, rank, number), bar);
        assert!(twice.is_none(), "an operation has one bar");
    }
    assert_eq!(bars.len(), operations.rows(), "{sets:?}: a bar for each operation");
    for row in 0..operations.rows() {
        let number = |column: &str| operations.number(column, row);
        let key = (
            operations.text("job", row).to_owned(),
            number("rank").expect("a rank"),
            number("operation").expect("a number"),
        );
        let bar = bars.get(&key).unwrap_or_else(|| panic!("{key:?}"));
        assert_eq!((Some(bar.start), Some(bar.end)), (number("start_ps"), number("end_ps")));
        let (call, kind) = (operations.text("call", row), operations.text("kind", row));
        assert_eq!(bar.name, if call.is_empty() { kind } else { call });
        assert_eq!(bar.args["kind"], kind);
        assert_eq!((bar.args["peer"].as_u64(), bar.args["tag"].as_u64()), (number("peer"), number("tag")));
        if matches!(kind, "send" | "recv") {
            assert!(bar.args["tag"].is_u64() && bar.args["peer"].is_u64(), "{sets:?}: {key:?} {bar:?}");
            assert_eq!(bar.args["bytes"].as_u64(), number("bytes"));
        }
    }
    let arrows = check_arrows(&line, &transfers, &bars);
    (arrows, summary)
}

/// Each message whose send and receive are over has an arrow between their bars.
fn check_arrows(line: &Reader, transfers: &Table, bars: &SortedMap<(String, u64, u64), &Bar>) -> usize {
    let mut arrows = 0;
    for row in 0..transfers.rows() {
        let bar = |rank: &str, number: &str| {
            let key = (transfers.number(rank, row)?, transfers.number(number, row)?);
            bars.get(&(transfers.text("job", row).to_owned(), key.0, key.1))
        };
        let (Some(send), Some(receive)) = (bar("source", "operation"), bar("destination", "receive")) else {
            continue;
        };
        arrows += 1;
        let id = row as u64;
        assert!(send.sent.contains(&id) && receive.received.contains(&id), "an arrow leads between its bars");
        assert_eq!(send.args["peer"].as_u64(), transfers.number("destination", row));
        assert_eq!(receive.args["peer"].as_u64(), transfers.number("source", row));
        assert_eq!(send.args["tag"], receive.args["tag"]);
    }
    assert_eq!(arrows, line.ended.len(), "no arrow without a message");
    arrows
}

/// What each rank marks; a region around all that ends where the last message is there.
const MARKS: &str = r#"ranks 2
all {
  enter "solve"
  repeat 2 as step {
    mark "iteration" step
    compute 3 us
    irecv 64 B from (rank + 1) % 2 tag step as in
    enter "exchange"
    isend 64 B to (rank + 1) % 2 tag step as out
    mark "posted"
    waitall
    leave
  }
  leave
  compute 1 us
  mark "the end"
}
"#;

/// Marks of rank 0: kind, name, time.
fn marks_of(directory: &Path) -> Vec<(String, String, u64)> {
    let table = Table::read(&directory.join("markers.csv"));
    let rows = (0..table.rows()).filter(|&row| table.number("rank", row) == Some(0));
    let text = |column, row| table.text(column, row).to_owned();
    rows.map(|row| (text("kind", row), text("name", row), table.number("time_ps", row).expect("a time")))
        .collect()
}

/// Marks stand where a rank reaches them, change nothing, and are in every time line; a replay of the simulated trace has them again.
#[test]
fn marks_stand_where_ranks_reach_them() {
    let directory = tempfile::tempdir().expect("a directory");
    let (path, out) = (directory.path(), directory.path().join("out"));
    let job = "[[job]]\nworkload = \"trace\"\nfile = \"marks.ranks\"";
    let lines = |keep: bool| {
        let is = |l: &&str| ["mark", "enter", "leave"].iter().any(|w| l.trim().starts_with(w));
        MARKS.lines().filter(|l| keep || !is(l)).collect::<Vec<_>>().join("\n")
    };
    for model in ["packet", "flow", "hybrid", "delay"] {
        let kind = format!("model.kind={model}");
        fs::write(path.join("marks.ranks"), lines(false)).expect("a program");
        let plain = compare(path, job, &[&kind]).1;
        assert!(!out.join("markers.csv").exists());
        fs::write(path.join("marks.ranks"), lines(true)).expect("a program");
        let marked = compare(path, job, &[&kind]).1;
        assert_eq!(plain["fingerprint"], marked["fingerprint"], "{model}: marks change nothing");
        let operations = Table::read(&out.join("operations.csv"));
        let of = |column: &str, number: u64| {
            let is = |row: &usize| {
                (operations.number("rank", *row), operations.number("operation", *row))
                    == (Some(0), Some(number))
            };
            operations.number(column, (0..operations.rows()).find(is).expect("an operation")).expect("a time")
        };
        // Computation, receive, send, join; twice.
        let (met, again) = (of("end_ps", 3), of("end_ps", 7));
        let (sent, resent) = (of("start_ps", 2), of("start_ps", 6));
        let expected = [
            ("enter", "solve", 0),
            ("mark", "iteration 0", 0),
            ("enter", "exchange", 3_000_000),
            ("mark", "posted", sent),
            ("leave", "exchange", met),
            ("mark", "iteration 1", met),
            ("enter", "exchange", met + 3_000_000),
            ("mark", "posted", resent),
            ("leave", "exchange", again),
            ("leave", "solve", again),
            ("mark", "the end", again + 1_000_000),
        ];
        let own = marks_of(&out);
        let found: Vec<(&str, &str, u64)> =
            own.iter().map(|(k, n, t)| (k.as_str(), n.as_str(), *t)).collect();
        assert_eq!(found, expected, "{model}");
        drawn(&out, &own);
        if model == "delay" {
            let replay = "[[job]]\nworkload = \"trace\"\nfile = \"first/otf2/traces.otf2\"";
            fs::rename(&out, path.join("first")).expect("a directory");
            compare(path, replay, &[&kind]);
            let entered = |marks: &[(String, String, u64)]| -> Vec<String> {
                let named = marks.iter().filter(|m| m.0 != "leave" && m.1 != "compute");
                named.map(|m| m.1.clone()).collect()
            };
            assert_eq!(entered(&marks_of(&out)), entered(&own));
        }
    }
}

/// Time lines for browsers and for Paraver have the marks of rank 0.
fn drawn(out: &Path, own: &[(String, String, u64)]) {
    let line = Reader::read(&fs::read_to_string(out.join("timeline.json")).expect("a time line"));
    let marks: Vec<(&str, u64)> =
        line.marks.iter().filter(|m| m.0 == "rank 0").map(|m| (m.1.as_str(), m.2)).collect();
    let expected: Vec<(&str, u64)> =
        own.iter().filter(|m| m.0 == "mark").map(|m| (m.1.as_str(), m.2)).collect();
    assert_eq!(marks, expected);
    let regions = line.bars.iter().filter(|(_, bar)| bar.thread == "rank 0, regions");
    let mut regions: Vec<(u64, u64, &str)> =
        regions.map(|(_, b)| (b.start, b.end, b.name.as_str())).collect();
    regions.sort_unstable();
    let ends: Vec<u64> = own.iter().filter(|m| m.0 == "leave").map(|m| m.2).collect();
    let begins: Vec<u64> = own.iter().filter(|m| m.0 == "enter").map(|m| m.2).collect();
    let expected =
        [(begins[0], ends[2], "solve"), (begins[1], ends[0], "exchange"), (begins[2], ends[1], "exchange")];
    assert_eq!(regions, expected);
    let trace = fs::read_to_string(out.join("paraver.prv")).expect("a trace");
    let events: Vec<&str> = trace.lines().filter(|l| l.starts_with("2:1:1:1:1:")).collect();
    assert_eq!(events.len(), own.len(), "{events:?}");
    assert_eq!(events[0], "2:1:1:1:1:0:60000019:1");
    assert!(events[events.len() - 2].ends_with(":60000019:0"), "{events:?}");
    let names = fs::read_to_string(out.join("paraver.pcf")).expect("names");
    assert!(names.contains("1000    Marker\nVALUES\n1      solve\n2      iteration 0\n"), "{names}");
    assert!(names.contains("60000019    User function\nVALUES\n0      End\n1      solve\n"), "{names}");
}

fn programs(directory: &Path) {
    let silent = "ranks 2\nall {\n  compute 1 us\n}\n";
    let lots = "ranks 3\nrank 0 { \n repeat 40 as n {\n irecv 100 B from any tag n\n }\n compute 1 us\n waitall\n }\n\
        rank 1-2 {\n repeat 20 as n {\n isend 100 B to 0 tag (2 * n + rank - 1)\n }\n waitall\n }\n";
    for (name, text) in
        [("requests.ranks", REQUESTS), ("silent.ranks", silent), ("lots.ranks", lots), ("graph.goal", GRAPH)]
    {
        fs::write(directory.join(name), text).expect("a program");
    }
}

#[test]
fn every_bar_and_every_arrow_is_where_the_tables_say() {
    let directory = tempfile::tempdir().expect("a directory");
    programs(directory.path());
    for (name, jobs) in JOBS {
        for model in ["packet", "flow", "hybrid", "delay"] {
            let kind = format!("model.kind={model}");
            let (arrows, summary) = compare(directory.path(), jobs, &[&kind]);
            assert!(
                arrows > 0 && summary["verdict"]["state"] == "ok",
                "{name} on {model}: {}",
                summary["verdict"]
            );
            let ranks = Table::read(&directory.path().join("out/ranks.csv"));
            let received = (0..ranks.rows()).filter_map(|row| ranks.number("messages_received", row));
            assert_eq!(arrows as u64, received.sum::<u64>(), "{name} on {model}: all messages have arrows");
        }
    }
}

/// A run that is cut in the middle of a message.
#[test]
fn a_cut_run_has_a_time_line() {
    let directory = tempfile::tempdir().expect("a directory");
    programs(directory.path());
    for model in ["packet", "flow", "hybrid", "delay"] {
        let kind = format!("model.kind={model}");
        let whole = compare(directory.path(), JOBS[2].1, &[&kind]).0;
        let sets = [kind.as_str(), "experiment.until=", "experiment.duration=7 us"];
        let (cut, summary) = compare(directory.path(), JOBS[2].1, &sets);
        let ranks = Table::read(&directory.path().join("out/ranks.csv"));
        let received = (0..ranks.rows()).filter_map(|row| ranks.number("messages_received", row));
        assert_eq!(cut as u64, received.sum::<u64>(), "{model}: what was received has arrows");
        assert!(cut < whole && cut > 0, "{model}: {cut} of {whole}, {}", summary["verdict"]);
    }
}

/// Calls of a program in closed form: what each operation belongs to.
#[test]
fn operations_say_which_call_they_belong_to() {
    let directory = tempfile::tempdir().expect("a directory");
    programs(directory.path());
    compare(directory.path(), JOBS[2].1, &["model.kind=delay"]);
    let table = Table::read(&directory.path().join("out/operations.csv"));
    let calls: Vec<(&str, &str, Option<u64>, Option<u64>)> = (0..table.rows())
        .filter(|&row| table.number("rank", row) == Some(0))
        .map(|row| {
            (
                table.text("call", row),
                table.text("kind", row),
                table.number("peer", row),
                table.number("tag", row),
            )
        })
        .filter(|row| !row.0.contains("allreduce") && !row.0.contains("Barrier"))
        .collect();
    let step = |tag| {
        vec![
            ("MPI_Irecv", "recv", Some(3), Some(tag)),
            ("MPI_Irecv", "recv", Some(0), Some(77)),
            ("MPI_Isend", "send", Some(1), Some(tag)),
            ("MPI_Isend", "send", Some(0), Some(77)),
            ("", "calc", None, None),
            ("MPI_Wait", "join", None, None),
            ("", "calc", None, None),
            ("MPI_Waitall", "join", None, None),
        ]
    };
    let last = vec![
        ("MPI_Recv", "recv", Some(1), Some(8)),
        ("MPI_Probe", "probe", Some(2), Some(9)),
        ("MPI_Recv", "recv", Some(2), Some(9)),
    ];
    assert_eq!(calls, [step(0), step(1), step(2), last].concat());
    let names: SortedSet<&str> = (0..table.rows()).map(|row| table.text("call", row)).collect();
    let expected = [
        "",
        "MPI_Barrier",
        "MPI_Iallreduce",
        "MPI_Irecv",
        "MPI_Isend",
        "MPI_Probe",
        "MPI_Recv",
        "MPI_Send",
        "MPI_Start",
        "MPI_Wait",
        "MPI_Waitall",
    ];
    assert!(names.iter().eq(&expected) || names.iter().copied().eq(expected), "{names:?}");
}
