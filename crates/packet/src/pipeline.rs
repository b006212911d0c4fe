//! Section `[router]`: parameters of clocked routers. A setup carries them, whichever architecture takes them.

pub mod presets;

use crate::router::{
    allocator,
    arbiter::{self, ARBITERS, Arbiter},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
    time::Ps,
};
use presets::CHOICES;

/// A speed-up: a fraction with denominator [`Ratio::PARTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio(pub u32);

impl Ratio {
    /// One, as a fraction.
    pub const PARTS: u32 = 100;
    /// Once in each time: no speed-up.
    pub const ONE: Self = Self(Self::PARTS);

    /// How often something happens in the `n`th of equal times: over any time, this many times as often, rounded down.
    #[must_use]
    pub fn at(self, n: u64) -> u32 {
        if self.0.is_multiple_of(Self::PARTS) {
            return self.0 / Self::PARTS;
        }
        let until = |n: u64| u128::from(n) * u128::from(self.0) / u128::from(Self::PARTS);
        (until(n + 1) - until(n)) as u32
    }

    /// The most that [`Ratio::at`] is.
    #[must_use]
    pub fn most(self) -> u32 {
        self.0.div_ceil(Self::PARTS)
    }
}

/// Whether a head asks for the switch before it has a virtual channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speculation {
    /// It does not.
    Off,
    /// It does, and counts as much as others.
    Equal,
    /// It does, after all who have a virtual channel.
    Yielding,
}

/// When a packet may get a virtual channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowControl {
    /// When it belongs to no other packet.
    Wormhole,
    /// When there is room for all of the packet, too.
    CutThrough,
    /// The same; who enters a ring leaves room for one packet more.
    Bubble,
}

impl FlowControl {
    /// Whether a packet goes on only where all of it fits.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self != Self::Wormhole
    }

    /// Packets that a buffer must hold; of wormhole switching none whole.
    #[must_use]
    pub fn packets(self) -> u32 {
        match self {
            Self::Wormhole => 0,
            Self::CutThrough => 1,
            Self::Bubble => 2,
        }
    }
}

/// Whose buffer space is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Every virtual channel has its own.
    Private,
    /// A chunk each is its own (a packet with virtual cut-through), the rest goes to whoever has less than this share of what is free.
    Shared(Ratio),
}

/// Parameters of pipelined routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Allocator of virtual channels: its place in the list; none: whoever gets the switch takes one.
    pub vc_allocator: Option<usize>,
    /// Allocator of the switch.
    pub switch_allocator: usize,
    /// Tries of allocators that iterate.
    pub iterations: u32,
    /// Arbiter of both.
    pub arbiter: Arbiter,
    /// Steps of a router in a cycle.
    pub speedup: Ratio,
    /// Ways from an input into the switch.
    pub input_speedup: Ratio,
    /// Ways from the switch to an output.
    pub output_speedup: Ratio,
    /// Cycles from a head's arrival in front to its first request.
    pub routing: u32,
    /// Cycles from that to its first request for the switch.
    pub vc_allocation: u32,
    /// Cycles from a chunk's grant until it has left.
    pub switch_allocation: u32,
    /// Heads ask for both at once.
    pub speculation: Speculation,
    /// A packet keeps its way through the switch.
    pub hold_switch: bool,
    /// A virtual channel is free when its last packet's last credit is back.
    pub wait_for_tail_credit: bool,
    /// When a packet may go on.
    pub flow_control: FlowControl,
    /// Inputs have a queue for each output.
    pub virtual_output_queues: bool,
    /// Virtual channels of each class; none: as many each.
    pub vcs_per_class: Option<[u8; 16]>,
    /// Toward a terminal, where no cycle can close, packets use any virtual channel, not only those of their class.
    pub ejection_any: bool,
    /// Chunks that an output holds of each virtual channel; none: only what has a buffer behind the link is at an output.
    pub output_queue: Option<u32>,
    /// Most chunks with a buffer behind the link that an output holds, where nothing else does.
    pub output_buffer: u32,
    /// Every chunk that finds room at its output crosses the switch.
    pub unlimited_switch: bool,
    /// Whose buffers at inputs are.
    pub input_sharing: Sharing,
    /// Whose buffers at outputs are.
    pub output_sharing: Sharing,
}

