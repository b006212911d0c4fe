//! Parameters of the protocols, and the delays that follow from them.

use super::gf256::MAX_GENERATION;
use base::{
    rate::Bandwidth,
    time::{NS, Ps},
};

/// A time in ticks: [`Delays::scale`] of them are a picosecond.
pub type Tick = u64;

/// Bytes of the window (generation) identifier, the packet identifier (rank, in coding), the time stamp, and of a field element.
const WINDOW_ID: u64 = 4;
const PACKET_ID: u64 = 1;
const TIME_STAMP: u64 = 4;
const SYMBOL: u64 = 1;

/// Most ticks in a picosecond. Bandwidths that need finer ones have their byte times rounded to this.
const MAX_SCALE: u64 = 1_000;

/// A protocol that delivers messages over links that lose packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// `DOR_r`: windows, every packet acknowledged, retransmission.
    Dor,
    /// `PNC_r`: random linear network coding, rounds by the rank that the receiver reports.
    Pnc,
    /// `PNC_r` that sends combinations until the full rank is acknowledged.
    PncRateless,
    /// `NCD_r`: `PNC_r` with as many packets more as are expected to be lost.
    Ncd,
}

impl Protocol {
    /// Every protocol, in the order of the variants.
    pub const ALL: [Self; 4] = [Self::Dor, Self::Pnc, Self::PncRateless, Self::Ncd];
    /// The three of the paper.
    pub const PAPER: [Self; 3] = [Self::Dor, Self::Pnc, Self::Ncd];
    /// Names, in the order of [`Protocol::ALL`].
    pub const NAMES: &[&str] = &["dor", "pnc", "pnc-rateless", "ncd"];

    /// Its name in experiments: that of [`Protocol::NAMES`].
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The protocol of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.name() == name)
    }

    /// True if packets are combinations.
    #[must_use]
    pub fn codes(self) -> bool {
        self != Self::Dor
    }
}

/// Where the delays of a hop come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constants {
    /// As Table 2 prints them: 1.544 us for a packet, 1.525 us for an acknowledgement. They follow from 75 GB/s, eight times the stated bandwidth.
    Table2,
    /// `d_out + l + 8 s / b + d_in` with the bandwidth as stated.
    Formula,
}

/// How long a packet keeps a link busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupancy {
    /// For its whole delay: a store-and-forward station.
    Hop,
    /// For its bytes at the bandwidth; latency is a pipe.
    Wire,
}

/// What `NCD_r` takes for the probability of delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimate {
    /// The true one: as if it had learned from long traffic.
    Converged,
    /// Received of sent so far in this message, 1 at first.
    Cumulative,
}

/// Which number of packets g a timer RTO(g) counts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// Packets of the window, which may be the shorter last one; in coding, of a full generation, or of the round if it has more.
    Window,
    /// Those that are sent together: for a packet that `DOR_r` sends again 1; in coding, packets of the round.
    Packet,
}

/// Everything that a user may choose. [`Parameters::table2`] has the paper's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// How packets are sent and acknowledged.
    pub protocol: Protocol,
    /// Origin of hop delays.
    pub constants: Constants,
    /// How long links are busy.
    pub occupancy: Occupancy,
    /// What `NCD_r` takes for the probability of delivery; others ignore it.
    pub estimate: Estimate,
    /// Which packets timers count with.
    pub timeout: Timeout,
    /// Probability that a link loses a packet.
    pub loss: f64,
    /// Probability that a packet is changed on a link, which the next node finds out.
    pub tamper: f64,
    /// Packets of a window or generation: `s_w`.
    pub window: u32,
    /// Bytes of a packet: `s_p`.
    pub packet: u64,
    /// Bytes of a signature: `s_sig`.
    pub signature: u64,
    /// Bandwidth of a link: b.
    pub bandwidth: Bandwidth,
    /// Latency of a link: l.
    pub latency: Ps,
    /// From the call of MPI to the transport layer: `d_mpi`.
    pub injection: Ps,
    /// Into or out of a channel: `d_in = d_out`.
    pub port: Ps,
    /// Making a signature: `d_sign`.
    pub sign: Ps,
    /// Verifying a signature: `d_verify`.
    pub verify: Ps,
}

