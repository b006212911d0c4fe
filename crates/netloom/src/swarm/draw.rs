//! Random small experiments: the text of a file, drawn from the registries. What a new entry adds is drawn without a change here, as
//! long as its defaults make a run; drafts that are refused are drawn anew by the caller.

use crate::registry::Registry;
use base::{
    registry::About,
    rng::{Purpose, Stream},
};
use fabric::registry::{Constant, Topology};
use packet::hybrid::Treatment;
use std::fmt::Write;
use workload::registry::Takes;

/// Draws choices, always the same for one seed, experiment and attempt.
pub struct Dice(Stream);

impl Dice {
    /// The dice of one experiment of a swarm, `attempt` counting refused ones.
    #[must_use]
    pub fn new(seed: u64, number: u64, attempt: u64) -> Self {
        Self(Stream::new(seed, Purpose::Test, number << 16 | attempt))
    }

    /// A number in `0..n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// One of these.
    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.0.below(of.len() as u64) as usize]
    }

    /// True once in `n`.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.0.below(n) == 0
    }
}

/// The text of a random experiment.
#[must_use]
pub fn experiment(registry: &Registry, dice: &mut Dice) -> String {
    let mut text = String::new();
    let program = dice.once_in(3);
    let delay = program && dice.once_in(3);
    let seed = dice.below(1000);
    let _ = write!(text, "[experiment]\nname = \"swarm\"\nseed = {seed}\n");
    if program || dice.once_in(4) {
        text += "until = \"workload-done\"\nlimit = \"80 us\"\n";
    } else {
        let _ = writeln!(text, "duration = \"{} us\"", 5 + dice.below(40));
    }
    if dice.once_in(3) {
        let _ = writeln!(text, "warmup = \"{} us\"", 1 + dice.below(4));
    }
    network(&mut text, registry, dice);
    jobs(&mut text, program, registry, dice);
    if delay {
        delay_model(&mut text, dice)
    } else {
        packet_model(&mut text, registry, dice)
    }
    if !delay || dice.once_in(2) {
        text +=
            "\n[output]\nwindow = \"3 us\"\npackets = true\nmessages = true\npairs = true\nper_port = true\n";
    }
    text
}

fn network(text: &mut String, registry: &Registry, dice: &mut Dice) {
    // Graphs from files have no file here.
    let known: Vec<&Topology> = registry.topologies.iter().copied().filter(|t| !t.small.is_empty()).collect();
    let topology = *dice.one(&known);
    let _ = write!(text, "\n[fabric]\ntopology = \"{}\"\n", topology.about.name);
    for (key, constant) in *dice.one(topology.small) {
        let _ = writeln!(text, "{key} = {}", written(constant));
    }
    let vc_buffer = *dice.one(&[256, 512, 1024, 8192, 65536]);
    for class in topology.classes {
        let rate = *dice.one(&["2 GiB/s", "12.5 GB/s", "100 Gbit/s", "1.23456789 GB/s", "5.25 GiB/s"]);
        let latency = 1 + dice.below(60_000);
        let most = *dice.one(&[50, 3_000, 80_000]);
        let credit = 2 + dice.below(most);
        let _ = writeln!(
            text,
            "link.{class} = {{ bandwidth = \"{rate}\", latency = \"{latency} ps\", credit_delay = \"{credit} ps\", vc_buffer = \"{vc_buffer} B\" }}"
        );
    }
    if dice.once_in(8) {
        let _ = write!(text, "\n[faults]\nlink_fraction = 0.0{}\n", 1 + dice.below(9));
        if dice.once_in(2) {
            let _ = writeln!(text, "at = \"{} us\"", 1 + dice.below(4));
        }
    }
    let routing = dice.one(&registry.routings).about.name;
    let _ = write!(text, "\n[routing]\nalgorithm = \"{routing}\"\n");
}

fn written(constant: &Constant) -> String {
    match constant {
        Constant::Int(n) => n.to_string(),
        Constant::Ints(list) => format!("{list:?}"),
        Constant::Bool(yes) => yes.to_string(),
        Constant::Text(text) => format!("{text:?}"),
    }
}

