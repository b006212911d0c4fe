//! Closed forms: times to the picosecond.

use super::{link_change::Change, *};
use crate::rules::Step;

/// Links of 1 GB/s and 1 us, numbered from 0.
fn links(count: u32, rules: Rules) -> Sharing {
    let mut sharing = Sharing::new(rules, 0);
    for _ in 0..count {
        sharing.link(1e9, 1e-6, Policy::Shared);
    }
    sharing
}

/// Runs to the end: when each flow is over, by tag.
fn run(sharing: &mut Sharing, flows: usize) -> Vec<Ps> {
    let (mut over, mut ends) = (Vec::new(), vec![0; flows]);
    while sharing.step(Ps::MAX, &mut over) {
        over.drain(..).for_each(|o: Over| ends[o.tag as usize] = o.at.rounded());
    }
    assert_eq!(sharing.active(), 0);
    ends
}

const MS: Ps = 1_000_000_000;
const US: Ps = 1_000_000;

#[test]
fn one_flow_takes_latency_and_size_over_bandwidth() {
    let mut s = links(3, Rules::plain());
    let route = s.route(vec![0, 1, 2], &[], 0.0);
    s.begin(FineTime::at(0), route, 1_000_000, None, 0);
    assert_eq!(run(&mut s, 1), [MS + 3 * US]);
}

#[test]
fn two_flows_halve_a_link_and_the_rest_is_alone() {
    let mut s = links(1, Rules::plain());
    let route = s.route(vec![0], &[], 0.0);
    s.begin(FineTime::at(0), route, 10_000_000, None, 0);
    s.begin(FineTime::at(0), route, 30_000_000, None, 1);
    assert_eq!(run(&mut s, 2), [20 * MS + US, 40 * MS + US]);
}

#[test]
fn a_parking_lot_halves_every_link() {
    for n in [2u32, 5, 40] {
        let mut s = links(n, Rules::plain());
        let long = s.route((0..n).collect(), &[], 0.0);
        s.begin(FineTime::at(0), long, 1_000_000, None, 0);
        // All join at the same moment.
        for l in 0..n {
            let short = s.route(vec![l], &[], 0.0);
            s.begin(FineTime::at(u64::from(n - 1) * US), short, 1_000_000, None, l + 1);
        }
        let ends = run(&mut s, n as usize + 1);
        assert_eq!(ends, vec![2 * MS + u64::from(n) * US; n as usize + 1]);
    }
}

#[test]
fn an_incast_serves_all_alike() {
    let n = 1000u32;
    let mut s = links(n + 1, Rules::plain());
    for l in 0..n {
        let route = s.route(vec![l, n], &[], 0.0);
        // Sizes 1, 2, .. kB: the k-th ends when everybody has got k kB or all it wants.
        s.begin(FineTime::at(0), route, 1000 * u64::from(l + 1), None, l);
    }
    let ends = run(&mut s, n as usize);
    let mut sent = 0u64;
    for (k, end) in ends.iter().enumerate() {
        sent += 1000 * (u64::from(n) - k as u64);
        assert_eq!(*end, 2 * US + 1000 * sent, "{k}");
    }
}

/// Ten thousand flows on one link are one bundle: work grows with flows, not with their square.
#[test]
fn many_flows_on_one_link_are_one_alarm() {
    let mut s = links(1, Rules::plain());
    let route = s.route(vec![0], &[], 0.0);
    let n = 10_000u32;
    for k in 0..n {
        s.begin(FineTime::at(0), route, 1000 * u64::from(k + 1), None, k);
    }
    let ends = run(&mut s, n as usize);
    let mut sent = 0u64;
    for (k, end) in ends.iter().enumerate() {
        sent += 1000 * (u64::from(n) - k as u64);
        // The bundle's clock is a float: a part in 10^12.
        assert!(end.abs_diff(US + 1000 * sent) <= 1 + US * sent / 1_000_000_000_000_000, "{k}: {end} {sent}");
    }
    assert!(s.visits() < 10 * u64::from(n), "{}", s.visits());
}

#[test]
fn a_bandwidth_that_changes_splits_the_time() {
    let mut s = links(1, Rules::plain());
    s.schedule(vec![
        LinkChange::bandwidth(FineTime::at(MS + US), 0, 5e8),
        LinkChange::bandwidth(FineTime::at(3 * MS + US), 0, 0.0),
        LinkChange::bandwidth(FineTime::at(5 * MS + US), 0, 2e9),
    ]);
    let route = s.route(vec![0], &[], 0.0);
    s.begin(FineTime::at(0), route, 4_000_000, None, 0);
    // 1 MB in the first ms, 1 MB in the next two, nothing in two, 2 MB in one.
    assert_eq!(run(&mut s, 1), [6 * MS + US]);
}

