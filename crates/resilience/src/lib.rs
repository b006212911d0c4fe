//! Resilient point-to-point protocols over links that lose packets (HAEC-SIM, section 4): `DOR_r`, `PNC_r`, `NCD_r`.
//!
//! Rules are in `RESILIENT.md`. [`parameters`] resolves delays, [`path`] carries packets, [`dor`] and [`coded`] are the protocols, [`monte_carlo`]
//! samples messages, [`fit`], [`fits`] and [`means`] turn samples into the delay of a message for the `delay` model. Not modelled: congestion by other messages.

pub mod coded;
pub mod dor;
pub mod fit;
pub mod fits;
pub mod gf256;
pub mod hop;
pub mod means;
pub mod monte_carlo;
pub mod parameters;
pub mod path;

pub use monte_carlo::{Estimates, Moments, Point, sample};
pub use parameters::{Constants, Delays, Estimate, Occupancy, Parameters, Protocol, Timeout};
