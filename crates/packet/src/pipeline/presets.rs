//! Named sets of values of `[router]`: switches that many people know by a name.

use base::{
    param::{Problem, Value, Values},
    rate::Bandwidth,
    registry::{About, Registered, find},
    time::Ps,
};
use model::section::{Listed, Section};

/// A value of a preset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Set {
    /// One of the words that a key takes.
    Word(&'static str),
    /// True or false.
    Flag(bool),
}

/// A switch that is known by a name: values of keys for one router.
#[derive(Clone, Copy)]
pub struct PresetEntry {
    /// Name and documentation.
    pub about: About,
    /// The router that it is for.
    pub router: &'static str,
    /// What it sets, by key.
    pub sets: &'static [(&'static str, Set)],
    /// Most bytes that a virtual channel's buffer has, if its credits count no more.
    pub largest_buffer: Option<u64>,
}

/// A link whose buffers a preset gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Rate of the link.
    pub bandwidth: Bandwidth,
    /// Time through the router before it and on the wire, and of a credit.
    pub delays: Ps,
    /// Largest packet in bytes, in whole chunks.
    pub packet: u64,
}

impl PresetEntry {
    /// Buffer of a virtual channel behind a link, in bytes: what the link carries until a credit is back, one packet that comes in and one that goes on, in whole packets.
    /// At most [`PresetEntry::largest_buffer`], but a packet.
    #[must_use]
    pub fn buffer(&self, link: Loop) -> u64 {
        debug_assert!(link.packet > 0, "packets have bytes");
        let carried = (link.bandwidth.bytes_per_s() * link.delays as f64 / 1e12).ceil() as u64;
        let wanted = carried.div_ceil(link.packet).saturating_add(2);
        let most = self.largest_buffer.map_or(u64::MAX, |most| (most / link.packet).max(1));
        wanted.min(most).saturating_mul(link.packet)
    }
}

impl Registered for PresetEntry {
    fn about(&self) -> &About {
        &self.about
    }
}

impl Listed for PresetEntry {}

/// All of them.
pub const PRESETS: &[PresetEntry] = &[
    PresetEntry {
        about: About {
            name: "infiniband-switch",
            summary: "Router `input-queued`: a generic InfiniBand switch",
            doc: "Sets, where the file says nothing else: `flow_control = \"virtual-cut-through\"`, `virtual_output_queues = true`, `vc_allocator = \"piggyback\"`, \
                  `switch_allocator = \"islip\"`, `hold_switch = true`, `ejection_vcs = \"class\"`. Packets wait at their input in a queue for each output and virtual lane, go on when \
                  the next switch has room for all of them, and cross the switch whole; on the path out to a host they keep the lanes of their class. Lanes are `vcs` of [model]; their \
                  arbitration is section [service]. Buffers of link classes without `vc_buffer` hold what the link carries in `router_delay`, its `latency` and `credit_delay`, and two packets, at most 128 KiB: credits are \
                  counted in 2048 blocks of 64 B, and more is refused. Not set, since products differ: delays, speed-up. Not modelled: credits of 64 B blocks for packets \
                  of other sizes than whole chunks.",
            source: "InfiniBand Architecture Specification, volume 1, chapters 7.6 (virtual lanes), 7.9 (credits), 18 (switches); MARS, section 2.3.1, names such a model.",
            params: &[],
        },
        router: "input-queued",
        sets: &[
            ("flow_control", Set::Word("virtual-cut-through")),
            ("virtual_output_queues", Set::Flag(true)),
            ("vc_allocator", Set::Word("piggyback")),
            ("switch_allocator", Set::Word("islip")),
            ("hold_switch", Set::Flag(true)),
            ("ejection_vcs", Set::Word("class")),
        ],
        largest_buffer: Some(2048 * 64),
    },
    PresetEntry {
        about: About {
            name: "percs-hub",
            summary: "Router `combined`: input and output buffers as MARS has them, for hubs like PERCS'",
            doc: "Sets, where the file says nothing else: `flow_control = \"virtual-cut-through\"`, `virtual_output_queues = true`, `vc_allocator = \"piggyback\"`, \
                  `switch_allocator = \"islip\"`. A combined input- and output-buffered switch with a queue for each output and virtual circuit at inputs. The switch is twice as fast as its links \
                  (`speedup` of `combined`). That is what MARS says of its switch module. The numbers of a hub's links are of the fabric: 7 to its drawer of 24 GB/s, 24 to its supernode of \
                  5 GB/s, 16 to others of 10 GB/s, summed over both directions. Buffer sizes and allocators were not published: buffers of link classes without `vc_buffer` hold what \
                  the link carries in `router_delay`, its `latency` and `credit_delay`, and two packets, so each level has its own. `output_buffer` is yours to choose. Not modelled: the hub's own units for collectives and memory.",
            source: "Denzel et al.: A Framework for End-to-end Simulation of High-performance Computing Systems, SIMUTools 2008, section 2.3.1; Arimilli et al.: The PERCS High-Performance Interconnect, \
                     Hot Interconnects 2010.",
            params: &[],
        },
        router: "combined",
        sets: &[
            ("flow_control", Set::Word("virtual-cut-through")),
            ("virtual_output_queues", Set::Flag(true)),
            ("vc_allocator", Set::Word("piggyback")),
            ("switch_allocator", Set::Word("islip")),
        ],
        largest_buffer: None,
    },
];

