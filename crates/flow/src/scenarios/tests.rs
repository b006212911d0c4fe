//! Reading scenarios, and one of our own. The reference file is in `tests/flow_reference.rs`.

use super::*;

/// Two links, one of them a fat pipe, by name and by index; a rate, an event, a way back that is not the mirror.
#[test]
fn all_parts_of_the_format_are_read() {
    let text = r#"{"scenarios": [{"name": "s", "links": [["a", 1e9, 1e-6, "SHARED"], ["b", 2e9, 0, "FATPIPE"]],
        "flows": [[0, "x", "y", 1000, ["a", 1]], [1e-3, "y", "x", 2000, [0], 5e8], [0, "x", "z", 0, ["b"], null]],
        "reverse_routes": [["y", "x", [1]]], "bandwidth_events": [[0.5, "a", 1e8]], "completion": {"maxmin": [1, 2, 3]}}]}"#;
    let s = read(text).unwrap().remove(0);
    assert_eq!(s.links[1].policy, Policy::FatPipe);
    assert_eq!(s.flows[0].route, [0, 1]);
    assert_eq!((s.flows[0].rate, s.flows[1].rate, s.flows[2].rate), (None, Some(5e8), None));
    assert_eq!(
        (s.back(&s.flows[0]), s.back(&s.flows[1]), s.back(&s.flows[2])),
        (vec![1], vec![0, 1], vec![1])
    );
    assert_eq!(s.events, [Event { time: 0.5, link: 0, bandwidth: 1e8 }]);
    for (bad, why) in [
        ("{}", "no `scenarios`"),
        (r#"{"scenarios": [{"x": 1}]}"#, "neither `links` nor `flows`"),
        (r#"{"scenarios": {"s": {"links": [["a", -1, 0, "SHARED"]]}}}"#, "bandwidth"),
        (r#"{"scenarios": {"s": {"links": [["a", 1, 0, "WIFI"]]}}}"#, "WIFI"),
        (r#"{"scenarios": {"s": {"links": [], "flows": [[0, "a", "b", 1, [3]]]}}}"#, "link 3"),
    ] {
        let reported = read(bad).unwrap_err();
        assert!(reported.contains(why), "{reported}");
    }
}

/// Rules are looked up when the file is read, not when the first experiments have run.
#[test]
fn unknown_rules_are_refused_at_once() {
    let text = r#"{"scenarios": [{"name": "s", "links": [], "flows": [], "completion": {"maxm": []}}]}"#;
    assert!(read(text).is_err_and(|e| e.starts_with("scenario `s`: there are no rules `maxm`")));
}

/// A scenario of our own: three flows on a half-duplex link, worked out by hand.
#[test]
fn a_small_scenario_has_the_times_worked_out_by_hand() {
    let text = r#"{"scenarios": {"s": {"links": [["a", 1e9, 1e-6, "SHARED"]],
        "flows": [[0, "x", "y", 10000000, [0]], [0.004, "y", "x", 10000000, [0]], [0.005, "x", "y", 2000000, [0]]]}}}"#;
    let s = read(text).unwrap().remove(0);
    // Alone for 4 ms, two for 1 ms, three until the short one has its 2 MB, two, one.
    let times = s.run(Rules::plain());
    for (ours, exact) in times.iter().zip([0.018_001, 0.022_001, 0.011_001]) {
        assert!((ours - exact).abs() < 1e-12, "{times:?}");
    }
}
