//! Heads that ask for virtual channels of several outputs at once, and take the one that they get (Duato's escape channels).
//!
//! Which outputs and classes a head may have is a pure function of where it is, so it is asked anew in each step and nothing is kept. VC allocation grants one request at most; until
//! then the unit's output is where the routing would send it alone, and nothing hangs on it. The other routings ask for one output, and have no trace of
//! this in plain runs.

use super::{
    Pipelined, Unit, Work,
    cycle::{Queue, Step},
};
use crate::{
    effects::Fx,
    net::{Channel, Net, Static, channels},
    places::LocalPort,
    router::allocator::{ALLOCATORS, Request},
};
use base::time::{NEVER, Ps};
use engine::state::mode::Mode;
use fabric::routing::Choice;

impl<M: Mode> Net<Pipelined<M>> {
    /// Heads ask for everything that the routing allows.
    #[inline]
    pub(super) fn asks_for_all(cx: &Static) -> bool {
        debug_assert!(M::FEATURES || !cx.net.routes.asks_for_all(), "heads of plain runs ask for one output");
        M::FEATURES && cx.net.routes.asks_for_all()
    }

    /// What the head in front of a unit may have.
    fn options_of(&self, cx: &Static, local: u32, at: Queue, out: &mut Vec<Choice>) {
        out.clear();
        let (line, class) = self.question(cx, local, at.input, at.vc);
        self.options(cx, self.router.units.get(at.unit).fifo.head, &line, class, out);
    }

    /// An option's output, and the VCs that it allows there.
    fn allowed_by(&self, cx: &Static, local: u32, at: Queue, option: Choice) -> (LocalPort, u16) {
        let out = cx.local.base[local as usize].plus(option.port.number());
        let class = option.vc.plus(self.router.offset(at.vc));
        (out, self.router.group(Self::line(cx, out), class.number()))
    }

    /// A head asks for all free VCs of all its options.
    pub(super) fn ask_for_any_vc(
        &mut self,
        cx: &Static,
        step: Step,
        at: Queue,
        row: &Unit,
        work: &mut Work,
        fx: &mut impl Fx,
    ) {
        let mut options = std::mem::take(&mut work.options);
        self.options_of(cx, step.local, at, &mut options);
        let (first, vcs) = (work.vcs.requests.len(), u32::from(cx.net.config.vcs));
        let shape = self.router.shapes[step.local as usize];
        let ranks = self.router.rules.vc_allocator.is_some_and(|n| ALLOCATORS[n].ranks);
        for &option in &options {
            let (out, group) = self.allowed_by(cx, step.local, at, option);
            self.prepare_once(cx, step, out, work, fx);
            let asked = Unit { out, ..*row };
            let (port, age) = (step.port(out), self.age(row));
            // An output channel is one or the other for all, so only a row's own choice hangs on this.
            let level = u8::from(ranks && cx.net.routes.is_escape(option.vc));
            let request =
                |column| Request { row: at.unit - shape.unit, column, level, age, label: at.unit, memory: 0 };
            let free = channels::each(self.free_vcs(cx, &asked, group, step.s));
            work.vcs.requests.extend(free.map(|v| request(port * vcs + u32::from(v.number()))));
        }
        // Two options never allow the same VC: escape channels and adaptive ones are apart.
        work.vcs.requests[first..].sort_unstable_by_key(|r| r.column);
        work.options = options;
    }

    /// The next instant after `s` at which more may fit into any output that the head of a unit may have.
    pub(super) fn next_room_of_any(&self, cx: &Static, input: LocalPort, unit: u32, s: Ps) -> Ps {
        let (local, mut options) = (self.router.clock.owner[input], Vec::new());
        let at = Queue { input, vc: self.router.channel_of(input, unit), unit };
        self.options_of(cx, local, at, &mut options);
        let outs = options.iter().map(|&option| self.allowed_by(cx, local, at, option).0);
        outs.map(|out| self.next_room(cx, out, s)).min().unwrap_or(NEVER)
    }

    /// The channels that the head of a unit waits for; none if one of them is free, so that it will move by itself.
    pub(super) fn waits_for(&self, cx: &Static, input: LocalPort, unit: u32) -> Vec<Channel> {
        let (local, mut options) = (self.router.clock.owner[input], Vec::new());
        let at = Queue { input, vc: self.router.channel_of(input, unit), unit };
        self.options_of(cx, local, at, &mut options);
        let mut to = Vec::new();
        for option in options {
            let (out, group) = self.allowed_by(cx, local, at, option);
            let asked = Unit { out, ..*self.router.units.get(unit) };
            // What is on its way comes by itself.
            if self.free_vcs(cx, &asked, group, NEVER) != 0 {
                return Vec::new();
            }
            to.extend(channels::each(group).map(|v| (Self::line(cx, out).link, v)));
        }
        to
    }
}