impl Parameters {
    /// The values of Table 2, and a loss of 1 %.
    #[must_use]
    pub fn table2(protocol: Protocol) -> Self {
        Self {
            protocol,
            constants: Constants::Table2,
            occupancy: Occupancy::Hop,
            estimate: Estimate::Converged,
            timeout: Timeout::Window,
            loss: 0.01,
            tamper: 0.0,
            window: 5,
            packet: 1500,
            signature: 32,
            bandwidth: Bandwidth::new(9_375_000_000, 1).expect("9.375 GB/s is a bandwidth"),
            latency: 1_270 * NS,
            injection: 500 * NS,
            port: 127 * NS,
            sign: 40 * NS,
            verify: 100 * NS,
        }
    }

    /// Bytes of an acknowledgement: `s_a`.
    #[must_use]
    pub fn acknowledgement(&self) -> u64 {
        WINDOW_ID + PACKET_ID + TIME_STAMP + self.signature
    }

    /// Bytes of a message in a packet: `L_p`; `None` if nothing is left for them.
    #[must_use]
    pub fn payload(&self) -> Option<u64> {
        let head = if self.protocol.codes() { u64::from(self.window) * SYMBOL } else { PACKET_ID };
        self.packet.checked_sub(WINDOW_ID + head + self.signature).filter(|&payload| payload > 0)
    }

    /// Packets of a message: one at least.
    ///
    /// # Errors
    /// If a packet has no room for a payload.
    pub fn packets(&self, bytes: u64) -> Result<u64, String> {
        let payload = self.payload().ok_or_else(|| {
            format!("a packet of {} B has no room beside its head and signature", self.packet)
        })?;
        Ok(bytes.div_ceil(payload).max(1))
    }

    /// The delays that follow from the parameters, in ticks.
    ///
    /// # Errors
    /// Values that do not go together: the reason.
    pub fn delays(&self) -> Result<Delays, String> {
        if self.window == 0 || self.window as usize > MAX_GENERATION {
            return Err(format!("a window has 1 to {MAX_GENERATION} packets, not {}", self.window));
        }
        self.packets(1)?;
        let acknowledgement = self.acknowledgement();
        if self.constants == Constants::Table2
            && (self.packet, acknowledgement, self.port, self.latency) != (1500, 41, 127 * NS, 1_270 * NS)
        {
            return Err("Table 2 prints hop delays for packets of 1500 B, signatures of 32 B, ports of 127 ns and a latency of 1270 ns; \
                        other values need `formula`"
                .to_owned());
        }
        let scale = self.scale([self.packet, acknowledgement]);
        let exact = |ps: Ps| {
            ps.checked_mul(scale)
                .filter(|t| *t < 1 << 50)
                .ok_or_else(|| "a delay exceeds a quarter of an hour".to_owned())
        };
        let wire = |bytes: u64| {
            let span = self.bandwidth.time(bytes).ok_or("a packet takes too long on such a link")?;
            let rest = u128::from(span.fraction) * u128::from(scale);
            let unit = u128::from(self.bandwidth.denominator());
            Ok::<_, String>(exact(span.whole)? + ((rest + unit / 2) / unit) as u64)
        };
        let hop = |bytes| Ok::<_, String>(exact(2 * self.port + self.latency)? + wire(bytes)?);
        let (hop_packet, hop_ack) = match self.constants {
            Constants::Table2 => (exact(1_544 * NS)?, exact(1_525 * NS)?),
            Constants::Formula => (hop(self.packet)?, hop(acknowledgement)?),
        };
        let (encode, decode) = if self.protocol.codes() { (NS / 2, 5 * NS / 2) } else { (0, 0) };
        let busy = match self.occupancy {
            Occupancy::Hop => hop_packet,
            Occupancy::Wire => wire(self.packet)?,
        };
        let send = exact(self.sign + 2 * self.port + encode)?;
        let receive = exact(self.verify + self.sign + 2 * self.port + decode)?;
        let forward = exact(self.verify)? + exact(self.port)? / 2;
        let pace = if self.occupancy == Occupancy::Hop { hop_packet } else { send.max(receive).max(busy) };
        let injection = exact(self.injection)?;
        Ok(Delays {
            scale,
            injection,
            send,
            receive,
            forward,
            acknowledge: forward,
            hop_packet,
            hop_ack,
            busy,
            pace,
        })
    }

