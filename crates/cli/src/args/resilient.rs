//! Arguments of `netloom resilient`.

use super::shared::Format;
use base::{rate::Bandwidth, time::Ps, units};
use clap::{Args, ValueEnum};
use netloom::values::time;
use resilience::{
    Constants, Estimate, Occupancy, Parameters, Protocol, Timeout, fit::Shape, parameters::loss_of,
};
use std::path::PathBuf;

/// Arguments of `resilient`: messages, and the parameters of HAEC-SIM's Table 2.
#[derive(Debug, Args)]
pub struct ResilientArgs {
    /// Protocols: dor, pnc, pnc-rateless, ncd
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = protocol, default_value = "dor,pnc,ncd")]
    pub protocol: Vec<Protocol>,
    /// Numbers of links, such as 1,2,6 or 1-10
    #[arg(long, value_name = "LIST", value_parser = hops, default_value = "1,6")]
    pub hops: Hops,
    /// Sizes of messages: `240 B,3264 B,200 KiB`
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = bytes, default_value = "240 B,3264 B,204800 B")]
    pub bytes: Vec<u64>,
    /// Probability that a link loses a packet
    #[arg(long, value_name = "P", default_value_t = 0.01)]
    pub loss: f64,
    /// Bit-error rate, from which the loss follows
    #[arg(long, value_name = "BER", conflicts_with = "loss")]
    pub bit_errors: Option<f64>,
    /// Loss of each link of a path in place of --hops and --loss: `0.01,0.001,0.01`
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["hops", "loss", "bit_errors"])]
    pub link_loss: Vec<f64>,
    /// Probability that a packet is changed on a link; the next node verifies and discards it
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    pub tamper: f64,
    /// Packets of a window or generation
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub window: u32,
    /// Delays of a hop: as Table 2 prints them, or from bandwidth and latency
    #[arg(long = "set", value_enum, default_value_t = Set::Table2)]
    pub constants: Set,
    /// How long a packet keeps a link busy: for its delay, or for its bytes
    #[arg(long, value_enum, default_value_t = Busy::Hop)]
    pub occupancy: Busy,
    /// What ncd takes for the probability of delivery
    #[arg(long, value_enum, default_value_t = Guess::Converged)]
    pub estimate: Guess,
    /// Packets that timers count with: of the whole window (generation), or those sent together (a packet sent again, a round)
    #[arg(long, value_enum, default_value_t = Timer::Window)]
    pub timeout: Timer,
    /// Bytes of a packet
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "1500 B")]
    pub packet: u64,
    /// Bytes of a signature
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "32 B")]
    pub signature: u64,
    /// Bandwidth of a link
    #[arg(long, value_parser = bandwidth, default_value = "9.375 GB/s")]
    pub bandwidth: Bandwidth,
    /// Latency of a link
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1270 ns")]
    pub latency: Ps,
    /// From MPI to the transport layer
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "500 ns")]
    pub injection: Ps,
    /// Into or out of a channel
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "127 ns")]
    pub port: Ps,
    /// Making a signature
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "40 ns")]
    pub sign: Ps,
    /// Verifying a signature
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "100 ns")]
    pub verify: Ps,
    /// Fit times of windows of 1 to --window packets over --hops and write the fits into this file, for `evaluate = "fit"` of model `delay`; takes one protocol
    #[arg(long, value_name = "FILE", conflicts_with_all = ["link_loss", "bytes", "loss", "bit_errors"])]
    pub fit: Option<PathBuf>,
    /// With --fit: replace the file if it exists
    #[arg(long, requires = "fit")]
    pub force: bool,
    /// With --fit: losses from 0 to this
    #[arg(long, value_name = "P", default_value_t = 0.05, requires = "fit", value_parser = part)]
    pub most_loss: f64,
    /// With --fit: steps of the loss
    #[arg(long, value_name = "N", default_value_t = 20, requires = "fit", value_parser = clap::value_parser!(u32).range(4..=10_000))]
    pub steps: u32,
    /// With --fit: one polynomial of 25 terms, or one of the loss for each number of packets, anew behind each step of ncd
    #[arg(long, value_enum, default_value_t = Form::Pieces, requires = "fit")]
    pub shape: Form,
    /// With --fit: sample until standard errors are at most this, relative to the mean (at most 1,024 times --samples)
    #[arg(long, value_name = "E", default_value_t = 0.0005, requires = "fit", value_parser = positive)]
    pub error: f64,
    /// Samples of each message
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub samples: u64,
    /// Seed of the samples
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Threads; 0: as many as the machine has
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Numbers of links.
#[derive(Clone, Debug)]
pub struct Hops(pub Vec<u32>);

