//! What a node is: the processors that its ranks share, and the memory through which they send to each other. `[node]`; `NODE.md` is the design note.

use base::{
    param::{Kind, Param, Unread, Value, Values},
    rate::Bandwidth,
    registry::About,
    time::Ps,
};
use model::{
    Parts,
    section::{Refusal, SectionEntry},
    setup::LONGEST,
};

/// How ranks that share a core take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// What a core has in hand it brings to its end.
    RunToCompletion,
    /// After this time it is another's turn, if another waits.
    TimeSlices(Ps),
}

/// Memory of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// From the end of a copy until the receiver sees the message.
    pub latency: Ps,
    /// Rate of a copy; none: no time.
    pub bandwidth: Option<Bandwidth>,
    /// Copies at a time.
    pub channels: u32,
}

/// A node, all of a run alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// Its cores; none: a processor of its own for each that a rank has.
    pub cores: Option<u32>,
    /// How cores are shared.
    pub kernel: Kernel,
    /// How messages within the node travel.
    pub memory: Memory,
}

/// Documentation and keys of the section.
pub const ABOUT: About = About {
    name: "node",
    summary: "cores that ranks of a terminal share, and the memory between them",
    doc: "For programs, with or without `ranks_per_terminal`. *Cores.* Ranks are bound: processor p of the n-th rank of a terminal (both from 0) is core n + p \
          modulo `cores`. A core serves computations and message overheads in the order in which they could begin, one at a time; a rank that waits for a message holds \
          no core. With `kernel = \"time-slices\"` what is in hand goes behind what waits after each `quantum`; switching costs nothing. *Memory.* A message \
          between ranks of a terminal, or of a rank to itself, never enters the network. One of `memory_channels` copies it: the one that is free first, in the order of posting; the copy takes bytes / \
          `memory_bandwidth`, and the message is there `memory_latency` later. Requests and grants of rendezvous travel the same path. Without this section \
          each rank has processors of its own and messages within a terminal take no time (on `delay` with costs of the file, or `cost = \"pure\"`, what the model's formula says of no links; with `preset = \"smpi\"` of `flow` they cross the network, from the terminal to itself). The speed of \
          processors is `compute` of each job, the time of a call `overhead` of [model]. Model `delay` runs in one partition then, and its sends and receives wait for their core even if they take no time. Not modelled: what computations take of the memory's bandwidth, caches, the bus to the interface.",
    source: "Node and task modules of MARS: Denzel, Li, Walker, Jin: A Framework for End-to-End Simulation of High-performance Computing Systems, SIMUTools 2008, sections \
             2.2 and 2.3.3",
    params: &PARAMS,
};

const PARAMS: [Param; 6] = [
    Param {
        name: "cores",
        kind: Kind::Int { min: 1, max: 1 << 16 },
        default: Some(""),
        doc: "Cores of a node; if left out each rank has processors of its own.",
    },
    Param {
        name: "kernel",
        kind: Kind::Choice(&["run-to-completion", "time-slices"]),
        default: Some("run-to-completion"),
        doc: "How ranks that share a core take turns. Model `delay` cuts computations alone; overheads of messages it brings to their end.",
    },
    Param {
        name: "quantum",
        kind: Kind::Time,
        default: Some("10 ms"),
        doc: "Time slice of kernel \"time-slices\".",
    },
    Param {
        name: "memory_latency",
        kind: Kind::Time,
        default: Some("0 s"),
        doc: "From the end of a copy until the receiver sees the message.",
    },
    Param {
        name: "memory_bandwidth",
        kind: Kind::Bandwidth,
        default: Some(""),
        doc: "Rate of a copy; if left out copies take no time.",
    },
    Param {
        name: "memory_channels",
        kind: Kind::Int { min: 1, max: 1 << 12 },
        default: Some("1"),
        doc: "Copies that a node's memory makes at a time, each at `memory_bandwidth`; further ones wait.",
    },
];

