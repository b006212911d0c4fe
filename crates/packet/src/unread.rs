//! Keys of `[model]` that have no effect with the router, the routing and the workloads that a file chooses.

use crate::{
    adapter, alone,
    config::Injects,
    congestion_control::{self, none, scheme::SchemeEntry},
    hybrid, pipeline,
    router::registry::RouterEntry,
    section::{self, HYBRID},
    sections::SCHEME_KEY,
    services, transport,
};
use base::param::{Unread, Value};
use model::Parts;

/// Keys without effect.
pub fn of(parts: &Parts<'_>) -> Vec<Unread> {
    let mut all = parts.unread_by_patterns(&["eager", "control", "overhead"]);
    if parts.written.model.get("adapter_jitter") == Some(&Value::Time(1)) {
        all.extend(Unread::all("model", &["adapter_jitter"], "no time below 1 ps can be drawn but 0"));
    }
    all.extend(ranks::unread::of(parts, false, ranks::unread::usual()));
    all.extend(ranks::node::unread(parts));
    if let Some(router) = parts.written.choice::<RouterEntry>("router") {
        let name = router.about.name;
        if name != "input-queued" {
            all.extend(Unread::all("model", &["arbiter"], format!("router \"{name}\" has no use for it")));
        }
        let clocked = parts.written.own(pipeline::ABOUT.name).is_some();
        if router.rules.heads_only || clocked {
            let why = format!(
                "router \"{name}\" {}always routes whole packets",
                if clocked { "with [router] " } else { "" }
            );
            all.extend(Unread::all("model", &["route_per"], why));
        }
        if clocked && pipeline::unlimited(name) {
            let why = format!("{name} routers have a switch that nobody waits for");
            all.extend(Unread::all(pipeline::ABOUT.name, &["switch_allocator"], why));
        }
        all.extend(idle_channels(parts, router));
    }
    if parts.name == section::ABOUT.name
        && let Some(hybrid) = parts.written.own(hybrid::ABOUT.name)
    {
        all.extend(Unread::all("hybrid", &hybrid.keys(), "only model \"hybrid\" bypasses its network"));
    }
    if let Some(control) = parts.written.own(congestion_control::config::ABOUT.name)
        && control.choice::<SchemeEntry>(SCHEME_KEY).is_some_and(|e| e.about.name == none::ENTRY.about.name)
    {
        let why = "scheme \"none\" notifies nobody";
        all.extend(Unread::all("congestion_control", &["notification_delay"], why));
    }
    all.extend(idle_hybrid(parts));
    all.extend(idle_adapter(parts));
    all.extend(unmarked(parts));
    all.extend(parts.unread_without_sleep(&["sleep_share", "wake_time"]));
    if parts.routing.as_ref().is_some_and(|r| r.facts().escapes.is_some()) {
        let why = "with escape channels a head takes whichever output it gets first";
        all.extend(Unread::all("routing", &["select"], why));
    }
    if parts.routing.as_ref().is_some_and(|r| !r.facts().needs_published) {
        let why = "the routing reads no queues of other routers";
        all.extend(Unread::all("model", &["info_delay"], why));
    }
    all.extend(services::build::unread(parts));
    all.extend(without_slow_down(parts));
    all
}

/// Slow-downs of messages where they cannot be told.
fn without_slow_down(parts: &Parts<'_>) -> Vec<Unread> {
    let Some(router) = parts.written.choice::<RouterEntry>("router") else { return Vec::new() };
    let bypassed = parts.name == HYBRID.name || parts.written.own(transport::config::ABOUT.name).is_some();
    let routers = parts.fabric.as_ref().map_or(0, |fabric| fabric.routers());
    let why = alone::absent(router.about.name, &router.rules, routers, bypassed);
    why.map_or_else(Vec::new, |why| Unread::all("output", &["slow_down"], why))
}

