//! A drawing of lines, areas and words, in points (1/72 inch), and its forms: SVG and PDF.
//!
//! Both are written from the same shapes, with nothing that depends on time, machine or installed fonts: the same drawing gives the same bytes.

use super::colours::{COLOURS, Colour, FRAME, GRID, hexadecimal};
use pdf_writer::{Content, Name, Pdf, Rect as PdfRect, Ref, Str};
use std::fmt::Write;

/// A place: to the right and down from the upper left corner.
pub(crate) type Place = (f64, f64);

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stroke {
    /// Colour of the line.
    pub colour: Colour,
    /// Width of the line.
    pub width: f64,
    /// Lengths of dashes and gaps; none for a whole line.
    pub dash: &'static [f32],
}

/// Where the text stands that is put at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// To the right of it.
    Start,
    /// Half on either side.
    Middle,
    /// To the left of it.
    End,
}

/// What is drawn, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// A line through places.
    Line(Vec<Place>, Stroke),
    /// A closed area with its border.
    Area(Vec<Place>, Option<Colour>, Option<Stroke>),
    /// Words on a base line.
    Text(Text),
    /// A shape that says its name where it is pointed at; on paper it has none.
    Named(String, Box<Shape>),
    /// What follows is seen only within this rectangle (left, top, width, height), or everywhere again.
    Clip(Option<[f64; 4]>),
}

/// Words on a base line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text {
    /// Where they stand.
    pub at: Place,
    /// What they say.
    pub words: String,
    /// Size of the font.
    pub size: f64,
    /// How they stand at the place.
    pub anchor: Anchor,
    /// Written from bottom to top.
    pub upwards: bool,
}

/// A drawing of shapes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scene {
    /// Width of all of it.
    pub width: f64,
    /// Height of all of it.
    pub height: f64,
    /// What is drawn, the first at the back.
    pub shapes: Vec<Shape>,
}

/// Widths of the characters from space to tilde in Helvetica, in thousandths of the size (Adobe's font metrics).
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
    556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// Width of words of a size.
pub(crate) fn width(words: &str, size: f64) -> f64 {
    let of = |c: char| (c as usize).checked_sub(32).and_then(|at| WIDTHS.get(at)).copied().unwrap_or(600);
    words.chars().map(|c| f64::from(of(c))).sum::<f64>() / 1000.0 * size
}

