//! How much jobs that share a network slow each other down: an experiment with all its jobs together, and with each of them alone in its place.
//!
//! [`run`] runs them, [`taken`] says what a job took in a run, [`outcome`] puts both side by side; [`object`] is all of it for programs, [`text`] for
//! people, [`files`] writes the table.

pub mod files;
pub mod object;
pub mod outcome;
pub mod run;
pub mod taken;
pub mod text;

pub use outcome::Interference;
pub use run::{Asked, interference};
