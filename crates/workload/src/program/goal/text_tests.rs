//! Everything that the text form has, and everything that can be wrong with it.

use super::{read_text, text::CALC};
use crate::program::{ANY_RANK, ANY_TAG, Batch, Edge, Kind, Op, Program, graph::Graph, input::Input};
use base::{index::RankId, param::Problem, time::NS};

fn read(text: &str) -> Result<Graph, Vec<Problem>> {
    read_text(&Input::bytes("x.goal", text.as_bytes()), NS)
}

fn batch(graph: &Graph, rank: u32) -> Batch {
    let mut batch = Batch::default();
    graph.open(RankId::new(rank)).fill(&mut batch).unwrap();
    batch
}

const SMALL: &str = "\u{feff}num_ranks 3 // three\r\n\
    rank 2 {\r\n\ta: recv 10 b from -1 tag -1 nic 2 cpu 1\r\n\tcalc 5\r\n}\r\n\
    /* two\n lines */ rank 0 { b requires a\n a: send 10b to 2 tag 5 cpu 3 nic 1 /* why */ // so\n\
    b: calc 7 cpu 2\n b irequires a }\n\
    rank 1 { }";

#[test]
fn everything_of_the_language() {
    let graph = read(SMALL).unwrap();
    assert_eq!((graph.ranks(), graph.cpus(), graph.nics(), graph.total()), (3, 4, 3, Some(4)));
    let zero = batch(&graph, 0);
    let send =
        Op { kind: Kind::Send, peer: RankId::new(2), tag: 5, cpu: 3, nic: 1, amount: 10, origin: 8, ..CALC };
    let calc = Op { cpu: 2, amount: 7 * NS, origin: 9, ..CALC };
    assert_eq!(zero.ops, [send, calc]);
    let edge = |on_start| Edge { before: 0, after: 1, on_start };
    assert_eq!(zero.edges, [edge(false), edge(true)]);
    assert!(batch(&graph, 1).ops.is_empty());
    let two = batch(&graph, 2);
    let recv =
        Op { kind: Kind::Recv, peer: ANY_RANK, tag: ANY_TAG, cpu: 1, nic: 2, amount: 10, origin: 3, ..CALC };
    assert_eq!(two.ops, [recv, Op { amount: 5 * NS, origin: 4, ..CALC }]);
    assert_eq!(graph.describe(RankId::new(2), 4), "x.goal:4");
    let mut cursor = graph.open(RankId::new(2));
    let mut again = Batch::default();
    cursor.fill(&mut again).unwrap();
    again.clear();
    cursor.fill(&mut again).unwrap();
    assert!(again.ops.is_empty());
}

/// Wraps one line of rank 0, whose labels `l1` (line 3) and `l2` are known.
fn reported(line: &str) -> (u64, String, String) {
    let text = format!("num_ranks 2\nrank 0 {{\nl1: calc 1\nl2: calc 1\n{line}\n}}\nrank 1 {{\n}}\n");
    let problems = read(&text).err().unwrap_or_default();
    assert_eq!(problems.len(), 1, "{line}: {problems:?}");
    let at = problems[0].input.clone().unwrap();
    (
        at.line,
        problems[0].message.clone() + " | " + problems[0].help.as_deref().unwrap_or(""),
        at.text[at.start..at.end].to_owned(),
    )
}