impl Pipeline {
    /// What BookSim 2 has without options.
    pub const DEFAULT: Self = Self {
        vc_allocator: Some(0),
        switch_allocator: 0,
        iterations: 1,
        arbiter: Arbiter::RoundRobin,
        speedup: Ratio::ONE,
        input_speedup: Ratio::ONE,
        output_speedup: Ratio::ONE,
        routing: 0,
        vc_allocation: 1,
        switch_allocation: 1,
        speculation: Speculation::Off,
        hold_switch: false,
        wait_for_tail_credit: false,
        flow_control: FlowControl::Wormhole,
        virtual_output_queues: false,
        vcs_per_class: None,
        ejection_any: true,
        output_queue: None,
        output_buffer: u32::MAX,
        unlimited_switch: false,
        input_sharing: Sharing::Private,
        output_sharing: Sharing::Private,
    };

    /// What an architecture has without section `[router]`.
    #[must_use]
    pub fn of(router: &str) -> Self {
        match router {
            "combined" => Self { output_queue: Some(4), speedup: Ratio(2 * Ratio::PARTS), ..Self::DEFAULT },
            _ => Self::DEFAULT,
        }
    }

    /// How much sooner a chunk is through the router whose grant is of a step that another one of its cycle follows: it crosses the switch in that one, others in the
    /// next cycle (BookSim 2, `iq_router`). None where queues stand at outputs, or what follows the grant takes no cycle.
    #[must_use]
    pub fn early(&self, router_delay: Ps, cycle: Ps) -> Ps {
        let steps = self.speedup.0 > Ratio::PARTS && self.output_queue.is_none() && !self.unlimited_switch;
        if steps && router_delay >= cycle { cycle } else { 0 }
    }

    /// Number of a cycle's first step; cycles begin at multiples of `cycle`.
    #[must_use]
    pub fn first_step(&self, s: Ps, cycle: Ps) -> u64 {
        s / cycle * u64::from(self.speedup.most())
    }
}

/// Allocators of virtual channels, and none.
const VC_ALLOCATORS: [&str; allocator::NAMES.len() + 1] = {
    let mut names = ["piggyback"; allocator::NAMES.len() + 1];
    let mut n = 0;
    while n < allocator::NAMES.len() {
        names[n] = allocator::NAMES[n];
        n += 1;
    }
    names
};
const SPECULATION: [&str; 3] = ["off", "equal", "yielding"];
const FLOW_CONTROL: [&str; 3] = ["wormhole", "virtual-cut-through", "bubble"];
const SHARING: [&str; 2] = ["private", "shared"];

const fn cycles(name: &'static str, min: u64, default: &'static str, doc: &'static str) -> Param {
    Param { name, kind: Kind::Int { min, max: 64 }, default: Some(default), doc }
}

const fn speedup(name: &'static str, doc: &'static str) -> Param {
    Param { name, kind: Kind::Real { min: 1.0, max: 8.0 }, default: Some(""), doc }
}

