use super::*;
use crate::{
    registry::LINK_CLASSES,
    topology::testing::{links, peers},
};
use base::{
    index::{PortId, RouterId},
    param::Excerpt,
};

fn parse(text: &str) -> Result<Fabric, Vec<Mistake>> {
    super::parse(text, LINK_CLASSES)
}

/// Line, stretch and message of each mistake.
fn mistakes(text: &str) -> Vec<(u64, String, String)> {
    let found = parse(text).err().unwrap_or_else(|| panic!("{text:?} is right"));
    let lines: Vec<&str> = text.lines().collect();
    let stretch = |m: &Mistake| match m.line {
        0 => String::new(),
        line => lines[line as usize - 1][m.start..m.end].to_owned(),
    };
    found.iter().map(|m| (m.line, stretch(m), m.message.clone())).collect()
}

#[test]
fn an_edge_list_is_built_line_by_line() {
    let fabric = parse(
        "# a triangle with a tail\nrouters 4\nterminals 1\nterminals 3 2  # more at the end\n\n0 1\n1 2 global\n2 0 x2\n2 3 a x3\n",
    )
    .unwrap();
    assert_eq!((fabric.routers(), fabric.terminals()), (4, 5));
    assert_eq!(peers(&fabric, 2), [1, 0, 0, 3, 3, 3]);
    let counts = links(&fabric);
    let of = |class: &str| counts[LINK_CLASSES.iter().position(|c| *c == class).unwrap()];
    assert_eq!([of("terminal"), of("link"), of("global"), of("a")], [5, 3, 1, 3]);
    let places = fabric.attachments().iter().map(|&(router, port)| (router.number(), port.number()));
    assert_eq!(places.collect::<Vec<_>>(), [(0, 3), (1, 2), (2, 6), (3, 3), (3, 4)]);
}

#[test]
fn routers_and_terminals_have_defaults() {
    let fabric = parse("0 1\n1 2").unwrap();
    assert_eq!((fabric.routers(), fabric.terminals()), (3, 3));
    // Where some routers' terminals are given, the others have none; the last word counts.
    let fabric = parse("0 1\n1 2\nterminals 0 4\nterminals 2 1\nterminals 0 2").unwrap();
    assert_eq!(fabric.attachments().iter().map(|a| a.0.number()).collect::<Vec<_>>(), [0, 0, 2]);
    // A network of one router.
    assert_eq!(parse("routers 1\nterminals 3").unwrap().terminals(), 3);
}

#[test]
fn all_mistakes_of_an_edge_list_are_reported_with_their_words() {
    let text = "routers\n0 1 lokal\n0\n0 one\n1 2 global 4\n1 2 global x0\n1 2 a x2 b\n1 2 terminal\n1 99999999999999999999\nterminals 1 2 3\n";
    let columns = mistakes(text);
    let brief: Vec<(u64, &str)> =
        columns.iter().map(|(line, stretch, _)| (*line, stretch.as_str())).collect();
    let expected = [
        (1, "routers"),
        (2, "lokal"),
        (3, "0"),
        (4, "one"),
        (5, "4"),
        (6, "x0"),
        (7, "b"),
        (8, "terminal"),
        (9, "99999999999999999999"),
        (10, "terminals 1 2 3"),
    ];
    assert_eq!(brief, expected, "{columns:?}");
    assert_eq!(columns[1].2, "there is no link class `lokal`: did you mean `local`?");
    // Numbers that no router can have, and what is said twice.
    let columns =
        mistakes("0 4294967295\nrouters 3\nrouters 3\nterminals 1\nterminals 2\nterminals 16777216 1\n");
    let brief: Vec<(u64, &str)> =
        columns.iter().map(|(line, stretch, _)| (*line, stretch.as_str())).collect();
    assert_eq!(
        brief,
        [(1, "4294967295"), (3, "routers 3"), (5, "terminals 2"), (6, "16777216")],
        "{columns:?}"
    );
    assert_eq!(columns[0].2, "router 4294967295 cannot be: routers are numbered below 16777216");
    assert_eq!(columns[2].2, "line 4 has given the terminals of every router already");
}

