//! Options of a command line, as the C library reads them: each rank has its own place in them, and its own variables.

#![allow(unsafe_code, reason = "arguments of programs")]

use std::ffi::{CStr, c_char, c_int};

/// The variables that programs see, and where a rank is in its arguments.
#[repr(C)]
pub struct Options {
    /// Argument of the last option.
    pub optarg: *mut c_char,
    /// Index of the next argument.
    pub optind: c_int,
    /// Whether errors are printed.
    pub opterr: c_int,
    /// Option that was wrong.
    pub optopt: c_int,
    /// Rest of an argument with several short options.
    next: *mut c_char,
    /// Arguments that are no options and were passed: from the first to before the last.
    passed: (c_int, c_int),
    begun: bool,
    order: Order,
}

/// What becomes of arguments that are no options.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// They go behind the options.
    Last,
    /// The first one ends the options.
    Ends,
    /// They are given in their turn, as options number 1.
    InTurn,
}

impl Default for Options {
    fn default() -> Self {
        let null = std::ptr::null_mut();
        let (optarg, next) = (null, null);
        Self {
            optarg,
            optind: 1,
            opterr: 1,
            optopt: c_int::from(b'?'),
            next,
            passed: (1, 1),
            begun: false,
            order: Order::Last,
        }
    }
}

/// A long option, as the C library has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LongOption {
    name: *const c_char,
    argument: c_int,
    flag: *mut c_int,
    value: c_int,
}

/// What a program asks with: short options, long ones with the place for their index, and whether one dash begins a long one too.
#[derive(Clone, Copy)]
pub struct Asked {
    /// Letters of short options.
    pub short: *const c_char,
    /// Long options, or null.
    pub long: *const LongOption,
    /// Where the index of a long one goes, or null.
    pub index: *mut c_int,
    /// Long options may begin with one dash.
    pub only: bool,
}

const WRONG: c_int = b'?' as c_int;

/// The bytes of a C string.
unsafe fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    // SAFETY: the caller gives a C string of the program.
    unsafe { CStr::from_ptr(text) }.to_bytes()
}

/// How a short option stands in the letters: whether it is there, and how many colons follow.
fn short_kind(letters: &[u8], c: u8) -> Option<usize> {
    let place = letters.iter().position(|&l| l == c).filter(|_| c != b':' && c != b';')?;
    Some(letters[place + 1..].iter().take(2).take_while(|&&l| l == b':').count())
}

impl Options {
    /// The next option, and what is to be printed about a wrong one.
    ///
    /// # Safety
    /// `argv` has `argc` C strings, `asked` what the C library asks for.
    pub unsafe fn next(
        &mut self,
        argc: c_int,
        argv: *mut *mut c_char,
        asked: &Asked,
    ) -> (c_int, Option<String>) {
        // A program sets `optind` as it likes; behind the end there is nothing.
        if argc < 1 || self.optind > argc {
            return (-1, None);
        }
        // SAFETY: as promised.
        let (argv, mut letters) =
            unsafe { (std::slice::from_raw_parts_mut(argv, argc as usize), bytes(asked.short)) };
        self.optarg = std::ptr::null_mut();
        if self.optind <= 0 || !self.begun {
            self.begin(letters);
        }
        if let [b'-' | b'+', rest @ ..] = letters {
            letters = rest;
        }
        // SAFETY: what is left of an argument is a C string.
        if self.next.is_null() || unsafe { *self.next } == 0 {
            if let Some(done) = self.next_argument(argc, argv) {
                return (done, None);
            }
            // SAFETY: arguments are C strings, and this one is an option: a dash and something.
            let (start, text) = unsafe { (argv[self.optind as usize], bytes(argv[self.optind as usize])) };
            if !asked.long.is_null() {
                if text[1] == b'-' {
                    // SAFETY: the text has two bytes at least.
                    return unsafe { self.long(start.add(2), "--", argv, asked, letters) };
                }
                if asked.only && (text.len() > 2 || short_kind(letters, text[1]).is_none()) {
                    // SAFETY: as above.
                    let found = unsafe { self.long(start.add(1), "-", argv, asked, letters) };
                    if found.0 != -1 {
                        return found;
                    }
                }
            }
            // SAFETY: as above.
            self.next = unsafe { start.add(1) };
        }
        self.short(argv, letters)
    }

