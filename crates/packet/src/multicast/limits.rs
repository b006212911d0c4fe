//! What trees of multicasts do not go with, refused by name.

use super::trees::is_asked;
use crate::{adapter, congestion_control, services, setup::Setup, transport::config as transport};
use base::diag::Diagnostics;
use fabric::routing::Routing;
use model::Parts;

/// What a run has that trees may not go with.
struct With<'a> {
    router: &'static str,
    copies: bool,
    routing: Option<&'a dyn Routing>,
    planes: u32,
    fails: bool,
    hybrid: bool,
    lossy: bool,
    controlled: bool,
    adapted: bool,
    classes: bool,
}

impl With<'_> {
    /// The first of what trees do not go with, and the way out.
    fn unsuited(&self) -> Option<(String, &'static str)> {
        let name = self.router;
        let oblivious = self.routing.is_none_or(|routing| routing.facts().oblivious);
        let all = [
            (self.hybrid, "predictors know no trees".to_owned(), "use model \"packet\""),
            (!self.copies, format!("router \"{name}\" copies none"), "choose router \"window\""),
            (
                !oblivious,
                "the routing looks at queues, so that paths are not known before".to_owned(),
                "choose an oblivious routing",
            ),
            (
                self.fails,
                "links that fail under way would cut their trees".to_owned(),
                "remove `at` of [faults]",
            ),
            (self.planes > 1, "trees know one rail".to_owned(), "use one rail"),
            (
                self.lossy,
                "the transport of [resilience] sends to one receiver again".to_owned(),
                "remove [resilience]",
            ),
            (
                self.controlled,
                "congestion control paces flows to one destination".to_owned(),
                "remove [congestion_control]",
            ),
            (self.adapted, "adapters put packets of pairs in order".to_owned(), "remove [adapter]"),
            (self.classes, "service classes need another router".to_owned(), "remove [service]"),
        ];
        all.into_iter().find(|(is, ..)| *is).map(|(_, why, help)| (why, help))
    }
}

/// Refuses jobs whose messages routers copy beside what cannot carry them; `copies` says whether the routers do, `hybrid` whether predictors stand in for them.
pub fn check(
    parts: &Parts<'_>,
    router: &'static str,
    copies: bool,
    hybrid: bool,
    diagnostics: &mut Diagnostics,
) {
    let has = |name: &str| parts.written.own(name).is_some();
    let with = With {
        router,
        copies,
        routing: parts.routing.as_deref(),
        planes: parts.fabric.as_ref().map_or(1, |fabric| fabric.planes()),
        fails: parts.change.is_some(),
        hybrid,
        lossy: has(transport::ABOUT.name),
        controlled: has(congestion_control::config::ABOUT.name),
        adapted: has(adapter::config::ABOUT.name),
        classes: has(services::classes::ABOUT.name),
    };
    if let Some((why, help)) = with.unsuited() {
        parts.refuse_multicast(&why, &format!("{help}, or set `replication = \"source\"`"), diagnostics);
    }
}

/// Why a setup cannot copy what its jobs ask routers to copy, if so; `copies` says whether its routers do.
#[must_use]
pub fn refusal(setup: &Setup, copies: bool) -> Option<String> {
    let with = With {
        router: setup.packet.router.name,
        copies,
        routing: Some(setup.routing.as_ref()),
        planes: setup.fabric.planes(),
        fails: setup.change.is_some(),
        hybrid: setup.hybrid.is_some(),
        lossy: setup.resilience.is_some(),
        controlled: setup.control.is_some(),
        adapted: setup.adapter.is_some(),
        classes: setup.services.is_some(),
    };
    let (why, _) = with.unsuited().filter(|_| is_asked(&setup.jobs))?;
    Some(format!("messages are to be copied by routers, and {why}"))
}
