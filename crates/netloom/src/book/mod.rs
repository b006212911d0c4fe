//! The reference as pages of the book: one for each list of names and one for each entry, with an example that has been run and its figure.
//!
//! `examples` puts the smallest complete experiment of an entry together, `figures` draws what it shows, `pages` writes both down, and
//! `shelve` puts the pages where the book has them. Nothing depends on time or machine: the same build writes the same bytes.

pub mod examples;
mod figures;
pub mod pages;
mod shelve;

pub use pages::{Page, pages};
pub use shelve::{printed, write};
