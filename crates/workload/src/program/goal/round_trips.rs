//! Text and binary say the same, and damaged files are refused.

use super::{Losses, is_binary, read_binary, read_text, write_binary, write_text};
use crate::program::{
    ANY_RANK, ANY_SOURCE, ANY_TAG, After, Batch, Cursor, Damage, Edge, Kind, Op, Program, UNKNOWN_BYTES,
    graph::{Graph, Link, Part, Positions},
    input::Input,
    mpi::Mode,
};
use base::{index::RankId, time::NS};
use proptest::prelude::*;
use std::io;

const RANKS: u32 = 5;

fn op() -> impl Strategy<Value = Op> {
    let kind = prop::sample::select(vec![Kind::Send, Kind::Recv, Kind::Calc]);
    let tag = prop_oneof![3 => 0u32..9, 1 => Just(ANY_TAG), 1 => any::<u32>()];
    (kind, 0u32..=RANKS, tag, 0u8..4, 0u8..3, 0u64..1 << 50).prop_map(
        |(kind, peer, tag, cpu, nic, amount)| {
            let open = kind == Kind::Recv;
            let peer = if peer < RANKS { peer } else { ANY_SOURCE * u32::from(open) };
            let tag = if open || tag != ANY_TAG { tag } else { 0 };
            let (peer, tag, amount) =
                if kind == Kind::Calc { (0, 0, amount * NS) } else { (peer, tag, amount) };
            let after = After::Nothing;
            Op {
                kind,
                cpu,
                nic,
                after,
                peer: RankId::new(peer),
                tag,
                context: 0,
                mode: Mode::Standard,
                amount,
                origin: 0,
                collective: 0,
            }
        },
    )
}

/// A rank whose edges, as the seeds say, go from lower to higher places in a shuffled order.
fn part() -> impl Strategy<Value = Part> {
    let edges = prop::collection::vec(
        (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>()),
        0..40,
    );
    (prop::collection::vec(op(), 0..20), edges, any::<bool>()).prop_map(|(ops, seeds, backwards)| {
        let n = ops.len() as u32;
        let place = |i: usize| if backwards { n - 1 - i as u32 } else { i as u32 };
        let edges = seeds.iter().filter(|_| n > 1).map(|(a, b, on_start)| {
            let a = a.index(n as usize - 1);
            let b = a + 1 + b.index(n as usize - 1 - a);
            Link::new(place(a), place(b), *on_start)
        });
        Part { edges: edges.collect(), ops: ops.into() }
    })
}

/// Without what a format need not keep: where operations came from, and the order of edges of different predecessors.
fn canonical(graph: &Graph) -> Vec<(Vec<Op>, Vec<Link>)> {
    let plain = |part: Part| {
        let ops = part.ops.iter().map(|op| Op { origin: 0, ..*op }).collect();
        let mut edges = part.edges.to_vec();
        edges.sort_by_key(|e| (e.before(), e.on_start()));
        (ops, edges)
    };
    parts(graph).into_iter().map(plain).collect()
}

fn text(program: &dyn Program) -> String {
    let mut text = Vec::new();
    assert_eq!(write_text(program, NS, &mut text).unwrap(), Losses::default());
    String::from_utf8(text).unwrap()
}

fn binary(program: &dyn Program) -> Vec<u8> {
    let mut bytes = io::Cursor::new(Vec::new());
    assert_eq!(write_binary(program, NS, &mut bytes).unwrap(), Losses::default());
    bytes.into_inner()
}

fn parts(graph: &Graph) -> Vec<Part> {
    RankId::first(graph.ranks()).map(|rank| graph.part(rank)).collect()
}

fn edges(graph: &Graph) -> Vec<Box<[Link]>> {
    parts(graph).into_iter().map(|p| p.edges).collect()
}