#[test]
fn says_what_is_wrong_and_where() {
    for (line, message, mark) in [
        ("l1 requires l22", "no operation of this rank has the label `l22` | did you mean `l2`?", "l22"),
        ("nothing irequires l1", "no operation of this rank has the label `nothing`", "nothing"),
        ("l1: calc 2", "the label `l1` stands for the operation of line 3 already", "l1"),
        ("send 1b to 2", "there is no rank 2: the 2 ranks count from 0", "2"),
        ("recv 1b from 99999999999999999999", "a rank is at most 4294967295", "99999999999999999999"),
        ("send 1b to -1", "only receives may leave the other rank open", "-1"),
        ("send 1b to 1 tag -1", "only receives may leave the tag open", "-1"),
        (
            "send 9223372036854775808b to 1",
            "a number of bytes is at most 4611686018427387904",
            "9223372036854775808",
        ),
        ("calc 4611686018427388", "longer than 2^62 ps, about 53 days | is the unit", "4611686018427388"),
        ("send 10 to 1", "`b` for bytes, such as `10b` is wanted here", "to"),
        ("send 10b from 1", "`to` is wanted here", "from"),
        ("recv 10b", "the line ends where `from` is wanted", ""),
        ("recv 10b from 1 tag 1 tag 2", "this is said twice", "tag"),
        ("recv 10b from 1 gat 1", "`gat` says nothing here | what may follow is `tag`, `cpu`", "gat"),
        ("calc 1 tag 1", "`tag` says nothing here", "tag"),
        ("calc 1 cpu 255", "a processor is at most 254", "255"),
        ("calc 1 2", "the end of the line is wanted here", "2"),
        ("x: cacl 1", "`cacl` is no operation | did you mean `calc`?", "cacl"),
        ("cacl 1", "`:`, `requires` or `irequires` is wanted here", "1"),
        ("x y z", "`y` says nothing here", "y"),
        ("sent 1b to 1", "`:`, `requires` or `irequires` is wanted", "1b"),
        ("5", "a statement, such as `a: send 10b to 1` or `b requires a` is wanted here", "5"),
        ("num_ranks 3", "the number of ranks is given once, before the first rank", "num_ranks"),
        ("}\ncalc 1\nrank 9 {", "this stands outside of any rank", "calc"),
    ] {
        if line.starts_with('}') {
            let text = format!("num_ranks 2\nrank 0 {{\n{line}\n}}\nrank 1 {{\n}}\n");
            let problems = read(&text).err().unwrap();
            assert!(problems[0].message.contains(message), "{problems:?}");
            assert!(problems[1].message.contains("there is no rank 9"), "{problems:?}");
            assert_eq!(problems.len(), 2);
            continue;
        }
        let (at, said, marked) = reported(line);
        assert!(said.contains(message), "{line:?}: {said:?}");
        assert_eq!((at, marked.as_str()), (5, mark), "{line:?}");
    }
}

#[test]
fn circles_are_reported_with_their_labels() {
    let (line, said, _) = reported("l1 requires l2\nl2 irequires l1");
    assert_eq!(line, 3);
    assert!(said.contains("2 operations can never start: they wait for each other"), "{said}");
    assert!(said.contains("`l1` (line 3) requires `l2` (line 4) requires `l1` (line 3)"), "{said}");
    assert!(reported("l2 requires l2").1.contains("an operation can never start"));
}

#[test]
fn structure() {
    for (text, message) in [
        ("", "x.goal: the number of ranks is missing | GOAL text begins"),
        ("num_ranks 0", "at least one rank"),
        (
            "num_ranks 1\nrank 0 {\ncalc 1",
            "the file ends within rank 0 | `}` is missing: is the file complete?",
        ),
        ("num_ranks 1\nrank 0\n{\n}", "`{` on the line of the rank"),
        ("rank 0 {\n}", "the number of ranks is not known yet"),
        (
            "num_ranks 2\nrank 0 {\ncalc 1\nrank 1 {\n}",
            "rank 0 is still open here | `}` is missing; it began on line 2",
        ),
        ("num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\nrank 1 {\n}", "rank 0 was described on line 2 already"),
        (
            "num_ranks 3\nrank 2 {\n}\nrank 0 {\n}",
            "rank 1 is missing | a rank that does nothing is written `rank 1 {`",
        ),
        (
            "num_ranks 4000000000\nrank 0 {\n}",
            "3999999999 of 4000000000 ranks are missing, the first is rank 1",
        ),
        ("num_ranks 1\nrank 0 {\n}\n}", "no rank is open that this could close"),
        ("num_ranks 1\nrank 0 {\n}\n/* x", "this comment is never closed"),
        ("num_ranks 1\nrank 0 {\n}\n\u{0}x", "a statement"),
    ] {
        let problems = read(text).err().unwrap_or_else(|| panic!("{text:?} is read"));
        let said = format!("{} | {}", problems[0].message, problems[0].help.clone().unwrap_or_default());
        assert!(said.contains(message), "{text:?}: {said}");
    }
    let junk = "\u{1f600} {{\n".repeat(1000);
    let problems = read(&junk).err().unwrap();
    assert_eq!(problems.len(), 101);
    assert!(problems[100].message.ends_with("more errors"), "{}", problems[100].message);
    assert!(
        read_text(&Input::file("no/such/file"), NS).is_err_and(|p| p[0].message.contains("cannot be read"))
    );
}
