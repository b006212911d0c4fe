//! Routing by a table from a file.
//!
//! `parse` reads the text, this file binds it: every terminal must be reached from every router with terminals, and
//! no packet may go round in circles. Channels that the file does not give are assigned by layers (see
//! `layers`); those that it gives are judged by the deadlock check alone.

pub(super) mod parse;

use super::{
    Choice, Congestion, Facts, Hop, Routing,
    select::{SELECT, Select},
    shortest_path::{self, Channels, DEADLOCK, MAX_VCS_PARAM},
    table::{NONE, Table},
};
use crate::{
    graph::Fabric,
    routing::entry::{Bound, RoutingEntry},
};
use base::{
    index::{ChannelId, Column, PortId, RouterId, TerminalId},
    param::{Excerpt, Kind, Param, Problem, Values},
    registry::About,
};
use parse::{Entry, Mistake};
use std::sync::Arc;

/// The registered routing.
pub const ROUTING: RoutingEntry = RoutingEntry {
    about: About {
        name: "table",
        summary: "any topology: next hops from a file",
        doc: "Each line of the file is an entry `router destination port [vc]`, numbers separated by blanks: packets at that \
              router to that destination terminal leave through that port, on that virtual channel. `#` begins a \
              comment. Several entries of one router and destination are alternatives, among which `select` chooses. \
              At a terminal's own router no entry is needed. The virtual channel is given in all entries or in none; \
              if in none, `deadlock` and `max_vcs` say how channels are assigned, as for `shortest-path`. Refused are \
              ports without a link, destinations that some terminal cannot reach, and paths that lead round in circles. \
              Paths that depend on the source take `source-routes`; a table and its paths written as source routes give the same \
              paths. A failed link is no link. Memory: four bytes per router and terminal and as much per entry.",
        source: "Denzel et al.: A Framework for End-to-end Simulation of High-performance Computing Systems, \
                 SIMUTools 2008, section 2.4 (tables generated externally); format of our own",
        params: &[
            Param {
                name: "file",
                kind: Kind::File,
                default: None,
                doc: "the table, one entry `router destination port [vc]` on a line",
            },
            SELECT,
            DEADLOCK,
            MAX_VCS_PARAM,
        ],
    },
    build,
    bytes: |fabric, _| super::table::bytes(fabric, 1),
    least: |sizes, _| super::table::least(sizes, 1),
};

/// Who says which channel a packet takes.
enum Lanes {
    /// The file: channel of each listed port, in the order of the table's ports.
    Given { vcs: Vec<ChannelId>, count: u8 },
    /// Nobody: they are assigned.
    Assigned(Channels),
}

/// Next hops by destination terminal. A plane of the table holds one terminal of every router.
struct Given {
    fabric: Arc<Fabric>,
    table: Table,
    lanes: Lanes,
    select: Select,
    /// By terminal: its plane and the number of its router among the table's ends.
    row: Column<TerminalId, (u32, u32)>,
}

fn build(fabric: Arc<Fabric>, values: &Values) -> Bound {
    let path = values.text("file");
    let text = read(&path)?;
    let entries = parse::parse(&text, &fabric).map_err(|mistakes| problems_of(&path, &text, mistakes))?;
    bind(fabric, &entries, values, |message| whole(&path, message))
}

/// A mistake of a whole file.
pub(super) fn whole(path: &str, message: String) -> Vec<Problem> {
    vec![Problem::new("file", message).at(Excerpt { file: path.to_owned(), ..Excerpt::default() })]
}

