//! What a user can name.

use super::{DirectorEntry, automatic, times};

/// All directors that a hybrid run can have.
pub const DIRECTORS: &[DirectorEntry] = &[times::ENTRY, automatic::ENTRY];
