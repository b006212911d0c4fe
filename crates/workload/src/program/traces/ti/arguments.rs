//! What stands behind an action.

use crate::program::{
    ANY_TAG,
    mpi::{ANY_PEER, CommRank, Envelope, PROC_NULL, WORLD},
    traces::words::{bytes, count, real},
};
use std::str::SplitAsciiWhitespace;

/// Bytes of SimGrid's types by their numbers; 55 and 56 are bounds.
const TYPES: [u8; 60] = [
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8, 8, 16, 16,
    8, 8, 8, 16, 16, 4, 4, 8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32, 1, 8, 16, 32, 0, 0, 1, 8, 8,
];

fn type_of(word: &str) -> Option<u64> {
    if word == "-1" {
        return Some(1);
    }
    TYPES.get(word.parse::<usize>().ok()?).map(|&bytes| bytes.into())
}

/// True if a word names a type.
pub(super) fn is_type(word: &str) -> bool {
    type_of(word).is_some()
}

/// Counts times the bytes of an element.
pub(super) fn times(counts: Vec<u64>, size: u64) -> Result<Vec<u64>, String> {
    counts.into_iter().map(|count| bytes(count, size)).collect()
}

/// One end of a message. SimGrid's numbers of nobody, anybody and any tag are negative.
pub(super) fn envelope(partner: i64, tag: i64, bytes: u64, sends: bool) -> Result<Envelope, String> {
    let peer = match partner {
        -666 => PROC_NULL,
        -555 | -1 if !sends => ANY_PEER,
        _ => match u32::try_from(partner) {
            Ok(rank) if rank < PROC_NULL.number() => CommRank::new(rank),
            _ => return Err(format!("there is no rank {partner}")),
        },
    };
    let tag = match tag {
        -444 | -1 if !sends => ANY_TAG,
        _ => u32::try_from(tag).ok().filter(|&t| t != ANY_TAG).ok_or_else(|| format!("{tag} is no tag"))?,
    };
    Ok(Envelope { peer, tag, bytes, comm: WORLD })
}

/// The words behind an action, in their order.
pub(super) struct Arguments<'a> {
    pub(super) words: SplitAsciiWhitespace<'a>,
    /// Bytes of an element without a type.
    pub(super) default: u64,
}

impl Arguments<'_> {
    fn read<T>(&mut self, what: &str, of: impl FnOnce(&str) -> Option<T>) -> Result<T, String> {
        let word = self.words.next().ok_or_else(|| format!("the {what} is missing"))?;
        of(word).ok_or_else(|| format!("the {what} cannot be `{word}`"))
    }

    pub(super) fn count(&mut self, what: &str) -> Result<u64, String> {
        self.read(what, count)
    }

    pub(super) fn real(&mut self, what: &str) -> Result<f64, String> {
        self.read(what, real)
    }

    pub(super) fn whole(&mut self, what: &str) -> Result<i64, String> {
        self.read(what, |word| word.parse().ok())
    }

    /// Counts of all ranks.
    pub(super) fn counts(&mut self, ranks: u32) -> Result<Vec<u64>, String> {
        (0..ranks).map(|rank| self.read(&format!("count of rank {rank}"), count)).collect()
    }

    pub(super) fn name(&mut self) -> Result<(i64, i64, i64), String> {
        Ok((self.whole("source")?, self.whole("destination")?, self.whole("tag")?))
    }

    pub(super) fn root(&mut self) -> Result<u32, String> {
        self.words
            .next()
            .map_or(Ok(0), |word| word.parse().map_err(|_| format!("the root cannot be `{word}`")))
    }

    /// Bytes of the type that stands next. Traces write -1 for types of a program's own, whose elements they have counted as bytes.
    pub(super) fn size_of_type(&mut self) -> Result<u64, String> {
        match self.words.next() {
            None => Ok(self.default),
            Some(word) => type_of(word).ok_or_else(|| format!("there is no type `{word}`")),
        }
    }

    /// Bytes of so many elements of the type that stands next.
    pub(super) fn bytes(&mut self, elements: u64) -> Result<u64, String> {
        bytes(elements, self.size_of_type()?)
    }
}
