//! Text from strangers, made harmless for whoever reads it, on a terminal or in a page.
//!
//! Names come from files: node descriptions of a dump, jobs of an experiment, regions of a trace. A control character in one can move the
//! cursor, retitle a window or turn the order of letters around (<https://trojansource.codes>).

use std::{borrow::Cow, path::Path};

/// True of a character that does more than to be seen, or is not seen: control characters (C0, C1, DEL), marks of writing direction,
/// separators of lines, characters without width.
#[must_use]
pub fn acts(c: char) -> bool {
    c.is_control() || is_hidden(c)
}

/// Characters that change the direction of what stands beside them, separate lines, or are not seen.
const fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Words as text of SVG or HTML: nothing in them is markup, and what [`acts`] is replaced.
#[must_use]
pub fn markup(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            '\'' => text += "&#39;",
            '&' => text += "&amp;",
            '<' => text += "&lt;",
            '>' => text += "&gt;",
            '"' => text += "&quot;",
            c if acts(c) => text.push('\u{fffd}'),
            c => text.push(c),
        }
    }
    text
}

/// A name on one line: every character that [`acts`] as `\u001b`, which is what JSON takes for it too.
///
/// ```
/// assert_eq!(base::visible::name("job\u{1b}[2J\n"), r"job\u001b[2J\u000a");
/// ```
#[must_use]
pub fn name(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if acts(c) { escaped(c) } else { c.to_string() }).collect())
}

/// A path as a [`name`]: files may be called anything.
#[must_use]
pub fn path(path: &Path) -> String {
    name(&path.to_string_lossy()).into_owned()
}

/// Text of several lines, or JSON, for a terminal: what [`acts`] is shown as in a [`name`], but for ends of lines, tabs and our own colours
/// (`ESC [ digits m`).
#[must_use]
pub fn screen(text: &str) -> Cow<'_, str> {
    lines(text, true)
}

/// The same for what has no colours of ours, such as a pipe: a colour in it is of somebody else.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    lines(text, false)
}

fn lines(text: &str, colours: bool) -> Cow<'_, str> {
    if !text.contains(|c| acts(c) && c != '\n') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '\n' | '\t' => out.push(c),
            '\u{1b}' if colours && is_colour(&text[at + 1..]) => out.push(c),
            _ if acts(c) => out += &escaped(c),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// In the units of UTF-16, as JSON has it.
fn escaped(c: char) -> String {
    c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// True if what follows an ESC only changes colours: our own, which conceal nothing.
fn is_colour(rest: &str) -> bool {
    let after =
        rest.strip_prefix('[').map(|r| r.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'));
    after.is_some_and(|r| r.starts_with('m') && rest[1..rest.len() - r.len()].split(';').all(|n| n != "8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_reach_a_screen() {
        let shown = |text| screen(text).into_owned();
        assert_eq!(plain("\u{1b}[31mred\u{1b}[0m\n"), "\\u001b[31mred\\u001b[0m\n");
        assert_eq!(shown("a\u{1b}[1;31mb\u{1b}[0m\n\tc"), "a\u{1b}[1;31mb\u{1b}[0m\n\tc");
        assert_eq!(shown("\u{1b}]0;title\u{7}"), r"\u001b]0;title\u0007");
        assert_eq!(shown("\u{1b}[2J\u{9b}1m\r\u{202e}"), r"\u001b[2J\u009b1m\u000d\u202e");
        assert_eq!(shown("\u{1b}"), r"\u001b");
        assert_eq!(shown("\u{1b}[8ma\u{1b}[0;8m\u{1b}[m"), "\\u001b[8ma\\u001b[0;8m\u{1b}[m");
        assert_eq!(shown("\u{ad}\u{fff9}\u{e0041}"), r"\u00ad\ufff9\udb40\udc41");
        assert_eq!(shown("gr\u{fc}n \u{4e2d}"), "gr\u{fc}n \u{4e2d}");
    }
}
