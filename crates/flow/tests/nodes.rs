//! Several ranks on a terminal of the flow model: cores, memory, and the link that messages leaving share.

use base::{index::TerminalId, rate::Bandwidth, time::Ps};
use flow::{FlowConfig, rules::Rules, simulate};
use model::{samples::int, setup::Measure};
use packet::samples;
use ranks::node::{Kernel, Memory, Node};
use results::summary::{Sent, State, Summary};
use std::sync::Arc;
use workload::{
    program::{
        After, Op,
        list::{List, Rank, calc, recv, send},
    },
    registry::Work,
};

const US: Ps = 1_000_000;

/// A rank that does these one after another.
fn chain(ops: &[Op]) -> Rank {
    let mut rank = Rank::default();
    for &op in ops {
        rank.push(Op { after: After::Finish, ..op });
    }
    rank
}

/// These ranks, so many on a terminal of a switch: links of 1 GB/s and 1 us; memory of 4 GB/s and 80 ns.
fn run(ranks: &[Rank], each: u32, cores: Option<u32>, kernel: Kernel) -> Summary {
    let fabric = samples::topology("single-switch", &[("terminals", int(2))]);
    let memory = Memory { latency: 80_000, bandwidth: Bandwidth::new(4_000_000_000, 1), channels: 1 };
    let routing = samples::routing(&fabric, "shortest-path", &[]);
    let config = FlowConfig { eager: u64::MAX, ..FlowConfig::new(Rules::plain()) };
    let work = Work::Program(Arc::new(List::new(ranks.to_vec())));
    let mut setup = flow::samples::setup(&fabric, Some(routing), work, config);
    setup.jobs[0].placement = (0..ranks.len() as u32).map(|r| TerminalId::new(r / each)).collect();
    setup.measure = Measure { operations: true, ..Measure::default() };
    setup.check = true;
    setup.node = Some(Node { cores, kernel, memory });
    let done = simulate(&setup, &mut |_| true).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(done.summary.verdict.state, State::Ok, "{:?}", done.summary.verdict);
    // What counts as computing is not more than there was.
    let ranks = done.tables.iter().find(|t| t.name() == "ranks").expect("programs have ranks");
    let compute: Ps = ranks.u64_column("compute_ps").expect("a column").iter().sum();
    assert!(compute <= 64 * US, "{compute} ps");
    // What it waited for adds up to all of its time, and everything has a cause.
    let job = &done.summary.jobs[0];
    let path = job.critical_path.expect("operations are measured");
    let all = path.compute_ps + path.overhead_ps + path.transfer_ps + path.wait_ps;
    assert_eq!((Some(all), path.wait_ps), (job.makespan_ps, 0), "{path:?}");
    done.summary
}

fn makespan(summary: &Summary) -> Ps {
    summary.jobs[0].makespan_ps.unwrap_or(0)
}

#[test]
fn tasks_on_one_core_are_serialised() {
    let ranks = [3 * US, 5 * US, 11 * US, 2 * US].map(|t| chain(&[calc(t)]));
    for (cores, expected) in [(None, 11), (Some(1), 21), (Some(2), 14), (Some(4), 11)] {
        for kernel in [Kernel::RunToCompletion, Kernel::TimeSlices(US / 2)] {
            let summary = run(&ranks, 4, cores, kernel);
            assert_eq!(makespan(&summary), expected * US, "{cores:?}, {kernel:?}");
        }
    }
    assert_eq!(makespan(&run(&ranks, 2, Some(1), Kernel::RunToCompletion)), 13 * US);
}

#[test]
fn messages_within_a_node_load_no_link() {
    let ranks = [chain(&[send(1, 4096, 7)]), chain(&[recv(0, 4096, 7)])];
    let within = run(&ranks, 2, None, Kernel::RunToCompletion);
    assert_eq!(makespan(&within), 80_000 + 250 * 4096);
    assert_eq!(within.messages.map(|m| m.injected), Some(0));
    assert!(within.links.is_none_or(|l| l.max_utilisation == 0.0));
    let nodes = within.nodes.unwrap_or_default();
    assert_eq!((nodes.within, nodes.leaving), (Sent { messages: 1, bytes: 4096 }, Sent::default()));
    let apart = run(&ranks, 1, None, Kernel::RunToCompletion);
    assert_eq!(makespan(&apart), 2 * US + 1000 * 4096);
    assert_eq!(apart.nodes.unwrap_or_default().leaving, Sent { messages: 1, bytes: 4096 });
}

#[test]
fn messages_that_leave_share_the_link() {
    let ranks = [
        chain(&[send(2, 1_000_000, 0)]),
        chain(&[send(3, 1_000_000, 0)]),
        chain(&[recv(0, 1_000_000, 0)]),
        chain(&[recv(1, 1_000_000, 0)]),
    ];
    let summary = run(&ranks, 2, None, Kernel::RunToCompletion);
    assert_eq!(makespan(&summary), 2 * US + 2000 * US);
    // 2 MB in 2,002 us, of two nodes' links of 1 GB/s: not of a link for each of the four ranks.
    let accepted = summary.throughput.map_or(0.0, |t| t.accepted_fraction);
    assert!((accepted - 1000.0 / 2002.0).abs() < 1e-9, "{accepted}");
}
