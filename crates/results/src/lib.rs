//! What a run leaves behind: histograms, confidence, the summary, tables and the output directory.
//!
//! A model fills [`histogram::LatencyHistogram`]s, [`batch::Batches`] and [`table::Table`]s; from them comes a
//! [`summary::Summary`], which [`output::write_run`] stores and [`text::render`] shows; [`compare`] puts two of them side by side. All accumulators are
//! integers and merge in any order, so that the number of partitions cannot change a result.

mod acts;
pub mod batch;
pub mod claim;
pub mod compare;
pub mod compared;
pub mod csv_out;
pub mod flags;
pub mod gate;
pub mod histogram;
mod manifest;
pub mod marks;
mod messages;
pub mod numbers;
pub mod otf2_out;
pub mod output;
pub mod paraver_out;
#[cfg(feature = "parquet")]
pub mod parquet_out;
pub mod raw;
pub mod recorded;
pub mod rescue;
pub mod slow_down;
pub mod summary;
pub mod table;
pub mod text;
pub mod timeline;
