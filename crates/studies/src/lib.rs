//! Studies: a paper's numbers, ours beside them, and why they differ.
//!
//! A study's files are part of this crate ([`files`]); [`study`] reads them, [`runner`] runs their experiments and what some studies compute besides
//! ([`computed`]). Nothing here prints: a [`runner::Report`] is text and an object.

pub mod asked;
pub mod beside;
pub mod computed;
pub mod curves;
pub mod estimates;
pub mod figures;
pub mod files;
pub mod haec_sim;
pub mod hybrid;
pub mod line;
pub mod mars;
pub mod programs;
pub mod runner;
pub mod simgrid;
pub mod store;
pub mod study;
pub mod totals;
