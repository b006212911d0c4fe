//! stub
pub mod solver;