fn jobs(text: &mut String, program: bool, registry: &Registry, dice: &mut Dice) {
    let count = if dice.once_in(4) { 2 } else { 1 };
    let entries: Vec<_> = registry
        .workloads
        .iter()
        .filter(|w| (w.takes == Takes::Program) == program && w.about.name != "trace")
        .collect();
    for _ in 0..count {
        let entry = dice.one(&entries);
        let _ = write!(text, "\n[[job]]\nworkload = \"{}\"\n", entry.about.name);
        if program {
            let _ = writeln!(text, "ranks = {}", dice.one(&[2, 3, 4, 6, 8, 9, 16]));
            let _ = writeln!(text, "compute = {}", dice.one(&["0.0", "0.001", "1.0"]));
            let _ = writeln!(text, "library = \"{}\"", dice.one(&["simple", "openmpi", "mpich"]));
        } else {
            if count == 2 {
                let _ = writeln!(text, "ranks = {}", 2 + dice.below(6));
            }
            let _ = writeln!(text, "message = \"{} B\"", dice.one(&[1, 64, 100, 1024, 3000, 20_000]));
        }
        if entry.takes.arrivals() {
            let _ = writeln!(text, "load = {}", dice.one(&["0.1", "0.45", "0.9", "1.0"]));
            let _ = writeln!(text, "arrival = \"{}\"", dice.one(&registry.arrivals).about.name);
        }
        if text.contains("workload-done") && !program {
            let key = entry.about.params.iter().map(|p| p.name).find(|n| ["count", "bursts"].contains(n));
            let _ = writeln!(text, "{} = {}", key.unwrap_or("count"), 1 + dice.below(20));
        }
        if dice.once_in(2) {
            let _ = writeln!(text, "placement = \"{}\"", dice.one(&registry.placements).about.name);
        }
        if dice.once_in(4) {
            let _ = writeln!(text, "start = \"{} ns\"", dice.below(5000));
        }
    }
}

fn packet_model(text: &mut String, registry: &Registry, dice: &mut Dice) {
    let hybrid = dice.once_in(3);
    let kind = if hybrid { "hybrid" } else { "packet" };
    let chunk = *dice.one(&[32, 64, 256]);
    // The commonest twice as often as others.
    let routers: Vec<&str> = ["window"].into_iter().chain(names(&abouts(registry, "routers"))).collect();
    let router = *dice.one(&routers);
    let _ = write!(
        text,
        "\n[model]\nkind = \"{kind}\"\nrouter = \"{}\"\npacket = \"{} B\"\nchunk = \"{chunk} B\"\nvcs = {}\nrouter_delay = \"{} ps\"\nroute_per = \"{}\"\n",
        router,
        chunk * dice.one(&[1, 3, 8, 16]),
        dice.one(&[1, 2, 4, 6, 8, 12, 16]),
        dice.below(120_000),
        dice.one(&["chunk", "packet"]),
    );
    if dice.once_in(3) {
        let _ = writeln!(text, "eager = \"{} B\"", dice.one(&[0, 100, 5000]));
    }
    if hybrid {
        hybrid_section(text, registry, dice);
    }
    if router != "window" && !dice.once_in(3) {
        router_section(text, registry, dice);
    }
}

/// Entries of a list that belongs to a model.
fn abouts(registry: &Registry, plural: &str) -> Vec<&'static About> {
    let list = registry.lists().into_iter().find(|list| list.plural == plural);
    let entries = list.map_or_else(Vec::new, |list| registry.listed(list));
    entries.into_iter().map(|e| e.about()).collect()
}