/// Of flows with other weights too, each gets the whole of a fat pipe: what one fills is not taken from the others.
/// A link that is half as fast in every second millisecond moves three quarters of its bandwidth.
#[test]
fn changes_that_repeat_go_on() {
    let mut s = links(1, Rules::plain());
    let change = |at, bandwidth| LinkChange {
        every: Some(2e-3),
        ..LinkChange::bandwidth(FineTime::at(at), 0, bandwidth)
    };
    s.schedule(vec![change(MS, 5e8), change(2 * MS, 1e9)]);
    let route = s.route(vec![0], &[], 0.0);
    s.begin(FineTime::at(0), route, 6_000_000, None, 0);
    let mut over = Vec::new();
    while s.step(20 * MS, &mut over) {}
    let ends: Vec<Ps> = over.iter().map(|o| o.at.rounded()).collect();
    assert_eq!(ends, [8 * MS + US]);
}

/// Routes are as much longer or shorter as their link is.
#[test]
fn a_latency_that_changes_is_that_of_later_flows() {
    let mut s = links(2, Rules::plain());
    let change = |at, latency| LinkChange {
        at: FineTime::at(at),
        link: 1,
        what: Change::Latency(latency),
        every: None,
    };
    s.schedule(vec![change(MS, 3e-6), change(3 * MS, 2e-6)]);
    let route = s.route(vec![0, 1], &[], 0.0);
    let mut over = Vec::new();
    for tag in 0..3u32 {
        let begins = 2 * MS * u64::from(tag);
        while s.step(begins, &mut over) {}
        s.begin(FineTime::at(begins), route, 1_000_000, None, tag);
    }
    while s.step(Ps::MAX, &mut over) {}
    let ends: Vec<Ps> = over.iter().map(|o| o.at.rounded()).collect();
    assert_eq!(ends, [MS + 2 * US, 3 * MS + 4 * US, 5 * MS + 3 * US]);
}

/// What is said of a flow that stays alone is what happens; over a link that is down it is never over, even without bytes.
#[test]
fn the_end_of_a_flow_alone_is_known() {
    let mut s = links(2, Rules::plain());
    let route = s.route(vec![0, 1], &[], 0.0);
    let said = [0, 1_000_000].map(|bytes| s.alone(FineTime::at(5), route, bytes, None).rounded());
    assert_eq!(said, [5 + 2 * US, 5 + 2 * US + MS]);
    s.begin(FineTime::at(5), route, 1_000_000, None, 0);
    assert_eq!(run(&mut s, 1), said[1..]);
    let mut s = links(2, Rules::plain());
    let route = s.route(vec![0, 1], &[], 0.0);
    s.schedule(vec![LinkChange { at: FineTime::at(MS), link: 1, what: Change::Up(false), every: None }]);
    s.begin(FineTime::at(2 * MS), route, 1_000_000, None, 0);
    for bytes in [0, 1_000_000] {
        assert_eq!(s.alone(FineTime::at(2 * MS), route, bytes, None), FineTime::NEVER, "{bytes} B");
    }
}

/// A cap that is held from the beginning is that of the bandwidth at the beginning, not of the time when the route was first taken.
#[test]
fn a_bandwidth_that_changes_is_the_cap_of_later_flows() {
    for busy in [false, true] {
        let mut s = links(2, Rules::maxmin());
        let change = |at, bandwidth| LinkChange::bandwidth(FineTime::at(at), 0, bandwidth);
        s.schedule(vec![change(MS, 5e8), change(3 * MS, 1e9)]);
        let (route, other) = (s.route(vec![0], &[], 0.0), s.route(vec![1], &[], 0.0));
        s.begin(FineTime::at(0), route, 1000, None, 1);
        if busy {
            s.begin(FineTime::at(0), other, 9_000_000, None, 2);
        }
        let mut over = Vec::new();
        while s.step(2 * MS, &mut over) {}
        s.begin(FineTime::at(2 * MS), route, 2_000_000, None, 0);
        assert_eq!(run(&mut s, 3)[0], 6 * MS + US);
    }
}

