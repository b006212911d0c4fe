//! The standard library's B-tree is the second opinion: the same calls on both, in random order, and the same answers.

use super::{Entry, SortedMap, SortedSet, blocks::BLOCK};
use crate::rng::Stream;
use std::collections::BTreeMap;

type Pair = (SortedMap<u32, u64>, BTreeMap<u32, u64>);

/// One call on both, chosen at random, with the same answer.
fn step((ours, theirs): &mut Pair, dice: &mut Stream, keys: u64) {
    let key = dice.below(keys) as u32;
    match dice.below(12) {
        0..=4 => assert_eq!(ours.insert(key, dice.counter), theirs.insert(key, dice.counter)),
        5..=7 => assert_eq!(ours.remove(&key), theirs.remove(&key)),
        8 => {
            *ours.entry(key).and_modify(|value| *value += 1).or_insert(7) += 1;
            *theirs.entry(key).and_modify(|value| *value += 1).or_insert(7) += 1;
        }
        9 => match ours.entry(key) {
            Entry::Occupied(entry) => assert_eq!(Some(entry.remove()), theirs.remove(&key)),
            Entry::Vacant(entry) => {
                assert_eq!((*entry.key(), *entry.insert(3)), (key, *theirs.entry(key).or_insert(3)))
            }
        },
        10 => assert_eq!(
            (ours.get(&key), ours.contains_key(&key)),
            (theirs.get(&key), theirs.contains_key(&key))
        ),
        _ => {
            let end = key + dice.below(keys) as u32;
            assert!(ours.range(key..end).eq(theirs.range(key..end)));
            assert!(ours.range(key..=end).rev().eq(theirs.range(key..=end).rev()));
            assert_eq!(ours.range(..key).len(), theirs.range(..key).count());
            assert!(ours.range_mut(key..).eq(theirs.range_mut(key..)));
        }
    }
}

/// What holds of a map after each call, and that all walks agree.
fn equal((ours, theirs): &Pair) {
    assert!(ours.0.rows.iter().all(|block| !block.is_empty() && block.len() <= BLOCK));
    assert!(ours.iter().eq(theirs) && ours.iter().rev().eq(theirs.iter().rev()));
    assert_eq!((ours.len(), ours.iter().len()), (theirs.len(), theirs.len()));
    assert_eq!(
        (ours.first_key_value(), ours.last_key_value()),
        (theirs.first_key_value(), theirs.last_key_value())
    );
    assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
}

#[test]
fn a_map_answers_as_a_tree_does() {
    for seed in 0..40 {
        let mut dice = Stream::new(seed, crate::rng::Purpose::Test, 0);
        let keys = [4, 100, 1_000, 5_000][seed as usize % 4];
        let mut pair = Pair::default();
        for call in 0..6_000 {
            step(&mut pair, &mut dice, keys);
            if call % 500 == 0 {
                equal(&pair);
            }
        }
        equal(&pair);
        pair.0.retain(|key, value| (u64::from(*key) + *value) % 3 > 0);
        pair.1.retain(|key, value| (u64::from(*key) + *value) % 3 > 0);
        equal(&pair);
        assert!(pair.0.clone().into_iter().eq(pair.1.clone()));
        while dice.below(2) == 0 || pair.1.len() > 3 {
            assert_eq!((pair.0.pop_first(), pair.0.pop_last()), (pair.1.pop_first(), pair.1.pop_last()));
        }
        equal(&pair);
    }
}

#[test]
fn walks_from_both_ends_meet() {
    for entries in [0, 1, 127, 128, 129, 500] {
        let map: SortedMap<u32, ()> = (0..entries).map(|key| (key, ())).collect();
        for front in 0..=entries {
            let mut walk = map.clone().into_keys();
            assert!(walk.by_ref().take(front as usize).eq(0..front));
            assert_eq!(walk.len(), (entries - front) as usize);
            assert!(walk.rev().eq((front..entries).rev()));
        }
    }
}

#[test]
fn keys_in_order_leave_full_blocks() {
    let map: SortedMap<usize, ()> = (0..BLOCK * 10).map(|key| (key, ())).collect();
    assert_eq!(map.0.rows.len(), 10);
}

#[test]
fn sets_keep_each_value_once() {
    let mut set = SortedSet::from([3, 1, 2, 3]);
    assert!(!set.insert(1) && set.insert(9) && set.remove(&2) && !set.remove(&2) && set.contains(&9));
    assert_eq!(format!("{set:?}"), "{1, 3, 9}");
    let other = SortedSet::from([3, 9, 10]);
    assert!(set.intersection(&other).eq(&[3, 9]) && set.difference(&other).eq(&[1]));
    assert!(!set.is_subset(&other) && SortedSet::from([9]).is_subset(&other));
    assert!(set.range(2..).eq(&[3, 9]) && set.into_iter().eq([1, 3, 9]));
}
