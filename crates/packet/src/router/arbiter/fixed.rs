//! The lowest number first.

use base::registry::About;

pub(super) const ABOUT: About = About {
    name: "fixed",
    summary: "Always the lowest number",
    doc: "The requester with the lowest number always wins: cheap hardware. It is unfair and can starve others.",
    source: "Dally and Towles, Principles and Practices of Interconnection Networks, section 18.2.",
    params: &[],
};
