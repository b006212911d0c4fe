//! What ranks do, whatever network is below: the operations that are not yet finished ([`window`]) and the matching of messages with
//! receives ([`matching`]). All state lies in engine tables.

pub mod heap;
pub mod matching;
pub mod window;
