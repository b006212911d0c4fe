use super::*;
use crate::program::{
    census::{Census, Matching},
    file::{Content, Format},
    lower, ranks,
    traces::Scale,
};
use std::path::PathBuf;

/// Writes the file of a rank as DUMPI does.
struct Writer {
    signatures: Signatures,
    bytes: Vec<u8>,
    /// Nanoseconds of the next call.
    clock: u32,
}

/// What a record holds.
enum Field<'a> {
    B(u8),
    H(u16),
    I(i32),
    A(&'a [i32]),
    H16(&'a [u16]),
    M(&'a [&'a [i32]]),
    S(&'a [(i32, i32)]),
}
use Field::{A, B, H, H16, I, M, S};

impl Writer {
    fn new() -> Self {
        let mut bytes = MAGIC.to_be_bytes().to_vec();
        bytes.extend([0; 8]);
        Self { signatures: Signatures::new(), bytes, clock: 0 }
    }

    /// A call of 1 us, 10 us after the one before began.
    fn call(&mut self, name: &str, fields: &[Field<'_>]) -> &mut Self {
        self.bytes.extend(self.signatures.number(name).to_be_bytes());
        self.bytes.extend([0x4f, 0, 0]);
        for _ in 0..2 {
            for time in [self.clock, self.clock + 1_000] {
                self.bytes.extend([0, 1]);
                self.bytes.extend(time.to_be_bytes());
            }
        }
        self.clock += 10_000;
        for field in fields {
            self.field(field);
        }
        self
    }

    fn word(&mut self, word: i32) {
        self.bytes.extend(word.to_be_bytes());
    }

    fn field(&mut self, field: &Field<'_>) {
        match field {
            B(b) => self.bytes.push(*b),
            H(h) => self.bytes.extend(h.to_be_bytes()),
            I(i) => self.word(*i),
            A(list) => {
                self.word(list.len() as i32);
                list.iter().for_each(|&i| self.word(i));
            }
            H16(list) => {
                self.word(list.len() as i32);
                list.iter().for_each(|&h| self.bytes.extend(h.to_be_bytes()));
            }
            M(lists) => {
                self.word(lists.len() as i32);
                lists.iter().for_each(|&list| self.field(&A(list)));
            }
            S(list) => {
                self.word(list.len() as i32);
                for &(source, tag) in *list {
                    self.word(0);
                    self.word(source);
                    self.bytes.extend([0, 0]);
                    self.word(tag);
                }
            }
        }
    }

    /// The file, with types of 4 (number 9) and 24 bytes (number 28).
    fn finish(&mut self) -> Vec<u8> {
        self.bytes.extend(signatures::END.to_be_bytes());
        let header = self.bytes.len() as u64;
        self.bytes.extend([1, 0, 0]);
        let sizes = self.bytes.len() as u64;
        let mut all = [0i32; 29];
        (all[9], all[28]) = (4, 24);
        self.field(&A(&all));
        for word in [MAGIC, sizes, 0, 0, header, 8, 0, 0] {
            self.bytes.extend(word.to_be_bytes());
        }
        std::mem::take(&mut self.bytes)
    }
}

const W: Field<'_> = H(2);

/// A folder with a trace, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(files: &[Vec<u8>]) -> Self {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("netloom-dumpi-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        for (rank, bytes) in files.iter().enumerate() {
            std::fs::write(path.join(format!("t-{rank:04}.bin")), bytes).unwrap();
        }
        let meta = format!("hostname=a\nnumprocs={}\nusername=b\nfileprefix=/elsewhere/t\n", files.len());
        std::fs::write(path.join("t.meta"), meta).unwrap();
        Self(path)
    }

    fn content(&self, name: &str) -> Result<Content, String> {
        let read = Content::read(&Input::file(self.0.join(name)), Scale::DEFAULT);
        let (format, content) = read.map_err(|problems| problems[0].message.clone())?;
        assert_eq!(format, Format::Dumpi);
        Ok(content)
    }

    fn script(&self) -> Arc<dyn Script> {
        let Content::Script(script) = self.content("t.meta").unwrap() else { panic!("a trace holds calls") };
        script
    }

    /// The calls of rank 0 as `.ranks` writes them, without computation.
    fn calls(&self) -> Result<Vec<String>, String> {
        let (script, mut all) = (self.script(), Vec::new());
        let mut reader = script.open(RankId::new(0));
        while let Some((call, _)) = reader.next().map_err(|d| d.0)? {
            if call == Call::Compute(9_000_000) {
                continue;
            }
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

/// A trace of two ranks of which the second does nothing.
fn of_two(write: impl FnOnce(&mut Writer)) -> Folder {
    let mut first = Writer::new();
    write(&mut first);
    Folder::new(&[first.finish(), Writer::new().call("Finalize", &[]).finish()])
}

#[test]
fn transfers_wait_for_what_the_trace_saw() {
    let irecv = |w: &mut Writer, request: i32, tag: i32| {
        w.call("Irecv", &[I(2), H(9), I(1), I(tag), W, I(request)]);
    };
    let folder = of_two(|w| {
        w.call("Send", &[I(1), H(28), I(1), I(5), W]).call("Ssend", &[I(1), H(9), I(-2), I(5), W]);
        w.call("Recv", &[I(1), H(9), I(-1), I(-1), W, S(&[(1, 7)])]);
        w.call("Recv", &[I(1), H(9), I(-1), I(-1), W, S(&[])]);
        irecv(w, 2, 1);
        irecv(w, 3, 2);
        irecv(w, 4, 3);
        w.call("Test", &[I(2), I(0), S(&[])]).call("Test", &[I(2), I(1), S(&[])]);
        w.call("Waitany", &[I(2), A(&[3, 4]), I(1), S(&[])]);
        w.call("Testany", &[I(1), A(&[3]), I(0), I(0), S(&[])]);
        w.call("Waitsome", &[I(2), A(&[1, 3]), I(1), A(&[1]), S(&[])]);
        irecv(w, 5, 4);
        irecv(w, 5, 5);
        w.call("Waitall", &[I(2), A(&[1, 5]), S(&[])]);
        w.call("Send_init", &[I(1), H(9), I(1), I(6), W, I(7)]).call("Startall", &[I(1), A(&[7])]);
        w.call("Wait", &[I(7), S(&[])]).call("Request_free", &[I(7)]);
        w.call("Sendrecv", &[I(1), H(9), I(1), I(8), I(2), H(9), I(1), I(9), W, S(&[])]);
        w.call("Sendrecv_replace", &[I(1), H(9), I(1), I(8), I(1), I(9), W, S(&[])]);
        w.call("Iprobe", &[I(1), I(3), W, I(0), S(&[])])
            .call("Type_struct", &[I(1), A(&[1]), A(&[0]), H16(&[9]), H(28)]);
    });
    assert_eq!(
        folder.calls().unwrap(),
        [
            "send 24 B to 1 tag 5",
            "ssend 4 B to null tag 5",
            "recv 4 B from 1 tag 7",
            "recv 4 B from any tag any",
            "irecv 8 B from 1 tag 1 as r0",
            "irecv 8 B from 1 tag 2 as r1",
            "irecv 8 B from 1 tag 3 as r2",
            "test r0",
            "waitall r2",
            "waitall r1",
            "irecv 8 B from 1 tag 4 as r1",
            // The number is used again, so the request was over.
            "wait r1",
            "irecv 8 B from 1 tag 5 as r1",
            "waitall r1",
            "send_init 4 B to 1 tag 6 as r1",
            "start r1",
            "waitall r1",
            "free r1",
            "sendrecv 4 B to 1 tag 8 recv 8 B from 1 tag 9",
            "sendrecv 4 B to 1 tag 8 recv 4 B from 1 tag 9"
        ]
    );
    assert_eq!(folder.script().dropped(), []);
}

#[test]
fn collectives_have_their_bytes() {
    let folder = of_two(|w| {
        w.call("Barrier", &[W]).call("Bcast", &[I(3), H(9), I(1), W]);
        w.call("Reduce", &[I(3), H(9), B(3), I(1), W]).call("Allreduce", &[I(3), H(9), B(3), W]);
        w.call("Scan", &[I(3), H(9), B(3), W]).call("Exscan", &[I(3), H(9), B(3), W]);
        w.call("Gather", &[I(0), I(0), H(1), I(0), W, I(3), H(9)])
            .call("Gather", &[I(0), I(3), H(9), I(1), W]);
        w.call("Scatter", &[I(0), I(0), H(1), I(0), W, I(3), H(9)])
            .call("Scatter", &[I(0), I(3), H(9), I(1), W]);
        w.call("Allgather", &[I(0), H(1), I(3), H(9), W]).call("Alltoall", &[I(3), H(9), I(3), H(9), W]);
        w.call("Gatherv", &[I(0), I(2), I(0), H(1), I(0), W, A(&[1, 2]), A(&[0, 1]), H(9)]);
        w.call("Gatherv", &[I(0), I(2), I(3), H(9), I(1), W, H(9)]);
        w.call("Scatterv", &[I(0), I(2), H(9), I(0), H(1), I(0), W, A(&[1, 2]), A(&[0, 1])]);
        w.call("Scatterv", &[I(0), I(2), H(9), I(3), H(9), I(1), W]);
        w.call("Allgatherv", &[I(2), I(0), H(1), A(&[1, 2]), A(&[0, 1]), H(9), W]);
        w.call("Alltoallv", &[I(2), A(&[1, 2]), A(&[0, 1]), H(9), A(&[3, 4]), A(&[0, 1]), H(28), W]);
        w.call(
            "Alltoallw",
            &[I(2), A(&[1, 2]), A(&[0, 1]), H16(&[9, 28]), A(&[3, 4]), A(&[0, 1]), H16(&[9, 9]), W],
        );
        w.call("Reduce_scatter", &[I(2), A(&[1, 2]), H(9), B(3), W]);
        w.call("Bcast", &[I(3), H(9), I(0), H(3)]);
    });
    assert_eq!(
        folder.calls().unwrap(),
        [
            "barrier",
            "bcast 12 B root 1",
            "reduce 12 B root 1",
            "allreduce 12 B",
            "scan 12 B",
            "exscan 12 B",
            "gather 12 B root 0",
            "gather 12 B root 1",
            "scatter 12 B root 0",
            "scatter 12 B root 1",
            "allgather 12 B",
            "alltoall 12 B",
            "gatherv counts [4 B, 8 B] root 0",
            "gatherv counts [12 B, 0 B] root 1",
            "scatterv counts [4 B, 8 B] root 0",
            "scatterv counts [12 B, 0 B] root 1",
            "allgatherv counts [4 B, 8 B]",
            "alltoallv sends [4 B, 8 B] receives [72 B, 96 B]",
            "alltoallw sends [4 B, 48 B] receives [12 B, 16 B]",
            "reduce_scatter counts [4 B, 8 B]"
        ]
    );
}

#[test]
fn communicators_come_from_splits_groups_and_grids() {
    let rank = |me: i32| {
        let mut w = Writer::new();
        w.call("Comm_split", &[W, I(0), I(-me), H(4)]).call("Comm_dup", &[H(4), H(5)]);
        w.call("Comm_group", &[W, H(3)]).call("Group_excl", &[H(3), I(1), A(&[0]), H(4)]);
        w.call("Group_range_incl", &[H(3), I(1), M(&[&[3, 0, -3]]), H(5)])
            .call("Group_union", &[H(5), H(4), H(6)]);
        let member = |places: &[i32]| if places.contains(&me) { 6 } else { 1 };
        w.call("Comm_create", &[W, H(5), H(member(&[0, 3]))]);
        w.call("Comm_create", &[W, H(6), H(7)]);
        w.call("Cart_create", &[W, I(2), A(&[2, 2]), A(&[0, 0]), I(0), H(8)]);
        w.call("Cart_sub", &[I(2), H(8), A(&[0, 1]), H(9)]);
        // Everybody sends to the other one of its row.
        let other = 1 - me % 2;
        w.call("Sendrecv", &[I(1), H(9), I(other), I(0), I(1), H(9), I(other), I(0), H(9), S(&[])]);
        w.call("Comm_free", &[H(9)]).call("Finalize", &[]).finish()
    };
    let folder = Folder::new(&[0, 1, 2, 3].map(rank));
    assert_eq!(
        folder.calls().unwrap(),
        [
            "split world color 0 key 0 as c1",
            "dup c1 as c2",
            "create world group [3, 0] as c3",
            "create world group [3, 0 to 2] as c4",
            "create world group [0 to 3] as c5",
            "split c5 color 0 key 0 as c6",
            "sendrecv 4 B to 1 comm c6 recv 4 B from 1 comm c6",
            "free_comm c6"
        ]
    );
    assert_eq!(folder.script().dropped(), []);
    let content = folder.content("t-0002.bin").unwrap();
    let program = content.program(&Input::file("t"), lower::Options::default()).unwrap();
    assert_eq!(Census::of(&Content::Program(program)).unwrap().matching, Matching::Exact);
}

#[test]
fn computation_is_what_lies_between_calls() {
    let folder = of_two(|w| {
        w.call("Barrier", &[W]).call("Comm_size", &[W, I(2)]).call("Barrier", &[W]);
    });
    let (script, mut computed) = (folder.script(), 0);
    let mut reader = script.open(RankId::new(0));
    while let Some((call, _)) = reader.next().unwrap() {
        if let Call::Compute(ps) = call {
            computed += ps;
        }
    }
    assert_eq!(computed, 18_000_000);
}

#[test]
fn what_is_left_out_is_counted() {
    let folder = of_two(|w| {
        w.call("Win_fence", &[B(0), H(1)]).call("Win_fence", &[B(0), H(1)]);
        w.call("Barrier", &[H(77)]).call("Wait", &[I(9), S(&[])]).call("Wait", &[I(1), S(&[])]);
        let at = w.bytes.len() + 4;
        w.call("Barrier", &[W]);
        w.bytes[at] = 1;
    });
    assert_eq!(folder.calls().unwrap(), ["barrier"]);
    let script = folder.script();
    let mut reader = script.open(RankId::new(0));
    while reader.next().unwrap().is_some() {}
    let dropped: Vec<String> = script.dropped().into_iter().map(|d| d.text).collect();
    assert_eq!(dropped.len(), 3, "{dropped:?}");
    for (line, begin) in dropped.iter().zip(["1 requests", "3 calls on", "1 calls of further"]) {
        assert!(line.starts_with(begin), "{dropped:?}");
    }
}

#[test]
fn one_sided_calls() {
    let rank = |me: i32| {
        let mut w = Writer::new();
        w.call("Comm_group", &[W, H(3)]).call("Group_incl", &[H(3), I(1), A(&[1 - me]), H(4)]);
        w.call("Win_create", &[I(800), I(8), H(0), W, H(7)]).call("Win_fence", &[B(0), H(7)]);
        w.call("Put", &[I(3), H(9), I(1 - me), I(0), I(3), H(9), H(7)]);
        w.call("Get", &[I(2), H(9), I(-2), I(0), I(2), H(9), H(7)]);
        w.call("Win_fence", &[B(0), H(7)]).call("Win_post", &[H(4), B(0), H(7)]);
        w.call("Win_start", &[H(4), B(0), H(7)]);
        w.call("Accumulate", &[I(1), H(9), I(1 - me), I(0), I(1), H(9), B(1), H(7)]);
        w.call("Win_complete", &[H(7)]).call("Win_test", &[H(7), I(0)]).call("Win_test", &[H(7), I(1)]);
        w.call("Win_lock", &[B(2), I(0), B(0), H(7)])
            .call("Get", &[I(1), H(9), I(0), I(0), I(1), H(9), H(7)]);
        w.call("Win_unlock", &[I(0), H(7)]).call("Win_get_group", &[H(7), H(5)]);
        w.call("Win_free", &[H(7)]).call("Finalize", &[]).finish()
    };
    let folder = Folder::new(&[0, 1].map(rank));
    assert_eq!(
        folder.calls().unwrap(),
        [
            "win_create world as w0",
            "win_fence w0",
            "put 12 B to 1 win w0",
            "get 8 B from null win w0",
            "win_fence w0",
            "win_post w0 group [1]",
            "win_start w0 group [1]",
            "accumulate 4 B to 1 win w0",
            "win_complete w0",
            "win_wait w0",
            "win_lock w0 0 exclusive",
            "get 4 B from 0 win w0",
            "win_unlock w0 0",
            "win_free w0",
        ]
    );
    assert_eq!(folder.script().dropped(), []);
    let content = folder.content("t-0001.bin").unwrap();
    let program = content.program(&Input::file("t"), lower::Options::default()).unwrap();
    assert_eq!(Census::of(&Content::Program(program)).unwrap().matching, Matching::Exact);
}

#[test]
fn packed_files_read_the_same() {
    use std::io::Write;
    let mut w = Writer::new();
    let bytes = w.call("Allreduce", &[I(3), H(28), B(3), W]).call("Finalize", &[]).finish();
    let plain = Folder::new(&[bytes.clone(), bytes.clone()]);
    let packed = Folder::new(&[bytes.clone(), bytes.clone()]);
    for rank in 0..2 {
        let file = packed.0.join(format!("t-{rank:04}.bin"));
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&bytes).unwrap();
        std::fs::write(file.with_extension("bin.gz"), packer.finish().unwrap()).unwrap();
        std::fs::remove_file(file).unwrap();
    }
    assert_eq!(plain.calls().unwrap(), ["allreduce 72 B"]);
    assert_eq!(packed.calls().unwrap(), plain.calls().unwrap());
}

#[test]
fn damage_is_reported_with_its_place() {
    let refused = |write: &dyn Fn(&mut Writer)| of_two(|w| write(w)).calls().unwrap_err();
    for (refused, part) in [
        (
            refused(&|w| _ = w.call("Send", &[I(1), H(40), I(1), I(5), W])),
            "call 1, MPI_Send: the size of type 40",
        ),
        (refused(&|w| _ = w.call("Send", &[I(-1), H(9), I(1), I(5), W])), "there cannot be -1 elements"),
        (refused(&|w| _ = w.call("Send", &[I(1), H(9), I(1), I(-5), W])), "-5 is no tag"),
        (refused(&|w| _ = w.call("Bcast", &[I(1), H(9), I(-1), W])), "there is no root -1"),
        (refused(&|w| _ = w.call("Comm_size", &[W, I(3)])), "more ranks than there are files, 2"),
        (refused(&|w| _ = w.call("Comm_size", &[W, I(1)])), "there are 1 ranks, but files of 2"),
    ] {
        assert!(refused.contains(part), "{refused}");
    }
    let message = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Writer::new().call("Waitall", &[I(1), A(&[1]), S(&[])]).finish();
        change(&mut bytes);
        Folder::new(&[bytes]).content("t.meta").err().unwrap()
    };
    assert!(message(&|b| b[0] = 0).contains("this is no file of DUMPI"));
    assert!(message(&|b| b.truncate(80)).contains("the file is cut off"));
    assert!(message(&|b| b[16] = 0xee).contains("byte 18: there is no function 60946"));
    assert!(message(&|b| b[49] = 0x70).contains("a list cannot have"), "{}", message(&|b| b[49] = 0x70));
    // Counts far beyond the file take no memory, whatever is counted; those that no record has are refused as such.
    let counted = |name: &str, fields: &[Field<'_>]| {
        let bytes = Writer::new().call(name, fields).finish();
        Folder::new(&[bytes]).content("t.meta").err().unwrap()
    };
    for (count, why) in [(1 << 22, "the file ends within a record"), (1 << 23, "a list cannot have")] {
        let waits = counted("Waitall", &[I(1), I(count)]);
        let statuses = counted("Waitall", &[I(1), A(&[1]), I(count)]);
        assert!(waits.contains(why) && statuses.contains(why), "{waits} {statuses}");
    }
    for fields in [&[H(3), I(1), I(1 << 23)][..], &[I(1 << 23)]] {
        let many = counted(if fields.len() > 1 { "Group_range_incl" } else { "Init" }, fields);
        assert!(many.contains("a list cannot have 8388608 entries"), "{many}");
    }
    let len = Writer::new().call("Waitall", &[I(1), A(&[1]), S(&[])]).finish().len();
    assert!(message(&|b| b[len - 25] = 0xff).contains("points to where nothing can be"));
    let folder = Folder::new(&[Writer::new().finish()]);
    std::fs::write(folder.0.join("t.meta"), "numprocs=2\nfileprefix=t\n").unwrap();
    assert!(folder.content("t.meta").err().unwrap().contains("t-0001.bin`, is missing: there are 2 ranks"));
    std::fs::write(folder.0.join("t.meta"), "numprocs=-2\nfileprefix=t\n").unwrap();
    assert!(folder.content("t.meta").err().unwrap().contains("this is no number of ranks"));
}