/// A number with two decimals at most.
pub(crate) fn number(x: f64) -> String {
    let text = format!("{x:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}

/// Words as text of SVG or HTML.
pub(crate) use base::visible::markup as escaped;

/// How colours are written.
#[derive(Clone, Copy)]
enum Paint<'a> {
    /// As they are: a file of its own.
    Plain,
    /// As variables of the page, whose clips begin with this name.
    Page(&'a str),
}

impl Paint<'_> {
    fn of(self, colour: Colour) -> String {
        let Self::Page(_) = self else { return hexadecimal(colour) };
        if let Some(n) = COLOURS.iter().position(|c| *c == colour) {
            return format!("var(--c{n})");
        }
        match colour {
            [255, 255, 255] => "var(--ground)".to_owned(),
            c if c == GRID => "var(--grid)".to_owned(),
            c if c == FRAME => "var(--frame)".to_owned(),
            c => hexadecimal(c),
        }
    }
}

impl Scene {
    /// The drawing as SVG.
    pub fn svg(&self) -> String {
        let (w, h) = (number(self.width), number(self.height));
        let head = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}pt\" height=\"{h}pt\" viewBox=\"0 0 {w} {h}\" \
             font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\">\n\
             <rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n"
        );
        head + &self.body(Paint::Plain) + "</svg>\n"
    }

    /// The drawing as a part of a page, with the page's colours and fonts; `name` must be the page's only one.
    pub fn inline(&self, name: &str) -> String {
        let (w, h) = (number(self.width), number(self.height));
        let head = format!("<svg viewBox=\"0 0 {w} {h}\" aria-hidden=\"true\" focusable=\"false\">\n");
        head + &self.body(Paint::Page(name)) + "</svg>\n"
    }

    fn body(&self, paint: Paint<'_>) -> String {
        let mut text = String::new();
        let (mut clips, mut open) = (0, false);
        let prefix = if let Paint::Page(name) = paint { name } else { "" };
        for shape in &self.shapes {
            match shape {
                Shape::Clip(clip) => {
                    text += if std::mem::take(&mut open) { "</g>\n" } else { "" };
                    if let Some([x, y, w, h]) = clip.map(|c| c.map(number)) {
                        clips += 1;
                        open = true;
                        let _ = writeln!(
                            text,
                            "<clipPath id=\"{prefix}c{clips}\"><rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/></clipPath>\n\
                             <g clip-path=\"url(#{prefix}c{clips})\">"
                        );
                    }
                }
                other => text += &svg_shape(other, paint),
            }
        }
        text + if open { "</g>\n" } else { "" }
    }

    /// The drawing as PDF, with the font Helvetica that every viewer has; it is not embedded.
    pub fn pdf(&self) -> Vec<u8> {
        let mut content = Content::new();
        // Down is up in PDF.
        content.transform([1.0, 0.0, 0.0, -1.0, 0.0, self.height as f32]);
        let mut open = false;
        for shape in &self.shapes {
            match shape {
                Shape::Clip(clip) => {
                    if std::mem::take(&mut open) {
                        content.restore_state();
                    }
                    if let Some([x, y, w, h]) = clip.map(|c| c.map(|x| x as f32)) {
                        open = true;
                        content.save_state().rect(x, y, w, h).clip_nonzero().end_path();
                    }
                }
                other => pdf_shape(&mut content, other),
            }
        }
        if open {
            content.restore_state();
        }
        let [catalog, pages, page, stream, font] = [1, 2, 3, 4, 5].map(Ref::new);
        let mut pdf = Pdf::new();
        pdf.catalog(catalog).pages(pages);
        pdf.pages(pages).kids([page]).count(1);
        let mut sheet = pdf.page(page);
        sheet
            .media_box(PdfRect::new(0.0, 0.0, self.width as f32, self.height as f32))
            .parent(pages)
            .contents(stream);
        sheet.resources().fonts().pair(Name(b"F"), font);
        drop(sheet);
        pdf.type1_font(font).base_font(Name(b"Helvetica")).encoding_predefined(Name(b"WinAnsiEncoding"));
        pdf.stream(stream, &content.finish());
        pdf.finish()
    }
}

/// One shape; a clip is no shape of its own.
fn svg_shape(shape: &Shape, paint: Paint<'_>) -> String {
    match shape {
        Shape::Line(places, stroke) => {
            format!("<path d=\"{}\" fill=\"none\"{}/>\n", path(places), stroked(stroke, paint))
        }
        Shape::Area(places, fill, stroke) => {
            let fill = fill.map_or_else(|| "none".to_owned(), |fill| paint.of(fill));
            let border = stroke.as_ref().map_or_else(String::new, |s| stroked(s, paint));
            format!("<path d=\"{}Z\" fill=\"{fill}\"{border}/>\n", path(places))
        }
        Shape::Text(words) => svg_text(words, paint),
        Shape::Named(name, shape) => {
            format!("<g><title>{}</title>{}</g>\n", escaped(name), svg_shape(shape, paint).trim_end())
        }
        Shape::Clip(_) => String::new(),
    }
}

fn pdf_shape(content: &mut Content, shape: &Shape) {
    match shape {
        Shape::Line(places, stroke) => {
            pdf_stroke(content, stroke);
            pdf_path(content, places);
            content.stroke();
        }
        Shape::Area(places, fill, stroke) => pdf_area(content, places, *fill, stroke.as_ref()),
        Shape::Text(words) => pdf_text(content, words),
        Shape::Named(_, shape) => pdf_shape(content, shape),
        Shape::Clip(_) => {}
    }
}

pub(crate) fn path(places: &[Place]) -> String {
    let step = |(n, (x, y)): (usize, &Place)| {
        format!("{}{} {}", if n == 0 { "M" } else { "L" }, number(*x), number(*y))
    };
    places.iter().enumerate().map(step).collect()
}

fn stroked(stroke: &Stroke, paint: Paint<'_>) -> String {
    let dashes: Vec<String> = stroke.dash.iter().map(|d| number(f64::from(*d))).collect();
    let dashes =
        if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", dashes.join(" ")) };
    format!(" stroke=\"{}\" stroke-width=\"{}\"{dashes}", paint.of(stroke.colour), number(stroke.width))
}

