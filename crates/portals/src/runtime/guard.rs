//! Memory and signals of programs: copies that a wrong address does not kill, and crashes that end one rank.
//!
//! `netloom_copy` is `rep movsb` between two labels. If it faults, the handler lets it go on behind the labels, where it returns 1. A fault anywhere
//! else while a rank runs, and an abort of the C library itself, lets the rank go on in `crashed`, from where it never returns.

#![allow(unsafe_code, reason = "signals and copies from addresses that programs give")]

use crate::core::types::{Fault, Memory};
use base::{
    index::RankId,
    sorted::{SortedMap, SortedSet},
};
use std::{
    arch::global_asm,
    cell::{Cell, UnsafeCell},
    ops::Range,
};

global_asm!(
    ".globl netloom_copy",
    ".globl netloom_copy_end",
    ".globl netloom_copy_fault",
    "netloom_copy:",
    "mov rcx, rdx",
    "rep movsb",
    "netloom_copy_end:",
    "xor eax, eax",
    "ret",
    "netloom_copy_fault:",
    "mov eax, 1",
    "ret",
);

unsafe extern "C" {
    fn netloom_copy(to: u64, from: u64, bytes: u64) -> i32;
    fn netloom_copy_end();
    fn netloom_copy_fault();
}

/// Copies bytes between addresses; false if one of them is not there.
#[must_use]
pub fn copy(to: u64, from: u64, bytes: usize) -> bool {
    // SAFETY: the routine reads and writes nothing but these bytes, and reports addresses that are not mapped by its result (the handler of `install` moves it
    // to its error exit). What it writes is where the running rank's own pointer points, memory that is nobody's or that of the rank which an operation is done for
    // (`RankMemory::is_own`; the heap alone is one for all), or a buffer that the callers below own.
    unsafe { netloom_copy(to, from, bytes as u64) == 0 }
}

/// A value that a program's pointer points to.
#[must_use]
pub fn get<T: Copy + Default>(from: *const T) -> Option<T> {
    let mut value = T::default();
    copy(&raw mut value as u64, from as u64, size_of::<T>()).then_some(value)
}

/// Writes to where a program's pointer points.
#[must_use]
pub fn put<T: Copy>(to: *mut T, value: T) -> bool {
    copy(to as u64, &raw const value as u64, size_of::<T>())
}

/// Most pieces of memory that were not there of a record.
const MOST: usize = 1 << 16;

/// Memory of all ranks: they share one address space, but what belongs to one of them is not there for the others.
///
/// Places are globals of copies and stacks. The heap is one for all, so an address in it names the same bytes for every rank.
pub struct RankMemory {
    /// Pieces that were not there: address, bytes; for a record alone, and one more than it takes at most.
    faults: Option<SortedSet<(u64, u64)>>,
    /// Places by their begin: end and rank.
    places: SortedMap<u64, (u64, RankId)>,
    /// The rank that names addresses.
    of: RankId,
    /// For each rank addresses around the last one that it named, all of which are there for it or nobody's.
    near: Vec<(u64, u64)>,
}

impl RankMemory {
    /// Memory; what was not there is kept if the run is recorded.
    #[must_use]
    pub fn new(recorded: bool) -> Self {
        let faults = recorded.then(SortedSet::new);
        Self { faults, places: SortedMap::new(), of: RankId::new(0), near: Vec::new() }
    }

    /// A place belongs to a rank from now on.
    pub fn belongs(&mut self, place: Range<u64>, rank: RankId) {
        if !place.is_empty() {
            self.places.insert(place.start, (place.end, rank));
            self.near.clear();
        }
    }

    /// True if none of these bytes belongs to another rank than that which names them.
    fn is_own(&mut self, address: u64, bytes: usize) -> bool {
        let Some(end) = address.checked_add(bytes as u64) else { return false };
        let near = self.near.get(self.of.index()).copied().unwrap_or_default();
        if address >= near.0 && end <= near.1 {
            return true;
        }
        let before =
            self.places.range(..=address).next_back().map(|(&start, &(end, rank))| (start, end, rank));
        let (from, to) = match before {
            Some((start, until, rank)) if address < until => {
                if rank != self.of {
                    return bytes == 0;
                }
                (start, until)
            }
            before => {
                let next = self.places.range(address..).next().map_or(u64::MAX, |(&start, _)| start);
                (before.map_or(0, |b| b.1), next)
            }
        };
        debug_assert!(from <= address && address <= to, "an address lies in a place or between two");
        if end > to {
            return false;
        }
        if self.near.len() <= self.of.index() {
            self.near.resize(self.of.index() + 1, (0, 0));
        }
        self.near[self.of.index()] = (from, to);
        true
    }

