//! Programs that poll memory without any call: they are interrupted, so that what they wait for can happen.
//!
//! A timer looks at a rank that has run for `FIRST` without giving the processor up, then every `AGAIN`. A loop that only looks at memory has few states: if
//! the same registers and the same frame were seen `ENOUGH` times before, in the program's own code and so in no call of ours or of a library, the rank
//! may poll. That is no proof: on a busy machine the timer may ring twice with no instruction in between. So the processor goes on step by step, and if
//! registers and frame come back to what they were, the rank polls. (Code that computes counts something: in a register or, where it was compiled without
//! optimisation, in its frame. A loop that counts in other memory alone is taken for polling.) A loop that scans much memory has many states, and may spend its time
//! in the C library. So whoever runs on is followed step by step all the same, at `TRY` and ever more rarely, for a quarter of the time that it ran.
//!
//! What was read before memory changed may lie in a register or the frame and be looked at in the next round only. So a loop must come back `ROUNDS` times with
//! nothing changed in between, and as often more, to `MOST`, as the stack above it has changed: there lie copies that a function without a frame pointer makes.
//!
//! It goes on in `netloom_preempt`, which keeps all registers, lets the rank wait until something is served at its interface or another of its threads has run, and
//! returns to where it was, step by step at first: if it comes back again after as many steps, it has done nothing but look. (Stores are not followed: a loop that also writes counts as one that looks.)
//! When that is in simulated time does not depend on when the timer rang: while a rank runs, nothing else happens. Nor does the instruction that is the first after a
//! wait: once it has come back, the least state of its round ([`mod@looks`]) is sought, and proved as any other. So a loop that looks at several words sees them in one
//! order if all change meanwhile.

#![allow(unsafe_code, reason = "timers and registers of interrupted code")]

use super::{
    guard,
    looks::{self, RED_ZONE, STEP_FLAG, look},
};
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
/// Steps after which a loop is none that polls, if the timer saw the same several times.
const STEPS: u64 = 5_000;
/// Nanoseconds of processor time without a call after which the loop is followed whatever the timer saw; then `LATER` times as many each time.
const TRY: u64 = 16_000_000;
const LATER: u64 = 3;
/// Part of the time that it ran for which it is followed until it comes back for the first time. (A step takes one to fifteen microseconds, the latter on machines that are simulated themselves.)
const PART: u64 = 4;
/// Steps after which a clock is read.
const CLOCK: u64 = 64;
/// Times that a loop must come back, and times after which the stack above it may change: it counts something there.
const ROUNDS: u32 = 2;
const MOST: u32 = 8;
/// The instruction `int1`.
const INT1: u8 = 0xf1;
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
    /// Where it is in the program's own code, and registers and frame there, which must come back; none until it is in that code.
    sought: Option<(usize, u64)>,
    /// It has gone on from there.
    begun: bool,
    /// Steps since it was there, or until it is.
    steps: u64,
    /// Steps after which it came back the last time.
    round: u64,
    /// Times that it came back.
    rounds: u32,
    /// The stack above it was the same the last time.
    same: bool,
    /// Hash of that stack.
    above: u64,
    /// Most steps of a round, and the processor time at which it is followed no more.
    most: u64,
    until: u64,
    /// The loop has waited: its rounds have as many steps as before.
    waited: bool,
    /// Where it came back first: the least state of its round is sought since then.
    first: Option<(usize, u64)>,
    /// No other state is left: that one is sought again.
    last: bool,
    /// It is where it waits.
    arrived: bool,
}

