//! Refuses delays that every key allows by itself, and virtual time does not.

use base::{
    diag::{Diagnostic, Diagnostics},
    param::{Kind, Value},
    time::{Ps, S},
};
use model::section::Section;

/// Largest delay of a link, router or adapter: sums of times then stay far from overflow.
const MAX_DELAY: Ps = 1_000 * S;

/// Refuses delays of a section that are too long.
pub(crate) fn check_delays(section: &Section, diagnostics: &mut Diagnostics) {
    for param in section.params.iter().filter(|p| p.kind == Kind::Time) {
        let key = param.name;
        if let Some(Value::Time(t)) = section.get(key)
            && *t > MAX_DELAY
        {
            let message = format!("`{key}` is longer than 1000 s");
            diagnostics.push(Diagnostic::new(section.place(key), message).label("too long"));
        }
    }
}