/// The text of a file.
pub(super) fn read(path: &str) -> Result<String, Vec<Problem>> {
    let bytes =
        base::input::read(path).map_err(|error| whole(path, format!("the file cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|_| whole(path, "the file is not UTF-8 text".to_owned()))
}

/// Mistakes with the lines that they are in.
pub(super) fn problems_of(path: &str, text: &str, mistakes: Vec<Mistake>) -> Vec<Problem> {
    let lines: Vec<&str> = text.lines().collect();
    let reported = mistakes.into_iter().map(|Mistake { line, start, end, message, count }| {
        let text = line.checked_sub(1).and_then(|i| lines.get(i as usize)).copied().unwrap_or("").to_owned();
        Problem::new("file", message)
            .at(Excerpt { file: path.to_owned(), line, text, start, end })
            .count(count)
    });
    reported.collect()
}

/// Binds entries, sorted by destination and router.
fn bind(
    fabric: Arc<Fabric>,
    entries: &[Entry],
    values: &Values,
    whole: impl Fn(String) -> Vec<Problem>,
) -> Bound {
    let Laid { table, row, order } = lay(&fabric, entries)?;
    reached(&fabric, &table, &row).map_err(&whole)?;
    let lanes = if entries.iter().any(|e| e.vc.is_some()) {
        let vcs: Vec<ChannelId> =
            order.iter().map(|&i| entries[i as usize].vc.unwrap_or(ChannelId::FIRST)).collect();
        let count = 1 + vcs.iter().max().map_or(0, |vc| vc.number());
        Lanes::Given { vcs, count }
    } else {
        let most = values.u32("max_vcs") as u8;
        let deadlock = values.text(DEADLOCK.name);
        Lanes::Assigned(shortest_path::channels(&fabric, &table, &deadlock, most, "max_vcs")?)
    };
    Ok(Box::new(Given { table, lanes, select: Select::from_values(values, SELECT.name), row, fabric }))
}

/// Plane and end of each terminal.
type Placed = Column<TerminalId, (u32, u32)>;

/// Entries laid out as a table.
struct Laid {
    table: Table,
    /// Where each terminal is in it.
    row: Placed,
    /// Which entry each port of the table comes from.
    order: Vec<u32>,
}

/// Ports of a router toward a terminal, and where they are in the table.
struct Ports<'a> {
    list: &'a [PortId],
    /// Place of the first of them among all ports of the table.
    first: usize,
    plane: u32,
    end: u32,
}

fn lay(fabric: &Fabric, entries: &[Entry]) -> Result<Laid, Vec<Problem>> {
    let ends = fabric.ends();
    let mut beside = vec![0u32; ends.len()];
    let mut row = Placed::default();
    for &(router, _) in fabric.attachments() {
        let place = match ends.binary_search(&router) {
            Ok(end) => {
                beside[end] += 1;
                (beside[end] - 1, end as u32)
            }
            Err(_) => (NONE, NONE),
        };
        row.push(place);
    }
    let planes = beside.iter().copied().max().unwrap_or(0);
    let mut table = Table::new(fabric, planes)?;
    let mut terminals: Vec<(u32, u32, TerminalId)> =
        row.iter().filter(|(_, r)| r.0 != NONE).map(|(t, &(plane, end))| (plane, end, t)).collect();
    terminals.sort_unstable();
    let (mut next, mut order) = (terminals.into_iter().peekable(), Vec::new());
    let mut ports = Vec::new();
    for (plane, end) in (0..planes).flat_map(|p| (0..ends.len() as u32).map(move |e| (p, e))) {
        let terminal = next.next_if(|&(p, e, _)| (p, e) == (plane, end)).map(|(_, _, t)| t);
        let first = terminal.map_or(entries.len(), |t| entries.partition_point(|e| e.destination < t));
        let mut i = first;
        for router in RouterId::first(fabric.routers()) {
            ports.clear();
            while let Some(e) =
                entries.get(i).filter(|e| Some(e.destination) == terminal && e.router == router)
            {
                // Entries at the destination's own router lead out and are not needed.
                if router != ends[end as usize] {
                    ports.push(e.port);
                    order.push(i as u32);
                }
                i += 1;
            }
            table.push(&ports)?;
        }
    }
    Ok(Laid { table, row, order })
}

/// Checks that all paths lead from routers with terminals to every terminal.
fn reached(fabric: &Fabric, table: &Table, row: &Placed) -> Result<(), String> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        OnPath,
        Done,
    }
    for (terminal, &(plane, end)) in row.iter().filter(|(_, r)| r.0 != NONE) {
        let home = table.ends[end as usize];
        let mut marks = Column::filled(fabric.routers() as usize, Mark::New);
        marks[home] = Mark::Done;
        for &from in &table.ends {
            let mut path: Vec<(RouterId, usize)> = Vec::new();
            if marks[from] == Mark::New {
                path.push((from, 0));
            }
            while let Some(&mut (router, ref mut done)) = path.last_mut() {
                let ports = table.ports(plane, end, router);
                if ports.is_empty() {
                    return Err(format!(
                        "router {router} has no entry for terminal {terminal}, which packets from router {from} need"
                    ));
                }
                marks[router] = Mark::OnPath;
                let Some(&port) = ports.get(*done) else {
                    marks[router] = Mark::Done;
                    path.pop();
                    continue;
                };
                *done += 1;
                let next = fabric.next_router(router, port).unwrap_or(home);
                match marks[next] {
                    Mark::New => path.push((next, 0)),
                    Mark::Done => {}
                    Mark::OnPath => {
                        let begin = path.iter().position(|&(r, _)| r == next).unwrap_or(0);
                        let round: Vec<String> = path[begin..].iter().map(|(r, _)| r.to_string()).collect();
                        return Err(format!(
                            "packets to terminal {terminal} go round in circles: routers {}, {next}",
                            round.join(", ")
                        ));
                    }
                }
            }
        }
    }
    Ok(())
}