/// What changed while nobody was under way holds for whoever begins next, its latency included.
#[test]
fn changes_of_an_idle_network_hold() {
    let mut s = links(2, Rules::plain());
    let change = |at, what| LinkChange { at: FineTime::at(at), link: 1, what, every: None };
    let changes = [change(MS, Change::Latency(3e-6)), change(MS, Change::Bandwidth(5e8))];
    s.schedule(changes.into_iter().chain([change(9 * MS, Change::Latency(9e-6))]).collect());
    let route = s.route(vec![0, 1], &[], 0.0);
    s.begin(FineTime::at(2 * MS), route, 1_000_000, None, 0);
    let alone = s.alone(FineTime::at(2 * MS), route, 1_000_000, None).rounded();
    assert_eq!((alone, run(&mut s, 1)), (4 * MS + 4 * US, vec![4 * MS + 4 * US]));
}

#[test]
fn a_fat_pipe_limits_each_flow_by_itself() {
    for rules in [Rules::plain(), Rules::maxmin()] {
        let mut s = Sharing::new(rules, 0);
        let pipe = s.link(1e9, 1e-6, Policy::FatPipe);
        let far = s.link(3e9, 9e-6, Policy::Shared);
        let near = s.route(vec![pipe], &[], 0.0);
        let long = s.route(vec![pipe, far], &[], 0.0);
        for (tag, route) in [near, long, long].into_iter().enumerate() {
            s.begin(FineTime::at(0), route, 10_000_000, None, tag as u32);
        }
        assert_eq!(run(&mut s, 3), [10 * MS + US, 10 * MS + 10 * US, 10 * MS + 10 * US]);
    }
}

/// A fat pipe that changes limits the flows that are under way, alone or not, and lets a flow's own cap be.
#[test]
fn a_fat_pipe_that_changes_limits_anew() {
    let mut s = Sharing::new(Rules::plain(), 0);
    let pipe = s.link(1e9, 0.0, Policy::FatPipe);
    let (one, two) = (s.link(8e9, 0.0, Policy::Shared), s.link(8e9, 0.0, Policy::Shared));
    let routes = [s.route(vec![pipe, one], &[], 0.0), s.route(vec![pipe, two], &[], 0.0)];
    let change = |at, bandwidth| LinkChange::bandwidth(FineTime::at(at), pipe, bandwidth);
    s.schedule(vec![change(2 * MS, 4e9), change(3 * MS, 1e9)]);
    s.begin(FineTime::at(0), routes[0], 7_000_000, None, 0);
    s.begin(FineTime::at(0), routes[1], 7_000_000, Some(2e9), 1);
    // 2 MB, then 4 MB or the 2 MB of the own cap in the third millisecond, then 1 MB in each.
    assert_eq!(run(&mut s, 2), [4 * MS, 6 * MS]);
}

#[test]
fn the_path_back_takes_its_part() {
    let mut s = links(1, Rules::cm02());
    let route = s.route(vec![0], &[0], 0.0);
    s.begin(FineTime::at(0), route, 100_000_000, None, 0);
    s.begin(FineTime::at(0), route, 100_000_000, None, 1);
    assert_eq!(run(&mut s, 2), [210 * MS + US, 210 * MS + US]);
}

#[test]
fn empty_messages_and_empty_routes_take_their_latency() {
    let mut s = links(1, Rules::plain());
    let (link, here) = (s.route(vec![0], &[], 0.0), s.route(vec![], &[], 0.0));
    s.begin(FineTime::at(5), link, 0, None, 0);
    s.begin(FineTime::at(5), here, 1_000_000, None, 1);
    s.begin(FineTime::at(5), here, 1_000_000, Some(1e9), 2);
    assert_eq!(run(&mut s, 3), [US + 5, 5, MS + 5]);
}

#[test]
fn a_flow_that_moves_keeps_what_is_done() {
    let mut s = links(2, Rules::plain());
    let (a, b) = (s.route(vec![0], &[], 0.0), s.route(vec![1], &[], 0.0));
    let flow = s.begin(FineTime::at(0), a, 4_000_000, None, 0);
    let mut over = Vec::new();
    assert!(s.step(2 * US, &mut over));
    assert!(!s.step(MS + US, &mut over));
    assert_eq!(s.crossing(|l| l == 0), [(flow, 0)]);
    s.divert(FineTime::at(MS + US), flow, 4_000_000, b);
    s.refresh(FineTime::at(MS + US));
    assert_eq!(run(&mut s, 1), [4 * MS + 2 * US]);
}

