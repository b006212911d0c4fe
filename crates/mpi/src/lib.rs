//! Several processes for one run: who started them, and how they speak to each other.
//!
//! Without the feature `link` there is no MPI, and a process that a launcher started beside others is refused: as many copies of one simulation would
//! write one output. The same refusal meets a process whose MPI is not that of its launcher, and which therefore believes to be alone.
//!
//! Why own calls and no crate: `mpi` (rsmpi) needs libclang to be built, which login nodes lack; `ferrompi` prefers MPICH to the `mpicc` on
//! the path, so that under Open MPI's launcher each process believed to be alone, and it changes its interface with each release. Eight
//! calls on words are all that is needed. Nothing outside of this crate knows of MPI.

pub mod launcher;
#[cfg(feature = "link")]
pub mod linked;

use base::world::World;
use launcher::Launcher;
#[cfg(feature = "link")]
use std::sync::Arc;

/// Why a process that a launcher started cannot take part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// This process among those of a run, for as long as the value lives. If a panic drops it, all of them end.
pub struct Session {
    /// All ranks, seen from this one.
    pub world: World,
    #[cfg(feature = "link")]
    mpi: Option<Arc<linked::Mpi>>,
}

/// How all ranks together ended.
#[cfg_attr(not(feature = "link"), allow(dead_code, reason = "programs without MPI leave alone"))]
struct Left {
    /// Exit status of every rank: that of the first, or if it had nothing to complain of, the first other one.
    status: u8,
    /// What a rank other than the first has to say, if the status is its own.
    why: Option<String>,
}

impl Session {
    /// A process without others.
    #[must_use]
    pub fn alone() -> Self {
        Self {
            world: World::ALONE,
            #[cfg(feature = "link")]
            mpi: None,
        }
    }

    /// Joins the processes that a launcher started beside this one; called once. Without a launcher nothing is started.
    ///
    /// # Errors
    /// If this program has no MPI, or another one than its launcher.
    pub fn join() -> Result<Self, Mismatch> {
        match launcher::launcher(|name| std::env::var(name).ok()) {
            None => Ok(Self::alone()),
            Some(launcher) => Self::under(&launcher),
        }
    }

    #[cfg(not(feature = "link"))]
    fn under(launcher: &Launcher) -> Result<Self, Mismatch> {
        Err(without_mpi(launcher))
    }

    #[cfg(feature = "link")]
    fn under(launcher: &Launcher) -> Result<Self, Mismatch> {
        let Some(mpi) = linked::Mpi::start().map(Arc::new) else {
            return Err(with_another(launcher, "an MPI that does not start"));
        };
        let session = Self { world: World::new(mpi.clone()), mpi: Some(mpi.clone()) };
        if session.world.is_alone() {
            return Err(with_another(launcher, &mpi.version()));
        }
        Ok(session)
    }

    /// Leaves with an exit status and, if it is none of success, a reason; all ranks leave together, with the status that is given back. What a rank
    /// other than the first has to complain of is given to `say` once: in the first rank, or, if the others go on working, in
    /// that rank, which then ends all of them.
    #[must_use]
    pub fn leave(&self, status: u8, why: &str, say: impl FnOnce(&str)) -> u8 {
        #[cfg(feature = "link")]
        if let Some(mpi) = self.mpi.as_ref().filter(|_| !self.world.is_alone()) {
            let bytes = why.bytes().map(u64::from);
            let words: Vec<u64> = std::iter::once(status.into()).chain(bytes).collect();
            let Some(all) = mpi.leave(&words) else {
                if !self.world.is_first() {
                    say(&format!("rank {}: {why}", self.world.rank()));
                }
                mpi.abort(status.max(1));
                return status;
            };
            let left = together(&all);
            if let Some(why) = left.why.filter(|_| self.world.is_first()) {
                say(&why);
            }
            return left.status;
        }
        let _ = (why, say);
        status
    }
}

