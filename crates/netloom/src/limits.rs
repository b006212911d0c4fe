//! Refuses what every section allows by itself, and the whole does not: delays and transfers beyond virtual time, too few virtual channels, buffers
//! below a chunk.

use crate::experiment::{
    reader::{Chosen, Section},
    sections::Experiment,
};
use crate::models::ModelEntry;
use base::{
    diag::{Diagnostic, Diagnostics},
    param::{Kind, Value},
    time::{Ps, S},
    units::print_bytes,
};
use fabric::routing::Routing;
use model::setup::{Change, LinkParams};
use packet::PacketConfig;

/// Largest delay of a link, router or adapter: sums of times then stay far from overflow.
const MAX_DELAY: Ps = 1_000 * S;

/// Longest time that a message or buffer may take on a link.
const MAX_TRANSFER: Ps = 1 << 60;

/// Refuses a delay that is too long.
pub(crate) fn check_delay(section: &Section, key: &str, diagnostics: &mut Diagnostics) {
    if let Some(Value::Time(t)) = section.get(key)
        && *t > MAX_DELAY
    {
        let message = format!("`{key}` is longer than 1000 s");
        diagnostics.push(Diagnostic::new(section.place(key), message).label("too long"));
    }
}

/// Refuses delays of a model that are too long.
pub(crate) fn check_delays(chosen: &Chosen<ModelEntry>, diagnostics: &mut Diagnostics) {
    for param in chosen.section.params.iter().filter(|p| p.kind == Kind::Time) {
        check_delay(&chosen.section, param.name, diagnostics);
    }
}

/// Refuses fewer virtual channels than the routing needs, before and after links fail.
pub(crate) fn check_vcs(
    experiment: &Experiment,
    packet: &PacketConfig,
    (routing, change): (Option<&dyn Routing>, Option<&Change>),
    diagnostics: &mut Diagnostics,
) {
    let (Some(routing), Some(chosen), Some(model)) = (routing, &experiment.routing, &experiment.model) else {
        return;
    };
    let before = routing.vcs();
    let after = change.map(|c| (c.routing.vcs(), c.detour.vcs()));
    let needed = after.map_or(before, |(after, detour)| before + after + detour);
    if packet.vcs < needed {
        let name = chosen.entry.about.name;
        let mut message = format!("routing \"{name}\" needs {needed} virtual channels on this fabric");
        if let Some((after, detour)) = after {
            message += &format!(": {before} before links fail, {after} after it and {detour} for detours");
        }
        let label = format!("only {}", packet.vcs);
        let most = model.section.params.iter().find(|p| p.name == "vcs").map_or(u64::MAX, |p| match p.kind {
            Kind::Int { max, .. } => max,
            _ => u64::MAX,
        });
        let help = match after {
            _ if u64::from(needed) <= most => format!("set `vcs = {needed}` or more"),
            Some(_) => format!(
                "the model has {most} at most: choose a routing that needs fewer, or let the links fail from the start"
            ),
            None => format!("the model has {most} at most: choose a routing that needs fewer"),
        };
        diagnostics.push(Diagnostic::new(model.section.place("vcs"), message).label(label).help(help));
    }
}

/// Refuses buffers that hold no chunk.
pub(crate) fn check_buffers(
    experiment: &Experiment,
    packet: &PacketConfig,
    links: &[Option<LinkParams>],
    diagnostics: &mut Diagnostics,
) {
    let chunk = u64::from(packet.chunk);
    for ((class, section), link) in experiment.links.iter().zip(links) {
        if let Some(link) = link
            && link.vc_buffer < chunk
        {
            let message =
                format!("a chunk of {} does not fit into the buffers of link.{class}", print_bytes(chunk));
            let label = format!("holds {}", print_bytes(link.vc_buffer));
            let help = "enlarge `vc_buffer`, or make `chunk` of [model] smaller";
            diagnostics.push(Diagnostic::new(section.place("vc_buffer"), message).label(label).help(help));
        }
    }
}

/// Refuses links so slow that a message or a full buffer would take longer than virtual time can tell.
pub(crate) fn check_transfers(
    experiment: &Experiment,
    links: &[Option<LinkParams>],
    diagnostics: &mut Diagnostics,
) {
    let messages = experiment.jobs.iter().filter_map(|j| match j.section.get("message") {
        Some(Value::Int(bytes)) => Some(*bytes),
        _ => None,
    });
    let message = messages.max().unwrap_or(0);
    for ((class, section), link) in experiment.links.iter().zip(links) {
        let Some(link) = link else { continue };
        let bytes = message.max(link.vc_buffer);
        if link.bandwidth.time_rounded(bytes).is_none_or(|t| t > MAX_TRANSFER) {
            let message = format!("{} would take more than 13 days on link.{class}", print_bytes(bytes));
            let help = "use a faster link, smaller messages or smaller buffers";
            diagnostics
                .push(Diagnostic::new(section.place("bandwidth"), message).label("too slow").help(help));
        }
    }
}
