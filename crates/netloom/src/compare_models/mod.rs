//! One experiment on every network model that can carry it: what each says, how far it is from the dearest, what it cost, and why they must differ.
//!
//! [`variant`] makes the experiments, [`run`] runs them, [`measures`] puts their numbers side by side, [`reasons`] says why they differ; [`object`] is
//! all of it for programs, [`text`] for people, and [`files`] writes a table and a figure.

pub mod files;
pub mod measures;
pub mod object;
pub mod outcome;
pub mod ran;
pub mod reasons;
pub mod run;
pub mod text;
pub mod variant;

pub use outcome::ModelComparison;
pub use run::compare_models;
