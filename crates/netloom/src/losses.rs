//! `[resilience]` and `[energy]`: from the sections to what models take.

use crate::experiment::{reader::Chosen, sections::Experiment};
use crate::models::{ModelEntry, ModelKind};
use base::{
    diag::{Diagnostic, Diagnostics},
    param::{Problem, class_values},
    units::print_time,
};
use fabric::graph::Fabric;
use loggops::{DelayConfig, resilient::MOST_CLASSES};
use model::{energy::Energy, setup::Change};
use packet::{
    PacketConfig,
    transport::config::{MOST, Resilience},
};

/// How links lose packets and what makes up for it.
pub fn resilience(
    experiment: &Experiment,
    packet: &PacketConfig,
    fabric: Option<&Fabric>,
    change: Option<&Change>,
    diagnostics: &mut Diagnostics,
) -> Option<Resilience> {
    let section = experiment.resilience.as_ref().filter(|s| s.complete)?;
    if let Some(change) = change {
        let message = "links that fail during a run and links that lose packets do not go together: chunks of a packet would take two ways";
        let place = experiment.faults.as_ref().map(|f| f.place("at"));
        let label = print_time(change.at);
        diagnostics.push(Diagnostic::new(place, message).label(label).help("remove `at` or [resilience]"));
    }
    let classes = fabric?.classes();
    Resilience::from_values(&section.values, classes, packet.packet)
        .map_err(|problems| section.tell(problems, diagnostics))
        .ok()
}

/// What parts of the network take.
pub fn energy(
    experiment: &Experiment,
    fabric: Option<&Fabric>,
    diagnostics: &mut Diagnostics,
) -> Option<Energy> {
    let section = experiment.energy.as_ref().filter(|s| s.complete)?;
    Energy::from_values(&section.values, fabric?.classes())
        .map_err(|problems| section.tell(problems, diagnostics))
        .ok()
}

/// The same for model `delay`, which knows expected bits of resilient protocols and nothing of single links.
pub fn delay_energy(
    experiment: &Experiment,
    chosen: &Chosen<ModelEntry>,
    fabric: Option<&Fabric>,
    diagnostics: &mut Diagnostics,
) -> Option<Energy> {
    let section = experiment.energy.as_ref()?;
    if chosen.section.values.text("cost") != "resilient" {
        let message = "model \"delay\" knows the bits on links with `cost = \"resilient\"` alone";
        diagnostics.push(Diagnostic::new(section.home, message).help("use that, or model \"packet\""));
        return None;
    }
    if !chosen.section.values.texts("class_loss").is_empty() {
        let message = "expected bits are counted by hops, not by classes: [energy] and `class_loss` do not go together here";
        diagnostics
            .push(Diagnostic::new(chosen.section.place("class_loss"), message).help("use model \"packet\""));
    }
    for key in ["class_link_bit", "class_link_power", "sleep_after"] {
        if section.places.contains_key(key) {
            let message =
                format!("`{key}` needs to know what each link does, which model \"delay\" does not");
            diagnostics.push(Diagnostic::new(section.place(key), message).help("use model \"packet\""));
        }
    }
    let energy = energy(experiment, fabric, diagnostics)?;
    // All links between routers are one class here.
    Some(Energy { links: energy.links.last().copied().into_iter().collect(), ..energy })
}

/// The same for model `flow`, which knows what each link carried, but not when.
pub fn flow_energy(
    experiment: &Experiment,
    platform: bool,
    fabric: Option<&Fabric>,
    diagnostics: &mut Diagnostics,
) -> Option<Energy> {
    let section = experiment.energy.as_ref()?;
    if platform {
        let message = "a platform tells links, not routers and interfaces: it takes no [energy]";
        diagnostics.push(Diagnostic::new(section.home, message).help("use a topology"));
        return None;
    }
    let key = "sleep_after";
    if section.places.contains_key(key) {
        let message =
            format!("`{key}` needs to know when each link is idle, which model \"flow\" does not tell");
        diagnostics.push(Diagnostic::new(section.place(key), message).help("use model \"packet\""));
    }
    energy(experiment, fabric, diagnostics)
}

/// Losses by link class of resilient messages in model `delay`.
pub fn class_loss(
    config: &mut DelayConfig,
    chosen: &Chosen<ModelEntry>,
    fabric: Option<&Fabric>,
    diagnostics: &mut Diagnostics,
) {
    const KEY: &str = "class_loss";
    let texts = chosen.section.values.texts(KEY);
    let (Some(resilient), Some(fabric), false) = (&mut config.resilient, fabric, texts.is_empty()) else {
        return;
    };
    let classes = fabric.classes();
    let read = class_values(KEY, &texts, classes, MOST).and_then(|all| {
        if classes.len() > MOST_CLASSES {
            return Err(Problem::new(KEY, format!("losses by class are for {MOST_CLASSES} classes at most")));
        }
        if all.iter().any(|(class, _)| *class == 0) {
            let message =
                format!("links of class `{}` are no part of a message's way in this model", classes[0]);
            return Err(Problem::new(KEY, message).help("use model \"packet\" with [resilience]"));
        }
        Ok(all)
    });
    match read {
        Ok(all) => {
            let mut losses = [resilient.parameters.loss; MOST_CLASSES];
            all.into_iter().for_each(|(class, loss)| losses[class] = loss);
            resilient.class_loss = Some(losses);
        }
        Err(problem) => chosen.section.tell(vec![problem], diagnostics),
    }
}

/// Refuses losses in models that know none, and those of [resilience] beside a hybrid.
pub fn only_packet(experiment: &Experiment, model: &ModelEntry, diagnostics: &mut Diagnostics) {
    if model.kind == ModelKind::Packet {
        return;
    }
    if let (Some(section), false) =
        (&experiment.energy, matches!(model.kind, ModelKind::Delay | ModelKind::Flow))
    {
        let why = match model.kind {
            ModelKind::Hybrid => "its links carry nothing while packets bypass them",
            _ => "it does not tell what each link does",
        };
        let message = format!("model \"{}\" takes no [energy]: {why}", model.about.name);
        diagnostics.push(Diagnostic::new(section.home, message).help("use model \"packet\""));
    }
    let Some(section) = &experiment.resilience else { return };
    let why = match model.kind {
        ModelKind::Hybrid => "predictors know only what arrived",
        _ => "its links lose nothing",
    };
    let message = format!("model \"{}\" takes no [resilience]: {why}", model.about.name);
    let help = match model.kind {
        ModelKind::Delay => {
            "use model \"packet\", or `cost = \"resilient\"`, which has `loss` among its keys"
        }
        _ => "use model \"packet\"",
    };
    diagnostics.push(Diagnostic::new(section.home, message).help(help));
}
