//! The sections of an experiment file: their keys, and which of them choose from a registry.
//!
//! Keys that belong to a registered strategy stand in its own declaration, not here.

use super::{
    plot::PLOT,
    reader::{Choice, OPTIONAL},
    sweep::{AXIS, SKIP, SWEEP},
};
use crate::registry::Registry;
use base::{
    param::{Kind, Param},
    registry::About,
};
use fabric::{
    planes::MAX_PLANES,
    registry::{RoutingEntry, Topology},
};
use model::{
    ModelEntry,
    section::{ChoiceEntry, Listed, SectionEntry},
    setup::Rail,
};
use workload::registry::{
    ArrivalEntry, BACKGROUND, BACKGROUND_EXCEPT, NOISE, NOISE_FILE, OUTSTANDING, PlacementEntry, REPLY,
    SIZE_DISTRIBUTION, SIZE_FILE, SIZE_WEIGHTS, SIZES, WorkloadEntry,
};

/// Keys of `[portals]`: the interface of machines for Portals programs.
pub const PORTALS: About = portals::nic::ABOUT;

/// What a run derived, as `summary.json` has it in `[model]`: a table that is left alone when it is read back, since it is derived anew.
pub const DERIVED: &str = "derived";

/// Key of `[[job]]`: how many jobs it stands for.
pub const COPIES: &str = "copies";

/// Key of `[[job]]`: time from the start of a copy to that of the next.
pub const EVERY: &str = "every";

/// Most copies of a job.
pub const MAX_COPIES: u64 = 4096;

/// Most partitions that can be asked for.
pub const MAX_PARTITIONS: u32 = 65_536;

/// Keys of `[experiment]`: name, seed, and when the run ends.
pub const EXPERIMENT: About = About {
    name: "experiment",
    summary: "name, seed and length of the run",
    doc: "Either `duration` or `until` ends the run. What happens before `warmup` is simulated but not counted: a packet counts if it was created at or after it.",
    source: "",
    params: &[
        Param { name: "name", kind: Kind::Text, default: Some("experiment"), doc: "Name shown in results." },
        Param {
            name: "seed",
            kind: Kind::Int { min: 0, max: u64::MAX },
            default: Some("1"),
            doc: "Seed of every random stream.",
        },
        Param {
            name: "duration",
            kind: Kind::Time,
            default: OPTIONAL,
            doc: "Virtual time at which the run ends.",
        },
        Param {
            name: "until",
            kind: Kind::Choice(&["workload-done"]),
            default: OPTIONAL,
            doc: "Event that ends the run: every job has sent and received all it will.",
        },
        Param {
            name: "limit",
            kind: Kind::Time,
            default: OPTIONAL,
            doc: "With `until`: virtual time after which the run is given up; if left out 1 s, or 6 days if all jobs are programs.",
        },
        Param {
            name: "warmup",
            kind: Kind::Time,
            default: Some("0 s"),
            doc: "Virtual time before which nothing is counted; this build does not find it by itself.",
        },
    ],
};

/// `[fabric]`, beside what the topology takes.
pub const FABRIC: About = About {
    name: "fabric",
    summary: "the network: topology and links",
    doc: "`topology` names an entry of `netloom list topologies`, whose parameters stand beside it. `link.CLASS` \
          gives the parameters of every link class of the topology; all classes must be there. `rails` lays so many planes \
          side by side, each a whole network of this topology with its own routers and links: a node has a terminal in each. \
          A message stays on the rail that `rail` chooses for it, so messages may overtake each other; programs \
          match them in the order of sending. Jobs place nodes, and `load` is a fraction of what all rails of a node take \
          together. Plane p's routers are numbered from p times the routers of a plane, its terminals likewise: so \
          `[faults]` names them, and a plane in which failures cut a node off is not used by it; tables and routes from files number \
          one plane and hold for each. A node whose links lead to \
          different routers of one plane is not modelled, nor a message striped over rails.",
    source: "sub-networks: Dally, Towles: Principles and Practices of Interconnection Networks, 2004; rails: Coll et al.: Using \
             Multirail Networks in High-Performance Clusters, CLUSTER 2001",
    params: &[
        Param {
            name: "rails",
            kind: Kind::Int { min: 1, max: MAX_PLANES as u64 },
            default: Some("1"),
            doc: "Planes of the network and links of a node: one to each plane.",
        },
        Param {
            name: "rail",
            kind: Kind::Choice(Rail::NAMES),
            default: Some("round-robin"),
            doc: "Which rail a message takes: one after another over the messages of a node, the same for all of a pair of \
                  nodes (by a hash), or a seeded random one.",
        },
    ],
};