/// What `preset` may be.
pub const CHOICES: [&str; PRESETS.len() + 1] = {
    let mut names = ["none"; PRESETS.len() + 1];
    let mut n = 0;
    while n < PRESETS.len() {
        names[n + 1] = PRESETS[n].about.name;
        n += 1;
    }
    names
};

/// Values of `[router]` with those of its preset where the file has none.
///
/// # Errors
/// A preset of another router.
pub fn applied(section: &Section, router: &str) -> Result<Values, Vec<Problem>> {
    let mut values = section.values.clone();
    let Some(preset) = find(PRESETS, &values.text("preset")) else { return Ok(values) };
    if preset.router != router {
        let message = format!("preset \"{}\" is for router \"{}\"", preset.about.name, preset.router);
        let help = format!("set `router` of [model] to \"{}\"", preset.router);
        return Err(vec![Problem::new("preset", message).help(help)]);
    }
    for &(key, set) in preset.sets.iter().filter(|(key, _)| !section.places.contains_key(*key)) {
        let value = match set {
            Set::Word(word) => Value::Text(word.to_owned()),
            Set::Flag(flag) => Value::Bool(flag),
        };
        values.0.insert(key.to_owned(), value);
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{ABOUT, Context, FlowControl, Pipeline};
    use base::diag::Place;

    fn section(preset: &str, given: &[(&str, Value)]) -> Section {
        let all = |key: &str| match key {
            "preset" => Some(Value::Text(preset.to_owned())),
            _ => given.iter().find(|(k, _)| *k == key).map(|(_, v)| v.clone()),
        };
        let home = Place { source: 0, start: 0, end: 0 };
        Section {
            params: ABOUT.params.into(),
            values: Values::complete(ABOUT.params, all),
            places: given.iter().map(|(k, _)| ((*k).to_owned(), home)).collect(),
            home,
            complete: true,
        }
    }

    /// 24 GB/s, 1 us there and back: 24,000 bytes are under way.
    #[test]
    fn buffers_hold_what_a_link_carries() {
        let rate = Bandwidth::new(24_000_000_000, 1).expect("a rate");
        let link = |delays, packet| Loop { bandwidth: rate, delays, packet };
        let [infiniband, percs] = PRESETS else { panic!("two presets") };
        for preset in [infiniband, percs] {
            assert_eq!(preset.buffer(link(1_000_000, 2048)), (12 + 2) * 2048);
            assert_eq!(preset.buffer(link(1_000_000, 24_000)), 3 * 24_000);
            assert_eq!(preset.buffer(link(2, 2048)), 3 * 2048);
        }
        assert_eq!(infiniband.buffer(link(9_000_000, 4096)), 128 << 10, "credits count no more");
        assert_eq!(percs.buffer(link(9_000_000, 4096)), (53 + 2) * 4096);
        assert_eq!(infiniband.buffer(link(2, 1 << 20)), 1 << 20);
    }

    /// Each makes a router, its keys are declared with such values, its page tells each of them, and what the file says goes first.
    #[test]
    fn presets_set_what_they_say() {
        let context = Context { chunks: 16, chunk: 64, vcs: 4 };
        for preset in PRESETS {
            let name = preset.about.name;
            let values = applied(&section(name, &[]), preset.router).expect("its own router");
            let rules = Pipeline::from_values(preset.router, &values, context).expect(name);
            assert_eq!(rules.flow_control, FlowControl::CutThrough, "{name}");
            for (key, set) in preset.sets {
                let said = match set {
                    Set::Word(word) => format!("`{key} = \"{word}\"`"),
                    Set::Flag(flag) => format!("`{key} = {flag}`"),
                };
                assert!(preset.about.doc.contains(&said), "{name}: {said}");
                assert!(ABOUT.params.iter().any(|p| p.name == *key), "{name}: {key}");
            }
            let own = [("virtual_output_queues", Value::Bool(false))];
            let values = applied(&section(name, &own), preset.router).expect("its own router");
            assert!(!values.bool("virtual_output_queues"), "{name}");
            assert_eq!(applied(&section(name, &[]), "output-queued").unwrap_err()[0].key, "preset");
        }
        let none = section("none", &[]);
        assert_eq!(applied(&none, "output-queued"), Ok(none.values.clone()));
    }
}
