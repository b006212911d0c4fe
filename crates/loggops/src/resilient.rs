//! Delays of messages that are sent by a resilient protocol: hops x size, each message its mean (HAEC-SIM, sections 4 and 5).
//!
//! Here are the keys of the `[model]` section with `cost = "resilient"`; the protocols themselves are in [`resilience`].

use super::{class_paths::ClassPaths, delays::Delays};
use base::{
    index::TerminalId,
    param::{Excerpt, Kind, Param, Problem, Value, Values},
    time::Ps,
};
use fabric::{graph::Fabric, metrics::Hops};
use resilience::{
    Constants, Estimate, Occupancy, Parameters, Protocol, Timeout, fits::Fits, means::Means,
    parameters::loss_of, path::Path,
};
use std::sync::Arc;

/// A protocol, and how well its means are sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct Resilient {
    /// The protocol and its parameters.
    pub parameters: Parameters,
    /// Samples of each mean.
    pub samples: u64,
    /// Seed of the samples.
    pub seed: u64,
    /// Loss by link class of the network, the terminals' first, if classes differ.
    pub class_loss: Option<[f64; MOST_CLASSES]>,
    /// Fits in place of samples.
    pub fits: Option<Named>,
}

/// Most link classes with losses of their own.
pub const MOST_CLASSES: usize = 16;

