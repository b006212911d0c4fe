//! From an experiment to a run: the models `packet` and `hybrid` as registered, and what they refuse.

use crate::{
    adapter::{self, config::Adapter},
    bubbles,
    config::PacketConfig,
    congestion_control::{
        self, CongestionControl,
        scheme::{Context, SchemeEntry},
    },
    hybrid::{self, HybridSetup, directors::Frame},
    interfaces::Interfaces,
    memory,
    multicast::limits,
    partitions,
    pipeline::{Speculation, presets},
    router::registry::{PIPELINED, RouterEntry, chosen},
    run, section, sections, services,
    setup::Setup,
    simulation,
    transport::config::{self as transport, Resilience},
    unread,
};
use base::{
    diag::{Diagnostic, Diagnostics},
    param::Kind,
    units::{print_bytes, print_time},
};
use fabric::{graph::Fabric, routing::Routing};
use model::{
    Failure, Finished, ModelEntry, Parts, Run, Watch, energy,
    entry::{Contention, JobKeys},
    memory::Prediction,
    messages::MessageNetwork,
    section::{Refusal, SectionEntry},
    setup::{Change, JobSetup, Measure, Scheduling, Until},
};
use ranks::{
    node::{self, Node},
    params::RANKS_PER_TERMINAL,
};
use std::sync::Arc;

/// Model `packet`: every chunk through buffers, virtual channels and credits.
pub const PACKET: ModelEntry = ModelEntry {
    contention: Contention::Queued,
    saved: true,
    ranks: true,
    sections: SECTIONS,
    job_keys: JobKeys {
        after: "start",
        params: &[services::classes::SERVICE, RANKS_PER_TERMINAL],
        sharing: Some(RANKS_PER_TERMINAL.name),
    },
    choices: &[sections::ROUTER_CHOICE],
    lists: &[&sections::ALLOCATOR_LIST, &sections::ARBITER_LIST, &sections::PRESET_LIST],
    least: memory::least,
    unfit: simulation::unfit,
    unread: unread::of,
    ..ModelEntry::new(section::ABOUT, build)
};

/// Model `hybrid`: as [`PACKET`], with predictors in the network's place for parts of the run.
pub const HYBRID: ModelEntry = ModelEntry {
    contention: Contention::Predicted,
    implied: &[hybrid::ABOUT.name],
    refuses: &[
        (
            energy::ABOUT.name,
            Refusal {
                why: "its links carry nothing while packets bypass them",
                help: "use model \"packet\"",
            },
        ),
        (
            transport::ABOUT.name,
            Refusal { why: "predictors know only what arrived", help: "use model \"packet\"" },
        ),
        (
            congestion_control::config::ABOUT.name,
            Refusal { why: "what bypasses the network meets no mark", help: "use model \"packet\"" },
        ),
        (
            adapter::config::ABOUT.name,
            Refusal { why: "what bypasses the network overtakes nobody", help: "use model \"packet\"" },
        ),
        (
            services::classes::ABOUT.name,
            Refusal { why: "predictors know no service classes", help: "use model \"packet\"" },
        ),
    ],
    about: section::HYBRID,
    ..PACKET
};

/// Sections of the two; `packet` leaves `[hybrid]` alone.
const SECTIONS: &[&SectionEntry] = &[
    &sections::HYBRID,
    &sections::RESILIENCE,
    &sections::CONTROL,
    &sections::ADAPTER,
    &sections::ROUTER,
    &services::classes::SECTION,
    &energy::SECTION,
    &node::SECTION,
];

