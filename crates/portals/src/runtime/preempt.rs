//! Programs that poll memory without any call: they are interrupted, so that what they wait for can happen.
//!
//! A timer looks at a rank that has run for `FIRST` without giving the processor up, then every `AGAIN`. A loop that only looks at memory has few states: if
//! the same registers and the same frame were seen `ENOUGH` times before, in the program's own code and so in no call of ours or of a library, the rank
//! may poll. That is no proof: on a busy machine the timer may ring twice with no instruction in between. So the processor goes on step by step, and if
//! registers and frame come back to what they were, the rank polls. (Code that computes counts something: in a register or, where it was compiled without
//! optimisation, in its frame. A loop that counts in other memory alone is taken for polling.)
//!
//! It goes on in `netloom_preempt`, which keeps all registers, lets the rank wait until something is served at its interface or another of its threads has run, and
//! returns to where it was, step by step at first: if it comes back once more after as many steps, it has done nothing but look. (Stores are not followed: a loop that also writes counts as one that looks.)
//! When that is in simulated time does not depend on when the timer rang: while a rank runs, nothing else happens. Which instruction of the loop is the first after a wait
//! does depend on it. A loop that looks at several words may see them in another order if all of them change while it waits.

#![allow(unsafe_code, reason = "timers and registers of interrupted code")]

use super::guard;
use base::hash::mix64;
use std::{
    arch::{global_asm, is_x86_feature_detected},
    cell::Cell,
    ops::Range,
};

/// Microseconds of this machine before the first look at a rank that runs.
const FIRST: i64 = 2_000;
/// The same before further looks, and for a rank that has polled before.
const AGAIN: i64 = 20;
/// Times that the same registers must have been seen before it is looked at step by step.
const ENOUGH: usize = 2;
/// Steps after which a loop is none that polls.
const STEPS: u32 = 5_000;
/// Flag of the processor: a signal after each instruction.
const STEP_FLAG: i64 = 0x100;
/// Flags that are none of the program: the former, and one that the processor sets to resume.
const FOREIGN_FLAGS: i64 = STEP_FLAG | 0x1_0000;
/// Bytes below the stack pointer that a function may use without saying so.
const RED_ZONE: usize = 128;
/// Largest frame that is looked at.
const FRAME: usize = 4096;
/// Looks that are remembered.
const LOOKS: usize = 48;

// Below the red zone lies the address to return to. 4 KiB hold what `xsave` saves on today's processors (2.7 KiB with AVX-512).
global_asm!(
    ".globl netloom_preempt",
    "netloom_preempt:",
    "pushfq",
    "push rax",
    "push rcx",
    "push rdx",
    "push rbx",
    "push rbp",
    "push rsi",
    "push rdi",
    "push r8",
    "push r9",
    "push r10",
    "push r11",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "cld",
    "mov rbp, rsp",
    "sub rsp, 4096",
    "and rsp, -64",
    "xor eax, eax",
    "lea rdi, [rsp + 512]",
    "mov ecx, 8",
    "rep stosq",
    "mov eax, 0xff",
    "xor edx, edx",
    "xsave64 [rsp]",
    "lea rdi, [rbp + 120]",
    "call netloom_polled",
    "mov eax, 0xff",
    "xor edx, edx",
    "xrstor64 [rsp]",
    "mov rsp, rbp",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop r11",
    "pop r10",
    "pop r9",
    "pop r8",
    "pop rdi",
    "pop rsi",
    "pop rbp",
    "pop rbx",
    "pop rdx",
    "pop rcx",
    "pop rax",
    "popfq",
    "ret 128",
);

unsafe extern "C" {
    fn netloom_preempt();
}

/// A rank polls memory.
#[derive(Clone, Copy)]
pub struct Polls {
    /// It has done nothing else since it last waited in this loop.
    pub idle: bool,
    /// An address in the loop.
    pub at: u64,
}

/// A loop that is followed step by step.
#[derive(Clone, Copy)]
struct Proof {
    /// Registers and frame that must come back.
    sought: u64,
    /// Steps since they were seen; none until the loop goes on there.
    steps: Option<u32>,
    /// Steps after which they came back before, if the loop waited since.
    round: Option<u32>,
}

