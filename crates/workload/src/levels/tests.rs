use super::*;
use crate::testing::context;
use base::{
    param::{Value, Values},
    rng::{Purpose, Stream},
};

/// Pairs by plain numbers, as they are written in tests.
fn level(pattern: &str, part: u32, n: u32, level: u32) -> Vec<(u32, u32)> {
    let mut out = Vec::new();
    let draw = Stream::new(7, Purpose::Test, 0);
    LevelPattern::parse(pattern, part).unwrap().pairs(n, level, draw, &mut out);
    out.into_iter().map(|(from, to)| (from.number(), to.number())).collect()
}

fn all(pattern: &str, part: u32, n: u32) -> Vec<Vec<(u32, u32)>> {
    let levels = LevelPattern::parse(pattern, part).unwrap().levels(n);
    (0..levels).map(|l| level(pattern, part, n, l)).collect()
}

#[test]
fn small_patterns_are_as_written() {
    assert_eq!(all("bisect", 2, 6), [[(1, 0), (3, 2), (5, 4)]]);
    assert_eq!(all("bisect_fb_sym", 2, 4), [[(0, 1), (1, 0), (2, 3), (3, 2)]]);
    assert_eq!(all("tree", 2, 6), [vec![(0, 1)], vec![(0, 2), (1, 3)], vec![(0, 4), (1, 5)]]);
    assert_eq!(all("tree_all", 2, 4), [vec![(0, 1), (1, 2), (2, 3)], vec![(0, 2), (1, 3)]]);
    assert_eq!(all("bruck", 2, 3), [[(0, 1), (1, 2), (2, 0)], [(0, 2), (1, 0), (2, 1)]]);
    assert_eq!(all("gather", 2, 3), [[(1, 0), (2, 0)]]);
    assert_eq!(all("scatter", 2, 3), [[(0, 1), (0, 2)]]);
    assert_eq!(all("ring", 2, 3), [[(0, 1)], [(1, 2)], [(2, 0)]]);
    assert_eq!(all("recdbl", 2, 3), [vec![(0, 1), (1, 0)], vec![(0, 2)]]);
    assert_eq!(all("recdbl_paper", 2, 3), [vec![(0, 1), (1, 0)], vec![(0, 2), (2, 0)]]);
    assert!(all("null", 2, 8).is_empty());
}

#[test]
fn neighbours_are_peered_from_left_to_right() {
    assert_eq!(all("neighbor:2", 2, 4), [[(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]]);
    assert_eq!(all("4neighbor", 2, 16)[0].len(), 60);
    assert_eq!(all("6neighbor", 2, 16)[0].len(), 86);
    assert_eq!(all("neighbor:9", 2, 4)[0].len(), 12);
}

#[test]
fn merged_patterns_restart_the_second() {
    let merged = all("ptrnvsptrn:tree::bisect", 4, 8);
    assert_eq!(merged, [vec![(0, 1), (5, 4), (7, 6)], vec![(0, 2), (1, 3), (5, 4), (7, 6)]]);
    assert_eq!(all("bisect::tree", 4, 8).len(), 2);
    assert_eq!(all("bisect::tree", 4, 8)[1], [(4, 6), (5, 7)]);
    // Three levels beside two: the second runs twice, and is not cut in the middle.
    assert_eq!(all("tree::tree", 8, 12).len(), 4);
}

#[test]
fn random_patterns_are_permutations() {
    for seed in 0..200 {
        for n in [2, 3, 4, 17] {
            let mut out = Vec::new();
            LevelPattern::Rand.pairs(n, 0, Stream::new(seed, Purpose::Test, 0), &mut out);
            let mut to: Vec<RankId> = out.iter().map(|p| p.1).collect();
            to.sort_unstable();
            assert_eq!(to, RankId::first(n).collect::<Vec<_>>());
            assert!(out.iter().all(|p| p.0 != p.1), "{out:?}");
        }
    }
}

#[test]
fn receivers_receive() {
    let all_sources = level("recvs_all_src:2:1:0:linear", 2, 8, 0);
    assert_eq!(all_sources, [(2, 0), (3, 1), (4, 0), (5, 1), (6, 0), (7, 1)]);
    assert_eq!(level("recvs_one_src:2:1:0:linear", 2, 8, 0), [(2, 0), (3, 1)]);
    assert!(level("recvs_all_src:2:0:1:rand", 2, 8, 0).is_empty());
    assert!(level("recvs_all_src:2:0:0:rand", 2, 9, 0).iter().all(|p| p.0 != p.1 && p.0 >= 2));
}

#[test]
fn texts_are_read_and_written() {
    for text in
        ["bisect", "neighbor:4", "recvs_one_src:3:0.5:0.25:linear", "ptrnvsptrn:tree::null", "recdbl_paper"]
    {
        assert_eq!(LevelPattern::parse(text, 2).unwrap().to_string(), text);
    }
    for text in
        ["bisekt", "neighbor:0", "bisect:1", "ptrnvsptrn", "recvs_all_src:0", "recvs_all_src:1:2", "a::b::c"]
    {
        assert!(LevelPattern::parse(text, 2).is_err(), "{text}");
    }
    assert!(LevelPattern::parse("bisekt", 2).unwrap_err().contains("bisect"));
    // Not one call inside the other for each.
    let many = vec!["rand"; 100_000].join("::");
    assert_eq!(LevelPattern::parse(&many, 2).unwrap_err(), "patterns are merged by two");
}

/// Each of two merged patterns has ranks, at least two the first; a plain pattern has no parts.
#[test]
fn parts_that_leave_a_pattern_out_are_refused() {
    let merged = LevelPattern::parse("ring::ring", 2).unwrap();
    let plain = LevelPattern::parse("ring", 2).unwrap();
    for ranks in 0..9 {
        for part in 0..12 {
            let sound = part >= 2 && part < ranks;
            assert_eq!(merged.judge_part(part, ranks).is_ok(), sound, "{part} of {ranks}");
            assert_eq!(plain.judge_part(part, ranks).is_ok(), part == 2, "{part} of {ranks}");
        }
    }
    for (part, ranks, sound) in [(2, 8, true), (1, 8, false), (8, 8, false)] {
        let values = Values::default()
            .with("pattern", Value::Text("ring::ring".into()))
            .with("part_ranks", Value::Int(part))
            .with("count", Value::Int(1));
        let built = workload::any(&context(ranks), &values);
        assert_eq!(built.map_err(|p| p[0].key.clone()).err(), (!sound).then(|| "part_ranks".to_owned()));
    }
}