    fn begin(&mut self, letters: &[u8]) {
        self.optind = self.optind.max(1);
        self.passed = (self.optind, self.optind);
        self.next = std::ptr::null_mut();
        self.begun = true;
        // SAFETY: the C library's own question, on this thread alone.
        let strict = || unsafe { !libc::getenv(c"POSIXLY_CORRECT".as_ptr()).is_null() };
        self.order = match letters.first() {
            Some(b'-') => Order::InTurn,
            Some(b'+') => Order::Ends,
            _ if strict() => Order::Ends,
            _ => Order::Last,
        };
    }

    /// Goes to the next argument with an option; the answer, if there is none.
    fn next_argument(&mut self, argc: c_int, argv: &mut [*mut c_char]) -> Option<c_int> {
        // SAFETY: arguments are C strings.
        let plain = |a: *mut c_char| unsafe { !matches!(bytes(a), [b'-', _, ..]) };
        self.passed = (self.passed.0.min(self.optind), self.passed.1.min(self.optind));
        if self.order == Order::Last {
            self.exchange(argv);
            while self.optind < argc && plain(argv[self.optind as usize]) {
                self.optind += 1;
            }
            self.passed.1 = self.optind;
        }
        // SAFETY: as above.
        if self.optind < argc && unsafe { bytes(argv[self.optind as usize]) } == b"--" {
            self.optind += 1;
            if self.passed.0 == self.passed.1 {
                self.passed.0 = self.optind;
            } else {
                self.exchange(argv);
            }
            self.passed.1 = argc;
            self.optind = argc;
        }
        if self.optind >= argc {
            if self.passed.0 != self.passed.1 {
                self.optind = self.passed.0;
            }
            return Some(-1);
        }
        if plain(argv[self.optind as usize]) {
            if self.order == Order::Ends {
                return Some(-1);
            }
            self.optarg = argv[self.optind as usize];
            self.optind += 1;
            return Some(1);
        }
        None
    }

    /// Options that came after passed arguments go before them.
    fn exchange(&mut self, argv: &mut [*mut c_char]) {
        let (first, last) = self.passed;
        debug_assert!(first <= last, "arguments that were passed are a range");
        if first != last && last != self.optind {
            argv[first as usize..self.optind as usize].rotate_left((last - first) as usize);
            self.passed = (first + self.optind - last, self.optind);
        } else if last != self.optind {
            self.passed.0 = self.optind;
        }
    }

    fn complaint(&self, letters: &[u8], argv: &[*mut c_char], what: &str) -> Option<String> {
        // SAFETY: the program's name is a C string.
        let name = || unsafe { String::from_utf8_lossy(bytes(argv[0])) };
        (self.opterr != 0 && letters.first() != Some(&b':')).then(|| format!("{}: {what}\n", name()))
    }

    fn short(&mut self, argv: &[*mut c_char], letters: &[u8]) -> (c_int, Option<String>) {
        // SAFETY: the rest of an argument has a byte more, if only its end.
        let (c, more) = unsafe {
            let c = *self.next as u8;
            self.next = self.next.add(1);
            (c, *self.next != 0)
        };
        if !more {
            self.optind += 1;
        }
        let Some(colons) = short_kind(letters, c) else {
            self.optopt = c_int::from(c);
            return (WRONG, self.complaint(letters, argv, &format!("invalid option -- '{}'", c as char)));
        };
        if colons == 0 {
            return (c_int::from(c), None);
        }
        let rest = std::mem::replace(&mut self.next, std::ptr::null_mut());
        if more {
            self.optarg = rest;
            self.optind += 1;
        } else if colons == 1 {
            let Some(&argument) = argv.get(self.optind as usize) else {
                self.optopt = c_int::from(c);
                let code = if letters.first() == Some(&b':') { c_int::from(b':') } else { WRONG };
                let what = format!("option requires an argument -- '{}'", c as char);
                return (code, self.complaint(letters, argv, &what));
            };
            self.optarg = argument;
            self.optind += 1;
        }
        (c_int::from(c), None)
    }