/// The latency of the new route is multiplied as that of the old one was.
#[test]
fn a_flow_that_moves_waits_with_its_factor() {
    let factors = vec![Step { above: 0, bandwidth: 1.0, latency: 13.0 }];
    let mut s = links(2, Rules { factors, ..Rules::plain() });
    let (a, b) = (s.route(vec![0], &[], 0.0), s.route(vec![1], &[], 0.0));
    let flow = s.begin(FineTime::at(0), a, 4_000_000, None, 0);
    let (mut over, at) = (Vec::new(), FineTime::at(MS + 13 * US));
    while s.step(MS + 13 * US, &mut over) {}
    s.divert(at, flow, 4_000_000, b);
    s.refresh(at);
    assert_eq!(run(&mut s, 1), [4 * MS + 26 * US]);
}

/// A link is first given half of its bandwidth, then twice as much.
#[test]
fn of_changes_at_one_instant_the_last_holds() {
    let mut s = links(1, Rules::plain());
    let change = |bandwidth| LinkChange::bandwidth(FineTime::at(MS + US), 0, bandwidth);
    s.schedule(vec![change(5e8), change(2e9)]);
    let route = s.route(vec![0], &[], 0.0);
    s.begin(FineTime::at(0), route, 4_000_000, None, 0);
    assert_eq!(run(&mut s, 1), [5 * MS / 2 + US]);
}

/// Whatever they share and whether they wait for their latency: who began first comes first.
#[test]
fn flows_of_a_failed_link_come_in_the_order_in_which_they_began() {
    let mut s = links(3, Rules::plain());
    let (a, b, other) =
        (s.route(vec![0], &[], 0.0), s.route(vec![0, 1], &[], 0.0), s.route(vec![2], &[], 0.0));
    for (tag, route) in [a, b, other, a, b].into_iter().enumerate() {
        s.begin(FineTime::at(0), route, 4_000_000, None, tag as u32);
    }
    let mut over = Vec::new();
    while s.step(3 * US, &mut over) {}
    for (tag, route) in [(5, b), (6, other), (7, a)] {
        s.begin(FineTime::at(3 * US), route, 4_000_000, None, tag);
    }
    let tags: Vec<u32> = s.crossing(|l| l == 0).into_iter().map(|(_, tag)| tag).collect();
    assert_eq!(tags, [0, 1, 3, 4, 5, 7]);
}

/// Half a millisecond of work, two of standing still, and the rest at the bandwidth that the link was given meanwhile.
#[test]
fn a_link_that_comes_back_has_what_it_was_given_meanwhile() {
    let mut s = links(1, Rules::plain());
    let change = |at, what| LinkChange { at: FineTime::at(at), link: 0, what, every: None };
    let begun = US + MS / 2;
    s.schedule(vec![
        change(begun, Change::Up(false)),
        change(begun + MS / 4, Change::Up(false)),
        change(begun + MS, Change::Bandwidth(5e8)),
        change(begun + 2 * MS, Change::Up(true)),
        change(begun + 2 * MS + 5, Change::Up(true)),
    ]);
    let route = s.route(vec![0], &[], 0.0);
    s.begin(FineTime::at(0), route, 1_000_000, None, 0);
    assert_eq!(run(&mut s, 1), [begun + 3 * MS]);
}

#[test]
fn use_is_counted_by_window() {
    let mut s = Sharing::new(Rules::plain(), MS);
    s.link(1e9, 0.0, Policy::Shared);
    let route = s.route(vec![0], &[], 0.0);
    s.begin(FineTime::at(MS / 2), route, 1_000_000, None, 0);
    s.begin(FineTime::at(10 * MS), route, 500_000, None, 1);
    run(&mut s, 2);
    assert_eq!(s.finish(FineTime::at(11 * MS)), [1.5e6]);
    let uses: Vec<(u64, f64)> = s.usage.by_window.iter().map(|u| (u.window, u.links[0].1.round())).collect();
    assert_eq!(uses, [(0, 5e5), (1, 5e5), (10, 5e5)]);
}

