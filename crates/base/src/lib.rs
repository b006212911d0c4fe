//! What every room of Netloom shares: time, rates, units, random streams, hashes, diagnostics and registries.
//!
//! Nothing here knows a network, an event or a file format.

pub mod diag;
pub mod hash;
pub mod index;
pub mod input;
pub mod memory;
pub mod mistakes;
mod nearest;
pub mod packed;
pub mod paged;
pub mod param;
pub mod prefetch;
pub mod process;
pub mod rate;
pub mod registry;
pub mod rng;
pub mod scratch;
pub mod sorted;
pub mod threads;
pub mod time;
pub mod units;
pub mod visible;
pub mod world;
