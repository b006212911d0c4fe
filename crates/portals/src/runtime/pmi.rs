//! PMI-1: how ranks learn who they are and exchange their addresses before they can send. Only barriers take time.

use super::{
    guard::{copy, put},
    threads::{Pmi, Reason},
    world::{self, wait_for_step, with},
};
use crate::record::Step;
use base::{hash::mix64, index::RankId};
use std::ffi::{c_char, c_int};

/// Longest name, key and value.
const LONGEST: c_int = 1024;
const OK: c_int = 0;
const FAIL: c_int = -1;
/// A key that nobody put.
const NO_KEY: c_int = 6;

/// A C string of a program, as far as it is there.
fn text(from: *const c_char) -> Vec<u8> {
    const PIECE: usize = 64;
    let (mut all, most) = (Vec::new(), LONGEST as usize + 1);
    while all.len() < most {
        let at = from as u64 + all.len() as u64;
        // Of a page all bytes are there, or none.
        let bytes = (4096 - (at % 4096) as usize).min(most - all.len()).min(PIECE);
        let mut piece = [0; PIECE];
        if !copy(piece.as_mut_ptr() as u64, at, bytes) {
            break;
        }
        let end = piece[..bytes].iter().position(|&b| b == 0);
        all.extend_from_slice(&piece[..end.unwrap_or(bytes)]);
        if end.is_some() {
            break;
        }
    }
    debug_assert!(all.len() <= most && !all.contains(&0), "a text ends at its zero or the longest");
    all
}

/// Writes a C string of at most `size` bytes.
fn give(to: *mut c_char, size: c_int, bytes: &[u8]) -> c_int {
    debug_assert!(!bytes.contains(&0), "a text ends at its first zero");
    if size <= 0 || bytes.len() >= size as usize {
        return FAIL;
    }
    let good = copy(to as u64, bytes.as_ptr() as u64, bytes.len());
    if good && put(to.wrapping_add(bytes.len()), 0) { OK } else { FAIL }
}

/// Number under which a key is found.
fn hash(key: &[u8]) -> u64 {
    key.chunks(8).fold(key.len() as u64, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix64(hash ^ u64::from_le_bytes(word))
    })
}

impl Pmi {
    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        let same = self.pairs.entry(hash(&key)).or_default();
        match same.iter_mut().find(|pair| pair.0 == key) {
            Some(pair) => pair.1 = value,
            None => same.push((key, value)),
        }
    }

    fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.pairs.get(&hash(key))?.iter().find(|pair| pair.0 == key).map(|pair| pair.1.as_slice())
    }
}

fn store(to: *mut c_int, value: c_int) -> c_int {
    if put(to, value) { OK } else { FAIL }
}

super::calls::calls! {
    outside = FAIL;
    fn PMI_Init(spawned: *mut c_int) -> c_int { store(spawned, 0) }
    fn PMI_Initialized(flag: *mut c_int) -> c_int { store(flag, 1) }
    fn PMI_Finalize() -> c_int { OK }
    fn PMI_Get_rank(rank: *mut c_int) -> c_int { store(rank, with(|_, r| r.number()) as c_int) }
    fn PMI_Get_size(size: *mut c_int) -> c_int { store(size, with(|w, _| w.ranks.len()) as c_int) }
    fn PMI_Get_universe_size(size: *mut c_int) -> c_int { store(size, with(|w, _| w.ranks.len()) as c_int) }
    fn PMI_Get_appnum(number: *mut c_int) -> c_int { store(number, 0) }
    fn PMI_Barrier() -> c_int { barrier() }
    fn PMI_Abort(status: c_int, _message: *const c_char) -> c_int { world::end_job(status) }
    fn PMI_KVS_Get_my_name(name: *mut c_char, size: c_int) -> c_int { give(name, size, b"netloom") }
    fn PMI_KVS_Get_name_length_max(size: *mut c_int) -> c_int { store(size, LONGEST) }
    fn PMI_KVS_Get_key_length_max(size: *mut c_int) -> c_int { store(size, LONGEST) }
    fn PMI_KVS_Get_value_length_max(size: *mut c_int) -> c_int { store(size, LONGEST) }
    fn PMI_KVS_Commit(_name: *const c_char) -> c_int { OK }
    fn PMI_KVS_Put(_name: *const c_char, key: *const c_char, value: *const c_char) -> c_int {
        let (key, value) = (text(key), text(value));
        with(|w, _| {
            w.active();
            w.pmi.put(key, value);
        });
        OK
    }
    fn PMI_KVS_Get(_name: *const c_char, key: *const c_char, value: *mut c_char, size: c_int) -> c_int {
        let key = text(key);
        with(|w, _| w.pmi.get(&key).map_or(NO_KEY, |found| give(value, size, found)))
    }
}

/// Waits for all ranks.
fn barrier() -> c_int {
    let takes = with(|w, _| w.machine.params.barrier_time);
    world::enter(|_| takes);
    let all = with(|w, _| w.ranks.len()) as u32;
    let round = with(|w, rank| {
        w.record(|r| r.step(rank, Step::Barrier));
        debug_assert!(w.pmi.here < all, "the last one opens the barrier");
        w.pmi.here += 1;
        let round = w.pmi.round;
        if w.pmi.here == all {
            w.pmi.here = 0;
            w.pmi.round += 1;
            RankId::first(all).for_each(|r| w.wake_rank(r));
        }
        round
    });
    while let Some(here) = with(|w, _| (w.pmi.round == round).then_some(w.pmi.here)) {
        wait_for_step(Reason { call: "PMI_Barrier", what: u64::from(here), goal: u64::from(all) }, None);
    }
    OK
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{
        rng::{Purpose, Stream},
        sorted::SortedMap,
    };

    /// Against a map of the keys themselves: what was put last under a key is there, and nothing under others.
    #[test]
    fn what_was_put_last_is_found() {
        let (mut service, mut plain, draws) =
            (Pmi::default(), SortedMap::new(), Stream::new(5, Purpose::Route, 1));
        for n in 0..2000u64 {
            let length = draws.at(n * 2).below(20);
            let key: Vec<u8> =
                (0..length).map(|at| b'0' + (draws.at(n * 2 + 1).below(300) >> at) as u8 % 2).collect();
            assert_eq!(service.get(&key), plain.get(&key).map(Vec::as_slice));
            service.put(key.clone(), n.to_string().into_bytes());
            plain.insert(key, n.to_string().into_bytes());
        }
    }

    #[test]
    fn texts_end_at_their_zero_or_the_longest() {
        let mut bytes = vec![b'x'; 5000];
        assert_eq!(text(bytes.as_ptr().cast()).len(), LONGEST as usize + 1);
        for (start, end) in [(0, 0), (1, 63), (7, 71), (4000, 4321), (100, 1123)] {
            bytes[end] = 0;
            assert_eq!(text(bytes[start..].as_ptr().cast()).len(), end - start);
            bytes[end] = b'x';
        }
        let mut to = [9u8; 4];
        assert_eq!(
            (give(to.as_mut_ptr().cast(), 3, b"abc"), give(to.as_mut_ptr().cast(), 4, b"abc")),
            (FAIL, OK)
        );
        assert_eq!(&to, b"abc\0");
    }
}
