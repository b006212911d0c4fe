//! GOAL, the group operation assembly language: graphs of sends, receives and computations by rank.
//!
//! The text form, as read here. `[..]` may be left out; words are separated by blanks; one statement stands on a line:
//!
//! ```text
//! num_ranks 2                                         before the first rank
//! rank 0 {                                            ranks in any order, each once
//!   a: calc 1000                                      computes 1000 units of time
//!   b: send 10b to 1 [tag 5] [cpu 0] [nic 0]          the label is needed only for dependencies
//!   c: recv 10b from 1 [tag 5] [cpu 0] [nic 0]        from -1: any source; tag -1: any tag
//!   b requires a                                      b waits until a has finished
//!   c irequires b                                     c waits until b has started
//! }                                                   // comment, /* comment */
//! ```
//!
//! Labels (a letter or `_`, then letters, digits, `_`) are local to a rank. Among the operations that one operation frees, those
//! freed by an earlier line come first. Tag, processor and interface are 0 where nothing is said; their order is free.
//! Dependencies may stand before the operations that they name, though writers never do that, for the sake of other readers.
//! GOAL says nothing of the unit of computations; whoever reads a file chooses it, 1 ns by default.
//!
//! The binary form: little endian, nothing aligned. A word of 8 bytes that is 4223 (2342 once a simulation that saves memory has used
//! the file up); everything else is found relative to its end: ranks (4 bytes), largest processor and interface (1 each),
//! for each rank start and end (8 each). A rank: number of operations, number of those without dependency, the list of these (4 each),
//! then for each operation 39 bytes: dependencies (4), kind (1: 1 send, 2 receive, 3 computation), peer (4), bytes or units (8), tag (4),
//! processor, interface (1 each), number of those that wait for its end and index of the first (4 each), the same for its start;
//! then the list that these indices point into (4 each).
//!
//! Source: Hoefler, Siebert, Lumsdaine 2009 (language) and the behaviour of LogGOPSim's converter and simulator (binary form).
//! Differences: what that converter takes without a word is reported here as a mistake: labels used twice, numbers that do not fit, peers that do
//! not exist, ranks that are missing.

mod binary;
mod joins;
mod labels;
mod sections;
mod text;
mod words;
mod write;

pub use binary::{is_binary, read_binary};
pub use text::read_text;
pub use write::{Losses, WriteError, write_binary, write_text};

#[cfg(test)]
mod round_trips;
#[cfg(test)]
mod text_tests;