fn build(parts: Parts<'_>, diagnostics: &mut Diagnostics) -> Option<Box<dyn Run>> {
    let mut packet = config(&parts, diagnostics);
    let hybrid = hybrid(&parts, packet.as_ref(), diagnostics);
    let resilience = packet.as_ref().and_then(|p| resilience(&parts, p, diagnostics));
    let control = packet.as_ref().and_then(|_| control(&parts, diagnostics));
    let adapter = packet.as_ref().and_then(|p| adapter(&parts, p, diagnostics));
    let services = packet.as_mut().and_then(|p| services::build::build(&parts, p, diagnostics));
    let energy = parts.energy(diagnostics);
    let node = Node::of(&parts, diagnostics);
    parts.refuse_platform("use model \"flow\", or a topology with routers", diagnostics);
    if let Some(packet) = &packet {
        check_vcs(&parts, packet, diagnostics);
        check_classes(&parts, packet, diagnostics);
        check_buffers(&parts, packet, diagnostics);
        check_escapes(&parts, packet, diagnostics);
        bubbles::check(&parts, packet, diagnostics);
        let hybrid = parts.name == HYBRID.about.name;
        let buffer = limits::smallest_buffer(parts.links.iter().flatten());
        limits::check(&parts, (chosen(packet).no_copies)(packet, buffer), hybrid, diagnostics);
    }
    if !diagnostics.is_empty() {
        return None;
    }
    Some(Box::new(Setup {
        links: parts.sound_links()?,
        fabric: parts.fabric?,
        routing: parts.routing?,
        rail: parts.rail,
        change: parts.change,
        jobs: parts.jobs,
        packet: packet?,
        values: Arc::new(parts.written.model.values.clone()),
        seed: parts.seed,
        ties: 0,
        until: parts.until?,
        warmup: parts.warmup,
        scheduling: parts.scheduling,
        check: parts.check,
        measure: parts.measure,
        resilience,
        control,
        adapter,
        energy,
        services,
        hybrid,
        node,
    }))
}

fn config(parts: &Parts<'_>, diagnostics: &mut Diagnostics) -> Option<PacketConfig> {
    let section = Some(parts.written.model).filter(|s| s.complete)?;
    let router: &RouterEntry = parts.written.choice(sections::ROUTER_CHOICE.key)?;
    let config = PacketConfig::from_values(router, &section.values)
        .map_err(|problems| section.report(problems, diagnostics))
        .ok()?;
    let Some(own) = parts.written.own(sections::ROUTER.about.name) else { return Some(config) };
    let inside = Some(&own.section).filter(|s| s.complete)?;
    let values = presets::applied(inside, config.router.name);
    values
        .and_then(|values| config.inside(&values))
        .map_err(|problems| inside.report(problems, diagnostics))
        .ok()
}

/// What replaces the network, if the model is hybrid.
fn hybrid(
    parts: &Parts<'_>,
    packet: Option<&PacketConfig>,
    diagnostics: &mut Diagnostics,
) -> Option<HybridSetup> {
    if parts.name != HYBRID.about.name {
        return None;
    }
    let written = parts.written.own(hybrid::ABOUT.name)?;
    let section = Some(&written.section).filter(|s| s.complete)?;
    let (Until::Time(end) | Until::WorkloadDone { limit: end }) = parts.until?;
    let predictor = written.choice::<hybrid::predict::PredictorEntry>("predictor")?;
    let director = written.choice::<hybrid::directors::DirectorEntry>("director")?;
    let recipe = (predictor.build)(&section.values).map_err(|p| section.report(p, diagnostics)).ok()?;
    let setup = HybridSetup::from_values(recipe, director, &section.values);
    let terminal = parts.links.first().copied().flatten();
    let time = |p: &PacketConfig| terminal.and_then(|link| link.bandwidth.time_rounded(p.packet.into()));
    let frame = Frame { end, period: None, terminals: 0, packet: packet.and_then(time).unwrap_or(0) };
    (director.build)(&setup, &frame).map_err(|p| section.report(p, diagnostics)).ok()?;
    Some(setup)
}

/// How links lose packets and what makes up for it.
fn resilience(parts: &Parts<'_>, packet: &PacketConfig, diagnostics: &mut Diagnostics) -> Option<Resilience> {
    let section = &parts.written.own(transport::ABOUT.name).filter(|s| s.section.complete)?.section;
    if let Some(change) = &parts.change {
        let message = "links that fail during a run and links that lose packets do not go together: chunks of a packet would take two paths";
        let place = parts.written.faults.map(|f| f.place("at"));
        let label = print_time(change.at);
        diagnostics.push(Diagnostic::new(place, message).label(label).help("remove `at` or [resilience]"));
    }
    if let Some(n) = parts.jobs.iter().position(|j| j.work.traffic().is_some_and(|t| t.requests())) {
        let message =
            "links that lose packets number their messages anew, so that replies are not known from requests";
        let place = parts.written.jobs[n].place("reply");
        diagnostics.push(Diagnostic::new(place, message).help("remove the job's replies or [resilience]"));
    }
    let classes = parts.fabric.as_ref()?.classes();
    Resilience::from_values(&section.values, classes, packet.packet)
        .map_err(|problems| section.report(problems, diagnostics))
        .ok()
}

