//! What a user can name.

use super::{DirectorEntry, automatic, times};

/// All directors.
pub const DIRECTORS: &[DirectorEntry] = &[times::ENTRY, automatic::ENTRY];
