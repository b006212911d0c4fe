//! Deterministic discrete-event kernel: keys, pending events, tables with undo, partitions, director.
//!
//! Read `PROTOCOL.md` beside this crate first. Nothing here knows a network model. Start at [`domain::Domain`], what a model
//! implements, and [`executor::Executor`], what runs it.
//!
//! ```
//! use base::time::Ps;
//! use engine::{
//!     domain::{Domain, Effects},
//!     executor::{Executor, Options, Stop},
//!     key::Class,
//!     state::{Journal, Table},
//! };
//! use std::{cell::Cell, rc::Rc};
//!
//! /// Strikes every 10 ps. What it shares with others keeps it in one thread, which is enough for one partition.
//! struct Clock {
//!     strikes: Table<u32>,
//!     bell: Rc<Cell<u32>>,
//! }
//!
//! impl Domain for Clock {
//!     type Message = ();
//!     type Record = Ps;
//!
//!     fn start(&mut self, effects: &mut impl Effects<Self>) {
//!         effects.wake(10, Class::Ordinary, 0, 0);
//!     }
//!
//!     fn wake(&mut self, _token: u32, effects: &mut impl Effects<Self>) {
//!         *self.strikes.edit(0) += 1;
//!         self.bell.set(self.bell.get() + 1);
//!         effects.record(effects.now());
//!         effects.wake(effects.now() + 10, Class::Ordinary, 0, 0);
//!     }
//!
//!     fn receive(&mut self, (): &(), _: &mut impl Effects<Self>) {}
//!
//!     fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
//!         visit(&mut self.strikes);
//!     }
//!
//!     fn lookahead(&self, _to: u32) -> Option<Ps> {
//!         None
//!     }
//! }
//!
//! let bell = Rc::new(Cell::new(0));
//! let clock = Clock { strikes: Table::new(1, 0), bell: Rc::clone(&bell) };
//! let mut run = Executor::new([(clock, Vec::new())], Options { tie_seed: 1, wheel_shift: 4 });
//! assert_eq!(run.run_until(35, u64::MAX), Stop::End);
//! assert_eq!(run.partitions[0].observer, [10, 20, 30]);
//! assert_eq!((bell.get(), run.now(), run.next_time()), (3, 35, 40));
//! ```

pub mod agenda;
mod balance;
pub mod checkpoint;
mod conservative;
mod crew;
pub mod director;
pub mod domain;
pub mod executor;
mod group;
mod joint;
pub mod kept;
pub mod key;
mod lookahead;
mod mail;
mod meeting;
pub mod over;
mod pace;
pub mod partition;
mod patience;
mod pin;
mod rehearsal;
pub mod state;
pub mod undo_check;
pub mod warp;
pub mod wheel;
pub mod words;

/// Largest payload of a message, in bytes: whole words, since it travels as such.
pub const MESSAGE_BYTES: usize = 80;

/// Largest record, in bytes: a cache line, since a partition keeps many until they are committed.
pub const RECORD_BYTES: usize = 64;

// `words` cuts a payload into words and leaves none over.
const _: () = assert!(MESSAGE_BYTES.is_multiple_of(8));
