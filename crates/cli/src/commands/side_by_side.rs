//! Works that do not depend on each other, several at a time, with their results in order.

use crate::failure::Failure;
use std::{
    collections::BTreeMap,
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

/// Who does the works, and who looks at them.
pub trait Crew<T>: Sync {
    /// Does one, in any thread; what is to be told meanwhile goes to `remark`.
    ///
    /// # Errors
    /// If it fails; then no other is begun.
    fn work(&self, number: usize, remark: &dyn Fn(String)) -> Result<T, Failure>;

    /// One has failed: those that are under way may end early, in any way.
    fn stop(&self);
}

/// Does `count` works, numbered from 0, in so many threads; `hear` gets remarks as they come, and results in the order of their numbers.
///
/// # Errors
/// The first one that occurs, of a work or of `hear`, once all threads have ended.
pub fn run<T: Send>(
    (count, threads): (usize, usize),
    crew: &impl Crew<T>,
    hear: &mut dyn FnMut(Heard<T>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let next = AtomicUsize::new(0);
    let (say, said) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            let (say, next) = (say.clone(), &next);
            // Nobody listens any more only if the caller's thread panicked.
            let say = move |heard| _ = say.send(heard);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let result = crew.work(number, &|text| say(Ok(Heard::Remark(text))));
                    say(result.map(|result| Heard::Result((number, result))));
                }
            });
        }
        drop(say);
        let mut results = InOrder { early: BTreeMap::new(), due: 0 };
        let mut failure = None;
        for heard in said {
            let heard = match heard {
                Ok(_) if failure.is_some() => Ok(()),
                Ok(Heard::Remark(text)) => hear(Heard::Remark(text)),
                Ok(Heard::Result((number, result))) => results.take(number, result, hear),
                Err(failed) => Err(failed),
            };
            if let Err(failed) = heard {
                next.store(count, Ordering::Relaxed);
                crew.stop();
                failure.get_or_insert(failed);
            }
        }
        failure.map_or(Ok(()), Err)
    })
}

/// Results that came before others.
struct InOrder<T> {
    early: BTreeMap<usize, T>,
    due: usize,
}

impl<T> InOrder<T> {
    /// Passes on what is in order now.
    fn take(
        &mut self,
        number: usize,
        result: T,
        hear: &mut dyn FnMut(Heard<T>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
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
    use crate::exit::Exit;
    use std::sync::{Barrier, atomic::AtomicBool};

    /// Works that wait for each other, in threes; the one that is to fail does.
    struct Threes {
        meeting: Barrier,
        fails: Option<usize>,
        done: AtomicUsize,
        stopped: AtomicBool,
    }

    impl Crew<usize> for Threes {
        fn work(&self, number: usize, remark: &dyn Fn(String)) -> Result<usize, Failure> {
            self.meeting.wait();
            self.done.fetch_add(1, Ordering::Relaxed);
            if self.fails == Some(number) {
                return Err(Failure::new(Exit::Experiment, format!("{number} failed")));
            }
            remark(format!("{number}"));
            Ok(number * 10)
        }

        fn stop(&self) {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }

    fn threes(fails: Option<usize>) -> Threes {
        let (done, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        Threes { meeting: Barrier::new(3), fails, done, stopped }
    }

    #[test]
    fn results_come_in_order() {
        let crew = threes(None);
        let (mut results, mut remarks) = (Vec::new(), Vec::new());
        let hear = &mut |heard| {
            match heard {
                Heard::Remark(text) => remarks.push(text),
                Heard::Result(result) => results.push(result),
            }
            Ok(())
        };
        assert!(run((9, 3), &crew, hear).is_ok());
        assert_eq!(results, (0..9).map(|n| n * 10).collect::<Vec<_>>());
        remarks.sort_unstable();
        assert_eq!(remarks, (0..9).map(|n| n.to_string()).collect::<Vec<_>>());
        assert!(!crew.stopped.into_inner() && run((0, 3), &threes(None), &mut |_| Ok(())).is_ok());
    }

    #[test]
    fn a_failure_ends_it() {
        let crew = threes(Some(1));
        let mut results = 0;
        let hear = &mut |heard| {
            results += usize::from(matches!(heard, Heard::Result(_)));
            Ok(())
        };
        let failure = run((3, 3), &crew, hear).unwrap_err();
        assert!(failure.text(false).contains("1 failed") && results <= 1 && crew.stopped.into_inner());
        // So does one of the listener, and nothing more is heard.
        let crew = threes(None);
        let mut heard = 0;
        let refuse = &mut |_| {
            heard += 1;
            Err(Failure::new(Exit::Output, "no room".to_owned()))
        };
        let failure = run((3, 3), &crew, refuse).unwrap_err();
        assert!(failure.text(false).contains("no room") && heard == 1 && crew.stopped.into_inner());
        assert_eq!(crew.done.into_inner(), 3);
    }
}