/// Which packets are marked, and what sources do about it.
fn control(parts: &Parts<'_>, diagnostics: &mut Diagnostics) -> Option<CongestionControl> {
    let written = parts.written.own(congestion_control::config::ABOUT.name).filter(|s| s.section.complete)?;
    if parts.written.own(transport::ABOUT.name).is_some() {
        let message = "links that lose packets and congestion control do not go together: both queue messages in the terminals, each in its own order";
        let help = "remove [congestion_control] or [resilience]";
        diagnostics.push(Diagnostic::new(written.section.home, message).help(help));
    }
    let scheme = written.choice::<SchemeEntry>(sections::SCHEME_KEY)?;
    let links = parts.links.first()?.as_ref()?;
    let rate = links.bandwidth.bytes_per_s().round() as u64;
    let context = Context { rate };
    CongestionControl::from_values(scheme, &written.section.values, context)
        .map_err(|problems| written.section.report(problems, diagnostics))
        .ok()
}

/// What adapters do with packets that arrive.
fn adapter(parts: &Parts<'_>, packet: &PacketConfig, diagnostics: &mut Diagnostics) -> Option<Adapter> {
    let section = &parts.written.own(adapter::config::ABOUT.name).filter(|s| s.section.complete)?.section;
    let mut no = |message: &str, help: &str| {
        diagnostics.push(Diagnostic::new(section.home, message).help(help));
    };
    if parts.written.own(transport::ABOUT.name).is_some() {
        no(adapter::config::TRANSPORT, "remove [adapter] or [resilience]");
    }
    let adapter = Adapter::from_values(&section.values, packet.packet)
        .map_err(|problems| section.report(problems, diagnostics))
        .ok()?;
    let controlled = parts.written.own(congestion_control::config::ABOUT.name).is_some();
    if adapter.injection.is_some() && controlled {
        let keys = ["queues", "injection_rate", "window"];
        let place = keys.iter().find_map(|key| section.places.get(*key).copied());
        let help = "leave `queues`, `injection_rate` and `window` out, or remove [congestion_control]";
        let place = place.unwrap_or(section.home);
        diagnostics.push(Diagnostic::new(place, adapter::config::CONTROL).help(help));
    }
    Some(adapter)
}

