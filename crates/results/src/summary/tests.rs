use super::*;
use serde_json::json;

/// A summary with every block.
pub(crate) fn full() -> Summary {
    let mut verdict = Verdict::ok();
    verdict.find(State::NotStationary, []);
    verdict.find(State::Saturated, ["router 3 port 2 is full".to_owned()]);
    let latency = Latency {
        min: 666_244,
        mean: 1_500_000.5,
        p50: 1_400_000,
        p95: 2e6 as u64,
        p99: 3e6 as u64,
        max: 4e6 as u64,
        count: 10,
    };
    let counts = Counts { injected: 1_234_567, delivered: 1_234_000, in_flight: 567 };
    let mut fingerprint = Fingerprint::default();
    fingerprint.add(1, 2, 3, 4);
    Summary {
        simulated_ps: 1_000_000_000,
        packets: Some(counts),
        messages: Some(counts),
        bytes_delivered: 1_234_000 * 1024,
        latency_ps: Some(latency),
        message_latency_ps: Some(latency),
        latency_parts_ps: LatencyParts::from_sums([1, 2, 3, 4, 5, 6, 14_999_984], 10),
        hops_mean: Some(3.25),
        latency_by_hops: vec![
            HopLatency { hops: 1, count: 4, min_ps: 666_244, mean_ps: 700_000.0 },
            HopLatency { hops: 4, count: 6, min_ps: 1_145_059, mean_ps: 1_600_000.25 },
        ],
        throughput: Some(Throughput {
            offered_fraction: Some(1.0),
            accepted_fraction: 0.75,
            accepted_bytes_per_s: 1.5e11,
        }),
        confidence: Some(Confidence {
            mean_half_width_ps: 12_345.0,
            level: 0.95,
            batches: 20,
            method: "batch-means".into(),
        }),
        jobs: vec![Job {
            name: "uniform".into(),
            ranks: 72,
            messages: Some(counts),
            makespan_ps: None,
            compute_fraction: None,
            critical_path: None,
        }],
        links: Some(Links {
            mean_utilisation: 0.5,
            max_utilisation: 0.99,
            classes: vec![LinkClass {
                class: "global".into(),
                links: 72,
                mean_utilisation: 0.6,
                max_utilisation: 0.99,
            }],
        }),
        buffers: Some(Buffers { mean_bytes: 1e6, max_bytes: 2_000_000 }),
        performance: Some(Performance {
            wall_s: 1.5,
            cpu_s: Some(1.4),
            events: 9_000_000,
            events_per_s: 6e6,
            chunk_hops: Some(12_000_000),
            chunk_hops_per_s: Some(8e6),
            peak_rss_bytes: Some(12 << 20),
            scheduler: "sequential".into(),
            partitions: 1,
            threads: 1,
            speculation: None,
            windows: None,
            ranks: 1,
            chosen: None,
        }),
        ..Summary::new(fingerprint, verdict, json!({"experiment": {"name": "test", "seed": 1}}))
    }
}

fn keys(value: &serde_json::Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The keys that scripts rely on, in their order.
#[test]
fn keys_are_those_of_the_contract() {
    let v: serde_json::Value = serde_json::from_str(&full().to_json()).unwrap();
    assert_eq!(
        keys(&v),
        [
            "schema",
            "fingerprint",
            "verdict",
            "experiment",
            "simulated_ps",
            "packets",
            "messages",
            "bytes_delivered",
            "latency_ps",
            "message_latency_ps",
            "latency_parts_ps",
            "hops_mean",
            "latency_by_hops",
            "throughput",
            "confidence",
            "jobs",
            "links",
            "buffers",
            "performance",
        ]
    );
    assert_eq!(v["schema"], "netloom-summary-1");
    assert_eq!(v["fingerprint"].as_str().unwrap().len(), 32);
    assert_eq!(v["verdict"]["state"], "saturated");
    assert_eq!(v["verdict"]["flags"], json!(["not-stationary", "saturated"]));
    assert_eq!(keys(&v["packets"]), ["injected", "delivered", "in_flight"]);
    assert_eq!(keys(&v["latency_ps"]), ["min", "mean", "p50", "p95", "p99", "max", "count"]);
    assert!(v["latency_ps"]["min"].is_u64() && v["latency_ps"]["mean"].is_f64());
    assert_eq!(keys(&v["latency_by_hops"][0]), ["hops", "count", "min_ps", "mean_ps"]);
    assert_eq!(keys(&v["throughput"]), ["offered_fraction", "accepted_fraction", "accepted_bytes_per_s"]);
    assert_eq!(
        keys(&v["performance"]),
        [
            "wall_s",
            "cpu_s",
            "events",
            "events_per_s",
            "chunk_hops",
            "chunk_hops_per_s",
            "peak_rss_bytes",
            "scheduler",
            "partitions",
            "threads",
            "ranks",
        ]
    );
}

#[test]
fn blocks_that_do_not_apply_are_absent() {
    let bare = Summary::new(Fingerprint::default(), Verdict::ok(), json!({}));
    let v: serde_json::Value = serde_json::from_str(&bare.to_json()).unwrap();
    assert_eq!(
        keys(&v),
        ["schema", "fingerprint", "verdict", "experiment", "simulated_ps", "bytes_delivered"]
    );
    assert_eq!(v["verdict"], json!({"state": "ok", "flags": []}));
}

#[test]
fn json_is_read_back_unchanged() {
    for summary in [full(), Summary::new(Fingerprint::default(), Verdict::ok(), json!(null))] {
        assert_eq!(serde_json::from_str::<Summary>(&summary.to_json()).unwrap(), summary);
    }
}

#[test]
fn only_performance_differs_between_equal_runs() {
    let (a, mut b) = (full(), full());
    if let Some(p) = &mut b.performance {
        p.wall_s = 99.0;
    }
    assert_ne!(a.to_json(), b.to_json());
    assert_eq!(a.without_performance().to_json(), b.without_performance().to_json());
    assert!(!a.without_performance().to_json().contains("performance"));
}

#[test]
fn the_gravest_finding_is_the_state() {
    let mut v = Verdict::ok();
    v.flag("too-few-samples");
    assert_eq!(v.state, State::Ok);
    v.find(State::Deadlock, []);
    v.find(State::Saturated, []);
    v.find(State::Saturated, []);
    assert_eq!(v.state, State::Deadlock);
    assert_eq!(v.flags, ["too-few-samples", "deadlock", "saturated"]);
}

#[test]
fn state_names_are_those_of_json() {
    for s in [
        State::Ok,
        State::NotStationary,
        State::Saturated,
        State::Incomplete,
        State::Starved,
        State::Deadlock,
    ] {
        assert_eq!(serde_json::to_value(s).unwrap(), s.name());
    }
}

#[test]
fn parts_sum_to_the_mean() {
    let s = full();
    let sum: f64 = s.latency_parts_ps.unwrap().to_array().iter().sum();
    assert!((sum - s.latency_ps.unwrap().mean).abs() < 1e-6);
    assert!(LatencyParts::from_sums([1; 7], 0).is_none());
}
