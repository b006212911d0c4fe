//! Rounding, masks and flags of floating-point numbers: each thread of a rank has its own, and the simulator computes with neither.
//!
//! A call of ours begins with [`plain`], which is one comparison unless the rank rounds in its own way. What the rank had is kept where it gives the
//! processor up ([`leave`]) and is there again when it goes on ([`come`]).

#![allow(unsafe_code, reason = "control registers of the processor")]

use std::arch::asm;

/// Rounding to the nearest, all exceptions masked, no flag.
const PLAIN: u32 = 0x1f80;
/// Exceptions that have occurred.
const FLAGS: u32 = 0x3f;
/// The same of the older unit: extended precision.
const PLAIN_CONTROL: u16 = 0x37f;

fn control() -> u32 {
    let mut value = 0u32;
    // SAFETY: it stores the register in the four bytes of `value`.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags)) };
    value
}

fn set_control(value: u32) {
    // SAFETY: it loads bits that were stored by `control` or are those of a plain state. Rust code runs with `PLAIN` control bits alone: whoever loads others is
    // about to return to the program.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags)) };
}

/// Control and status of the older unit.
fn old_unit() -> (u16, u16) {
    let (mut control, mut status) = (0u16, 0u16);
    // SAFETY: each stores one word.
    unsafe {
        asm!("fnstcw [{0}]", "fnstsw [{1}]", in(reg) &raw mut control, in(reg) &raw mut status, options(nostack, preserves_flags));
    };
    (control, status)
}

fn set_old_unit(control: u16, status: u16) {
    let mut whole = [0u32; 7];
    // SAFETY: the environment of that unit has 28 bytes; it is stored, two of its words are changed, and it is loaded again. Its stack is empty in a call.
    unsafe {
        asm!("fnstenv [{}]", in(reg) whole.as_mut_ptr(), options(nostack, preserves_flags));
        whole[0] = whole[0] & !0xffff | u32::from(control);
        whole[1] = whole[1] & !FLAGS | u32::from(status) & FLAGS;
        asm!("fldenv [{}]", in(reg) whole.as_ptr(), options(nostack, preserves_flags));
    }
}

/// Until it is dropped, numbers are rounded as everywhere in the simulator.
pub struct Plain(u32);

/// Rounds to the nearest from now on; flags stay.
#[inline]
#[must_use]
pub fn plain() -> Plain {
    let own = control();
    if own & !FLAGS != PLAIN {
        set_control(PLAIN | own & FLAGS);
    }
    Plain(own & !FLAGS)
}

impl Drop for Plain {
    fn drop(&mut self) {
        if self.0 != PLAIN {
            set_control(self.0 | control() & FLAGS);
        }
    }
}

/// What a thread had when it gave the processor up.
#[derive(Clone, Copy)]
pub struct Kept {
    control: u32,
    old_unit: (u16, u16),
}

/// The thread that runs gives the processor up: others begin plainly.
#[must_use]
pub fn leave() -> Kept {
    let kept = Kept { control: control(), old_unit: old_unit() };
    if kept.control != PLAIN {
        set_control(PLAIN);
    }
    if kept.old_unit.0 != PLAIN_CONTROL || u32::from(kept.old_unit.1) & FLAGS != 0 {
        set_old_unit(PLAIN_CONTROL, 0);
    }
    kept
}

/// It goes on.
pub fn come(kept: Kept) {
    debug_assert_eq!(control() & !FLAGS, PLAIN, "who ran before left the processor plain");
    if kept.control != PLAIN {
        set_control(kept.control);
    }
    let (control, status) = kept.old_unit;
    if control != PLAIN_CONTROL || u32::from(status) & FLAGS != 0 {
        set_old_unit(control, status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_had_comes_back_and_others_begin_plainly() {
        let upward = 0x5f80 | 0x04;
        set_control(upward);
        {
            let _plain = plain();
            assert_eq!(control(), PLAIN | 0x04);
        }
        assert_eq!(control(), upward);
        set_old_unit(0x0b7f, 0x04);
        let kept = leave();
        assert_eq!((control(), old_unit().0, u32::from(old_unit().1) & FLAGS), (PLAIN, PLAIN_CONTROL, 0));
        come(kept);
        assert_eq!((control(), old_unit().0, u32::from(old_unit().1) & FLAGS), (upward, 0x0b7f, 0x04));
        let _ = leave();
    }
}
