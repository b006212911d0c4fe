use super::*;
use base::{index::TerminalId, param::Value};

/// Four routers in a line with two terminals each.
fn shape() -> Arc<Shape> {
    line(2)
}

/// Four routers in a line.
fn line(terminals: u64) -> Arc<Shape> {
    let given = [("dims", Value::Ints(vec![4])), ("terminals_per_router", Value::Int(terminals))];
    let fabric = model::samples::topology("mesh", &given);
    Arc::new(Shape::new(&fabric, 1000, 100).expect("a small fabric"))
}

fn train(name: &str, values: &Values, learned: &Learned) -> Arc<dyn Predictor> {
    let entry = base::registry::find(PREDICTORS, name).expect("a predictor");
    (entry.build)(values).unwrap_or_else(|p| panic!("{p:?}")).train(learned, &shape(), 1)
}

#[test]
fn means_fall_back_to_coarser_ones() {
    let (shape, mut learned) = (shape(), Learned::default());
    for latency in [3000, 4001] {
        learned.record(&shape, TerminalId::new(0), TerminalId::new(2), latency);
    }
    learned.record(&shape, TerminalId::new(4), TerminalId::new(6), 9000);
    let p = train("mean", &Values::default(), &learned);
    assert_eq!(p.latency(TerminalId::new(0), TerminalId::new(2), Some(0)), 3501, "of the pair, rounded");
    assert_eq!(p.latency(TerminalId::new(0), TerminalId::new(7), Some(0)), 3501, "of the source");
    assert_eq!(
        p.latency(TerminalId::new(2), TerminalId::new(4), Some(0)),
        (3000 + 4001 + 9000 + 1) / 3,
        "of the distance"
    );
    assert_eq!(
        p.latency(TerminalId::new(2), TerminalId::new(6), Some(0)),
        (3000 + 4001 + 9000 + 1) / 3,
        "of all"
    );
    let p = train("mean", &Values::default(), &Learned::default());
    assert_eq!(p.latency(TerminalId::new(0), TerminalId::new(6), Some(0)), 1300, "of an empty network");
}

#[test]
fn quantiles_keep_means_and_percentiles() {
    let (shape, mut learned) = (shape(), Learned::default());
    let mut random = base::rng::Stream::new(1, base::rng::Purpose::Test, 0);
    let mut all = Vec::new();
    for n in 0..40_000u32 {
        // Two pairs at one distance, the second twice as slow; a long tail.
        let pair = n % 2;
        let tail = random.below(100).pow(3) * 10;
        let latency = (100_000 + tail) * u64::from(1 + pair);
        learned.record(&shape, TerminalId::new(2 * pair), TerminalId::new(2 * pair + 2), latency);
        all.push(latency);
    }
    let p = train("quantile", &Values::default(), &learned);
    let mut said: Vec<u64> = (0..40_000)
        .map(|n| p.latency(TerminalId::new(2 * (n % 2)), TerminalId::new(2 * (n % 2) + 2), Some(n / 2)))
        .collect();
    all.sort_unstable();
    said.sort_unstable();
    let mean = |v: &[u64]| v.iter().sum::<u64>() as f64 / v.len() as f64;
    assert!((mean(&said) / mean(&all) - 1.0).abs() < 0.005, "{} {}", mean(&said), mean(&all));
    for at in [4_000, 20_000, 30_000, 38_000, 39_600] {
        let off = said[at] as f64 / all[at] as f64 - 1.0;
        assert!(off.abs() < 0.03, "at {at}: {} beside {}", said[at], all[at]);
    }
}

