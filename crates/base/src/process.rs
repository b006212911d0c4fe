//! Marks of processes in names of files: who wrote this, and whether it still does.
//!
//! A number alone is not enough. The system gives it again to another process, and a process that has ended keeps it until somebody asks how it ended. So a mark also says
//! when the process began, in ticks since the machine started, and where: processes of another machine or container have numbers of their own, of which this one
//! knows nothing. Marks without these are judged by the number.

use std::{fs, path::Path, sync::OnceLock, time::Duration};

/// What another machine or container wrote counts as abandoned once nothing was added to it for this long.
const ABANDONED: Duration = Duration::from_secs(7 * 24 * 3600);

/// This process: `PID.BEGAN.WHERE`, or `PID` where the system does not say.
#[must_use]
pub fn mark() -> String {
    let number = std::process::id();
    state(number).map_or_else(|| number.to_string(), |(_, began)| format!("{number}.{began}.{}", place()))
}

/// This machine and its table of processes, as a number: its name, and the namespace of the numbers.
fn place() -> u64 {
    static PLACE: OnceLock<u64> = OnceLock::new();
    *PLACE.get_or_init(|| {
        let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let space = fs::read_link("/proc/self/ns/pid").map(|p| p.to_string_lossy().into_owned());
        let text = format!("{} {}", name.trim(), space.unwrap_or_default());
        text.bytes().fold(0, |hash, byte| crate::hash::mix64(hash ^ u64::from(byte))) >> 16
    })
}

/// True of text that [`mark`] gives, now or in older versions.
#[must_use]
pub fn is_mark(text: &str) -> bool {
    parse(text).is_some()
}

/// True of the mark of a process of this machine that goes on, as far as the system says.
#[must_use]
pub fn is_alive(mark: &str) -> bool {
    let Some(Mark { number, began, place: at }) = parse(mark) else { return false };
    at.is_none_or(|at| at == place())
        && state(number).is_some_and(|(state, since)| {
            // Zombies, and what is about to be none.
            !matches!(state, 'Z' | 'X' | 'x') && began.is_none_or(|began| began == since)
        })
}

/// The same of whoever wrote `path`: what another machine or container wrote may be at work until a week has gone without a change of it.
#[must_use]
pub fn may_be_alive(mark: &str, path: &Path) -> bool {
    let foreign = parse(mark).and_then(|mark| mark.place).is_some_and(|at| at != place());
    let changed = || path.symlink_metadata().and_then(|meta| meta.modified()).ok()?.elapsed().ok();
    if foreign { changed().is_none_or(|age| age < ABANDONED) } else { is_alive(mark) }
}

/// What a mark says.
#[derive(Clone, Copy)]
struct Mark {
    number: u32,
    began: Option<u64>,
    place: Option<u64>,
}

fn parse(mark: &str) -> Option<Mark> {
    let mut parts = mark.split('.');
    let number = parts.next()?.parse().ok()?;
    let [began, place] = [parts.next(), parts.next()].map(|part| part.map(str::parse::<u64>));
    let (began, place) = (began.transpose().ok()?, place.transpose().ok()?);
    parts.next().is_none().then_some(Mark { number, began, place })
}

/// State of a process, and when it began.
fn state(number: u32) -> Option<(char, u64)> {
    of_stat(&fs::read_to_string(format!("/proc/{number}/stat")).ok()?)
}

/// Fields 3 and 22 of `/proc/PID/stat`: the second is the program's name in parentheses, which may hold anything.
fn of_stat(text: &str) -> Option<(char, u64)> {
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.nth(18)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs_do_not_confuse() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20";
        for name in ["netloom", "a b", ") Z 9 (", ""] {
            assert_eq!(of_stat(&format!("12 ({name}) {rest}")), Some(('S', 777)), "{name}");
        }
        assert_eq!(of_stat("12 (netloom) S 1 2"), None);
    }

    #[test]
    fn marks_are_read_and_nothing_else_is() {
        assert!(["12", "12.34", "12.34.5", &mark()].into_iter().all(is_mark));
        assert!(!["", "x", "12.", ".3", "12.3.4.5", "12..3", "-1", "12-0"].into_iter().any(is_mark));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_dead_are_dead_and_their_numbers_are_not_they() {
        let (number, own) = (std::process::id(), mark());
        assert!(own.contains('.') && is_alive(&own) && is_alive(&number.to_string()));
        // Another process that had this number before.
        assert!(!is_alive(&format!("{number}.1")));
        // One with this number elsewhere, of which nothing is known until a week has gone.
        let elsewhere = format!("{number}.1.0");
        let file = tempfile::NamedTempFile::new().expect("a file");
        assert!(!is_alive(&elsewhere) && may_be_alive(&elsewhere, file.path()));
        let weeks = std::time::SystemTime::now() - 2 * ABANDONED;
        file.as_file().set_modified(weeks).expect("it is ours");
        assert!(!may_be_alive(&elsewhere, file.path()) && may_be_alive(&own, file.path()));
        assert!(!is_alive("4194305") && !is_alive("4194305.7") && !is_alive("0"));
        // One that has ended, until it is asked how.
        let mut child = std::process::Command::new("true").spawn().expect("there is such a program");
        let zombie = child.id();
        let ended = || state(zombie).is_none_or(|(state, _)| state == 'Z');
        while !ended() {
            std::thread::yield_now();
        }
        assert!(std::path::Path::new("/proc").join(zombie.to_string()).exists());
        assert!(!is_alive(&zombie.to_string()));
        child.wait().expect("it is ours");
    }
}