fn svg_text(text: &Text, paint: Paint<'_>) -> String {
    let (x, y) = (number(text.at.0), number(text.at.1));
    let anchor = match text.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let turned = if text.upwards { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
    let words = escaped(&text.words);
    let size = number(text.size);
    let fill = if let Paint::Page(_) = paint { " fill=\"currentColor\"" } else { "" };
    format!(
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"{anchor}\"{fill}{turned}>{words}</text>\n"
    )
}

fn pdf_stroke(content: &mut Content, stroke: &Stroke) {
    let [r, g, b] = stroke.colour.map(|c| f32::from(c) / 255.0);
    content.set_stroke_rgb(r, g, b).set_line_width(stroke.width as f32);
    content.set_dash_pattern(stroke.dash.iter().copied(), 0.0);
}

fn pdf_path(content: &mut Content, places: &[Place]) {
    for (n, &(x, y)) in places.iter().enumerate() {
        if n == 0 {
            content.move_to(x as f32, y as f32);
        } else {
            content.line_to(x as f32, y as f32);
        }
    }
}

fn pdf_area(content: &mut Content, places: &[Place], fill: Option<Colour>, stroke: Option<&Stroke>) {
    if let Some([r, g, b]) = fill.map(|c| c.map(|c| f32::from(c) / 255.0)) {
        content.set_fill_rgb(r, g, b);
    }
    if let Some(stroke) = stroke {
        pdf_stroke(content, stroke);
    }
    pdf_path(content, places);
    content.close_path();
    match (fill, stroke) {
        (Some(_), Some(_)) => content.fill_nonzero_and_stroke(),
        (Some(_), None) => content.fill_nonzero(),
        _ => content.stroke(),
    };
}

fn pdf_text(content: &mut Content, text: &Text) {
    let long = width(&text.words, text.size);
    let back = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => long / 2.0,
        Anchor::End => long,
    };
    let (x, y) = text.at;
    let (matrix, x, y) = if text.upwards {
        ([0.0, -1.0, -1.0, 0.0], x, y + back)
    } else {
        ([1.0, 0.0, 0.0, -1.0], x - back, y)
    };
    let [a, b, c, d] = matrix;
    // The encoding of the font has the characters of Latin 1 at their numbers.
    let bytes: Vec<u8> = text.words.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect();
    content.set_fill_rgb(0.0, 0.0, 0.0).begin_text().set_font(Name(b"F"), text.size as f32);
    content.set_text_matrix([a, b, c, d, x as f32, y as f32]).show(Str(&bytes)).end_text();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene() -> Scene {
        let stroke = Stroke { colour: [0, 114, 178], width: 1.0, dash: &[4.0, 2.0] };
        let words = |at, words: &str, upwards| {
            Shape::Text(Text { at, words: words.to_owned(), size: 8.0, anchor: Anchor::Middle, upwards })
        };
        Scene {
            width: 100.0,
            height: 50.5,
            shapes: vec![
                Shape::Clip(Some([1.0, 2.0, 30.0, 40.0])),
                Shape::Line(vec![(0.0, 0.0), (10.126, 20.0)], stroke),
                Shape::Clip(None),
                Shape::Area(vec![(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)], Some([255, 0, 0]), None),
                words((50.0, 25.0), "a < b & \u{b5}s", false),
                words((5.0, 25.0), "up", true),
            ],
        }
    }

    #[test]
    fn the_same_bytes_each_time_and_nothing_unescaped() {
        let svg = scene().svg();
        assert_eq!(svg, scene().svg());
        assert!(
            svg.contains("a &lt; b &amp; \u{b5}s")
                && svg.contains("L10.13 20")
                && svg.contains("stroke-dasharray=\"4 2\"")
        );
        assert_eq!((svg.matches("<g ").count(), svg.matches("</g>").count()), (1, 1));
        let pdf = scene().pdf();
        assert_eq!(pdf, scene().pdf());
        assert!(pdf.starts_with(b"%PDF-") && pdf.ends_with(b"%%EOF"));
    }

    #[test]
    fn words_are_as_wide_as_helvetica() {
        assert!((width("Hello", 1000.0) - (722.0 + 556.0 + 222.0 + 222.0 + 556.0)).abs() < 1e-9);
    }
}
