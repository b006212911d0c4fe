//! The picture of the network: lines to the right of their direction, coloured by load, and discs whose halves are the links of terminals.

use super::{
    board::Board,
    graph::{Graph, Wires},
    layout::{self, Label, Layout, WIDTH},
    loads::{Loads, Tops},
};
use crate::{
    page::words::{escaped, percent, time},
    plot::{
        colours::{Colour, DARKER, along, hexadecimal},
        scene::number,
    },
};
use serde_json::{Value as Json, json};
use std::fmt::Write;

/// Steps of colour and width between an idle link and a busy one.
pub const STEPS: usize = 16;

/// Colours of the steps on a dark ground: ever lighter.
const DARK: [Colour; 5] = [[58, 66, 75], [122, 58, 150], [214, 72, 90], [248, 152, 62], [252, 246, 170]];

/// What an item is drawn as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Line,
    /// Half a disc.
    Half,
    /// A square of the board.
    Square,
}

impl Form {
    /// First letter of its classes of style.
    fn letter(self) -> char {
        match self {
            Self::Line => 's',
            Self::Half => 'd',
            Self::Square => 'm',
        }
    }
}

/// What can be pointed at.
struct Item {
    /// What it is.
    name: String,
    /// Its links, by place.
    wires: Vec<usize>,
    /// Its shape, as the attributes `d` of a path.
    path: String,
    form: Form,
}

/// The network of a run, drawn.
pub struct Picture<'a> {
    /// The drawing, for a page.
    pub svg: String,
    /// What the script needs: frames, loads and names.
    pub data: Json,
    /// Says how to read it.
    pub how: String,
    items: Vec<Item>,
    /// Dots without terminals.
    bare: Vec<usize>,
    layout: Layout,
    board: Option<Board>,
    radius: f64,
    loads: &'a Loads,
    tops: Tops,
}

/// The colour of a step on a ramp.
fn colour(ramp: &[Colour], step: usize) -> String {
    hexadecimal(along(ramp, step as f64 / (STEPS - 1) as f64))
}

/// Rules of style for the steps: on a light ground, or a dark one.
pub fn rules(dark: bool) -> String {
    let ramp = if dark { &DARK } else { &DARKER };
    (0..STEPS).fold(String::new(), |mut text, step| {
        let colour = colour(ramp, step);
        let wide = number(0.9 + 2.3 * step as f64 / (STEPS - 1) as f64);
        let _ = write!(
            text,
            ".net .s{step}{{stroke:{colour};stroke-width:calc({wide}px*var(--w,1))}}.net .d{step},.net .m{step}{{fill:{colour}}}"
        );
        let _ = write!(text, ".scale .s{step}{{background:{colour}}}");
        text
    })
}

/// The steps of colour in a row, as HTML.
pub fn scale() -> String {
    let steps: String = (0..STEPS).map(|step| format!("<i class=\"s{step}\"></i>")).collect();
    format!("<span aria-hidden=\"true\">{steps}</span>")
}

/// Step of a share on a scale that ends at `top`.
fn step(used: f64, top: f64) -> usize {
    (((used / top).clamp(0.0, 1.0) * STEPS as f64) as usize).min(STEPS - 1)
}

/// A share as two letters: 4,096 steps.
fn letters(used: f64, into: &mut String) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let whole = (used.clamp(0.0, 1.0) * 4095.0).round() as usize;
    into.push(char::from(DIGITS[whole >> 6]));
    into.push(char::from(DIGITS[whole & 63]));
}

/// Draws a network, with scales of colour that end at `tops`.
pub fn picture<'a>(wires: &Wires, loads: &'a Loads, tops: Tops, fabric: &Json) -> Picture<'a> {
    let graph = Graph::of(wires, layout::unit(fabric));
    let layout = layout::layout(&graph, fabric);
    let radius = radius(&layout);
    let board = Board::of(&graph, &layout);
    let mut items = items(wires, &graph, &layout, radius, loads);
    items.extend(squares(wires, &graph, &layout, board.as_ref()));
    let svg = svg(&items, &graph, &layout, radius, board.as_ref(), loads, tops);
    let data = data(&items, loads, tops);
    let mut how = layout.how.clone();
    if let Some(Board { noun, .. }) = board {
        let _ = write!(
            how,
            " Below them a square for each pair of {noun}s: the busiest link from the {noun} of its row to that of its column, on the diagonal within the {noun}."
        );
    }
    if graph.each > 1 {
        let _ = write!(
            how,
            " There are too many routers to draw each: a dot stands for {} of neighbouring numbers.",
            graph.each
        );
    }
    if loads.joined > 1 {
        let _ = write!(how, " Each step of time is the mean of {} recorded intervals.", loads.joined);
    }
    let bare = (0..graph.nodes.len()).filter(|n| graph.nodes[*n].is_bare()).collect();
    Picture { svg, data, how, items, bare, layout, board, radius, loads, tops }
}

