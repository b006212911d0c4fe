//! What a run would cost on `packet` and on `flow`, from counts alone: nothing is simulated.
//!
//! `packet` works for each chunk at each router. `flow` works where messages begin and end: each beginning and end changes the shares of some of those under way, and each of
//! these has the links of its route. How many are under way follows from loads; messages of one pair have one share. The more others each meets, the more shares change: up to
//! a fifth of them, as runs show. The ratio of the two is right within a factor of about eight, which [`ACCURACY`] says; the seconds also depend on the machine.

use crate::{models::MODELS, prepare::Prepared};
use base::{
    index::RankId,
    time::{Ps, S},
    units::{parse_bandwidth, parse_bytes, parse_time},
};
use fabric::{graph::Fabric, metrics::distances};
use model::{Run, setup::JobSetup};
use serde_json::{Value as Json, json};
use workload::{
    program::{Batch, Kind, Program},
    registry::Work,
    traffic::Traffic,
};

/// Costs of two models whose ratio is within this factor may be in the other order.
pub const ACCURACY: f64 = 8.0;

/// Ranks of a job whose messages are looked at, and how many of each; fewer ranks where a network has so many ports that a search of all distances takes long.
const RANKS: usize = 32;
const PORTS: usize = 20_000_000;
const MESSAGES: u64 = 4096;

/// Seconds of a processor for a chunk at a router, an entry of a list of the solver of flows, and a message on either model.
const CHUNK: f64 = 0.1e-6;
const VISIT: f64 = 25e-9;
const MESSAGE: f64 = 2e-6;

/// Part of the shares that a beginning or an end changes where all meet, and messages under way for each host at which nearly all do.
const CHANGED: f64 = 0.2;
const MEETING: f64 = 8.0;

/// What a run would cost on a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Name of the model.
    pub model: &'static str,
    /// What it counts: chunks at routers, or entries of lists that its solver looks at.
    pub work: f64,
    /// What `work` counts, in words.
    pub unit: &'static str,
    /// Processor time in seconds.
    pub seconds: f64,
}

/// What is known of the messages of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    messages: f64,
    bytes: f64,
    /// Links that all messages cross, together.
    links: f64,
    /// Chunks accepted at routers.
    chunk_hops: f64,
    /// Messages under way in the mean.
    under_way: f64,
}

/// What a run has for all of its jobs.
struct Scale {
    /// When it ends, if that is not up to the jobs.
    end: Option<Ps>,
    /// Bytes of a chunk.
    chunk: u64,
    /// Bytes per second of the slowest links.
    slowest: f64,
}

/// What is known of a rank's messages.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    messages: f64,
    /// When the last one was created; 0 if all are there from the beginning.
    last: Ps,
}

/// Costs on the models that can carry the run, the cheapest first. Empty if too little is known beforehand: of answers, of programs whose ranks have more operations than are looked at, or of
/// models without time.
#[must_use]
pub fn costs(prepared: &Prepared) -> Vec<Cost> {
    let run = &*prepared.run;
    let (Some(fabric), Some(counts)) = (run.fabric(), counts(run, &prepared.experiment)) else {
        return Vec::new();
    };
    let platform = fabric.topology() == "platform";
    if !prepared.model.needs.time || counts.messages == 0.0 {
        return Vec::new();
    }
    let packet = (!platform).then(|| packet(&counts));
    let flow = (fabric.planes() == 1).then(|| flow(&counts, fabric.terminals()));
    let mut all: Vec<Cost> = packet.into_iter().chain(flow).collect();
    all.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    all
}

fn packet(counts: &Counts) -> Cost {
    let seconds = counts.chunk_hops * CHUNK + counts.messages * MESSAGE;
    Cost { model: "packet", work: counts.chunk_hops, unit: "chunks at routers", seconds }
}