/// `ports` bounds what links and terminals may take; each router that needs more is reported once.
#[test]
fn ports_that_contradict_the_links_are_reported() {
    let columns = mistakes(&format!(
        "{HEAD}\"ports\": [2, 1, 1], \"links\": [\n{{\"a\": [0, 0], \"b\": [1, 4]}},\n{{\"a\": [0, 2], \"b\": [1, 5]}}],\n\"terminals\": [[2, 0]]}}"
    ));
    let expected = [
        (2, "router 1 has 1 ports by `ports`, and this needs 5".to_owned()),
        (3, "router 0 has 2 ports by `ports`, and this needs 3".to_owned()),
    ];
    assert_eq!(columns.into_iter().map(|t| (t.0, t.2)).collect::<Vec<_>>(), expected);
    let counted = format!(
        "{HEAD}\"ports\": [PORTS], \"links\": [{{\"a\": 0, \"b\": 1, \"count\": 2}}, {{\"a\": 1, \"b\": 2}}],\n\"terminals\": [0, 2]}}"
    );
    let columns = mistakes(&counted.replace("PORTS", "2, 3, 2"));
    assert_eq!((columns.len(), columns[0].0, columns[0].2.contains("needs 3")), (1, 2, true), "{columns:?}");
    let fabric = parse(&counted.replace("PORTS", "4, 3, 2")).unwrap();
    let degrees: Vec<usize> = (0..3).map(|r| fabric.ports_of(RouterId::new(r)).len()).collect();
    assert_eq!(degrees, [4, 3, 2], "`ports` is how many there are, not how many more");
}

#[test]
fn what_lines_say_together_must_fit() {
    let columns = mistakes("routers 3\n0 1\n1 7\n2 2\nterminals 9 1\n");
    assert_eq!(
        columns[0],
        (3, "1 7".to_owned(), "there is no router 7: 3 routers are numbered from 0".to_owned())
    );
    assert_eq!((columns[1].0, columns[2].0), (5, 4));
    assert!(columns[2].2.contains("to itself"));
    let apart = mistakes("0 1\n2 3\n");
    assert!(
        apart.len() == 1 && apart[0].0 == 0 && apart[0].2.contains("from router 0 to router 2"),
        "{apart:?}"
    );
    for empty in ["", "# nothing\n", "routers 99999999999"] {
        assert!(mistakes(empty)[0].2.contains("1 to 16777216 routers"));
    }
    assert!(mistakes("0 1\nterminals 0")[0].2.contains("no terminal"));
    assert!(mistakes("0 1 x4000000000")[0].2.contains("more than"));
    assert!(mistakes("terminals 2000000000\nrouters 3\n0 1\n1 2")[0].2.contains("more than"));
    let many = "0 x\n".repeat(1000);
    let many = mistakes(&many);
    assert_eq!((many.len(), many[100].0, many[100].2.as_str()), (101, 0, "900 more errors"));
}

const HEAD: &str = "{\"format\": \"netloom-graph\", \"version\": 1, \"routers\": 3, ";

#[test]
fn json_may_leave_ports_to_the_reader() {
    let text = format!(
        "{HEAD}\"links\": [{{\"a\": 0, \"b\": 1, \"count\": 2}}, {{\"class\": \"b\", \"a\": 1, \"b\": 2}}], \"terminals\": [2, 0, 0]}}"
    );
    let fabric = parse(&text).unwrap();
    assert_eq!(
        (peers(&fabric, 1), fabric.attachments().to_vec()),
        (vec![0, 0, 2], [(2, 1), (0, 2), (0, 3)].map(|(r, p)| (RouterId::new(r), PortId::new(p))).to_vec())
    );
}

#[test]
fn mistakes_of_json_are_reported_with_their_lines() {
    let text = format!(
        "{HEAD}\n\"links\": [\n  {{\"a\": [0, 0], \"b\": [1, 0]}},\n  {{\"a\": [0, 0], \"b\": [2, 0]}},\n  {{\"a\": 1, \"b\": [2, 1]}},\n  {{\"a\": [1, 2], \"b\": \"two\"}},\n  {{\"class\": \"glob\", \"a\": [1, 2], \"b\": [2, 1]}}],\n\"terminals\": [[0, 1], {{}}]}}"
    );
    let columns = mistakes(&text);
    let lines: Vec<u64> = columns.iter().map(|t| t.0).collect();
    assert_eq!(lines, [6, 7, 8], "{columns:?}");
    assert!(columns[0].2.contains("[router, port] is expected"), "{columns:?}");
    assert!(columns[0].1.starts_with("{\"a\": [1, 2]") && columns[2].1 == "{}");
    // What only the whole shows.
    let links = "\"links\": [{\"a\": [0, 0], \"b\": [1, 0]},\n{\"a\": [0, 0], \"b\": [2, 0]}], ";
    let columns = mistakes(&format!("{HEAD}{links}\"terminals\": [[0, 1]]}}"));
    assert_eq!((columns.len(), columns[0].0), (1, 2));
    assert_eq!(columns[0].2, "port 0 of router 0 has a cable already");
    let columns = mistakes(&format!("{HEAD}{links}\n\"terminals\": [1]}}"));
    assert!(
        columns[0].0 == 3 && columns[0].2.contains("for all links and terminals or for none"),
        "{columns:?}"
    );
}

