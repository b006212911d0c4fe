//! One-sided communication as messages: what becomes of windows (`WINDOWS.md`).
//!
//! Who is the target of a transfer does not call anything, so its part is known only to those who read everybody's calls. [`resolve`] does that
//! once; [`Access`] then makes operations of a rank's own calls, and of the part that it has in those of others.

mod access;
mod epochs;
mod resolve;

pub(super) use access::{Access, Emit, Then};
pub(super) use resolve::{Windows, resolve};
