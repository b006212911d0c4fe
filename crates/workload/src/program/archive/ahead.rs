//! A second reader of a rank's events, which finds out how a request ends before the first reader is there.

use crate::program::Damage;
use base::sorted::SortedMap;
use otf2::{EventKind, Events};
use std::collections::VecDeque;

/// A mistake of the archive.
pub(super) fn damage(error: &otf2::Error) -> Damage {
    Damage(error.to_string())
}

/// What the completion of a request says.
#[derive(Clone, Copy)]
pub(super) enum Completion {
    /// Sender, communicator, tag and bytes of a receive.
    Receive(u32, u32, u32, u64),
    /// Operation, communicator, root, bytes sent and received of a collective.
    Collective(u8, u32, u32, (u64, u64)),
}

/// How a request ends.
pub(super) enum End {
    Is(Completion),
    Cancelled,
    /// The archive does not say.
    NotRecorded,
}

/// Finds the envelopes of receives before they are complete.
pub(super) struct Ahead {
    pub events: Option<Events>,
    /// Completions that were passed, by request; `None` is a cancelled one.
    pub passed: SortedMap<u64, VecDeque<Option<Completion>>>,
}

impl Ahead {
    /// The next completion of a request.
    pub fn completion(&mut self, request: u64) -> Result<End, Damage> {
        if let Some(list) = self.passed.get_mut(&request)
            && let Some(found) = list.pop_front()
        {
            if list.is_empty() {
                self.passed.remove(&request);
            }
            return Ok(found.map_or(End::Cancelled, End::Is));
        }
        let Some(events) = &mut self.events else { return Ok(End::NotRecorded) };
        for event in events {
            let (of, found) = match event.map_err(|e| damage(&e))?.kind {
                EventKind::Irecv { sender, comm, tag, bytes, request } => {
                    (request, Some(Completion::Receive(sender, comm, tag, bytes)))
                }
                EventKind::CollectiveComplete { operation, comm, root, sent, received, request } => {
                    (request, Some(Completion::Collective(operation, comm, root, (sent, received))))
                }
                EventKind::Cancelled { request } => (request, None),
                _ => continue,
            };
            if of == request {
                return Ok(found.map_or(End::Cancelled, End::Is));
            }
            self.passed.entry(of).or_default().push_back(found);
        }
        self.events = None;
        Ok(End::NotRecorded)
    }
}
