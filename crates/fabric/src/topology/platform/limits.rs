//! How much a platform may hold.

/// Most hosts of a platform.
pub(super) const MAX_HOSTS: u64 = 1 << 20;
/// Most links of a platform.
pub(super) const MAX_LINKS: u64 = 1 << 24;
/// Mistakes that are reported.
pub(super) const MAX_MISTAKES: usize = 100;
