//! What programs will send, as far as it is known without running them: messages, bytes, and links between routers that they cross.

use base::index::{Column, RankId, RouterId, TerminalId};
use fabric::{graph::Fabric, metrics::distances};
use model::{Run, setup::JobSetup};
use serde_json::{Value as Json, json};
use workload::program::{Damage, Program, matrix::beyond_64_bits};

/// Most steps of the search for distances.
const MAX_STEPS: u64 = 4_000_000_000;

/// Most steps in which the messages of a job are counted, beyond one for each rank: some seconds.
const MAX_COUNTED: u64 = 1 << 26;

/// Most ranks whose messages are counted: each says what it sends.
const MAX_RANKS: u32 = 1 << 21;

/// A job's point-to-point messages; collectives are not in it.
pub struct Volume {
    /// Name of the job.
    pub job: String,
    /// What it sends, or why that was not counted.
    pub sends: Result<Sends, String>,
}

/// Point-to-point messages, added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sends {
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
    let volume = |job: &JobSetup| {
        // Within no steps little is counted; who cannot know says so.
        let program = job.work.program().filter(|p| p.sent(RankId::new(0), 0).is_some())?;
        let small =
            |f: &&Fabric| u64::from(program.ranks()).saturating_mul(f.ports().len() as u64) <= MAX_STEPS;
        let mut hops = run.fabric().filter(small).map(Hops::new);
        let sends = sends(program.as_ref(), &job.placement, hops.as_mut());
        Some(Volume { job: job.name.clone(), sends: sends.map_err(|Damage(why)| why) })
    };
    run.jobs().iter().filter_map(volume).collect()
}

/// Links between routers from one rank's node to all others.
struct Hops<'a> {
    fabric: &'a Fabric,
    /// The node that was searched from last, and the distances to all routers by plane; those of the first one if all are alike.
    last: Option<(TerminalId, Vec<Column<RouterId, u32>>)>,
    searches: u64,
}

impl<'a> Hops<'a> {
    fn new(fabric: &'a Fabric) -> Self {
        Self { fabric, last: None, searches: 0 }
    }

    /// Searches from a node. Ranks that share one follow each other.
    fn start(&mut self, node: TerminalId) {
        if self.last.as_ref().is_none_or(|&(last, _)| last != node) {
            let fabric = self.fabric;
            let different = if fabric.intact() { 1 } else { fabric.planes() };
            let from = |plane| distances(fabric, fabric.router_at(fabric.terminal_in(node, plane)));
            self.last = Some((node, (0..different).map(from).collect()));
            self.searches += 1;
        }
    }

    /// Links to another node, on the nearest plane.
    fn to(&self, node: TerminalId) -> u32 {
        let at = |plane| self.fabric.router_at(self.fabric.terminal_in(node, plane));
        let known = self.last.iter().flat_map(|(_, planes)| planes);
        (0..).zip(known).map(|(plane, hops)| hops[at(plane)]).min().unwrap_or(0)
    }
}

fn sends(
    program: &dyn Program,
    placement: &[TerminalId],
    mut hops: Option<&mut Hops<'_>>,
) -> Result<Sends, Damage> {
    if program.ranks() > MAX_RANKS {
        return Err(Damage(format!("the program has more than {MAX_RANKS} ranks")));
    }
    let most = MAX_COUNTED / u64::from(program.ranks().max(1));
    let mut sum = Sends { link_hops: hops.as_ref().map(|_| 0), ..Sends::default() };
    for (rank, &terminal) in RankId::first(program.ranks()).zip(placement) {
        if let Some(hops) = &mut hops {
            hops.start(terminal);
        }
        for sent in program.sent(rank, most).unwrap_or_else(|| Ok(Vec::new()))? {
            sum.messages = sum.messages.checked_add(sent.messages).ok_or_else(beyond_64_bits)?;
            sum.bytes += u128::from(sent.bytes) * u128::from(sent.messages);
            if let (Some(all), Some(hops)) = (&mut sum.link_hops, &hops) {
                *all += u128::from(hops.to(placement[sent.peer.index()])) * u128::from(sent.messages);
            }
        }
    }
    Ok(sum)
}