/// A key that only `cost = "resilient"` reads.
const fn key(name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Param {
    Param { name, kind, default: Some(default), doc }
}

/// Greatest probability of a loss.
pub const MOST_LOSS: f64 = 0.999_999;

const PROBABILITY: Kind = Kind::Real { min: 0.0, max: MOST_LOSS };

/// Keys of the section.
pub const PARAMS: [Param; 19] = [
    key(
        "protocol",
        Kind::Choice(Protocol::NAMES),
        "dor",
        "With `cost = \"resilient\"`, like all keys below: how messages are sent.",
    ),
    key("loss", PROBABILITY, "0.01", "Probability that a link between routers loses a packet."),
    key(
        "bit_errors",
        PROBABILITY,
        "0",
        "Bit-error rate; if it is not 0, `loss` follows: 1 - (1 - BER)^(8 `packet_size`).",
    ),
    key(
        "class_loss",
        Kind::Texts,
        "[]",
        "Loss of link classes in place of `loss`, such as `[\"global=0.01\"]`; messages take a shortest path.",
    ),
    key(
        "tamper",
        PROBABILITY,
        "0",
        "Probability that a packet is changed on a link; the next node verifies and discards it.",
    ),
    key("window", Kind::Int { min: 1, max: 32 }, "5", "Packets of a window or generation, s_w."),
    key(
        "constants",
        Kind::Choice(&["table2", "formula"]),
        "table2",
        "Delays of a hop: as the paper's Table 2 prints them, or d_out + l + 8 s / b + d_in from the keys below.",
    ),
    key(
        "occupancy",
        Kind::Choice(&["hop", "wire"]),
        "hop",
        "How long a packet keeps a link busy: for its whole delay, or for its bytes.",
    ),
    key(
        "estimate",
        Kind::Choice(&["converged", "cumulative"]),
        "converged",
        "What ncd takes for the probability of delivery: the true one, or received of sent so far in the message.",
    ),
    key(
        "timeout",
        Kind::Choice(&["window", "packet"]),
        "window",
        "Packets that timers count with: of the whole window (generation), or those sent together (a packet sent again, a round).",
    ),
    key("packet_size", Kind::Bytes, "1500 B", "Bytes of a packet, s_p."),
    key("signature", Kind::Bytes, "32 B", "Bytes of a signature, s_sig."),
    key("link_bandwidth", Kind::Bandwidth, "9.375 GB/s", "Bandwidth of a link, b."),
    key("link_latency", Kind::Time, "1270 ns", "Latency of a link, l."),
    key(
        "injection",
        Kind::Time,
        "500 ns",
        "From MPI to the transport layer, d_mpi; all that a message to the same node takes.",
    ),
    key(
        "crypto",
        Kind::Ints { min: 0, max: 1_000_000_000 },
        "[127000, 40000, 100000]",
        "Picoseconds of d_in = d_out, d_sign and d_verify.",
    ),
    key(
        "samples",
        Kind::Int { min: 1, max: 1_000_000_000 },
        "10000",
        "Samples of each mean: per number of hops and size of window.",
    ),
    key(
        "evaluate",
        Kind::Choice(&["samples", "fit"]),
        "samples",
        "Means come from samples of the protocol, or from the fits of a file.",
    ),
    key(
        "fit",
        Kind::File,
        "",
        "File of fits (`netloom resilient --fit`), for `evaluate = \"fit\"`. Nothing is extrapolated: other parameters, losses, windows or longer paths than \
         were fitted are refused.",
    ),
];

impl Resilient {
    /// Reads checked values.
    ///
    /// # Errors
    /// Values that do not go together.
    pub fn from_values(values: &Values) -> Result<Self, Vec<Problem>> {
        let protocol = Protocol::of(&values.text("protocol")).unwrap_or(Protocol::Dor);
        let (bit_errors, packet) = (values.real("bit_errors"), values.int("packet_size"));
        let loss = if bit_errors > 0.0 { loss_of(bit_errors, packet) } else { values.real("loss") };
        let crypto = values.ints("crypto");
        let &[port, sign, verify] = crypto.as_slice() else {
            return Err(vec![Problem::new(
                "crypto",
                "three times are needed: d_in = d_out, d_sign, d_verify",
            )]);
        };
        let parameters = Parameters {
            constants: if values.text("constants") == "table2" {
                Constants::Table2
            } else {
                Constants::Formula
            },
            occupancy: if values.text("occupancy") == "hop" { Occupancy::Hop } else { Occupancy::Wire },
            estimate: if values.text("estimate") == "converged" {
                Estimate::Converged
            } else {
                Estimate::Cumulative
            },
            timeout: if values.text("timeout") == "window" { Timeout::Window } else { Timeout::Packet },
            loss,
            tamper: values.real("tamper"),
            window: values.u32("window"),
            packet,
            signature: values.int("signature"),
            bandwidth: values.bandwidth("link_bandwidth"),
            latency: values.time("link_latency"),
            injection: values.time("injection"),
            port,
            sign,
            verify,
            ..Parameters::table2(protocol)
        };
        if parameters.injection == 0 {
            return Err(vec![Problem::new("injection", "a message must take time, also to the same node")]);
        }
        parameters.delays().map_err(|message| vec![Problem::new("protocol", message)])?;
        let fits = match (values.text("evaluate") == "fit", file(values)) {
            (true, file) => Some(fits(file, &parameters)?),
            (false, "") => None,
            (false, _) => {
                let problem = Problem::new("fit", "`fit` has no effect with `evaluate = \"samples\"`");
                return Err(vec![problem.help("remove it, or write `evaluate = \"fit\"`")]);
            }
        };
        if fits.is_some() && !values.texts("class_loss").is_empty() {
            let problem =
                Problem::new("class_loss", "fits are for links of one loss, not for losses by class");
            return Err(vec![problem.help("leave `evaluate` at \"samples\" or name one `loss`")]);
        }
        Ok(Self { parameters, samples: values.int("samples"), seed: 1, class_loss: None, fits })
    }
}

/// The file of fits that is named.
fn file(values: &Values) -> &str {
    match values.0.get("fit") {
        Some(Value::Text(file)) => file,
        _ => "",
    }
}

/// Refuses what would have no effect with other costs, though it was written.
///
/// # Errors
/// Each such key.
pub(super) fn unread(values: &Values) -> Result<(), Vec<Problem>> {
    let written = [
        ("class_loss", !values.texts("class_loss").is_empty()),
        ("evaluate", values.text("evaluate") == "fit"),
        ("fit", !file(values).is_empty()),
    ];
    let problem = |(key, _)| {
        let message = format!("`{key}` has no effect with `cost = \"{}\"`", values.text("cost"));
        Problem::new(key, message).help("remove it, or write `cost = \"resilient\"`")
    };
    let problems: Vec<Problem> = written.into_iter().filter(|w| w.1).map(problem).collect();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Fits with the name of their file.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// What the file holds.
    pub fits: Arc<Fits>,
    /// Path of the file, for messages.
    pub path: String,
}

/// Reads a file of fits, which must cover the parameters.
fn fits(path: &str, parameters: &Parameters) -> Result<Named, Vec<Problem>> {
    if path.is_empty() {
        let problem = Problem::new("evaluate", "`evaluate = \"fit\"` needs a file of fits");
        return Err(vec![problem.help("`netloom resilient --fit FILE` makes one; name it by `fit`")]);
    }
    let whole = |message: String| {
        vec![Problem::new("fit", message).at(Excerpt { file: path.to_owned(), ..Excerpt::default() })]
    };
    let bytes = base::input::read(path).map_err(|e| whole(format!("the file cannot be read: {e}")))?;
    let text = String::from_utf8(bytes).map_err(|_| whole("the file is not UTF-8 text".to_owned()))?;
    let fits = Fits::read(&text).map_err(whole)?;
    fits.covers(parameters)
        .map_err(|(key, message)| vec![Problem::new(key, format!("{path}: {message}"))])?;
    Ok(Named { fits: Arc::new(fits), path: path.to_owned() })
}

/// Delays by hops and size.
pub struct ResilientDelays {
    means: Means,
    hops: Hops,
    /// What the means are named by, if not by hops.
    paths: Option<ClassPaths>,
}

impl ResilientDelays {
    /// Delays over these distances.
    ///
    /// # Errors
    /// If next to nothing is delivered over the longest path.
    pub fn new(config: &Resilient, hops: Hops, fabric: Option<&Fabric>) -> Result<Self, String> {
        if let (Some(losses), Some(fabric)) = (&config.class_loss, fabric) {
            let classes = ClassPaths::of(fabric)?;
            let link = |class: &u8| (losses[usize::from(*class)], config.parameters.tamper);
            let path = |classes: &Vec<u8>| Path::new(&classes.iter().map(link).collect::<Vec<_>>());
            let paths = classes.sequences()[1..].iter().map(path).collect::<Result<_, _>>()?;
            let means = Means::over(&config.parameters, paths, config.samples, config.seed)?;
            return Ok(Self { means, hops, paths: Some(classes) });
        }
        let means = match &config.fits {
            Some(Named { fits, path }) => Means::fitted(&config.parameters, hops.most(), fits)
                .map_err(|why| format!("{path}: {why}"))?,
            None => Means::new(&config.parameters, hops.most(), config.samples, config.seed)?,
        };
        Ok(Self { means, hops, paths: None })
    }
}

impl Delays for ResilientDelays {
    #[inline]
    fn delay(&self, from: TerminalId, to: TerminalId, bytes: u64) -> Ps {
        let index = match &self.paths {
            Some(paths) => paths.between(from, to),
            None => self.hops.between(from, to),
        };
        self.means.delay(index, bytes)
    }

    fn least(&self) -> Ps {
        self.means.least()
    }

    fn hops(&self, from: TerminalId, to: TerminalId) -> u32 {
        self.hops.between(from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::samples::{int, topology};
    use resilience::{Point, sample};

    #[test]
    fn a_message_takes_its_mean_over_its_hops() {
        let lossless = Parameters { loss: 0.0, ..Parameters::table2(Protocol::Dor) };
        let config = Resilient { parameters: lossless, samples: 10, seed: 1, class_loss: None, fits: None };
        let hops = Hops::Grid { dims: vec![4, 4], wraps: false, coordinates: vec![0, 0, 1, 0, 3, 3, 0, 0] };
        let delays = ResilientDelays::new(&config, hops, None).unwrap();
        assert_eq!(delays.delay(TerminalId::new(0), TerminalId::new(1), 3264), 5_820_000);
        assert_eq!(delays.delay(TerminalId::new(0), TerminalId::new(3), 3264), 500_000);
        assert_eq!(delays.least(), 500_000);
        let d = lossless.delays().unwrap();
        assert_eq!(
            delays.delay(TerminalId::new(0), TerminalId::new(2), 0),
            d.picoseconds(d.lossless(6, 1, 5))
        );
    }

    /// Each link of a way loses what its class does: as the path of these links does.
    #[test]
    fn losses_by_class_are_those_of_the_path() {
        let given = [
            ("groups", int(3)),
            ("routers_per_group", int(2)),
            ("terminals_per_router", int(1)),
            ("global_ports_per_router", int(1)),
        ];
        let fabric = topology("dragonfly", &given);
        let parameters = Parameters::table2(Protocol::Dor);
        let mut losses = [0.0; MOST_CLASSES];
        (losses[1], losses[2]) = (0.02, 0.3);
        let config = Resilient { parameters, samples: 4000, seed: 1, class_loss: Some(losses), fits: None };
        let delays = ResilientDelays::new(&config, Hops::of(&fabric).unwrap(), Some(&fabric)).unwrap();
        let paths = ClassPaths::of(&fabric).unwrap();
        for to in 1..6 {
            let classes = &paths.sequences()[paths.between(TerminalId::new(0), TerminalId::new(to)) as usize];
            let links: Vec<_> = classes.iter().map(|&c| (losses[usize::from(c)], 0.0)).collect();
            let path = Path::new(&links).unwrap();
            let point = Point { parameters: &parameters, path: &path, packets: 1, seed: 5 };
            let all = sample(&point, 4000, 1).unwrap().time;
            let scale = parameters.delays().unwrap().scale as f64;
            let (mean, error) = (all.mean() / scale, all.standard_error() / scale);
            let ours = delays.delay(TerminalId::new(0), TerminalId::new(to), 100) as f64;
            assert!((ours - mean).abs() < 6.0 * error + 1.0, "to {to}: {ours}, {mean} +- {error}");
        }
    }
}