/// What the last words of all ranks, a status and the bytes of a reason each, come to.
#[cfg_attr(not(feature = "link"), allow(dead_code, reason = "programs without MPI leave alone"))]
fn together(all: &[Vec<u64>]) -> Left {
    let status = |rank: usize| all[rank].first().map_or(0, |&word| word as u8);
    let Some(rank) = (0..all.len()).find(|&rank| status(rank) != 0) else {
        return Left { status: 0, why: None };
    };
    let bytes: Vec<u8> = all[rank].iter().skip(1).map(|&word| word as u8).collect();
    let why = (rank > 0).then(|| format!("rank {rank}: {}", String::from_utf8_lossy(&bytes)));
    Left { status: status(rank), why }
}

#[cfg(feature = "link")]
impl Drop for Session {
    fn drop(&mut self) {
        let Some(mpi) = self.mpi.take() else { return };
        if std::thread::panicking() {
            // The others wait for words that never come.
            mpi.abort(1);
        }
        mpi.end();
    }
}

/// Refuses to run as one of several processes what runs in one.
///
/// # Errors
/// If a launcher started this process beside others.
pub fn refuse_copies(what: &str) -> Result<(), Mismatch> {
    let Some(launcher) = launcher::launcher(|name| std::env::var(name).ok()) else { return Ok(()) };
    let message = format!("{} started {} processes, and {what} runs in one", launcher.name, launcher.ranks);
    Err(Mismatch {
        message,
        help: "start it without the launcher; `--threads` uses several processors".into(),
    })
}

/// The program has no MPI.
#[cfg_attr(feature = "link", allow(dead_code, reason = "said by programs without MPI"))]
fn without_mpi(launcher: &Launcher) -> Mismatch {
    let Launcher { name, variable, ranks } = launcher;
    Mismatch {
        message: format!(
            "{name} started {ranks} processes ({variable}={ranks}), and this netloom is built without MPI: each would run the whole simulation"
        ),
        help: "build it with `cargo build --release -p netloom-cli --features mpi`, or start it without the launcher".into(),
    }
}

/// The launcher is not that of the program's MPI.
#[cfg_attr(not(feature = "link"), allow(dead_code, reason = "said by programs with MPI"))]
fn with_another(launcher: &Launcher, mpi: &str) -> Mismatch {
    let Launcher { name, variable, ranks } = launcher;
    Mismatch {
        message: format!(
            "{name} started {ranks} processes ({variable}={ranks}), and the MPI that netloom is built with ({mpi}) knows of one alone"
        ),
        help: "start it with the launcher of the MPI that it was built with, or build it anew with MPICC naming the `mpicc` of this launcher".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_say_what_is_there_and_what_to_do() {
        let launcher = Launcher { name: "Open MPI", variable: "OMPI_COMM_WORLD_SIZE", ranks: 4 };
        let without = without_mpi(&launcher);
        assert!(
            without.message.contains("OMPI_COMM_WORLD_SIZE=4") && without.help.contains("--features mpi")
        );
        let another = with_another(&launcher, "MPICH 4.0");
        assert!(another.message.contains("MPICH 4.0") && another.help.contains("MPICC"));
    }

    #[test]
    fn ranks_leave_with_the_first_bad_status_and_its_reason() {
        let words = |status, why: &str| {
            std::iter::once(status).chain(why.bytes().map(u64::from)).collect::<Vec<u64>>()
        };
        let left = |all: &[Vec<u64>]| (together(all).status, together(all).why);
        assert_eq!(left(&[words(0, ""), words(0, "")]), (0, None));
        assert_eq!(left(&[words(5, "a"), words(7, "b")]), (5, None), "the first rank has said it already");
        assert_eq!(left(&[words(0, ""), words(7, "full")]), (7, Some("rank 1: full".into())));
        let alone = Session::alone();
        let silent = |_: &str| panic!("nobody was left behind");
        assert!(alone.world.is_alone());
        assert_eq!(alone.leave(5, "x", silent), 5);
    }
}
