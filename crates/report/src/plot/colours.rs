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
