//! Threads bound to processors.

/// Binds the calling thread to one of the processors that it may use, the `index`th in turn; the old binding comes back on drop.
/// Where the system has no such binding, nothing happens.
#[cfg(target_os = "linux")]
#[must_use]
pub(crate) fn bind(index: usize) -> Option<Bound> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let before = sched_getaffinity(None).ok()?;
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| before.is_set(cpu)).collect();
    let mut one = CpuSet::new();
    // Processors that this process may not use do not count: in a container the first may be number 12.
    one.set(*allowed.get(index % allowed.len().max(1))?);
    sched_setaffinity(None, &one).ok()?;
    Some(Bound(before))
}

/// The binding that a thread had before.
#[cfg(target_os = "linux")]
pub(crate) struct Bound(rustix::thread::CpuSet);

#[cfg(target_os = "linux")]
impl Drop for Bound {
    fn drop(&mut self) {
        // A thread that stays bound is slower at worst.
        let _ = rustix::thread::sched_setaffinity(None, &self.0);
    }
}

/// Other systems have no such binding.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub(crate) fn bind(_: usize) -> Option<Bound> {
    None
}

/// Nothing is bound.
#[cfg(not(target_os = "linux"))]
pub(crate) struct Bound;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;

    #[test]
    fn a_thread_is_bound_and_let_go() {
        let count = || sched_getaffinity(None).unwrap().count();
        let before = count();
        let bound = bind(1).unwrap();
        assert_eq!(count(), 1);
        drop(bound);
        assert_eq!(count(), before);
    }
}
