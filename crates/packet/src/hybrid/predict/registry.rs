//! What a user can name.

use super::{PredictorEntry, external, fitted, mean, quantile};

/// All predictors that a hybrid run can have.
pub const PREDICTORS: &[PredictorEntry] = &[mean::ENTRY, quantile::ENTRY, fitted::ENTRY, external::ENTRY];
