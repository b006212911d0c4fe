//! The two orders of simultaneous events, as stamps of what is created.

use base::time::Ps;
use ranks::operations::Stamp;
use serde::{Serialize, de::DeserializeOwned};
use std::fmt::Debug;

/// A stamp: what was created first is less.
pub(super) trait Order: Copy + Ord + Default + Debug + Serialize + DeserializeOwned + 'static {
    /// The stamp of something that a host creates now. `all` counts what all hosts created, `own` what this one did.
    fn created(all: &mut u64, host: u32, count: &mut u32, now: Ps, creator: Self) -> Self;
}

/// A count over all hosts.
impl Order for u64 {
    #[inline]
    fn created(all: &mut u64, _: u32, _: &mut u32, _: Ps, _: Self) -> Self {
        *all += 1;
        *all
    }
}

impl Order for Stamp {
    #[inline]
    fn created(_: &mut u64, host: u32, count: &mut u32, now: Ps, creator: Self) -> Self {
        *count += 1;
        Self { created: now, creator: creator.created, who: u64::from(host) << 32 | u64::from(*count) }
    }
}