thread_local! {
    /// Code of the program of the rank that runs; empty while none does.
    static CODE: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// Where the stack of the thread that runs begins: one past its highest byte.
    static TOP: Cell<usize> = const { Cell::new(0) };
    /// Times that a rank was resumed or called, now and at the last look.
    static RESUMED: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    /// What must come back; none while the rank does not go step by step.
    static PROOF: Cell<Option<Proof>> = const { Cell::new(None) };
    /// The loop that came back: what it came back to, after how many steps, and what is to be told of it.
    static FOUND: Cell<(u64, u32, Polls)> = const { Cell::new((0, 0, Polls { idle: false, at: 0 })) };
    /// Calls since time last passed or another thread ran.
    static CALLS: Cell<u32> = const { Cell::new(0) };
    /// What was seen since it was resumed, and how many times.
    static SEEN: Cell<([u64; LOOKS], usize)> = const { Cell::new(([0; LOOKS], 0)) };
    /// Processor time when the rank was last seen to have been resumed or called, and nanoseconds that it may compute from then on.
    static SINCE: Cell<u64> = const { Cell::new(0) };
    static LIMIT: Cell<u64> = const { Cell::new(u64::MAX) };
    /// Lets a rank wait that polls memory.
    static POLLED: Cell<Option<fn(Polls)>> = const { Cell::new(None) };
}

/// Nanoseconds for which the processor has run this thread: what others do on this machine does not count.
pub fn processor_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is this function's own.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Called by `netloom_preempt`, on the rank's stack, with the place of the flags that the rank goes on with.
#[unsafe(no_mangle)]
extern "C" fn netloom_polled(flags: *mut i64) {
    let (sought, round, polls) = FOUND.get();
    if let Some(wait) = POLLED.get() {
        wait(polls);
        let now = RESUMED.get().0;
        RESUMED.set((now, now));
        SINCE.set(processor_time());
        PROOF.set(Some(Proof { sought, steps: None, round: Some(round) }));
        arm(FIRST);
        // SAFETY: the place lies in the frame of `netloom_preempt`, which called this.
        unsafe { *flags |= STEP_FLAG };
    }
}