fn flow(counts: &Counts, hosts: u32) -> Cost {
    let hosts = f64::from(hosts.max(2));
    let (each, pairs) = (counts.under_way / hosts, hosts * (hosts - 1.0));
    // Messages of a pair share alike: the more there are, the more often two of them have the same pair.
    let shares = pairs * (1.0 - (-counts.under_way / pairs).exp());
    debug_assert!(shares <= counts.under_way * (1.0 + 1e-9), "a message has one share at most");
    let changed = 1.0 + CHANGED * (1.0 - (-each / MEETING).exp()) * shares;
    let work = 2.0 * changed * counts.links;
    Cost {
        model: "flow",
        work,
        unit: "entries of its solver",
        seconds: work * VISIT + counts.messages * MESSAGE,
    }
}

/// Counts of all jobs; none if those of one are not known.
fn counts(run: &dyn Run, experiment: &Json) -> Option<Counts> {
    let fabric = run.fabric()?;
    let text = |section: &str, key: &str| experiment[section][key].as_str();
    let end = text("experiment", "duration").and_then(|t| parse_time(t).ok());
    let declared =
        MODELS.iter().flat_map(|m| m.about.params).find(|p| p.name == "chunk").and_then(|p| p.default);
    let chunk = text("model", "chunk").or(declared).and_then(|t| parse_bytes(t).ok()).unwrap_or(1).max(1);
    let links = experiment["fabric"]["link"].as_object().into_iter().flat_map(|all| all.values());
    let bandwidths = links.filter_map(|l| parse_bandwidth(l["bandwidth"].as_str()?).ok());
    let slowest = bandwidths.map(|b| b.bytes_per_s()).fold(f64::INFINITY, f64::min);
    let (mut all, scale) = (Counts::default(), Scale { end, chunk, slowest });
    for job in run.jobs() {
        let one = of_job(job, fabric, &scale)?;
        all.messages += one.messages;
        all.bytes += one.bytes;
        all.links += one.links;
        all.chunk_hops += one.chunk_hops;
        all.under_way += one.under_way;
    }
    Some(all)
}

/// Counts of a job, from some of its ranks.
fn of_job(job: &JobSetup, fabric: &Fabric, scale: &Scale) -> Option<Counts> {
    let ranks = job.placement.len();
    let some = (PORTS / fabric.ports().len().max(1)).clamp(2, RANKS);
    let step = ranks.div_ceil(some).max(1);
    let (mut counts, mut looked, mut last) = (Counts::default(), 0.0, 0);
    let program = job.work.program().is_some();
    for rank in (0..ranks).step_by(step) {
        let hops = distances(fabric, fabric.router_at(job.placement[rank]));
        let mut add = |to: RankId, bytes: u64, times: f64| {
            let far = f64::from(hops[fabric.router_at(job.placement[to.index()])].min(1 << 16)) + 2.0;
            // A program's messages within a terminal stay there; those of traffic go to the router and back.
            let within = program && job.placement[to.index()] == job.placement[rank];
            let far = if within { 0.0 } else { far };
            counts.bytes += bytes as f64 * times;
            counts.links += far * times;
            // A chunk is accepted once at each router, of which a path has one less than links.
            counts.chunk_hops += (far - 1.0).max(0.0) * times * bytes.div_ceil(scale.chunk).max(1) as f64;
        };
        let sent = match &job.work {
            Work::Traffic(traffic) => of_traffic(&**traffic, RankId::from_index(rank), scale.end, &mut add)?,
            Work::Program(program) => of_program(&**program, RankId::from_index(rank), &mut add)?,
        };
        counts.messages += sent.messages;
        last = last.max(sent.last);
        looked += 1.0;
    }
    let all = ranks as f64 / f64::max(looked, 1.0);
    let Counts { messages, bytes, links, chunk_hops, .. } = counts;
    let counts = Counts {
        messages: messages * all,
        bytes: bytes * all,
        links: links * all,
        chunk_hops: chunk_hops * all,
        under_way: 0.0,
    };
    let under_way = match &job.work {
        // Each rank has about one message under way: what it waits for.
        Work::Program(_) => ranks as f64,
        Work::Traffic(_) if last == 0 => counts.messages / 2.0,
        Work::Traffic(_) => waiting(&counts, ranks as f64, scale.end.unwrap_or(last), scale.slowest),
    };
    Some(Counts { under_way: under_way.min(counts.messages), ..counts })
}

