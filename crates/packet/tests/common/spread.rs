//! One run, spread over schedulers, partitions, ranks and pieces.

use super::piece_over_ranks;
use base::threads::Optimism;
use engine::executor::Threads;
use model::{Failure, Finished, setup::Scheduling};
use packet::Setup;

/// Ranks and threads in each of them for a piece of a run, by its number from 1: three of one and of the other, and four together at most, since threads
/// that share a processor wait for each other most of the time.
pub fn crowd(piece: u32) -> (u32, u32) {
    [(1, 1), (2, 2), (3, 1), (1, 3)][piece as usize % 4]
}

/// In pieces, each over another number of ranks and by another scheduler than the one before.
pub fn in_pieces(mut setup: Setup, partitions: u32, simulated: u64) -> Finished {
    let mut state: Option<Vec<u8>> = None;
    for piece in 1.. {
        let (ranks, count) = crowd(piece);
        let threads = Threads { count, ..Threads::ONE };
        let optimism = Optimism { stumble: 50, ..Optimism::default() };
        let partitions = Some(partitions);
        setup.scheduling = match piece % 2 {
            0 => Scheduling::Optimistic { partitions, threads, optimism },
            _ => Scheduling::Conservative { partitions, threads },
        };
        let (done, saved) = piece_over_ranks(&setup, ranks, (simulated / 4, state.as_deref()));
        if !matches!(done, Err(Failure::Stopped(_))) {
            return done.expect("the last piece ends");
        }
        state = saved;
    }
    unreachable!("a run ends")
}

/// All that a run reports but how long it took.
pub fn reported(finished: &Finished) -> String {
    let mut summary = finished.summary.clone();
    summary.performance = None;
    format!("{} {:?}", summary.to_json(), finished.tables)
}