const BUFFER: &str = "Buffer per virtual channel. It may be left out where `preset` of [router] gives one.";

/// Keys of `[fabric.link.CLASS]`, the same for every class.
pub const LINK: About = About {
    name: "fabric.link",
    summary: "parameters of a link class",
    doc: "Both directions of a cable are alike.",
    source: "",
    params: &[
        Param { name: "bandwidth", kind: Kind::Bandwidth, default: None, doc: "Rate of serialisation." },
        Param { name: "latency", kind: Kind::Time, default: None, doc: "Time on the wire." },
        Param {
            name: "credit_delay",
            kind: Kind::Time,
            default: None,
            doc: "Time from a buffer's release to the credit's use upstream; at least 2 ps.",
        },
        Param { name: "vc_buffer", kind: Kind::Bytes, default: Some(""), doc: BUFFER },
    ],
};

/// Keys of `[faults]`: what fails, and when.
pub const FAULTS: About = About {
    name: "faults",
    summary: "links and routers that fail",
    doc: "A failed link is gone in both directions; a failed router loses all its links to others. Cables and routers \
          drawn by a fraction follow the seed; a larger fraction fails the same ones and more. The routing must find \
          paths in what is left: `shortest-path`, `up-down`, `valiant`, `ugal-l`, `ugal-g` and `forwarding` with an engine can. Terminals cut off from most \
          of the network get no rank, from the beginning on. With `at` the links are taken out of service while the \
          run is under way: packets that enter the network from then on follow the routing on what is left, on virtual \
          channels of their own; earlier ones go on as before, but where a failed link comes next, from there on they \
          take up*/down* paths, on one more virtual channel. What was routed to a link before it failed still crosses it. So \
          nothing is lost, and no deadlock is possible if each routing is free of it; the model needs virtual channels for \
          both routings and one. Of a platform `links` are named as in its file (both directions of a link in two); \
          from `at` on they carry nothing, and flows on them stand still, since its routes stay. Links that lose packets are in [resilience]. Not modelled: the time to notice a failure and to find \
          new routes, failed cables of terminals.",
    source: "two sets of virtual channels: Pinkston, Pang, Duato: Deadlock-Free Dynamic Reconfiguration Schemes for \
             Increased Network Dependability, IEEE TPDS 2003",
    params: &[
        Param {
            name: "links",
            kind: Kind::Texts,
            default: Some("[]"),
            doc: "Links by router and port at either end, such as \"12:3\".",
        },
        Param {
            name: "routers",
            kind: Kind::Ints { min: 0, max: u32::MAX as u64 },
            default: Some("[]"),
            doc: "Routers by number.",
        },
        Param {
            name: "link_fraction",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: Some("0.0"),
            doc: "Share of the cables between routers that fails, drawn at random, rounded to whole cables.",
        },
        Param {
            name: "router_fraction",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: Some("0.0"),
            doc: "Share of the routers that fails, drawn at random, rounded to whole routers.",
        },
        Param {
            name: "classes",
            kind: Kind::Texts,
            default: Some("[]"),
            doc: "Link classes that cables are drawn from; [] for all between routers.",
        },
        Param {
            name: "at",
            kind: Kind::Time,
            default: Some("0 s"),
            doc: "Virtual time of the failure; 0 s: from the start.",
        },
    ],
};