#[test]
fn quantiles_keep_percentiles_of_pairs_that_were_seen_once() {
    // 240 terminals, 57,360 pairs, a third of them seen once or twice; nearby ones take a fifth less, every other source takes a tenth more.
    let (shape, mut learned) = (line(60), Learned::default());
    let mut random = base::rng::Stream::new(3, base::rng::Purpose::Test, 0);
    let packet = |random: &mut base::rng::Stream| {
        let (source, step) = (random.below(240) as u32, random.below(239) as u32 + 1);
        let destination = (source + step) % 240;
        let pair = (TerminalId::new(source), TerminalId::new(destination));
        let far = 80 + 20 * u64::from(shape.routers(pair.0, pair.1) > 1);
        let latency = (300 + random.below(80).pow(2) / 4) * far * u64::from(10 + source % 2);
        (pair, latency)
    };
    for _ in 0..20_000 {
        let (pair, latency) = packet(&mut random);
        learned.record(&shape, pair.0, pair.1, latency);
    }
    let entry = base::registry::find(PREDICTORS, "quantile").expect("a predictor");
    let recipe = (entry.build)(&Values::default()).unwrap_or_else(|p| panic!("{p:?}"));
    let p = recipe.train(&learned, &shape, 1);
    let mut numbers = vec![0; 240];
    let (mut real, mut said) = (Vec::new(), Vec::new());
    for _ in 0..40_000 {
        let ((source, destination), latency) = packet(&mut random);
        numbers[source.index()] += 1;
        real.push(latency as f64);
        said.push(p.latency(source, destination, Some(numbers[source.index()])) as f64);
    }
    let close = |real: &mut Vec<f64>, said: &mut Vec<f64>, within: f64| {
        real.sort_by(f64::total_cmp);
        said.sort_by(f64::total_cmp);
        for share in [0.05, 0.25, 0.5, 0.75, 0.95, 0.99] {
            let (real, said) =
                (real[(real.len() as f64 * share) as usize], said[(said.len() as f64 * share) as usize]);
            assert!((said / real - 1.0).abs() < within, "{share}: {said} beside {real}");
        }
    };
    close(&mut real, &mut said, 0.05);
    // Of one source to each distance the same holds, as far as 80 packets say.
    for source in [6, 7] {
        for (step, number) in [(1, 0), (60, 5000)] {
            let mut said: Vec<f64> = (0..4000)
                .map(|n| {
                    p.latency(TerminalId::new(source), TerminalId::new(source + step), Some(number + n))
                        as f64
                })
                .collect();
            let far = 80
                + 20 * u64::from(shape.routers(TerminalId::new(source), TerminalId::new(source + step)) > 1);
            let real = |_| (300 + random.below(80).pow(2) / 4) * far * u64::from(10 + source % 2);
            let mut real: Vec<f64> = (0..4000).map(real).map(|x| x as f64).collect();
            close(&mut real, &mut said, 0.15);
        }
    }
}

/// Pairs that differ much are distinguished by a few packets, pairs that do not are not distinguished by their chance.
#[test]
fn a_few_packets_count_by_how_much_pairs_differ() {
    let shape = line(60);
    let recipe = (quantile::ENTRY.build)(&Values::default()).unwrap_or_else(|p| panic!("{p:?}"));
    for hot in [1, 10] {
        let (mut learned, mut random) =
            (Learned::default(), base::rng::Stream::new(5, base::rng::Purpose::Test, 0));
        // Every terminal beyond the first router sends five packets to terminal 0, which takes `hot` times as long, and five to terminal 1.
        for source in 60..120 {
            for n in 0..10 {
                let latency = (80_000 + random.below(40_000)) * if n % 2 == 0 { hot } else { 1 };
                learned.record(&shape, TerminalId::new(source), TerminalId::new(n % 2), latency);
            }
        }
        let p = recipe.train(&learned, &shape, 1);
        for source in [60, 77, 119] {
            let said = |destination| {
                (0..2000)
                    .map(|n| p.latency(TerminalId::new(source), destination, Some(n)) as f64)
                    .sum::<f64>()
                    / 2000.0
            };
            let (first, second) =
                (said(TerminalId::new(0)) / 100_000.0, said(TerminalId::new(1)) / 100_000.0);
            assert!(
                (first / hot as f64 - 1.0).abs() < 0.15 && (second - 1.0).abs() < 0.15,
                "{hot}: {first} {second}"
            );
        }
    }
}

#[test]
fn distances_that_were_not_seen_take_the_mean_of_the_source() {
    let (shape, mut learned) = (shape(), Learned::default());
    (0..8).for_each(|n| learned.record(&shape, TerminalId::new(0), TerminalId::new(2), 7_000 + n));
    learned.record(&shape, TerminalId::new(1), TerminalId::new(2), 9_000);
    let p = train("quantile", &Values::default(), &learned);
    assert_eq!(
        (
            p.latency(TerminalId::new(0), TerminalId::new(6), Some(3)),
            p.latency(TerminalId::new(4), TerminalId::new(4), Some(0))
        ),
        (7_004, 7_225),
        "of the source, of all"
    );
    assert_eq!(
        train("quantile", &Values::default(), &Learned::default()).latency(
            TerminalId::new(0),
            TerminalId::new(6),
            Some(0)
        ),
        1300
    );
}

