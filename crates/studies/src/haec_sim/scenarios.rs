//! The scenarios of HAEC-SIM: two applications, two topologies, mappings; their messages by size and hops.

use base::{
    index::{RankId, TerminalId},
    param::{Problem, Value, Values},
    registry::find,
    sorted::SortedMap,
    time::Ps,
};
use fabric::{
    graph::Fabric,
    metrics::Hops,
    registry::{Constant, TOPOLOGIES, values},
};
use netloom::{Error, ErrorKind};
use std::sync::Arc;
use workload::{
    placement::PlacementContext,
    program::{Program, lower::Options, matrix},
    registry::{JobContext, PLACEMENTS, WORKLOADS},
};

/// Ranks and nodes.
pub const NODES: u32 = 4096;
/// Applications, as the paper and as Netloom calls them.
pub const APPLICATIONS: [(&str, &str); 2] = [("LU", "nas-lu"), ("BT", "nas-bt")];
/// Topologies of the study, in the order of [`nets`].
pub const TOPOLOGIES_OF: [&str; 2] = ["mesh", "torus"];
/// The paper's mappings, as the paper and as Netloom calls them; and ours.
pub const MAPPINGS: [(&str, &str); 3] =
    [("xyz", "xyz"), ("min md", "min-manhattan"), ("least hops", "least-hops")];

/// A topology with its distances.
pub struct Net {
    /// Its name, as users write and read it.
    pub name: &'static str,
    /// The network on which all of it runs.
    pub fabric: Arc<Fabric>,
    /// Distances of nodes.
    pub hops: Hops,
}

/// Messages of an application on a topology under a mapping.
pub struct Scenario {
    /// Index in [`APPLICATIONS`].
    pub application: usize,
    /// Index of the topology.
    pub net: usize,
    /// Index in [`MAPPINGS`].
    pub mapping: usize,
    /// Node of each rank.
    pub placed: Vec<TerminalId>,
    /// Messages by (bytes, hops).
    pub counts: SortedMap<(u64, u32), u64>,
}

impl Scenario {
    /// Number of messages.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Hops of all messages.
    #[must_use]
    pub fn total_hops(&self) -> u64 {
        self.counts.iter().map(|(&(_, hops), &n)| u64::from(hops) * n).sum()
    }

    /// Messages by hops.
    #[must_use]
    pub fn histogram(&self) -> SortedMap<u32, u64> {
        let mut all = SortedMap::new();
        self.counts.iter().for_each(|(&(_, hops), &n)| *all.entry(hops).or_default() += n);
        all
    }
}

/// Both topologies, 16 x 16 x 16.
///
/// # Errors
/// None that a user could make.
pub fn nets() -> Result<Vec<Net>, Error> {
    let sample = [("dims", Constant::Ints(&[16, 16, 16])), ("terminals_per_router", Constant::Int(1))];
    let one = |name: &'static str| {
        let entry = find(TOPOLOGIES, name).ok_or_else(|| ours("a grid is missing"))?;
        let fabric = (entry.build)(&values(entry.about.params, &sample)).map_err(|p| reported(&p))?;
        let hops = Hops::of(&fabric).map_err(|m| ours(&m))?;
        Ok(Net { name, fabric: Arc::new(fabric), hops })
    };
    TOPOLOGIES_OF.into_iter().map(one).collect()
}

/// An application of class D on 4,096 ranks, without collectives.
///
/// # Errors
/// None that a user could make.
pub fn program(application: usize) -> Result<Arc<dyn Program>, Error> {
    generated(application, 0, 0, false)
}

/// The same with collectives, so many iterations of the main run (0: all) and computation of each rank.
///
/// # Errors
/// None that a user could make.
pub fn shortened(application: usize, iterations: u64, compute: Ps) -> Result<Arc<dyn Program>, Error> {
    generated(application, iterations, compute, true)
}

fn generated(
    application: usize,
    iterations: u64,
    compute: Ps,
    reductions: bool,
) -> Result<Arc<dyn Program>, Error> {
    let entry = find(WORKLOADS, APPLICATIONS[application].1).ok_or_else(|| ours("a generator is missing"))?;
    let values = Values::default()
        .with("class", Value::Text("D".to_owned()))
        .with("total_compute", Value::Time(compute))
        .with("iterations", Value::Int(iterations))
        .with("reductions", Value::Bool(reductions));
    let context = JobContext {
        ranks: NODES,
        asked: true,
        seed: 1,
        job: 0,
        message: 0,
        arrival: None,
        lowering: Options::default(),
        shape: Default::default(),
        names: Default::default(),
    };
    let work = (entry.build)(&context, &values).map_err(|p| reported(&p))?;
    work.program().cloned().ok_or_else(|| ours("a generator makes no program"))
}

/// A scenario, its messages counted.
///
/// # Errors
/// None that a user could make.
pub fn scenario(
    application: usize,
    program: &dyn Program,
    net: usize,
    on: &Net,
    mapping: usize,
    effort: u64,
) -> Result<Scenario, Error> {
    let entry = find(PLACEMENTS, MAPPINGS[mapping].1).ok_or_else(|| ours("a placement is missing"))?;
    let free: Vec<TerminalId> = TerminalId::first(NODES).collect();
    let context = PlacementContext {
        ranks: NODES,
        each: 1,
        fabric: &on.fabric,
        free: &free,
        seed: 1,
        job: 0,
        program: Some(program),
    };
    let values = Values::default()
        .with("axes", Value::Ints(Vec::new()))
        .with("fill_router", Value::Bool(false))
        .with("effort", Value::Int(effort));
    let placed = (entry.build)(&context, &values).map_err(|p| reported(&p))?;
    let mut counts = SortedMap::new();
    for rank in RankId::first(NODES) {
        for sent in matrix::sent(program, rank).map_err(|damage| ours(&damage.0))? {
            let hops = on.hops.between(placed[rank.index()], placed[sent.peer.index()]);
            *counts.entry((sent.bytes, hops)).or_default() += sent.messages;
        }
    }
    Ok(Scenario { application, net, mapping, placed, counts })
}

/// `mesh min md LU` and the like.
#[must_use]
pub fn title(s: &Scenario, nets: &[Net]) -> String {
    format!("{} {} {}", nets[s.net].name, MAPPINGS[s.mapping].0, APPLICATIONS[s.application].0)
}

fn reported(problems: &[Problem]) -> Error {
    ours(&problems.iter().map(|p| p.message.as_str()).collect::<Vec<_>>().join("; "))
}

/// A failure that only a fault of ours can cause.
pub fn ours(message: &str) -> Error {
    Error::new(ErrorKind::Internal, message)
}