#[test]
fn changed_bytes_never_panic() {
    let mut w = Writer::new();
    w.call("Irecv", &[I(2), H(9), I(1), I(0), W, I(3)])
        .call("Waitsome", &[I(1), A(&[3]), I(1), A(&[0]), S(&[(1, 0)])]);
    w.call("Comm_group", &[W, H(3)]).call("Group_range_incl", &[H(3), I(1), M(&[&[0, 1, 1]]), H(5)]);
    w.call("Cart_create", &[W, I(2), A(&[2, 1]), A(&[0, 0]), I(0), H(8)])
        .call("Cart_sub", &[I(2), H(8), A(&[0, 1]), H(9)]);
    let bytes = w.call("Gatherv", &[I(0), I(2), I(0), H(1), I(0), W, A(&[1, 2]), A(&[0, 1]), H(9)]).finish();
    let folder = Folder::new(&[bytes.clone(), Writer::new().finish()]);
    let file = folder.0.join("t-0000.bin");
    for at in 0..bytes.len() {
        for change in [0, 1, 0x7f, 0xff] {
            let mut changed = bytes.clone();
            changed[at] = change;
            std::fs::write(&file, &changed).unwrap();
            // Whatever it holds, it is counted or refused.
            let _ = folder.content("t.meta").map(|content| Census::of(&content));
        }
        std::fs::write(&file, &bytes[..at]).unwrap();
        assert!(folder.content("t.meta").is_err());
    }
}

/// The records end where the index says, with a mark or behind MPI_Finalize; else calls are missing, or what follows was read as calls.
#[test]
fn records_fill_their_part_of_the_file() {
    let mut w = Writer::new();
    let whole = w.call("Send", &[I(1), H(9), I(0), I(0), H(2)]).call("Finalize", &[]).finish();
    let at = whole.len() - 64 + 8 * 4;
    let ending = |bytes: Vec<u8>| Folder::new(&[bytes]).content("t.meta").err();
    let header = u64::from_be_bytes(whole[at..at + 8].try_into().unwrap());
    let moved = |end: u64| {
        let mut bytes = whole.clone();
        bytes[at + 16..at + 24].copy_from_slice(&end.to_be_bytes());
        bytes
    };
    assert_eq!(ending(whole.clone()), None);
    for cut in [header - 10, header - 31, header - 40] {
        let message = ending(moved(cut)).unwrap();
        assert!(message.contains("record"), "{message}");
    }
}
