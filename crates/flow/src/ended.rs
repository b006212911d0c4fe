//! A run that came to its end, before it is reported.

use super::{domain::FlowDomain, observe::Observer};
use ranks::programs::Programs;

/// A run that came to its end.
pub struct Ended {
    /// Sources and links at the end.
    pub domain: FlowDomain,
    /// Ranks at the end.
    pub host: Programs,
    /// What was measured on the run.
    pub observer: Observer,
    /// Nothing was pending any more.
    pub dry: bool,
}

/// Use of a directed link.
pub struct LinkUse {
    /// The link: a directed link of the fabric, or a link of the platform.
    pub link: u32,
    /// Class, of a fabric's link.
    pub class: Option<u8>,
    /// What was used, in bytes, cross-traffic included. Of a half-duplex cable both directions together.
    pub bytes: f64,
    /// Share of its bandwidth, as at the end of the run, over the whole run.
    pub utilisation: f64,
}
