//! NAS BT: a block-tridiagonal solver on multi-partitioned cells.
//!
//! The cube of points is cut into q x q x q cells for q^2 ranks; rank r = i + q j holds the q cells (i + c, j - c, c) modulo q, so
//! that in every direction each rank has exactly one cell of each layer and all of them work at once. The successor in x is
//! (i + 1, j), in y (i, j + 1), in z (i - 1, j + 1), all modulo q.

use super::{
    Body, Generator,
    jacobi3d::part,
    nas::{CLASS, ITERATIONS, Parts, REDUCTIONS, TOTAL_COMPUTE, class, iterations},
    script,
};
use crate::{
    program::mpi::{Call, CollectiveKind, Script, WORLD},
    work::{Built, JobContext},
};
use base::{
    index::RankId,
    param::{Problem, Values},
    registry::About,
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "nas-bt",
    summary: "NAS BT (MPI, NPB 3.3): pipelined solves in x, y and z on multi-partitioned cells",
    doc: "A cube of n^3 points on a square number of ranks, q x q. Classes S W A B C D E have n = 12 24 64 102 162 408 1020 and \
          60 200 200 200 200 250 250 time steps (or as many as `iterations` says); one more warms up. In each step a rank exchanges the faces of its cells (two layers, 80 B \
          per point, one message each) with its six partners, then solves along x, y and z: q - 1 messages of 240 m^2 B to the \
          successor and back q - 1 of 40 m^2 B to the predecessor, where m = floor(n / q) + 1 is the buffer's edge. One more \
          exchange of faces verifies. `total_compute` is spread evenly over the steps, warm-up included: a quarter after the faces and a \
          quarter for each direction, in equal parts for its 2 q cell visits. Messages and bytes are proven for class D on 4096 \
          ranks; other classes follow the same rules. Collectives are those of the solver's phases (parameters, norms, barrier), not of timers.",
    source: "Bailey et al.: The NAS Parallel Benchmarks, RNR-94-007; NPB 3.3-MPI. BT.D on 4096 ranks has the 394,813,440 messages of \
             HAEC-SIM, section 4, and its hops (table 8)",
    params: &[CLASS, TOTAL_COMPUTE, ITERATIONS, REDUCTIONS],
};

/// Points along an edge and time steps, by class.
const CLASSES: [(u64, u64); 7] =
    [(12, 60), (24, 200), (64, 200), (102, 200), (162, 200), (408, 250), (1020, 250)];
/// Least points of a cell along an edge.
const LEAST: u64 = 3;

struct Bt {
    points: u64,
    steps: u64,
    /// Ranks along a side: q.
    side: u32,
    compute: Ps,
    reductions: bool,
}

/// Requests of a solve: the message on its way out and the one on its way in.
const OUT: u32 = 0;
const IN: u32 = 1;

impl Bt {
    /// Successors in x, y and z, then predecessors.
    fn partners(&self, rank: RankId) -> [[RankId; 3]; 2] {
        let q = self.side;
        let (i, j) = (rank.number() % q, rank.number() / q);
        let (right, left, up, down) = ((i + 1) % q, (i + q - 1) % q, (j + 1) % q, (j + q - 1) % q);
        let successors = [right + q * j, i + q * up, left + q * up];
        let predecessors = [left + q * j, i + q * down, right + q * down];
        [successors, predecessors].map(|partners| partners.map(RankId::new))
    }

    /// Bytes of the faces of a rank's cells in each direction, without the cell of one layer: the last one has nobody to send to upward,
    /// the first one downward.
    fn faces(&self, rank: RankId, skipped_layer: u32) -> [u64; 3] {
        let q = self.side;
        let (i, j, mut bytes) = (rank.number() % q, rank.number() / q, [0; 3]);
        for c in 0..q {
            let at = [(i + c) % q, (j + q - c) % q, c];
            let extent = at.map(|x| part(self.points, q, x));
            for d in 0..3 {
                if at[d] != skipped_layer {
                    bytes[d] += 80 * extent[(d + 1) % 3] * extent[(d + 2) % 3];
                }
            }
        }
        bytes
    }

    fn copy_faces(&self, rank: RankId, body: &mut Body) {
        body.phase("faces");
        let [successors, predecessors] = self.partners(rank);
        // A face that goes up is answered by one of the same extent that comes down: the cell above belongs to the successor.
        let (up, down) = (self.faces(rank, self.side - 1), self.faces(rank, 0));
        for d in 0..3 {
            body.irecv(successors[d], 2 * d as u32 + 1, up[d], 2 * d as u32);
            body.irecv(predecessors[d], 2 * d as u32, down[d], 2 * d as u32 + 1);
        }
        for d in 0..3 {
            body.isend(successors[d], 2 * d as u32, up[d], 6 + 2 * d as u32);
            body.isend(predecessors[d], 2 * d as u32 + 1, down[d], 7 + 2 * d as u32);
        }
        body.wait_for_all(12);
    }

