//! What a page is given of a run.

use results::{output::Manifest, summary::Summary, table::Table};

/// A finished run.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    /// What the page calls it: short, and different from the others of the page.
    pub name: &'a str,
    /// What its summary.json holds.
    pub summary: &'a Summary,
    /// Where it came from.
    pub manifest: &'a Manifest,
    /// Tables that it stored.
    pub tables: &'a [Table],
}