/// Radius of discs: as large as distances between them allow.
fn radius(layout: &Layout) -> f64 {
    let mut sorted = layout.at.clone();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut least = 40.0_f64;
    for (n, a) in sorted.iter().enumerate() {
        for b in &sorted[n + 1..] {
            if b.0 - a.0 >= least {
                break;
            }
            least = least.min((a.0 - b.0).hypot(a.1 - b.1));
        }
    }
    (least * 0.3).clamp(1.6, 9.0)
}

fn items(wires: &Wires, graph: &Graph, layout: &Layout, radius: f64, loads: &Loads) -> Vec<Item> {
    let mut items = Vec::new();
    for line in &graph.lines {
        let name = match line.wires.as_slice() {
            [one] => format!("{} ({})", wires.all[*one].name, wires.all[*one].class),
            many => format!(
                "{} \u{2192} {}, busiest of {} links ({})",
                graph.nodes[line.from].name,
                graph.nodes[line.to].name,
                many.len(),
                wires.all[many[0]].class
            ),
        };
        let path = line_path(layout, line.from, line.to, radius);
        items.push(Item { name, wires: line.wires.clone(), path, form: Form::Line });
    }
    // Busy lines cover idle ones.
    items.sort_by(|a, b| busiest(a, &loads.mean).total_cmp(&busiest(b, &loads.mean)));
    for (node, &(x, y)) in graph.nodes.iter().zip(&layout.at) {
        let (r, top, bottom) = (number(radius), number(y - radius), number(y + radius));
        let x = number(x);
        let half = |turn: u8| format!("M{x} {top}A{r} {r} 0 0 {turn} {x} {bottom}Z");
        let many = |count: usize| if count == 1 { "the link" } else { "the busiest link" };
        // A router without terminals is drawn as an empty disc.
        if node.is_bare() {
            continue;
        }
        for (some, words, turn) in [(&node.inward, "from", 0), (&node.outward, "to", 1)] {
            let name =
                format!("{}: {} {words} its terminals, of {}", node.name, many(some.len()), some.len());
            items.push(Item { name, wires: some.clone(), path: half(turn), form: Form::Half });
        }
    }
    items
}

/// The squares of the board.
fn squares(wires: &Wires, graph: &Graph, layout: &Layout, board: Option<&Board>) -> Vec<Item> {
    let (Some(board), Some((unit, noun))) = (board, layout.group) else { return Vec::new() };
    let item = |square: super::board::Square| {
        let (from, to, many) = (square.from, square.to, square.wires.len());
        let class = &wires.all[square.wires[0]].class;
        let ends = if from == to {
            format!("within {noun} {from}")
        } else {
            format!("{noun} {from} \u{2192} {noun} {to}")
        };
        let links = if many == 1 { "one link".to_owned() } else { format!("busiest of {many} links") };
        Item {
            name: format!("{ends}: {links} ({class})"),
            wires: square.wires,
            path: square.path,
            form: Form::Square,
        }
    };
    board.squares(graph, unit).into_iter().map(item).collect()
}