    /// Pieces that were not there, in order.
    ///
    /// # Errors
    /// If there are more than a record takes.
    pub fn faults(&mut self) -> Result<Vec<(u64, u64)>, String> {
        let faults = self.faults.take().unwrap_or_default();
        if faults.len() > MOST {
            return Err(format!("operations named more than {MOST} pieces of memory that are not there"));
        }
        Ok(faults.into_iter().collect())
    }

    fn checked(&mut self, there: bool, address: u64, bytes: usize) -> Result<(), Fault> {
        if there {
            return Ok(());
        }
        if let Some(faults) = self.faults.as_mut().filter(|f| f.len() <= MOST) {
            faults.insert((address, bytes as u64));
        }
        Err(Fault)
    }
}

impl Memory for RankMemory {
    fn of(&mut self, rank: RankId) {
        self.of = rank;
    }
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        let there = self.is_own(address, into.len()) && copy(into.as_mut_ptr() as u64, address, into.len());
        self.checked(there, address, into.len())
    }
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        let there = self.is_own(address, bytes.len()) && copy(address, bytes.as_ptr() as u64, bytes.len());
        self.checked(there, address, bytes.len())
    }
}

/// A stack of its own for `crashed`, and one for handlers.
struct Stack(UnsafeCell<[u8; 1 << 16]>);

// SAFETY: only the one thread that simulates uses them, and each only while a rank has crashed or a handler runs.
unsafe impl Sync for Stack {}

static LAST: Stack = Stack(UnsafeCell::new([0; 1 << 16]));
static HANDLER: Stack = Stack(UnsafeCell::new([0; 1 << 16]));

thread_local! {
    /// Signal and address of the crash that is being reported; whether a rank runs.
    static CRASH: Cell<(i32, u64)> = const { Cell::new((0, 0)) };
    static RANK_RUNS: Cell<bool> = const { Cell::new(false) };
    /// Stack of the thread that runs, from its lowest address.
    static STACK: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// Ends the rank that crashed.
    static CRASHED: Cell<Option<Ending>> = const { Cell::new(None) };
}

/// Bytes that must be left of a stack for the end of a rank to be told on it.
const ROOM: usize = 48 << 10;
/// Bytes below the stack pointer that a function may use without saying so.
const RED_ZONE: usize = 128;

/// Ends the rank that runs by a signal at an address.
pub type Ending = fn(i32, u64) -> !;

/// Reports whether a rank's code runs.
pub fn rank_runs(runs: bool) {
    debug_assert_ne!(RANK_RUNS.get(), runs, "one rank runs at a time");
    RANK_RUNS.set(runs);
}

/// True if a rank's code called, in the thread that simulates.
#[inline]
#[must_use]
pub fn in_rank() -> bool {
    RANK_RUNS.get()
}

/// A thread of a rank goes on whose stack has these bytes below `top`.
pub fn on_stack(top: usize, bytes: usize) {
    debug_assert!(top.is_multiple_of(16) && bytes < top, "a stack lies below its top, which is aligned");
    STACK.set((top - bytes, top));
}

extern "C" fn crashed() -> ! {
    let (signal, address) = CRASH.get();
    match CRASHED.get() {
        Some(end) => end(signal, address),
        // A rank runs only after `install`.
        None => std::process::abort(),
    }
}

extern "C" fn handler(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel gives valid pointers to a handler with SA_SIGINFO; the registers are those of this thread at the fault, and
    // are changed only to lead to the copy's error exit or to `crashed`, on a stack that nobody else uses.
    unsafe {
        let registers = &mut (*context).uc_mcontext.gregs;
        let at = registers[libc::REG_RIP as usize] as usize;
        let (start, end) = (netloom_copy as *const () as usize, netloom_copy_end as *const () as usize);
        if (start..end).contains(&at) {
            registers[libc::REG_RIP as usize] = netloom_copy_fault as *const () as i64;
            return;
        }
        if !RANK_RUNS.get() {
            // Not a program's fault: let it happen again without us.
            libc::signal(signal, libc::SIG_DFL);
            return;
        }
        end_there(context, signal, (*info).si_addr() as u64);
    }
}

