use super::*;
use crate::{
    deadlock::{self, Report},
    registry::{Constant, values},
    routing::testing,
};
use base::param::Value;
use std::path::PathBuf;

/// A file that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("netloom-table-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn values(&self) -> Values {
        let file = ("file", Constant::Text(""));
        values(ROUTING.about.params, &[file]).with("file", Value::Text(self.0.to_string_lossy().into_owned()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn bound(name: &str, fabric: &Arc<Fabric>, text: &str) -> Bound {
    build(fabric.clone(), &Scratch::new(name, text).values())
}

/// What is wrong with a text: line, stretch and message.
fn wrong(name: &str, text: &str) -> Vec<(u64, usize, usize, String)> {
    let problems = bound(name, &testing::grid(false, &[3]), text).err().unwrap();
    problems
        .into_iter()
        .map(|p| {
            assert_eq!(p.key, "file");
            let input = p.input.unwrap();
            (input.line, input.start, input.end, p.message)
        })
        .collect()
}

/// A line of three routers: port 0 down, 1 up, 2 the terminal.
const LINE: &str = "# to terminal 0\n1 0 0\n2 0 0\n0 1 1\n2 1 0\n 0 2 1 # up\n1 2 1\n2 2 2\n";

#[test]
fn packets_follow_the_file() {
    let fabric = testing::grid(false, &[3]);
    let routing = bound("line", &fabric, LINE).unwrap();
    assert_eq!(routing.vcs(), 1);
    assert_eq!(testing::path(&fabric, routing.as_ref(), 0, 2, 0), [(0, 1, 0), (1, 1, 0), (2, 2, 0)]);
    assert!(deadlock::check(&fabric, routing.as_ref(), u64::MAX).is_free());
}

#[test]
fn mistakes_are_reported_with_their_places() {
    let cases = [
        ("3 0 0", (1, 0, 1, "there is no router 3: they are 0 to 2")),
        ("\n0 7 1", (2, 2, 3, "there is no terminal 7: they are 0 to 2")),
        ("0 1 9", (1, 4, 5, "there is no port of this router 9: they are 0 to 2")),
        ("0 1 0", (1, 4, 5, "port 0 of router 0 has no link")),
        ("0 1 2", (1, 4, 5, "port 2 of router 0 leads to terminal 0")),
        ("0 one 1", (1, 2, 5, "the terminal must be a number, not `one`")),
        ("0 1 1 16", (1, 6, 8, "there is no virtual channel 16: they are 0 to 15")),
        ("0 1", (1, 2, 3, "an entry is `router destination port [vc]`: 3 or 4 numbers, not 2")),
        ("0 1 1 0\n1 2 1", (2, 4, 5, "earlier entries give a virtual channel, this one does not")),
    ];
    for (text, (line, start, end, message)) in cases {
        assert_eq!(wrong("mistake", text), [(line, start, end, message.to_owned())], "{text:?}");
    }
    assert_eq!(wrong("two", "9 0 0\n0 9 0").len(), 2, "all mistakes at once");
}

#[test]
fn gaps_and_circles_are_refused() {
    let gap = LINE.replace("1 2 1\n", "");
    let expected = "router 1 has no entry for terminal 2, which packets from router 0 need";
    assert_eq!(wrong("gap", &gap), [(0, 0, 0, expected.to_owned())]);
    let circle = LINE.replace("1 2 1\n", "1 2 0\n");
    let expected = "packets to terminal 2 go round in circles: routers 0, 1, 0";
    assert_eq!(wrong("circle", &circle), [(0, 0, 0, expected.to_owned())]);
    let problem = &build(testing::grid(false, &[3]), &Scratch(PathBuf::from("/no/such/table")).values());
    assert!(problem.as_ref().err().unwrap()[0].message.starts_with("the file cannot be read"));
}

/// All packets of a ring go up; on channel 1 behind router 0 if `dateline`.
fn ring(dateline: bool) -> String {
    let mut text = String::new();
    for (from, to) in (0..5).flat_map(|from| (0..5).map(move |to| (from, to))).filter(|(a, b)| a != b) {
        let crossed = from > to && from == 4 || from < to;
        let vc = if dateline { format!(" {}", u8::from(crossed)) } else { " 0".to_owned() };
        text += &format!("{from} {to} 1{vc}\n");
    }
    text
}

#[test]
fn given_channels_are_judged_by_the_check_and_missing_ones_assigned() {
    let fabric = testing::grid(true, &[5]);
    let open = bound("open", &fabric, &ring(false)).unwrap();
    assert!(matches!(deadlock::check(&fabric, open.as_ref(), u64::MAX), Report::Cycle(_)));
    let closed = bound("closed", &fabric, &ring(true)).unwrap();
    assert_eq!(closed.vcs(), 2);
    assert!(deadlock::check(&fabric, closed.as_ref(), u64::MAX).is_free());
    let without: String = ring(false).lines().map(|line| format!("{}\n", &line[..line.len() - 2])).collect();
    let assigned = bound("assigned", &fabric, &without).unwrap();
    assert!(assigned.vcs() > 1);
    assert!(deadlock::check(&fabric, assigned.as_ref(), u64::MAX).is_free());
}

#[test]
fn alternatives_are_chosen_among_and_terminals_of_a_router_differ() {
    // Two routers with two terminals each, joined by two cables.
    let sample = [("dims", Constant::Ints(&[2])), ("terminals_per_router", Constant::Int(2))];
    let fabric = testing::build("torus", &sample);
    let routing = bound("two", &fabric, "0 2 0\n0 2 1\n0 3 1\n1 0 0\n1 1 0\n").unwrap();
    let ports = |destination| -> base::sorted::SortedSet<u32> {
        (0..20).map(|seed| testing::path(&fabric, routing.as_ref(), 0, destination, seed)[0].1).collect()
    };
    assert_eq!(ports(2), [0, 1].into());
    assert_eq!(ports(3), [1].into());
}
