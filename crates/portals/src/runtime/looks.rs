//! What a loop looks like where it is interrupted: its registers and its frame; and which of its states is the least.
//!
//! A round of a loop is a cycle of states, and the timer finds any of them. A loop waits in the least one of those in the program's own code, by address, then registers,
//! then words of the frame: so it waits in the same place in every run. (Addresses differ from run to run, but not their order within one piece of memory. States that
//! differ in registers of floating-point numbers alone are as good as each other, and so are rounds of a loop that differ in nothing but other memory.) A place where
//! something is counted is passed over: its states do not come back.

#![allow(unsafe_code, reason = "registers and stacks of interrupted code")]

use base::hash::mix64;
use std::cell::{Cell, RefCell};

/// Flag of the processor: a signal after each instruction.
pub const STEP_FLAG: i64 = 0x100;
/// Flags that are none of the program: the former, and one that the processor sets to resume.
const FOREIGN_FLAGS: i64 = STEP_FLAG | 0x1_0000;
/// Bytes below the stack pointer that a function may use without saying so.
pub const RED_ZONE: usize = 128;
/// Largest frame that is looked at.
const FRAME: usize = 4096;
/// Most words of a state: an address, registers, a frame with its red zone.
const WORDS: usize = 1 + libc::REG_EFL as usize + 1 + (FRAME + RED_ZONE) / 8;

/// Places that are passed over, at most: a loop with more of them waits where it was found.
const BARRED: usize = 16;

/// The least state of a round so far, and what is passed over.
struct Least {
    words: [u64; WORDS],
    /// Those that are in use; none before the first state.
    count: usize,
    /// Hash of its registers and frame.
    look: u64,
    /// Places whose states do not come back: something is counted there.
    barred: [usize; BARRED],
    places: usize,
}

thread_local! {
    /// The stack of the thread that runs: its lowest byte, and one past its highest.
    static STACK: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    static LEAST: RefCell<Least> = const {
        RefCell::new(Least { words: [0; WORDS], count: 0, look: 0, barred: [0; BARRED], places: 0 })
    };
}

/// A thread goes on whose stack has these bytes below `top`.
pub fn on_stack(top: usize, bytes: usize) {
    debug_assert!(bytes < top, "a stack lies below its top");
    STACK.set((top - bytes, top));
}

/// General registers, the next instruction's address among them, and flags.
fn registers(machine: &libc::mcontext_t) -> impl Iterator<Item = u64> + '_ {
    let flags = machine.gregs[libc::REG_EFL as usize] & !FOREIGN_FLAGS;
    machine.gregs[..libc::REG_EFL as usize].iter().copied().chain([flags]).map(|r| r as u64)
}

/// Words of the frame of a function that was interrupted: its red zone, and what lies up to its base if it has one.
///
/// # Safety
/// The registers must be those of the rank that was interrupted in the program's own code.
unsafe fn frame(machine: &libc::mcontext_t) -> impl Iterator<Item = u64> {
    let own = |register: i32| machine.gregs[register as usize] as usize;
    let (stack, base) = (own(libc::REG_RSP), own(libc::REG_RBP));
    // Without a base pointer the register holds anything: only what points a little above the stack pointer is taken for one.
    let most = (stack + FRAME).min(STACK.get().1);
    // SAFETY: as promised.
    unsafe { words(stack, if (stack..=most).contains(&base) { base } else { stack }) }
}

/// Words of the red zone below a stack pointer, and of what lies from there to an end.
///
/// # Safety
/// `stack` must be the stack pointer of the rank that was interrupted in the program's own code, and `end` lie on the same stack.
unsafe fn words(stack: usize, end: usize) -> impl Iterator<Item = u64> {
    // SAFETY: a stack is mapped from its stack pointer up to where it begins, and the red zone below belongs to it.
    let word = |at| unsafe { (at as *const u64).read_volatile() };
    ((stack - RED_ZONE) & !7..end & !7).step_by(8).map(word)
}

fn hash(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0, |hash, word| mix64(hash ^ word))
}

/// Hash of the registers and the frame.
///
/// # Safety
/// The registers must be those of the rank that was interrupted in the program's own code.
pub unsafe fn look(machine: &libc::mcontext_t) -> u64 {
    // SAFETY: as promised; the kernel saves the registers of floating-point numbers beside the others, or says that there are none.
    let (frame, floats) = unsafe { (frame(machine), machine.fpregs.as_ref()) };
    let floats = floats.into_iter().flat_map(|f| f._xmm.iter().flat_map(|x| x.element).map(u64::from));
    hash(frame.chain(registers(machine)).chain(floats)) | 1
}

/// Hash of the red zone and of what lies above it on the stack, whichever functions it belongs to.
///
/// # Safety
/// As for [`look`].
pub unsafe fn above(machine: &libc::mcontext_t) -> u64 {
    let stack = machine.gregs[libc::REG_RSP as usize] as usize;
    let (low, top) = STACK.get();
    debug_assert!(low <= top, "a stack has a lowest byte and a highest");
    // A program may have made another stack, of which nothing is known.
    let end = if (low..=top).contains(&stack) { (stack + FRAME).min(top) } else { stack };
    // SAFETY: as promised.
    hash(unsafe { words(stack, end) })
}

/// A state in the order of states.
///
/// # Safety
/// As for [`look`].
unsafe fn state(machine: &libc::mcontext_t) -> impl Iterator<Item = u64> + '_ {
    // SAFETY: as promised. No frame has more words than there is room for.
    let frame = unsafe { frame(machine) };
    [machine.gregs[libc::REG_RIP as usize] as u64]
        .into_iter()
        .chain(registers(machine))
        .chain(frame)
        .take(WORDS)
}

/// A loop is looked at of which nothing is known.
pub fn begin() {
    LEAST.with(|least| {
        let mut least = least.borrow_mut();
        (least.count, least.places) = (0, 0);
    });
}

/// A state of the round.
///
/// # Safety
/// As for [`look`].
pub unsafe fn one_more(machine: &libc::mcontext_t) {
    let at = machine.gregs[libc::REG_RIP as usize] as usize;
    let may_be_least = LEAST.with(|least| {
        let least = least.borrow();
        let barred = &least.barred[..least.places];
        (least.count == 0 || at as u64 <= least.words[0]) && !barred.contains(&at)
    });
    if !may_be_least {
        return;
    }
    // The stack is read here first: a fault must not leave the cell borrowed.
    // SAFETY: as promised.
    let look = unsafe { look(machine) };
    LEAST.with(|least| {
        let least = &mut *least.borrow_mut();
        // SAFETY: as promised.
        if least.count == 0 || unsafe { state(machine) }.lt(least.words.iter().copied().take(least.count)) {
            (least.count, least.look) = (0, look);
            // SAFETY: as promised.
            for (to, word) in least.words.iter_mut().zip(unsafe { state(machine) }) {
                *to = word;
                least.count += 1;
            }
        }
    });
}

/// The least state of what was seen since the last call, its place and its hash, which is passed over from now on; none if no place is left.
pub fn least() -> Option<(usize, u64)> {
    LEAST.with(|least| {
        let least = &mut *least.borrow_mut();
        let place = least.barred.get_mut(least.places).filter(|_| least.count > 0)?;
        *place = least.words[0] as usize;
        debug_assert!(least.look != 0, "no hash of a state is 0");
        least.places += 1;
        least.count = 0;
        Some((*place, least.look))
    })
}
