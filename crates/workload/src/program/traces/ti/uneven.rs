//! Collectives with a count for each rank.

use super::{
    Maker, UNDECIDED_COUNTS,
    arguments::{Arguments, is_type, times},
};
use crate::program::{
    mpi::{CollectiveKind as K, WORLD},
    traces::{
        calls::{Shape, own_count},
        words::{bytes, count},
    },
};

/// Words behind the own count where a rank is no root: the root, and the types of what is sent and received.
const TAIL: usize = 3;

impl Maker {
    pub(super) fn uneven(&mut self, action: &str, a: &mut Arguments<'_>) -> Result<Shape, String> {
        let size = self.ranks.len();
        let shape = |kind| Shape::new(kind, WORLD, 0);
        Ok(match action {
            "alltoallv" => {
                a.count("size of what is sent")?;
                let sent = a.counts(size)?;
                a.count("size of what is received")?;
                let received = a.counts(size)?;
                let mut sent = times(sent, a.size_of_type()?)?;
                sent.extend(times(received, a.size_of_type()?)?);
                shape(K::Alltoallv).counts(sent)
            }
            "allgatherv" => {
                a.count("size sent")?;
                let counts = a.counts(size)?;
                // Displacements may follow, with or without types before them.
                let more = a.words.clone().count();
                let typed = more == 2 || more > size as usize;
                let of_type =
                    if typed { a.size_of_type().and_then(|_| a.size_of_type())? } else { a.default };
                shape(K::Allgatherv).counts(times(counts, of_type)?)
            }
            "gatherv" => {
                let own = a.count("size sent")?;
                let counts = if self.has_all_counts(Some(own), a) { Some(a.counts(size)?) } else { None };
                let root = a.root()?;
                let (of_own, of_all) = (a.size_of_type()?, a.size_of_type()?);
                let counts = self.counts(root, own, of_own, counts.map(|counts| (counts, of_all)))?;
                shape(K::Gatherv).root(root).counts(counts)
            }
            "scatterv" => {
                let counts = if self.has_all_counts(None, a) { Some(a.counts(size)?) } else { None };
                let own = a.count("size received")?;
                let root = a.root()?;
                let (of_all, of_own) = (a.size_of_type()?, a.size_of_type()?);
                let counts = self.counts(root, own, of_own, counts.map(|counts| (counts, of_all)))?;
                shape(K::Scatterv).root(root).counts(counts)
            }
            _ => return Err("this action is not known".to_owned()),
        })
    }

    /// Bytes by rank of the counts of all ranks at the root, elsewhere of the caller's own; each with the size of an element.
    fn counts(
        &self,
        root: u32,
        own: u64,
        of_own: u64,
        all: Option<(Vec<u64>, u64)>,
    ) -> Result<Vec<u64>, String> {
        let me = self.rank.number();
        match all.filter(|_| me == root) {
            Some((counts, of_all)) => times(counts, of_all),
            None => Ok(own_count(self.ranks.len(), me, bytes(own, of_own)?)),
        }
    }

    /// True if the counts of all ranks stand next. SimGrid's tracer writes them at the root alone, and at the others the own count, the root and two types.
    /// Of few ranks both may have as many words: then it is the tracer's if it can be, and counted where it could be the other one. `sent` is
    /// the own count where that stands before all; else it stands behind.
    fn has_all_counts(&mut self, sent: Option<u64>, a: &Arguments<'_>) -> bool {
        let (size, me) = (self.ranks.len() as usize, self.rank.index());
        let behind = usize::from(sent.is_none());
        let len = a.words.clone().count();
        if len < size + behind || len != TAIL + behind {
            return len >= size + behind;
        }
        let words: Vec<&str> = a.words.clone().collect();
        let root = |n: usize| words.get(n).map_or(Some(0), |word| word.parse().ok()).filter(|&r| r < size);
        let of_tracer =
            root(behind).is_some_and(|root| root != me) && words[behind + 1..].iter().all(|w| is_type(w));
        let own = sent.or_else(|| count(words[size]));
        if of_tracer && own == count(words[me]) && root(size + behind).is_some() {
            self.met.met(UNDECIDED_COUNTS, &self.notes);
        }
        !of_tracer
    }
}
