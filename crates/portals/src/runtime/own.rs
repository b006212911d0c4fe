//! What a process has for itself in the C library, and here each rank: random numbers, options, environment, directory, locale, signals.
//!
//! What has a variable that programs read (options) lies in [`Own`], and the cells of the rank's copies point there. What functions keep is reached through our
//! own functions of these names ([`super::state`]), on the C library's forms that take their state. What the kernel or the C library keeps for the whole process
//! (environment, directory, mask of new files, locale) is exchanged by [`enter`] where it differs, so that ranks which change none of it cost comparisons alone.

#![allow(unsafe_code, reason = "state of the C library")]

use super::{cxx, getopt::Options};
use base::time::Ps;
use std::{
    cell::Cell,
    ffi::{c_char, c_int, c_long, c_void},
};

/// State of the additive generator, as the C library lays it out.
#[repr(C)]
pub struct RandomData {
    pointers: [*mut i32; 3],
    numbers: [c_int; 3],
    end: *mut i32,
}

/// State of the 48-bit generator, as the C library lays it out.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Random48 {
    /// The number that was drawn last.
    pub x: [u16; 3],
    /// The number before it was seeded.
    pub old: [u16; 3],
    /// Increment, whether it was seeded, factor.
    rest: [u16; 2],
    factor: u64,
}

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
    fn initstate_r(seed: u32, state: *mut c_char, size: usize, data: *mut RandomData) -> c_int;
}

/// Handle of the locale that a process begins with.
pub const FIRST_LOCALE: *mut c_void = std::ptr::without_provenance_mut(usize::MAX);

/// A time zone, as programs read it by name.
pub struct Zone {
    /// Seconds west of Greenwich.
    pub west: c_long,
    /// It has a time for summers.
    pub daylight: c_int,
    /// Its names, in winter and in summer.
    pub names: [*mut c_char; 2],
}

/// What a rank has for itself.
pub struct Own {
    /// Options of the command line.
    pub options: Options,
    /// The additive generator; not yet begun while its first pointer is null.
    random: RandomData,
    /// Its numbers, at first.
    numbers: [i32; 32],
    /// The 48-bit generator.
    pub random48: Random48,
    /// Rest of the text that is cut into tokens.
    pub token: *mut c_char,
    /// Texts of times.
    pub text: [c_char; 64],
    /// Parts of a time.
    pub parts: libc::tm,
    /// Variables of the environment, as programs reach them.
    pub environment: *mut *mut c_char,
    /// The same once the rank has changed them: pointers, with a null at the end.
    pub variables: Vec<*mut c_char>,
    /// Its directory; below 0 while it is that of all.
    pub directory: c_int,
    /// Its mask of new files, once it has one.
    pub mask: Option<libc::mode_t>,
    /// The locale that it has set for all that it does; null while it is the first one.
    pub locale_of_all: *mut c_void,
    /// The locale that it uses instead; null if it does not.
    pub thread_locale: *mut c_void,
    /// What C++ calls or uses at its wish, by `cxx::SETTERS`; 0 for what it does at first.
    pub handlers: [usize; 3],
    /// Its time zone, as programs read it by name.
    pub zone: Zone,
    /// Text of an error.
    pub error_text: [c_char; 128],
    /// That of a signal.
    pub signal_text: [c_char; 128],
    /// Digits of a real number.
    pub digits: [c_char; 512],
    /// Those of a number in base 64.
    pub base64: [c_char; 8],
    /// Random numbers of the system that it has drawn.
    pub drawn: u64,
    /// Random bytes that a process is given; zeros until it looks at them.
    pub sixteen: [u64; 2],
    /// Its hash table, as the C library lays it out: a pointer and two numbers.
    pub table: [u64; 2],
    /// Names of the locale's categories.
    pub categories: Vec<String>,
    /// What it does at signals.
    pub signals: Signals,
    /// Where its standard descriptors lead, if it changed that: a descriptor, or -1 where it was closed.
    pub descriptors: [Option<c_int>; 3],
    /// Functions for `quick_exit`.
    pub quick_hooks: Vec<usize>,
    /// Its timers, by number; those that are gone keep theirs.
    pub timers: Vec<Timer>,
}

/// What happens when a timer expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Nothing: the program looks at what is left.
    Nothing,
    /// A signal, with a value for its handler.
    Signal(c_int, usize),
    /// A function is called with a value.
    Function(usize, usize),
    /// One more is counted at a descriptor.
    Descriptor {
        /// The one that the program has.
        shown: c_int,
        /// Another one of the same counter, which the program cannot close.
        own: c_int,
    },
    /// The timer was deleted.
    Gone,
}

