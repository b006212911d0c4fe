//! Copies of multicasts: the rows that a packet's parts have behind a fork. See `MULTICAST.md`.

use super::{Net, Router, Static};
use crate::{
    multicast::trees::{Branch, Trees},
    pools::{ChunkRow, PacketRow, RowNumber},
    rows::{Chunk, Packet},
};
use base::index::TerminalId;

impl<R: Router> Net<R> {
    /// The trees of multicasts, if there are any.
    #[inline]
    pub fn trees(cx: &Static) -> Option<&Trees> {
        debug_assert!(Self::FULL || cx.net.trees.is_none(), "nothing is copied in a plain run");
        if Self::FULL { cx.net.trees.as_ref() } else { None }
    }

    /// Copies that the router which a chunk is at makes of it; `None` of a chunk for one terminal.
    #[inline]
    pub fn branches<'a>(&self, cx: &'a Static, c: ChunkRow) -> Option<&'a [Branch]> {
        let trees = Self::trees(cx)?;
        trees.branches(self.packets.get(self.chunks.get(c).packet).destination)
    }

    /// How many terminals a packet for `destination` is for.
    #[inline]
    pub fn copies(cx: &Static, destination: TerminalId) -> u32 {
        Self::trees(cx).and_then(|trees| trees.members(destination)).map_or(1, |members| members.len() as u32)
    }

    /// Rows of packets can be met again by their names.
    #[inline]
    pub fn knows(cx: &Static) -> bool {
        cx.net.partitions > 1 || Self::trees(cx).is_some()
    }

    /// What the row of a packet for `destination` is known by beside the packet's id: parts of a multicast may have the same.
    #[inline]
    pub fn part(cx: &Static, destination: TerminalId) -> u32 {
        // Elsewhere a packet has one row in a partition, wherever it goes.
        if Self::trees(cx).is_some() { destination.number() } else { 0 }
    }

    /// The copy of a chunk for a branch. It has not visited the router where it is made.
    pub fn copy(&mut self, cx: &Static, c: ChunkRow, branch: &Branch) -> ChunkRow {
        let chunk = *self.chunks.get(c);
        let whole = *self.packets.get(chunk.packet);
        debug_assert!(whole.delivered == 0, "what is to be copied is nowhere yet");
        let (id, destination) = (whole.id.plus(branch.offset), branch.next);
        let key = (id.key(), Self::part(cx, destination));
        // Chunks of a copy come one after another: the first makes its row and the others find it, unless all before them have left the partition.
        let packet = self.known.get(key.0, key.1).unwrap_or_else(|| {
            let message = whole.message.wrapping_add(branch.offset);
            let p = self.packets.take(Packet {
                id,
                destination,
                message,
                here: 0,
                next: PacketRow::NIL,
                ..whole
            });
            self.known.set(key.0, key.1, p);
            p
        });
        let row = self.packets.edit(packet);
        row.here += 1;
        debug_assert!(row.here <= row.chunks, "every chunk is copied once for a branch");
        // What a packet gathers on its way, its last chunk brings.
        if chunk.is_last() {
            (row.serialisation, row.wire, row.hops) = (whole.serialisation, whole.wire, whole.hops);
        }
        let copy = Chunk::new(packet, chunk.index(), chunk.is_last()).with_visited(chunk.visited());
        let copy = self.chunks.take(copy);
        self.notes.set(copy, branch.choice.state);
        copy
    }

    /// Ends a chunk of which all copies are made.
    pub fn end_copied(&mut self, cx: &Static, c: ChunkRow) {
        let packet = self.chunks.get(c).packet;
        self.chunks.give(c);
        // Copies have rows of their own, so that this one may go.
        self.packets.edit(packet).here -= 1;
        self.forget_if_gone(cx, packet);
    }
}
