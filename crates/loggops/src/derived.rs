//! Costs that follow from the network, where the file does not set them: one machine for every model.
//!
//! L is that of a shortest path (see [`routes`](super::routes)), G the pace of its slowest link. The host is that of the packet model: `overhead` is the
//! same key, and its interfaces take message after message without a gap. What the file sets stands, and is reported if the network contradicts it.

use super::{
    config::{Cost, DelayConfig},
    routed,
    routes::{Given, Lengths, PathDelays, Pieces, Spread, Spreads, survey},
};
use base::{
    index::TerminalId,
    param::{Value, Values},
    time::Ps,
    units::{print_bytes, print_time},
};
use fabric::graph::Fabric;
use model::{Parts, contract::Parameter, credits, section::Section, setup::LinkParams};
use std::sync::Arc;

/// Time in a router, as of model `packet`.
pub const ROUTER_DELAY: &str = "100 ns";
/// Bytes of a chunk, as of model `packet`.
pub const CHUNK: &str = "64 B";

/// What the network gave.
#[derive(Debug)]
pub struct Derived {
    /// Delays by path.
    pub delays: Arc<PathDelays>,
    /// The latency follows from the paths, and so grows with the size of a message up to a chunk.
    latency: bool,
}

impl Derived {
    /// Larger messages are longer under way: a smaller one could overtake.
    #[must_use]
    pub fn by_size(&self) -> bool {
        self.latency
    }
}

