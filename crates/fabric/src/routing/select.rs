//! The choice among equally good ports, shared by all routings that have one.

use super::{Congestion, Facts, Hop};
use base::{
    hash::mix64,
    index::{ChannelId, PortId},
    param::{Kind, Param, Values},
};

/// The `select` key with all rules.
pub(crate) const SELECT: Param = Param {
    name: "select",
    kind: Kind::Choice(&["random", "static", "round-robin", "least-queue", "most-credits"]),
    default: Some("random"),
    doc: "choice among equally good paths: `random` draws evenly at each decision; `static` is a hash of source and \
          destination, so that a pair always takes the same path; `round-robin` takes them in turn, packet by packet of \
          a source; `least-queue` takes the port with the fewest bytes queued or in its buffers, `most-credits` the \
          one with the most free buffer on the virtual channel to be used, ties drawn at random. Reads: both look at the outputs of the \
          router that they are asked at, without delay; with `route_per = \"chunk\"` they see the earlier chunks of the \
          same packet there",
};

/// A rule of [`SELECT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Select {
    /// Drawn evenly at each decision.
    Random,
    /// By a hash of source and destination.
    Static,
    /// In turn, packet by packet of a source.
    RoundRobin,
    /// Fewest bytes queued or in buffers of the port; ties drawn.
    LeastQueue,
    /// Most free buffer on the VC.
    MostCredits,
}

impl Select {
    /// The rule that the user chose by `key`.
    pub(crate) fn from_values(values: &Values, key: &str) -> Self {
        match values.text(key).as_str() {
            "static" => Self::Static,
            "round-robin" => Self::RoundRobin,
            "least-queue" => Self::LeastQueue,
            "most-credits" => Self::MostCredits,
            _ => Self::Random,
        }
    }

    /// True if it never looks at congestion.
    pub(crate) fn oblivious(self) -> bool {
        !matches!(self, Self::LeastQueue | Self::MostCredits)
    }

    /// What is true of a routing that chooses by it among ports that depend on the destination's router alone.
    pub(crate) fn facts(self) -> Facts {
        Facts { stateful: false, oblivious: self.oblivious(), terminals_alike: true, ..Facts::ADAPTIVE }
    }

    /// Which of `count` ports it takes, counted from 0: the i-th and the channel to be used on it are `path(i)`. `count`
    /// must not be 0.
    #[inline]
    pub(crate) fn choose(
        self,
        count: u32,
        path: impl Fn(u32) -> (PortId, ChannelId),
        hop: &mut Hop,
        congestion: &mut dyn Congestion,
    ) -> u32 {
        if count == 1 {
            return 0;
        }
        match self {
            Self::Random => hop.random.below(u64::from(count)) as u32,
            Self::Static => (mix64(pair(hop) ^ mix64(u64::from(hop.router))) % u64::from(count)) as u32,
            Self::RoundRobin => turn(hop, u64::from(count)) as u32,
            Self::LeastQueue | Self::MostCredits => least(count, hop, |i| {
                let (port, vc) = path(i);
                self.score(port, vc, congestion)
            }),
        }
    }

    /// What an adaptive rule minimises.
    pub(crate) fn score(self, port: PortId, vc: ChannelId, congestion: &mut dyn Congestion) -> u64 {
        match self {
            Self::MostCredits => u64::MAX - congestion.credits(port, vc),
            _ => congestion.backlog(port),
        }
    }

    /// The port that it takes of a list that is not empty.
    #[inline]
    pub(crate) fn port(
        self,
        ports: &[PortId],
        vc: ChannelId,
        hop: &mut Hop,
        congestion: &mut dyn Congestion,
    ) -> PortId {
        ports[self.choose(ports.len() as u32, |i| (ports[i as usize], vc), hop, congestion) as usize]
    }
}

/// A hash of source and destination.
#[inline]
pub(crate) fn pair(hop: &Hop) -> u64 {
    mix64(u64::from(hop.source) << 32 | u64::from(hop.destination))
}

/// Whose turn it is among `n`: the number of the packet at its source, begun elsewhere at each router and source.
#[inline]
pub(crate) fn turn(hop: &Hop, n: u64) -> u64 {
    // The low half of the owner of a route stream is the packet's number at its source.
    let number = u64::from(hop.random.owner() as u32);
    (number + mix64(u64::from(hop.router) << 32 | u64::from(hop.source)) % n) % n
}

/// The one of `count` with the least score; among equals one drawn at random.
fn least(count: u32, hop: &mut Hop, mut score: impl FnMut(u32) -> u64) -> u32 {
    let (mut best, mut least, mut equals) = (0, u64::MAX, 0);
    for i in 0..count {
        let score = score(i);
        if score < least || equals == 0 {
            (best, least, equals) = (i, score, 1);
        } else if score == least {
            // Each of k equals stays with probability 1 / k.
            equals += 1;
            if hop.random.below(equals) == 0 {
                best = i;
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::testing::{self, Backlogs, Never};
    use base::{
        rng::{Purpose, Stream},
        sorted::SortedMap,
    };

    #[test]
    fn turns_are_even_for_every_window_of_packets() {
        let fabric = testing::grid(false, &[2]);
        let mut seen = [0; 3];
        for number in 0..30 {
            let mut hop = testing::hop(&fabric, 0, 1, 0);
            hop.random = Stream::new(1, Purpose::Route, number);
            seen[Select::RoundRobin
                .port(
                    &[PortId::new(0), PortId::new(1), PortId::new(2)],
                    ChannelId::FIRST,
                    &mut hop,
                    &mut Never,
                )
                .index()] += 1;
        }
        assert_eq!(seen, [10; 3]);
    }

    #[test]
    fn the_least_wins_and_ties_are_even() {
        let fabric = testing::grid(false, &[2]);
        let mut counts = [0; 4];
        for seed in 0..3000 {
            let mut hop = testing::hop(&fabric, 0, 1, seed);
            let mut busy = Backlogs(SortedMap::from([(4, 64), (5, 32), (6, 32), (7, 32)]));
            counts[Select::LeastQueue
                .port(
                    &[PortId::new(4), PortId::new(5), PortId::new(6), PortId::new(7)],
                    ChannelId::FIRST,
                    &mut hop,
                    &mut busy,
                )
                .index()
                - 4] += 1;
        }
        assert_eq!(counts[0], 0);
        assert!(counts[1..].iter().all(|n| (900..1100).contains(n)), "{counts:?}");
    }

    #[test]
    fn static_choices_depend_on_the_pair_alone() {
        let fabric = testing::grid(false, &[8]);
        let choice = |destination, seed| {
            let mut hop = testing::hop(&fabric, 0, destination, seed);
            Select::Static.port(
                &[PortId::new(1), PortId::new(2), PortId::new(3)],
                ChannelId::FIRST,
                &mut hop,
                &mut Never,
            )
        };
        assert!((0..8).all(|d| choice(d, 1) == choice(d, 2)));
        assert!((1..8).any(|d| choice(d, 1) != choice(0, 1)));
    }
}