thread_local! {
    /// Code of the program of the rank that runs; empty while none does.
    static CODE: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// Times that a rank was resumed or called, now and at the last look.
    static RESUMED: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    /// What must come back; none while the rank does not go step by step.
    static PROOF: Cell<Option<Proof>> = const { Cell::new(None) };
    /// Where the last step ended; 0 before the first.
    static LAST: Cell<usize> = const { Cell::new(0) };
    /// The loop that came back.
    static FOUND: Cell<Option<Proof>> = const { Cell::new(None) };
    /// Processor time when steps began, and all that steps took so far: the program did not compute meanwhile.
    static STEPPED: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    /// Calls since time last passed or another thread ran.
    static CALLS: Cell<u32> = const { Cell::new(0) };
    /// What was seen since it was resumed, and how many times.
    static SEEN: Cell<([u64; LOOKS], usize)> = const { Cell::new(([0; LOOKS], 0)) };
    /// Processor time when the rank was last seen to have been resumed or called, 0 until it is looked at; nanoseconds from then on until it is followed, and
    /// that it may compute.
    static SINCE: Cell<u64> = const { Cell::new(0) };
    static NEXT_TRY: Cell<u64> = const { Cell::new(TRY) };
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

/// Processor time of this thread without that of steps: what programs compute is measured by it.
pub fn program_time() -> u64 {
    processor_time().saturating_sub(STEPPED.get().1)
}

/// Begins to follow what runs, step by step.
fn follow(proof: Proof) {
    debug_assert!(!proof.begun && proof.rounds == 0, "a proof begins before the first round");
    STEPPED.set((processor_time(), STEPPED.get().1));
    LAST.set(0);
    PROOF.set(Some(proof));
}

/// Follows what runs no more.
fn follow_no_more() {
    LAST.set(0);
    if PROOF.take().is_some() {
        let (begun, all) = STEPPED.get();
        STEPPED.set((begun, all + processor_time().saturating_sub(begun)));
    }
}

/// Nanoseconds for which the rank that runs has computed since it was first looked at.
fn computed() -> u64 {
    let now = processor_time();
    if SINCE.get() == 0 {
        SINCE.set(now);
        NEXT_TRY.set(TRY);
    }
    now.saturating_sub(SINCE.get())
}

/// Called by `netloom_preempt`, on the rank's stack, with the place of the flags that the rank goes on with.
#[unsafe(no_mangle)]
extern "C" fn netloom_polled(flags: *mut i64) {
    if let (Some(wait), Some(found)) = (POLLED.get(), FOUND.get()) {
        let at = found.sought.map_or(0, |(at, _)| at as u64);
        wait(Polls { idle: found.waited, at });
        // In this order: the timer may ring between any two of these, and time since it last ran must not count for this one.
        SINCE.set(0);
        let now = RESUMED.get().0;
        RESUMED.set((now, now));
        let round =
            Proof { sought: found.sought, round: found.round, waited: true, ..Proof::new(found.round) };
        follow(round);
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
        SINCE.set(0);
        computed();
        return arm(FIRST);
    }
    let ran = computed();
    // SAFETY: the kernel gives the registers at the interruption. What `look` reads lies on the rank's stack, as the program's own code was interrupted. Of
    // the registers only the flag is changed that asks for steps.
    unsafe {
        let at = (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
        let own = (start..end).contains(&at);
        if own && ran > LIMIT.get() {
            guard::end_there(context, libc::SIGXCPU, 0);
            return arm(FIRST);
        }
        if let Some(proof) = PROOF.get() {
            if (*context).uc_mcontext.gregs[libc::REG_EFL as usize] & STEP_FLAG != 0 || proof.is_returning() {
                return arm(FIRST);
            }
            // A program may restore flags that it saved before, and goes on without steps then.
            follow_no_more();
        }
        let proof = if ran >= NEXT_TRY.get() {
            NEXT_TRY.set(ran.saturating_mul(LATER));
            Proof { until: processor_time() + ran / PART, ..Proof::new(u64::MAX) }
        } else if own && seen_enough(look(&(*context).uc_mcontext)) {
            Proof::new(STEPS)
        } else {
            return arm(AGAIN);
        };
        follow(proof);
        (*context).uc_mcontext.gregs[libc::REG_EFL as usize] |= STEP_FLAG;
        arm(FIRST);
    }
}

/// True if a trap at an address is no step but the program's own: a breakpoint, or a signal that it sent itself.
///
/// The kernel reports a step for which the processor gives no reason as it reports `int1`. A virtual machine may lose that reason, so the code decides.
fn is_foreign(code: i32, at: usize) -> bool {
    // Where the last step ended, if that is known, the instruction began: its byte may be the end of another one.
    let last = LAST.get();
    let is_int1 = |at: usize| (last == 0 || last == at) && guard::get(at as *const u8) == Some(INT1);
    match code {
        libc::TRAP_TRACE => false,
        // Some virtual machines report the address of the instruction, the processor that of the next.
        libc::TRAP_BRKPT => is_int1(at.wrapping_sub(1)) || is_int1(at),
        _ => true,
    }
}

/// A step is done: the rank polls if it is where it was, and all else is as it was.
extern "C" fn stepped(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel gives the registers at the interruption. `comes_back` is asked only in the program's own code. There the registers are changed so that it
    // finds all of them again; the word written lies below its red zone, on its stack.
    unsafe {
        let at = (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
        if guard::in_rank() && is_foreign((*info).si_code, at) {
            return guard::end_there(context, signal, 0);
        }
        let ((start, end), (now, before)) = (CODE.get(), RESUMED.get());
        let going = PROOF.get().filter(|_| now == before && start < end);
        let Some(proof) = going.and_then(Proof::step) else {
            (*context).uc_mcontext.gregs[libc::REG_EFL as usize] &= !STEP_FLAG;
            if PROOF.get().is_none() {
                // Nobody asked for this trap: the timer rings when it would have rung.
                return;
            }
            follow_no_more();
            SEEN.set(([0; LOOKS], 0));
            return arm(if now == before { AGAIN } else { FIRST });
        };
        LAST.set(at);
        let own = (start..end).contains(&at);
        let proof = if own { proof.comes_back(at, &(*context).uc_mcontext) } else { proof };
        PROOF.set(Some(proof));
        if !proof.arrived {
            return;
        }
        follow_no_more();
        FOUND.set(Some(Proof { sought: Some((at, look(&(*context).uc_mcontext))), ..proof }));
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
    /// A loop of which nothing is known yet, with so many steps in a round at most.
    fn new(most: u64) -> Self {
        Self {
            sought: None,
            begun: false,
            steps: 0,
            round: 0,
            rounds: 0,
            same: false,
            above: 0,
            most,
            until: u64::MAX,
            waited: false,
            first: None,
            last: false,
            arrived: false,
        }
    }

    /// One step more; none if there are too many, or time is up.
    fn step(self) -> Option<Self> {
        let steps = self.steps + 1;
        if steps > self.most {
            // The state that is sought does not come back: the next one is.
            return (self.first.is_some() && !self.last).then(|| self.seeks_least());
        }
        let timed = self.until < u64::MAX && self.rounds == 0 && self.first.is_none();
        let late = timed && steps.is_multiple_of(CLOCK) && processor_time() > self.until;
        (!late).then_some(Self { steps, ..self })
    }

    /// The least state of the round that ended is sought, or the first that came back if there is no other.
    fn seeks_least(self) -> Self {
        debug_assert!(self.first.is_some() && self.round > 0, "it came back once");
        let least = looks::least();
        let (sought, last) = (least.or(self.first), least.is_none());
        Self { sought, last, most: self.round, begun: false, steps: 0, rounds: 0, ..self }
    }

    /// The loop is at a place in the program's own code: it begins there, or has come back.
    ///
    /// # Safety
    /// As for [`look`].
    unsafe fn comes_back(self, at: usize, machine: &libc::mcontext_t) -> Self {
        let fresh = !self.begun && (self.sought.is_none() || self.waited);
        let fits = !self.begun || !self.waited || self.steps == self.round;
        let maybe = fresh || fits && self.sought.is_some_and(|(place, _)| place == at);
        // SAFETY: as promised.
        let look = maybe.then(|| unsafe { look(machine) });
        if fresh {
            looks::begin();
        }
        if self.first.is_some() || !self.waited {
            // SAFETY: as promised.
            unsafe { looks::one_more(machine) };
        }
        if !fresh && (look.is_none() || self.sought.map(|(_, look)| look) != look) {
            return self;
        }
        // SAFETY: as promised.
        let above = unsafe { looks::above(machine) };
        if !self.begun {
            let sought = self.sought.or(look.map(|look| (at, look)));
            return Self { sought, begun: true, steps: 0, above, ..self };
        }
        let (rounds, same) = (self.rounds + 1, self.above == above);
        let next = Self { rounds, same, above, round: self.steps, steps: 0, ..self };
        if next.waited || next.first.is_some() {
            return Self { arrived: next.is_done(), ..next };
        }
        Self { first: next.sought, ..next }.seeks_least()
    }

    /// True while a loop that waited is still in our own code, which sets the flag for steps last.
    fn is_returning(&self) -> bool {
        self.waited && !self.begun && self.steps == 0
    }

    /// True if the loop has come back often enough.
    fn is_done(&self) -> bool {
        self.rounds >= MOST || self.rounds >= ROUNDS && self.same
    }
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
    SINCE.set(0);
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
            // The timer must not ring in the other's handler, which would be taken for what runs.
            libc::sigaddset(&raw mut action.sa_mask, libc::SIGALRM);
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
    arm(FIRST);
}

/// A rank with this code goes on; `polls` says that it has polled before.
pub fn begin(code: &Range<usize>, polls: bool) {
    CODE.set((code.start, code.end));
    debug_assert!(RESUMED.get().0 >= RESUMED.get().1, "a look sees what came before it");
    let now = RESUMED.get().0 + 1;
    RESUMED.set((now, if polls { now } else { RESUMED.get().1 }));
    if polls {
        SEEN.set(([0; LOOKS], 0));
        SINCE.set(0);
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
