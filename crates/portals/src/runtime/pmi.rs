//! PMI-1: how ranks learn who they are and exchange their addresses before they can send. Only barriers take time.

use super::{
    guard::{get, put},
    threads::Reason,
    world::{self, wait, with},
};
use crate::record::Step;
use base::index::RankId;
use std::ffi::{c_char, c_int};

/// Longest name, key and value.
const LONGEST: c_int = 1024;
const OK: c_int = 0;
const FAIL: c_int = -1;
/// A key that nobody put.
const NO_KEY: c_int = 6;

/// A C string of a program.
fn text(from: *const c_char) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(c) = get(from.wrapping_add(all.len())) {
        if c == 0 || all.len() > LONGEST as usize {
            break;
        }
        all.push(c as u8);
    }
    all
}

/// Writes a C string of at most `size` bytes.
fn give(to: *mut c_char, size: c_int, bytes: &[u8]) -> c_int {
    if size <= 0 || bytes.len() >= size as usize {
        return FAIL;
    }
    let all = bytes.iter().copied().chain([0]).enumerate();
    let good = all.fold(true, |good, (n, b)| good && put(to.wrapping_add(n), b as c_char));
    if good { OK } else { FAIL }
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
            w.pmi.pairs.insert(key, value)
        });
        OK
    }
    fn PMI_KVS_Get(_name: *const c_char, key: *const c_char, value: *mut c_char, size: c_int) -> c_int {
        let key = text(key);
        match with(|w, _| w.pmi.pairs.get(&key).cloned()) {
            Some(found) => give(value, size, &found),
            None => NO_KEY,
        }
    }
}

/// Waits for all ranks.
fn barrier() -> c_int {
    world::enter(with(|w, _| w.machine.params.barrier_time));
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
        wait(Reason { call: "PMI_Barrier", what: u64::from(here), goal: u64::from(all) }, None);
    }
    OK
}
