//! Works that do not depend on each other, several at a time, with their results in order.

use crate::error::{Error, ErrorKind};
use base::sorted::SortedMap;
use std::{
    cell::RefCell,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

/// What is heard of the works.
pub enum Heard<T> {
    /// Of one that is under way.
    Remark(String),
    /// The next result.
    Result(T),
}

/// Called in the thread of the caller for each remark and result; a failure stops the works.
pub type Hear<'a, T> = dyn FnMut(Heard<T>) -> Result<(), Error> + 'a;

/// Who does the works.
pub trait Crew<T>: Sync {
    /// Does one, in any thread; what is to be reported meanwhile goes to `remark`.
    ///
    /// # Errors
    /// If it fails, or was stopped ([`ErrorKind::Interrupted`]).
    fn work(&self, number: usize, remark: &dyn Fn(String)) -> Result<T, Error>;

    /// One has failed: those that are under way in other threads may end early, with [`ErrorKind::Interrupted`].
    fn stop(&self);
}

/// Does `count` works, numbered from 0, in so many threads (one: the caller's); `hear` gets remarks as they come, and results in the order of their
/// numbers. After a failure none is begun.
///
/// # Errors
/// The first one that occurs, of a work or of `hear`, once all threads have ended; interruptions yield to others. Later ones are remarks.
pub fn run<T: Send>(
    count: usize,
    threads: usize,
    crew: &impl Crew<T>,
    hear: &mut Hear<'_, T>,
) -> Result<(), Error> {
    if threads.min(count) > 1 {
        return in_threads(count, threads.min(count), crew, hear);
    }
    let hear = RefCell::new(hear);
    for number in 0..count {
        let mut failed = RefCell::new(Ok(()));
        let remark = |text| {
            if let Err(failure) = (hear.borrow_mut())(Heard::Remark(text)) {
                *failed.borrow_mut() = Err(failure);
            }
        };
        let result = crew.work(number, &remark)?;
        std::mem::replace(failed.get_mut(), Ok(()))?;
        (hear.borrow_mut())(Heard::Result(result))?;
    }
    Ok(())
}

fn in_threads<T: Send>(
    count: usize,
    threads: usize,
    crew: &impl Crew<T>,
    hear: &mut Hear<'_, T>,
) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let end = Ending { next: &next, count, stop: &|| crew.stop() };
    let (say, said) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (say, end) = (say.clone(), &end);
            scope.spawn(move || {
                let _guard = Guard(end);
                // Nobody listens any more only if the caller's thread panicked.
                let say = |heard| _ = say.send(heard);
                loop {
                    let number = end.next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let result = crew.work(number, &|text| say(Ok(Heard::Remark(text))));
                    if result.is_err() {
                        end.begin();
                    }
                    say(result.map(|result| Heard::Result((number, result))));
                }
            });
        }
        drop(say);
        let _guard = Guard(&end);
        listen(said, &end, hear)
    })
}

fn listen<T>(
    said: mpsc::Receiver<Result<Heard<(usize, T)>, Error>>,
    end: &Ending<'_>,
    hear: &mut Hear<'_, T>,
) -> Result<(), Error> {
    let mut results = InOrder { early: SortedMap::new(), due: 0 };
    let mut failure: Option<Error> = None;
    for heard in said {
        let heard = match heard {
            Ok(Heard::Remark(text)) => hear(Heard::Remark(text)),
            Ok(Heard::Result(_)) if failure.is_some() => Ok(()),
            Ok(Heard::Result((number, result))) => results.take(number, result, hear),
            Err(failed) => Err(failed),
        };
        let Err(failed) = heard else { continue };
        end.begin();
        match &failure {
            Some(first)
                if first.kind() != ErrorKind::Interrupted && failed.kind() != ErrorKind::Interrupted =>
            {
                // The first is reported; that this one cannot be is no third.
                let _ = hear(Heard::Remark(format!("error: {failed}")));
            }
            Some(first)
                if first.kind() != ErrorKind::Interrupted || failed.kind() == ErrorKind::Interrupted => {}
            _ => failure = Some(failed),
        }
    }
    failure.map_or(Ok(()), Err)
}

/// How it ends early.
struct Ending<'a> {
    next: &'a AtomicUsize,
    count: usize,
    stop: &'a (dyn Fn() + Sync),
}

impl Ending<'_> {
    fn begin(&self) {
        self.next.store(self.count, Ordering::Relaxed);
        (self.stop)();
    }
}

/// Of a thread: if it panics, all of it ends.
struct Guard<'a>(&'a Ending<'a>);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.begin();
        }
    }
}

/// Results that came before others.
struct InOrder<T> {
    early: SortedMap<usize, T>,
    due: usize,
}