    /// Ticks per picosecond in which the times of these numbers of bytes, and half a port's delay, are whole.
    fn scale(&self, bytes: [u64; 2]) -> u64 {
        let unit = u128::from(self.bandwidth.denominator());
        let mut scale = if self.port.is_multiple_of(2) { 1 } else { 2 };
        for n in bytes {
            let fraction = self.bandwidth.time(n).map_or(0, |span| u128::from(span.fraction));
            let needed = unit / gcd(fraction, unit);
            let both = scale / gcd(scale, needed) * needed;
            if both > u128::from(MAX_SCALE) {
                return MAX_SCALE;
            }
            scale = both;
        }
        scale as u64
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The loss of a block of `bytes` at a bit-error rate: 1 - (1 - BER)^(8 bytes).
#[must_use]
pub fn loss_of(bit_errors: f64, bytes: u64) -> f64 {
    1.0 - power(1.0 - bit_errors, 8 * bytes)
}

/// A power with a natural exponent: the same bits everywhere.
#[must_use]
pub fn power(base: f64, mut exponent: u64) -> f64 {
    let (mut result, mut square) = (1.0, base);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= square;
        }
        square *= square;
        exponent >>= 1;
    }
    result
}

/// Delays in ticks, exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// Ticks per picosecond.
    pub scale: u64,
    /// From the call of MPI to the transport layer, once per message: `d_mpi`.
    pub injection: Tick,
    /// Signing, coding and sending a packet at its source: `d_s`.
    pub send: Tick,
    /// Receiving a packet at its destination, with its acknowledgement's signature: `d_r`.
    pub receive: Tick,
    /// Passing a packet on at a node between: `d_i`.
    pub forward: Tick,
    /// Receiving an acknowledgement at the source: `d_a`.
    pub acknowledge: Tick,
    /// A data packet over one hop: `d_h,p`.
    pub hop_packet: Tick,
    /// An acknowledgement over one hop: `d_h,a`.
    pub hop_ack: Tick,
    /// How long a packet keeps a link busy.
    pub busy: Tick,
    /// What one packet more adds to a window.
    pub pace: Tick,
}

impl Delays {
    /// From a packet's leaving the sender until it is processed, on free links.
    #[must_use]
    pub fn forth(&self, hops: u64) -> Tick {
        debug_assert!(hops > 0, "a path has a link at least");
        hops * self.hop_packet + (hops - 1) * self.forward + self.receive
    }

    /// From there until its acknowledgement is processed.
    #[must_use]
    pub fn back(&self, hops: u64) -> Tick {
        debug_assert!(hops > 0, "a path has a link at least");
        hops * self.hop_ack + (hops - 1) * self.forward + self.acknowledge
    }

    /// RTO(g): how long a sender waits for the acknowledgement of g = `packets` packets over `hops` hops.
    #[must_use]
    pub fn timeout(&self, hops: u64, packets: u64) -> Tick {
        self.forth(hops) + self.back(hops) + (packets - 1) * self.pace
    }

