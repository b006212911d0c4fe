//! One collective, again and again.

use super::{
    Body, Generator, collective_call,
    grid::{COMPUTE_TIME, ITERATIONS},
    script,
};
use crate::{
    program::mpi::{CollectiveKind, CommRank, Script, WORLD},
    work::{Built, JobContext},
};
use base::{
    index::RankId,
    param::{Kind, Param, Problem, Values},
    registry::About,
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "collective",
    summary: "one collective operation, repeated",
    doc: "All ranks make the same collective call `iterations` times, each followed by computation. `vector` counts as MPI does: the whole \
          vector for bcast, reduce, allreduce, scan and exscan, one rank's block for the others. How it becomes messages is the \
          choice of the collective algorithms.",
    source: "OSU micro-benchmarks and Intel MPI benchmarks, collective tests",
    params: &[
        Param {
            name: "operation",
            kind: Kind::Choice(&[
                "barrier",
                "bcast",
                "gather",
                "scatter",
                "allgather",
                "alltoall",
                "reduce",
                "allreduce",
                "reduce-scatter-block",
                "scan",
                "exscan",
            ]),
            default: Some("allreduce"),
            doc: "the collective",
        },
        Param {
            name: "vector",
            kind: Kind::Bytes,
            default: Some("1024 B"),
            doc: "bytes of the vector or block",
        },
        Param {
            name: "root",
            kind: Kind::Int { min: 0, max: u32::MAX as u64 },
            default: Some("0"),
            doc: "root rank of bcast, gather, scatter and reduce",
        },
        ITERATIONS,
        COMPUTE_TIME,
    ],
};

struct Repeated {
    ranks: u32,
    kind: CollectiveKind,
    root: CommRank,
    bytes: u64,
    iterations: u64,
    compute: Ps,
}

impl Generator for Repeated {
    fn name(&self) -> &'static str {
        ABOUT.name
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn write(&self, _rank: RankId, body: &mut Body) {
        body.phase("collective");
        body.repeat(self.iterations, |body| {
            body.call(collective_call(self.kind, WORLD, self.root, self.bytes, None));
            body.compute(self.compute);
        });
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Built<Arc<dyn Script>> {
    use CollectiveKind as C;
    context.need_two_ranks()?;
    let (ranks, root) = (context.ranks, CommRank::new(values.u32("root")));
    if root.number() >= ranks {
        return Err(vec![Problem::new("root", format!("rank {root} does not exist: there are {ranks}"))]);
    }
    let (kind, rooted) = match values.text("operation").as_str() {
        "barrier" => (C::Barrier, false),
        "bcast" => (C::Bcast, true),
        "gather" => (C::Gather, true),
        "scatter" => (C::Scatter, true),
        "allgather" => (C::Allgather, false),
        "alltoall" => (C::Alltoall, false),
        "reduce" => (C::Reduce, true),
        "reduce-scatter-block" => (C::ReduceScatterBlock, false),
        "scan" => (C::Scan, false),
        "exscan" => (C::Exscan, false),
        _ => (C::Allreduce, false),
    };
    if root.number() > 0 && !rooted {
        return Err(vec![Problem::new("root", format!("{} has no root", values.text("operation")))]);
    }
    let bytes = if kind == C::Barrier { 0 } else { values.int("vector") };
    let (iterations, compute) = (values.int("iterations"), values.time("compute_time"));
    Ok(script(Repeated { ranks, kind, root, bytes, iterations, compute }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::generate::testing::{asking, defaults, made, reductions, run};
    use base::param::Value;

    #[test]
    fn every_operation_can_be_named() {
        let Kind::Choice(names) = ABOUT.params[0].kind else { panic!("a choice") };
        for name in names {
            let script = made(&ABOUT, build, 5, &[("operation", Value::Text((*name).into()))]);
            run(script.as_ref());
            assert_eq!(
                reductions(script.as_ref(), RankId::new(4)),
                if *name == "allreduce" { 10 } else { 0 }
            );
        }
    }

    #[test]
    fn a_root_must_exist_and_matter() {
        for (operation, root, refused) in [("bcast", 4, false), ("bcast", 5, true), ("scan", 1, true)] {
            let values = defaults(&ABOUT)
                .with("operation", Value::Text(operation.into()))
                .with("root", Value::Int(root));
            assert_eq!(build(&asking(5), &values).is_err(), refused, "{operation} {root}");
        }
    }
}