/// Lets the rank that was interrupted end by a signal.
///
/// # Safety
/// The registers must be those of the rank that runs, interrupted in its own code or at a fault.
pub unsafe fn end_there(context: *mut libc::ucontext_t, signal: i32, address: u64) {
    CRASH.set((signal, address));
    // SAFETY: as promised. Below the red zone of its own stack, where a handler of the program may also stay; on another one if that is full.
    let registers = unsafe { &mut (*context).uc_mcontext.gregs };
    let (own, (low, high)) = (registers[libc::REG_RSP as usize] as usize, STACK.get());
    let room = (low + ROOM..=high).contains(&own);
    let top = if room { own - RED_ZONE } else { LAST.0.get() as usize + (1 << 16) };
    registers[libc::REG_RSP as usize] = ((top & !15) - 8) as i64;
    registers[libc::REG_RIP as usize] = crashed as *const () as i64;
}

/// Catches the signals of wrong programs; `crashed` ends the rank, on a stack of its own.
pub fn install(crashed: Ending) {
    CRASHED.set(Some(crashed));
    // SAFETY: the structures are zeroed and filled as the interface asks; the stack lives as long as the process.
    unsafe {
        let stack = libc::stack_t { ss_sp: HANDLER.0.get().cast(), ss_flags: 0, ss_size: 1 << 16 };
        libc::sigaltstack(&raw const stack, std::ptr::null_mut());
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT, libc::SIGSYS] {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_addresses_are_kept_once_and_for_records_alone() {
        let reported = |recorded, count: u64| {
            let mut memory = RankMemory::new(recorded);
            for n in (0..count).chain(0..count) {
                assert!(memory.checked(false, n, 1).is_err());
            }
            memory.faults().map(|f| f.len())
        };
        assert_eq!(reported(false, 5), Ok(0));
        assert_eq!(reported(true, 5), Ok(5));
        assert!(reported(true, MOST as u64 + 9).is_err());
    }

    /// Against a list of bytes, each with the rank and the place that it belongs to.
    #[test]
    fn what_belongs_to_another_rank_is_not_there() {
        use base::rng::{Purpose, Stream};
        for case in 0..200u64 {
            let stream = Stream::new(3, Purpose::Route, case);
            let (mut memory, mut owners) = (RankMemory::new(false), [None; 256]);
            for n in 0..300u64 {
                let draw = |what: u64, below: u64| stream.at(n * 8 + what).below(below);
                let (start, bytes, rank) = (draw(0, 200), draw(1, 40), RankId::new(draw(2, 3) as u32));
                let range = start as usize..(start + bytes) as usize;
                if n % 30 == 0 {
                    if owners[range.clone()].iter().all(Option::is_none) {
                        owners[range].fill(Some((rank, n)));
                        memory.belongs(start..start + bytes, rank);
                    }
                    continue;
                }
                memory.of(rank);
                let free = owners[range.clone()].iter().all(|o| o.is_none_or(|o| o.0 == rank));
                // Bytes of several places at once are refused: no block of a program spans two.
                let one = owners[range].windows(2).all(|w| w[0] == w[1]);
                if !free || one {
                    assert_eq!(memory.is_own(start, bytes as usize), free, "case {case}, look {n}");
                }
            }
        }
    }

    #[test]
    fn copies_and_survives_wrong_addresses() {
        install(|signal, address| panic!("signal {signal} at {address:#x}"));
        let (from, mut to) = ([1u8, 2, 3], [0u8; 3]);
        assert!(copy(to.as_mut_ptr() as u64, from.as_ptr() as u64, 3));
        assert_eq!(to, from);
        assert!(!copy(to.as_mut_ptr() as u64, 16, 3));
        assert!(!copy(copy as *const () as u64, from.as_ptr() as u64, 3), "code cannot be written");
        assert_eq!(get(std::ptr::null::<u64>()), None);
        assert!(!put(std::ptr::null_mut(), 7u64));
    }
}