/// A flow that begins while a link has no bandwidth stands still, and goes on as any other once it has some again.
#[test]
fn a_flow_may_begin_while_a_link_is_down() {
    for rules in [Rules::plain(), Rules::maxmin(), Rules::lv08()] {
        let ends = |down: bool| {
            let mut s = links(2, rules.clone());
            if down {
                let change = |at, bandwidth| LinkChange::bandwidth(FineTime::at(at), 1, bandwidth);
                s.schedule(vec![change(0, 0.0), change(5 * MS, 1e9)]);
            }
            let route = s.route(vec![0, 1], &[], 0.0);
            s.begin(FineTime::at(if down { MS } else { 5 * MS }), route, 1_000_000, None, 0);
            run(&mut s, 1)[0]
        };
        // Its latency is over while the link is down.
        let (held, free) = (ends(true), ends(false));
        assert!(held < free && free - held < 100 * US, "{held} {free}");
    }
}

/// Flows of random sizes on random routes: ends at every instant, and what acts late acts within the bound.
#[test]
fn batches_are_near_and_fewer() {
    let ends = |accuracy: f64| {
        let mut s = links(40, Rules::plain());
        s.set_accuracy(accuracy);
        for tag in 0..2_000u32 {
            let draw = |what: u64, below: u64| base::hash::mix64(u64::from(tag) << 8 | what) % below;
            let first = draw(0, 40);
            let route = s.route(vec![first as u32, ((first + 1 + draw(1, 39)) % 40) as u32], &[], 0.0);
            let at = if tag < 1_000 { 0 } else { draw(2, 20) * MS };
            s.begin(FineTime::at(at), route, 100_000 + draw(3, 900_000), None, tag);
        }
        (run(&mut s, 2_000), *s.delays())
    };
    let (exact, all) = ends(0.0);
    assert_eq!((all.happened, all.longest), (0, 0.0));
    let (near, batches) = ends(0.01);
    let errors: Vec<f64> =
        exact.iter().zip(&near).map(|(&e, &n)| (n as f64 / e as f64 - 1.0).abs()).collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    assert!(mean < 0.01, "{mean}");
    assert!(batches.solutions * 4 < all.solutions, "{batches:?} {all:?}");
    let last = exact.iter().max().map_or(0.0, |&e| e as f64 * 1e-12);
    assert!(batches.longest <= 0.0101 * last, "{batches:?}");
    assert_eq!(near, ends(0.01).0);
}

/// A flow that is alone waits for nobody, and one that is left behind gets the link within the bound.
#[test]
fn an_end_acts_late_by_a_part_of_its_age() {
    let mut s = links(2, Rules::plain());
    s.set_accuracy(0.1);
    let (shared, other) = (s.route(vec![0], &[], 0.0), s.route(vec![0, 1], &[], 0.0));
    s.begin(FineTime::at(0), shared, 1_000_000, None, 0);
    s.begin(FineTime::at(0), other, 3_000_000, None, 1);
    let ends = run(&mut s, 2);
    // Exact is 2 ms and 4 ms. The second begins to count after a tenth of its 3 ms, the end of the first after a tenth of its age.
    assert!(ends[0] > 2 * MS - 2 * MS / 10 * 2 && ends[0] < 2 * MS, "{ends:?}");
    assert!(ends[1] > 4 * MS && ends[1] < 4 * MS + MS / 2, "{ends:?}");
    let alone = s.route(vec![1], &[], 0.0);
    s.begin(FineTime::at(10 * MS), alone, 1_000_000, None, 0);
    assert_eq!(run(&mut s, 1), [11 * MS + US]);
}

/// What the last flow left behind is due long before the next one comes: nobody waited for all that time.
#[test]
fn a_pause_is_no_delay() {
    let mut s = links(1, Rules::plain());
    s.set_accuracy(0.07);
    let route = s.route(vec![0], &[], 0.0);
    for (tag, bytes) in [1_000_000, 1_500_000].into_iter().enumerate() {
        s.begin(FineTime::at(0), route, bytes, None, tag as u32);
    }
    run(&mut s, 2);
    s.begin(FineTime::at(1000 * MS), route, 1_000_000, None, 0);
    run(&mut s, 1);
    let longest = s.delays().longest;
    assert!(longest > 0.0 && longest <= 0.07 * 3e-3, "{longest}");
}

