//! Values as a command line gives them, read once for whoever asks for them as text.

use base::units;
use std::str::FromStr;

/// Ranks from the first to the last, as `0-3` or `7`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankRange {
    /// First rank, counted from 0.
    pub first: u32,
    /// Last rank, included; never below the first.
    pub last: u32,
}

impl FromStr for RankRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| text.trim().parse::<u32>().ok();
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => Ok(Self { first, last }),
            _ => Err("write ranks as 0-3,7".to_owned()),
        }
    }
}

/// Floating-point operations a second.
///
/// # Errors
/// If it is no number of 1 or more.
pub fn speed(text: &str) -> Result<f64, String> {
    let sound = text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 1.0);
    sound.ok_or_else(|| "a speed is a number of operations a second, 1 or more".to_owned())
}

/// An instant or a span of time, in picoseconds.
///
/// # Errors
/// If it is no time.
pub fn time(text: &str) -> Result<u64, String> {
    units::parse_time(text).map_err(|e| e.to_string())
}

/// Time of one unit of computations, in picoseconds.
///
/// # Errors
/// If it is no time, or none at all.
pub fn unit_of_time(text: &str) -> Result<u64, String> {
    match units::parse_time(text) {
        Ok(0) => Err("a unit of computations needs some time".to_owned()),
        Ok(ps) => Ok(ps),
        Err(e) => Err(e.help.map_or(e.message.clone(), |help| format!("{}; {help}", e.message))),
    }
}
