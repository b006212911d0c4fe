//! Sections and lists that belong to the models `packet` and `hybrid`.

use crate::{
    hybrid::{
        self,
        directors::{DIRECTORS, DirectorEntry},
        predict::{PREDICTORS, PredictorEntry},
    },
    router::registry::{ROUTERS, RouterEntry},
    transport::config,
};
use model::section::{ChoiceEntry, List, Listed, Refusal, SectionEntry};

/// `[hybrid]`. Other models leave it alone.
pub const HYBRID: SectionEntry = SectionEntry {
    about: hybrid::ABOUT,
    choices: &[
        ChoiceEntry {
            key: "predictor",
            default: "mean",
            list: List {
                singular: "predictor",
                plural: "predictors",
                key: "[hybrid] predictor",
                entries: || PREDICTORS.iter().map(|e| e as &dyn Listed).collect(),
            },
        },
        ChoiceEntry {
            key: "director",
            default: "automatic",
            list: List {
                singular: "director",
                plural: "directors",
                key: "[hybrid] director",
                entries: || DIRECTORS.iter().map(|e| e as &dyn Listed).collect(),
            },
        },
    ],
    elsewhere: None,
    on_portals: None,
};

/// `[resilience]`.
pub const RESILIENCE: SectionEntry = SectionEntry {
    about: config::ABOUT,
    choices: &[],
    elsewhere: Some(Refusal { why: "its links lose nothing", help: "use model \"packet\"" }),
    on_portals: Some(Refusal {
        why: "[resilience]: interfaces of Portals programs make up for losses themselves",
        help: "use `loss` and `reliability` of [portals]",
    }),
};

/// Router architectures, which `router` of `[model]` chooses from.
pub const ROUTER_LIST: List = List {
    singular: "router",
    plural: "routers",
    key: "[model] router",
    entries: || ROUTERS.iter().map(|e| e as &dyn Listed).collect(),
};

impl Listed for PredictorEntry {}
impl Listed for DirectorEntry {}
impl Listed for RouterEntry {}