/// A line to the right of its direction, from the border of a disc to that of another.
fn line_path(layout: &Layout, from: usize, to: usize, radius: f64) -> String {
    let (a, b) = (layout.at[from], layout.at[to]);
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let long = dx.hypot(dy).max(1e-6);
    let (ux, uy) = (dx / long, dy / long);
    let side = (radius * 0.4).clamp(0.8, 2.2);
    // To the right of the direction, as the eye sees it: y grows downwards.
    let (ox, oy) = (-uy * side, ux * side);
    let inset = (radius * 0.9).min(long * 0.3);
    let (start, stop) =
        ((a.0 + ux * inset + ox, a.1 + uy * inset + oy), (b.0 - ux * inset + ox, b.1 - uy * inset + oy));
    if layout.grid > 0.0 && long > layout.grid * 1.1 {
        // Both directions bend to the same side of the line, so that they stay together.
        let (cx, cy) = if from < to { (-uy, ux) } else { (uy, -ux) };
        let bend = (long * 0.16).min(60.0);
        let (mx, my) = ((start.0 + stop.0) / 2.0 + cx * bend, (start.1 + stop.1) / 2.0 + cy * bend);
        return format!(
            "M{} {}Q{} {} {} {}",
            number(start.0),
            number(start.1),
            number(mx),
            number(my),
            number(stop.0),
            number(stop.1)
        );
    }
    format!("M{} {}L{} {}", number(start.0), number(start.1), number(stop.0), number(stop.1))
}

/// Load of an item: of its busiest link.
fn busiest(item: &Item, used: &[f64]) -> f64 {
    item.wires.iter().map(|&place| used[place]).fold(0.0, f64::max)
}

fn svg(
    items: &[Item],
    graph: &Graph,
    layout: &Layout,
    radius: f64,
    board: Option<&Board>,
    loads: &Loads,
    tops: Tops,
) -> String {
    let (w, h) = (number(WIDTH), number(layout.height + board.map_or(0.0, Board::height)));
    let (thin, clear) = strokes(graph.lines.len());
    let mut text = format!(
        "<svg class=\"net\" style=\"--w:{thin};--o:{clear}\" viewBox=\"0 0 {w} {h}\" aria-hidden=\"true\" focusable=\"false\">\n"
    );
    for item in items {
        let (letter, step) = (item.form.letter(), step(busiest(item, &loads.mean), tops.whole));
        let _ = writeln!(text, "<path class=\"{letter}{step}\" d=\"{}\"/>", item.path);
    }
    let around = number(radius);
    for (node, (x, y)) in graph.nodes.iter().zip(&layout.at).filter(|(node, _)| node.is_bare()) {
        let (x, y, name) = (number(*x), number(*y), escaped(&node.name));
        let _ =
            writeln!(text, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{around}\" data-t=\"{name}: no terminals\"/>");
    }
    let board = board.map_or_else(String::new, |board| board.words(&|anchor| format!(" class=\"{anchor}\"")));
    text + &words(graph, layout, radius) + &board + "</svg>\n"
}

/// Many lines are thin, and let through what is behind them: factor on their width, and opacity.
fn strokes(lines: usize) -> (String, String) {
    let of = |full: f64, least: f64| number((full / lines.max(1) as f64).sqrt().clamp(least, 1.0));
    (of(180.0, 0.3), of(400.0, 0.35))
}

/// What is written over lines and discs.
fn words(graph: &Graph, layout: &Layout, radius: f64) -> String {
    let mut text = String::new();
    for Label { x, y, words } in &layout.labels {
        let _ = writeln!(text, "<text x=\"{}\" y=\"{}\">{}</text>", number(*x), number(*y), escaped(words));
    }
    // Names of routers are written where there is room.
    if graph.nodes.len() <= 24 && layout.grid <= 0.0 {
        for (n, (node, (x, y))) in graph.nodes.iter().zip(&layout.at).enumerate() {
            let words = node.name.split(" = ").last().unwrap_or("").replace("router ", "");
            // The middle of long names is cut, since names differ at their ends; those of neighbours stand at two heights.
            let all: Vec<char> = words.chars().collect();
            let short: String = match all.len() {
                0..=22 => words,
                long => all[..10].iter().chain(&['\u{2026}']).chain(&all[long - 11..]).collect(),
            };
            let (x, y) = (number(*x), number(y + radius + 12.0 + 11.0 * (n % 2) as f64));
            let _ = writeln!(text, "<text class=\"small\" x=\"{x}\" y=\"{y}\">{}</text>", escaped(&short));
        }
    }
    text
}

