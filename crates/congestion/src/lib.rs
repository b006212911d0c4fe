//! Static congestion: how often routes cross the same link when everybody sends at once (ORCS: Schneider, Hoefler, Lumsdaine,
//! TR-675, 2009). There is no time: a level's messages are routed, messages per directed link are counted, and what a message
//! gets is one part in the highest count on its way.
//!
//! `routes` says which links a message crosses: by forwarding tables of a subnet, or by a routing of a fabric in closed form. `mapping`
//! deals ranks to hosts; `pairs` reads who sends to whom from a list. `count` counts one mapping, `metrics` gathers mappings, `run` spreads them over threads (the same
//! result for any number), `draw` draws the links, `names` documents the metrics. CONGESTION.md describes the rules and what they cost.

pub mod build;
pub mod count;
pub mod draw;
pub mod mapping;
pub mod memory;
pub mod metrics;
pub mod names;
pub mod pairs;
pub mod routes;
pub mod run;
pub mod setup;

pub use count::{Counter, Pair, PlanRank, Want};
pub use metrics::{Outcome, Totals};
pub use names::METRICS;
pub use routes::{FabricRoutes, Routes, TableRoutes};
pub use run::{Plan, Task, simulate};