#[test]
fn json_that_is_none_of_ours_is_refused() {
    for (text, line, word) in [
        (
            "{\"format\": \"other\", \"version\": 1, \"routers\": 1, \"links\": [], \"terminals\": [0]}",
            0,
            "\"other\"",
        ),
        (
            "{\"format\": \"netloom-graph\", \"version\": 2, \"routers\": 1, \"links\": [], \"terminals\": [0]}",
            0,
            "version is 2",
        ),
        ("{\"format\": \"netloom-graph\",\n\"size\": 1}", 2, "unknown field `size`"),
        ("{\n\"format\": \"netloom-graph\",\n", 3, "EOF"),
    ] {
        let columns = parse(text).err().unwrap();
        assert!(columns[0].line == line && columns[0].message.contains(word), "{text}: {columns:?}");
    }
    let ports = format!("{HEAD}\"ports\": [1], \"links\": [], \"terminals\": [0]}}");
    assert!(mistakes(&ports)[0].2.contains("1 numbers for 3 routers"));
}

#[test]
fn problems_carry_file_line_and_text() {
    let path = std::env::temp_dir().join(format!("netloom-graph-{}", std::process::id()));
    std::fs::write(&path, "0 1\n1 2 lokal\n").unwrap();
    let name = path.to_string_lossy().into_owned();
    let values = Values::default().with("file", base::param::Value::Text(name.clone()));
    let problems = build(&values, LINK_CLASSES).err().unwrap();
    std::fs::remove_file(&path).unwrap();
    let expected = Excerpt { file: name, line: 2, text: "1 2 lokal".to_owned(), start: 4, end: 9 };
    assert_eq!((problems[0].key.as_str(), problems[0].input.clone()), ("file", Some(Box::new(expected))));
    // Now the file is gone.
    let problems = sizes(&values, LINK_CLASSES).unwrap_err();
    assert!(problems[0].message.contains("cannot be read") && problems[0].input.as_ref().unwrap().line == 0);
}

proptest::proptest! {
    /// No text makes the reader panic or build what is not whole.
    #[test]
    fn any_text_is_read_or_refused(text in "[0-9a-z {}\\[\\]\",:#\n]{0,200}") {
        if let Ok(fabric) = parse(&text) {
            proptest::prop_assert!(fabric.terminals() > 0 && fabric.routers() > 0);
        }
    }

    /// Lines near the rules.
    #[test]
    fn any_statements_are_read_or_refused(lines in proptest::collection::vec("(routers|terminals|[0-9]) [0-9]( (a|b|local|x[0-9]|[0-9]))?", 0..12)) {
        if let Ok(fabric) = parse(&lines.join("\n")) {
            proptest::prop_assert!(fabric.terminals() > 0);
        }
    }
}

/// A line of a file asks for more than any machine holds: it is refused before anything is laid out. By random graphs, the parts are those of
/// a search through the cables.
#[test]
fn networks_that_fall_apart_are_refused_before_they_are_built() {
    for text in [
        "terminals 100000000\nrouters 4\n0 1\n",
        "routers 16000000\n0 1\n",
        "routers 3\nterminals 400000000\n0 1\n1 0\n",
    ] {
        let refused = parse(text).err().map(|mistakes| mistakes[0].message.clone());
        assert!(refused.as_ref().is_some_and(|m| m.contains("falls apart")), "{text}: {refused:?}");
    }
    let mut random = base::rng::Stream::new(7, base::rng::Purpose::Test, 0);
    for _ in 0..2_000 {
        let routers = 1 + random.below(8);
        let links: Vec<(u64, u64)> = (0..random.below(10))
            .map(|_| (random.below(routers), random.below(routers)))
            .filter(|(a, b)| a != b)
            .collect();
        let counts: Vec<u64> = (0..routers).map(|_| random.below(2)).collect();
        let mut text = format!("routers {routers}\n");
        links.iter().for_each(|(a, b)| text += &format!("{a} {b}\n"));
        counts.iter().enumerate().for_each(|(router, n)| text += &format!("terminals {router} {n}\n"));
        // Everything that a router with a terminal reaches, round by round.
        let Some(first) = counts.iter().position(|&n| n > 0) else { continue };
        let mut reached = vec![false; routers as usize];
        reached[first] = true;
        for _ in 0..routers {
            for &(a, b) in &links {
                let either = reached[a as usize] || reached[b as usize];
                (reached[a as usize], reached[b as usize]) = (either, either);
            }
        }
        let whole = counts.iter().zip(&reached).all(|(&n, &reached)| n == 0 || reached);
        assert_eq!(parse(&text).is_ok(), whole, "{text}");
    }
}
