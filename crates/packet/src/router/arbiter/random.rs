//! By lot, drawn from what is decided and when: nothing has a state.

use super::place::Place;
use base::{hash::mix64, registry::About};

pub(super) const ABOUT: About = About {
    name: "random",
    summary: "By lot",
    doc: "Each requester draws a lot, and the least one wins. Lots are a function of the run's seed, the arbiter, the allocation and the requester, so that they are \
          the same in every partitioning and no generator has a state.",
    source: "Anderson, Owicki, Saxe, Thacker, High-Speed Switch Scheduling for Local-Area Networks, ACM TOCS 1993 (as part of PIM).",
    params: &[],
};

/// A requester's lot of this allocation.
#[inline]
pub(super) fn turn(place: &Place, requester: u32) -> u64 {
    // Below 2^60, as turns are: the level of a request comes above.
    mix64(mix64(place.name ^ place.step.rotate_left(24)).wrapping_add(u64::from(requester))) >> 4
}