impl<T> InOrder<T> {
    /// Passes on what is in order now.
    fn take(&mut self, number: usize, result: T, hear: &mut Hear<'_, T>) -> Result<(), Error> {
        self.early.insert(number, result);
        while let Some(result) = self.early.remove(&self.due) {
            self.due += 1;
            hear(Heard::Result(result))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{
        Barrier,
        atomic::{AtomicBool, AtomicUsize},
    };

    /// Works of which each group of so many waits for one another; those named end otherwise.
    struct Groups {
        of: usize,
        meeting: Barrier,
        ends: Vec<(usize, ErrorKind)>,
        panics: Option<usize>,
        begun: AtomicUsize,
        stopped: AtomicBool,
    }

    impl Crew<usize> for Groups {
        fn work(&self, number: usize, remark: &dyn Fn(String)) -> Result<usize, Error> {
            self.begun.fetch_add(1, Ordering::Relaxed);
            self.meeting.wait();
            assert!(self.panics != Some(number), "as planned");
            if let Some(end) = self.ends.iter().find(|end| end.0 == number) {
                return Err(Error::new(end.1, format!("{number} failed")));
            }
            if self.of > 1 && !(self.ends.is_empty() && self.panics.is_none()) {
                // Still under way when another fails.
                while !self.stopped.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
            }
            remark(format!("{number}"));
            Ok(number * 10)
        }

        fn stop(&self) {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }

    fn groups(of: usize, ends: &[(usize, ErrorKind)]) -> Groups {
        let (begun, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        Groups { of, meeting: Barrier::new(of), ends: ends.to_vec(), panics: None, begun, stopped }
    }

    #[test]
    fn results_come_in_order() {
        for threads in [3, 1] {
            let crew = groups(threads, &[]);
            let (mut results, mut remarks) = (Vec::new(), Vec::new());
            let hear = &mut |heard| {
                match heard {
                    Heard::Remark(text) => remarks.push(text),
                    Heard::Result(result) => results.push(result),
                }
                Ok(())
            };
            assert!(run(9, threads, &crew, hear).is_ok() && run(0, threads, &crew, hear).is_ok());
            assert_eq!(results, (0..9).map(|n| n * 10).collect::<Vec<_>>());
            remarks.sort_unstable();
            assert_eq!(remarks, (0..9).map(|n| n.to_string()).collect::<Vec<_>>());
            assert!(!crew.stopped.into_inner());
        }
    }

    /// Those that were under way are all that was begun.
    #[test]
    fn a_failure_ends_it() {
        let hear = &mut |_| Ok(());
        for (threads, fails, begun) in [(3, 1, 3), (1, 4, 5)] {
            let crew = groups(threads, &[(fails, ErrorKind::Input)]);
            let failure = run(90, threads, &crew, hear).unwrap_err();
            assert!(failure.to_string().contains(&format!("{fails} failed")));
            assert_eq!((crew.begun.into_inner(), crew.stopped.into_inner()), (begun, threads > 1));
        }
        // So does one of the listener's.
        for threads in [3, 1] {
            let refuse = &mut |heard| match heard {
                Heard::Remark(_) => Ok(()),
                Heard::Result(_) => Err(Error::new(ErrorKind::Output, "no room")),
            };
            let failure = run(3, threads, &groups(threads, &[]), refuse).unwrap_err();
            assert!(failure.to_string().contains("no room"));
        }
    }

    /// Whichever comes first, an interruption says less than what failed; of two failures both are reported.
    #[test]
    fn interruptions_yield() {
        for ends in [
            [(0, ErrorKind::Interrupted), (1, ErrorKind::Output)],
            [(0, ErrorKind::Output), (1, ErrorKind::Interrupted)],
        ] {
            let failure = run(2, 2, &groups(2, &ends), &mut |_| Ok(())).unwrap_err();
            assert_eq!(failure.kind(), ErrorKind::Output);
        }
        let mut reported = Vec::new();
        let hear = &mut |heard| {
            if let Heard::Remark(text) = heard {
                reported.push(text);
            }
            Ok(())
        };
        let failure =
            run(2, 2, &groups(2, &[(0, ErrorKind::Output), (1, ErrorKind::Input)]), hear).unwrap_err();
        reported.push(format!("error: {failure}"));
        reported.sort_unstable();
        assert_eq!(reported, ["error: 0 failed", "error: 1 failed"]);
    }

    #[test]
    fn a_panic_ends_it() {
        let crew = Groups { panics: Some(1), ..groups(3, &[]) };
        let run = || run(90, 3, &crew, &mut |_| Ok(()));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
        assert_eq!(crew.begun.into_inner(), 3);
    }
}
