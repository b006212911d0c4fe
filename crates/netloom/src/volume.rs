//! What programs will send, as far as it is known without running them: messages, bytes, and links between routers that they cross.

use base::index::{Column, RankId, RouterId, TerminalId};
use fabric::{graph::Fabric, metrics::distances};
use model::{Run, setup::JobSetup};
use serde_json::{Value as Json, json};
use workload::program::Program;

/// Most steps of the search for distances.
const MAX_STEPS: u64 = 4_000_000_000;

/// A job's point-to-point messages; collectives are not in it.
pub struct Volume {
    /// Name of the job.
    pub job: String,
    /// Messages of all ranks.
    pub messages: u64,
    /// Payload bytes of all these messages.
    pub bytes: u128,
    /// Links between routers that they cross on shortest paths, all together; none without a network, or if it is too large to
    /// search.
    pub link_hops: Option<u128>,
}

/// The jobs whose programs know beforehand what they send.
#[must_use]
pub fn volumes(run: &dyn Run) -> Vec<Volume> {
    let known = |job: &&JobSetup| job.work.program().is_some_and(|p| p.sent(RankId::new(0)).is_some());
    run.jobs()
        .iter()
        .filter(known)
        .filter_map(|job| {
            let program = job.work.program()?;
            let small =
                |f: &&Fabric| u64::from(program.ranks()).saturating_mul(f.ports().len() as u64) <= MAX_STEPS;
            Some(volume(&job.name, program.as_ref(), &job.placement, run.fabric().filter(small)))
        })
        .collect()
}

/// Distances from a node to all routers, by plane; those of the first one if all are alike.
fn hops_to_all(fabric: &Fabric, node: TerminalId) -> Vec<Column<RouterId, u32>> {
    let different = if fabric.intact() { 1 } else { fabric.planes() };
    (0..different).map(|p| distances(fabric, fabric.router_at(fabric.terminal_in(node, p)))).collect()
}

fn volume(name: &str, program: &dyn Program, placement: &[TerminalId], fabric: Option<&Fabric>) -> Volume {
    let (mut messages, mut bytes, mut hops) = (0, 0, 0);
    for (rank, &terminal) in RankId::first(program.ranks()).zip(placement) {
        let hops_to_all = fabric.map_or_else(Vec::new, |f| hops_to_all(f, terminal));
        for sent in program.sent(rank).unwrap_or_default() {
            messages += sent.messages;
            bytes += u128::from(sent.bytes) * u128::from(sent.messages);
            if let Some(fabric) = fabric {
                let at = |plane| fabric.router_at(fabric.terminal_in(placement[sent.peer.index()], plane));
                let far = (0..).zip(&hops_to_all).map(|(plane, hops)| hops[at(plane)]).min();
                hops += u128::from(far.unwrap_or(0)) * u128::from(sent.messages);
            }
        }
    }
    Volume { job: name.to_owned(), messages, bytes, link_hops: fabric.map(|_| hops) }
}

impl Volume {
    /// A line for people.
    #[must_use]
    pub fn line(&self) -> String {
        let hops = self.link_hops.map_or_else(String::new, |h| {
            let mean = h as f64 / self.messages.max(1) as f64;
            format!(", {h} link hops (mean {mean:.4})")
        });
        format!("{}: {} messages point to point, {} bytes{hops}", self.job, self.messages, self.bytes)
    }

    /// For `--format json`.
    #[must_use]
    pub fn json(&self) -> Json {
        let wide = |n: u128| u64::try_from(n).map_or_else(|_| json!(n.to_string()), |n| json!(n));
        json!({
            "job": self.job, "messages": self.messages, "bytes": wide(self.bytes),
            "link_hops": self.link_hops.map(wide),
        })
    }
}
