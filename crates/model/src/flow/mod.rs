//! stub
pub mod alarms;
pub mod moment;
pub mod rules;
pub mod scenarios;
pub mod sharing;
pub mod solver;
