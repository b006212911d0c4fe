//! Energy of a network over a run: `[energy]`.
//!
//! The model. A router takes a power all the time, and so does the interface of each terminal. A directed link takes a power while it is awake
//! and, if links may sleep, a share of it while it is asleep. Each bit on a link takes an energy more, whatever comes of it: packets
//! that are lost, sent again, redundant or acknowledgements count like all others. A link sleeps once it has been idle for a stated
//! time, until its next packet, and if asked for from the start of the run on, so that links which a placement leaves idle sleep all of it. Each
//! waking takes a time at full power. Either packets wait for it, or it is accounting only. What it takes to fall asleep is not modelled, nor
//! that two directions of a cable may sleep together only.
//!
//! Model `packet` knows what every link did: bits are busy time times bandwidth, so a last chunk that is not full counts as full where it takes a full one's time.
//! Model `delay` with `cost = "resilient"` has expected bits: packets and acknowledgements times the links that they cross on average
//! before they are lost. Its links are all awake.

use crate::section::{Refusal, SectionEntry};
use base::{
    param::{Kind, Param, Problem, Values, class_values},
    registry::About,
    time::{Ps, S},
};

/// Energy of links of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkEnergy {
    /// pJ per bit.
    pub bit_pj: f64,
    /// Watts of an awake directed link.
    pub power_w: f64,
}

/// Parameters of `[energy]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Energy {
    /// By link class, the terminals' first.
    pub links: Vec<LinkEnergy>,
    /// Watts of a router.
    pub router_w: f64,
    /// Watts of a terminal's interface.
    pub nic_w: f64,
    /// Idle time after which a link sleeps; 0 for never.
    pub sleep_after: Ps,
    /// Power of a sleeping link as a share of an awake one's.
    pub sleep_share: f64,
    /// Time at full power that each waking takes.
    pub wake_time: Ps,
    /// Links sleep from the start of the run to their first packet.
    pub start_asleep: bool,
    /// Packets wait for links that wake: then wakings are a part of the run's time.
    pub packets_wait: bool,
}

/// When links sleep, for models whose packets may wait for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// Idle time after which a link sleeps; the end of time for never.
    pub after: Ps,
    /// It also sleeps from the start of the run to its first packet.
    pub from_start: bool,
    /// How long a packet waits for a link that wakes.
    pub wait: Ps,
}

/// Longest waking that packets can wait for.
const MAX_WAIT: Ps = 1_000 * S;

const WATTS: Kind = Kind::Real { min: 0.0, max: 1e6 };
const PER_BIT: Kind = Kind::Real { min: 0.0, max: 1e9 };

/// Documentation and keys of the section.
pub const ABOUT: About = About {
    name: "energy",
    summary: "what routers, interfaces and links take",
    doc: "With this section the summary has a block `energy` and a table by link class. Routers and terminals' interfaces take their powers all the time; a \
          directed link takes `link_power` while it is awake, and each bit on it `link_bit`, whether its packet arrives or is lost, is new or sent again. With \
          `sleep_after` a link that was idle for so long sleeps at `sleep_share` of its power until its next packet, and each waking costs `wake_time` at full \
          power. With `start_asleep` links sleep from the start of the run to their first packet: those that placement and jobs leave idle sleep all of it, which `unused` counts. \
          This is accounting only, unless `packets_wait`: then what finds a link asleep starts on it `wake_time` later, and latencies, makespans and fingerprint follow. \
          Models `packet`; `flow`, where only links that carry nothing sleep (`start_asleep`), and links carry what the bandwidth rules say that messages use, also on platforms, which have no routers and one class of links, \"link\"; and `delay` with `cost = \"resilient\"`, where bits are expected ones and links do not sleep. The defaults of `router` and `nic` contain their links, so those of links are 0.",
    source: "100 W for a router of 36 ports and 10 W for an interface: Abts et al.: Energy Proportional Datacenter Networks, ISCA 2010; a tenth of the \
             power in low-power idle, 4.48 us to wake: Christensen et al.: IEEE 802.3az: The Road to Energy Efficient Ethernet, IEEE \
             Communications Magazine 2010",
    params: &[
        Param { name: "router", kind: WATTS, default: Some("100.0"), doc: "Watts of a router." },
        Param { name: "nic", kind: WATTS, default: Some("10.0"), doc: "Watts of a terminal's interface." },
        Param {
            name: "link_power",
            kind: WATTS,
            default: Some("0.0"),
            doc: "Watts of a directed link that is awake, both ends together.",
        },
        Param {
            name: "link_bit",
            kind: PER_BIT,
            default: Some("0.0"),
            doc: "Picojoules of a bit on a link.",
        },
        Param {
            name: "class_link_power",
            kind: Kind::Texts,
            default: Some("[]"),
            doc: "Power of link classes in place of `link_power`, such as `[\"global=2.5\"]`.",
        },
        Param {
            name: "class_link_bit",
            kind: Kind::Texts,
            default: Some("[]"),
            doc: "Energy of a bit by link class in place of `link_bit`, such as `[\"terminal=5\", \"global=20\"]`.",
        },
        Param {
            name: "sleep_after",
            kind: Kind::Time,
            default: Some("0 s"),
            doc: "Idle time after which a link sleeps; 0 s: never.",
        },
        Param {
            name: "sleep_share",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: Some("0.1"),
            doc: "Power of a link that sleeps, as a share of `link_power`.",
        },
        Param {
            name: "wake_time",
            kind: Kind::Time,
            default: Some("4480 ns"),
            doc: "Time at full power that each waking takes: in energy only, or also of packets with `packets_wait`.",
        },
        Param {
            name: "start_asleep",
            kind: Kind::Bool,
            default: Some("false"),
            doc: "Links sleep from the start of the run to their first packet, so unused ones all of it.",
        },
        Param {
            name: "packets_wait",
            kind: Kind::Bool,
            default: Some("false"),
            doc: "Packets wait `wake_time` for each link that they find asleep.",
        },
    ],
};

