//! The deadlock check: can packets that wait for each other's buffers close a cycle?
//!
//! A *channel* is one VC of one link between routers. A routing makes channel B depend on channel A if a packet that
//! arrived through A may leave through B. If no cycle of dependencies exists, no deadlock can (Dally, Seitz 1987). The
//! check walks every choice of the routing from every source to every destination. Injection links only begin walks and
//! ejection links only end them, so neither can be part of a cycle. If the heads of a routing ask for several channels at once
//! ([`Facts::escapes`](crate::routing::Facts::escapes)), its escape channels alone must have no cycle, every head must be able to get one, and no packet may leave
//! them, so that dependencies among them are direct ones (Duato 1993). If routers keep a bubble in each ring of a torus
//! ([`Facts::rings`](crate::routing::Facts::rings)), who is in a ring always moves on, so a ring counts as one channel (Carrión et al. 1997). On the way it finds routes that never end or go
//! astray. Not modelled: dependencies among several packets of one message, or through terminals.

mod graph;
mod report;
mod walk;

use crate::{graph::Fabric, routing::Routing};
pub use report::{Astray, Channel, Fault, Report};

/// A budget that keeps a check within about a second.
pub const DEFAULT_BUDGET: u64 = 5_000_000;

/// Checks a routing on its fabric. `budget` bounds the situations looked at: when they are used up, the destinations
/// seen so far, spread evenly over the network, are judged as a sample. Each costs about 0.1 us, more where a routing has
/// many choices.
#[must_use]
pub fn check(fabric: &Fabric, routing: &dyn Routing, budget: u64) -> Report {
    let mut dependencies = graph::Dependencies::new(fabric, routing.vcs());
    match walk::all(fabric, routing, budget, &mut dependencies) {
        Err(astray) => Report::Astray(astray),
        Ok((states, exhaustive)) => match dependencies.cycle(routing.facts().rings) {
            Some(cycle) => Report::Cycle(cycle),
            None => Report::Free { states, exhaustive },
        },
    }
}

#[cfg(test)]
mod tests;
