//! How much a platform may hold.

/// Most hosts of a platform.
pub(super) const MAX_HOSTS: u64 = 1 << 20;
/// Most links of a platform.
pub(super) const MAX_LINKS: u64 = 1 << 24;
/// Bytes of a profile beside a platform.
pub(super) const MAX_PROFILE: u64 = 16 << 20;
/// Greatest latency of a link in seconds: what the clock's 213 days hold of it.
pub(super) const MAX_LATENCY: f64 = 1e7;