/// Refuses fewer virtual channels than the routing needs, before and after links fail.
fn check_vcs(parts: &Parts<'_>, packet: &PacketConfig, diagnostics: &mut Diagnostics) {
    let (Some(routing), Some(chosen)) = (&parts.routing, parts.written.routing) else { return };
    let model = parts.written.model;
    let before = routing.vcs();
    let after = parts.change.as_ref().map(|c| (c.routing.vcs(), c.detour.vcs()));
    let needed = after.map_or(before, |(after, detour)| before + after + detour);
    if packet.vcs < needed {
        let name = chosen.entry.about.name;
        let mut message = format!("routing \"{name}\" needs {needed} virtual channels on this fabric");
        if let Some((after, detour)) = after {
            message += &format!(": {before} before links fail, {after} after it and {detour} for detours");
        }
        let label = format!("only {}", packet.vcs);
        let most = model.params.iter().find(|p| p.name == "vcs").map_or(u64::MAX, |p| match p.kind {
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
        diagnostics.push(Diagnostic::new(model.place("vcs"), message).label(label).help(help));
    }
}

/// Refuses counts of VCs for classes that the routing does not have.
fn check_classes(parts: &Parts<'_>, packet: &PacketConfig, diagnostics: &mut Diagnostics) {
    let (Some(routing), Some(own)) = (&parts.routing, parts.written.own(sections::ROUTER.about.name)) else {
        return;
    };
    let Some(all) = packet.pipeline.and_then(|p| p.vcs_per_class) else { return };
    let (given, after) = (all.iter().filter(|&&n| n > 0).count(), &parts.change);
    let needed = routing.vcs() + after.as_ref().map_or(0, |c| c.routing.vcs() + c.detour.vcs());
    if given != usize::from(needed) {
        let message = format!("the routing has {needed} classes of virtual channels, {given} are given");
        let help = "give a number for each of them, or leave it out";
        diagnostics.push(Diagnostic::new(own.section.place("vcs_per_class"), message).help(help));
    }
}

/// Refuses routers whose heads cannot ask for several outputs at once, where the routing needs that.
fn check_escapes(parts: &Parts<'_>, packet: &PacketConfig, diagnostics: &mut Diagnostics) {
    let (Some(routing), Some(chosen)) = (&parts.routing, parts.written.routing) else { return };
    if routing.facts().escapes.is_none() {
        return;
    }
    let place = chosen.section.place("deadlock");
    let name = chosen.entry.about.name;
    let Some(rules) = packet.pipeline.filter(|_| packet.router.entry.about().name == PIPELINED) else {
        let message = format!(
            "heads of routing \"{name}\" with escape channels ask for several outputs at once, and router \"{}\" waits for one",
            packet.router.name
        );
        let help =
            "add a section [router], and choose router \"input-queued\", \"combined\" or \"output-queued\"";
        diagnostics.push(Diagnostic::new(place, message).help(help));
        return;
    };
    let own = parts.written.own(sections::ROUTER.about.name).map(|own| &own.section);
    let mut no = |key: &str, why: &str, help: &str| {
        let place = own.map_or(place, |section| section.place(key));
        let message = format!("heads that ask for several outputs at once {why}");
        diagnostics.push(Diagnostic::new(place, message).help(help));
    };
    if rules.vc_allocator.is_none() {
        no("vc_allocator", "need an allocator of virtual channels", "choose another one");
    }
    if rules.virtual_output_queues {
        no("virtual_output_queues", "are in no queue for one output", "set it to false");
    }
    if rules.speculation != Speculation::Off {
        no("speculation", "do not know for which output to speculate", "leave it out");
    }
}

/// Refuses buffers that hold no chunk, or no packet where they must.
fn check_buffers(parts: &Parts<'_>, packet: &PacketConfig, diagnostics: &mut Diagnostics) {
    let chunk = u64::from(packet.chunk);
    let packets = packet.pipeline.map_or(0, |p| u64::from(p.flow_control.packets()));
    let whole = u64::from(packet.packet.div_ceil(packet.chunk)) * chunk;
    let (what, key, least) = match packets {
        0 => ("chunk", "chunk", chunk),
        1 => ("packet", "packet", whole),
        _ => ("packet and its bubble", "packet", packets * whole),
    };
    for ((class, section), link) in parts.written.links.iter().zip(&parts.links) {
        if let Some(link) = link
            && link.vc_buffer < least
        {
            let message =
                format!("a {what} of {} does not fit into the buffers of link.{class}", print_bytes(least));
            let label = format!("holds {}", print_bytes(link.vc_buffer));
            let help = format!("enlarge `vc_buffer`, or make `{key}` of [model] smaller");
            diagnostics.push(Diagnostic::new(section.place("vc_buffer"), message).label(label).help(help));
        }
    }
}

impl Run for Setup {
    fn watch(&self, watch: Watch<'_>) -> Result<Finished, Failure> {
        // A run that is watched under another scheduler stays as it is.
        match watch.scheduling {
            Some(scheduling) => run::watch(&Self { scheduling, ..self.clone() }, watch),
            None => run::watch(self, watch),
        }
    }

    fn validate(&self) -> Result<(), Failure> {
        run::validate(self)
    }

    fn partitions(&self, scheduling: Scheduling) -> u32 {
        partitions::partitions(self, scheduling)
    }

    fn most_ranks(&self) -> u32 {
        partitions::partitions(self, self.scheduling)
    }

    fn memory(&self) -> Prediction {
        memory::predict(self)
    }

    fn jobs(&self) -> &[JobSetup] {
        &self.jobs
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn schedule(&mut self, scheduling: Scheduling) {
        self.scheduling = scheduling;
    }

    fn reorder(&mut self, ties: u64) {
        self.ties = ties;
    }

    fn fabric(&self) -> Option<&Fabric> {
        Some(&self.fabric)
    }

    fn routing(&self) -> Option<&dyn Routing> {
        Some(self.routing.as_ref())
    }

    fn change(&self) -> Option<&Change> {
        self.change.as_ref()
    }

    fn measure(&self) -> Measure {
        self.measure
    }

    fn message_network(&self) -> Result<Box<dyn MessageNetwork>, Failure> {
        Ok(Box::new(Interfaces::new(self)?))
    }

    fn messages_take_one_rail(&self) -> bool {
        self.hybrid.is_none()
    }
}
