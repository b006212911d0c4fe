use super::*;
use crate::program::{
    Batch, Kind, Op, Program,
    census::{Census, Matching},
    file::{Content, Format},
    lower,
};
use std::path::PathBuf;

/// A folder with the files of ranks, removed at the end.
struct Folder(PathBuf, &'static str);

impl Folder {
    fn new(end: &'static str, files: &[Vec<u8>]) -> Self {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("netloom-chakra-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        for (rank, bytes) in files.iter().enumerate() {
            std::fs::write(path.join(format!("t.{rank}.{end}")), bytes).unwrap();
        }
        Self(path, end)
    }

    fn json(nodes: &[&str]) -> Self {
        let file = |nodes: &&str| format!("{{ \"workload_graph\": [{nodes}], \"ngpus\": 8 }}").into_bytes();
        Self::new("json", &nodes.iter().map(file).collect::<Vec<_>>())
    }

    fn content(&self) -> Result<Content, String> {
        let file = self.0.join(format!("t.0.{}", self.1));
        let read = Content::read(&Input::file(file), Scale { speed: 1e12, ..Scale::DEFAULT });
        let (format, content) = read.map_err(|problems| problems[0].message.clone())?;
        assert_eq!(format, if self.1 == "json" { Format::ChakraJson } else { Format::Chakra });
        Ok(content)
    }

    fn program(&self) -> Arc<dyn Program> {
        self.content().unwrap().program(&Input::file("t"), lower::Options::default()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// All operations of a rank, and the numbers of those that each waits for.
fn operations(program: &dyn Program, rank: u32) -> Result<Vec<(Op, Vec<u64>)>, String> {
    let (mut cursor, mut batch, mut all) = (program.open(RankId::new(rank)), Batch::default(), Vec::new());
    loop {
        batch.clear();
        cursor.fill(&mut batch).map_err(|d| d.0)?;
        if batch.ops.is_empty() {
            return Ok(all);
        }
        let first = all.len() as u64;
        all.extend(batch.ops.iter().map(|&op| (op, Vec::new())));
        for edge in &batch.edges {
            all[edge.after as usize].1.push(edge.before);
        }
        for n in first..all.len() as u64 {
            if all[n as usize].0.after != crate::program::After::Nothing {
                all[n as usize].1.push(n - 1);
            }
        }
    }
}

fn node(id: u64, kind: u64, after: &str, more: &str) -> String {
    format!(
        "{{\"Id\": {id}, \"NodeType\": {kind}, \"data_deps\": [{after}], \"is_cpu_op\": false, {more} \"x\": 1}}"
    )
}

#[test]
fn nodes_wait_for_those_that_they_need() {
    let nodes = [
        node(9, 4, "3, 4", "\"runtime\": 5,"),
        node(3, 4, "", "\"num_ops\": 2000000,"),
        node(4, 2, "", "\"runtime\": 7,"),
        "{\"Id\": 5, \"NodeType\": 7, \"Name\": \"c10d::allreduce_\", \"runtime\": 1, \"is_cpu_op\": true}"
            .to_owned(),
        node(6, 1, "9", ""),
    ]
    .join(",");
    let folder = Folder::json(&[&nodes]);
    let program = folder.program();
    let all = operations(&*program, 0).unwrap();
    let rows: Vec<_> =
        all.iter().map(|(op, after)| (op.origin, op.cpu, op.kind, op.amount, after.clone())).collect();
    assert_eq!(
        rows,
        [
            (3, 1, Kind::Calc, 2_000_000, vec![]),
            (4, 2, Kind::Calc, 7_000_000, vec![]),
            (5, 0, Kind::Calc, 1_000_000, vec![]),
            (9, 1, Kind::Calc, 5_000_000, vec![0, 1]),
            (6, 0, Kind::Join, 0, vec![3]),
        ]
    );
    assert_eq!((program.cpus(), program.remarks().len()), (3, 0));
    assert!(program.describe(RankId::new(0), 3).ends_with("t.0.json, node 3"));
}

#[test]
fn lists_of_groups_are_read_as_they_are_spelled_or_counted() {
    let list = r#"[{"pg_name": "7", "ranks": [0, 2]}]"#;
    for spelled in [list.to_owned(), format!("[{list}]"), format!("['{list}']")] {
        assert_eq!(node::groups_of(&spelled), Some(vec![("7".to_owned(), vec![0, 2])]), "{spelled}");
    }
    for other in ["", "[]", "[{}]", "}][{"] {
        assert_eq!(node::groups_of(other), None, "{other}");
    }
    let lists =
        "{\"Id\": 0, \"NodeType\": 1, \"Name\": \"## process_group:init ##\", \"inputs\": \"7 [0, 2]\"}";
    let folder = Folder::json(&[lists]);
    let program = folder.program();
    operations(&*program, 0).unwrap();
    let remarks = program.remarks();
    assert!(
        remarks.len() == 1 && remarks[0].text.contains("1 lists of process groups cannot be read"),
        "{remarks:?}"
    );
}

#[test]
fn groups_are_said_or_named() {
    let said = "{\"Id\": 0, \"NodeType\": 1, \"Name\": \"## process_group:init ##\", \
                \"inputs\": \"[{\\\"pg_name\\\": \\\"7\\\", \\\"ranks\\\": [0, 2]}]\"}";
    let reduce = |id: u64, group: &str| {
        node(id, 7, "", &format!("\"comm_type\": 0, \"comm_size\": 64, \"pg_name\": \"{group}\","))
    };
    let all = |id: u64| node(id, 7, "", "\"comm_type\": 0, \"comm_size\": 8,");
    // Ranks 1 and 2 name group b, so they are in it; the files of the first two are in another order of nodes.
    let files = [
        [said.to_owned(), reduce(2, "7"), all(1)].join(","),
        [all(1), reduce(3, "b")].join(","),
        [reduce(4, "b"), reduce(2, "7"), all(1)].join(","),
    ];
    let folder = Folder::json(&files.each_ref().map(String::as_str));
    let program = folder.program();
    let census = Census::of(&Content::Program(program.clone())).unwrap();
    assert_eq!(census.matching, Matching::Exact);
    let peers = |rank: u32, context: u32| -> Vec<u32> {
        let all = operations(&*program, rank).unwrap();
        let mut peers: Vec<u32> = all
            .iter()
            .filter(|(op, _)| op.kind == Kind::Send && op.context == context)
            .map(|(op, _)| op.peer.number())
            .collect();
        peers.dedup();
        peers
    };
    assert_eq!((peers(0, 3), peers(2, 3), peers(1, 5), peers(2, 5)), (vec![2], vec![0], vec![2], vec![1]));
    assert!(!peers(0, 1).is_empty());
    assert_eq!(program.remarks().len(), 0);
}

#[test]
fn sends_meet_receives_and_sizes_are_those_of_a_rank() {
    let first = [
        node(1, 5, "", "\"comm_dst\": 1, \"comm_tag\": 4, \"comm_size\": 10,"),
        node(2, 7, "1", "\"Name\": \"ncclKernel_AllGather_RING\", \"comm_size\": 10,"),
        node(3, 7, "2", "\"comm_type\": 7, \"comm_size\": 11,"),
        node(4, 7, "3", "\"comm_type\": 9,"),
        node(5, 7, "4", "\"comm_type\": 6, \"comm_size\": 10,"),
    ]
    .join(",");
    let second =
        first.replace("\"NodeType\": 5", "\"NodeType\": 6").replace("comm_dst\": 1", "comm_src\": 0");
    let folder = Folder::json(&[&first, &second]);
    let program = folder.program();
    assert_eq!(Census::of(&Content::Program(program.clone())).unwrap().matching, Matching::Exact);
    let sent: Vec<(u32, u64)> = operations(&*program, 0)
        .unwrap()
        .iter()
        .filter(|(op, _)| op.kind == Kind::Send)
        .map(|(op, _)| (op.origin, op.amount))
        .collect();
    assert_eq!(sent, [(1, 10), (2, 10), (3, 6), (4, 0), (5, 5)]);
}

#[test]
fn what_cannot_be_replayed_is_counted() {
    let nodes = [
        node(1, 7, "", "\"runtime\": 3,"),
        node(2, 5, "", "\"comm_dst\": 5, \"comm_size\": 1,"),
        node(3, 2, "77", ""),
        node(4, 40, "", ""),
    ]
    .join(",");
    let folder = Folder::json(&[&nodes]);
    let program = folder.program();
    assert_eq!(operations(&*program, 0).unwrap()[0].0.amount, 3_000_000);
    let remarks: Vec<String> = program.remarks().into_iter().map(|r| r.text).collect();
    assert_eq!(remarks.len(), 5, "{remarks:?}");
    for (remark, begin) in remarks.iter().zip([
        "1 communication nodes do not say",
        "1 nodes have neither",
        "1 dependencies name",
        "1 communication nodes are with",
        "1 nodes are of a type",
    ]) {
        assert!(remark.starts_with(begin), "{remark}");
    }
}

/// A rank that is not in the group of its collective has a file all the same.
#[test]
fn a_rank_outside_of_a_group_is_none_without_a_file() {
    let group = |ranks: &str| {
        let list = format!("[{{\\\"pg_name\\\": \\\"7\\\", \\\"ranks\\\": [{ranks}]}}]");
        let said = format!(
            "{{\"Id\": 0, \"NodeType\": 1, \"Name\": \"process_group:init\", \"inputs\": \"{list}\"}}"
        );
        [said, node(1, 7, "", "\"comm_type\": 0, \"comm_size\": 64, \"pg_name\": \"7\",")].join(",")
    };
    for (ranks, said) in [
        ("0, 1", "1 communication nodes are of a group that their rank is not in"),
        ("0, 1, 3", "3 communication nodes are with ranks that have no file"),
    ] {
        let nodes = group(ranks);
        let folder = Folder::json(&[&nodes, &nodes, &nodes]);
        let program = folder.program();
        (0..3).for_each(|rank| _ = operations(&*program, rank).unwrap());
        let remarks = program.remarks();
        assert!(remarks.len() == 1 && remarks[0].text.starts_with(said), "{ranks}: {remarks:?}");
    }
}

/// Those that are of data, too, are not passed over; of either form.
#[test]
fn control_dependencies_are_counted() {
    let nodes = [
        node(1, 4, "", ""),
        node(2, 4, "", "\"ctrl_deps\": [1],"),
        node(3, 4, "2", "\"ctrl_deps\": [1, 2],"),
    ];
    let calc =
        |id, more: &[Vec<u8>]| [&[number(1, id), number(3, 4), number(7, 2)][..], more].concat().concat();
    let messages = messages(&[
        calc(1, &[]),
        calc(2, &[bytes(4, &[1])]),
        calc(3, &[number(5, 2), number(4, 1), number(4, 2)]),
    ]);
    for folder in [Folder::json(&[&nodes.join(",")]), Folder::new("et", &[messages])] {
        let program = folder.program();
        operations(&*program, 0).unwrap();
        let remarks = program.remarks();
        assert!(remarks.len() == 1 && remarks[0].text.starts_with("2 control dependencies"), "{remarks:?}");
        assert!(!remarks[0].missing, "no message is missing");
    }
}

#[test]
fn damage_is_refused() {
    let refused = |nodes: &str| {
        let folder = Folder::json(&[nodes]);
        let content = folder.content();
        content.and_then(|c| Census::of(&c).map_err(|d| d.0)).err().unwrap()
    };
    assert!(refused(&node(1, 4, "2", "")[1..]).contains("t.0.json: "));
    let circle = [node(1, 4, "2", ""), node(2, 4, "1", ""), node(3, 4, "", "")].join(",");
    assert!(refused(&circle).contains("waits for itself"));
    assert!(refused(&[node(1, 4, "", ""), node(1, 4, "", "")].join(",")).contains("there are two nodes 1"));
    let size = |bytes: &str| refused(&node(1, 7, "", &format!("\"comm_type\": 0, \"comm_size\": {bytes},")));
    let large = "t.0.json, node 1: 4611686018427387905 elements of 1 B are too large";
    assert!(size("4611686018427387905").contains(large) && size("-1").contains("invalid value"));
    assert!(
        refused(&node(1, 4, "", "\"runtime\": 5000000000000,")).contains("computation of 5000000 s is too")
    );
    assert!(refused(&node(1, 4, "", "\"num_ops\": 18446744073709551615,")).contains("is too long"));
    let root = node(1, 7, "", "\"comm_type\": 5, \"comm_size\": 5, \"root\": 3,");
    let folder = Folder::json(&[&root, &root]);
    let error = operations(&*folder.program(), 0).unwrap_err();
    assert!(error.contains("t.0.json, node 1: rank 0: root 3 is not among the 2 ranks"), "{error}");
}

/// A field of a number, and one of bytes.
fn number(field: u8, n: u64) -> Vec<u8> {
    let mut bytes = vec![field << 3];
    let mut rest = n;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

fn bytes(field: u8, content: &[u8]) -> Vec<u8> {
    [&[field << 3 | 2, content.len() as u8][..], content].concat()
}

fn attribute(name: &str, field: u8, value: u64) -> Vec<u8> {
    let key = number(field, value);
    // Fields from 16 on have a key of two bytes.
    let key = if field < 16 { key } else { [&[field << 3 | 0x80, field >> 4][..], &key[1..]].concat() };
    bytes(10, &[bytes(1, name.as_bytes()), key].concat())
}

fn messages(nodes: &[Vec<u8>]) -> Vec<u8> {
    let head = bytes(1, b"0.0.4");
    [&[head][..], nodes].concat().iter().flat_map(|m| [&[m.len() as u8][..], m].concat()).collect()
}

fn written() -> Vec<u8> {
    let comm = [
        number(1, 300),
        bytes(2, b"all_reduce"),
        number(3, 7),
        bytes(5, &[1, 0x82, 0x01]),
        number(7, 9),
        attribute("is_cpu_op", 27, 0),
        attribute("comm_type", 9, 0),
        attribute("comm_size", 9, 4096),
        bytes(10, &[bytes(1, b"pg_name"), [&[0xea, 0x01, 1][..], b"0"].concat()].concat()),
    ];
    let comp = [number(1, 1), number(3, 4), number(7, 200), attribute("is_cpu_op", 27, 1)];
    let other =
        [number(1, 130), number(3, 4), number(7, 2), number(5, 1), vec![6 << 3 | 1, 1, 2, 3, 4, 5, 6, 7, 8]];
    messages(&[comm.concat(), comp.concat(), other.concat()])
}

#[test]
fn messages_hold_the_same() {
    let folder = Folder::new("et", &[written(), written()]);
    let program = folder.program();
    let all = operations(&*program, 0).unwrap();
    let rows: Vec<_> = all.iter().map(|(op, _)| (op.origin, op.cpu, op.kind, op.amount)).collect();
    assert_eq!(rows[0], (1, 0, Kind::Calc, 200_000_000));
    assert_eq!(rows[1], (130, 1, Kind::Calc, 2_000_000));
    assert_eq!((rows[2].0, rows[2].1, rows.last().unwrap().2), (300, 2, Kind::Join));
    assert!(rows.contains(&(300, 2, Kind::Send, 2048)), "{rows:?}");
    assert!(program.remarks().is_empty(), "{:?}", program.remarks());
    assert_eq!(Census::of(&Content::Program(program)).unwrap().matching, Matching::Exact);
}

/// Sizes are signed, and one that is not known is -1.
#[test]
fn a_negative_size_is_refused() {
    let negative =
        [number(1, 3), number(3, 7), attribute("comm_type", 9, 0), attribute("comm_size", 9, u64::MAX)];
    let folder = Folder::new("et", &[messages(&[negative.concat()])]);
    let error = folder.content().err().unwrap();
    assert!(error.contains("t.0.et, node 3: 18446744073709551615 elements of 1 B are too large"), "{error}");
}

#[test]
fn changed_bytes_never_panic() {
    let sound = written();
    let folder = Folder::new("et", &[sound.clone(), sound.clone()]);
    let file = folder.0.join("t.0.et");
    for at in 0..sound.len() {
        for change in [0, 1, 0x7f, 0x80, 0xff] {
            let mut changed = sound.clone();
            changed[at] = change;
            for bytes in [&changed[..], &sound[..at]] {
                std::fs::write(&file, bytes).unwrap();
                // Whatever it holds, it is counted or refused.
                let _ = Content::read(&Input::file(&file), Scale::DEFAULT)
                    .map(|(_, content)| Census::of(&content));
            }
        }
    }
    let text =
        format!("{{ \"workload_graph\": [{}] }}", node(1, 7, "2", "\"comm_type\": 5, \"comm_size\": 5,"));
    let folder = Folder::new("json", &[text.clone().into_bytes()]);
    let file = folder.0.join("t.0.json");
    for at in 0..text.len() {
        for change in [0, b'9', b'-', b'"', b'}', 0xff] {
            let mut changed = text.clone().into_bytes();
            changed[at] = change;
            std::fs::write(&file, changed).unwrap();
            let _ =
                Content::read(&Input::file(&file), Scale::DEFAULT).map(|(_, content)| Census::of(&content));
        }
    }
}

/// Ranks that call other collectives, or an all-reduce of other sizes, are reported; what each sends in an all-gather may differ.
#[test]
fn ranks_that_call_different_collectives_are_reported() {
    let node = |id: u32, kind: u32, size: u32| {
        let after = if id > 1 { (id - 1).to_string() } else { String::new() };
        format!(
            r#"{{"Id":{id},"NodeType":7,"data_deps":[{after}],"is_cpu_op":false,"comm_type":{kind},"comm_size":{size}}}"#
        )
    };
    let remarks = |first: [(u32, u32); 2], second: [(u32, u32); 2]| {
        let nodes = |calls: [(u32, u32); 2]| {
            calls
                .iter()
                .zip(1..)
                .map(|(&(kind, size), id)| node(id, kind, size))
                .collect::<Vec<_>>()
                .join(",")
        };
        let folder = Folder::json(&[&nodes(first), &nodes(second)]);
        let program = folder.program();
        (0..2).for_each(|rank| drop(operations(&*program, rank).expect("it can be read")));
        // What other processes read counts as well.
        let elsewhere = folder.program();
        elsewhere.note(&program.noted());
        let found = program.remarks();
        assert_eq!(elsewhere.remarks(), found);
        found.into_iter().filter(|remark| remark.flag == crate::program::Remark::MISMATCH).collect::<Vec<_>>()
    };
    let found = remarks([(0, 64), (2, 64)], [(2, 64), (0, 64)]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].missing && found[0].text.starts_with("collective 1 of a communicator"), "{found:?}");
    assert_eq!(remarks([(0, 64), (0, 64)], [(0, 64), (0, 128)]).len(), 1);
    assert_eq!(remarks([(0, 64), (2, 64)], [(0, 64), (2, 128)]), []);
    assert_eq!(remarks([(0, 64), (2, 64)], [(0, 64), (2, 64)]), []);
}