proptest! {
    #[test]
    fn text_and_binary_say_the_same(parts in prop::collection::vec(part(), RANKS as usize)) {
        let graph = Graph::new("x", Positions::Lines, parts);
        let text = text(&graph);
        let from_text = read_text(&Input::bytes("x.goal", text.as_bytes()), NS).unwrap();
        prop_assert_eq!(canonical(&graph), canonical(&from_text));
        prop_assert_eq!(edges(&graph), edges(&from_text));
        let bytes = binary(&from_text);
        prop_assert!(is_binary(&bytes));
        let from_binary = read_binary(&Input::bytes("x.bin", &bytes), NS).unwrap();
        prop_assert_eq!(canonical(&graph), canonical(&from_binary));
        prop_assert_eq!((graph.cpus(), graph.nics()), (from_binary.cpus(), from_binary.nics()));
        // Written again, the same bytes.
        prop_assert_eq!(&text, &super::round_trips::text(&from_text));
        prop_assert_eq!(bytes, binary(&from_binary));
    }

    /// Whatever changes: refused or read, and what is read can be written.
    #[test]
    fn damaged_binaries(
        parts in prop::collection::vec(part(), RANKS as usize), cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let bytes = binary(&Graph::new("x", Positions::Lines, parts));
        let shorter = &bytes[..cut.index(bytes.len())];
        prop_assert!(read_binary(&Input::bytes("x", shorter), NS).is_err());
        let mut changed = bytes.clone();
        for (at, byte) in changes {
            changed[at.index(bytes.len())] = byte;
        }
        if let Ok(graph) = read_binary(&Input::bytes("x", &changed), NS) {
            let again = read_binary(&Input::bytes("x", &binary(&graph)), NS).unwrap();
            prop_assert_eq!(canonical(&graph), canonical(&again));
        }
    }

    #[test]
    fn damaged_texts(
        parts in prop::collection::vec(part(), RANKS as usize), at in any::<prop::sample::Index>(),
        with in "\\PC{0,3}|[{}\n0-9a-z :-]{0,6}|requires|/\\*|rank", length in 0usize..8,
    ) {
        let mut text = text(&Graph::new("x", Positions::Lines, parts));
        let start = at.index(text.len());
        text.replace_range(start..(start + length).min(text.len()), &with);
        match read_text(&Input::bytes("x", text.as_bytes()), NS) {
            Ok(graph) => drop(binary(&graph)),
            Err(problems) => prop_assert!(!problems.is_empty()),
        }
    }
}

/// Two operations a rank, one operation a batch, everything that GOAL has no word for.
struct Odd;

struct OddCursor(usize, u32);

const ODD: Op = Op {
    kind: Kind::Join,
    cpu: 0,
    nic: 0,
    after: After::Nothing,
    peer: RankId::new(0),
    tag: 0,
    context: 0,
    mode: Mode::Standard,
    amount: 0,
    origin: 0,
    collective: 0,
};

impl Cursor for OddCursor {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), Damage> {
        let message = if self.1 == 0 { Kind::Send } else { Kind::Recv };
        let peer = RankId::new(1 - self.1);
        let ops = [
            Op { kind: message, peer, tag: 7, amount: 3, ..ODD },
            Op {
                kind: message,
                peer,
                tag: 7,
                context: 4,
                mode: Mode::Synchronous,
                after: After::Start,
                ..ODD
            },
            Op { kind: Kind::Calc, amount: 1_500, after: After::Finish, ..ODD },
            ODD,
            Op { kind: Kind::JoinAny, ..ODD },
            Op { kind: Kind::Probe, tag: 3, peer: RankId::new(1), ..ODD },
            Op { kind: Kind::Recv, peer: ANY_RANK, tag: ANY_TAG, context: 4, amount: UNKNOWN_BYTES, ..ODD },
        ];
        batch.ops.extend(ops.get(self.0));
        if self.0 == 3 {
            batch.edges.push(Edge { before: 0, after: 3, on_start: false });
        }
        self.0 += 1;
        Ok(())
    }
}

impl Program for Odd {
    fn ranks(&self) -> u32 {
        2
    }

    fn open(&self, rank: RankId) -> Box<dyn Cursor> {
        Box::new(OddCursor(0, rank.number()))
    }

    fn describe(&self, _: RankId, _: u32) -> String {
        String::new()
    }
}

#[test]
fn what_goal_cannot_say_is_counted() {
    let mut text = Vec::new();
    let losses = write_text(&Odd, NS, &mut text).unwrap();
    assert_eq!(losses, Losses { rounded: 2, waits_for_any: 2, probes: 2, modes: 1, open_tags: 2 });
    assert_eq!(losses.lines().len(), 5);
    let text = String::from_utf8(text).unwrap();
    let zero = "num_ranks 2\n\nrank 0 {\nl1: send 3b to 1 tag 7\nl2: send 0b to 1 tag 8\nl2 irequires l1\n\
        l3: calc 2\nl3 requires l2\nl4: calc 0\nl5: calc 0\nl6: recv 4611686018427387904b from -1 tag -1\n}\n";
    assert!(text.starts_with(zero), "{text}");
    let mut bytes = io::Cursor::new(Vec::new());
    assert_eq!(write_binary(&Odd, NS, &mut bytes).unwrap(), losses);
    let graphs = [
        read_text(&Input::bytes("x", text.as_bytes()), NS).unwrap(),
        read_binary(&Input::bytes("x", bytes.get_ref()), NS).unwrap(),
    ];
    assert_eq!(canonical(&graphs[0]), canonical(&graphs[1]));
}

