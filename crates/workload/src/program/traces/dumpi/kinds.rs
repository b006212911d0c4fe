//! What is counted because it is not replayed as it was.

/// Calls that communicate and are not replayed; places in this list are kinds of notes.
pub(super) const UNUSED: [&str; 12] = [
    "Intercomm_create",
    "Intercomm_merge",
    "Comm_accept",
    "Comm_connect",
    "Comm_join",
    "Comm_spawn",
    "Comm_spawn_multiple",
    "Comm_get_parent",
    "Cancel",
    "Grequest_start",
    "Grequest_complete",
    "Request_get_status",
];
/// A wait for a request that is not open.
pub(super) const UNOPENED: u64 = 100;
/// A call on a communicator that is not known.
pub(super) const FOREIGN: u64 = 101;
/// A call of a further thread.
pub(super) const THREADS: u64 = 102;
