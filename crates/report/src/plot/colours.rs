//! Colours of figures.

/// A colour: red, green, blue.
pub(crate) type Colour = [u8; 3];

/// Colours distinguished by colour-blind eyes (Okabe and Ito), without the yellow that is too light for lines.
pub(crate) const COLOURS: [Colour; 8] = [
    [0, 114, 178],
    [213, 94, 0],
    [0, 158, 115],
    [204, 121, 167],
    [0, 0, 0],
    [230, 159, 0],
    [86, 180, 233],
    [120, 120, 120],
];

/// Lines of a grid.
pub(crate) const GRID: Colour = [224, 224, 224];

/// Ground of shaded stretches of an axis.
pub(crate) const SHADE: Colour = [239, 239, 239];

/// Frames of panels, and ticks on them.
pub(crate) const FRAME: Colour = [64, 64, 64];

/// Colours of loads on a light ground: from grey over yellow and red to violet, ever darker, so that they differ for all eyes and in print.
pub(crate) const DARKER: [Colour; 5] =
    [[214, 219, 224], [246, 192, 84], [229, 107, 45], [172, 33, 75], [58, 7, 92]];

/// The colour of a share from 0 to 1 on a ramp whose colours lie at equal distances.
pub(crate) fn along(ramp: &[Colour], share: f64) -> Colour {
    debug_assert!(!share.is_nan() && ramp.len() > 1, "a share is a number");
    let at = share.clamp(0.0, 1.0) * (ramp.len() - 1) as f64;
    let n = (at as usize).min(ramp.len() - 2);
    let part = at - n as f64;
    std::array::from_fn(|c| {
        let (low, high) = (f64::from(ramp[n][c]), f64::from(ramp[n + 1][c]));
        (low + part * (high - low)).round() as u8
    })
}

/// A colour as HTML and SVG write it.
pub(crate) fn hexadecimal([r, g, b]: Colour) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}