/// Parameters and where they are from: all of LogGOPS costs and pure delays, none of resilient protocols.
pub struct Costs {
    /// What the network gave, if it gave anything.
    pub derived: Option<Derived>,
    /// All parameters, as used.
    pub parameters: Vec<Parameter>,
    /// Flags of the verdict, and their lines: links that wait for credits, if the network gives the time of a byte, and a routing whose paths are others.
    pub flags: Vec<(&'static str, String)>,
}

impl Costs {
    /// Parameters that the network has no part in.
    fn of_the_file(parameters: Vec<Parameter>) -> Self {
        Self { derived: None, parameters, flags: Vec::new() }
    }
}

/// Fills in what the file does not set and the network gives.
#[must_use]
pub fn costs(config: &mut DelayConfig, parts: &Parts<'_>) -> Costs {
    let section = parts.written.model;
    if config.resilient.is_some() {
        return Costs::of_the_file(Vec::new());
    }
    let keys = Keys { section, config: config.clone() };
    let links = parts.sound_links().filter(|l| !l.is_empty());
    let (Some(fabric), Some(links)) = (&parts.fabric, links) else {
        let from = "default: no [fabric] with links";
        return Costs::of_the_file(keys.used().iter().map(|key| keys.written(key, from)).collect());
    };
    if links.len() != fabric.classes().len() {
        let from = "default: [fabric] does not give all its links";
        return Costs::of_the_file(keys.used().iter().map(|key| keys.written(key, from)).collect());
    }
    // A `hop_latency` of 0 is what resolved files have for one that was left out.
    let latency = !keys.has("latency") && config.hop_latency == 0;
    let per_byte = if config.cost == Cost::Pure { "byte_time" } else { "byte_gap" };
    host(config, &keys);
    let pieces = pieces(&section.values, config.eager);
    let terminal = links[0].bandwidth.time(1 << 20).map_or(0, |t| t.whole >> 20);
    // Pure delays with a latency of the file are the file's altogether.
    let byte = keys.has(per_byte) || (config.cost == Cost::Pure && !latency);
    let given = Given {
        cost: config.cost,
        latency: (!latency).then_some((config.latency, config.hop_latency)),
        byte: byte.then_some(if config.cost == Cost::Pure { config.byte_time } else { config.byte_gap }),
        interface: terminal,
    };
    let derived = latency || !byte;
    let delays = derived.then(|| PathDelays::new(fabric, &links, pieces, given));
    let mut places: Vec<TerminalId> = parts.jobs.iter().flat_map(|j| j.placement.iter().copied()).collect();
    if places.is_empty() {
        places = TerminalId::first(fabric.nodes()).collect();
    }
    places.sort_unstable();
    places.dedup();
    let spreads = match &delays {
        Some(delays) => delays.spreads(&places),
        None => survey(fabric, &links, pieces, given, &places),
    };
    if latency {
        config.latency = spreads.map_or(1, |s| s.latency.mean).max(1);
    }
    match (byte, config.cost) {
        (true, _) => {}
        (false, Cost::Pure) => config.byte_time = terminal.max(1),
        (false, Cost::LogGops) => config.byte_gap = terminal,
    }
    let by_pair = delays.as_ref().is_none_or(PathDelays::by_pair);
    let found = Found { spreads, by_pair, latency, byte, per_byte };
    let parameters = reported(&keys, config, &found);
    let mut flags = Vec::new();
    if let Some(routing) = parts.routing.as_deref().filter(|_| latency || config.hop_latency > 0) {
        flags.extend(routed::flags(fabric, routing, &mut Lengths::new(&links, pieces), &places));
    }
    if let Some(line) = (!byte).then(|| credits(fabric, &links, pieces)).flatten() {
        flags.push((credits::FLAG, line));
    }
    let derived = delays.map(|delays| Derived { delays: Arc::new(delays), latency });
    Costs { derived, parameters, flags }
}

/// What is counted of links that wait for credits.
fn credits(fabric: &Fabric, links: &[LinkParams], pieces: Pieces) -> Option<String> {
    let counted = "each message waits for the credits of its own bytes, and not for those of other messages";
    credits::line(fabric, links, pieces.router_delay, pieces.chunk, counted)
}

/// The host of the packet model: its processor's time, no gap, its threshold.
fn host(config: &mut DelayConfig, keys: &Keys<'_>) {
    if config.cost == Cost::Pure {
        return;
    }
    if !keys.has("overhead") {
        config.overhead = quantity(ranks::params::OVERHEAD.default_value());
    }
    if !keys.has("gap") {
        config.gap = 0;
    }
    if !keys.has("eager") && config.eager < u64::MAX {
        config.eager = quantity(ranks::params::EAGER.default_value());
    }
}

/// What packets meet, as the file says or as the packet model has it.
fn pieces(values: &Values, eager: u64) -> Pieces {
    let or = |key: &str, default: Option<Value>| quantity(values.0.get(key).cloned().or(default));
    let time = |text: &str| base::units::parse_time(text).ok().map(Value::Time);
    let bytes = |text: &str| base::units::parse_bytes(text).ok().map(Value::Int);
    Pieces {
        router_delay: or("router_delay", time(ROUTER_DELAY)),
        chunk: or("chunk", bytes(CHUNK)).max(1),
        control: or("control", ranks::params::CONTROL.default_value()),
        eager,
    }
}

fn quantity(value: Option<Value>) -> u64 {
    match value {
        Some(Value::Time(n) | Value::Int(n)) => n,
        _ => 0,
    }
}

/// What the paths say.
struct Found {
    /// None if there is one terminal.
    spreads: Option<Spreads>,
    by_pair: bool,
    /// The latency is theirs.
    latency: bool,
    /// The file has the time of a byte.
    byte: bool,
    per_byte: &'static str,
}

/// All parameters, with what the network says against those of the file.
fn reported(keys: &Keys<'_>, config: &DelayConfig, found: &Found) -> Vec<Parameter> {
    let after = Keys { section: keys.section, config: config.clone() };
    let mut all = Vec::new();
    for key in keys.used() {
        let mut parameter = match key {
            "latency" if found.latency => from_paths(key, found),
            _ if key == found.per_byte && !found.byte => from_paths(key, found),
            "overhead" | "eager" if !keys.has(key) => {
                let from = "as model \"packet\" takes it where the file does not say";
                Parameter { derived: true, ..after.written(key, from) }
            }
            "gap" if !keys.has(key) => {
                let from = "interfaces of model \"packet\" have no gap between messages";
                Parameter { derived: true, ..after.written(key, from) }
            }
            _ => after.written(key, "default"),
        };
        parameter.warning = found.spreads.and_then(|s| contradiction(key, config, found, &s));
        all.push(parameter);
    }
    all
}

/// A parameter that the paths give.
fn from_paths(key: &'static str, found: &Found) -> Parameter {
    let times = |s: Spread, shift: u32| {
        [s.least, s.mean, s.most].map(|t| print_time((t + (1 << shift >> 1)) >> shift))
    };
    let values = found.spreads.map_or_else(Default::default, |Spreads { latency, byte, .. }| {
        if key == "latency" { times(latency, 0) } else { times(byte, 20) }
    });
    let what = if key == "latency" { "shortest path of each pair" } else { "slowest link on the path" };
    let whose = if found.by_pair { "" } else { "; too many routers, so the mean is taken for all pairs" };
    Parameter { key, values, from: format!("[fabric]: {what}{whose}"), derived: true, warning: None }
}

/// Why a parameter of the file cannot be that of the network; more than a quarter away is not reported: it may be rounding.
fn contradiction(
    key: &str,
    config: &DelayConfig,
    found: &Found,
    Spreads { latency, given, byte }: &Spreads,
) -> Option<String> {
    let far = |given: &Spread, own: &Spread| {
        let (least, most) = (u128::from(given.least) * 4, u128::from(given.most) * 4);
        most < u128::from(own.least) * 3 || least > u128::from(own.most) * 5
    };
    let span = |s: &Spread, print: &dyn Fn(Ps) -> String| {
        let (least, most) = (print(s.least), print(s.most));
        if least == most { least } else { format!("{least} to {most}") }
    };
    if key == "latency" && !found.latency && far(given, latency) {
        let keys = if config.hop_latency == 0 { "`latency` is" } else { "`latency` and `hop_latency` give" };
        let [given, own] = [given, latency].map(|s| span(s, &print_time));
        return Some(format!("{keys} {given}, and paths of [fabric] take {own}"));
    }
    if key == found.per_byte && found.byte {
        let given = if config.cost == Cost::Pure { config.byte_time } else { config.byte_gap };
        let each = Spread { least: given << 20, mean: given << 20, most: given << 20 };
        if far(&each, byte) {
            let own = span(byte, &|t| print_time((t + (1 << 19)) >> 20));
            let given = print_time(given);
            return Some(format!("`{key}` is {given}, and links of [fabric] take {own} for a byte"));
        }
    }
    None
}

/// Parameters as the file has them.
struct Keys<'a> {
    section: &'a Section,
    config: DelayConfig,
}