    /// A long option, whose name begins at `text`.
    ///
    /// # Safety
    /// As of `next`.
    unsafe fn long(
        &mut self,
        text: *mut c_char,
        dashes: &str,
        argv: &[*mut c_char],
        asked: &Asked,
        letters: &[u8],
    ) -> (c_int, Option<String>) {
        // SAFETY: the text is a C string; the options end with one without a name.
        let (whole, all) = unsafe {
            let count = (0..).take_while(|&n| !(*asked.long.add(n)).name.is_null()).count();
            (bytes(text), std::slice::from_raw_parts(asked.long, count))
        };
        let equal = whole.iter().position(|&b| b == b'=');
        let name = &whole[..equal.unwrap_or(whole.len())];
        let chosen = choose(all, name, asked.only);
        let shown = String::from_utf8_lossy(name).into_owned();
        let place = match chosen {
            Choice::One(place) => place,
            Choice::None if dashes == "-" && short_kind(letters, whole[0]).is_some() => return (-1, None),
            wrong => {
                self.next = std::ptr::null_mut();
                self.optind += 1;
                self.optopt = 0;
                let what = match wrong {
                    Choice::Several(names) => format!(
                        "option '{dashes}{}' is ambiguous; possibilities:{}",
                        String::from_utf8_lossy(whole),
                        names.iter().map(|n| format!(" '{dashes}{n}'")).collect::<String>()
                    ),
                    _ => format!("unrecognized option '{dashes}{shown}'"),
                };
                return (WRONG, self.complaint(letters, argv, &what));
            }
        };
        let option = all[place];
        self.optind += 1;
        self.next = std::ptr::null_mut();
        // SAFETY: names of options are C strings.
        let full = unsafe { String::from_utf8_lossy(bytes(option.name)) };
        if let Some(equal) = equal {
            if option.argument == 0 {
                self.optopt = option.value;
                let what = format!("option '{dashes}{full}' doesn't allow an argument");
                return (WRONG, self.complaint(letters, argv, &what));
            }
            // SAFETY: it lies behind the sign, within the text.
            self.optarg = unsafe { text.add(equal + 1) };
        } else if option.argument == 1 {
            let Some(&argument) = argv.get(self.optind as usize) else {
                self.optopt = option.value;
                let code = if letters.first() == Some(&b':') { c_int::from(b':') } else { WRONG };
                let what = format!("option '{dashes}{full}' requires an argument");
                return (code, self.complaint(letters, argv, &what));
            };
            self.optarg = argument;
            self.optind += 1;
        }
        // SAFETY: the program gives places for numbers, or null.
        unsafe {
            if !asked.index.is_null() {
                *asked.index = place as c_int;
            }
            if !option.flag.is_null() {
                *option.flag = option.value;
                return (0, None);
            }
        }
        (option.value, None)
    }
}

/// Which long option a name, perhaps a shortened one, stands for.
enum Choice {
    None,
    One(usize),
    Several(Vec<String>),
}

