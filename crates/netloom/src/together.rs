//! Several processes on one run: what they must agree upon before and after it. Each has read the experiment by itself.

use crate::{
    error::{Error, ErrorKind},
    input::Input,
    output::named_inputs,
    prepare::Prepared,
};
use base::world::World;
use model::setup::JobSetup;
use std::path::Path;

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

/// Refuses standard input for several ranks.
///
/// # Errors
/// If the experiment is to come from there.
pub fn read_by_all(world: &World, input: &Input) -> Result<(), Error> {
    if world.is_alone() || input.file != Path::new("-") {
        return Ok(());
    }
    let message = "standard input reaches the first rank alone, and every rank reads the experiment";
    Err(Error::new(ErrorKind::Input, message).with_help("put the experiment into a file"))
}

/// Takes part in a run that every rank has prepared: if one could not, prepared another run than the first, or read other contents of a file,
/// none goes on. Files too large to hash, and those that a named file or directory leads to, are not compared.
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
    let files = named_inputs(experiment).into_iter().map(|file| format!("{} {}", file.blake3, file.path));
    let mine: Vec<String> = std::iter::once(blake3::hash(what.as_bytes()).to_string()).chain(files).collect();
    if let Some(message) = difference(&world.all_bytes(mine.join("\n").as_bytes())) {
        let help = "start the same program on the same files everywhere";
        return Err(Error::new(ErrorKind::Launcher, message).with_help(help));
    }
    prepared.world = world.clone();
    Ok(prepared)
}

/// What the first rank that differs from rank 0 has read otherwise: of each rank a hash of its run, then a line for each file.
fn difference(all: &[Vec<u8>]) -> Option<String> {
    let rank = all.iter().position(|lines| *lines != all[0])?;
    let [first, other] = [0, rank].map(|rank| String::from_utf8_lossy(&all[rank]));
    if first.lines().next() != other.lines().next() {
        return Some(format!(
            "rank {rank} has read another experiment than rank 0, or is another build of netloom"
        ));
    }
    // A file that one of them could not hash is a line that the other lacks.
    let lacks = |of: &str, line: &str| !of.lines().any(|l| l == line);
    let line = first.lines().find(|line| lacks(&other, line));
    let line = line.or_else(|| other.lines().find(|line| lacks(&first, line)))?;
    let (_, path) = line.split_once(' ')?;
    Some(format!("rank {rank} has read another `{path}` than rank 0"))
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

    #[test]
    fn a_rank_with_other_files_is_named() {
        let ranks = |all: [&str; 3]| difference(&all.map(|lines| lines.as_bytes().to_vec()));
        let said = |all| ranks(all).unwrap_or_default();
        let same = "run\n11 net.xml\n22 a b.goal";
        assert_eq!(ranks([same; 3]), None);
        assert!(
            said([same, same, "other\n11 net.xml\n22 a b.goal"])
                .starts_with("rank 2 has read another experiment")
        );
        assert_eq!(
            said([same, "run\n11 net.xml\n33 a b.goal", same]),
            "rank 1 has read another `a b.goal` than rank 0"
        );
        assert_eq!(said([same, same, "run\n11 net.xml"]), "rank 2 has read another `a b.goal` than rank 0");
        assert_eq!(said(["run\n11 net.xml", same, same]), "rank 1 has read another `a b.goal` than rank 0");
    }
}
