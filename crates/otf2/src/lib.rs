//! Reader and writer of OTF2 archives (Open Trace Format 2, as Score-P and EZTrace write it): traces of parallel programs.
//!
//! An archive is a directory with an anchor file (`traces.otf2`), global definitions (`traces.def`) and, by location (a thread), local definitions
//! and events (`traces/N.def`, `traces/N.evt`). [`Archive::open`] reads anchor and definitions, [`Archive::events`] streams a location;
//! [`Archive::markers`] reads what is noted beside the events, and [`Writer`] writes an archive. Files are opened for each piece that is read or written and closed at once, so thousands of locations need a handful
//! of open files. Records that are not known are skipped. Bytes are described in `FORMAT.md`. Not supported: the SION substrate, compressed
//! files, snapshots and thumbnails.

mod anchor;
mod archive;
mod bytes;
mod chunks;
mod definitions;
mod error;
mod events;
mod local;
mod markers;
mod shares;
mod write;

pub use anchor::Anchor;
pub use archive::Archive;
pub use definitions::{
    Attribute, Clock, Comm, Definitions, Group, GroupType, Location, LocationGroup, Region, SystemTreeNode,
    Window, paradigm,
};
pub use error::{Error, Result};
pub use events::{Event, EventKind, Events};
pub use markers::{Marker, Scope};
pub use shares::{Shares, shares};
pub use write::{LocationWriter, Writer};
