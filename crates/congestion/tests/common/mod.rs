//! One mapping of a pattern over the tables of a subnet, counted by the crate.

use congestion::{
    Plan, TableRoutes, Task, Want,
    routes::Multipath,
    run::Sends,
    setup::{block, watched},
    simulate,
};
use fabric::subnet::Subnet;
use results::summary::Congestion;
use workload::levels::LevelPattern;

/// All that can be asked for but partial counts.
pub const ALL: Want = Want { edges: true, partial: false, delays: true };

/// Counts a pattern of ranks on these hosts; of merged patterns the first has `part` ranks.
pub fn count(subnet: &Subnet, pattern: &str, part: u32, hosts: &[u32], want: Want) -> Congestion {
    let pattern = LevelPattern::parse(pattern, part).unwrap();
    let plan = Plan {
        watched: watched(&pattern),
        tasks: vec![Task {
            sends: Sends::Levels(pattern),
            hosts: hosts.to_vec(),
            fixed: 0,
            part: 0,
            shuffle: false,
            level: None,
        }],
        runs: 1,
        seed: 1,
        want,
        threads: 1,
    };
    let tables = subnet.tables.as_ref().unwrap();
    let routes = TableRoutes { subnet, tables, multipath: Multipath::First };
    let names = subnet.unique_names();
    let outcome = simulate(&routes, &plan, &mut |_| true).unwrap();
    block(&outcome, &|edge| subnet.edge_label(edge, &names))
}