impl Given {
    /// Ports toward the destination; `None` at its router.
    #[inline]
    fn ports(&self, hop: &Hop) -> Option<Ports<'_>> {
        if self.fabric.router_at(hop.destination) == hop.router {
            return None;
        }
        let (plane, end) = self.row[hop.destination];
        let first = self.table.first(plane, end, hop.router);
        Some(Ports { list: self.table.ports(plane, end, hop.router), first, plane, end })
    }

    /// Channel of the i-th of these ports.
    #[inline]
    fn vc(&self, hop: &Hop, i: usize, ports: &Ports<'_>) -> ChannelId {
        let (plane, end) = (ports.plane, ports.end);
        match &self.lanes {
            Lanes::Given { vcs, .. } => vcs[ports.first + i],
            Lanes::Assigned(channels) if hop.visited == 0 => {
                channels.next(None, plane, self.table.end(hop.router), end)
            }
            Lanes::Assigned(channels) => channels.next(Some(hop.vc), plane, 0, end),
        }
    }

    fn out(&self, hop: &Hop) -> Choice {
        Choice { port: self.fabric.attached(hop.destination).1, vc: ChannelId::FIRST, state: 0 }
    }
}

impl Routing for Given {
    fn vcs(&self) -> u8 {
        match &self.lanes {
            Lanes::Given { count, .. } => *count,
            Lanes::Assigned(channels) => channels.count(),
        }
    }

    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        let Some(ports) = self.ports(hop) else { return self.out(hop) };
        let asked = *hop;
        let path = |i: u32| (ports.list[i as usize], self.vc(&asked, i as usize, &ports));
        let (port, vc) = path(self.select.choose(ports.list.len() as u32, path, hop, congestion));
        Choice { port, vc, state: 0 }
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        let Some(ports) = self.ports(hop) else {
            out.push(self.out(hop));
            return;
        };
        let choice = |(i, &port): (usize, &PortId)| Choice { port, vc: self.vc(hop, i, &ports), state: 0 };
        out.extend(ports.list.iter().enumerate().map(choice));
    }

    fn facts(&self) -> Facts {
        Facts { stateful: false, oblivious: self.select.oblivious(), ..Facts::ADAPTIVE }
    }

    fn memory(&self, _: &Hop) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests;
