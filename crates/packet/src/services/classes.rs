//! What service classes are: section `[service]`, its keys and its values.

use base::{
    param::{Kind, Param, Problem, Value, Values},
    registry::About,
};
use model::section::{Refusal, SectionEntry};

/// Most classes: with speculation they need two levels each of the 16 that allocators know.
pub const MOST: usize = 8;

/// Who goes first of the classes that ask for the same link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nobody: they take turns as their virtual channels do.
    Turns,
    /// Always the class that is listed first.
    Strict,
    /// The class that is behind its weight: start-time fair queueing, chunk by chunk (Goyal, Vin, Cheng 1997).
    Weighted(Vec<u32>),
}

/// The service classes of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Services {
    /// Names, the first one is served first under strict priority.
    pub names: Vec<String>,
    /// Virtual channels of each class, which follow each other on every link.
    pub vcs: Vec<u8>,
    /// Who goes first.
    pub order: Order,
    /// Most of a link that a class may use, in percent; 100 for all of it.
    pub caps: Vec<u32>,
    /// Class of each job.
    pub of_job: Vec<u8>,
}

/// Documentation and keys of section `[service]`.
pub const ABOUT: About = About {
    name: "service",
    summary: "Service classes: virtual channels, priorities, weights and caps of jobs",
    doc: "With this section jobs belong to service classes (`service` of [[job]]). The virtual channels of every link are divided among the classes, and each class has all channels \
          that the routing needs. Terminals inject a job's packets on channels of its class alone. Where classes meet, at the switch and at the links that leave a router, \
          `order` says who goes first, chunk by chunk. With `input-queued` routers that is decided when a chunk crosses the switch, and an output takes one chunk ahead of its link unless \
          `output_buffer` of [router] says otherwise; with `combined` and `output-queued` ones it is decided at the link, strict priority at the switch, too. \
          The summary then has the block `service_classes` with each class's latency and throughput, and there is a table of that name. Routers are those of section [router], \
          with its defaults if the file has none. Not modelled: classes of single messages, pre-emption of a chunk on its link.",
    source: "Dally and Towles, Principles and Practices of Interconnection Networks, chapters 13 and 15; InfiniBand's virtual lanes with their arbitration; Goyal, Vin, Cheng: Start-Time Fair Queueing, IEEE/ACM \
             Trans. Networking 1997 (`weighted`); ITU-T I.371, virtual scheduling algorithm (`caps`).",
    params: &[
        Param {
            name: "classes",
            kind: Kind::Texts,
            default: None,
            doc: "Names of the classes, 2 to 8; under strict priority the first one goes first. A job that names none belongs to the last one.",
        },
        Param {
            name: "vcs",
            kind: Kind::Ints { min: 1, max: 16 },
            default: Some(""),
            doc: "Virtual channels of each class, together `vcs` of [model]; without it they are shared out evenly, and what is left over is not used.",
        },
        Param {
            name: "order",
            kind: Kind::Choice(&["strict", "weighted", "turns"]),
            default: Some("strict"),
            doc: "`strict`: always the class that is listed first; `weighted`: classes that always have something to send share a link as their `weights`, and what one leaves goes to the others; \
                  `turns`: virtual channels take turns, whatever their class.",
        },
        Param {
            name: "weights",
            kind: Kind::Ints { min: 1, max: 100 },
            default: Some(""),
            doc: "Weight of each class, for `order = \"weighted\"`.",
        },
        Param {
            name: "caps",
            kind: Kind::Ints { min: 1, max: 100 },
            default: Some(""),
            doc: "Most that each class may use of every link that leaves a router, in percent of its bandwidth, also if nobody else uses it; a packet more at a time. Without it, or with 100, there is no bound.",
        },
    ],
};

/// `[service]`: other models have no virtual channels.
pub const SECTION: SectionEntry = SectionEntry {
    about: ABOUT,
    choices: &[],
    elsewhere: Some(Refusal {
        why: "it has no virtual channels to give to classes",
        help: "use model \"packet\"",
    }),
    on_portals: Some(Refusal {
        why: "[service]: classes are those of jobs, and Portals programs are none",
        help: "remove the section",
    }),
};