/// Loads of all items, whole run first, then frame by frame; two letters each.
fn data(items: &[Item], loads: &Loads, tops: Tops) -> Json {
    let encode = |used: &[f64]| {
        items.iter().fold(String::new(), |mut text, item| {
            letters(busiest(item, used), &mut text);
            text
        })
    };
    let mut spans = vec!["whole run".to_owned()];
    let mut frames = vec![encode(&loads.mean)];
    for frame in &loads.frames {
        spans.push(format!("{} to {}", time(frame.span.0), time(frame.span.1)));
        frames.push(encode(&frame.used));
    }
    let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
    json!({"spans": spans, "frames": frames, "names": names, "steps": STEPS, "tops": [tops.whole, tops.spans]})
}

/// The picture as a file of its own: on white, and moving if loads were recorded over time.
pub fn animated(picture: &Picture<'_>, title: &str) -> String {
    let Picture { items, bare, layout, board, radius, loads, tops, .. } = picture;
    let frames = &loads.frames;
    // One scale for what moves and for what is seen before it does.
    let top = if frames.is_empty() { tops.whole } else { tops.spans };
    let high = layout.height + board.as_ref().map_or(0.0, Board::height);
    let (w, h) = (number(WIDTH), number(high + 40.0));
    let lines = items.iter().filter(|item| item.form == Form::Line).count();
    let (thin, clear) = strokes(lines);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" font-family=\"Helvetica, Arial, sans-serif\">\n\
         <title>{}</title>\n<style>.line{{fill:none;stroke-width:calc(2px*{thin});stroke-opacity:{clear}}}</style>\n<rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n",
        escaped(title)
    );
    let seconds = number(frames.len() as f64 * 0.2);
    for Label { x, y, words } in &layout.labels {
        let (x, y) = (number(*x), number(*y));
        let _ = writeln!(
            text,
            "<text x=\"{x}\" y=\"{y}\" font-size=\"12\" text-anchor=\"middle\">{}</text>",
            escaped(words)
        );
    }
    for item in items {
        let of = |used: &[f64]| colour(&DARKER, step(busiest(item, used), top));
        let (what, base) = match item.form {
            Form::Line => ("stroke", " class=\"line\""),
            Form::Half | Form::Square => ("fill", ""),
        };
        let _ = write!(text, "<path d=\"{}\" {what}=\"{}\"{base}>", item.path, of(&loads.mean));
        let _ =
            write!(text, "<title>{}: {}</title>", escaped(&item.name), percent(busiest(item, &loads.mean)));
        let values: Vec<String> = frames.iter().map(|frame| of(&frame.used)).collect();
        if values.windows(2).any(|w| w[0] != w[1]) {
            let values = values.join(";");
            let _ = write!(
                text,
                "<animate attributeName=\"{what}\" calcMode=\"discrete\" repeatCount=\"indefinite\" dur=\"{seconds}s\" values=\"{values}\"/>"
            );
        }
        text += "</path>\n";
    }
    let radius = number(*radius);
    for (x, y) in bare.iter().map(|n| layout.at[*n]) {
        let (x, y) = (number(x), number(y));
        let _ = writeln!(
            text,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"#ffffff\" stroke=\"#59626b\"/>"
        );
    }
    if let Some(board) = board {
        text += &board.words(&|anchor| format!(" font-size=\"12\" text-anchor=\"{anchor}\""));
    }
    text += &legend(high + 20.0, top);
    text + "</svg>\n"
}

