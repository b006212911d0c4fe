//! Messages per link on a network that files describe, without an experiment.

use crate::{
    cluster::Network,
    error::{Error, ErrorKind},
    input::read_file,
};
use base::{
    diag::SHOWN,
    index::{PortId, RouterId, TerminalId},
    param::Problem,
    visible::name,
};
use congestion::{
    FabricRoutes, Outcome as Counted, Plan, TableRoutes, Task, Want,
    mapping::{self, Mistake, Subset},
    pairs,
    routes::{Multipath, Routes},
    run::Sends,
    setup::watched,
    simulate,
};
use fabric::subnet::Subnet;
use std::path::Path;
use workload::levels::LevelPattern;

/// Who sends to whom, on which hosts, as a user says it.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// A pattern with levels, or `pairs:FILE`.
    pub pattern: &'a str,
    /// Ranks of the first of two merged patterns; [`workload::levels::PART`] with any other, which has no parts.
    pub part_ranks: u32,
    /// Ranks; 0 for all hosts, an even number.
    pub ranks: u32,
    /// A file of the hosts that may take part; all if there is none.
    pub hosts: Option<&'a Path>,
    /// Which hosts take part if there are more than ranks.
    pub subset: Subset,
    /// Which of these the first of two merged patterns has.
    pub part_subset: Option<Subset>,
    /// `shuffle`, `identity`, or a file with the hosts of the first ranks.
    pub mapping: &'a str,
    /// Only this level.
    pub level: Option<u32>,
    /// Number of mappings.
    pub runs: u32,
    /// Seed of mappings and patterns.
    pub seed: u64,
    /// What is counted.
    pub want: Want,
    /// Worker threads, at least 1.
    pub threads: u32,
}

/// A pattern with levels by its name; none for `pairs:FILE`, which is read with the network at hand.
///
/// # Errors
/// If there is no such pattern.
pub fn pattern(text: &str, part_ranks: u32) -> Result<Option<LevelPattern>, Error> {
    if text.starts_with(PAIRS) {
        return Ok(None);
    }
    LevelPattern::parse(text, part_ranks).map(Some).map_err(|e| {
        let refused = usage(format!("--pattern: {e}"));
        let all = text.to_lowercase().replace(['-', '_'], "").starts_with("alltoall");
        let help = "all pairs at once need no pattern: `--metric edge_forwarding_index` counts them";
        refused.with_help(if all { help } else { "a list of pairs is a pattern, too: pairs:FILE" })
    })
}

/// What a pattern begins with that is a list of pairs in a file.
const PAIRS: &str = "pairs:";