/// Key of a job.
pub const SERVICE: Param = Param {
    name: "service",
    kind: Kind::Text,
    default: Some(""),
    doc: "Packet model: its class among `classes` of [service]; the last one if left out.",
};

impl Services {
    /// Reads checked values of `[service]`, of links with so many virtual channels. No job has a class yet.
    ///
    /// # Errors
    /// Lists that do not fit each other.
    pub fn from_values(values: &Values, vcs: u8) -> Result<Self, Vec<Problem>> {
        let names = values.texts("classes");
        let count = names.len();
        if !(2..=MOST).contains(&count) {
            let message = format!("{count} classes are given, there may be 2 to {MOST}");
            return Err(vec![Problem::new("classes", message)]);
        }
        let mut problems = Vec::new();
        if let Some(twice) = names.iter().enumerate().find(|(n, name)| names[..*n].contains(name)) {
            problems.push(Problem::new("classes", format!("`{}` is listed twice", twice.1)));
        }
        let mut list = |key: &str| match values.0.get(key) {
            Some(Value::Ints(all)) if all.len() != count => {
                let message = format!("{} numbers are given for {count} classes", all.len());
                problems.push(Problem::new(key, message).help("give one for each"));
                None
            }
            Some(Value::Ints(all)) => Some(all.iter().map(|&n| n as u32).collect::<Vec<_>>()),
            _ => None,
        };
        let (own, weights, caps) = (list("vcs"), list("weights"), list("caps"));
        let own: Vec<u8> =
            own.map_or_else(|| vec![vcs / count as u8; count], |all| all.iter().map(|&n| n as u8).collect());
        let sum: u32 = own.iter().map(|&n| u32::from(n)).sum();
        if values.0.contains_key("vcs") && sum != u32::from(vcs) {
            let message =
                format!("the classes have {sum} virtual channels together, `vcs` of [model] is {vcs}");
            problems.push(Problem::new("vcs", message).help("let them add up"));
        }
        let order = match (values.text("order").as_str(), weights) {
            ("weighted", Some(weights)) => Order::Weighted(weights),
            ("weighted", None) => {
                if !values.0.contains_key("weights") {
                    let message = "classes that share by weight need `weights`";
                    problems.push(Problem::new("order", message).help("give one for each class"));
                }
                Order::Turns
            }
            (order, weights) => {
                if weights.is_some() {
                    let message = format!("`order = \"{order}\"` has no use for weights");
                    problems.push(Problem::new("weights", message).help("set `order = \"weighted\"`"));
                }
                if order == "strict" { Order::Strict } else { Order::Turns }
            }
        };
        if !problems.is_empty() {
            return Err(problems);
        }
        let caps = caps.unwrap_or_else(|| vec![100; count]);
        Ok(Self { names, vcs: own, order, caps, of_job: Vec::new() })
    }

    /// Class of a virtual channel; the last one of those that belong to none.
    #[must_use]
    pub fn of_vc(&self, vc: u8) -> u8 {
        let ends = self.vcs.iter().scan(0, |end, &n| {
            *end += n;
            Some(*end)
        });
        ends.take_while(|&end| end <= vc).count().min(self.vcs.len() - 1) as u8
    }

    /// Virtual channels of a class, a bit each.
    #[must_use]
    pub fn set(&self, class: u8) -> u16 {
        let first: u32 = self.vcs[..usize::from(class)].iter().map(|&n| u32::from(n)).sum();
        let count = u32::from(self.vcs[usize::from(class)]);
        (((1u32 << count) - 1) << first) as u16
    }

    /// Class of a terminal, whose job is at this place; the last one if it has none.
    #[must_use]
    pub fn of_terminal(&self, job: u32) -> u8 {
        self.of_job.get(job as usize).copied().unwrap_or(self.names.len() as u8 - 1)
    }
}