impl Volume {
    /// A line for people.
    #[must_use]
    pub fn line(&self) -> String {
        let sends = match &self.sends {
            Ok(sends) => sends,
            Err(why) => return format!("{}: not counted: {why}", self.job),
        };
        let hops = sends.link_hops.map_or_else(String::new, |h| {
            let mean = h as f64 / sends.messages.max(1) as f64;
            format!(", {h} link hops (mean {mean:.4})")
        });
        format!("{}: {} messages point to point, {} bytes{hops}", self.job, sends.messages, sends.bytes)
    }

    /// For `--format json`.
    #[must_use]
    pub fn json(&self) -> Json {
        let wide = |n: u128| u64::try_from(n).map_or_else(|_| json!(n.to_string()), |n| json!(n));
        match &self.sends {
            Ok(sends) => json!({
                "job": self.job, "messages": sends.messages, "bytes": wide(sends.bytes),
                "link_hops": sends.link_hops.map(wide),
            }),
            Err(why) => json!({"job": self.job, "not_counted": why}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, Prepared, Silent};

    /// A job on a ring of so many terminals.
    fn prepared(terminals: u32, job: &str) -> Prepared {
        let text = format!(
            r#"
            experiment = {{ until = "workload-done" }}
            routing = {{ algorithm = "dimension-order" }}
            model = {{ kind = "delay" }}
            job = [{{ {job} }}]
            [fabric]
            topology = "torus"
            dims = [{terminals}]
            terminals_per_router = 1
            link.terminal = {{ bandwidth = "2 GiB/s", latency = "30 ns", credit_delay = "4 ns", vc_buffer = "8 KiB" }}
            link.local = {{ bandwidth = "2 GiB/s", latency = "30 ns", credit_delay = "4 ns", vc_buffer = "8 KiB" }}
            "#
        );
        Experiment::from_text(text).prepare(&Silent).unwrap_or_else(|e| panic!("{e}"))
    }

    fn line(job: &str) -> String {
        line_on(8, job)
    }

    fn line_on(terminals: u32, job: &str) -> String {
        volumes(&*prepared(terminals, job).run).iter().map(Volume::line).collect()
    }

    #[test]
    fn what_is_not_counted_is_said() {
        let gups = |window: u64| line(&format!("workload = \"gups\", name = \"g\", window = {window}"));
        assert!(gups(1000).starts_with("g: 80000 messages point to point, 640000 bytes, "), "{}", gups(1000));
        let why = "each rank sends 10485760 updates, which are not counted by receiver";
        assert_eq!(gups(1 << 20), format!("g: not counted: {why}"));
        let many = "workload = \"ring\", name = \"r\", ranks_per_terminal = 65536";
        let why = "the program has more than 2097152 ranks";
        assert_eq!(line_on(64, many), format!("r: not counted: {why}"));
        let milc = "workload = \"milc\", name = \"m\", iterations = 4294967296, cg_iterations = 4294967296";
        assert_eq!(line(milc), "m: not counted: there are more than 2^64 messages, which are not counted");
        assert_eq!(volumes(&*prepared(8, milc).run)[0].json()["messages"], Json::Null);
    }

    /// Ranks of a terminal have the same way to all others: it is searched for once.
    #[test]
    fn distances_are_searched_for_once_for_each_terminal() {
        let prepared = prepared(8, "workload = \"ring\", ranks_per_terminal = 100");
        let (job, fabric) = (&prepared.run.jobs()[0], prepared.run.fabric().unwrap());
        let mut hops = Hops::new(fabric);
        let sends = sends(job.work.program().unwrap().as_ref(), &job.placement, Some(&mut hops)).unwrap();
        assert_eq!((sends.messages, sends.link_hops, hops.searches), (8000, Some(80), 8));
    }
}