/// The section as models declare it.
pub const SECTION: SectionEntry = SectionEntry {
    about: ABOUT,
    choices: &[],
    elsewhere: Some(Refusal { why: "it does not know what each link does", help: "use model \"packet\"" }),
    on_portals: Some(Refusal {
        why: "[energy] is for jobs: it knows no Portals programs",
        help: "remove the section",
    }),
};

/// A number of a class.
type Field = fn(&mut LinkEnergy) -> &mut f64;

impl Energy {
    /// Reads checked values; `classes` are the network's.
    ///
    /// # Errors
    /// Lists by class that are wrong.
    pub fn from_values(values: &Values, classes: &[&str]) -> Result<Self, Vec<Problem>> {
        let common = LinkEnergy { bit_pj: values.real("link_bit"), power_w: values.real("link_power") };
        let mut links = vec![common; classes.len()];
        let mut problems = Vec::new();
        let fields: [(&str, Field); 2] =
            [("class_link_bit", |l| &mut l.bit_pj), ("class_link_power", |l| &mut l.power_w)];
        for (key, field) in fields {
            match class_values(key, &values.texts(key), classes, 1e9) {
                Ok(all) => all.into_iter().for_each(|(class, value)| *field(&mut links[class]) = value),
                Err(problem) => problems.push(problem),
            }
        }
        if values.bool("packets_wait") && values.time("wake_time") > MAX_WAIT {
            problems.push(Problem::new("wake_time", "`wake_time` is longer than 1000 s"));
        }
        if values.bool("packets_wait") && values.time("sleep_after") == 0 && !values.bool("start_asleep") {
            let help = "add `sleep_after` or `start_asleep = true`, or remove it";
            problems.push(
                Problem::new("packets_wait", "there is nothing to wait for: links never sleep").help(help),
            );
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let sleep_share = values.real("sleep_share");
        debug_assert!((0.0..=1.0).contains(&sleep_share), "a sleeping link takes a part of its power");
        debug_assert!(links.iter().all(|l| l.bit_pj >= 0.0 && l.power_w >= 0.0), "links give no energy");
        Ok(Self {
            links,
            router_w: values.real("router"),
            nic_w: values.real("nic"),
            sleep_after: values.time("sleep_after"),
            sleep_share,
            wake_time: values.time("wake_time"),
            start_asleep: values.bool("start_asleep"),
            packets_wait: values.bool("packets_wait"),
        })
    }

    /// When links sleep; none if they never do.
    #[must_use]
    pub fn sleep(&self) -> Option<Sleep> {
        let sleep = Sleep {
            after: if self.sleep_after > 0 { self.sleep_after } else { Ps::MAX },
            from_start: self.start_asleep,
            wait: if self.packets_wait { self.wake_time } else { 0 },
        };
        (self.sleep_after > 0 || self.start_asleep).then_some(sleep)
    }
}

/// What the links of a class did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Use {
    /// Name of the class.
    pub class: String,
    /// Links counted once for each direction.
    pub links: u64,
    /// Bits on them.
    pub bits: f64,
    /// Time that they slept, all together.
    pub asleep: u128,
    /// How often they woke.
    pub wakings: u64,
    /// Those that carried nothing, if the model knows.
    pub unused: Option<Unused>,
}

/// Links that carried nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unused {
    /// Number of them.
    pub links: u64,
    /// Time that they slept, all together; also counted in [`Use::asleep`].
    pub asleep: u128,
}