/// `[routing]`, beside what the algorithm takes.
pub const ROUTING: About = About {
    name: "routing",
    summary: "how packets find their way",
    doc: "`algorithm` names an entry of `netloom list routings`, whose parameters stand beside it.",
    source: "",
    params: &[],
};

/// `[[job]]`, beside what workload, arrival and placement take.
pub const JOB: About = About {
    name: "job",
    summary: "what runs on the network; one [[job]] for each",
    doc: "`workload`, `arrival` and `placement` name entries of `netloom list`, whose parameters stand beside them. \
          Jobs share the network and no terminal: they take their places in the order of the file, each among the terminals that those before it left free. \
          `netloom compare --alone FILE` shows how much they slow each other down. Results know the jobs that `copies` makes, one by one.",
    source: "",
    params: &[
        Param {
            name: "name",
            kind: Kind::Text,
            default: OPTIONAL,
            doc: "Name shown in results; job-0, job-1, .. if left out.",
        },
        Param {
            name: "ranks",
            kind: Kind::Int { min: 1, max: 1 << 26 },
            default: OPTIONAL,
            doc: "Number of ranks, one per node or `ranks_per_terminal`; if left out what the program says, or all free nodes.",
        },
        Param {
            name: "message",
            kind: Kind::Bytes,
            default: OPTIONAL,
            doc: "Payload of a message; patterns need it, programs take none.",
        },
        Param {
            name: "load",
            kind: Kind::Real { min: 1e-9, max: 10.0 },
            default: OPTIONAL,
            doc: "Offered load as a fraction of the bandwidth of a node's terminal links, of all rails together; open-loop workloads need it.",
        },
        Param {
            name: "start",
            kind: Kind::Time,
            default: Some("0 s"),
            doc: "Virtual time at which the job starts.",
        },
        Param {
            name: COPIES,
            kind: Kind::Int { min: 1, max: MAX_COPIES },
            default: OPTIONAL,
            doc: "So many jobs like this one, one after the other in its place: each has ranks, terminals and random streams of its own, and the number of the copy behind its name, from 0. All jobs with copies are 16,384 at most.",
        },
        Param {
            name: EVERY,
            kind: Kind::Time,
            default: OPTIONAL,
            doc: "With `copies`: each copy starts so much later than the one before; 0 s if left out.",
        },
        SIZES,
        SIZE_WEIGHTS,
        SIZE_DISTRIBUTION,
        SIZE_FILE,
        BACKGROUND,
        BACKGROUND_EXCEPT,
        REPLY,
        OUTSTANDING,
        Param {
            name: "compute",
            kind: Kind::Real { min: 0.0, max: 1e9 },
            default: Some("1.0"),
            doc: "Programs: factor on every computation's time; 0 for infinitely fast processors.",
        },
        NOISE,
        NOISE_FILE,
        Param {
            name: "library",
            kind: Kind::Choice(&["simple", "openmpi", "mpich", "smpi", "smpi-ompi"]),
            default: Some("openmpi"),
            doc: "Programs of MPI calls: the library whose rules choose the algorithm of a collective by ranks and bytes.",
        },
        Param {
            name: "collectives",
            kind: Kind::Texts,
            default: Some("[]"),
            doc: "Programs of MPI calls: algorithms that hold for all calls of a collective, such as `[\"allreduce=ring\"]`.",
        },
        Param {
            name: "combine",
            kind: Kind::Time,
            default: Some("0 s"),
            doc: "Programs of MPI calls: time to combine a received byte in a reduction.",
        },
    ],
};

/// `[model]`, beside what the model takes.
pub const MODEL: About = About {
    name: "model",
    summary: "how closely to look",
    doc: "`kind` names an entry of `netloom list models`, whose parameters stand beside it.",
    source: "",
    params: &[],
};

