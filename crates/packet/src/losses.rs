//! Which packets links lose, and which ones somebody changes: pure functions of packet and link. See `TRANSPORT.md`.

use crate::identity::PacketId;
use base::{
    index::LinkId,
    rng::{Purpose, Stream},
};
use resilience::parameters::power;

/// What may happen to a packet on a link of some class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Chance {
    /// Probability that a packet is lost, whatever its size.
    pub loss: f64,
    /// Probability that a bit is wrong; one such loses the packet.
    pub bit_errors: f64,
    /// Probability that a packet is changed so that only its destination finds out.
    pub tamper: f64,
}

impl Chance {
    /// Probability that a packet of `bytes` is lost: 1 - (1 - loss) (1 - BER)^(8 bytes).
    #[must_use]
    pub fn losing(&self, bytes: u32) -> f64 {
        debug_assert!(bytes > 0, "a packet has a byte on the wire");
        1.0 - (1.0 - self.loss) * power(1.0 - self.bit_errors, 8 * u64::from(bytes))
    }
}

/// Chances of all links, and the draws.
#[derive(Clone, Debug)]
pub struct Losses {
    /// By timing: link classes, then the terminals' own links.
    chances: Vec<Chance>,
    stream: Stream,
    /// Some link loses packets.
    pub lossy: bool,
    /// On some link packets are changed.
    pub tampering: bool,
}

impl Losses {
    /// Chances by link class, the terminals' first.
    #[must_use]
    pub fn new(by_class: &[Chance], seed: u64) -> Self {
        let mut chances = by_class.to_vec();
        chances.extend(by_class.first());
        let lossy = chances.iter().any(|c| c.loss > 0.0 || c.bit_errors > 0.0);
        let tampering = chances.iter().any(|c| c.tamper > 0.0);
        Self { chances, stream: Stream::new(seed, Purpose::Loss, 0), lossy, tampering }
    }

    /// True if the packet is lost on the link, whose timing is given.
    #[must_use]
    pub fn loses(&self, timing: u8, link: LinkId, id: PacketId, bytes: u32) -> bool {
        let probability = self.chances[usize::from(timing)].losing(bytes);
        probability > 0.0 && self.draw(id, u64::from(link) << 1) < threshold(probability)
    }

    /// True if the packet is changed on the link.
    #[must_use]
    pub fn tampers(&self, timing: u8, link: LinkId, id: PacketId) -> bool {
        let probability = self.chances[usize::from(timing)].tamper;
        probability > 0.0 && self.draw(id, u64::from(link) << 1 | 1) < threshold(probability)
    }

    /// True if a combination brings nothing new to a receiver that lacks `missing` dimensions: probability 256^-missing.
    #[must_use]
    pub fn is_worthless(&self, id: PacketId, missing: u32) -> bool {
        missing < 8 && self.draw(id, 1 << 63) < 1 << (64 - 8 * missing.max(1))
    }

    fn draw(&self, id: PacketId, counter: u64) -> u64 {
        self.stream.owned_by(id.key()).at(counter).next_u64()
    }
}

/// A probability in units of 2^-64.
fn threshold(probability: f64) -> u64 {
    debug_assert!((0.0..=1.0).contains(&probability), "a probability is a share");
    (probability * 18_446_744_073_709_551_616.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::index::TerminalId;

    #[test]
    fn draws_have_their_probability_and_belong_to_packet_and_link() {
        let chance = Chance { loss: 0.1, bit_errors: 1e-5, tamper: 0.02 };
        let losses = Losses::new(&[Chance::default(), chance], 7);
        assert!(losses.lossy && losses.tampering);
        let packet = |number| PacketId::new(TerminalId::new(0), number);
        let n = 100_000;
        let share = |hit: &dyn Fn(PacketId) -> bool| {
            (0..n).filter(|&id| hit(packet(id))).count() as f64 / f64::from(n)
        };
        let expected = 1.0 - 0.9 * (1.0f64 - 1e-5).powi(8000);
        assert!((chance.losing(1000) - expected).abs() < 1e-12);
        assert!((share(&|id| losses.loses(1, LinkId::new(5), id, 1000)) - expected).abs() < 0.005);
        assert!((share(&|id| losses.tampers(1, LinkId::new(5), id)) - 0.02).abs() < 0.002);
        assert!((share(&|id| losses.is_worthless(id, 1)) - 1.0 / 256.0).abs() < 0.001);
        // Terminals' links, on both ways.
        assert!(!(0..n).any(|id| losses.loses(0, LinkId::new(5), packet(id), 1000)
            || losses.loses(2, LinkId::new(9), packet(id), 1000)));
        // Another link, another draw.
        let both = share(&|id| {
            losses.loses(1, LinkId::new(5), id, 1000) && losses.loses(1, LinkId::new(6), id, 1000)
        });
        assert!((both - expected * expected).abs() < 0.004);
    }
}