impl Asked<'_> {
    /// Whose delays count is told by the pattern.
    ///
    /// # Errors
    /// If the pattern, a file or a number does not fit the network.
    pub fn plan(&self, subnet: &Subnet) -> Result<Plan, Error> {
        let (watched, task) = match pattern(self.pattern, self.part_ranks)? {
            None => (None, self.listed(subnet, self.pattern.trim_start_matches(PAIRS))?),
            Some(pattern) => (watched(&pattern), self.task(subnet, pattern)?),
        };
        let Self { runs, seed, threads, .. } = *self;
        let plan = Plan { watched, tasks: vec![task], runs, seed, want: self.want, threads };
        match self.level {
            Some(level) if level >= plan.levels() => {
                let levels = plan.levels();
                Err(usage(format!("--level {level}: the pattern has {levels} levels, counted from 0")))
            }
            _ => Ok(plan),
        }
    }

    /// A list of pairs: of hosts, which then are what the list says, or of ranks.
    fn listed(&self, subnet: &Subnet, file: &str) -> Result<Task, Error> {
        if self.part_subset.is_some() {
            return Err(usage("--part-subset is for two merged patterns"));
        }
        let list = pairs::from_text(subnet, &read_file(Path::new(file))?)
            .map_err(|mistakes| wrong(file, mistakes))?;
        let sends = Sends::Pairs(self.pattern.to_owned(), list.levels.into());
        if let Some(hosts) = list.hosts {
            if self.ranks != 0 || self.hosts.is_some() || !["shuffle", "identity"].contains(&self.mapping) {
                let message = "a list of pairs of hosts says itself which hosts take part";
                return Err(
                    usage(message).with_help("leave out --ranks, --hosts and --mapping FILE, or list ranks")
                );
            }
            let fixed = hosts.len() as u32;
            return Ok(Task { sends, hosts, fixed, part: 0, shuffle: false, level: self.level });
        }
        if self.ranks != 0 && self.ranks < list.ranks {
            return Err(usage(format!("--ranks {}: the list has {} ranks", self.ranks, list.ranks)));
        }
        let ranks = self.ranks.max(list.ranks);
        if ranks == 1 {
            return Err(usage(format!("`{file}` names rank 0 alone; a pattern needs at least 2 ranks"))
                .with_help("give --ranks, where there are more than the list names"));
        }
        self.on_hosts(subnet, sends, ranks)
    }

    fn task(&self, subnet: &Subnet, pattern: LevelPattern) -> Result<Task, Error> {
        let merged = matches!(pattern, LevelPattern::Versus(..));
        if self.part_subset.is_some() && !merged {
            return Err(usage("--part-subset is for two merged patterns, FIRST::SECOND"));
        }
        if self.part_subset == Some(Subset::LinearBfs) && self.subset != Subset::LinearBfs {
            return Err(usage("--part-subset linear_bfs needs --subset linear_bfs"));
        }
        let task = self.on_hosts(subnet, Sends::Levels(pattern), self.ranks)?;
        if let Sends::Levels(pattern) = &task.sends {
            let judged = pattern.judge_part(self.part_ranks, task.hosts.len() as u32);
            judged.map_err(|e| usage(format!("--part-ranks {}: {e}", self.part_ranks)))?;
        }
        Ok(task)
    }

    /// Chooses the hosts; 0 ranks are all of them, an even number.
    fn on_hosts(&self, subnet: &Subnet, sends: Sends, ranks: u32) -> Result<Task, Error> {
        let read = |file: &str| -> Result<Vec<u32>, Error> {
            mapping::from_text(subnet, &read_file(Path::new(file))?).map_err(|mistakes| wrong(file, mistakes))
        };
        let pool = self.hosts.map(|file| read(&file.display().to_string())).transpose()?;
        let all = pool.as_ref().map_or(subnet.hosts.len(), Vec::len) as u32;
        let ranks = if ranks == 0 { LevelPattern::usable(all) } else { ranks };
        if ranks > all {
            let what = if pool.is_some() { "--hosts lists" } else { "the network has" };
            return Err(usage(format!("--ranks {ranks}: {what} {all} hosts")));
        }
        if ranks < 2 {
            return Err(usage("a pattern needs at least 2 ranks"));
        }
        let mut hosts = mapping::subset(subnet, self.subset, pool.as_deref(), ranks, self.seed);
        if hosts.len() < ranks as usize {
            return Err(usage(format!(
                "a search from the first node finds {} hosts of {ranks}",
                hosts.len()
            )));
        }
        let part = if self.part_subset.is_some() { self.part_ranks.min(ranks) } else { 0 };
        if let Some(how) = self.part_subset {
            mapping::part_first(subnet, &mut hosts, how, part, self.seed);
        }
        let (mut fixed, shuffle) = (0, self.mapping != "identity");
        if !["shuffle", "identity"].contains(&self.mapping) {
            let mut listed = read(self.mapping)?;
            if let Some(pool) = &pool
                && mapping::among(subnet, listed.clone(), pool).len() < listed.len()
            {
                return Err(usage("--mapping names hosts that --hosts leaves out"));
            }
            if part > 0 {
                // As in ORCS, of a part of its own only hosts of this part can be fixed.
                listed = mapping::among(subnet, listed, &hosts[..part as usize]);
            }
            listed.truncate(ranks as usize);
            fixed = listed.len() as u32;
            hosts = rest(listed, &hosts, subnet.hosts.len() as u32, ranks);
        }
        Ok(Task { sends, hosts, fixed, part, shuffle, level: self.level })
    }
}

fn usage(message: impl AsRef<str>) -> Error {
    Error::new(ErrorKind::Usage, message)
}

/// Mistakes in a file that an option names.
fn wrong(file: &str, mut mistakes: Vec<Mistake>) -> Error {
    // How many more there are comes first: it is shown whatever is not.
    if mistakes.len() > SHOWN {
        mistakes.rotate_right(1);
    }
    let named = mistakes.into_iter().map(|Mistake { line, message, count }| {
        let place = if line == 0 { file.to_owned() } else { format!("{file}, line {line}") };
        Problem::new("file", format!("{place}: {message}")).count(count)
    });
    Error::input(named.collect())
}

/// The routes of an engine backwards.
struct Reversed<'a>(TableRoutes<'a>);

