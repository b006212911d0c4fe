use super::*;
use crate::program::{
    lower::{
        Options, lower,
        tests::{
            execute::{Executor, Listed},
            random,
        },
    },
    mpi::Script,
    ranks,
};
use base::rng::{Purpose, Stream};
use std::sync::Arc;

fn program(script: impl Script + 'static) -> Arc<dyn Program> {
    lower(Arc::new(script), Options::default()).expect("its communicators fit")
}

fn of(text: &str) -> Untimed {
    let input = crate::program::input::Input::bytes("p.ranks", text.as_bytes());
    Untimed::of(&*program(ranks::read(&input).expect("it can be read"))).expect("it is not damaged")
}

#[test]
fn some_programs_stop_and_some_need_room() {
    let ring = |call: &str| format!("ranks 3\nall {{\n {call}\n recv 8 B from (rank + 2) % 3\n}}\n");
    assert_eq!(of(&ring("isend 8 B to (rank + 1) % 3")).outcome, Outcome::Ends);
    let Outcome::NeedsEager(stopped) = of(&ring("send 8 B to (rank + 1) % 3")).outcome else {
        panic!("it needs room")
    };
    assert_eq!(
        (stopped.ranks, stopped.first.as_str()),
        (3, "rank 0 waits until rank 1 receives its message, tag 0 (p.ranks:3)")
    );
    let synchronous = of(&ring("ssend 8 B to (rank + 1) % 3"));
    assert!(matches!(synchronous.outcome, Outcome::Stops(_)) && synchronous.is_wrong());
    assert_eq!(of(&ring("bsend 8 B to (rank + 1) % 3")).outcome, Outcome::Ends);
    let left = of("ranks 2\nrank 0 { isend 8 B to 1 }\n");
    assert!(left.unreceived == 1 && left.is_wrong(), "{left:?}");
    assert!(left.lines().iter().any(|line| line.contains("nobody receives 1 message")), "{left:?}");
    // Probes and receives from anybody meet what is there.
    let open = of(
        "ranks 2\nrank 0 {\n probe 8 B from any tag any\n recv 8 B from any tag any\n}\nrank 1 { send 8 B to 0 tag 7 }\n",
    );
    assert!(open.outcome == Outcome::Ends && open.open, "{open:?}");
    assert!(open.lines()[0].ends_with("tried in one order"), "{open:?}");
    // In another order it would end: that it stops is not certain.
    let order = of(
        "ranks 3\nrank 0 {\n recv 8 B from any\n recv 8 B from 1\n}\nrank 1 {\n compute 1 us\n compute 1 us\n send 8 B to 0\n}\nrank 2 { send 8 B to 0 }\n",
    );
    assert!(order.outcome == Outcome::Ends || order.open && !order.is_wrong(), "{order:?}");
    let late = of(
        "ranks 3\nrank 0 {\n recv 8 B from any\n recv 8 B from 1\n}\nrank 1 { send 8 B to 0 }\nrank 2 {\n compute 1 us\n compute 1 us\n send 8 B to 0\n}\n",
    );
    assert!(matches!(late.outcome, Outcome::Stops(_)) && !late.is_wrong() && !late.stops(), "{late:?}");
    assert!(late.lines()[0].starts_with("perhaps WRONG"), "{late:?}");
    let exact = of("ranks 2\nrank 0 {\n probe 8 B from 1\n recv 8 B from 1\n}\nrank 1 { send 8 B to 0 }\n");
    assert!(exact.outcome == Outcome::Ends && !exact.open, "{exact:?}");
    // Eager linear broadcasts end, whatever the root calls.
    let parted = of("ranks 2\nrank 0 { bcast 8 B root 0 }\nrank 1 { bcast 9 B root 0 }\n");
    assert!(parted.is_wrong() && parted.lines().iter().any(|l| l.contains("collective 1 of")), "{parted:?}");
}

/// Random programs end. With a call less they end or stop as a slow executor, whose ranks take turns at random, has it.
#[test]
fn a_second_implementation_agrees() {
    let (mut ended, mut stopped) = (0, 0);
    for seed in 0..600 {
        let size = 2 + seed as u32 % 4;
        let whole = random::program(seed, size, 7);
        let mut less = whole.ranks.clone();
        let mut draw = Stream::new(seed, Purpose::Test, 9);
        let rank = draw.below(size.into()) as usize;
        let found = Untimed::of(&*program(whole)).expect("it is whole");
        assert!(found.outcome == Outcome::Ends && !found.is_wrong(), "{seed}: {found:?}");
        if less[rank].is_empty() {
            continue;
        }
        let at = draw.below(less[rank].len() as u64) as usize;
        less[rank].remove(at);
        let script = Listed { ranks: less, makes_communicators: true };
        let Ok(program) = lower(Arc::new(script), Options::default()) else { continue };
        let Ok(found) = Untimed::of(&*program) else { continue };
        if found.open {
            continue;
        }
        let runs = |eager| Executor::new(&program, eager, seed).run().is_ok();
        let whole = [runs(u64::MAX), runs(0)];
        let same = match &found.outcome {
            Outcome::Ends if found.unreceived == 0 => whole == [true, true],
            Outcome::Ends => !whole[0],
            Outcome::NeedsEager(_) => !whole[1] && whole[0] == (found.unreceived == 0),
            Outcome::Stops(_) => whole == [false, false],
            Outcome::TooLong => false,
        };
        assert!(same, "{seed}: {found:?}, {whole:?}");
        if whole == [true, true] { ended += 1 } else { stopped += 1 }
    }
    assert!(ended > 20 && stopped > 20, "{ended} ended, {stopped} stopped");
}

#[test]
fn long_programs_are_not_looked_at() {
    let long = of("ranks 2\nall { repeat 600000 { compute 1 ns } }\n");
    assert!(long.outcome == Outcome::TooLong && !long.is_wrong(), "{long:?}");
    assert!(long.lines()[0].starts_with("not looked at"), "{long:?}");
}

/// A loop without end whose calls do nothing is a fault, not work without end.
#[test]
fn calls_that_do_nothing_come_to_an_end() {
    let text = "ranks 1\nall {\nrepeat 1000000000000 {\n send 1 B to null\n}\n}\n";
    let input = crate::program::input::Input::bytes("p.ranks", text.as_bytes());
    let found = Untimed::of(&*program(ranks::read(&input).expect("it can be read")));
    let Damage(message) = found.expect_err("it does nothing");
    assert!(message.starts_with("p.ranks:4: ") && message.contains("does nothing"), "{message}");
}