/// Documentation and keys of section `[router]`.
pub const ABOUT: About = About {
    name: "router",
    summary: "What is inside a clocked router: allocators, speed-ups, delays, queues",
    doc: "Parameters of clocked routers, for `model.router = \"input-queued\"`, `\"output-queued\"` and `\"combined\"`. Without this section the first two are the plain \
          ones that their pages describe, which are faster to simulate. With it a virtual channel of an output belongs to one packet at a time, of `output-queued` too: heads that find none wait \
          at their input, before those behind them. Only virtual output queues with `vc_allocator = \"piggyback\"` come close to the ideal. \
          A cycle is the time of a chunk on the fastest link, and a chunk on a router's link begins in a cycle however short it is. \
          What crosses the switch takes `router_delay` of `[model]` besides, and credits `credit_delay` of their link.",
    source: "BookSim 2 (`iq_router`, its configuration); Dally and Towles, Principles and Practices of Interconnection Networks, chapters 16 to 19; MARS, section \
             2.3.1 (combined input and output buffers).",
    params: &[
        Param {
            name: "preset",
            kind: Kind::Choice(&CHOICES),
            default: Some("none"),
            doc: "A switch that is known by a name: values for keys of this section that the file does not give (`netloom list presets`).",
        },
        Param {
            name: "vc_allocator",
            kind: Kind::Choice(&VC_ALLOCATORS),
            default: Some("islip"),
            doc: "Who gives virtual channels to packets (`netloom list allocators`). `piggyback`: nobody; heads ask for the switch at once, and who gets it takes the next free virtual channel \
                  with room.",
        },
        Param {
            name: "switch_allocator",
            kind: Kind::Choice(&allocator::NAMES),
            default: Some("islip"),
            doc: "Who gives the switch to chunks.",
        },
        Param {
            name: "iterations",
            kind: Kind::Int { min: 1, max: 64 },
            default: Some("1"),
            doc: "How often allocators that iterate try again with what is left.",
        },
        Param {
            name: "arbiter",
            kind: Kind::Choice(&arbiter::NAMES),
            default: Some("round-robin"),
            doc: "How both allocators choose among requests for one thing (`netloom list arbiters`).",
        },
        speedup(
            "speedup",
            "Internal speed-up: allocations in a cycle. 1.5 means one and two in turn. What is granted before a cycle's last one is on its link a cycle sooner, as in BookSim, \
             where outputs have no queues and `router_delay` is a cycle at least. Default 1, of `combined` 2.",
        ),
        speedup(
            "input_speedup",
            "Connections from an input into the switch; its virtual channels use them in turn. 1.5 means one and two in turn. Default 1.",
        ),
        speedup(
            "output_speedup",
            "Connections from the switch to an output; inputs use them in turn. Default 1.",
        ),
        cycles("routing_cycles", 0, "0", "Cycles that routing a head takes. 0: it was routed ahead."),
        cycles(
            "vc_allocation_cycles",
            1,
            "1",
            "Cycles of VC allocation: a packet asks for the switch so much later.",
        ),
        cycles(
            "switch_allocation_cycles",
            1,
            "1",
            "Cycles of switch allocation: a chunk leaves so many cycles less one after its grant, and the next one of its packet asks after it.",
        ),
        Param {
            name: "speculation",
            kind: Kind::Choice(&SPECULATION),
            default: Some("off"),
            doc: "A head asks for the switch in the cycle in which it asks for a virtual channel; if it gets no channel, its grant is lost. `yielding`: after all others; `equal`: among \
                  them, though of one input's chunks for one output those with a channel come first (BookSim with allocators that know no priorities).",
        },
        Param {
            name: "hold_switch",
            kind: Kind::Bool,
            default: Some("false"),
            doc: "A packet keeps its path through the switch until its tail has passed or it has nothing to send.",
        },
        Param {
            name: "wait_for_tail_credit",
            kind: Kind::Bool,
            default: Some("false"),
            doc: "A virtual channel goes to another packet only when all credits of the last one are back.",
        },
        Param {
            name: "flow_control",
            kind: Kind::Choice(&FLOW_CONTROL),
            default: Some("wormhole"),
            doc: "`virtual-cut-through`: a packet goes on when there is room for all of it; buffers must hold a packet. `bubble`: the same, and a packet that enters a ring of a torus, from a \
                  terminal or another dimension, goes on only where room for one more is left behind it. So some packet of each ring can always move, and one virtual channel is \
                  enough; for routing `dimension-order` with `partition = \"bubble\"`. Buffers must hold two packets, and packets be equally long in chunks. \
                  Packets that enter may wait as long as others pass.",
        },
        Param {
            name: "virtual_output_queues",
            kind: Kind::Bool,
            default: Some("false"),
            doc: "Every virtual channel of an input has a queue for each output, so that nobody waits behind a packet for another output. Packets of several chunks need \
                  virtual cut-through then: a packet that passed another one could wait for itself.",
        },
        Param {
            name: "vcs_per_class",
            kind: Kind::Ints { min: 1, max: 16 },
            default: Some(""),
            doc: "Virtual channels of each class of the routing, together `vcs`; without it they are shared out evenly, and what is left over is not used.",
        },
        Param {
            name: "ejection_vcs",
            kind: Kind::Choice(&["any", "class"]),
            default: Some("any"),
            doc: "Virtual channels toward terminals, where no cycle can close: any, or only those of the packet's class (BookSim's dragonflies).",
        },
        Param {
            name: "output_buffer",
            kind: Kind::Bytes,
            default: Some(""),
            doc: "Buffer at outputs. `input-queued`: chunks that own a buffer behind the link and wait for it, of an output (default: no bound but that). `combined` and `output-queued`: \
                  chunks that wait for link and credits, of each virtual channel (default 4 chunks, with virtual cut-through at least a packet).",
        },
        Param {
            name: "input_buffers",
            kind: Kind::Choice(&SHARING),
            default: Some("private"),
            doc: "`shared`: of a link's virtual channels, a chunk each is their own (a packet with virtual cut-through), and the rest of `vc_buffer` times `vcs` goes to channels that have less than `threshold` \
                  times what is free. Links of terminals keep private buffers.",
        },
        Param {
            name: "output_buffers",
            kind: Kind::Choice(&SHARING),
            default: Some("private"),
            doc: "The same of a router's outputs (`combined` and `output-queued`): one memory for all.",
        },
        Param {
            name: "threshold",
            kind: Kind::Real { min: 0.01, max: 64.0 },
            default: Some("1"),
            doc: "Share of what is free that a queue may have in shared buffers (dynamic threshold).",
        },
    ],
};