impl Routes for Reversed<'_> {
    fn hosts(&self) -> u32 {
        self.0.hosts()
    }

    fn edges(&self) -> u32 {
        self.0.edges()
    }

    fn path(&self, from: u32, to: u32, draw: u64, out: &mut Vec<u32>) -> Result<(), fabric::subnet::Lost> {
        let begin = out.len();
        self.0.path(to, from, draw, out)?;
        out[begin..].reverse();
        out[begin..].iter_mut().for_each(|e| *e = self.0.subnet.edges[*e as usize].reverse);
        Ok(())
    }
}

/// Counts what a plan sends over a network, by its tables or by an experiment's routing; `progress` hears of mappings that are done and may stop.
///
/// # Errors
/// If the network has no routes that do not look at queues, or it was stopped.
pub fn count(
    network: &Network,
    plan: &Plan,
    multipath: Multipath,
    reversed: bool,
    progress: &mut dyn FnMut(u32) -> bool,
) -> Result<Counted, Error> {
    let subnet = &network.subnet;
    let progress = &mut |done| progress(done);
    let outcome = match (&subnet.tables, &network.closed) {
        (Some(tables), _) => {
            let routes = TableRoutes { subnet, tables, multipath };
            if reversed {
                simulate(&Reversed(routes), plan, progress)
            } else {
                simulate(&routes, plan, progress)
            }
        }
        (None, Some((fabric, Some(routing)))) => {
            if !routing.facts().oblivious {
                let message = "static congestion needs an oblivious routing: this one looks at queues, and there are none";
                return Err(Error::new(ErrorKind::Experiment, message));
            }
            let routes = FabricRoutes { fabric, routing: routing.as_ref(), seed: plan.seed };
            let terminals: Vec<u32> = fabric.reachable().map(TerminalId::number).collect();
            let mut plan = plan.clone();
            for task in &mut plan.tasks {
                task.hosts.iter_mut().for_each(|h| *h = terminals[*h as usize]);
            }
            simulate(&routes, &plan, progress).map(|outcome| as_subnet(outcome, network))
        }
        _ => {
            let help = "give a file with tables (--tables FILE) or an experiment with [routing], or compute tables with --engine";
            return Err(Error::new(ErrorKind::Usage, "the network has no routes").with_help(help));
        }
    };
    outcome.map_err(|done| Error::new(ErrorKind::Limit, format!("stopped after {done} mappings")))
}

/// Links with what was counted on them, the most first, a line each: label, count, and names and ports of both ends.
#[must_use]
pub fn by_count(subnet: &Subnet, counts: &[u64]) -> String {
    let names = subnet.unique_names();
    let mut used: Vec<(u32, u64)> = (0..).zip(counts.iter().copied()).filter(|(_, n)| *n > 0).collect();
    used.sort_by_key(|&(edge, n)| (std::cmp::Reverse(n), edge));
    let end = |node: u32, port: u32| match port {
        0 => subnet.label(node),
        port => format!("{} port {port}", subnet.label(node)),
    };
    let line = |(edge, n): (u32, u64)| {
        let e = subnet.edges[edge as usize];
        let (from, to) = (end(e.from, e.port), end(e.to, e.to_port));
        let line = format!("{}: {n}  {from} -> {to}", subnet.edge_label(edge, &names));
        name(&line).into_owned() + "\n"
    };
    used.into_iter().map(line).collect()
}

/// Numbers the links of a fabric's outcome as those of its image: plugged ports in order, then terminals.
fn as_subnet(mut outcome: Counted, network: &Network) -> Counted {
    let Some((fabric, _)) = &network.closed else { return outcome };
    let subnet = &network.subnet;
    if !outcome.totals.edges.is_empty() {
        let terminals: Vec<TerminalId> = fabric.reachable().collect();
        let at = |edge: &fabric::subnet::Edge| {
            let place = subnet.place(edge.from);
            let link = if subnet.is_host(edge.from) {
                fabric.injection(terminals[place as usize])
            } else {
                fabric.port_index(RouterId::new(place), PortId::new(edge.port - 1))
            };
            link.index()
        };
        outcome.totals.edges = subnet.edges.iter().map(|e| outcome.totals.edges[at(e)]).collect();
    }
    outcome.edges = subnet.edges.len() as u32;
    outcome
}

/// The listed hosts, then those of the subset that are not among them, then others, up to the number of ranks.
fn rest(listed: Vec<u32>, subset: &[u32], all: u32, ranks: u32) -> Vec<u32> {
    let mut used = vec![false; all as usize];
    listed.iter().for_each(|&h| used[h as usize] = true);
    let mut hosts = listed;
    for host in subset.iter().copied().chain(0..all) {
        if hosts.len() < ranks as usize && !std::mem::replace(&mut used[host as usize], true) {
            hosts.push(host);
        }
    }
    hosts
}
