//! The documents: the book is whole, its links lead somewhere, its prose is plain, and its commands print what stands below them.
//!
//! Marks in the pages say what a reader need not see. They are comments of HTML, on the line above a block:
//!
//! | mark | meaning |
//! | --- | --- |
//! | `file: NAME` | the block is the file NAME, for the commands that follow on the page |
//! | `not run: REASON` | the commands cannot be run here; that their options exist is looked at all the same |
//! | `exit N` | the block's last command ends with this status |
//!
//! This program reads files and starts the binary. It links nothing of ours, so it is built in a second.

#[path = "documents/book.rs"]
mod book;
#[path = "documents/commands.rs"]
mod commands;
#[path = "documents/page.rs"]
mod page;
#[path = "documents/prose.rs"]
mod prose;
#[path = "documents/reference.rs"]
mod reference;
#[path = "documents/validation.rs"]
mod validation;
