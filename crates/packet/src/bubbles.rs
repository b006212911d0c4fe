//! What bubble flow control asks of routing and workloads, refused by name where it is missing.

use crate::{config::PacketConfig, pipeline::FlowControl, sections, transport::config as transport};
use base::diag::{Diagnostic, Diagnostics};
use model::{Parts, setup::JobSetup};

/// Refuses a routing for bubbles without them, bubbles without such a routing, and packets of several lengths.
pub fn check(parts: &Parts<'_>, packet: &PacketConfig, diagnostics: &mut Diagnostics) {
    let (Some(routing), Some(chosen)) = (&parts.routing, parts.written.routing) else { return };
    let bubbles = packet.pipeline.is_some_and(|rules| rules.flow_control == FlowControl::Bubble);
    let has_rings = routing.facts().rings.is_some();
    let own = parts.written.own(sections::ROUTER.about.name).map(|own| own.section.place("flow_control"));
    let name = chosen.entry.about.name;
    if has_rings && !bubbles {
        let message = format!(
            "routing \"{name}\" leaves each ring of the torus one virtual channel, and nobody keeps a bubble in it"
        );
        let help = "set `flow_control = \"bubble\"` in [router], or choose another `partition`";
        diagnostics.push(Diagnostic::new(chosen.section.place("partition"), message).help(help));
    }
    let Some(place) = own.filter(|_| bubbles) else { return };
    if !has_rings {
        let message = format!("routing \"{name}\" on this network knows no rings in which to keep bubbles");
        let help = "use \"dimension-order\" with `partition = \"bubble\"` on a torus";
        diagnostics.push(Diagnostic::new(place, message).help(help));
    }
    let chunks = u64::from(packet.packet.div_ceil(packet.chunk));
    let resilient = parts.written.own(transport::ABOUT.name).is_some();
    let uneven = |job: &&JobSetup| resilient || !even(job, u64::from(packet.packet), packet.chunk, chunks);
    if let Some(job) = parts.jobs.iter().find(uneven).filter(|_| chunks > 1) {
        let message = format!(
            "packets of job \"{}\" are not all {chunks} chunks long, so room of one may be none for another",
            job.name
        );
        let help = "make `chunk` as large as `packet`, or let messages end with a whole packet";
        diagnostics.push(Diagnostic::new(place, message).help(help));
    }
}

/// Whether all packets of a job have as many chunks.
fn even(job: &JobSetup, packet: u64, chunk: u32, chunks: u64) -> bool {
    let asks = job.work.traffic().is_some_and(|traffic| traffic.requests());
    let last = |bytes: u64| if bytes.is_multiple_of(packet) { packet } else { bytes % packet };
    !asks && job.message.is_some_and(|bytes| bytes > 0 && last(bytes).div_ceil(u64::from(chunk)) == chunks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::{program::list::List, registry::Work};

    #[test]
    fn only_whole_packets_are_even() {
        let job = |message| JobSetup {
            name: "job".to_owned(),
            work: Work::Program(std::sync::Arc::new(List::new(Vec::new()))),
            placement: Vec::new(),
            message,
            start: 0,
            compute_ppb: JobSetup::COMPUTE_AS_IS,
        };
        let of = |message| even(&job(message), 256, 64, 4);
        assert!(of(Some(256)) && of(Some(1024)) && of(Some(256 + 193)) && of(Some(200)));
        assert!(!of(Some(256 + 192)) && !of(Some(64)) && !of(Some(0)) && !of(None));
    }
}
