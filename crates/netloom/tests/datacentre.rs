//! Workloads of data centres: sizes drawn from distributions, incast, and slow-downs of messages, on models `packet` and `flow`.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![allow(clippy::float_cmp, reason = "what is one must be one")]

use netloom::{Experiment, RunOptions, results::summary::Summary};

/// Some networks: terminals, and text. Bandwidths at which 64 bytes take whole picoseconds.
const NETWORKS: [(u32, &str); 4] = [
    (4, "topology = \"single-switch\"\nterminals = 4\nlink.terminal = { bandwidth = \"64 GB/s\", FAR }\n"),
    (
        8,
        "topology = \"mesh\"\ndims = [8]\nlink.terminal = { bandwidth = \"16 GB/s\", NEAR }\nlink.local = { bandwidth = \"64 GB/s\", FAR }\n",
    ),
    (
        16,
        "topology = \"xgft\"\nchildren = [4, 4]\nparents = [1, 2]\nlink.terminal = { bandwidth = \"32 GB/s\", NEAR }\n\
         link.level-2 = { bandwidth = \"8 GB/s\", FAR }\n",
    ),
    (
        72,
        "topology = \"dragonfly\"\ngroups = 9\nrouters_per_group = 4\nterminals_per_router = 2\nglobal_ports_per_router = 2\n\
         link.terminal = { bandwidth = \"64 GB/s\", NEAR }\nlink.local = { bandwidth = \"32 GB/s\", NEAR }\nlink.global = { bandwidth = \"16 GB/s\", FAR }\n",
    ),
];

/// An experiment on such a network.
fn text((_, network): (u32, &str), model: &str, jobs: &str) -> String {
    let network = network
        .replace("NEAR", "latency = \"20 ns\", credit_delay = \"20 ns\", vc_buffer = \"1 MiB\"")
        .replace("FAR", "latency = \"700 ns\", credit_delay = \"700 ns\", vc_buffer = \"1 MiB\"");
    let routing = if network.contains("xgft") { "d-mod-k" } else { "minimal" };
    let routing = if network.contains("mesh") { "dimension-order" } else { routing };
    format!("{jobs}[fabric]\n{network}[routing]\nalgorithm = \"{routing}\"\n[model]\n{model}\n")
}

const FLOW: &str = "kind = \"flow\"\nrouter_delay = \"50 ns\"\n";

fn packet(router: &str, packet: &str, chunk: &str) -> String {
    format!(
        "kind = \"packet\"\nrouter = \"{router}\"\npacket = \"{packet}\"\nchunk = \"{chunk}\"\nvcs = 4\nrouter_delay = \"50 ns\"\n\
         adapter_delay = \"100 ns\"\n"
    )
}

fn run(text: &str) -> Summary {
    Experiment::from_text(text.to_owned()).run().unwrap_or_else(|e| panic!("{e}\n{text}")).summary
}

/// One message alone from the first rank to the last.
fn one(network: (u32, &str), bytes: u64) -> String {
    let receiver = network.0 - 1;
    format!(
        "[experiment]\nuntil = \"workload-done\"\n[[job]]\nworkload = \"incast\"\nsenders = 1\nreceiver = {receiver}\ncount = 1\nload = 0.1\nmessage = \"{bytes} B\"\n\
         [output]\nslow_down = true\n"
    )
}

/// Alone, a message has a slow-down of 1: what is said of it beforehand is what the model makes of it, to the picosecond.
#[test]
fn a_message_alone_is_not_slowed_down() {
    let models = [
        FLOW.to_owned(),
        "kind = \"flow\"\npreset = \"lv08\"\n".to_owned(),
        packet("window", "1024 B", "64 B"),
        packet("window", "100 B", "64 B"),
        packet("output-queued", "1000 B", "256 B"),
        packet("window", "4 KiB", "4 KiB"),
    ];
    for network in NETWORKS {
        for bytes in [1, 37, 64, 65, 100, 1000, 1024, 1025, 1500, 9999, 1_000_000] {
            for model in &models {
                let text = text(network, model, &one(network, bytes));
                let summary = run(&text);
                let all = summary.slow_down.expect("it is measured");
                assert_eq!((all.mean, all.max, all.count), (1.0, 1.0, 1), "{text}");
                let row = &all.by_size[0];
                assert!((row.from_bytes..=row.to_bytes).contains(&bytes), "{text}");
            }
        }
    }
}

/// Where a chunk takes fractions of picoseconds, rounding is off by a picosecond for each link at most.
#[test]
fn fractions_of_picoseconds_cost_one_for_each_link() {
    for speed in ["3 GB/s", "7 GB/s", "100 Gb/s", "1 GiB/s"] {
        let network = NETWORKS[1];
        let of = |model: &str| text(network, model, &one(network, 77_777)).replace("16 GB/s", speed);
        let summary = run(&of(&packet("window", "1000 B", "96 B")));
        let latency = summary.message_latency_ps.unwrap().mean;
        let off = (summary.slow_down.unwrap().mean - 1.0) * latency;
        // Slow-downs are kept to a millionth.
        assert!(off.abs() < 9.0 + latency * 1e-6, "{speed}: {off} ps");
    }
}

