//! Experiments that gave other results in one partition than in many, until what was wrong was mended. They were drawn at random and made shorter;
//! `crates/packet/tests/asleep.rs` draws more of the kind.

use crate::common::netloom;
use serde_json::Value as Json;
use std::fs;

/// What was wrong, and the experiment that showed it.
const CASES: [(&str, &str); 5] = [
    (
        "heads wait for a tail's credit where queues share memory",
        r#"
[experiment]
duration = "2 us"
seed = 558
[fabric]
topology = "torus"
dims = [5, 3]
link.terminal = { bandwidth = "32 GB/s", latency = "10 ns", credit_delay = "27 ns", vc_buffer = "1536 B" }
link.local = { bandwidth = "12.5 GB/s", latency = "10 ns", credit_delay = "27 ns", vc_buffer = "1536 B" }
[routing]
algorithm = "dimension-order"
[[job]]
workload = "uniform"
message = "384 B"
load = 0.9
arrival = "poisson"
[model]
kind = "packet"
router = "combined"
packet = "384 B"
chunk = "64 B"
vcs = 8
router_delay = "5000 ps"
[router]
vc_allocator = "wavefront"
vc_allocation_cycles = 3
hold_switch = true
wait_for_tail_credit = true
output_buffers = "shared"
"#,
    ),
    (
        "the same at a terminal, which takes chunks late",
        r#"
[experiment]
duration = "3 us"
seed = 123
[fabric]
topology = "dragonfly"
groups = 5
routers_per_group = 4
terminals_per_router = 1
global_ports_per_router = 1
link.terminal = { bandwidth = "32 GB/s", latency = "50 ns", credit_delay = "10 ns", vc_buffer = "128 B" }
link.local = { bandwidth = "12.5 GB/s", latency = "50 ns", credit_delay = "10 ns", vc_buffer = "128 B" }
link.global = { bandwidth = "32 GB/s", latency = "50 ns", credit_delay = "10 ns", vc_buffer = "128 B" }
[routing]
algorithm = "minimal"
[[job]]
workload = "uniform"
message = "128 B"
load = 0.2
arrival = "poisson"
[model]
kind = "packet"
router = "combined"
packet = "128 B"
chunk = "64 B"
vcs = 8
router_delay = "5000 ps"
[router]
vc_allocator = "islip"
switch_allocator = "separable-output-first"
arbiter = "tree"
speculation = "yielding"
wait_for_tail_credit = true
ejection_vcs = "class"
"#,
    ),
    (
        "marks count what is taken of shared buffers",
        r#"
[experiment]
duration = "1 us"
seed = 299
[fabric]
topology = "mesh"
dims = [3, 3]
link.terminal = { bandwidth = "64 GB/s", latency = "3 ns", credit_delay = "10 ns", vc_buffer = "768 B" }
link.local = { bandwidth = "32 GB/s", latency = "3 ns", credit_delay = "10 ns", vc_buffer = "768 B" }
[routing]
algorithm = "minimal-adaptive"
[[job]]
workload = "uniform"
message = "1152 B"
load = 1.0
arrival = "bernoulli"
[model]
kind = "packet"
router = "combined"
packet = "384 B"
chunk = "64 B"
vcs = 6
router_delay = "7777 ps"
[router]
input_buffers = "shared"
[congestion_control]
scheme = "infiniband"
"#,
    ),
    (
        "credits of lost chunks do not overtake others",
        r#"
[experiment]
duration = "3 us"
seed = 549
[fabric]
topology = "torus"
dims = [5, 3]
link.terminal = { bandwidth = "32 GB/s", latency = "10 ns", credit_delay = "4 ns", vc_buffer = "256 B" }
link.local = { bandwidth = "12.5 GB/s", latency = "10 ns", credit_delay = "4 ns", vc_buffer = "256 B" }
[routing]
algorithm = "dimension-order"
[[job]]
workload = "tornado"
message = "768 B"
load = 0.2
arrival = "poisson"
[model]
kind = "packet"
router = "input-queued"
packet = "256 B"
chunk = "64 B"
vcs = 4
router_delay = "1000 ps"
[router]
switch_allocation_cycles = 3
[resilience]
loss = 0.1
"#,
    ),
    (
        "an alarm that an earlier arrival left behind",
        r#"
[experiment]
duration = "1 us"
seed = 371
[fabric]
topology = "torus"
dims = [4, 4]
terminals_per_router = 2
link.terminal = { bandwidth = "64 GB/s", latency = "10 ns", credit_delay = "10 ns", vc_buffer = "128 B" }
link.local = { bandwidth = "64 GB/s", latency = "10 ns", credit_delay = "10 ns", vc_buffer = "128 B" }
[routing]
algorithm = "dimension-order"
[[job]]
workload = "uniform"
message = "192 B"
load = 0.5
arrival = "constant"
[model]
kind = "packet"
router = "output-queued"
packet = "64 B"
chunk = "64 B"
vcs = 6
router_delay = "5000 ps"
"#,
    ),
];

#[test]
fn results_do_not_hang_on_partitions() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("experiment.toml");
    for (what, text) in CASES {
        fs::write(&file, text).expect("writes");
        let of = |partitions: &str| {
            let set = format!("engine.partitions={partitions}");
            let file = file.to_str().expect("a path");
            let run = netloom(&["run", file, "--check", "--format", "json", "--set", &set]);
            let object: Json =
                serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{what}: {e}: {}", run.err));
            object["fingerprint"].clone()
        };
        let one = of("1");
        assert!(one.is_string(), "{what}");
        assert_eq!(of("64"), one, "{what}");
    }
}