/// Keys of InfiniBand's scheme where no packet is ever marked.
fn unmarked(parts: &Parts<'_>) -> Vec<Unread> {
    let Some(section) = parts.written.own(congestion_control::config::ABOUT.name).map(|own| &own.section)
    else {
        return Vec::new();
    };
    let number = |key: &str| match section.get(key) {
        Some(&Value::Int(n)) => Some(n),
        _ => None,
    };
    let packet = match parts.written.model.get("packet") {
        Some(&Value::Int(bytes)) => bytes,
        _ => return Vec::new(),
    };
    let why = if number("threshold") == Some(0) {
        "threshold 0 marks no packet"
    } else if number("packet_size").is_some_and(|least| least > packet) {
        "all packets are below `packet_size`, so none is marked"
    } else {
        return Vec::new();
    };
    let keys = ["marking_rate", "victim_mask", "ccti_increase", "ccti_timer", "notification_delay"];
    Unread::all("congestion_control", &keys, why)
}

/// Keys of `[hybrid]` that are for another treatment.
fn idle_hybrid(parts: &Parts<'_>) -> Vec<Unread> {
    let section = parts.written.own(hybrid::ABOUT.name).filter(|_| parts.name == HYBRID.name);
    let Some(Value::Text(treatment)) = section.and_then(|own| own.section.get("treatment")) else {
        return Vec::new();
    };
    let of = |key: &'static str, other: &str| match treatment == other {
        true => Vec::new(),
        false => Unread::all("hybrid", &[key], format!("it is for `treatment = \"{other}\"`")),
    };
    [of("reheat", "reheat"), of("in_phase", "zombies")].concat()
}

/// Keys of `[adapter]` that others of it make idle.
fn idle_adapter(parts: &Parts<'_>) -> Vec<Unread> {
    let Some(section) = parts.written.own(adapter::config::ABOUT.name).map(|own| &own.section) else {
        return Vec::new();
    };
    let is = |key: &str, value: &Value| section.get(key) == Some(value);
    let text = |value: &str| Value::Text(value.to_owned());
    let mut all = Vec::new();
    if is("resequencing", &Value::Bool(false)) {
        all.extend(Unread::all("adapter", &["buffer"], "without `resequencing` nothing is held"));
    }
    if !is("queues", &text("modulo")) {
        all.extend(Unread::all("adapter", &["queue_count"], "it is for `queues = \"modulo\"`"));
    }
    if is("queues", &text("one")) {
        let why = "there is one queue";
        all.extend(Unread::all("adapter", &["queue_messages", "schedule"], why));
    }
    if is("window", &Value::Int(0)) {
        all.extend(Unread::all("adapter", &["ack_delay"], "without `window` no source waits for it"));
    }
    // The first class is that of the terminals' links.
    let link = parts.links.first().copied().flatten().map(|l| l.bandwidth);
    if let (Some(&Value::Bandwidth(rate)), Some(link)) = (section.get("injection_rate"), link)
        && rate.bytes_per_s() >= link.bytes_per_s()
    {
        all.extend(Unread::all("adapter", &["injection_rate"], "no terminal's link is faster"));
    }
    all
}

/// Virtual channels beyond those of the routing, where packets never change to another than it says.
fn idle_channels(parts: &Parts<'_>, router: &RouterEntry) -> Vec<Unread> {
    let Some(routing) = &parts.routing else { return Vec::new() };
    let Some(&Value::Int(vcs)) = parts.written.model.get("vcs") else { return Vec::new() };
    let used = u64::from(routing.vcs());
    if router.rules.injects != Injects::First || vcs <= used || parts.change.is_some() {
        return Vec::new();
    }
    let channels = if used == 1 { "virtual channel 0 alone" } else { "the virtual channels below" };
    let why = match used {
        1 => format!("the routing uses {channels}, so the others carry nothing"),
        _ => format!("the routing uses {channels} {used}, so the others carry nothing"),
    };
    Unread::all("model", &["vcs"], why)
}
