//! What is counted because it is not replayed as it was.

/// Communication without a size.
pub(super) const SIZELESS: u64 = 0;
/// Neither a time nor a number of operations.
pub(super) const TIMELESS: u64 = 1;
/// A dependency on a node that there is not.
pub(super) const MISSING: u64 = 2;
/// Communication with ranks that have no file.
pub(super) const ABSENT: u64 = 3;
/// Communication of a group that the rank is not in.
pub(super) const FOREIGN: u64 = 6;
/// Control dependencies that are none of data.
pub(super) const CONTROL: u64 = 7;
/// Process groups that cannot be read.
pub(super) const UNREAD: u64 = 5;
/// A type of nodes or collectives that is not known.
pub(super) const UNKNOWN: u64 = 4;