    /// Time of a message of so many packets over links that lose nothing, if combinations are always innovative.
    #[must_use]
    pub fn lossless(&self, hops: u64, packets: u64, window: u64) -> Tick {
        debug_assert!(packets > 0 && window > 0, "a message has a packet, and so has a window");
        let one = |g: u64| self.send + self.forth(hops) + (g - 1) * self.pace;
        let (full, last) = ((packets - 1) / window, (packets - 1) % window + 1);
        self.injection + full * (one(window) + self.back(hops)) + one(last)
    }

    /// Ticks as picoseconds, rounded once, halves up.
    #[must_use]
    pub fn picoseconds(&self, ticks: u64) -> Ps {
        (ticks + self.scale / 2) / self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_2_is_reproduced() {
        for protocol in Protocol::ALL {
            let p = Parameters::table2(protocol);
            let d = p.delays().unwrap();
            let coding = u64::from(protocol.codes());
            assert_eq!((p.acknowledgement(), p.payload()), (41, Some(1463 - 4 * coding)));
            assert_eq!(d.scale, 3);
            // In thirds of a picosecond.
            let ps = |ns: u64, halves: u64| 3 * (1000 * ns + 500 * halves);
            assert_eq!([d.send, d.receive], [ps(294, coding), ps(394, 5 * coding)]);
            assert_eq!([d.forward, d.acknowledge], [ps(163, 1); 2]);
            assert_eq!([d.hop_packet, d.hop_ack], [ps(1544, 0), ps(1525, 0)]);
        }
    }

    #[test]
    fn the_formula_is_exact() {
        let d = Parameters { constants: Constants::Formula, ..Parameters::table2(Protocol::Dor) }
            .delays()
            .unwrap();
        // 41 B take 4373 1/3 ps.
        assert_eq!((d.scale, d.hop_packet, d.hop_ack), (3, 3 * 1_684_000, 3 * 1_528_373 + 1));
        let fast = Bandwidth::new(75_000_000_000, 1).unwrap();
        let d = Parameters {
            constants: Constants::Formula,
            bandwidth: fast,
            ..Parameters::table2(Protocol::Dor)
        };
        assert_eq!(d.delays().unwrap().picoseconds(d.delays().unwrap().hop_ack), 1_524_547);
        assert!((loss_of(8.4e-7, 1500) - 0.01).abs() < 5e-5);
    }

    /// Ticks are no finer than they must be: of two spans of ninths of a picosecond the least common multiple is nine, not 81.
    #[test]
    fn ticks_are_as_long_as_can_be() {
        let p = Parameters { packet: 1500, ..Parameters::table2(Protocol::Dor) };
        for (bytes_per_second, scale) in [(9_000_000_000, 9), (3_000_000_000, 3), (4_000_000_000, 1)] {
            let p = Parameters { bandwidth: Bandwidth::new(bytes_per_second, 1).unwrap(), ..p };
            assert_eq!(p.scale([1, 2]), scale, "{bytes_per_second} B/s");
        }
        assert_eq!(Parameters { port: 127_001, ..p }.scale([3, 3]), 2);
    }

    #[test]
    fn lossless_times_are_the_published_closed_form() {
        let p = Parameters::table2(Protocol::Dor);
        let d = p.delays().unwrap();
        let time = |bytes, hops| d.picoseconds(d.lossless(hops, p.packets(bytes).unwrap(), 5));
        assert_eq!(time(3264, 1), 5_820_000);
        assert_eq!(time(204_800, 1), 281_513_500);
        assert_eq!(time(0, 1), time(240, 1));
    }

    #[test]
    fn impossible_values_are_refused() {
        let p = Parameters::table2(Protocol::Pnc);
        assert!(Parameters { window: 0, ..p }.delays().is_err());
        assert!(Parameters { window: 33, ..p }.delays().is_err());
        assert!(Parameters { packet: 41, constants: Constants::Formula, ..p }.delays().is_err());
        assert!(Parameters { packet: 3000, ..p }.delays().unwrap_err().contains("formula"));
    }
}