impl Keys<'_> {
    fn has(&self, key: &str) -> bool {
        self.section.places.contains_key(key)
    }

    /// Keys that have an effect with these costs.
    fn used(&self) -> Vec<&'static str> {
        if self.config.cost == Cost::Pure {
            return vec!["latency", "hop_latency", "byte_time"];
        }
        let mut all = vec!["latency", "hop_latency", "overhead", "gap", "byte_gap"];
        if self.config.eager < u64::MAX {
            all.extend(["byte_overhead", "eager"]);
        }
        all
    }

    /// A parameter of the file, or of its declaration: then `from` says why.
    fn written(&self, key: &'static str, from: &str) -> Parameter {
        let c = &self.config;
        let value = match key {
            "latency" => print_time(c.latency),
            "hop_latency" => print_time(c.hop_latency),
            "byte_time" => print_time(c.byte_time),
            "overhead" => print_time(c.overhead),
            "byte_overhead" => print_time(c.byte_overhead),
            "gap" => print_time(c.gap),
            "byte_gap" => print_time(c.byte_gap),
            _ => print_bytes(c.eager),
        };
        let from = if self.has(key) { "file" } else { from };
        let values = [value.clone(), value.clone(), value];
        Parameter { key, values, from: from.to_owned(), derived: false, warning: None }
    }
}