/// Messages that share bandwidth, in the mean over the run, where sources have a load: each waits for others at its source and at its destination. At
/// a link that shares alike load / (1 - load) are under way once that is steady. Before, they grow as the square root of what has come, and beyond a
/// load of 1 also as what links cannot carry. While they wait for their latency they share nothing.
fn waiting(counts: &Counts, ranks: f64, span: Ps, slowest: f64) -> f64 {
    let seconds = span as f64 / S as f64;
    let load = counts.bytes / ranks / seconds / slowest;
    let growing = 2.0 / 3.0 * (2.0 * counts.messages / ranks / std::f64::consts::PI).sqrt();
    let steady = if load < 1.0 { load / (1.0 - load) } else { f64::INFINITY };
    let beyond = (1.0 - 1.0 / load.max(1.0)) * counts.messages / 2.0;
    2.0 * ranks * steady.min(growing) + beyond
}

/// Messages of a rank by rule, up to the end of the run.
fn of_traffic(
    traffic: &dyn Traffic,
    rank: RankId,
    end: Option<Ps>,
    add: &mut dyn FnMut(RankId, u64, f64),
) -> Option<Sent> {
    if traffic.closed_loop() {
        return None;
    }
    let (mut previous, mut index, mut seen) = (0, 0, Vec::new());
    while index < MESSAGES {
        let Some(message) = traffic.message(rank, index, previous) else { break };
        if end.is_some_and(|end| message.time >= end) {
            break;
        }
        (previous, index) = (message.time, index + 1);
        seen.push((message.destination, message.bytes));
    }
    // What is beyond those that are looked at comes at their pace.
    let times = match end {
        _ if index < MESSAGES => 1.0,
        Some(end) if previous > 0 => end as f64 / previous as f64,
        _ => return None,
    };
    seen.iter().for_each(|&(to, bytes)| add(to, bytes, times));
    Some(Sent { messages: seen.len() as f64 * times, last: previous })
}

/// Messages that a rank's program sends; none if it has more operations than are looked at.
fn of_program(program: &dyn Program, rank: RankId, add: &mut dyn FnMut(RankId, u64, f64)) -> Option<Sent> {
    let (mut cursor, mut batch, mut sent, mut operations) = (program.open(rank), Batch::default(), 0.0, 0);
    loop {
        batch.ops.clear();
        batch.edges.clear();
        cursor.fill(&mut batch).ok()?;
        if batch.ops.is_empty() {
            return Some(Sent { messages: sent, last: 1 });
        }
        operations += batch.ops.len() as u64;
        if operations > 16 * MESSAGES {
            return None;
        }
        for op in batch.ops.iter().filter(|op| op.kind == Kind::Send) {
            add(op.peer, op.amount, 1.0);
            sent += 1.0;
        }
    }
}

/// A time in words: seconds, or hours where it is many.
fn seconds(seconds: f64) -> String {
    match seconds {
        10_000.0.. => format!("{:.0} hours", seconds / 3600.0),
        10.0.. => format!("{seconds:.0} s"),
        _ => format!("{seconds:.2} s"),
    }
}

/// Lines for people: a model each, and which one is cheaper.
#[must_use]
pub fn lines(costs: &[Cost]) -> Vec<String> {
    let mut lines: Vec<String> = costs
        .iter()
        .map(|c| {
            format!("{}: about {} of processor time ({:.3e} {})", c.model, seconds(c.seconds), c.work, c.unit)
        })
        .collect();
    if let [cheap, dear] = costs {
        let ratio = dear.seconds / cheap.seconds.max(1e-9);
        lines.push(match ratio > ACCURACY {
            true => format!("{} is {ratio:.0} times cheaper", cheap.model),
            false => format!("they differ by less than this estimate can tell (a factor of {ACCURACY})"),
        });
    }
    lines
}

/// For `--format json`.
#[must_use]
pub fn json(costs: &[Cost]) -> Json {
    let one = |c: &Cost| json!({"model": c.model, "seconds": c.seconds, "work": c.work, "unit": c.unit});
    json!({"models": costs.iter().map(one).collect::<Vec<_>>(), "accuracy": ACCURACY})
}
