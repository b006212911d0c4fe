//! Parameters of the flow model: the `[model]` section with `kind = "flow"`.

use super::{changes::BandwidthChange, rules::Rules};
use base::{
    param::{Kind, Param, Values},
    registry::About,
    time::Ps,
    units::percent,
};

/// Key of the most flows at a time.
pub(crate) const MAX_FLOWS: &str = "max_flows";

/// Documentation and keys of the model.
pub const ABOUT: About = About {
    name: "flow",
    summary: "Messages as flows that share links max-min fairly",
    doc: "A message waits for the latency of its route, then its bytes flow at the share that the links of the route leave it; shares are \
          max-min fair and change when flows begin, end or a bandwidth changes. `preset` chooses the rules. `max-min`: \
          equal shares, nothing else. The others are SimGrid's, with its factors: `maxmin` shares as 1 / latency; `cm02` adds cross-traffic \
          (acknowledgements take 5 % in the other direction) and a window of 4 MiB (no flow gets more than window / (2 latency)); `lv08` \
          multiplies bandwidth by 0.97 and latency by 13.01 and weights by 1 / (latency + 20537 B / bandwidth of each link); `smpi` has factors by \
          size and 8775 B, and programs follow SMPI's protocol: no message asks, each begins with 16 B more when its send and its receive are both there, and a send below `eager` is over at once, \
          a larger one when its message is; messages within a terminal cross the network, from it to itself, unless [node] gives a memory. In these a flow's weight is 1 if its route has no latency. A message is divided over the paths over which the routing spreads packets (`paths`), as load has it if the routing is adaptive; where it takes one, that is what the routing says when the message is sent. An adaptive routing sees as backlog 4 KiB for every message \
          on a link. When links fail during a run, flows that cross them take a new path for what is left, and its latency again. \
          Not modelled: packets, buffers, and so queues, head-of-line blocking and credits; `packet` does that.",
    source: "Bertsekas, Gallager: Data Networks, section 6.5.2 (max-min fairness); Velho, Legrand: Accuracy study and improvement of network \
             simulation in the SimGrid framework, SIMUTools 2009 (LV08); factors as in SimGrid 3.32",
    params: &[
        Param {
            name: "preset",
            kind: Kind::Choice(&["max-min", "maxmin", "cm02", "lv08", "smpi"]),
            default: Some("max-min"),
            doc: "Rules of sharing.",
        },
        Param {
            name: "cross_traffic",
            kind: Kind::Bool,
            default: Some("true"),
            doc: "False: acknowledgements take nothing, whatever the preset says.",
        },
        Param {
            name: "duplex",
            kind: Kind::Choice(&["full", "half"]),
            default: Some("full"),
            doc: "Whether the two directions of a cable have its bandwidth each (`full`) or share it (`half`). Platforms say so themselves.",
        },
        Param {
            name: "router_delay",
            kind: Kind::Time,
            default: Some("100 ns"),
            doc: "Delay of a router; it is part of the latency of a route, not of a platform's. SimGrid knows none: 0 s beside it.",
        },
        Param {
            name: MAX_FLOWS,
            kind: Kind::Int { min: 1, max: u32::MAX as u64 },
            default: Some("4000000"),
            doc: "Flows at a time. Beyond, the run ends: sources offer more than the network carries.",
        },
        Param {
            name: super::changes::KEY,
            kind: Kind::Texts,
            default: Some("[]"),
            doc: "Bandwidths that change during the run: \"12:3 at 5 us = 1 GB/s\" for the cable at port 3 of router 12, both directions, \
                  \"local at 5 us = 0\" for all links of a class. Flows on links of bandwidth 0 stand still. A platform's file has `events` instead.",
        },
        Param {
            name: "paths",
            kind: Kind::Choice(&["divided", "single"]),
            default: Some("divided"),
            doc: "What becomes of a message where the routing spreads packets over several paths. `divided`: it flows over all of them at once, divided equally among the choices that \
                  the routing names at each router (the verdict says `divided-evenly`). Where the routing chooses by load, up to 32 packets of the message (one of 2 KiB each) ask it for their paths, one \
                  after another, and see 4 KiB of backlog for each message on a link; as others begin and end they ask again (`divided-by-load`). \
                  With more links than `max_links` it takes one path, and the verdict says `single-path`. `single`: it always takes one.",
        },
        Param {
            name: "max_links",
            kind: Kind::Int { min: 1, max: u32::MAX as u64 },
            default: Some("4096"),
            doc: "Links over which a message is divided at most. Time and memory of a message grow with them. One that would have more takes one path; the \
                  verdict says `single-path` and how many these were.",
        },
        Param {
            name: "accuracy",
            kind: Kind::Text,
            default: Some("auto"),
            doc: "\"exact\": shares change at the very instants at which flows begin and end. \"auto\": so too, but as with \"1 %\" while messages under way are \
                  divided over more than 500,000 links in all. \"1 %\" (up to 50 %): shares are found for several ends and beginnings at \
                  once. An end acts at most 1 % of the flow's age late, a beginning at most 1 % of the time from when the message was sent to when it would be over alone; \
                  all end at their own instants. The verdict says how many solutions there were and how late they came. A short flow \
                  beside old ones may be off by more than 1 % of its own time.",
        },
        ranks::params::EAGER,
        ranks::params::CONTROL,
        ranks::params::OVERHEAD,
    ],
};

