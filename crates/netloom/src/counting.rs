//! Messages per link on a network that files describe, without an experiment.

use crate::{
    cluster::Network,
    error::{Error, ErrorKind},
};
use base::index::{PortId, RouterId, TerminalId};
use congestion::{
    FabricRoutes, Outcome as Counted, Plan, TableRoutes,
    routes::{Multipath, Routes},
    simulate,
};

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
    (multipath, reversed): (Multipath, bool),
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
#[must_use]
pub fn rest(listed: Vec<u32>, subset: &[u32], all: u32, ranks: u32) -> Vec<u32> {
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