#[test]
fn a_plane_is_fitted_exactly() {
    let (shape, mut learned) = (shape(), Learned::default());
    for (s, d) in [(0, 2), (0, 4), (2, 6), (4, 0), (6, 0), (2, 4)] {
        learned.record(
            &shape,
            TerminalId::new(s),
            TerminalId::new(d),
            10_000 + 700 * u64::from(shape.routers(TerminalId::new(s), TerminalId::new(d))),
        );
    }
    let p = train("fitted", &Values::default(), &learned);
    for (s, d) in [(0, 2), (1, 7), (3, 5), (0, 1)] {
        let expected = 10_000 + 700 * u64::from(shape.routers(TerminalId::new(s), TerminalId::new(d)));
        assert!(
            p.latency(TerminalId::new(s), TerminalId::new(d), Some(0)).abs_diff(expected) <= 1,
            "{s} to {d}: {}",
            p.latency(TerminalId::new(s), TerminalId::new(d), Some(0))
        );
    }
}

#[test]
fn files_are_read_fed_and_refused() {
    let (shape, mut learned) = (shape(), Learned::default());
    learned.record(&shape, TerminalId::new(0), TerminalId::new(2), 6_000);
    learned.record(&shape, TerminalId::new(0), TerminalId::new(4), 8_000);
    let path = std::env::temp_dir().join(format!("netloom-predictor-{}.json", std::process::id()));
    let with = |text: &str, recalibrate: bool| {
        std::fs::write(&path, text).expect("a file can be written");
        Values::default()
            .with("file", Value::Text(path.to_string_lossy().into_owned()))
            .with("recalibrate", Value::Bool(recalibrate))
    };
    let network = r#"{"inputs": ["routers", "mean_ns"], "layers": [
        {"weights": [[1, 1], [-1, 0]], "bias": [0, 0], "activation": "relu"}, {"weights": [[1, 5]], "bias": [2]}]}"#;
    let p = train("external", &with(network, false), &learned);
    assert_eq!(p.latency(TerminalId::new(0), TerminalId::new(2), Some(0)), 10_000, "2 routers + 6 ns + 2");
    let table = r#"{"table": [[0, 2, 12], [0, 4, 16]]}"#;
    let p = train("external", &with(table, true), &learned);
    assert_eq!(
        (
            p.latency(TerminalId::new(0), TerminalId::new(2), Some(0)),
            p.latency(TerminalId::new(0), TerminalId::new(4), Some(0))
        ),
        (6_000, 8_000),
        "scaled to what was seen"
    );
    for bad in [
        "{}",
        "{\"table\": [[0, 1, -5]]}",
        "{\"inputs\": [\"colour\"], \"layers\": [{\"weights\": [[1]], \"bias\": [0]}]}",
        "{\"inputs\": [\"sent\"], \"layers\": [{\"weights\": [[1, 2]], \"bias\": [0]}]}",
        "not json",
    ] {
        let entry = base::registry::find(PREDICTORS, "external").expect("a predictor");
        let problems = (entry.build)(&with(bad, true)).err().unwrap_or_else(|| panic!("{bad} is refused"));
        assert_eq!(problems[0].key, "file");
    }
    std::fs::remove_file(&path).expect("it is there");
}

