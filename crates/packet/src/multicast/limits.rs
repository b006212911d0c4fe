//! What trees of multicasts do not go with, refused by name.

use super::trees::is_asked;
use crate::{adapter, congestion_control, services, setup::Setup, transport::config as transport};
use base::diag::Diagnostics;
use fabric::routing::Routing;
use model::{Parts, setup::LinkParams};

/// What a run has that trees may not go with.
struct With<'a> {
    /// Why the routers do not copy, and the way out.
    no_copies: Option<(String, &'static str)>,
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
    fn unsuited(self) -> Option<(String, &'static str)> {
        let facts = self.routing.map(Routing::facts);
        let around = [
            (
                facts.is_some_and(|facts| !facts.oblivious),
                "the routing looks at queues, so that paths are not known before",
                "choose an oblivious routing",
            ),
            (
                facts.is_some_and(|facts| facts.escapes.is_some()),
                "heads take one of several outputs, so that paths are not known before",
                "choose a routing without escape channels",
            ),
            (self.fails, "links that fail under way would cut their trees", "remove `at` of [faults]"),
            (self.planes > 1, "trees know one rail", "use one rail"),
            (self.lossy, "the transport of [resilience] sends to one receiver again", "remove [resilience]"),
            (
                self.controlled,
                "congestion control paces flows to one destination",
                "remove [congestion_control]",
            ),
            (self.adapted, "adapters put packets of pairs in order", "remove [adapter]"),
            (self.classes, "copies have no service class", "remove [service]"),
        ];
        let around = around.into_iter().find(|(is, ..)| *is).map(|(_, why, help)| (why.to_owned(), help));
        let hybrid = self.hybrid.then(|| ("predictors know no trees".to_owned(), "use model \"packet\""));
        hybrid.or(self.no_copies).or(around)
    }
}

/// Refuses jobs whose messages routers copy beside what cannot carry them; `no_copies` says why the routers do not, `hybrid` whether predictors stand in for them.
pub fn check(
    parts: &Parts<'_>,
    no_copies: Option<(String, &'static str)>,
    hybrid: bool,
    diagnostics: &mut Diagnostics,
) {
    let has = |name: &str| parts.written.own(name).is_some();
    let with = With {
        no_copies,
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

/// The smallest buffer of a virtual channel in a network with these links, in bytes.
#[must_use]
pub fn smallest_buffer<'a>(links: impl IntoIterator<Item = &'a LinkParams>) -> u64 {
    links.into_iter().map(|link| link.vc_buffer).min().unwrap_or(0)
}

/// Why a setup cannot copy what its jobs ask routers to copy, if so; `no_copies` says why its routers do not.
#[must_use]
pub fn refusal(setup: &Setup, no_copies: Option<(String, &'static str)>) -> Option<String> {
    let with = With {
        no_copies,
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