impl Use {
    /// Adds a link that carried so many bits and slept for so long.
    pub fn add(&mut self, bits: f64, asleep: Ps) {
        self.links += 1;
        self.bits += bits;
        self.asleep += u128::from(asleep);
        let unused = self.unused.get_or_insert_default();
        if bits == 0.0 {
            unused.links += 1;
            unused.asleep += u128::from(asleep);
        }
    }
}

/// What a run needed.
#[derive(Clone, Debug)]
pub struct Consumed<'a> {
    /// Virtual time that it lasted.
    pub time: Ps,
    /// Routers and terminals.
    pub parts: (u64, u64),
    /// By link class, in order.
    pub uses: &'a [Use],
    /// Messages and payload that arrived.
    pub delivered: (u64, u64),
}

const SECOND: f64 = 1e12;

impl Energy {
    /// The block of the summary.
    #[must_use]
    pub fn block(&self, run: &Consumed<'_>) -> results::summary::Energy {
        let seconds = run.time as f64 / SECOND;
        debug_assert!(run.uses.len() <= self.links.len(), "every class of links has its powers");
        let of = |used: &Use, link: &LinkEnergy| {
            let all = used.links as f64 * seconds;
            let asleep = used.asleep as f64 / SECOND;
            debug_assert!(used.bits >= 0.0, "no bits are taken back");
            debug_assert!(asleep <= all * (1.0 + 1e-9), "links sleep no longer than the run lasts");
            let waking = used.wakings as f64 * self.wake_time as f64 / SECOND;
            // Wakings that packets wait for are times of the run, of which the last one may be cut by its end.
            let awake = all - asleep;
            let awake = if self.packets_wait { (awake - waking).max(0.0) } else { awake };
            let idle = |u: &Unused| {
                let asleep = u.asleep as f64 / SECOND;
                (u.links as f64 * seconds - asleep + asleep * self.sleep_share) * link.power_w
            };
            results::summary::LinkEnergy {
                class: used.class.clone(),
                links: used.links,
                bits: used.bits,
                bits_j: used.bits * link.bit_pj * 1e-12,
                awake_j: awake * link.power_w,
                asleep_j: asleep * link.power_w * self.sleep_share,
                waking_j: waking * link.power_w,
                asleep_share: if all > 0.0 { asleep / all } else { 0.0 },
                wakings: used.wakings,
                unused: used.unused.map(|u| u.links),
                unused_j: used.unused.as_ref().map(idle),
            }
        };
        let links: Vec<_> = run.uses.iter().zip(&self.links).map(|(u, l)| of(u, l)).collect();
        let dynamic: f64 = links.iter().map(|l| l.bits_j).sum();
        let routers_j = run.parts.0 as f64 * self.router_w * seconds;
        let nics_j = run.parts.1 as f64 * self.nic_w * seconds;
        let links_j: f64 = links.iter().map(|l| l.bits_j + l.awake_j + l.asleep_j + l.waking_j).sum();
        let total_j = routers_j + nics_j + links_j;
        debug_assert!(total_j >= 0.0, "a network gives no energy");
        let per = |amount: f64, of: u64| (of > 0).then(|| amount / of as f64);
        results::summary::Energy {
            total_j,
            routers_j,
            nics_j,
            links_j,
            mean_w: if seconds > 0.0 { total_j / seconds } else { 0.0 },
            per_message_j: per(total_j, run.delivered.0),
            bits_per_message_j: per(dynamic, run.delivered.0),
            per_payload_bit_pj: per(total_j * 1e12 / 8.0, run.delivered.1),
            links,
        }
    }
}

/// The table by link class.
#[must_use]
pub fn table(block: &results::summary::Energy) -> results::table::Table {
    use results::table::{Column, Table, TextColumn};
    let reals =
        |of: fn(&results::summary::LinkEnergy) -> f64| Column::F64(block.links.iter().map(of).collect());
    let counts =
        |of: fn(&results::summary::LinkEnergy) -> u64| Column::U64(block.links.iter().map(of).collect());
    let mut names = TextColumn::default();
    block.links.iter().for_each(|l| names.push(&l.class));
    let table = Table::new("energy")
        .with("class", Column::Text(names))
        .with("links", counts(|l| l.links))
        .with("bits", reals(|l| l.bits))
        .with("bits_j", reals(|l| l.bits_j))
        .with("awake_j", reals(|l| l.awake_j))
        .with("asleep_j", reals(|l| l.asleep_j))
        .with("waking_j", reals(|l| l.waking_j))
        .with("asleep_share", reals(|l| l.asleep_share))
        .with("wakings", counts(|l| l.wakings));
    if block.links.iter().all(|l| l.unused.is_none()) {
        return table;
    }
    table
        .with("unused", counts(|l| l.unused.unwrap_or(0)))
        .with("unused_j", reals(|l| l.unused_j.unwrap_or(0.0)))
}