fn choose(all: &[LongOption], name: &[u8], only: bool) -> Choice {
    // SAFETY: names of options are C strings.
    let text = |o: &LongOption| unsafe { bytes(o.name) };
    if let Some(exact) = all.iter().position(|o| text(o) == name) {
        return Choice::One(exact);
    }
    let begins: Vec<usize> = (0..all.len()).filter(|&n| text(&all[n]).starts_with(name)).collect();
    let Some(&first) = begins.first() else { return Choice::None };
    // Several names of one and the same option are no doubt.
    let differs = |n: &usize| {
        let (a, b) = (&all[first], &all[*n]);
        only || (a.argument, a.flag, a.value) != (b.argument, b.flag, b.value)
    };
    if begins.len() > 1 && begins[1..].iter().any(differs) {
        return Choice::Several(
            begins.iter().map(|&n| String::from_utf8_lossy(text(&all[n])).into_owned()).collect(),
        );
    }
    Choice::One(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::{Purpose, Stream};
    use std::ffi::CString;

    unsafe extern "C" {
        static mut optarg: *mut c_char;
        static mut optind: c_int;
        static mut opterr: c_int;
        static mut optopt: c_int;
        fn getopt_long(
            argc: c_int,
            argv: *const *mut c_char,
            short: *const c_char,
            long: *const LongOption,
            index: *mut c_int,
        ) -> c_int;
        fn getopt_long_only(
            argc: c_int,
            argv: *const *mut c_char,
            short: *const c_char,
            long: *const LongOption,
            index: *mut c_int,
        ) -> c_int;
    }

    /// Everything that is seen of reading some arguments: results, indices, arguments of options, and where all stand at the end.
    type Seen = Vec<(c_int, c_int, c_int, c_int, Option<Vec<u8>>)>;

    fn seen(
        mut argv: Vec<*mut c_char>,
        mut next: impl FnMut(c_int, *mut *mut c_char, *mut c_int) -> (c_int, *mut c_char, c_int, c_int),
    ) -> (Seen, Vec<*mut c_char>) {
        let mut all = Vec::new();
        for _ in 0..40 {
            let mut index = -1;
            let (code, argument, at, wrong) =
                next(argv.len() as c_int - 1, argv.as_mut_ptr(), &raw mut index);
            // SAFETY: arguments are C strings.
            let text = (!argument.is_null()).then(|| unsafe { bytes(argument) }.to_vec());
            // Only of a wrong option is it told which.
            let wrong = if code == WRONG || code == c_int::from(b':') { wrong } else { 0 };
            all.push((code, index, at, wrong, text));
            if code == -1 {
                break;
            }
        }
        (all, argv)
    }

    /// The C library's own reader is the second implementation: 4,000 random command lines in several ways of reading.
    #[test]
    fn command_lines_are_read_as_the_c_library_reads_them() {
        let words = [
            "-a",
            "-b",
            "-bx",
            "-c",
            "-cval",
            "-abc",
            "--",
            "-",
            "plain",
            "more",
            "--alpha",
            "--al",
            "--beta=5",
            "--beta",
            "--bet",
            "--gamma",
            "--gamma=7",
            "--g",
            "--flag",
            "--unknown",
            "-z",
            "--alpha=1",
            "-alpha",
            "-beta",
            "-acx",
        ];
        let words: Vec<CString> = words.iter().map(|w| CString::new(*w).expect("no zero")).collect();
        let mut flag = 0;
        let option = |name: &'static CStr, argument, flag, value| LongOption {
            name: name.as_ptr(),
            argument,
            flag,
            value,
        };
        let null = std::ptr::null_mut();
        let long = [
            option(c"alpha", 0, null, 1000),
            option(c"alpine", 0, null, 1001),
            option(c"beta", 1, null, 1002),
            option(c"gamma", 2, null, 1003),
            option(c"flag", 0, &raw mut flag, 7),
            LongOption { name: std::ptr::null(), argument: 0, flag: null, value: 0 },
        ];
        let stream = Stream::new(5, Purpose::Route, 1);
        for case in 0..4000u64 {
            let draw = |n: u64, below: u64| stream.at(case * 64 + n).below(below);
            let short = [c"ab:c::", c"+ab:c::", c"-ab:c::", c":ab:c::"][draw(0, 4) as usize];
            let only = draw(1, 4) == 0;
            let count = draw(2, 7);
            let mut argv = vec![c"program".as_ptr().cast_mut()];
            argv.extend(
                (0..count).map(|n| words[draw(3 + n, words.len() as u64) as usize].as_ptr().cast_mut()),
            );
            argv.push(std::ptr::null_mut());
            let mut own = Options { opterr: 0, ..Options::default() };
            let ours = seen(argv.clone(), |argc, argv, index| {
                let asked = Asked { short: short.as_ptr(), long: long.as_ptr(), index, only };
                // SAFETY: all are C strings.
                let (code, complaint) = unsafe { own.next(argc, argv, &asked) };
                assert_eq!(complaint, None);
                (code, own.optarg, own.optind, own.optopt)
            });
            // SAFETY: this test alone uses these variables, in one thread.
            unsafe { (optind, opterr, optopt) = (0, 0, c_int::from(b'?')) };
            let theirs = seen(argv, |argc, argv, index| unsafe {
                // SAFETY: as above.
                let f = if only { getopt_long_only } else { getopt_long };
                let code = f(argc, argv, short.as_ptr(), long.as_ptr(), index);
                (code, optarg, optind, optopt)
            });
            assert_eq!(ours, theirs, "case {case}: {short:?}, only {only}");
        }
    }
}