/// The bytes of `num_ranks 1, rank 0 { a: send 10b to 0 tag 5, b: calc 7 cpu 2, b requires a }`, by hand from the description of the format.
const HAND: &[&[u8]] = &[
    &[0x7f, 0x10, 0, 0, 0, 0, 0, 0],
    &[1, 0, 0, 0, 2, 0],
    &[22, 0, 0, 0, 0, 0, 0, 0],
    &[116, 0, 0, 0, 0, 0, 0, 0],
    &[2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
    &[0, 0, 0, 0, 1, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0],
    &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
    &[1, 0, 0, 0, 3, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0],
    &[0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
    &[1, 0, 0, 0],
];

#[test]
fn the_bytes_are_those_of_the_description() {
    let bytes = HAND.concat();
    let text = "num_ranks 1\nrank 0 {\na: send 10b to 0 tag 5\nb: calc 7 cpu 2\nb requires a\n}\n";
    let graph = read_text(&Input::bytes("x", text.as_bytes()), NS).unwrap();
    assert_eq!(binary(&graph), bytes);
    let read = read_binary(&Input::bytes("x.bin", &bytes), NS).unwrap();
    assert_eq!(canonical(&graph), canonical(&read));
    assert_eq!(read.describe(RankId::new(0), 1), "operation 1 of rank 0 of x.bin");
}

#[test]
fn damage_is_named() {
    for (at, byte, message) in [
        (0, 0x26, "no GOAL binary"),
        (8, 0, "at least one rank"),
        (9, 1, "cut off: it ends within the table of 257 ranks"),
        (14, 21, "rank 0: damaged: it is said to be at bytes 29 to 124"),
        (22, 120, "rank 0: cut off: it ends at byte 128, but the file at 124"),
        (22, 114, "rank 0: damaged: its parts do not fit"),
        (30, 1, "rank 0: damaged"),
        (34, 9, "rank 0: damaged"),
        (38, 1, "the list of operations that start at once is wrong"),
        (42, 1, "operation 0: said to wait for 1 others, but there are 0"),
        (46, 4, "operation 0: damaged: there is no kind 4"),
        (47, 1, "operation 0: there is no rank 1: the 1 ranks count from 0"),
        (58, 64, "operation 0: a message of 4611686018427387914 bytes"),
        (63, 255, "processors and interfaces are at most 254"),
        (97, 64, "operation 1: a computation of 4611686018427387911 units is longer than 2^62 ps"),
        (69, 9, "operation 0: damaged: its dependencies are not where they should be"),
        (65, 2, "operation 0: damaged: its dependencies lie outside of the rank"),
        (65, 0, "damaged: dependencies are left over"),
        (120, 2, "operation 0: damaged: operation 2 waits for it, but there are only 2"),
        (120, 0, "operation 0: said to wait for 0 others, but there are 1"),
    ] {
        let mut bytes = HAND.concat();
        bytes[at] = byte;
        let problems = read_binary(&Input::bytes("x.bin", &bytes), NS).err();
        let said = problems.map(|p| p[0].message.clone()).unwrap_or_default();
        assert!(said.contains(message), "byte {at} = {byte}: {said:?}");
    }
    let mut bytes = HAND.concat();
    bytes[..8].copy_from_slice(&2342u64.to_le_bytes());
    let reported =
        |bytes: &[u8]| read_binary(&Input::bytes("x.bin", bytes), NS).err().unwrap()[0].message.clone();
    assert!(is_binary(&bytes) && reported(&bytes).contains("make it again from its text"));
    bytes[..8].copy_from_slice(&4223u64.to_be_bytes());
    assert!(is_binary(&bytes) && reported(&bytes).contains("big-endian"));
    assert!(!is_binary(b"num_ranks 4") && !is_binary(b""));
}

#[test]
fn circles_and_overlaps_in_binaries() {
    let mut bytes = HAND.concat();
    // Operation 0 waits for itself, and nothing starts at once.
    bytes[120] = 0;
    bytes[42] = 1;
    bytes[81] = 0;
    let reported =
        |bytes: &[u8]| read_binary(&Input::bytes("x.bin", bytes), NS).err().unwrap()[0].message.clone();
    assert!(reported(&bytes).contains("start at once"), "{}", reported(&bytes));
    bytes[38] = 1;
    assert!(reported(&bytes).contains("operations 0 can never start"), "{}", reported(&bytes));
    let two = Graph::new("x", Positions::Lines, vec![Part::default(), Part::default()]);
    let mut bytes = binary(&two);
    assert_eq!(bytes.len(), 8 + 6 + 32 + 16);
    let first: Vec<u8> = bytes[14..30].to_vec();
    bytes[30..46].copy_from_slice(&first);
    assert!(reported(&bytes).contains("ranks 0 and 1 overlap"));
}
