//! Whose turn it is to be divided anew.
//!
//! Loads change as messages begin and end. Each of both lets the two messages be asked again that were asked the longest ago, so that a message costs
//! five times its packets' questions at most, and no wave of questions follows a change.

use super::pair::{Message, Pair};
use std::collections::VecDeque;

/// Messages that a beginning or an end lets be asked again.
const AGAIN: u64 = 2;

/// How often all messages are asked at one instant at most.
const ROUNDS: u64 = 2;

/// A message under way that is divided by load.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Number of its flow in the sharing.
    pub flow: u32,
    /// Where it goes.
    pub pair: Pair,
    /// How it asks.
    pub message: Message,
    /// Tells it from those that had its tag before.
    serial: u64,
}

impl Row {
    /// A message that just began.
    #[must_use]
    pub fn new(flow: u32, pair: Pair, message: Message) -> Self {
        Self { flow, pair, message, serial: 0 }
    }
}

/// Messages that are divided by load, in the order in which they were asked last.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    /// Those that may be asked, by their tags.
    rows: Vec<Option<Row>>,
    queue: VecDeque<(u32, u64)>,
    under_way: u64,
    begun: u64,
    /// So many may be asked again.
    due: u64,
}

impl Turns {
    /// A message began, which may be asked again if it has a row.
    pub fn begins(&mut self, tag: u32, row: Option<Row>) {
        self.due += AGAIN;
        let Some(row) = row else { return };
        self.begun += 1;
        if self.rows.len() <= tag as usize {
            self.rows.resize(tag as usize + 1, None);
        }
        debug_assert!(self.rows[tag as usize].is_none(), "whoever had the tag is over");
        self.rows[tag as usize] = Some(Row { serial: self.begun, ..row });
        self.under_way += 1;
        self.queue.push_back((tag, self.begun));
    }

    /// A message is over: it is never asked again.
    pub fn ends(&mut self, tag: u32) {
        self.due += AGAIN;
        if self.rows.get_mut(tag as usize).and_then(Option::take).is_some() {
            self.under_way -= 1;
        }
    }

    /// All that may be asked again, with their tags.
    pub fn rows(&self) -> impl Iterator<Item = (u32, Row)> {
        (0u32..).zip(&self.rows).filter_map(|(tag, row)| Some((tag, (*row)?)))
    }

    /// Plants a fault: the row of a tag is that of another flow.
    #[cfg(test)]
    pub fn exchange(&mut self, tag: u32) {
        if let Some(row) = &mut self.rows[tag as usize] {
            row.flow += 1;
        }
    }

    /// Plants a fault: another tag has the row as well.
    #[cfg(test)]
    pub fn copy(&mut self, tag: u32, to: u32) {
        self.rows.resize(self.rows.len().max(to as usize + 1), None);
        self.rows[to as usize] = self.rows[tag as usize];
    }

    /// Those whose turn it is now, each of which goes to the end of the queue. To be called where shares are found.
    pub fn take(&mut self, turns: &mut Vec<(u32, Row)>) {
        turns.clear();
        if self.under_way == 0 {
            self.queue.clear();
        }
        let count = std::mem::take(&mut self.due).min(ROUNDS * self.under_way);
        while (turns.len() as u64) < count {
            let Some((tag, serial)) = self.queue.pop_front() else { return };
            // What is left in the queue of messages that are over goes as its turn comes.
            let Some(row) = self.rows[tag as usize].filter(|row| row.serial == serial) else { continue };
            turns.push((tag, row));
            self.queue.push_back((tag, serial));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::index::TerminalId;

    fn row(flow: u32) -> Row {
        let ends = (TerminalId::new(0), TerminalId::new(1));
        let pair = Pair { source: ends.0, destination: ends.1, row: 0 };
        Row::new(flow, pair, Message { identity: u64::from(flow), packets: 32 })
    }

    /// Random beginnings and ends: nobody is asked who is over, all take their turns, and questions are bounded.
    #[test]
    fn turns_go_round_among_those_under_way() {
        let (mut turns, mut under_way, mut free, mut taken) =
            (Turns::default(), Vec::<u32>::new(), (0..40u32).rev().collect::<Vec<_>>(), Vec::new());
        let (mut events, mut asked) = (0, 0);
        for n in 0..5000u64 {
            let draw = base::hash::mix64(n);
            if draw.is_multiple_of(2) && !free.is_empty() {
                let tag = free.pop().expect("some are free");
                turns.begins(tag, Some(row(tag)));
                under_way.push(tag);
                events += 1;
            } else if !under_way.is_empty() {
                let tag = under_way.swap_remove((draw >> 8) as usize % under_way.len());
                turns.ends(tag);
                free.push(tag);
                events += 1;
            }
            if draw.is_multiple_of(3) {
                turns.take(&mut taken);
                assert!(taken.iter().all(|t| under_way.contains(&t.0) && t.1.flow == t.0), "{n}");
                assert!(taken.len() <= 2 * under_way.len());
                asked += taken.len() as u64;
                // Nobody is asked a second time before all were.
                let first: base::sorted::SortedSet<u32> =
                    taken.iter().take(under_way.len()).map(|t| t.0).collect();
                assert_eq!(first.len(), taken.len().min(under_way.len()), "{n}");
            }
        }
        assert!(asked <= AGAIN * events && asked > events, "{asked} of {events}");
        assert!(turns.queue.len() < 4000, "{}", turns.queue.len());
    }
}
