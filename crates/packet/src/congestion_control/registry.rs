//! What a user can name.

use super::{dcqcn, infiniband, none, scheme::SchemeEntry};
use model::section::Listed;

/// All schemes of congestion control; the first is the default.
pub const SCHEMES: &[SchemeEntry] = &[infiniband::ENTRY, dcqcn::ENTRY, none::ENTRY];

impl Listed for SchemeEntry {}