/// The timer rings: a look at the rank that runs.
extern "C" fn rings(_signal: i32, _info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let context = context.cast::<libc::ucontext_t>();
    let ((start, end), (now, before)) = (CODE.get(), RESUMED.get());
    if now != before || start == end {
        RESUMED.set((now, now));
        SEEN.set(([0; LOOKS], 0));
        SINCE.set(processor_time());
        return arm(FIRST);
    }
    let over = processor_time().saturating_sub(SINCE.get()) > LIMIT.get();
    // SAFETY: the kernel gives the registers at the interruption. What `look` reads lies on the rank's stack, as the program's own code was interrupted. Of
    // the registers only the flag is changed that asks for steps.
    unsafe {
        let at = (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
        if !(start..end).contains(&at) {
            return arm(AGAIN);
        }
        if over {
            guard::end_there(context, libc::SIGXCPU, 0);
            return arm(FIRST);
        }
        // A program may restore flags that it saved before, and goes on without steps then.
        if PROOF.get().is_some() && (*context).uc_mcontext.gregs[libc::REG_EFL as usize] & STEP_FLAG != 0 {
            return arm(FIRST);
        }
        let look = look(&(*context).uc_mcontext);
        if !seen_enough(look) {
            return arm(AGAIN);
        }
        PROOF.set(Some(Proof { sought: look, steps: Some(0), round: None }));
        (*context).uc_mcontext.gregs[libc::REG_EFL as usize] |= STEP_FLAG;
    }
}

/// A step is done: the rank polls if it is where it was, and all else is as it was.
extern "C" fn stepped(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel gives the registers at the interruption. `look` is asked only in the program's own code. There the registers are changed so that it
    // finds all of them again; the word written lies below its red zone, on its stack.
    unsafe {
        if (*info).si_code != libc::TRAP_TRACE && guard::in_rank() {
            // A breakpoint of the program's own.
            return guard::end_there(context, signal, 0);
        }
        let ((start, end), (now, before)) = (CODE.get(), RESUMED.get());
        let going = PROOF.get().filter(|_| now == before && start < end);
        let Some((proof, steps)) = going.and_then(|p| p.step()) else {
            (*context).uc_mcontext.gregs[libc::REG_EFL as usize] &= !STEP_FLAG;
            PROOF.set(None);
            SEEN.set(([0; LOOKS], 0));
            return arm(if now == before { AGAIN } else { FIRST });
        };
        PROOF.set(Some(proof));
        let at = (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
        let comes_back = proof.round.is_none_or(|round| steps == round) && steps > 0;
        if !comes_back || !(start..end).contains(&at) || look(&(*context).uc_mcontext) != proof.sought {
            return;
        }
        FOUND.set((proof.sought, steps, Polls { idle: proof.round.is_some(), at: at as u64 }));
        PROOF.set(None);
        arm(FIRST);
        let registers = &mut (*context).uc_mcontext.gregs;
        let stack = registers[libc::REG_RSP as usize] - RED_ZONE as i64 - 8;
        *(stack as *mut usize) = at;
        registers[libc::REG_RSP as usize] = stack;
        registers[libc::REG_RIP as usize] = netloom_preempt as *const () as i64;
        registers[libc::REG_EFL as usize] &= !STEP_FLAG;
    }
}

impl Proof {
    /// One step more, with how many they are now; none if there are too many.
    fn step(self) -> Option<(Self, u32)> {
        let steps = self.steps.map_or(0, |s| s + 1);
        (steps <= self.round.unwrap_or(STEPS)).then_some((Self { steps: Some(steps), ..self }, steps))
    }
}

/// Hash of the registers and the frame.
///
/// # Safety
/// The registers must be those of the rank that was interrupted in the program's own code.
unsafe fn look(machine: &libc::mcontext_t) -> u64 {
    let own = |register: i32| machine.gregs[register as usize] as u64;
    let general = machine.gregs[..libc::REG_EFL as usize].iter().map(|&r| r as u64);
    let flags = own(libc::REG_EFL) & !(FOREIGN_FLAGS as u64);
    // SAFETY: as promised; the kernel saves the registers of floating-point numbers beside the others, or says that there are none.
    let (frame, floats) =
        unsafe { (frame(own(libc::REG_RSP) as usize, own(libc::REG_RBP) as usize), machine.fpregs.as_ref()) };
    let floats = floats.into_iter().flat_map(|f| f._xmm.iter().flat_map(|x| x.element).map(u64::from));
    general.chain([flags]).chain(floats).fold(frame, |hash, word| mix64(hash ^ word)) | 1
}

/// Hash of the frame of a function that was interrupted: its red zone, and what lies up to its base if it has one.
///
/// # Safety
/// `stack` must be the stack pointer of the rank that was interrupted in the program's own code.
unsafe fn frame(stack: usize, base: usize) -> u64 {
    // Without a base pointer the register holds anything: only what points a little above the stack pointer is taken for one.
    let most = (stack + FRAME).min(TOP.get());
    let end = if (stack..=most).contains(&base) { base } else { stack };
    let words = ((stack - RED_ZONE) & !7..end & !7).step_by(8);
    // SAFETY: the rank's stack is mapped from its stack pointer up to `TOP`, where it begins, and the red zone below belongs to it.
    words.fold(0, |hash, at| mix64(hash ^ unsafe { (at as *const u64).read_volatile() }))
}

/// Remembers a look; true if there were enough like it.
fn seen_enough(look: u64) -> bool {
    let (mut seen, looks) = SEEN.get();
    let same = seen.iter().filter(|&&s| s == look).count();
    seen[looks % LOOKS] = look;
    SEEN.set((seen, looks + 1));
    same >= ENOUGH
}

fn arm(us: i64) {
    let zero = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let timer = libc::itimerval { it_interval: zero, it_value: libc::timeval { tv_sec: 0, tv_usec: us } };
    // SAFETY: the structure is whole; nobody wants the old one.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
}

/// Catches the timer's signal, and begins to look; `polled` lets the rank that runs wait. A rank that computes longer than `limit` nanoseconds of processor time
/// without any call ends by SIGXCPU, at the next look that finds it in its program's own code.
pub fn install(polled: fn(Polls), limit: u64) {
    POLLED.set(Some(polled));
    LIMIT.set(limit);
    SINCE.set(processor_time());
    if !is_x86_feature_detected!("xsave") {
        return;
    }
    // SAFETY: the structure is zeroed and filled as the interface asks.
    unsafe {
        for (signal, handler) in [(libc::SIGALRM, rings as *const ()), (libc::SIGTRAP, stepped as *const ())]
        {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
    arm(FIRST);
}

/// A thread goes on whose stack begins there.
pub fn on_stack(top: usize) {
    TOP.set(top);
}

/// A rank with this code goes on; `polls` says that it has polled before.
pub fn begin(code: &Range<usize>, polls: bool) {
    CODE.set((code.start, code.end));
    debug_assert!(RESUMED.get().0 >= RESUMED.get().1, "a look sees what came before it");
    let now = RESUMED.get().0 + 1;
    RESUMED.set((now, if polls { now } else { RESUMED.get().1 }));
    if polls {
        SEEN.set(([0; LOOKS], 0));
        arm(AGAIN);
    }
}

/// The rank calls us: it does not poll memory.
pub fn called() {
    RESUMED.with(|r| r.set((r.get().0 + 1, r.get().1)));
}

/// Counts a call of the rank: those since time last passed or another thread ran.
pub fn counted() -> u32 {
    CALLS.set(CALLS.get() + 1);
    CALLS.get()
}

/// Time passes or another thread runs.
pub fn passed() {
    CALLS.set(0);
}

/// No rank runs.
pub fn end() {
    CODE.set((0, 0));
}

/// The simulation is over: no timer rings any more.
pub fn stop() {
    CODE.set((0, 0));
    arm(0);
}
