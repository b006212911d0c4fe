//! Numbers of ports within a partition, and where a chunk comes from: types, so that no router's or chunk's number is taken for a port's.

use base::index::{ChannelId, TerminalId};

base::numbers! {
    /// An upstream port of a partition, counted within it: routers' outputs in the order of routers, then terminals' outputs. The input beside an
    /// output of a router has the same number. Never leaves the partition: what others see are links.
    LocalPort(u32);
    /// A virtual channel of a local port, whose numbers say all that there are in a partition.
    VcRow(u32);
}

impl VcRow {
    /// None: of arbiters that served nobody yet.
    pub const NONE: Self = Self::new(u32::MAX);

    /// The first virtual channel of a port, where each port has `vcs`.
    #[inline]
    #[must_use]
    pub const fn first_of(port: LocalPort, vcs: u8) -> Self {
        Self::new(port.number() * vcs as u32)
    }

    /// Virtual channel `vc` of a port, where each port has `vcs`.
    #[inline]
    #[must_use]
    pub fn of(port: LocalPort, vcs: u8, vc: ChannelId) -> Self {
        debug_assert!(vc.number() < vcs, "a port has so many VCs");
        // Rows of a port follow each other: with four VCs they share a cache line.
        Self::first_of(port, vcs).at(vc)
    }

    /// Virtual channel `vc` of the port whose first one this is.
    #[inline]
    #[must_use]
    pub const fn at(self, vc: ChannelId) -> Self {
        self.plus(vc.number() as u32)
    }

    /// The virtual channels of the port whose first one this is, where each port has `vcs`.
    pub fn each(self, vcs: u8) -> impl DoubleEndedIterator<Item = (ChannelId, Self)> + Clone {
        ChannelId::first(vcs).map(move |vc| (vc, self.at(vc)))
    }

    /// The port and its virtual channel, where each port has `vcs`.
    #[inline]
    #[must_use]
    pub const fn parts(self, vcs: u8) -> (LocalPort, ChannelId) {
        let vcs = vcs as u32;
        (LocalPort::new(self.number() / vcs), ChannelId::new((self.number() % vcs) as u8))
    }

    /// Which virtual channel it is of the port whose first one is `first`.
    #[inline]
    #[must_use]
    pub const fn channel(self, first: Self) -> ChannelId {
        debug_assert!(
            self.number() >= first.number(),
            "the first virtual channel of a port has the lowest row"
        );
        ChannelId::new((self.number() - first.number()) as u8)
    }
}

/// The two terminals of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Terminal that sends it.
    pub source: TerminalId,
    /// Terminal that it is for.
    pub destination: TerminalId,
}

/// A pair of terminals as a key of maps; not the same for the way back.
#[inline]
#[must_use]
pub fn pair(source: TerminalId, destination: TerminalId) -> u64 {
    u64::from(source) << 32 | u64::from(destination)
}

/// The port that accounts for the buffer a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upstream(u32);

/// Where an upstream port lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// In the same partition.
    Here(LocalPort),
    /// In another one: the line that comes in from there, by its place in [`Local::inbound`](crate::local::Local::inbound).
    Afar(u32),
}

impl Upstream {
    /// Marks those that live in another partition.
    const AFAR: u32 = 1 << 31;
    /// None: of inputs that nothing feeds.
    pub const NONE: Self = Self(u32::MAX);

    /// A port of the same partition.
    #[inline]
    #[must_use]
    pub fn here(port: LocalPort) -> Self {
        debug_assert!(port.number() & Self::AFAR == 0, "partitions have fewer than 2^31 ports");
        Self(port.number())
    }

    /// The port at the other end of an inbound line.
    #[inline]
    #[must_use]
    pub fn afar(inbound: u32) -> Self {
        debug_assert!(inbound & Self::AFAR == 0, "partitions have fewer than 2^31 inbound lines");
        Self(Self::AFAR | inbound)
    }

    /// Where it lives.
    #[inline]
    #[must_use]
    pub fn side(self) -> Side {
        match self.0 & Self::AFAR {
            0 => Side::Here(LocalPort::new(self.0)),
            _ => Side::Afar(self.0 & !Self::AFAR),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_distinguished() {
        assert_eq!(Upstream::here(LocalPort::new(7)).side(), Side::Here(LocalPort::new(7)));
        assert_eq!(Upstream::afar(7).side(), Side::Afar(7));
        assert_eq!((size_of::<Upstream>(), size_of::<LocalPort>()), (4, 4));
    }

    #[test]
    fn channels_of_a_port_follow_each_other() {
        let port = LocalPort::new(7);
        for (vc, row) in VcRow::first_of(port, 4).each(4) {
            assert_eq!((VcRow::of(port, 4, vc), row.parts(4)), (row, (port, vc)));
            assert_eq!(row.channel(VcRow::first_of(port, 4)), vc);
        }
    }
}