/// What a router's rules depend on beside its section.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Largest packet in chunks.
    pub chunks: u32,
    /// Bytes of a chunk.
    pub chunk: u32,
    /// Virtual channels of a link.
    pub vcs: u8,
}

fn ratio(values: &Values, key: &str, default: Ratio, problems: &mut Vec<Problem>) -> Ratio {
    let Some(base::param::Value::Real(value)) = values.0.get(key) else { return default };
    let parts = value * f64::from(Ratio::PARTS);
    if (parts - parts.round()).abs() > 1e-6 {
        problems.push(
            Problem::new(key, format!("{value} has more than two decimals")).help("write 1.33 for 4/3"),
        );
    }
    Ratio(parts.round() as u32)
}

/// Section `[router]` that says nothing.
#[must_use]
pub fn defaults() -> Values {
    let values = ABOUT.params.iter().filter_map(|p| Some((p.name.to_owned(), p.default_value()?)));
    Values(values.collect())
}

fn place(names: &[&str], name: &str) -> usize {
    names.iter().position(|n| *n == name).unwrap_or(0)
}

impl Pipeline {
    /// Reads checked values of `[router]` for an architecture.
    ///
    /// # Errors
    /// Combinations that make no sense.
    pub fn from_values(router: &str, values: &Values, context: Context) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let base = Self::of(router);
        let queued = router != "input-queued";
        let threshold = ratio(values, "threshold", Ratio::ONE, &mut problems);
        let sharing =
            |key| if values.text(key) == "shared" { Sharing::Shared(threshold) } else { Sharing::Private };
        let written = match values.0.get("output_buffer") {
            Some(base::param::Value::Int(bytes)) => {
                Some((bytes / u64::from(context.chunk)).min(1 << 24) as u32)
            }
            _ => None,
        };
        let classes = match values.0.get("vcs_per_class") {
            Some(base::param::Value::Ints(counts)) => per_class(counts, context.vcs, &mut problems),
            _ => None,
        };
        let flow_control = [FlowControl::Wormhole, FlowControl::CutThrough, FlowControl::Bubble]
            [place(&FLOW_CONTROL, &values.text("flow_control"))];
        let whole = flow_control.packets() * context.chunks;
        let pipeline = Self {
            vc_allocator: Some(place(&VC_ALLOCATORS, &values.text("vc_allocator")))
                .filter(|&n| n < allocator::NAMES.len()),
            switch_allocator: place(&allocator::NAMES, &values.text("switch_allocator")),
            iterations: values.u32("iterations"),
            arbiter: ARBITERS[place(&arbiter::NAMES, &values.text("arbiter"))].arbiter,
            speedup: ratio(values, "speedup", base.speedup, &mut problems),
            input_speedup: ratio(values, "input_speedup", Ratio::ONE, &mut problems),
            output_speedup: ratio(values, "output_speedup", Ratio::ONE, &mut problems),
            routing: values.u32("routing_cycles"),
            vc_allocation: values.u32("vc_allocation_cycles"),
            switch_allocation: values.u32("switch_allocation_cycles"),
            speculation: [Speculation::Off, Speculation::Equal, Speculation::Yielding]
                [place(&SPECULATION, &values.text("speculation"))],
            hold_switch: values.bool("hold_switch"),
            wait_for_tail_credit: values.bool("wait_for_tail_credit"),
            flow_control,
            virtual_output_queues: values.bool("virtual_output_queues"),
            vcs_per_class: classes,
            ejection_any: values.text("ejection_vcs") == "any",
            output_queue: if queued { Some(written.unwrap_or(whole.max(4))) } else { None },
            output_buffer: if queued { u32::MAX } else { written.unwrap_or(u32::MAX) },
            unlimited_switch: unlimited(router),
            input_sharing: sharing("input_buffers"),
            output_sharing: sharing("output_buffers"),
        };
        pipeline.refuse(router, values, context, &mut problems);
        if problems.is_empty() { Ok(pipeline) } else { Err(problems) }
    }

    /// What makes no sense together.
    fn refuse(&self, router: &str, values: &Values, context: Context, problems: &mut Vec<Problem>) {
        let mut no = |key: &str, why: String, help: &str| problems.push(Problem::new(key, why).help(help));
        if self.virtual_output_queues && self.flow_control == FlowControl::Wormhole && context.chunks > 1 {
            no(
                "virtual_output_queues",
                format!(
                    "packets of {} chunks that pass each other in wormhole switching can wait for themselves",
                    context.chunks
                ),
                "set `flow_control = \"virtual-cut-through\"`, or make `chunk` as large as `packet`",
            );
        }
        if self.flow_control == FlowControl::Bubble {
            self.refuse_bubble(values, problems);
        }
        let mut no = |key: &str, why: String, help: &str| problems.push(Problem::new(key, why).help(help));
        if let Some(queue) = self.output_queue {
            let least = (self.flow_control.packets() * context.chunks).max(1);
            if queue < least {
                no(
                    "output_buffer",
                    format!("it holds {queue} chunks of a virtual channel, {least} are needed"),
                    "enlarge it",
                );
            }
        } else if self.output_sharing != Sharing::Private {
            no(
                "output_buffers",
                "input-queued routers have no queues at outputs to share".to_owned(),
                "choose router \"combined\", or leave it out",
            );
        }
        if self.unlimited_switch {
            for key in ["speedup", "input_speedup", "output_speedup"] {
                if values.0.contains_key(key) {
                    no(
                        key,
                        format!("{router} routers have a switch that nobody waits for"),
                        "choose router \"combined\"",
                    );
                }
            }
            if self.speculation != Speculation::Off || self.hold_switch {
                let key = if self.hold_switch { "hold_switch" } else { "speculation" };
                no(key, format!("{router} routers have no switch allocation"), "choose router \"combined\"");
            }
        }
        if self.speculation != Speculation::Off && self.vc_allocation > 1 {
            no(
                "speculation",
                "a grant does not wait for several cycles of VC allocation".to_owned(),
                "leave out `vc_allocation_cycles`",
            );
        }
        let iterates = |n: usize| allocator::ALLOCATORS[n].iterates;
        let switch = iterates(self.switch_allocator) && !self.unlimited_switch;
        if self.iterations > 1 && !switch && !self.vc_allocator.is_some_and(iterates) {
            no(
                "iterations",
                "no allocator of this router iterates".to_owned(),
                "leave it out, or choose \"islip\"",
            );
        }
        if self.vc_allocator.is_none() && self.vc_allocation > 1 {
            no("vc_allocation_cycles", "VCs are taken with the switch".to_owned(), "choose a `vc_allocator`");
        }
        if self.vc_allocator.is_none() && self.speculation == Speculation::Equal {
            no(
                "speculation",
                "who gets the switch gets a VC".to_owned(),
                "leave it out, or set it to \"yielding\"",
            );
        }
        if self.output_queue.is_some() && self.switch_allocation > 1 {
            no(
                "switch_allocation_cycles",
                "chunks are at their output when they have the switch".to_owned(),
                "enlarge `router_delay`",
            );
        }
        if self.virtual_output_queues && self.input_sharing != Sharing::Private && context.chunks > 1 {
            no(
                "input_buffers",
                "a packet must fit, so that it cannot wait for those that it passed".to_owned(),
                "leave it out, or `virtual_output_queues`",
            );
        }
        let shared = self.input_sharing != Sharing::Private || self.output_sharing != Sharing::Private;
        if !shared && (values.real("threshold") - 1.0).abs() > 1e-9 {
            no(
                "threshold",
                "no buffers are shared".to_owned(),
                "set `input_buffers` or `output_buffers` to \"shared\"",
            );
        }
    }
}