/// The section as models declare it.
pub const SECTION: SectionEntry = SectionEntry {
    about: ABOUT,
    choices: &[],
    elsewhere: Some(Refusal {
        why: "it has no ranks that compute and send over time",
        help: "use model \"packet\", \"flow\" or \"delay\"",
    }),
    on_portals: Some(Refusal {
        why: "[node] is for jobs: nodes of Portals programs are described by [portals]",
        help: "remove the section",
    }),
};

impl Node {
    /// Reads checked values.
    ///
    /// # Errors
    /// The key and what is wrong with it.
    pub fn from_values(values: &Values) -> Result<Self, Vec<base::param::Problem>> {
        let cores = match values.0.get("cores") {
            Some(&Value::Int(cores)) => u32::try_from(cores).ok(),
            _ => None,
        };
        let bandwidth = match values.0.get("memory_bandwidth") {
            Some(&Value::Bandwidth(bandwidth)) => Some(bandwidth),
            _ => None,
        };
        let kernel = match (values.text("kernel").as_str(), values.time("quantum")) {
            ("time-slices", 0) => {
                let problem = base::param::Problem::new("quantum", "a time slice must take time");
                return Err(vec![problem.help("make `quantum` at least 1 ps")]);
            }
            ("time-slices", quantum) => Kernel::TimeSlices(quantum),
            _ => Kernel::RunToCompletion,
        };
        let (latency, channels) = (values.time("memory_latency"), values.int("memory_channels") as u32);
        Ok(Self { cores, kernel, memory: Memory { latency, bandwidth, channels } })
    }

    /// Longest time that a core has something in hand, if its kernel knows slices.
    #[inline]
    #[must_use]
    pub fn quantum(&self) -> Option<Ps> {
        match self.kernel {
            Kernel::TimeSlices(quantum) if self.cores.is_some() => Some(quantum),
            _ => None,
        }
    }

    /// The node that `[node]` describes, if there is one; mistakes go to the diagnostics.
    pub fn of(parts: &Parts<'_>, diagnostics: &mut base::diag::Diagnostics) -> Option<Self> {
        let section = &parts.written.own(ABOUT.name).filter(|s| s.section.complete)?.section;
        Self::from_values(&section.values).map_err(|problems| section.report(problems, diagnostics)).ok()
    }
}

/// Keys of `[node]` that have no effect.
#[must_use]
pub fn unread(parts: &Parts<'_>) -> Vec<Unread> {
    let Some(own) = parts.written.own(ABOUT.name) else { return Vec::new() };
    if parts.jobs.iter().all(|job| job.work.program().is_none()) {
        let keys = PARAMS.map(|p| p.name);
        return Unread::all(ABOUT.name, &keys, "only programs have ranks that compute");
    }
    let values = &own.section.values;
    let mut all = Vec::new();
    if !values.0.contains_key("cores") {
        all.extend(Unread::all(ABOUT.name, &["kernel", "quantum"], "each rank has processors of its own"));
    } else if values.text("kernel") != "time-slices" {
        all.extend(Unread::all(ABOUT.name, &["quantum"], "what a core has in hand it brings to its end"));
    }
    if !values.0.contains_key("memory_bandwidth") {
        all.extend(Unread::all(
            ABOUT.name,
            &["memory_channels"],
            "without `memory_bandwidth` copies take no time",
        ));
    }
    all
}

impl Memory {
    /// True if no message ever waits for it.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.latency == 0 && self.bandwidth.is_none()
    }

    /// Time of a copy, rounded once.
    #[must_use]
    pub fn copying(&self, bytes: u64) -> Ps {
        self.bandwidth.map_or(0, |b| b.time_rounded(bytes).unwrap_or(LONGEST)).min(LONGEST)
    }

    /// When a copy that is posted at `now` is over and its message there; moves the clock of the channel that it takes, given by the times at which they are free.
    pub fn copied(&self, now: Ps, free: &mut Ps, bytes: u64) -> Ps {
        let over = now.max(*free).saturating_add(self.copying(bytes)).min(2 * LONGEST);
        debug_assert!(over >= now, "a copy takes no negative time");
        *free = over;
        over.saturating_add(self.latency).min(2 * LONGEST)
    }
}
