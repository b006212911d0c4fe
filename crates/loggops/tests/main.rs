//! The tests of delays as one program: what they run is compiled and linked once.

mod cases;
mod programs;
mod reference;
mod windows;

mod carrier;
mod delay;
mod node_naive;
mod nodes;
mod one_sided;
mod twice;
