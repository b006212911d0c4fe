//! Sections and lists that belong to the models `packet` and `hybrid`.

use crate::{
    adapter,
    congestion_control::{self, registry::SCHEMES},
    hybrid::{
        self,
        directors::{DIRECTORS, DirectorEntry},
        predict::{PREDICTORS, PredictorEntry},
    },
    pipeline::{self, presets::PRESETS},
    router::{
        allocator::{ALLOCATORS, AllocatorEntry},
        arbiter::{ARBITERS, ArbiterEntry},
        registry::ROUTERS,
    },
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

/// `[resilience]`: what links lose, and the transport that makes up for it.
pub const RESILIENCE: SectionEntry = SectionEntry {
    about: config::ABOUT,
    choices: &[],
    elsewhere: Some(Refusal { why: "its links lose nothing", help: "use model \"packet\"" }),
    on_portals: Some(Refusal {
        why: "[resilience]: interfaces of Portals programs make up for losses themselves",
        help: "use `loss` and `reliability` of [portals]",
    }),
};

/// Key that chooses a scheme of congestion control.
pub const SCHEME_KEY: &str = "scheme";

/// `[congestion_control]`: other models have no queues that could be marked.
pub const CONTROL: SectionEntry = SectionEntry {
    about: congestion_control::config::ABOUT,
    choices: &[ChoiceEntry {
        key: SCHEME_KEY,
        default: "infiniband",
        list: List {
            singular: "congestion control",
            plural: "congestion-controls",
            key: "[congestion_control] scheme",
            entries: || SCHEMES.iter().map(|e| e as &dyn Listed).collect(),
        },
    }],
    elsewhere: Some(Refusal { why: "it has no queues that could be marked", help: "use model \"packet\"" }),
    on_portals: Some(Refusal {
        why: "[congestion_control]: interfaces of Portals programs hand their packets over themselves",
        help: "remove the section, or run rank programs",
    }),
};

/// `[adapter]`: other models have no packets.
pub const ADAPTER: SectionEntry = SectionEntry {
    about: adapter::config::ABOUT,
    choices: &[],
    elsewhere: Some(Refusal {
        why: "it has no packets that could overtake each other",
        help: "use model \"packet\"",
    }),
    on_portals: Some(Refusal {
        why: "[adapter]: interfaces of Portals programs take packets as they come",
        help: "remove the section, or run rank programs",
    }),
};

/// `[router]`: other models have no routers to look into.
pub const ROUTER: SectionEntry = SectionEntry {
    about: pipeline::ABOUT,
    choices: &[],
    elsewhere: Some(Refusal { why: "it has no routers of its own", help: "use model \"packet\"" }),
    on_portals: None,
};

/// Allocators, which `[router]` chooses from.
pub const ALLOCATOR_LIST: List = List {
    singular: "allocator",
    plural: "allocators",
    key: "[router] switch_allocator",
    entries: || ALLOCATORS.iter().map(|e| e as &dyn Listed).collect(),
};

/// Arbiters, which `[router]` chooses from.
pub const ARBITER_LIST: List = List {
    singular: "arbiter",
    plural: "arbiters",
    key: "[router] arbiter",
    entries: || ARBITERS.iter().map(|e| e as &dyn Listed).collect(),
};

/// Switches that are known by a name, which `[router]` chooses from.
pub const PRESET_LIST: List = List {
    singular: "preset",
    plural: "presets",
    key: "[router] preset",
    entries: || PRESETS.iter().map(|e| e as &dyn Listed).collect(),
};

/// Router architectures, which `router` of `[model]` chooses from.
pub const ROUTER_CHOICE: ChoiceEntry = ChoiceEntry {
    key: "router",
    default: "window",
    list: List {
        singular: "router",
        plural: "routers",
        key: "[model] router",
        entries: || ROUTERS.iter().map(|e| e as &dyn Listed).collect(),
    },
};

impl Listed for PredictorEntry {}
impl Listed for DirectorEntry {}
impl Listed for AllocatorEntry {}
impl Listed for ArbiterEntry {}
