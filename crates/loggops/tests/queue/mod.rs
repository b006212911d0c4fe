//! A plain LogGOPS simulator, written for the tests alone: one queue of everything by (time, number of creation); what finds its
//! resources taken is put back for the time at which they are free; matching searches lists.

use std::{cmp::Reverse, collections::BinaryHeap};
use workload::program::{ANY_SOURCE, ANY_TAG, Edge, Kind, list::Rank};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Op { rank: usize, op: usize },
    Message { from: usize, op: usize },
}

struct State<'a> {
    ranks: &'a [Rank],
    waits: Vec<Vec<usize>>,
    open: usize,
    queue: BinaryHeap<Reverse<(u64, u64, Item)>>,
    created: u64,
    cpu: Vec<[u64; 8]>,
    send: Vec<[u64; 8]>,
    receive: Vec<[u64; 8]>,
    posted: Vec<Vec<usize>>,
    arrived: Vec<Vec<(usize, usize)>>,
    freed: Vec<(usize, usize)>,
}

/// Makespans of all ranks in nanoseconds, `None` if some operation cannot be done. `p`: L, o, g, G, O, S.
pub fn simulate(ranks: &[Rank], p: &[u64; 6]) -> Option<Vec<u64>> {
    let [latency, o, g, byte_gap, byte_overhead, eager] = *p;
    let zeros = vec![[0; 8]; ranks.len()];
    let mut s = State {
        ranks,
        waits: ranks
            .iter()
            .map(|r| {
                (0..r.ops.len() as u64).map(|n| r.edges.iter().filter(|e| e.after == n).count()).collect()
            })
            .collect(),
        open: ranks.iter().map(|r| r.ops.len()).sum(),
        queue: BinaryHeap::new(),
        created: 0,
        cpu: zeros.clone(),
        send: zeros.clone(),
        receive: zeros,
        posted: vec![Vec::new(); ranks.len()],
        arrived: vec![Vec::new(); ranks.len()],
        freed: Vec::new(),
    };
    for (r, rank) in ranks.iter().enumerate() {
        s.freed.extend((0..rank.ops.len()).filter(|&n| s.waits[r][n] == 0).map(|n| (r, n)));
    }
    s.queue_freed();
    while let Some(Reverse((time, number, item))) = s.queue.pop() {
        match item {
            Item::Op { rank, op: n } => {
                let op = ranks[rank].ops[n];
                let (c, i) = (usize::from(op.cpu), usize::from(op.nic));
                let free = match op.kind {
                    Kind::Send => s.cpu[rank][c].max(s.send[rank][i]),
                    Kind::Recv => 0,
                    _ => s.cpu[rank][c],
                };
                if free > time {
                    s.queue.push(Reverse((free, number, item)));
                    continue;
                }
                s.free(rank, n, true);
                match op.kind {
                    Kind::Send => {
                        s.cpu[rank][c] = time + o + (op.amount - 1) * byte_overhead;
                        s.send[rank][i] = time + g + (op.amount - 1) * byte_gap;
                        s.created += 1;
                        s.queue.push(Reverse((
                            time + o + latency,
                            s.created,
                            Item::Message { from: rank, op: n },
                        )));
                        if op.amount <= eager {
                            s.free(rank, n, false);
                        }
                    }
                    Kind::Recv => {
                        let fits = |&(from, m): &(usize, usize)| matches(&op, from, &ranks[from].ops[m]);
                        match s.arrived[rank].iter().position(fits) {
                            Some(at) => {
                                let (from, m) = s.arrived[rank].remove(at);
                                s.free(rank, n, false);
                                if ranks[from].ops[m].amount > eager {
                                    s.cpu[from][c] = s.cpu[from][c].max(time);
                                    s.send[from][i] = s.send[from][i].max(time);
                                    s.free(from, m, false);
                                }
                            }
                            None => s.posted[rank].push(n),
                        }
                    }
                    _ => {
                        s.cpu[rank][c] = time + op.amount / 1000;
                        s.free(rank, n, false);
                    }
                }
            }
            Item::Message { from, op: m } => {
                let op = ranks[from].ops[m];
                let (rank, c, i) = (op.peer as usize, usize::from(op.cpu), usize::from(op.nic));
                let free = s.cpu[rank][c].max(s.receive[rank][i]);
                if free > time {
                    s.queue.push(Reverse((free, number, item)));
                    continue;
                }
                s.cpu[rank][c] = time + o + (op.amount - 1) * byte_overhead.max(byte_gap);
                s.receive[rank][i] = time + g + (op.amount - 1) * byte_gap;
                match s.posted[rank].iter().position(|&n| matches(&ranks[rank].ops[n], from, &op)) {
                    Some(at) => {
                        let n = s.posted[rank].remove(at);
                        if op.amount > eager {
                            s.cpu[from][c] = s.cpu[from][c].max(time);
                            s.send[from][i] = s.send[from][i].max(time);
                            s.free(from, m, false);
                        }
                        s.free(rank, n, false);
                    }
                    None => s.arrived[rank].push((from, m)),
                }
            }
        }
        s.queue_freed();
    }
    let ends = s.cpu.iter().map(|c| *c.iter().max().unwrap()).collect();
    (s.open == 0).then_some(ends)
}

fn matches(receive: &workload::program::Op, from: usize, send: &workload::program::Op) -> bool {
    receive.context == send.context
        && (receive.peer == ANY_SOURCE || receive.peer as usize == from)
        && (receive.tag == ANY_TAG || receive.tag == send.tag)
}

impl State<'_> {
    /// Takes the edges of a start (or a finish) off.
    fn free(&mut self, rank: usize, op: usize, on_start: bool) {
        self.open -= usize::from(!on_start);
        let ranks = self.ranks;
        for &Edge { after, .. } in
            ranks[rank].edges.iter().filter(|e| e.before == op as u64 && e.on_start == on_start)
        {
            self.waits[rank][after as usize] -= 1;
            if self.waits[rank][after as usize] == 0 {
                self.freed.push((rank, after as usize));
            }
        }
    }

    fn queue_freed(&mut self) {
        let mut freed = std::mem::take(&mut self.freed);
        let kind = |r: usize, n: usize| match self.ranks[r].ops[n].kind {
            Kind::Send => 0,
            Kind::Recv => 1,
            _ => 2,
        };
        freed.sort_by_key(|&(r, n)| (r, kind(r, n)));
        for (rank, n) in freed {
            let op = self.ranks[rank].ops[n];
            let cpu = self.cpu[rank][usize::from(op.cpu)];
            let time =
                if op.kind == Kind::Send { cpu.max(self.send[rank][usize::from(op.nic)]) } else { cpu };
            self.created += 1;
            self.queue.push(Reverse((time, self.created, Item::Op { rank, op: n })));
        }
    }
}
