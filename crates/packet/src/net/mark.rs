//! Marks on packets that leave outputs behind which many wait. See `../congestion_control/CONTROL.md`.

use super::{Net, Router, Static};
use crate::{
    congestion_control::scheme::{Mark, Seen},
    network::End,
    places::LocalPort,
    pools::ChunkRow,
    rows::Signs,
};
use base::index::ChannelId;

impl<R: Router> Net<R> {
    /// A chunk is about to leave a router by output `u`; what waits there is what [`Router::queue`] says now.
    #[inline]
    pub fn mark(&mut self, cx: &Static, c: ChunkRow, u: LocalPort, vc: ChannelId) {
        // A packet is marked as a whole: its head, which is ahead of all else of it, carries the mark through every partition.
        if Self::is_controlled(cx) && self.chunks.get(c).index() == 0 {
            self.mark_head(cx, c, u, vc);
        }
    }

    #[inline(never)]
    fn mark_head(&mut self, cx: &Static, c: ChunkRow, u: LocalPort, vc: ChannelId) {
        let Some(control) = cx.net.control.as_ref().filter(|control| control.scheme.is_marking()) else {
            return;
        };
        let (line, chunk) = (Self::line(cx, u), u64::from(cx.net.config.chunk));
        let buffer = u64::from(cx.net.timings[usize::from(line.timing)].capacity) * chunk;
        // One chunk more than the scheme compares with: what is longer looks the same to it, and is not walked.
        let most = (control.scheme.reach(buffer) / chunk + 1).min(1 << 24) as u32;
        let queue = R::queue(self, cx, u, vc, most);
        debug_assert!(queue.chunks <= most, "a queue is counted as far as was asked");
        let row = self.chunks.get(c).packet;
        let (packet, counts) = (self.packets.get(row), self.marks.counts.get(u));
        let seen = Seen {
            queue: u64::from(queue.chunks) * chunk,
            buffer,
            credits: queue.credits,
            out: matches!(line.end, End::Terminal { .. }),
            bytes: packet.bytes,
            passed: counts.passed,
            random: cx.net.mark_stream.owned_by(packet.id.key()).at(u64::from(line.link)),
        };
        match control.scheme.mark(&seen) {
            Mark::Clear => {}
            Mark::Passed => self.marks.counts.edit(u).passed += 1,
            Mark::Marked => {
                let counts = self.marks.counts.edit(u);
                counts.passed = 0;
                counts.marked = counts.marked.saturating_add(1);
                self.packets.edit(row).signs.set(Signs::MARKED);
            }
        }
    }
}
