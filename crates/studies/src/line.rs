//! Numbers of a study's table.

/// One number of the table.
pub struct Line {
    /// Name of the row.
    pub row: String,
    /// What it is.
    pub key: String,
    /// What was published, if anything.
    pub published: Option<f64>,
    /// What was found.
    pub ours: Option<f64>,
    /// Why they differ.
    pub why: String,
}

/// Six significant digits.
pub fn number(x: f64) -> String {
    let places = if x == 0.0 { 0 } else { (5.0 - x.abs().log10().floor()).clamp(0.0, 9.0) as usize };
    let text = format!("{x:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_six_digits() {
        assert_eq!(
            [0.0, 1.5e6, 0.25, 666_244.0, 1e-3, 12.345_678_9].map(number),
            ["0", "1500000", "0.25", "666244", "0.001", "12.3457"]
        );
    }
}
