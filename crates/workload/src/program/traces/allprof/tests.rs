use super::*;
use crate::program::{
    census::{Census, Matching},
    file::{Content, Format},
    lower, ranks,
    traces::Scale,
};
use std::path::PathBuf;

/// A folder with the files of ranks, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(ranks: &[&str]) -> Self {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("netloom-allprof-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        for (rank, text) in ranks.iter().enumerate() {
            std::fs::write(path.join(format!("t-{rank}.txt")), text).unwrap();
        }
        Self(path)
    }

    fn content(&self) -> Result<Content, String> {
        let read = Content::read(&Input::file(self.0.join("t-0.txt")), Scale::DEFAULT);
        let (format, content) = read.map_err(|problems| problems[0].message.clone())?;
        assert_eq!(format, Format::Allprof);
        Ok(content)
    }

    fn script(&self) -> Arc<dyn Script> {
        let Content::Script(script) = self.content().unwrap() else { panic!("a trace holds calls") };
        script
    }

    /// The calls of rank 0 as `.ranks` writes them.
    fn calls(&self) -> Result<Vec<String>, String> {
        let (script, mut all) = (self.script(), Vec::new());
        let mut reader = script.open(RankId::new(0));
        while let Some((call, _)) = reader.next().map_err(|d| d.0)? {
            let mut line = String::new();
            ranks::call(&mut line, &call);
            all.push(line);
        }
        Ok(all)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Calls of rank 0 of two, with times 10 us apart: each takes 1 us.
fn of_two(calls: &[&str]) -> Folder {
    let mut text = "# a tracer\n\nMPI_Init:-:1:2:1237666046950000.000000\n".to_owned();
    for (n, call) in calls.iter().enumerate() {
        let (name, arguments) = call.split_once(':').unwrap_or((call, ""));
        let start = 1_237_666_046_950_010 + 10 * n as u64;
        text += &format!("MPI_{name}:{start}.5:{arguments}:{}.50\n", start + 1);
    }
    Folder::new(&[&text, "MPI_Init:-:1:2:3.0\n"])
}

fn without_times(folder: &Folder) -> Vec<String> {
    let mut all = folder.calls().unwrap();
    all.retain(|call| !call.starts_with("compute"));
    all
}

#[test]
fn computation_is_what_lies_between_calls_that_communicate() {
    let folder = of_two(&["Comm_rank:0,0,2:5", "Send:9:2:11,8,8:1:5:0,0,2", "Test:1:2:3", "Barrier:0,0,2"]);
    let calls = folder.calls().unwrap();
    assert_eq!(calls, ["compute 20.5 us", "send 16 B to 1 tag 5", "compute 19 us", "barrier"]);
}

#[test]
fn requests_are_addresses() {
    let world = "5641280,0,2";
    let receive = |request: u64, tag: u32| format!("Irecv:9:2:1,4:1:{tag}:{world}:{request}");
    let lines = [
        receive(800, 1),
        receive(808, 2),
        "Wait:800:1".to_owned(),
        receive(800, 3),
        "Waitall:2:800:1".to_owned(),
        "Waitall:2:800:1".to_owned(),
        receive(800, 4),
        receive(800, 5),
        "Waitany:1:800:1:2".to_owned(),
        format!("Send_init:9:2:1,4:1:6:{world}:400"),
        "Start:400".to_owned(),
        "Wait:400:1".to_owned(),
        "Request_free:400".to_owned(),
        format!("Sendrecv:1:2:1,4:1:7:9:3:1,4:-2:-1:{world}:8"),
        format!("Sendrecv_replace:1:2:1,4:1:7:-1:-1:{world}:8"),
        format!("Iallreduce:1:2:3:1,4:5:{world}:64"),
        "Wait:64:1".to_owned(),
    ];
    let folder = of_two(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(
        without_times(&folder),
        [
            "irecv 8 B from 1 tag 1 as r0",
            "irecv 8 B from 1 tag 2 as r1",
            "waitall r0",
            "irecv 8 B from 1 tag 3 as r0",
            "waitall r0 r1",
            "irecv 8 B from 1 tag 4 as r1",
            // Its handle is used again, so it was complete.
            "wait r1",
            "irecv 8 B from 1 tag 5 as r1",
            "waitany r1",
            "send_init 8 B to 1 tag 6 as r1",
            "start r1",
            "waitall r1",
            "free r1",
            "sendrecv 8 B to 1 tag 7 recv 12 B from null tag any",
            "sendrecv 8 B to 1 tag 7 recv 8 B from any tag any",
            "iallreduce 12 B as r1",
            "waitall r1"
        ]
    );
    assert_eq!(folder.script().dropped(), []);
}

#[test]
fn mpich_has_other_numbers_of_nobody() {
    let folder = of_two(&[
        "Recv:9:2:1,4:-1:5:1140850688,0,2:3",
        "Recv:9:2:1,4:-2:-1:1140850688,0,2:3",
        "Recv:9:2:1,4:0:1:18446744071562067969,0,1:3",
    ]);
    assert_eq!(
        without_times(&folder),
        ["recv 8 B from null tag 5", "recv 8 B from any tag any", "recv 8 B from 0 tag 1"]
    );
}

#[test]
fn collectives_have_their_bytes() {
    let w = "0,0,2";
    let lines = [
        "Bcast:1:3:1,4:1:W",
        "Reduce:1:2:3:1,4:5:1:W",
        "Allreduce:1:2:3:1,4:5:W",
        "Scan:1:2:3:1,4:5:W",
        "Gather:1:3:1,4:2:7:1,1:1:W",
        "Gather:1:0:1,4:2:7:1,1:0:W",
        "Scatter:1:3:1,4:2:7:1,1:0:W",
        "Allgather:1:0:1,4:2:7:1,1:W",
        "Alltoall:1:3:1,4:2:3:1,4:W",
        "Gatherv:1:3:1,4:2:3:5,6:4:0,5:1,4:0:W",
        "Gatherv:1:3:1,4:2:3:5,6:4:0,5:1,4:1:W",
        "Scatterv:1:2:5,6:4:0,5:1,4:2:3:1,4:0:W",
        "Allgatherv:1:3:1,4:2:3:5,6:4:0,5:1,4:W",
        "Alltoallv:1:2:5,6:4:0,5:1,4:7:8:1,2:9:0,1:1,4:W",
        "Reduce_scatter:1:2:3:5,6:1,4:5:W",
        "Allreduce:1:2:3:1,4:5:77,0,1",
    ]
    .map(|line| line.replace('W', w));
    let folder = of_two(&lines.each_ref().map(String::as_str));
    assert_eq!(
        without_times(&folder),
        [
            "bcast 12 B root 1",
            "reduce 12 B root 1",
            "allreduce 12 B",
            "scan 12 B",
            "gather 12 B root 1",
            "gather 7 B root 0",
            "scatter 12 B root 0",
            "allgather 7 B",
            "alltoall 12 B",
            "gatherv counts [20 B, 24 B] root 0",
            "gatherv counts [12 B, 0 B] root 1",
            "scatterv counts [20 B, 24 B] root 0",
            "allgatherv counts [20 B, 24 B]",
            "alltoallv sends [20 B, 24 B] receives [4 B, 8 B]",
            "reduce_scatter counts [20 B, 24 B]"
        ]
    );
}

#[test]
fn communicators_are_met_in_the_order_in_which_they_are_made() {
    let rank = |me: u32| {
        format!(
            "MPI_Init:-:1:2:1.0\nMPI_Comm_split:2.0:0,{me},2:0:{key}:99:3.0\nMPI_Comm_dup:4.0:7,{new},2:98:5.0\n\
             MPI_Send:6.0:1:1:1,1:{other}:5:8,{new},2:7.0\nMPI_Recv:8.0:1:1:1,1:{other}:5:8,{new},2:0:9.0\n",
            key = 1 - me,
            new = 1 - me,
            other = me,
        )
    };
    let folder = Folder::new(&[&rank(0), &rank(1)]);
    let content = folder.content().unwrap();
    let calls = folder.calls().unwrap();
    assert!(calls[1].starts_with("split world color 0 key 1 as c1"), "{calls:?}");
    assert!(calls[3].starts_with("dup c1 as c2") && calls[5] == "send 1 B to 0 tag 5 comm c2", "{calls:?}");
    assert_eq!(folder.script().dropped(), []);
    let input = Input::file("t");
    let program = content.program(&input, lower::Options::default()).unwrap();
    assert_eq!(Census::of(&Content::Program(program)).unwrap().matching, Matching::Exact);
}

#[test]
fn what_is_left_out_is_counted() {
    let folder = of_two(&[
        "Put:1:2:3",
        "Comm_create:0,0,3:1:2",
        "Barrier:55,0,3",
        "Bcast:1:3:1,4:0:66,1,2",
        "Irecv:9:2:1,4:1:1:55,0,3:800",
        "Wait:900:1",
        "Put:1:2:3",
    ]);
    std::fs::write(folder.0.join("t-2.txt"), "MPI_Init:-:1:2:3.0\n").unwrap();
    assert_eq!(without_times(&folder), ["barrier", "irecv 8 B from 1 tag 1 as r0"]);
    let script = folder.script();
    let mut reader = script.open(RankId::new(0));
    while reader.next().unwrap().is_some() {}
    let dropped: Vec<String> = script.dropped().into_iter().map(|d| d.text).collect();
    assert_eq!(dropped.len(), 4, "{dropped:?}");
    assert!(
        dropped[0].starts_with("1 calls of MPI_Comm_create") && dropped[1].starts_with("2 calls of MPI_Put")
    );
    assert!(
        dropped[2].starts_with("1 waits name handles") && dropped[3].starts_with("1 calls on communicators")
    );
}

/// What is not known to be computation communicates.
#[test]
fn no_call_that_communicates_passes_unseen() {
    let folder = of_two(&[
        "Comm_rank:0,0,2:5",
        "Type_commit:9",
        "Reduce_scatter_block:1:2:3:1,4:5:0,0,2",
        "Ialltoallw:1",
        "Mrecv:1",
        "Win_lock_all:1",
        "Comm_idup:1",
        "Psend_init:1",
        "Pready:1",
    ]);
    assert_eq!(without_times(&folder), [""; 0]);
    let script = folder.script();
    let mut reader = script.open(RankId::new(0));
    while reader.next().unwrap().is_some() {}
    assert!(script.dropped().iter().all(|dropped| dropped.messages));
    let mut dropped: Vec<String> = script.dropped().into_iter().map(|d| d.text).collect();
    assert_eq!(dropped.pop().unwrap(), "2 calls of functions that are not known are left out");
    let named = ["Ialltoallw", "Reduce_scatter_block", "Mrecv", "Comm_idup", "Win_lock_all"];
    assert_eq!(dropped, named.map(|name| format!("1 calls of MPI_{name} are left out")));
}

#[test]
fn damage_names_its_line() {
    let refused = |line: &str| of_two(&[line]).calls().unwrap_err();
    for (line, part) in [
        ("Send:9:2:11,8,8:1:5", "t-0.txt:4: MPI_Send: field 7 is missing"),
        ("Send:9:x:11,8,8:1:5:0,0,2", "field 3 cannot be `x`"),
        ("Send:9:2:11:1:5:0,0,2", "field 4 cannot be `11`"),
        ("Send:9:2:11,8:-7:5:0,0,2", "there is no rank -7"),
        ("Send:9:2:11,8:1:-1:0,0,2", "-1 is no tag"),
        ("Send:9:2:11,8:1:5:0,0,3", "the communicator has 3 ranks, but there are files of 2"),
        ("Send:9:2:11,8:1:5:0,2,2", "rank 2 is not among the 2"),
        ("Barrier:0,0", "field 2 cannot be"),
        ("Allgatherv:1:3:1,4:2:3:5,6,7:4:0,5:1,4:0,0,2", "field 7 cannot be `5,6,7`"),
        ("Waitall:-1:800:1", "field 2 cannot be `-1`"),
        (
            "Send:9:5:11,4611686018427387904:1:5:0,0,2",
            "MPI_Send: 5 elements of 4611686018427387904 B are too",
        ),
        ("Allgatherv:1:3:1,4:2:3:5,4611686018427387905:4:0,5:1,1:0,0,2", "elements of 1 B are too large"),
    ] {
        assert!(refused(line).contains(part), "{line}: {}", refused(line));
    }
    let cut = Folder::new(&["MPI_Init:-:1:2:3.0\nMPI_Barr", "MPI_Init:-:1:2:3.0\n"]);
    assert!(cut.calls().unwrap_err().contains("t-0.txt:2: this is no call with a start and an end"));
    let time = Folder::new(&["MPI_Init:-:1:2:3.0\nMPI_Barrier:4x:0,0,2:5.0\n", "MPI_Init:-:1:2:3.0\n"]);
    assert!(time.calls().unwrap_err().contains("the time cannot be `4x`"));
    let long = "MPI_Init:-:1:2:3.0\nMPI_Barrier:5000000000000.0:0,0,2:5000000000001.0\n";
    let long = Folder::new(&[long, "MPI_Init:-:1:2:3.0\n"]);
    assert!(
        long.calls().unwrap_err().contains("t-0.txt:2: a computation of 4999999999997000000 ps is too long")
    );
}

#[test]
fn changed_bytes_never_panic() {
    let text = "MPI_Init:-:1:2:1.0\nMPI_Irecv:2.0:9:2:1,4:1:1:0,0,2:800:3.0\nMPI_Waitall:4.0:2:800:1:5.0\n\
                MPI_Alltoallv:6.0:1:2:5,6:4:0,5:1,4:7:8:1,2:9:0,1:1,4:0,0,2:7.0\nMPI_Comm_split:8.0:0,0,2:0:1:99:9.0\n";
    let folder = Folder::new(&[text, "MPI_Init:-:1:2:1.0\n"]);
    let file = folder.0.join("t-0.txt");
    for at in 0..text.len() {
        for change in [0, b':', b'9', b'-', b',', 0xff] {
            let mut changed = text.as_bytes().to_vec();
            changed[at] = change;
            for bytes in [&changed[..], &text.as_bytes()[..at]] {
                std::fs::write(&file, bytes).unwrap();
                // Whatever it holds, it is counted or refused.
                let _ = Content::read(&Input::file(&file), Scale::DEFAULT)
                    .map(|(_, content)| Census::of(&content));
            }
        }
    }
}
