//! Requests and grants of the rendezvous protocol go ahead of what their terminal has still to cut into packets: a grant of 16 bytes does not wait for the
//! megabytes of a message that goes the same way, so an exchange of two long messages uses both directions at once.
//!
//! Adapters keep control messages apart from bulk data: BXI's interface has virtual networks for requests and answers. LogGOPS and flows give them no wait either.
//! What was handed to the link before goes first: at most the injection buffer. A control message of more than one packet keeps its place.
//! So do all where something else decides in which order a terminal sends, which says so in its documentation: `[resilience]`, `[congestion_control]`, queues and
//! windows of `[adapter]`, and re-sequencing. The order of matching is the hosts', by sequence numbers: it does not hang on the order of arrival.

use super::{
    net::{Net, Router, Static},
    rows::{Cutting, Post, Terminal},
    state::State,
};
use base::time::{NEVER, Ps};

impl<R: Router> Net<R> {
    /// Marks of a host's message of so many bytes. Requests and grants go ahead where nothing else says in which order a terminal sends.
    pub fn marks(cx: &Static, bytes: u64, control: bool) -> u64 {
        if Self::is_lossy(cx) || Self::is_queued(cx) || Self::resequences(cx) {
            return 0;
        }
        let passes = control && bytes <= u64::from(cx.net.config.packet);
        Post::NAMED | if passes { Post::CONTROL } else { 0 }
    }
}

impl<R: Router> State<R> {
    /// When the first message that goes ahead has passed the adapter; `NEVER` if there is none.
    #[inline]
    pub(crate) fn control_ready(&self, cx: &Static, i: u32) -> Ps {
        let controls = self.terminals.get(i).controls;
        if !Net::<R>::FULL || controls.is_empty() {
            return NEVER;
        }
        let post = self.posts.get(controls.head);
        debug_assert!(post.bytes & Post::CONTROL != 0, "only requests and grants go ahead");
        post.time.saturating_add(cx.net.adapter_delay.of(cx.local.terminals[i as usize], post.number))
    }

    /// Number of the next message in order, if it is posted and others know it already.
    pub(super) fn named(&self, row: &Terminal) -> Option<u32> {
        let post = (!row.posts.is_empty()).then(|| self.posts.get(row.posts.head))?;
        (post.bytes & Post::NAMED != 0).then_some(post.number)
    }

    /// Takes the first message that goes ahead in hand, and gives back what was in hand: it goes on after the one packet of that message.
    pub(super) fn begin_control(&mut self, i: u32) -> Cutting {
        let row = self.terminals.edit(i);
        let first = row.controls.head;
        row.controls.pop(&self.posts);
        row.messages += 1;
        let Post { time: created, destination, number, .. } = *self.posts.get(first);
        let left = self.posts.get(first).payload();
        self.posts.give(first);
        let control = Cutting { created, left, destination, number, packets: 1, active: true };
        std::mem::replace(&mut self.terminals.edit(i).cutting, control)
    }
}
