//! Runs lowered programs without a clock, matching messages by MPI's order, and checks that everything meets what it should.

mod cases;
mod execute;
mod random;