/// A bandwidth that changes, or a flow that moves, has shares found before those that wait are due: they waited until then.
#[test]
fn a_solution_for_another_reason_ends_a_delay() {
    for change in [true, false] {
        let mut s = links(3, Rules::plain());
        s.set_accuracy(0.5);
        if change {
            s.schedule(vec![LinkChange::bandwidth(FineTime::at(50 * US), 0, 5e8)]);
        }
        let (shared, other) = (s.route(vec![0], &[], 0.0), s.route(vec![0, 1], &[], 0.0));
        let alone = s.route(vec![2], &[], 0.0);
        s.begin(FineTime::at(0), shared, 1_000_000, None, 0);
        // It joins the first 1 us later, and would have its share half a millisecond after that.
        let flow = s.begin(FineTime::at(0), other, 1_000_000, None, 1);
        let mut over = Vec::new();
        while s.step(60 * US, &mut over) {}
        if !change {
            s.divert(FineTime::at(50 * US), flow, 1_000_000, alone);
            s.refresh(FineTime::at(50 * US));
        }
        let longest = s.delays().longest;
        assert!((longest - 48e-6).abs() < 1e-12, "{change}: {longest}");
    }
}

/// Routes over many paths have as many links: what is done for a flow grows with them, not with their square, which would take minutes here.
#[test]
fn a_wide_route_costs_its_links() {
    let count = 400_000u32;
    let mut s = links(count, Rules::cm02());
    let clock = std::time::Instant::now();
    let parts: Vec<(u32, f64)> = (0..count).map(|l| (l, 1e-3)).collect();
    for tag in 0..2 {
        let route = s.divided(&parts, &parts, 0.0);
        s.begin(FineTime::at(0), route, 1_000, None, tag);
    }
    let ends = run(&mut s, 2);
    assert_eq!(ends[0], ends[1]);
    assert!(clock.elapsed().as_secs() < 30, "{:?}", clock.elapsed());
}

proptest::proptest! {
    /// Flows that meet nobody stay detached, or all are on their links; use is counted by window or not. All give the same times in the same order,
    /// and the same use.
    #[test]
    fn staying_detached_changes_nothing(
        flows in proptest::collection::vec((0u64..40, proptest::collection::btree_set(0u32..8, 1..4), 1u64..4, proptest::bool::ANY), 1..60),
        changes in proptest::collection::vec((0u64..40, 0u32..8, 1u32..4), 0..3),
        cross in proptest::bool::ANY,
    ) {
        let reported = |together: bool, window: Ps| {
            let rules = Rules { cross: if cross { 0.05 } else { 0.0 }, ..Rules::plain() };
            let mut s = Sharing { together, ..Sharing::new(rules, window) };
            for n in 0..8u32 {
                s.link(f64::from(n % 3 + 1) * 1e9, 1e-9, Policy::Shared);
            }
            let change = |&(at, link, by): &(u64, u32, u32)| {
                LinkChange::bandwidth(FineTime::at(at * US), link, f64::from(by) * 5e8)
            };
            s.schedule(changes.iter().map(change).collect());
            let (mut over, mut all, mut routes) = (Vec::new(), Vec::new(), Vec::new());
            let mut sorted: Vec<_> = flows.iter().zip(0u32..).collect();
            sorted.sort_by_key(|f| f.0.0);
            for ((at, links, kilobytes, slow), tag) in sorted {
                while s.next().is_some_and(|n| n < FineTime::at(at * US)) && s.step(Ps::MAX, &mut over) {}
                let back: Vec<u32> = links.iter().rev().copied().collect();
                let known = routes.iter().find(|r: &&(_, u32)| r.0 == links).map(|r| r.1);
                let route = known.unwrap_or_else(|| s.route(links.iter().copied().collect(), &back, 0.0));
                routes.push((links, route));
                s.begin(FineTime::at(at * US), route, kilobytes * 1500, slow.then_some(7e8), tag);
            }
            while s.step(Ps::MAX, &mut over) {}
            all.extend(over.iter().map(|o| (o.tag, o.at)));
            let end = all.last().map_or(FineTime::default(), |last: &(u32, FineTime)| last.1);
            let used = s.finish(end).to_vec();
            let mut by_window = vec![0.0; used.len()];
            let rows = s.usage.by_window.iter().flat_map(|u| &u.links);
            rows.for_each(|&(link, bytes)| by_window[link as usize] += bytes);
            (all, used, by_window)
        };
        let (times, used, _) = reported(false, 0);
        for (together, window) in [(true, 0), (false, US), (true, US), (false, 1 << 58)] {
            let (other, same, by_window) = reported(together, window);
            proptest::prop_assert_eq!(&times, &other);
            for (link, bytes) in used.iter().enumerate() {
                proptest::prop_assert!((bytes - same[link]).abs() <= 1e-6, "{} {}", bytes, same[link]);
                proptest::prop_assert!(window == 0 || (bytes - by_window[link]).abs() <= 1e-6, "{} {}", bytes, by_window[link]);
            }
        }
    }
}
