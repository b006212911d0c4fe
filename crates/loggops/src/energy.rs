//! Energy of messages by a resilient protocol: the expected bits on links.
//!
//! Messages are counted by hops and by packets of their windows, as they are sent; the links that a window's packets cross before they arrive or are lost are
//! sampled once for each. An acknowledgement is sent for each packet that arrives, and crosses links until it is lost.

use super::resilient::Resilient;
use base::{hash::mix64, time::Ps};
use fabric::graph::{Fabric, Peer};
use model::energy::{Consumed, Energy, Use};
use resilience::{Point, path::Path, sample};
use serde::{Deserialize, Serialize};

/// Windows sent, by hops and packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windows(Vec<Vec<u64>>);

impl Windows {
    /// Counts the windows of a message.
    pub fn add(&mut self, hops: u32, packets: u64, window: u64) {
        let (hops, window) = (hops as usize, window as usize);
        if hops >= self.0.len() {
            self.0.resize(hops + 1, vec![0; window]);
        }
        let (full, last) = ((packets - 1) / window as u64, (packets - 1) % window as u64);
        self.0[hops][window - 1] += full;
        self.0[hops][last as usize] += 1;
    }

    /// Adds what others counted.
    pub fn merge(&mut self, other: &Self) {
        if other.0.len() > self.0.len() {
            let width = other.0[0].len();
            self.0.resize(other.0.len(), vec![0; width]);
        }
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        }
    }

    /// Expected bits on links between routers: packets and acknowledgements, those that are lost on the way included. Messages within a node
    /// (0 hops) use none.
    #[must_use]
    pub fn bits(&self, config: &Resilient) -> f64 {
        let p = &config.parameters;
        let mut bits = 0.0;
        for (hops, counts) in self.0.iter().enumerate().skip(1) {
            let Ok(path) = Path::uniform(hops as u32, p.loss, p.tamper) else { continue };
            // What an acknowledgement crosses, the link that loses it included.
            let alive = (1.0 - p.loss) * (1.0 - p.tamper);
            let back: f64 = (0..hops).map(|k| resilience::parameters::power(alive, k as u64)).sum();
            for (packets, &count) in (1..).zip(counts).filter(|(_, count)| **count > 0) {
                let seed = mix64(config.seed ^ mix64((hops as u64) << 32 | packets));
                let point = Point { parameters: p, path: &path, packets, seed };
                let Ok(all) = sample(&point, config.samples.max(1), 1) else { continue };
                let crossed = all.crossed as f64 / all.time.samples as f64;
                let answered = all.sent.mean() * path.delivery();
                let bytes = crossed * p.packet as f64 + answered * back * p.acknowledgement() as f64;
                bits += count as f64 * 8.0 * bytes;
            }
        }
        bits
    }
}

/// The block of the summary: routers and interfaces of the fabric, and all its links between routers as one class.
#[must_use]
pub fn block(
    energy: &Energy,
    fabric: &Fabric,
    bits: f64,
    time: Ps,
    messages: u64,
    bytes: u64,
) -> results::summary::Energy {
    let between = fabric.ports().iter().filter(|p| matches!(p.peer, Peer::Router { .. })).count() as u64;
    let uses = [Use { class: "between routers".to_owned(), links: between, bits, ..Use::default() }];
    let parts = (u64::from(fabric.routers()), u64::from(fabric.terminals()));
    energy.block(&Consumed { time, parts, uses: &uses, delivered: (messages, bytes) })
}