fn names(abouts: &[&'static About]) -> impl Iterator<Item = &'static str> {
    abouts.iter().map(|about| about.name)
}

/// What is inside routers: each key is said once in a few times; combinations that make no sense are refused and drawn anew.
fn router_section(text: &mut String, registry: &Registry, dice: &mut Dice) {
    *text += "\n[router]\n";
    let mut say = |key: &str, values: &[&str], dice: &mut Dice, once_in: u64| {
        if dice.once_in(once_in) {
            let _ = writeln!(text, "{key} = {}", dice.one(values));
        }
    };
    let named = |plural: &str| -> Vec<String> {
        names(&abouts(registry, plural)).map(|name| format!("\"{name}\"")).collect()
    };
    let (allocators, arbiters) = (named("allocators"), named("arbiters"));
    let allocators: Vec<&str> = allocators.iter().map(String::as_str).collect();
    let arbiters: Vec<&str> = arbiters.iter().map(String::as_str).collect();
    let on_vcs: Vec<&str> = allocators.iter().copied().chain(["\"piggyback\""]).collect();
    say("vc_allocator", &on_vcs, dice, 2);
    say("switch_allocator", &allocators, dice, 2);
    say("iterations", &["1", "2", "4"], dice, 3);
    say("arbiter", &arbiters, dice, 2);
    say("speedup", &["1.0", "1.5", "2.0"], dice, 3);
    say("input_speedup", &["1.0", "1.25", "2.0"], dice, 5);
    say("output_speedup", &["1.0", "1.5", "3.0"], dice, 5);
    say("routing_cycles", &["1", "2"], dice, 5);
    say("vc_allocation_cycles", &["2", "3"], dice, 6);
    say("switch_allocation_cycles", &["2", "3"], dice, 6);
    say("speculation", &["\"equal\"", "\"yielding\""], dice, 4);
    say("hold_switch", &["true"], dice, 4);
    say("wait_for_tail_credit", &["true"], dice, 4);
    say("flow_control", &["\"virtual-cut-through\""], dice, 2);
    say("virtual_output_queues", &["true"], dice, 3);
    say("ejection_vcs", &["\"class\""], dice, 4);
    say("output_buffer", &["\"0 B\"", "\"1 KiB\"", "\"8 KiB\""], dice, 3);
    say("input_buffers", &["\"shared\""], dice, 4);
    say("output_buffers", &["\"shared\""], dice, 4);
}

/// Switches at drawn times, or by itself.
fn hybrid_section(text: &mut String, registry: &Registry, dice: &mut Dice) {
    // Predictors that need a file have none here.
    let free: Vec<&str> = abouts(registry, "predictors")
        .into_iter()
        .filter(|about| about.params.iter().all(|q| q.default.is_some()))
        .map(|about| about.name)
        .collect();
    let director = dice.one(&abouts(registry, "directors")).name;
    let _ = write!(
        text,
        "\n[hybrid]\npredictor = \"{}\"\ndirector = \"{director}\"\ntreatment = \"{}\"\nlevel = \"{}\"\nin_phase = {}\n",
        dice.one(&free),
        dice.one(Treatment::NAMES),
        dice.one(&["packet", "packet", "message"]),
        dice.once_in(2),
    );
    let _ = writeln!(text, "window = \"{} ns\"", 16 + dice.below(4000));
    let _ = writeln!(text, "reheat = \"{} ns\"", 1 + dice.below(1500));
    if director == "times" {
        let mut at = 0;
        let mut times = Vec::new();
        for _ in 0..1 + dice.below(6) {
            at += 1 + dice.below(4_000_000);
            times.push(format!("\"{at} ps\""));
        }
        let _ = writeln!(text, "switch = [{}]", times.join(", "));
    } else {
        let _ = writeln!(text, "max_stay = \"{} ns\"", 2000 + dice.below(8000));
        let _ = writeln!(text, "min_stay = \"{} ns\"", dice.below(2000));
    }
}

fn delay_model(text: &mut String, dice: &mut Dice) {
    let _ = write!(text, "\n[model]\nkind = \"delay\"\n");
    let _ = writeln!(text, "ties = \"{}\"", dice.one(&["queue", "causes"]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_dice_draw_equal_experiments() {
        let draw = |number| experiment(&Registry::standard(), &mut Dice::new(7, number, 0));
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }
}
