//! How long a message is under way between two ranks' terminals.

use base::{index::TerminalId, time::Ps};
use std::sync::Arc;

/// Time of a message in the network: from the end of the sender's overhead o to its arrival.
pub trait Delays: Send + Sync {
    /// Delay of `bytes` from one place to another.
    fn delay(&self, from: TerminalId, to: TerminalId, bytes: u64) -> Ps;

    /// The same of a message for which nobody asks first, whatever its size: where rendezvous is the business of whoever sends.
    fn unasked(&self, from: TerminalId, to: TerminalId, bytes: u64) -> Ps {
        self.delay(from, to, bytes)
    }

    /// No delay is shorter.
    fn least(&self) -> Ps;

    /// How much longer than by the interfaces' own pace a message holds them, because a link on its path is slower.
    fn slower(&self, _from: TerminalId, _to: TerminalId, _bytes: u64) -> Ps {
        0
    }

    /// As [`Delays::slower`], of the sender's interface: links behind it hold it back once the buffers before them are full.
    fn held(&self, _from: TerminalId, _to: TerminalId, _bytes: u64) -> Ps {
        0
    }

    /// Bytes of the request and of the grant that go before a message of this size, if they take time.
    fn asks(&self, _bytes: u64) -> Option<u64> {
        None
    }

    /// Links between two places, as far as they count.
    fn hops(&self, from: TerminalId, to: TerminalId) -> u32;
}

impl<D: Delays + ?Sized> Delays for Arc<D> {
    fn delay(&self, from: TerminalId, to: TerminalId, bytes: u64) -> Ps {
        (**self).delay(from, to, bytes)
    }

    fn unasked(&self, from: TerminalId, to: TerminalId, bytes: u64) -> Ps {
        (**self).unasked(from, to, bytes)
    }

    fn least(&self) -> Ps {
        (**self).least()
    }

    fn slower(&self, from: TerminalId, to: TerminalId, bytes: u64) -> Ps {
        (**self).slower(from, to, bytes)
    }

    fn held(&self, from: TerminalId, to: TerminalId, bytes: u64) -> Ps {
        (**self).held(from, to, bytes)
    }

    fn asks(&self, bytes: u64) -> Option<u64> {
        (**self).asks(bytes)
    }

    fn hops(&self, from: TerminalId, to: TerminalId) -> u32 {
        (**self).hops(from, to)
    }
}
