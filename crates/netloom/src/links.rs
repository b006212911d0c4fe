//! Links of the network: parameters by class, and what they allow.

use crate::{experiment::sections::Experiment, limits};
use base::{
    diag::{Diagnostic, Diagnostics},
    param::Value,
    rate::Bandwidth,
    time::Ps,
    units::print_bytes,
};
use model::setup::LinkParams;

/// Longest time that a message or buffer may take on a link.
const MAX_TRANSFER: Ps = 1 << 60;

/// Links of a network.
pub struct Links {
    /// Parameters by class; none for a class with mistakes.
    pub params: Vec<Option<LinkParams>>,
    /// Bandwidth of a node's terminal links, all rails together, of which loads are fractions.
    pub terminal: Option<Bandwidth>,
}

/// The links that the experiment describes.
pub fn build(experiment: &Experiment, diagnostics: &mut Diagnostics) -> Links {
    let params = params(experiment, diagnostics);
    check_transfers(experiment, &params, diagnostics);
    Links { params, terminal: terminal_bandwidth(experiment) }
}

/// Parameters by class; `None` for a class with mistakes.
fn params(experiment: &Experiment, diagnostics: &mut Diagnostics) -> Vec<Option<LinkParams>> {
    let mut links = Vec::with_capacity(experiment.links.len());
    for (_, section) in &experiment.links {
        let before = diagnostics.len();
        limits::check_delays(section, diagnostics);
        let sound = section.complete && diagnostics.len() == before;
        let values = &section.values;
        links.push(sound.then(|| LinkParams {
            bandwidth: values.bandwidth("bandwidth"),
            latency: values.time("latency"),
            credit_delay: values.time("credit_delay"),
            vc_buffer: values.int("vc_buffer"),
        }));
    }
    links
}

/// Bandwidth of a node's terminal links, all rails together, of which loads are fractions.
fn terminal_bandwidth(experiment: &Experiment) -> Option<Bandwidth> {
    let fabric = experiment.fabric.as_ref()?;
    let terminal = fabric.entry.classes.first()?;
    let (_, link) = experiment.links.iter().find(|(class, _)| class == terminal)?;
    match link.get("bandwidth") {
        Some(Value::Bandwidth(bandwidth)) => bandwidth.times(experiment.rails),
        _ => None,
    }
}

/// Refuses links so slow that a message or a full buffer would take longer than virtual time can express.
fn check_transfers(experiment: &Experiment, links: &[Option<LinkParams>], diagnostics: &mut Diagnostics) {
    let message = experiment.jobs.iter().filter_map(|job| job.message).max().unwrap_or(0);
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
