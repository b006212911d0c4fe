//! Service classes: jobs whose packets have virtual channels of their own, and who goes first where they meet.
//!
//! The channels of a link are divided among the classes, so a packet's class is read from its channel, and no class waits for buffers that
//! another one holds. Each class has a copy of the routing's channels: if the routing is free of deadlock, so are all of them. Where classes
//! meet, at the switch and at the link, [`Order`](classes::Order) says who goes first, and a class may be held below a share of every link.
//! Not modelled: classes of single messages of a job, classes within a terminal's queue, pre-emption of a chunk that is on the link.

pub mod build;
pub mod classes;
pub mod report;
pub mod sums;
