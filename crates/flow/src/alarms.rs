//! The next of many instants, each of which may change: a tournament, in which the earlier of two goes on.
//!
//! One change plays the matches of its way to the top, most of which end early; many changes at once play all matches in order, which is
//! cheaper than each on its own.

use super::fine_time::FineTime;

/// At most one instant for each number.
#[derive(Clone, Debug, Default)]
pub struct Alarms {
    /// By number; [`FineTime::NEVER`] for none. Their number is a power of two.
    at: Vec<FineTime>,
    /// Winner of the matches 1 .. n - 1: match m is between the winners of 2 m and 2 m + 1, from n on numbers themselves.
    winners: Vec<u32>,
}

impl Alarms {
    /// The earliest instant and whose it is; of several the least number's.
    #[must_use]
    pub fn first(&self) -> Option<(FineTime, u32)> {
        let winner = if self.at.len() > 1 { self.winners[1] } else { 0 };
        let at = *self.at.get(winner as usize)?;
        (at != FineTime::NEVER).then_some((at, winner))
    }

    /// The instant of a number; [`FineTime::NEVER`] for none.
    #[must_use]
    pub fn of(&self, number: u32) -> FineTime {
        self.at.get(number as usize).copied().unwrap_or(FineTime::NEVER)
    }

    /// Sets or moves an instant; [`FineTime::NEVER`] removes it.
    #[inline]
    pub fn set(&mut self, number: u32, at: FineTime) {
        if self.of(number) != at {
            self.replay(number, at);
        }
    }

    /// Moves an instant, and plays the matches that this may decide otherwise.
    fn replay(&mut self, number: u32, at: FineTime) {
        self.reach(number);
        debug_assert!(self.at.len().is_power_of_two(), "a tournament has a power of two of players");
        self.at[number as usize] = at;
        let mut place = (self.at.len() + number as usize) / 2;
        while place > 0 {
            let before = self.winners[place];
            let winner = self.play(place);
            if winner == before && winner != number {
                return;
            }
            self.winners[place] = winner;
            place /= 2;
        }
    }

    /// Sets or moves many.
    #[inline]
    pub fn set_many(&mut self, moved: &[(u32, FineTime)]) {
        // Mostly none or one: small messages that take turns move no others.
        match moved {
            [] => (),
            &[(number, at)] => self.set(number, at),
            _ => self.set_all(moved),
        }
    }

    fn set_all(&mut self, moved: &[(u32, FineTime)]) {
        // Some matches of each on its own, or all matches.
        if moved.len() * 8 < self.at.len() {
            moved.iter().for_each(|&(number, at)| self.set(number, at));
            return;
        }
        if let Some(most) = moved.iter().map(|m| m.0).max() {
            self.reach(most);
        }
        moved.iter().for_each(|&(number, at)| self.at[number as usize] = at);
        self.play_all();
    }

    /// Makes room for a number.
    #[inline]
    fn reach(&mut self, number: u32) {
        if self.at.len() <= number as usize {
            self.grow(number);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, number: u32) {
        let size = (number as usize + 1).next_power_of_two().max(2);
        self.at.resize(size, FineTime::NEVER);
        self.winners = vec![0; size];
        self.play_all();
    }

    fn play_all(&mut self) {
        debug_assert_eq!(self.at.len(), self.winners.len(), "there is a match for each player but one");
        for place in (1..self.at.len()).rev() {
            self.winners[place] = self.play(place);
        }
    }

    #[inline]
    fn play(&self, place: usize) -> u32 {
        let size = self.at.len();
        debug_assert!(place > 0 && place < size, "matches are numbered from 1");
        let (left, right) = (2 * place, 2 * place + 1);
        let (a, b) = if left >= size {
            ((left - size) as u32, (right - size) as u32)
        } else {
            (self.winners[left], self.winners[right])
        };
        // What is on the left has lower numbers.
        if self.at[b as usize] < self.at[a as usize] { b } else { a }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_first_of_a_list(
            steps in proptest::collection::vec((0u32..40, 0u64..30, 0u32..60), 1..200),
        ) {
            let mut alarms = Alarms::default();
            let mut list = [None; 40];
            for (number, at, more) in steps {
                let off = at >= 20;
                // One, or many from this number on.
                let many = if more > 50 { number..40 } else { number..number + 1 };
                let time = |n: u32| if off { FineTime::NEVER } else { FineTime::at(at + u64::from(n % 7)) };
                let moved: Vec<_> = many.clone().map(|n| (n, time(n))).collect();
                if many.len() > 1 {
                    alarms.set_many(&moved);
                } else {
                    alarms.set(number, time(number));
                }
                many.for_each(|n| list[n as usize] = (!off).then_some(at + u64::from(n % 7)));
                let first = (0u32..).zip(&list).filter_map(|(n, at)| at.map(|at| (FineTime::at(at), n))).min();
                prop_assert_eq!(alarms.first(), first);
            }
        }
    }
}