/// Each class has its own predictor; what was not seen takes the nearest class, of two as near the smaller.
#[test]
fn each_size_has_its_own_predictor() {
    let (shape, mut learned) = (shape(), BySize::default());
    let size = |bytes| SizeClass::of(bytes, 1, 4096);
    for (bytes, latency) in [(8, 2_000), (4096, 50_000), (8, 2_200)] {
        learned.record(&shape, size(bytes), 0, TerminalId::new(0), TerminalId::new(2), latency);
    }
    for (name, off) in [("mean", 0), ("quantile", 1_100)] {
        let entry = base::registry::find(PREDICTORS, name).expect("a predictor");
        let recipe = (entry.build)(&Values::default()).unwrap_or_else(|p| panic!("{p:?}"));
        let all = Predictors::train(&*recipe, &learned, &shape);
        let said = |bytes, destination| {
            all.latency(size(bytes), TerminalId::new(0), TerminalId::new(destination), Some(0))
        };
        for (bytes, latency) in [(8, 2_100), (15, 2_100), (4096, 50_000), (4097, 50_000), (1, 2_100)] {
            assert!(said(bytes, 2).abs_diff(latency) <= off, "{name}: {bytes} B take {}", said(bytes, 2));
        }
        // 8 B need 4 bits, 4096 B 13; 8 is as near to 5 as to 11 and nearer to the smaller: 128 B need 8.
        assert!(said(128, 2) < 3_300 && said(256, 2) > 40_000, "{name}: the nearest");
        assert!(said(8, 7) < 3_300, "{name}: the class counts before the pair");
        assert!(all.knows(size(9)) && !all.knows(size(16)));
    }
}

/// Packets of one message are of one class, and a message that is handed over as one is of the same.
#[test]
fn packets_of_a_message_are_of_one_class() {
    let class = SizeClass::of(2048, 5, 2048);
    assert_eq!((SizeClass::of(1, 5, 2048), SizeClass::of(8193, 5, 2048)), (class, class));
    assert_eq!((class.number(), SizeClass::of(0, 1, 2048).number()), (14, 0));
    assert_eq!(SizeClass::of(u64::MAX, 1, 2048).number(), SizeClass::COUNT - 1);
}

/// A recipe of an entry as a test can make it: every key has a default, or a sample here.
fn recipe(entry: &PredictorEntry) -> Arc<dyn Recipe> {
    let name = entry.about.name;
    let sample = std::env::temp_dir().join(format!("netloom-sample-{name}-{}.json", std::process::id()));
    std::fs::write(&sample, r#"{"table": [[0, 2, 0.001], [0, 4, 16]]}"#).expect("a file can be written");
    let file = [("file", Value::Text(sample.to_string_lossy().into_owned()))];
    let given: &[_] = if name == "external" { &file } else { &[] };
    let values = model::samples::complete(entry.about.params.iter(), given);
    let made = (entry.build)(&values).unwrap_or_else(|p| panic!("{name}: {p:?}"));
    std::fs::remove_file(&sample).expect("it is there");
    made
}

/// What [`Predictor`] and [`Recipe`] promise, of every registered one: pure, never below an empty network, trained by what was learned alone.
#[test]
fn every_predictor_keeps_the_contract() {
    let shape = shape();
    let mut learned = Learned::default();
    let mut random = base::rng::Stream::new(5, base::rng::Purpose::Test, 0);
    for _ in 0..2_000 {
        let (source, step) = (random.below(8) as u32, random.below(7) as u32 + 1);
        let (source, destination) = (TerminalId::new(source), TerminalId::new((source + step) % 8));
        let latency = shape.floor(source, destination) + random.below(500).pow(2);
        learned.record(&shape, source, destination, latency);
    }
    let pairs = || TerminalId::first(8).flat_map(|s| TerminalId::first(8).map(move |d| (s, d)));
    for entry in PREDICTORS {
        let (name, recipe) = (entry.about.name, recipe(entry));
        for learned in [&Learned::default(), &learned] {
            let (one, other) = (recipe.train(learned, &shape, 1), recipe.train(learned, &shape, 1));
            for (s, d) in pairs() {
                let floor = shape.floor(s, d);
                let numbers = [None, Some(0), Some(1), Some(7), Some(u32::MAX)];
                let said = numbers.map(|n| one.latency(s, d, n));
                assert!(
                    said.iter().all(|&l| l >= floor && l < 1_000_000_000),
                    "{name}: {s} to {d}: {said:?}"
                );
                // Asked again, in another order, of another copy: nothing is remembered.
                let again = [4, 3, 2, 1, 0].map(|n: usize| other.latency(s, d, numbers[n]));
                assert!(said.iter().eq(again.iter().rev()), "{name}: {s} to {d}: {said:?}, {again:?}");
                if let Some(row) = one.of_source(s) {
                    assert_eq!(row[d.index()], said[0], "{name}: {s} to {d} in the row of the source");
                }
            }
        }
    }
}
