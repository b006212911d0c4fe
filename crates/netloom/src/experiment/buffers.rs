//! Buffers of link classes for which the file gives none: those of a preset of `[router]`.

use super::{keys::LINK, network::Links, value};
use base::{
    diag::{Diagnostic, Diagnostics},
    param::{Kind, Value},
    registry::find,
    units::print_bytes,
};
use model::{
    ModelEntry,
    section::{Chosen, OwnSection, Section},
};
use packet::pipeline::presets::{Loop, PRESETS, PresetEntry};

/// The key of `[fabric]` link classes.
pub(crate) const KEY: &str = "vc_buffer";
/// The key of `[router]`.
pub(crate) const PRESET: &str = "preset";

/// Gives each class without a buffer that of the preset, and reports those for which there is none, or that have more than the preset's credits count.
pub(super) fn fill(
    links: &mut Links,
    model: Option<&Chosen<ModelEntry>>,
    own: &[OwnSection],
    diagnostics: &mut Diagnostics,
) {
    let preset = preset(own);
    let mut reported = None;
    for (class, section) in links {
        if let (Some(&Value::Int(bytes)), Some(preset)) = (section.get(KEY), preset) {
            refuse_larger(section, bytes, preset, diagnostics);
            continue;
        }
        if section.get(KEY).is_some() || !section.complete {
            continue;
        }
        let loops = model.and_then(|model| credit_loop(section, &model.section));
        match preset.zip(loops) {
            Some((preset, link)) => {
                section.values.0.insert(KEY.to_owned(), Value::Int(preset.buffer(link)));
            }
            None => {
                let doc = LINK.params.iter().find(|p| p.name == KEY).map_or("", |p| p.doc);
                let message = format!("link.{class} lacks `{KEY}`");
                let add = format!("add `{KEY} = ..`, {}: {doc}", value::wanted(Kind::Bytes));
                section.complete = false;
                // Classes that the file does not name are as the one before.
                if reported.replace(section.home) != Some(section.home) {
                    diagnostics.push(Diagnostic::new(section.home, message).label("incomplete").help(add));
                }
            }
        }
    }
}

/// The preset that `[router]` names.
fn preset(own: &[OwnSection]) -> Option<&'static PresetEntry> {
    let router = own.iter().find(|s| s.entry.about.name == packet::pipeline::ABOUT.name)?;
    match router.section.get(PRESET) {
        Some(Value::Text(name)) => find(PRESETS, name),
        _ => None,
    }
}

/// What a link carries until a credit is back, and its packets; `None` of a model without packets.
fn credit_loop(link: &Section, model: &Section) -> Option<Loop> {
    let int = |key: &str| match model.get(key) {
        Some(&Value::Int(bytes)) => Some(bytes),
        _ => None,
    };
    let time = |key: &str| match link.get(key) {
        Some(&Value::Time(time)) => Some(time),
        _ => None,
    };
    let Some(&Value::Bandwidth(bandwidth)) = link.get("bandwidth") else { return None };
    let (packet, chunk) = (int("packet")?, int("chunk").filter(|&chunk| chunk > 0)?);
    let Some(&Value::Time(router)) = model.get("router_delay") else { return None };
    let delays = router.saturating_add(time("latency")?).saturating_add(time("credit_delay")?);
    Some(Loop { bandwidth, delays, packet: packet.max(1).div_ceil(chunk).saturating_mul(chunk) })
}

/// Refuses a buffer of which a preset's credits cannot tell.
fn refuse_larger(section: &Section, bytes: u64, preset: &PresetEntry, diagnostics: &mut Diagnostics) {
    let Some(most) = preset.largest_buffer.filter(|&most| bytes > most) else { return };
    let message = format!("preset \"{}\" has credits for {} at most", preset.about.name, print_bytes(most));
    let help = "make `vc_buffer` smaller, or leave it out, or choose another preset";
    let label = print_bytes(bytes);
    diagnostics.push(Diagnostic::new(section.place(KEY), message).label(label).help(help));
}