/// Keys of `[engine]`, none of which changes a result; `partitions` is read apart.
pub const ENGINE: About = About {
    name: "engine",
    summary: "scheduler and partitions",
    doc: "Results do not depend on anything in this section. `partitions` is \"auto\" (one per thread, four of an optimistic one) or a number; \
          several per thread are given to threads anew as their costs change.",
    source: "",
    params: &[
        Param {
            name: "scheduler",
            kind: Kind::Choice(&["sequential", "conservative", "optimistic", "auto"]),
            default: Some("sequential"),
            doc: "Who commits the events: one thread, or the threads of `--threads` side by side. Conservative threads never go further than \
                  lookahead allows; optimistic ones run ahead and take back what was premature (Time Warp). \"auto\" tries all three on the first \
                  events and takes the fastest; `performance.chosen` says why. More than one thread choose the conservative scheduler unless this key names one. Models that are one cell (`flow`, Portals) and `congestion` have no use for it.",
        },
        Param {
            name: "optimism",
            kind: Kind::Time,
            default: Some("0 s"),
            doc: "Optimistic: furthest that a partition runs ahead of the first event of all; 0 s for as far as pays.",
        },
        Param {
            name: "batch",
            kind: Kind::Int { min: 1, max: 1 << 30 },
            default: Some("4096"),
            doc: "Optimistic: events that a thread handles between two meetings, about.",
        },
        Param {
            name: "history",
            kind: Kind::Int { min: 1, max: 1 << 30 },
            default: Some("16384"),
            doc: "Optimistic: events that a thread keeps to take them back, about; with more it runs only what is certain. What they took at most is \
                  `performance.speculation.peak_history_bytes`.",
        },
        Param {
            name: "pin",
            kind: Kind::Bool,
            default: Some("false"),
            doc: "Bind each thread to a processor of its own.",
        },
        Param {
            name: "spare",
            kind: Kind::Bool,
            default: Some("true"),
            doc: "Conservative: one thread does all the work while that is faster. A small network begins with one partition, a busy machine with as many as idle processors, if none are asked for. A note says so; false keeps all at work.",
        },
        Param {
            name: "checkpoint",
            kind: Kind::Time,
            default: Some("0 s"),
            doc: "Save the run after every such span of virtual time, so that `netloom resume` can go on; 0 s for never. Runs with `--out` \
                  also heed SIGUSR1 (save) and SIGTERM (save and end).",
        },
        Param {
            name: "checkpoint_wall",
            kind: Kind::Time,
            default: Some("0 s"),
            doc: "The same after every such span of elapsed time.",
        },
    ],
};

