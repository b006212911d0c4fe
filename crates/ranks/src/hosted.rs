//! Hosts: those who live on the terminals of a network, and the domain that a network and its host make together.

use super::{
    carrier::{Alarm, Carrier, Delivery, Posting},
    finished::{Finished, Met},
};
use base::time::Ps;
use engine::{
    domain::{Domain, Effects},
    state::Journal,
};

/// What a host may do besides changing its own state.
pub trait HostEffects {
    /// The present instant in virtual time.
    fn now(&self) -> Ps;

    /// Sets an alarm.
    fn alarm(&mut self, alarm: Alarm);

    /// Sends a message now.
    fn post(&mut self, posting: Posting);

    /// Reports that an operation is over.
    fn record(&mut self, finished: Finished);

    /// Reports which message a receive took, if that is asked for.
    fn met(&mut self, met: Met);
}

/// Those who live on the terminals of a partition. It knows messages, not packets or flows: a few calls per message, so effects are a trait object.
///
/// A host that cannot change threads, such as one with stacks of its own, is a host all the same: only schedulers that start threads ask for `Send`.
pub trait Host {
    /// Sets the first alarms; nothing is posted yet.
    fn start(&mut self, fx: &mut dyn HostEffects);

    /// An alarm rings.
    fn alarm(&mut self, number: u32, fx: &mut dyn HostEffects);

    /// A message is complete.
    fn delivered(&mut self, delivery: &Delivery, fx: &mut dyn HostEffects);

    /// The host's share of [`Domain::abandon`].
    fn abandon(&mut self) {}

    /// Shows every table to the engine.
    fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal));
}

/// A network and those who live on it, as the engine's domain. Messages between partitions and records are the network's.
#[derive(Clone, PartialEq)]
pub struct Hosted<C, H> {
    /// The network, which carries messages between terminals.
    pub carrier: C,
    /// Who lives on it.
    pub host: H,
}

/// Effects of a host on a carrier.
struct Below<'a, C, E> {
    carrier: &'a mut C,
    fx: &'a mut E,
}

impl<C: Carrier, E: Effects<C>> HostEffects for Below<'_, C, E> {
    fn now(&self) -> Ps {
        self.fx.instant()
    }

    fn alarm(&mut self, alarm: Alarm) {
        debug_assert!(alarm.at >= self.now(), "alarms do not ring in the past");
        self.carrier.set_alarm(alarm, self.fx);
    }

    fn post(&mut self, posting: Posting) {
        self.carrier.post(posting, self.fx);
    }

    fn record(&mut self, finished: Finished) {
        self.fx.record(finished.into());
    }

    fn met(&mut self, met: Met) {
        self.fx.record(met.into());
    }
}

impl<C: Carrier, H: Host> Hosted<C, H> {
    /// Hands over what is complete, until nothing is: at the end of every handler.
    #[inline]
    pub fn serve(&mut self, fx: &mut impl Effects<C>) {
        while let Some(delivery) = self.carrier.next_delivery(fx) {
            self.host.delivered(&delivery, &mut Below { carrier: &mut self.carrier, fx });
        }
    }

    #[cold]
    #[inline(never)]
    fn ring(&mut self, number: u32, fx: &mut impl Effects<C>) {
        self.host.alarm(number, &mut Below { carrier: &mut self.carrier, fx });
    }
}

impl<C: Carrier, H: Host> Domain for Hosted<C, H> {
    type Message = C::Message;
    type Record = C::Record;

    fn start(&mut self, fx: &mut impl Effects<Self>) {
        self.carrier.start(fx);
        self.host.start(&mut Below { carrier: &mut self.carrier, fx });
    }

    #[inline]
    fn wake(&mut self, token: u32, fx: &mut impl Effects<Self>) {
        match self.carrier.host_alarm(token, fx) {
            Some(number) => self.ring(number, fx),
            None => self.carrier.wake(token, fx),
        }
        self.serve(fx);
    }

    fn receive(&mut self, message: &C::Message, fx: &mut impl Effects<Self>) {
        self.carrier.receive(message, fx);
        self.serve(fx);
    }

    fn settle(&mut self, now: Ps, fx: &mut impl Effects<Self>) {
        self.carrier.settle(now, fx);
        self.serve(fx);
    }

    fn abandon(&mut self) {
        self.carrier.abandon();
        self.host.abandon();
    }

    fn settle_steady(&mut self, now: Ps, fx: &mut impl Effects<Self>) {
        self.carrier.settle_steady(now, fx);
        self.serve(fx);
    }

    fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        self.carrier.visit_journals(visit);
        self.host.visit_journals(visit);
    }

    fn lookahead(&self, to: u32) -> Option<Ps> {
        self.carrier.lookahead(to)
    }

    fn large(&self) -> bool {
        self.carrier.large()
    }

    #[inline]
    fn prefetch(&self, stage: usize, token: u32) {
        self.carrier.prefetch(stage, token);
    }
}
