//! Series of runs: every point of `[sweep]`, several at a time, each kept when it has ended.
//!
//! [`plan`] (all points, each checked before the first runs) -> [`run`] (points that are not kept yet, over threads) -> [`store`] (a file for
//! each, named by a hash of all that it depends on) -> [`table`] (one row per point) -> [`outcome`] (what is reported).

pub mod kept;
pub mod outcome;
pub mod plan;
pub mod points;
pub mod run;
pub mod store;
pub mod table;
