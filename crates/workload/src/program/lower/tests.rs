//! Runs lowered programs without a clock, matching messages by MPI's order, and checks that everything meets what it should.

mod cases;
pub(in crate::program) mod execute;
pub(in crate::program) mod random;