/// Keys of `[output]`: tables beyond the summary, which is always written.
pub const OUTPUT: About = About {
    name: "output",
    summary: "tables beyond the summary",
    doc: "Tables are written to the directory of `--out`.",
    source: "",
    params: &[
        Param {
            name: "window",
            kind: Kind::Time,
            default: Some("0 s"),
            doc: "Length of a window of the time series; 0 s for no series. A run has a million windows at most: one that its workload ends stops there. Programs: also of the table `message_windows`: number, bytes, mean size and standard \
                  deviation of the messages sent, by job, point to point or of collectives, within their terminals or leaving them.",
        },
        Param {
            name: "per_port",
            kind: Kind::Bool,
            default: Some("false"),
            doc: "Buffer occupancy of every port in the series, not only the total.",
        },
        Param {
            name: "packets",
            kind: Kind::Bool,
            default: Some("false"),
            doc: "A row per delivered packet.",
        },
        Param {
            name: "messages",
            kind: Kind::Bool,
            default: Some("false"),
            doc: "A row per delivered message; on `delay` a row per size of message, with mean times from the send until it was there and until its receive was over.",
        },
        Param {
            name: "slow_down",
            kind: Kind::Bool,
            default: OPTIONAL,
            doc: "Slow-downs of messages of patterns: completion time over that of the message alone on the idle network. By job and size (tenths of its distribution, \
                  or powers of two), in the summary and the table `slow_down`; if left out, where a job has `size_distribution` or `size_file`. Alone means: on `flow`, \
                  by the model's own rules along the path that the message takes; on `packet`, on the fastest path of the network, whatever the routing takes, without \
                  waiting for buffers. Routers that advance in cycles, `resilience`, model `hybrid` and models without a network in time have none.",
        },
        Param {
            name: "pairs",
            kind: Kind::Bool,
            default: Some("false"),
            doc: "A row per pair of source and destination.",
        },
        Param {
            name: "operations",
            kind: Kind::Bool,
            default: Some("false"),
            doc: "A row per operation of a rank program, and a time line that browsers show (timeline.json), with MPI calls and an arrow for each message; also the critical path, the transfers of messages, and the \
                  simulated trace as an OTF2 archive (otf2/traces.otf2) and for Paraver (paraver.prv, .pcf, .row).",
        },
        Param {
            name: "engine",
            kind: Kind::Bool,
            default: Some("false"),
            doc: "On `packet` and `hybrid`: what each rank's scheduler did up to each of some 64 ticks (events, windows, events taken back, memory of history). \
                  The one table that differs between runs of an experiment.",
        },
        Param {
            name: "report",
            kind: Kind::Bool,
            default: Some("true"),
            doc: "With `--out`: the page that shows the run (report.html), and on `packet` and `hybrid` the table `loads` of what links carried over time, at most half a million \
                  numbers, for its moving picture of the network.",
        },
        Param {
            name: "csv",
            kind: Kind::Bool,
            default: Some("false"),
            doc: "With `--out`: each table also as CSV, beside Parquet. A build without Parquet writes CSV in any case.",
        },
    ],
};

/// Sections before those that models declare, in the order of the file.
const BEFORE: [&About; 7] = [&EXPERIMENT, &FABRIC, &LINK, &FAULTS, &ROUTING, &JOB, &MODEL];

/// Sections after them.
const AFTER: [&About; 7] = [&PORTALS, &ENGINE, &OUTPUT, &SWEEP, &AXIS, &SKIP, &PLOT];

/// What an experiment may contain: choices from a registry, and what models declare.
pub struct Choices {
    /// The choice of a topology.
    pub topology: Choice<Topology>,
    /// The choice of a routing.
    pub routing: Choice<RoutingEntry>,
    /// The choice of a workload.
    pub workload: Choice<WorkloadEntry>,
    /// The choice of an arrival process.
    pub arrival: Choice<ArrivalEntry>,
    /// The choice of a placement.
    pub placement: Choice<PlacementEntry>,
    /// The choice of a model.
    pub model: Choice<ModelEntry>,
    /// What keys of `[model]` choose, by model.
    pub models: Vec<(&'static str, Vec<Choice<dyn Listed>>)>,
    /// Sections that models declare.
    pub sections: Vec<SectionChoices>,
    /// Keys of a job, those of models among them.
    pub job: Vec<Param>,
    /// Keys of a job by which its ranks share a terminal, on models that know that.
    pub sharing: Vec<&'static str>,
    /// Keys of the root.
    pub root: Vec<&'static str>,
}

/// A section that models declare, and the choices in it.
pub struct SectionChoices {
    /// The section as the model declares it.
    pub entry: &'static SectionEntry,
    /// In the order of [`SectionEntry::choices`].
    pub choices: Vec<Choice<dyn Listed>>,
}

impl Choices {
    /// Among these entries.
    #[must_use]
    pub fn of(registry: &Registry) -> Self {
        let sections: Vec<_> = registry.sections().into_iter().map(|s| section(s, registry)).collect();
        let own = sections.iter().map(|s: &SectionChoices| s.entry.about.name);
        // Links stand in [fabric], axes in [sweep].
        let before = BEFORE.iter().map(|a| a.name).filter(|name| !name.contains('.'));
        let after = AFTER.iter().map(|a| a.name).filter(|name| !name.contains('.'));
        Self {
            topology: choice(
                "[fabric]",
                Names { key: "topology", noun: "topology", plural: "topologies" },
                &registry.topologies,
                None,
            ),
            routing: choice(
                "[routing]",
                Names { key: "algorithm", noun: "routing", plural: "routings" },
                &registry.routings,
                None,
            ),
            workload: choice(
                "[[job]]",
                Names { key: "workload", noun: "workload", plural: "workloads" },
                &registry.workloads,
                None,
            ),
            arrival: choice(
                "[[job]]",
                Names { key: "arrival", noun: "arrival", plural: "arrivals" },
                &registry.arrivals,
                Some("constant"),
            ),
            placement: choice(
                "[[job]]",
                Names { key: "placement", noun: "placement", plural: "placements" },
                &registry.placements,
                Some("linear"),
            ),
            model: choice(
                "[model]",
                Names { key: "kind", noun: "model", plural: "models" },
                &registry.models,
                None,
            ),
            root: before.chain(own).chain(after).collect(),
            job: job(registry),
            sharing: registry.models.iter().filter_map(|m| m.job_keys.sharing).collect(),
            models: registry
                .models
                .iter()
                .map(|m| {
                    (m.about.name, m.choices.iter().map(|c| from_list("[model]", c, registry)).collect())
                })
                .collect(),
            sections,
        }
    }