/// A timer of a rank.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    /// What happens when it expires.
    pub does: Expiry,
    /// When it does; 0 while it is not set.
    pub at: Ps,
    /// From one time to the next; 0 for a single one.
    pub every: Ps,
    /// Times that it expired while its last signal still waited.
    pub overruns: c_int,
    /// The thread that waits for it, by its number.
    pub thread: Option<u32>,
}

/// Where a signal comes from, as its handler sees it: a code, and two words whose meaning depends on it.
#[derive(Clone, Copy, Default)]
pub struct Cause {
    /// What kind of cause it is, in numbers of the system.
    pub code: c_int,
    /// The address of a fault; or the number of a timer, and the value that goes with it.
    pub words: [u64; 2],
}

impl Cause {
    /// A fault at an address.
    #[must_use]
    pub fn fault(address: u64) -> Self {
        Self { code: 0, words: [address, 0] }
    }
}

/// What a rank does at signals.
#[derive(Default)]
pub struct Signals {
    /// Its own actions, by signal.
    pub actions: base::sorted::SortedMap<c_int, libc::sigaction>,
    /// Signals that have to wait, as bits.
    pub blocked: u64,
    /// Signals that wait.
    pub pending: u64,
    /// Where those come from.
    pub causes: base::sorted::SortedMap<c_int, Cause>,
    /// Signals that were handled so far.
    pub handled: u64,
}

impl Own {
    /// That of a rank that has done nothing yet.
    #[must_use]
    pub fn new() -> Box<Self> {
        let null = std::ptr::null_mut();
        Box::new(Self {
            options: Options::default(),
            random: RandomData {
                pointers: [std::ptr::null_mut(); 3],
                numbers: [0; 3],
                end: std::ptr::null_mut(),
            },
            numbers: [0; 32],
            random48: Random48::default(),
            token: null,
            text: [0; 64],
            // SAFETY: numbers and a pointer, which may be zero.
            parts: unsafe { std::mem::zeroed() },
            // SAFETY: the C library defines it, and this thread alone assigns it.
            environment: unsafe { environ },
            variables: Vec::new(),
            directory: -1,
            mask: None,
            locale_of_all: null.cast(),
            thread_locale: null.cast(),
            handlers: [0; 3],
            zone: Zone { west: 0, daylight: 0, names: [c"GMT".as_ptr().cast_mut(); 2] },
            error_text: [0; 128],
            signal_text: [0; 128],
            digits: [0; 512],
            base64: [0; 8],
            drawn: 0,
            sixteen: [0; 2],
            table: [0; 2],
            categories: Vec::new(),
            signals: Signals::default(),
            descriptors: [None; 3],
            quick_hooks: Vec::new(),
            timers: Vec::new(),
        })
    }

    /// The locale that counts.
    #[must_use]
    pub fn locale(&self) -> *mut c_void {
        match (self.thread_locale, self.locale_of_all) {
            (own, _) if !own.is_null() => own,
            (_, all) if !all.is_null() => all,
            _ => FIRST_LOCALE,
        }
    }

    /// A descriptor is closed: a timer behind it is gone, and its thread ends when it would have expired.
    pub fn close_timer(&mut self, descriptor: c_int) {
        for timer in &mut self.timers {
            if let Expiry::Descriptor { shown, own } = timer.does
                && shown == descriptor
            {
                debug_assert_ne!(own, shown, "a timer writes to a descriptor of its own");
                // SAFETY: it was made for this timer alone.
                unsafe { libc::close(own) };
                (timer.does, timer.at) = (Expiry::Gone, 0);
            }
        }
    }

    /// The additive generator, begun as in every process.
    pub fn random(&mut self) -> *mut RandomData {
        if self.random.pointers[0].is_null() {
            let size = size_of_val(&self.numbers);
            // SAFETY: the memory is this rank's own, which stays where it is.
            unsafe { initstate_r(1, self.numbers.as_mut_ptr().cast(), size, &raw mut self.random) };
            debug_assert!(!self.random.pointers[0].is_null(), "the generator has begun");
        }
        &raw mut self.random
    }

    /// The state that the additive generator uses.
    pub fn random_state(&mut self) -> *mut c_char {
        let data = self.random();
        // SAFETY: it is begun; its numbers begin one word behind the state's begin.
        unsafe { (*data).pointers[2].wrapping_sub(1).cast() }
    }

