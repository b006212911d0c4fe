//! Archives of random programs, read by the distribution's otf2-print: messages by rank in their order, regions that begin and end, times that ascend.
//!
//! More cases: `CASES=1000 SEED=7 cargo test -p netloom-cli --test all otf2_peer`.

use crate::common::netloom;
use base::rng::{Purpose, Stream};
use std::{
    collections::BTreeMap,
    fs,
    process::{Command, Stdio},
};

/// Of a rank, in their order: the other rank, and bytes.
type Messages = Vec<(u32, u64)>;

/// Text of a program, and what its ranks send and receive.
struct Case {
    text: String,
    sent: Vec<Messages>,
    received: Vec<Messages>,
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |n| n.parse().expect("a number"))
}

/// Rounds in which every rank sends to another one and receives from one, in different words.
fn drawn(draw: &mut Stream) -> Case {
    let ranks = 2 + draw.below(7) as u32;
    let mut lines = vec![String::new(); ranks as usize];
    let none = || vec![Messages::new(); ranks as usize];
    let (mut sent, mut received) = (none(), none());
    for round in 0..1 + draw.below(12) {
        let shift = 1 + draw.below(u64::from(ranks - 1)) as u32;
        let bytes = [0, 1, 8, 1000, 16_384, 65_537, 1 << 20][draw.below(7) as usize];
        let (words, tag) = (draw.below(3), draw.below(1000));
        for rank in 0..ranks {
            let (to, from) = ((rank + shift) % ranks, (rank + ranks - shift) % ranks);
            let line = match words {
                0 => format!(
                    "irecv {bytes} B from {from} tag {tag} as i{round}\nisend {bytes} B to {to} tag {tag} as o{round}\n\
                     compute {} ns\nwait i{round}\nwait o{round}\n",
                    draw.below(3000)
                ),
                1 => format!("sendrecv {bytes} B to {to} tag {tag} recv {bytes} B from {from} tag {tag}\n"),
                _ => format!(
                    "enter \"round {round}\"\nbsend {bytes} B to {to} tag {tag}\nrecv {bytes} B from {from} tag {tag}\n\
                     leave\nmark \"end\" {round}\n"
                ),
            };
            lines[rank as usize] += &line;
            sent[rank as usize].push((to, bytes));
            received[rank as usize].push((from, bytes));
        }
    }
    let blocks = lines.iter().enumerate().map(|(rank, lines)| format!("rank {rank} {{\n{lines}}}\n"));
    let text = format!("ranks {ranks}\n{}", blocks.collect::<String>());
    Case { text, sent, received }
}

/// The number behind a word of a line.
fn behind(line: &str, word: &str) -> Option<u64> {
    let rest = &line[line.find(word)? + word.len()..];
    rest.split(|c: char| !c.is_ascii_digit()).find(|n| !n.is_empty())?.parse().ok()
}

/// What the official reader says of an archive: sends and receives by rank, after looking at times and regions.
fn printed(text: &str, ranks: usize) -> [Vec<Messages>; 2] {
    let mut all = [vec![Messages::new(); ranks], vec![Messages::new(); ranks]];
    let (mut last, mut depth) = (BTreeMap::new(), BTreeMap::new());
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(event), Some(rank), Some(time)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let (Ok(rank), Ok(time)) = (rank.parse::<usize>(), time.parse::<u64>()) else { continue };
        let before = last.insert(rank, time).unwrap_or(0);
        assert!(before <= time, "rank {rank}: {time} after {before}");
        let open = depth.entry(rank).or_insert(0i64);
        *open += i64::from(event == "ENTER") - i64::from(event == "LEAVE");
        assert!(*open >= 0, "rank {rank} leaves what it did not enter at {time}");
        let (side, other) = match event {
            "MPI_SEND" | "MPI_ISEND" => (0, "Receiver:"),
            "MPI_RECV" | "MPI_IRECV" => (1, "Sender:"),
            _ => continue,
        };
        let (other, bytes) = (behind(line, other).expect("a rank"), behind(line, "Length:").expect("bytes"));
        all[side][rank].push((other as u32, bytes));
    }
    assert!(depth.values().all(|&open| open == 0), "regions end: {depth:?}");
    all
}

#[test]
fn otf2_print_reads_what_random_programs_did() {
    let (seed, cases) = (number("SEED", 0), number("CASES", 8));
    for case in seed..seed + cases {
        let folder = tempfile::tempdir().expect("a directory");
        let path = |name: &str| folder.path().join(name);
        let mut draw = Stream::new(case, Purpose::Test, 0);
        let Case { text, sent, received } = drawn(&mut draw);
        fs::write(path("p.ranks"), &text).expect("it can be written");
        let model =
            ["kind = \"delay\"", "kind = \"delay\"\ncost = \"pure\"", "kind = \"packet\"", "kind = \"flow\""];
        let experiment = format!(
            "experiment = {{ until = \"workload-done\" }}\noutput = {{ operations = true }}\nrouting = {{ algorithm = \"minimal\" }}\n\
             [fabric]\ntopology = \"single-switch\"\nterminals = 8\n\
             link.terminal = {{ bandwidth = \"12.5 GB/s\", latency = \"50 ns\", credit_delay = \"50 ns\", vc_buffer = \"16 KiB\" }}\n\
             [[job]]\nworkload = \"trace\"\nfile = \"p.ranks\"\n[model]\n{}\n",
            model[draw.below(4) as usize]
        );
        fs::write(path("e.toml"), &experiment).expect("it can be written");
        let [file, out] = ["e.toml", "out"].map(|name| path(name).display().to_string());
        let run = netloom(&["run", &file, "--out", &out]);
        assert_eq!(run.status, 0, "case {case}: {}\n{experiment}\n{text}", run.err);
        let anchor = path("out/otf2/traces.otf2");
        let Ok(read) = Command::new("otf2-print").arg(anchor).stderr(Stdio::null()).output() else {
            return eprintln!("SKIPPED: otf2-print is missing: archives are read here alone");
        };
        assert!(read.status.success(), "case {case}");
        let [sends, receives] = printed(&String::from_utf8_lossy(&read.stdout), sent.len());
        assert_eq!(sends, sent, "case {case}: sends\n{text}");
        assert_eq!(receives, received, "case {case}: receives\n{text}");
    }
}

/// The comparison finds what is wrong: an event that is missing, a time that goes back, a region that does not end.
#[test]
#[should_panic(expected = "rank 0: 5 after 7")]
fn a_time_that_goes_back_is_found() {
    printed("ENTER 0 7 Region\nLEAVE 0 5 Region\n", 1);
}