/// Whether nobody waits for the switch of an architecture.
#[must_use]
pub fn unlimited(router: &str) -> bool {
    router == "output-queued"
}

impl Pipeline {
    /// What bubbles do not go with.
    fn refuse_bubble(&self, values: &Values, problems: &mut Vec<Problem>) {
        let shared = [("input_buffers", self.input_sharing), ("output_buffers", self.output_sharing)];
        for (key, _) in shared.iter().filter(|(_, sharing)| *sharing != Sharing::Private) {
            let why = "room that others may take is no bubble".to_owned();
            problems.push(Problem::new(*key, why).help("leave it out, or choose another `flow_control`"));
        }
        if self.wait_for_tail_credit {
            let why = "a channel that waits for its tail's credit holds one packet, and no bubble beside it"
                .to_owned();
            problems.push(Problem::new("wait_for_tail_credit", why).help("leave it out"));
        }
        if values.0.contains_key("vcs_per_class") {
            let why = "with bubbles the routing has one class".to_owned();
            problems.push(Problem::new("vcs_per_class", why).help("leave it out"));
        }
    }
}

/// Counts of classes, checked against the channels there are.
fn per_class(counts: &[u64], vcs: u8, problems: &mut Vec<Problem>) -> Option<[u8; 16]> {
    if counts.is_empty() {
        return None;
    }
    let sum: u64 = counts.iter().sum();
    if sum != u64::from(vcs) || counts.len() > 16 {
        let message =
            format!("{} classes have {sum} virtual channels together, `vcs` is {vcs}", counts.len());
        problems.push(Problem::new("vcs_per_class", message).help("let them add up"));
        return None;
    }
    let mut all = [0; 16];
    for (class, &count) in all.iter_mut().zip(counts) {
        *class = count as u8;
    }
    Some(all)
}