/// What SMPI puts before each message.
const SMPI_HEADER: u64 = 16;

/// When `accuracy = "auto"` is not exact: every end changes the shares of most messages then, and costs some milliseconds.
const WIDE: Wide = Wide { accuracy: 0.01, links: 500_000 };

/// Another accuracy, for when messages under way are divided over many links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wide {
    /// Part of their times that ends and beginnings may act late.
    pub accuracy: f64,
    /// It holds beyond so many links, each counted for every message that crosses it.
    pub links: u64,
}

/// Parameters of the flow model.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowConfig {
    /// Rules of sharing.
    pub rules: Rules,
    /// The two directions of a cable share its bandwidth.
    pub half_duplex: bool,
    /// Delay of a router.
    pub router_delay: Ps,
    /// Flows at a time.
    pub max_flows: u64,
    /// Bandwidths that change during the run; a platform brings its own.
    pub changes: Vec<BandwidthChange>,
    /// Messages are divided over the paths that the routing spreads packets over.
    pub divided: bool,
    /// Links over which a message is divided at most.
    pub max_links: u64,
    /// Part of their times that ends and beginnings may act late; zero for never. See [`super::sharing::Delays`].
    pub accuracy: f64,
    /// The same while messages under way are divided over many links; none if it is the same.
    pub wide: Option<Wide>,
    /// Programs: largest message that is sent without asking.
    pub eager: u64,
    /// Programs: bytes before those of each message, where send and receive meet without asking (SMPI's rules); none where larger messages ask.
    pub direct: Option<u64>,
    /// Programs: bytes of a request or grant.
    pub control: u64,
    /// Programs: time that a processor takes for each send and each receive.
    pub overhead: Ps,
}

impl FlowConfig {
    /// Some rules; routers without delay, everything else as by default.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            half_duplex: false,
            router_delay: 0,
            max_flows: 4_000_000,
            changes: Vec::new(),
            divided: true,
            max_links: 4096,
            accuracy: 0.0,
            wide: None,
            eager: 64 << 10,
            direct: None,
            control: 16,
            overhead: 0,
        }
    }

    /// Reads checked values ([`accuracy`] too must have been checked), but for `changes`, which needs the network: [`super::changes::read`].
    #[must_use]
    pub fn from_values(values: &Values) -> Self {
        let mut rules = match values.text("preset").as_str() {
            "maxmin" => Rules::maxmin(),
            "cm02" => Rules::cm02(),
            "lv08" => Rules::lv08(),
            "smpi" => Rules::smpi(),
            _ => Rules::plain(),
        };
        if !values.bool("cross_traffic") {
            rules.cross = 0.0;
        }
        Self {
            rules,
            half_duplex: values.text("duplex") == "half",
            router_delay: values.time("router_delay"),
            max_flows: values.int(MAX_FLOWS),
            changes: Vec::new(),
            divided: values.text("paths") == "divided",
            max_links: values.int("max_links"),
            accuracy: accuracy(&values.text("accuracy")).unwrap_or(0.0),
            wide: (values.text("accuracy") == "auto").then_some(WIDE),
            eager: values.int("eager"),
            direct: (values.text("preset") == "smpi").then_some(SMPI_HEADER),
            control: values.int("control"),
            overhead: values.time("overhead"),
        }
    }
}

/// Reads an accuracy: "exact", "auto" (exact as long as there is no reason for anything else) or a percentage up to 50. None if it is none of them.
#[must_use]
pub fn accuracy(text: &str) -> Option<f64> {
    if ["exact", "auto"].contains(&text) {
        return Some(0.0);
    }
    percent(text).filter(|part| *part <= 0.5)
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these numbers are exact")]
mod tests {
    use super::*;

    #[test]
    fn accuracies_are_exact_or_percentages() {
        assert_eq!(accuracy("exact"), Some(0.0));
        assert_eq!(accuracy("auto"), Some(0.0));
        assert_eq!(accuracy("1 %"), Some(0.01));
        assert_eq!(accuracy("50%"), Some(0.5));
        for wrong in ["", "1", "-1 %", "51 %", "NaN %", "%"] {
            assert_eq!(accuracy(wrong), None, "{wrong}");
        }
    }
}
