//! Locales of ranks: what `setlocale` says and does, on the C library's locales that are no process's.

#![allow(unsafe_code, reason = "locales of the C library")]

use super::own::{self, Own};
use std::ffi::{CStr, CString, c_char, c_int};

/// Categories by number, without that of all.
const CATEGORIES: [&str; 13] = [
    "LC_CTYPE",
    "LC_NUMERIC",
    "LC_TIME",
    "LC_COLLATE",
    "LC_MONETARY",
    "LC_MESSAGES",
    "",
    "LC_PAPER",
    "LC_NAME",
    "LC_ADDRESS",
    "LC_TELEPHONE",
    "LC_MEASUREMENT",
    "LC_IDENTIFICATION",
];
const ALL: usize = 6;

/// Sets a category's locale, or tells it: the name, or null if there is none of that name.
pub(super) fn set(own: &mut Own, category: c_int, name: *const c_char) -> *const c_char {
    let Some(category) = usize::try_from(category).ok().filter(|&c| c < CATEGORIES.len()) else {
        return std::ptr::null();
    };
    if own.categories.is_empty() {
        own.categories = vec!["C".to_owned(); CATEGORIES.len()];
    }
    if !name.is_null() {
        // SAFETY: the program gives a C string.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        if change(own, category, &name).is_none() {
            return std::ptr::null();
        }
    }
    // Texts stay, as programs keep them until the next call at least: a few per rank.
    CString::new(called(&own.categories, category))
        .map_or(std::ptr::null(), |text| text.into_raw().cast_const())
}

/// What a category's locale is called.
fn called(names: &[String], category: usize) -> String {
    debug_assert_eq!(names.len(), CATEGORIES.len(), "each category has a name");
    let first = &names[0];
    if category != ALL {
        return names[category].clone();
    }
    let others = || (0..CATEGORIES.len()).filter(|&c| c != ALL);
    if others().all(|c| names[c] == *first) {
        return first.clone();
    }
    others().map(|c| format!("{}={}", CATEGORIES[c], names[c])).collect::<Vec<_>>().join(";")
}

fn change(own: &mut Own, category: usize, name: &str) -> Option<()> {
    let which = |c: &usize| *c != ALL && (category == ALL || *c == category);
    let mut names = own.categories.clone();
    for c in (0..CATEGORIES.len()).filter(which) {
        let part = name.split(';').find_map(|p| p.strip_prefix(CATEGORIES[c])?.strip_prefix('='));
        names[c] = match name {
            "" => from_environment(CATEGORIES[c]),
            _ => part.unwrap_or(name).to_owned(),
        };
    }
    // SAFETY: masks and names are valid; a locale that is replaced is kept, since another thread of the rank may use it.
    unsafe {
        let mut made = libc::newlocale(libc::LC_ALL_MASK, c"C".as_ptr(), std::ptr::null_mut());
        for (c, name) in names.iter().enumerate().filter(|(c, _)| *c != ALL) {
            let name = CString::new(name.as_str()).ok()?;
            let next = libc::newlocale(1 << c, name.as_ptr(), made);
            if next.is_null() {
                libc::freelocale(made);
                return None;
            }
            made = next;
        }
        own.locale_of_all = made.cast();
        libc::uselocale(own.locale().cast());
    }
    own.categories = names;
    own::changed(own);
    Some(())
}

/// The name that the rank's environment gives a category.
fn from_environment(category: &str) -> String {
    for name in ["LC_ALL", category, "LANG"] {
        let Ok(name) = CString::new(name) else { continue };
        // SAFETY: the environment is the rank's own, and its variables are C strings.
        let value = unsafe {
            let value = libc::getenv(name.as_ptr());
            if value.is_null() { continue } else { CStr::from_ptr(value) }
        };
        if !value.is_empty() {
            return value.to_string_lossy().into_owned();
        }
    }
    "C".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_have_names_of_their_own() {
        let mut own = Own::new();
        // SAFETY: names are C strings, and so is what comes back.
        let mut set = |category, name: Option<&CStr>| unsafe {
            let name = set(&mut own, category, name.map_or(std::ptr::null(), CStr::as_ptr));
            (!name.is_null()).then(|| CStr::from_ptr(name).to_str().expect("text").to_owned())
        };
        assert_eq!(set(ALL as c_int, None).as_deref(), Some("C"));
        assert_eq!(set(1, Some(c"C.UTF-8")).as_deref(), Some("C.UTF-8"));
        assert_eq!(set(1, Some(c"no_such.locale")), None);
        let all = set(ALL as c_int, None).expect("a name");
        assert!(all.starts_with("LC_CTYPE=C;LC_NUMERIC=C.UTF-8;LC_TIME=C;"), "{all}");
        assert_eq!(set(ALL as c_int, Some(c"C")).as_deref(), Some("C"));
        assert_eq!(set(1, None).as_deref(), Some("C"));
        assert_eq!(set(99, None), None);
    }
}