/// The ramp of colours with its ends.
fn legend(y: f64, top: f64) -> String {
    let mut text = String::new();
    for step in 0..STEPS {
        let x = number(WIDTH / 2.0 - 120.0 + 15.0 * step as f64);
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"{}\" width=\"15\" height=\"10\" fill=\"{}\"/>",
            number(y),
            colour(&DARKER, step)
        );
    }
    let top = percent(top);
    for (x, anchor, words) in [(-126.0, "end", "share of bandwidth: 0 %"), (126.0, "start", &top)] {
        let x = number(WIDTH / 2.0 + x);
        let _ = writeln!(
            text,
            "<text x=\"{x}\" y=\"{}\" font-size=\"12\" text-anchor=\"{anchor}\">{words}</text>",
            number(y + 9.5)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::table::{Cell, Column, Table};

    #[test]
    fn colours_get_darker_or_lighter_all_the_way() {
        let light = |ramp: &[Colour], step: usize| {
            let hex = colour(ramp, step);
            let part = |n: usize| f64::from(u8::from_str_radix(&hex[n..n + 2], 16).unwrap_or(0));
            0.299 * part(1) + 0.587 * part(3) + 0.114 * part(5)
        };
        for step in 1..STEPS {
            assert!(light(&DARKER, step) < light(&DARKER, step - 1), "{step}");
            assert!(light(&DARK, step) > light(&DARK, step - 1), "{step}");
        }
    }

    /// A dragonfly of 1,056 nodes, with loads of more intervals than are shown.
    fn large() -> [Table; 2] {
        let mut ends = Vec::new();
        for router in 0..264_u32 {
            let (group, own) = (router / 8, router % 8);
            let local = (0..8).filter(|other| *other != own).map(|other| group * 8 + other);
            let global = (0..4).map(|n| {
                let offset = own * 4 + n + 1;
                (group + offset) % 33 * 8 + (32 - offset) / 4
            });
            ends.extend(local.chain(global).map(|other| ("router", router, "router", other)));
            ends.extend((0..4).map(|n| ("router", router, "terminal", router * 4 + n)));
            ends.extend((0..4).map(|n| ("terminal", router * 4 + n, "router", router)));
        }
        let mut topology = Table::new("topology").with("link", Column::u32s());
        for end in ["from", "to"] {
            topology = topology
                .with(&format!("{end}_kind"), Column::text())
                .with(end, Column::u32s())
                .with(&format!("{end}_port"), Column::u32s());
        }
        topology = topology.with("class", Column::text()).with("bandwidth_bytes_per_s", Column::f64s());
        let mut loads = Table::new("loads")
            .with("time_ps", Column::u64s())
            .with("until_ps", Column::u64s())
            .with("link", Column::u32s())
            .with("bytes", Column::u64s());
        for (link, &(from, a, to, b)) in (0..).zip(&ends) {
            let (port, class) = (Cell::U32(0), Cell::Text("link"));
            let (from, to) = ([Cell::Text(from), Cell::U32(a)], [Cell::Text(to), Cell::U32(b)]);
            let [from, a, to, b] = [from[0], from[1], to[0], to[1]];
            topology.push(&[Cell::U32(link), from, a, port, to, b, port, class, Cell::F64(1e9)]);
        }
        for time in 0..70 {
            for link in 0..ends.len() as u32 {
                let bytes = Cell::U64(u64::from(link) * 7 + time);
                loads.push(&[Cell::U64(time * 1000), Cell::U64((time + 1) * 1000), Cell::U32(link), bytes]);
            }
        }
        [topology, loads]
    }

    #[test]
    fn a_large_network_stays_small() {
        let tables = large();
        let wires = Wires::of(&tables[0]).expect("a network");
        let loads = Loads::of(&wires, &tables);
        assert_eq!((wires.routers, wires.terminals, loads.joined), (264, 1056, 2));
        let dragonfly = json!({"topology": "dragonfly", "routers_per_group": 8});
        let picture = picture(&wires, &loads, Tops::of(std::iter::once(&loads)), &dragonfly);
        let bytes = picture.svg.len() + picture.data.to_string().len();
        // The page is below 5 MB; charts and tables have bounds of their own, together far below one.
        assert!(bytes < 3_000_000, "{bytes} bytes");
        assert!(picture.how.contains("mean of 2 recorded intervals"), "{}", picture.how);
        // Too many lines to tell one from another: 33 groups are a board as well, each with a link to each other and its own.
        assert_eq!(picture.svg.matches("<path class=\"m").count(), 33 * 33);
        assert!(picture.data.to_string().contains("group 0 \u{2192} group 32: one link"));
        assert!(animated(&picture, "large").contains("<animate "));
    }

    #[test]
    fn shares_are_two_letters() {
        let mut text = String::new();
        [0.0, 1.0, 2.0].into_iter().for_each(|used| letters(used, &mut text));
        assert_eq!(text, "AA////");
        assert_eq!([step(0.0, 1.0), step(0.5, 1.0), step(1.0, 1.0)], [0, 8, 15]);
        assert_eq!([step(0.03, 0.05), step(0.2, 0.05)], [9, 15]);
    }
}