/// Values of `--set`: see [`Constants`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "named as what they choose")]
pub enum Set {
    Table2,
    Formula,
}

/// Values of `--occupancy`: see [`Occupancy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "named as what they choose")]
pub enum Busy {
    Hop,
    Wire,
}

/// Values of `--estimate`: see [`Estimate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "named as what they choose")]
pub enum Guess {
    Converged,
    Cumulative,
}

/// Values of `--timeout`: see [`Timeout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "named as what they choose")]
pub enum Timer {
    Window,
    Packet,
}

/// Values of `--shape`: see [`Shape`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "named as what they choose")]
pub enum Form {
    Biquartic,
    Pieces,
}

impl Form {
    /// Shape of fits that the value stands for.
    #[must_use]
    pub fn shape(self) -> Shape {
        if self == Self::Biquartic { Shape::Biquartic } else { Shape::Pieces }
    }
}

impl ResilientArgs {
    /// Parameters of one of the protocols.
    #[must_use]
    pub fn parameters(&self, protocol: Protocol) -> Parameters {
        Parameters {
            protocol,
            constants: if self.constants == Set::Table2 { Constants::Table2 } else { Constants::Formula },
            occupancy: if self.occupancy == Busy::Hop { Occupancy::Hop } else { Occupancy::Wire },
            estimate: if self.estimate == Guess::Converged {
                Estimate::Converged
            } else {
                Estimate::Cumulative
            },
            timeout: if self.timeout == Timer::Window { Timeout::Window } else { Timeout::Packet },
            loss: self.bit_errors.map_or(self.loss, |ber| loss_of(ber, self.packet)),
            tamper: self.tamper,
            window: self.window,
            packet: self.packet,
            signature: self.signature,
            bandwidth: self.bandwidth,
            latency: self.latency,
            injection: self.injection,
            port: self.port,
            sign: self.sign,
            verify: self.verify,
        }
    }

    /// Paths, each as the loss and tampering of its links.
    #[must_use]
    pub fn paths(&self) -> Vec<Vec<(f64, f64)>> {
        if !self.link_loss.is_empty() {
            return vec![self.link_loss.iter().map(|&loss| (loss, self.tamper)).collect()];
        }
        let loss = self.parameters(Protocol::Dor).loss;
        self.hops.0.iter().map(|&h| vec![(loss, self.tamper); h as usize]).collect()
    }
}

fn protocol(text: &str) -> Result<Protocol, String> {
    Protocol::of(text.trim()).ok_or_else(|| format!("the protocols are {}", Protocol::NAMES.join(", ")))
}

fn hops(text: &str) -> Result<Hops, String> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            (Ok(first), Ok(last)) if 1 <= first && first <= last && last <= 1000 => all.extend(first..=last),
            _ => return Err("write numbers of links from 1 to 1000, such as 1,2,6 or 1-10".to_owned()),
        }
    }
    Ok(Hops(all))
}

/// A finite number above 0.
fn positive(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0);
    number.ok_or_else(|| "write a number above 0".to_owned())
}

/// A probability that is neither 0 nor 1.
fn part(text: &str) -> Result<f64, String> {
    positive(text).ok().filter(|n| *n < 1.0).ok_or_else(|| "write a number above 0 and below 1".to_owned())
}

fn bytes(text: &str) -> Result<u64, String> {
    units::parse_bytes(text).map_err(|e| e.to_string())
}

fn bandwidth(text: &str) -> Result<Bandwidth, String> {
    units::parse_bandwidth(text).map_err(|e| e.to_string())
}