    /// Addresses of variables that programs read by name.
    #[must_use]
    pub fn cells(&mut self) -> Vec<(&'static str, usize)> {
        let (options, zone) = (&raw mut self.options, &raw mut self.zone);
        // SAFETY: addresses alone are taken, of memory that stays where it is as long as the rank's copies.
        unsafe {
            let (west, daylight) = (&raw mut (*zone).west as usize, &raw mut (*zone).daylight as usize);
            let names = &raw mut (*zone).names as usize;
            vec![
                ("timezone", west),
                ("__timezone", west),
                ("daylight", daylight),
                ("__daylight", daylight),
                ("tzname", names),
                ("__tzname", names),
                ("optarg", &raw mut (*options).optarg as usize),
                ("optind", &raw mut (*options).optind as usize),
                ("opterr", &raw mut (*options).opterr as usize),
                ("optopt", &raw mut (*options).optopt as usize),
            ]
        }
    }
}

/// What a process has, and may have of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Surroundings {
    /// The directory, as a descriptor; below 0: that of all.
    directory: c_int,
    /// The mask of new files, if it is not that of all.
    mask: Option<libc::mode_t>,
    /// The locale that counts for the thread that simulates.
    locale: *mut c_void,
    /// What C++ calls or uses at a rank's wish.
    handlers: [usize; 3],
}

impl Surroundings {
    /// Those that all begin with.
    const FIRST: Self = Self { directory: -1, mask: None, locale: FIRST_LOCALE, handlers: [0; 3] };

    /// Those of a rank.
    fn of(own: &Own) -> Self {
        Self { directory: own.directory, mask: own.mask, locale: own.locale(), handlers: own.handlers }
    }
}

thread_local! {
    /// What the process has now.
    static NOW: Cell<Surroundings> = const { Cell::new(Surroundings::FIRST) };
    /// What all begin with: environment, directory, mask.
    static FIRST: Cell<(*mut *mut c_char, c_int, libc::mode_t)> = const { Cell::new((std::ptr::null_mut(), -1, 0)) };
}

/// Remembers what this process has.
pub fn begin() {
    debug_assert!(FIRST.get().1 < 0, "what a process has is remembered once");
    // SAFETY: a mask can only be read by writing it; only this thread makes files now.
    let mask = unsafe {
        let mask = libc::umask(0o77);
        libc::umask(mask);
        mask
    };
    // SAFETY: the name is a C string; the variable is as in `Own::new`.
    let (directory, variables) =
        unsafe { (libc::open(c".".as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC), environ) };
    FIRST.set((variables, directory, mask));
    NOW.set(Surroundings::FIRST);
}

/// A rank's functions have changed what the process has.
pub fn changed(own: &Own) {
    NOW.set(Surroundings::of(own));
}

/// A rank goes on: the process has what it has.
pub fn enter(own: &Own) {
    exchange(own.environment, Surroundings::of(own));
}

/// The rank gives the processor up: what it did to its environment is kept.
pub fn leave(own: &mut Own) {
    // SAFETY: as in `Own::new`.
    own.environment = unsafe { environ };
}

/// The process has again what it had before all ranks.
pub fn end() {
    let (variables, directory, _) = FIRST.get();
    exchange(variables, Surroundings::FIRST);
    if directory >= 0 {
        // SAFETY: the descriptor is our own.
        unsafe { libc::close(directory) };
    }
    FIRST.set((variables, -1, 0));
}

fn exchange(variables: *mut *mut c_char, to: Surroundings) {
    let (now, first) = (NOW.get(), FIRST.get());
    // SAFETY: the C library allows programs to assign it; other threads of this process read no environment while ranks run.
    unsafe { environ = variables };
    if now == to {
        return;
    }
    NOW.set(to);
    // SAFETY: descriptors and locales are open ones; none is closed while a rank may have it.
    unsafe {
        if now.directory != to.directory {
            libc::fchdir(if to.directory < 0 { first.1 } else { to.directory });
        }
        if now.mask != to.mask {
            libc::umask(to.mask.unwrap_or(first.2));
        }
        if now.locale != to.locale {
            libc::uselocale(to.locale.cast());
        }
    }
    for (which, &handler) in to.handlers.iter().enumerate() {
        if handler != now.handlers[which] {
            cxx::set_handler(which, handler);
        }
    }
}
