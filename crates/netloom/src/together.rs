//! Several processes on one run: what they must agree upon before and after it. Each has read the experiment by itself.

use crate::{
    error::{Error, ErrorKind},
    prepare::Prepared,
};
use base::world::World;
use model::setup::JobSetup;

/// Goes on if every rank could do its part so far: else none does.
///
/// # Errors
/// The own failure, or that of the first rank that has one. All ranks fail together.
pub fn all_ready<T>(world: &World, mine: Result<T, Error>) -> Result<T, Error> {
    if world.is_alone() {
        return mine;
    }
    let why = mine.as_ref().map_or_else(ToString::to_string, |_| String::new());
    let all = world.all_bytes(why.as_bytes());
    let mine = mine?;
    match all.iter().position(|why| !why.is_empty()) {
        None => Ok(mine),
        Some(rank) => {
            let why = String::from_utf8_lossy(&all[rank]);
            Err(Error::new(ErrorKind::Input, format!("rank {rank} cannot begin: {why}")))
        }
    }
}

/// Takes part in a run that every rank has prepared: if one could not, or prepared another run than the first, none goes on.
///
/// # Errors
/// As [`all_ready`].
pub fn agreed(world: &World, build: &str, mine: Result<Prepared, Error>) -> Result<Prepared, Error> {
    let mut prepared = all_ready(world, mine)?;
    if world.is_alone() {
        return Ok(prepared);
    }
    let (options, experiment) = (&prepared.options, &prepared.experiment);
    let what = format!("{build} {} {:?} {experiment}", options.threads, options.partitions);
    let all = world.all_bytes(blake3::hash(what.as_bytes()).as_bytes());
    if let Some(rank) = all.iter().position(|hash| *hash != all[0]) {
        let message =
            format!("rank {rank} has read another experiment than rank 0, or is another build of netloom");
        let help = "start the same program on the same files everywhere";
        return Err(Error::new(ErrorKind::Launcher, message).with_help(help));
    }
    prepared.world = world.clone();
    Ok(prepared)
}

/// Has every rank know what the sources of programs noted in all of them.
pub fn share_notes(world: &World, jobs: &[JobSetup]) {
    for program in jobs.iter().filter_map(|job| job.work.program()) {
        if !world.is_alone() {
            world.all(&program.noted()).iter().for_each(|noted| program.note(noted));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_cannot_begin_stops_all() {
        let outcomes = std::thread::scope(|scope| {
            let ranks = World::of_threads(3).into_iter().map(|world| {
                scope.spawn(move || {
                    let mine = match world.rank() {
                        1 => Err(Error::new(ErrorKind::Output, "no room")),
                        rank => Ok(rank),
                    };
                    all_ready(&world, mine).map_err(|e| (e.kind(), e.to_string()))
                })
            });
            let ranks: Vec<_> = ranks.collect();
            ranks.into_iter().map(|rank| rank.join().expect("no panic")).collect::<Vec<_>>()
        });
        let heard = Err((ErrorKind::Input, "rank 1 cannot begin: no room".to_owned()));
        assert_eq!(outcomes, [heard.clone(), Err((ErrorKind::Output, "no room".to_owned())), heard]);
        assert!(matches!(all_ready(&World::ALONE, Ok(7)), Ok(7)));
    }
}
