//! From section `[service]` and the jobs' keys to the classes of a run.

use super::classes::{ABOUT, Services};
use crate::{
    config::PacketConfig,
    pipeline::{self, Pipeline},
    section::TAKES_SECTION,
};
use base::{
    diag::{Diagnostic, Diagnostics},
    param::{Problem, Unread},
};
use model::Parts;

/// The service classes of an experiment, with its routers' rules if they become clocked ones by that.
pub fn build(
    parts: &Parts<'_>,
    packet: &mut PacketConfig,
    diagnostics: &mut Diagnostics,
) -> Option<Services> {
    let section = &parts.written.own(ABOUT.name).filter(|s| s.section.complete)?.section;
    let before = diagnostics.len();
    let mut services = Services::from_values(&section.values, packet.vcs)
        .map_err(|problems| section.report(problems, diagnostics))
        .ok()?;
    match packet.with_services() {
        Ok(config) => *packet = config,
        Err(problems) => section.report(problems, diagnostics),
    }
    if packet.pipeline.is_some_and(|p| p.vcs_per_class.is_some()) {
        let message = "`vcs_per_class` of [router] divides the channels of a link, and so do service classes";
        let help = "give `vcs` here; the routing's classes share those of each service class evenly";
        diagnostics.push(Diagnostic::new(section.place("vcs"), message).help(help));
    }
    if let Some(routing) = &parts.routing {
        let after = parts.change.as_ref().map_or(0, |c| c.routing.vcs() + c.detour.vcs());
        let needed = routing.vcs() + after;
        for (name, &vcs) in services.names.iter().zip(&services.vcs).filter(|(_, vcs)| **vcs < needed) {
            let message =
                format!("class `{name}` has {vcs} virtual channels, and the routing needs {needed}");
            let least = usize::from(needed) * services.names.len();
            let help = format!("every class needs {needed}: set `vcs` of [model] to {least} or more");
            diagnostics.push(Diagnostic::new(section.place("vcs"), message).help(help));
        }
    }
    for job in &parts.written.jobs {
        let name = job.values.text("service");
        let class = services.names.iter().position(|n| *n == name);
        if class.is_none() && !name.is_empty() {
            let message = format!("[service] has no class `{name}`");
            let help = format!("its classes are {}", services.names.join(", "));
            diagnostics.push(Diagnostic::new(job.place("service"), message).help(help));
        }
        services.of_job.push(class.unwrap_or(services.names.len() - 1) as u8);
    }
    (diagnostics.len() == before).then_some(services)
}

/// Keys without effect.
pub fn unread(parts: &Parts<'_>) -> Vec<Unread> {
    if parts.written.own(ABOUT.name).is_some() {
        return Vec::new();
    }
    Unread::all("job", &["service"], "the file has no [service]")
}

impl PacketConfig {
    /// The same with routers that know service classes.
    ///
    /// # Errors
    /// An architecture that has none, or keys of `[model]` that section `[router]` would refuse.
    fn with_services(self) -> Result<Self, Vec<Problem>> {
        let name = self.router.name;
        if !TAKES_SECTION.contains(&name) {
            let message = format!("router \"{name}\" serves all virtual channels alike");
            let known = TAKES_SECTION.join(", ");
            let help = format!("set `router` of [model] to one of {known}, or remove the section");
            return Err(vec![Problem::new("classes", message).help(help)]);
        }
        // Without section [router] it is what that section is by default.
        let clocked = match self.pipeline {
            Some(_) => self,
            None => self.inside(&pipeline::defaults())?,
        };
        let mut pipeline = clocked.pipeline.unwrap_or(Pipeline::of(name));
        // What waits at an output in front of a slow link has been decided on: as little as keeps the link busy.
        if pipeline.output_queue.is_none() && pipeline.output_buffer == u32::MAX {
            pipeline.output_buffer = 1;
        }
        Ok(Self { pipeline: Some(pipeline), ..clocked })
    }
}