    /// What keys of `[model]` choose with this model.
    #[must_use]
    pub fn of_model(&self, model: &ModelEntry) -> &[Choice<dyn Listed>] {
        self.models.iter().find(|(name, _)| *name == model.about.name).map_or(&[], |(_, choices)| choices)
    }

    /// All sections in the order of the file, with their keys.
    #[must_use]
    pub fn documented(&self) -> Vec<(&'static About, Vec<Param>)> {
        let own = self.sections.iter().map(|s| &s.entry.about);
        let all = BEFORE.into_iter().chain(own).chain(AFTER);
        let params = |a: &About| if a.name == JOB.name { self.job.clone() } else { a.params.to_vec() };
        all.map(|about| (about, params(about))).collect()
    }
}

/// The key that chooses from a registry, and what its entries are called.
struct Names {
    key: &'static str,
    noun: &'static str,
    plural: &'static str,
}

fn choice<E>(
    title: &str,
    Names { key, noun, plural }: Names,
    entries: &[&'static E],
    default: Option<&'static str>,
) -> Choice<E> {
    Choice { title: title.to_owned(), key, noun, plural, entries: entries.to_vec(), default }
}

fn section(entry: &'static SectionEntry, registry: &Registry) -> SectionChoices {
    let title = format!("[{}]", entry.about.name);
    SectionChoices { entry, choices: entry.choices.iter().map(|c| from_list(&title, c, registry)).collect() }
}

/// A choice from a list that belongs to a model, a user's own entries included.
fn from_list(title: &str, c: &ChoiceEntry, registry: &Registry) -> Choice<dyn Listed> {
    let (title, key, entries) = (title.to_owned(), c.key, registry.listed(&c.list));
    Choice { title, key, noun: c.list.singular, plural: c.list.plural, entries, default: Some(c.default) }
}

/// Keys of a job with those of the models at their places.
fn job(registry: &Registry) -> Vec<Param> {
    let mut keys = JOB.params.to_vec();
    for own in registry.models.iter().map(|m| &m.job_keys) {
        // A key that several models read stands once.
        let new = own.params.iter().filter(|p| keys.iter().all(|k| k.name != p.name)).copied();
        let (sharing, rest): (Vec<Param>, Vec<Param>) = new.partition(|p| own.sharing == Some(p.name));
        for (after, new) in [(own.after, rest), ("compute", sharing)] {
            let at = keys.iter().position(|k| k.name == after).map_or(keys.len(), |at| at + 1);
            keys.splice(at..at, new);
        }
    }
    keys
}