    /// A solve along one direction: q cells forward, q cells back, each after the message of the one before.
    fn solve(&self, d: usize, rank: RankId, parts: Parts, body: &mut Body) {
        let [successors, predecessors] = self.partners(rank);
        let (next, previous) = (successors[d], predecessors[d]);
        let edge = self.points / u64::from(self.side) + 1;
        let (forward, back) = (240 * edge * edge, 40 * edge * edge);
        let middle = u64::from(self.side) - 2;
        let tag = 6 + d as u32;
        let visit = |from: Option<RankId>, to: Option<RankId>, bytes: u64, body: &mut Body| {
            if let Some(from) = from {
                body.irecv(from, tag, bytes, IN);
                body.call(Call::Wait(OUT));
                body.call(Call::Wait(IN));
            }
            parts.compute(body);
            if let Some(to) = to {
                body.isend(to, tag, bytes, OUT);
            }
        };
        body.phase(["forward in x", "forward in y", "forward in z"][d]);
        visit(None, Some(next), forward, body);
        body.repeat(middle, |body| visit(Some(previous), Some(next), forward, body));
        visit(Some(previous), None, forward, body);
        body.phase(["backward in x", "backward in y", "backward in z"][d]);
        visit(None, Some(previous), back, body);
        body.repeat(middle, |body| visit(Some(next), Some(previous), back, body));
        visit(Some(next), None, back, body);
    }

    fn step(&self, rank: RankId, body: &mut Body) {
        let step = self.compute / (self.steps + 1);
        let quarters = Parts::of(step, 4);
        let visits = Parts::of(quarters.each, 2 * u64::from(self.side));
        self.copy_faces(rank, body);
        body.phase("right-hand side");
        body.compute(quarters.each + quarters.rest + 3 * visits.rest);
        for d in 0..3 {
            self.solve(d, rank, visits, body);
        }
    }
}

impl Generator for Bt {
    fn name(&self) -> &'static str {
        ABOUT.name
    }

    fn ranks(&self) -> u32 {
        self.side * self.side
    }

    fn write(&self, rank: RankId, body: &mut Body) {
        if self.reductions {
            body.phase("parameters");
            for bytes in [4, 8, 12] {
                body.collective(CollectiveKind::Bcast, WORLD, bytes);
            }
        }
        self.step(rank, body);
        if self.reductions {
            body.phase("start of the main run");
            body.collective(CollectiveKind::Barrier, WORLD, 0);
        }
        body.repeat(self.steps, |body| self.step(rank, body));
        body.phase("verification");
        body.compute(self.compute % (self.steps + 1));
        if self.reductions {
            body.allreduce(40);
        }
        self.copy_faces(rank, body);
        if self.reductions {
            body.allreduce(40);
        }
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Built<Arc<dyn Script>> {
    let ranks = context.ranks;
    let side = ranks.isqrt();
    if side < 2 || side * side != ranks {
        let message = format!("BT needs a square number of ranks, at least 4, not {ranks}");
        let below = side.max(2);
        return Err(vec![Problem::new("ranks", message).help(format!("`ranks = {}`", below * below))]);
    }
    let (points, standard) = CLASSES[class(values)];
    let steps = iterations(values, standard);
    if points / u64::from(side) < LEAST {
        let message = format!("{points} points in {side} cells leave fewer than {LEAST} to a cell");
        return Err(vec![Problem::new("ranks", message).help("fewer ranks, or a larger `class`")]);
    }
    let (compute, reductions) = (values.time("total_compute"), values.bool("reductions"));
    Ok(script(Bt { points, steps, side, compute, reductions }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::generate::testing::{computed, hops, made, sizes};
    use base::param::Value;

    fn bt(class: &str, ranks: u32) -> Arc<dyn Script> {
        made(&ABOUT, build, ranks, &[("class", Value::Text(class.into()))])
    }

    /// The counts and sizes that HAEC-SIM prints (sections 4 and 5).
    #[test]
    fn class_d_on_4096_ranks_is_the_published_run() {
        let sizes = sizes(bt("D", 4096).as_ref());
        assert_eq!(sizes.values().sum::<u64>(), 394_813_440);
        assert_eq!((sizes[&11_760], sizes[&1960]), (194_310_144, 194_310_144));
        let faces: Vec<(u64, u64)> = sizes.into_iter().filter(|s| s.0 > 100_000).collect();
        assert_eq!((faces[0].0, faces[faces.len() - 1].0), (203_520, 206_400));
        assert_eq!(faces.iter().map(|f| f.1).sum::<u64>(), 6_193_152);
    }

    /// Tables 7 and 8 of HAEC-SIM, xyz mapping on 16 x 16 x 16.
    #[test]
    fn hops_are_the_published_ones() {
        let script = bt("D", 4096);
        let xyz: Vec<u32> = (0..4096).collect();
        assert_eq!(hops(script.as_ref(), &[16, 16, 16], false, &xyz), 2_208_487_680);
        assert_eq!(hops(script.as_ref(), &[16, 16, 16], true, &xyz), 1_394_184_960);
    }

    #[test]
    fn all_computation_is_done() {
        for total in [1, 1_000_003, 24_710_000_000_007] {
            let script = made(
                &ABOUT,
                build,
                9,
                &[("class", Value::Text("S".into())), ("total_compute", Value::Time(total))],
            );
            assert_eq!(computed(script.as_ref(), RankId::new(5)), total);
        }
    }

    #[test]
    fn what_the_benchmark_cannot_run_is_refused() {
        let refused = |class: &str, ranks| {
            let values =
                crate::program::generate::testing::defaults(&ABOUT).with("class", Value::Text(class.into()));
            build(&crate::program::generate::testing::asking(ranks), &values).err().map(|p| p[0].key.clone())
        };
        assert_eq!(refused("D", 4095).as_deref(), Some("ranks"));
        assert_eq!(refused("S", 1).as_deref(), Some("ranks"));
        assert_eq!(refused("S", 25).as_deref(), Some("ranks"));
        assert_eq!(refused("S", 16), None);
    }
}
