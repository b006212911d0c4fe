//! What all pictures share: a white ground of a size, colours, legends, SVG as text.

use plotters::{
    chart::{ChartContext, SeriesLabelPosition},
    coord::{CoordTranslate, Shift},
    prelude::*,
};

/// Size of a picture.
pub(crate) const SIZE: (u32, u32) = (900, 480);

/// Colours of curves, in order; the first distinguished by colour-blind eyes (Okabe and Ito), then darker ones.
const COLOURS: [RGBColor; 10] = [
    RGBColor(0, 0, 0),
    RGBColor(230, 159, 0),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(213, 94, 0),
    RGBColor(86, 180, 233),
    RGBColor(240, 228, 66),
    RGBColor(102, 51, 153),
    RGBColor(136, 136, 136),
];

/// Colour of the curve with this number; each comes again after ten.
pub(crate) fn colour(number: usize) -> RGBColor {
    COLOURS[number % COLOURS.len()]
}

/// Where a picture is drawn.
pub(crate) type Root<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// What goes wrong when it is drawn.
pub(crate) type Wrong<'a> = Box<dyn std::error::Error + 'a>;

/// A picture of a size on white, as SVG.
pub(crate) fn picture(
    size: (u32, u32),
    draw: impl for<'a> FnOnce(&Root<'a>) -> Result<(), Wrong<'a>>,
) -> Result<String, String> {
    let mut text = String::new();
    drawn(&mut text, size, draw).map_err(|e| e.to_string())?;
    Ok(text)
}

fn drawn<'a>(
    text: &'a mut String,
    size: (u32, u32),
    draw: impl FnOnce(&Root<'a>) -> Result<(), Wrong<'a>>,
) -> Result<(), Wrong<'a>> {
    let root = SVGBackend::with_string(text, size).into_drawing_area();
    root.fill(&WHITE)?;
    draw(&root)?;
    root.present()?;
    Ok(())
}

/// Names of the series in a corner.
pub(crate) fn legend<'a, C: CoordTranslate>(
    chart: &mut ChartContext<'a, SVGBackend<'a>, C>,
    corner: SeriesLabelPosition,
) -> Result<(), Wrong<'a>> {
    let mut labels = chart.configure_series_labels();
    labels.position(corner).border_style(BLACK.mix(0.3)).background_style(WHITE).draw()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_curves_have_ten_colours() {
        for a in 0..10 {
            assert!((a + 1..10).all(|b| colour(a) != colour(b)), "{a}");
        }
    }
}