/// Two flows of one link have half of it each: L + 2 B / C over L + B / C.
#[test]
fn two_equal_flows_take_twice_as_long() {
    let network = NETWORKS[0];
    let jobs = one(network, 64_000_000).replace("senders = 1", "senders = 2");
    let summary = run(&text(network, "kind = \"flow\"\n", &jobs));
    // 64 MB at 64 GB/s take 1 ms; two links have 700 ns each, the router between them 100 ns.
    let (latency, time) = (1_500_000.0, 1e9);
    let expected = (latency + 2.0 * time) / (latency + time);
    let all = summary.slow_down.unwrap();
    assert_eq!(all.count, 2);
    assert!((all.mean - expected).abs() < 1e-6 && (all.max - expected).abs() < 1e-6, "{all:?}");
    // Without latency it is two; packets take turns, so one of the two is a packet ahead.
    let short = text(network, "kind = \"flow\"\nrouter_delay = \"0 s\"\n", &jobs).replace("700 ns", "2 ps");
    assert!((run(&short).slow_down.unwrap().mean - 2.0).abs() < 1e-6);
    let all = run(&text(network, &packet("window", "1024 B", "64 B"), &jobs)).slow_down.unwrap();
    assert!((all.mean - expected).abs() < 1e-3, "{all:?}");
}

/// Hadoop's sizes on a fat tree.
fn drawn(more: &str) -> String {
    let jobs = format!(
        "[experiment]\nduration = \"300 us\"\nwarmup = \"20 us\"\n{more}[[job]]\nworkload = \"uniform\"\nsize_distribution = \"hadoop\"\nload = 0.5\narrival = \"poisson\"\n"
    );
    text(NETWORKS[2], &packet("window", "1024 B", "1024 B"), &jobs).replace("8 GB/s", "64 GB/s")
}

/// Slow-downs are results: the same for every scheduler and number of partitions.
#[test]
fn slow_downs_do_not_depend_on_how_a_run_is_divided() {
    let whole = run(&drawn(""));
    let all = whole.slow_down.clone().expect("it is measured where sizes are drawn");
    assert!(all.count > 300 && all.by_size.len() == 10 && all.p99 > all.p50 && all.p50 >= 1.0, "{all:?}");
    assert!(all.by_size.iter().all(|row| row.p50 >= 0.999), "{all:?}");
    assert_eq!(all.by_size.iter().map(|row| row.count).sum::<u64>(), all.count);
    assert_eq!(whole.message_latency_ps.unwrap().count, all.count);
    for (scheduler, threads, partitions) in
        [("sequential", 1, 3), ("conservative", 2, 2), ("optimistic", 2, 4)]
    {
        let engine = format!("[engine]\nscheduler = \"{scheduler}\"\npartitions = {partitions}\n");
        let options = RunOptions { threads, ..RunOptions::default() };
        let divided = Experiment::from_text(drawn(&engine)).options(options).run().unwrap().summary;
        assert_eq!(
            (divided.fingerprint, divided.slow_down),
            (whole.fingerprint.clone(), Some(all.clone())),
            "{scheduler}"
        );
    }
}

/// What is measured changes nothing else, and can be left out.
#[test]
fn measuring_changes_nothing_else() {
    let with = run(&drawn(""));
    let without = run(&drawn("[output]\nslow_down = false\n"));
    assert_eq!((&with.fingerprint, without.slow_down), (&without.fingerprint, None));
    assert_eq!(with.message_latency_ps, without.message_latency_ps);
}

/// Drawn sizes bring the load that is asked for, within four standard errors of their mean.
#[test]
fn drawn_sizes_offer_the_load() {
    let jobs = "[experiment]\nduration = \"20 ms\"\n[[job]]\nworkload = \"random-permutation\"\nsize_distribution = \"hadoop\"\nload = 0.5\narrival = \"poisson\"\n";
    let summary = run(&text(NETWORKS[2], "kind = \"flow\"\n", jobs).replace("8 GB/s", "640 GB/s"));
    let of = summary.throughput.unwrap();
    assert_eq!(of.offered_fraction, Some(0.5));
    let count = summary.messages.unwrap().injected as f64;
    // A size's second moment is 13 times the square of its mean or less, and so is the variance of a sum of so many of them relative to it.
    assert!((of.accepted_fraction / 0.5 - 1.0).abs() < 4.0 * (14.0 / count).sqrt() + 0.02, "{of:?} {count}");
}

/// Files of sizes are read with their mistakes, and sizes are told once.
#[test]
fn mistakes_are_shown_at_their_lines() {
    let folder = std::env::temp_dir().join(format!("netloom-sizes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("sizes.txt");
    let said = |contents: &str, key: &str| {
        std::fs::write(&path, contents).unwrap();
        let jobs = format!(
            "[[job]]\nworkload = \"uniform\"\nload = 0.5\n{key}\n[experiment]\nduration = \"10 us\"\n"
        )
        .replace("FILE", &path.display().to_string());
        match Experiment::from_text(text(NETWORKS[0], FLOW, &jobs)).run() {
            Ok(done) => format!("{} messages", done.summary.messages.unwrap().injected),
            Err(error) => error.to_string(),
        }
    };
    let file = "size_file = \"FILE\"";
    assert!(said("1000 50\n2000 100\n", file).ends_with(" messages"));
    assert!(said("1000 50\n500 100\n", file).contains("sizes must ascend"));
    assert!(said("1000 50\n", file).contains("the last share must be all messages"));
    let unknown = said("", "size_distribution = \"web\"");
    assert!(unknown.contains("size_distribution") && !unknown.ends_with(" messages"), "{unknown}");
    assert!(said("", "size_distribution = \"hadoop\"\nsizes = [\"1 KiB\"]").contains("gives sizes already"));
    assert!(
        said("", "size_distribution = \"hadoop\"\nmessage = \"1 KiB\"")
            .contains("`size_distribution` gives its messages")
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
