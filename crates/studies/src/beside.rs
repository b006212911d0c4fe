//! Ours over the published numbers of a study, in one figure: on the dashed line both are the same.

use crate::line::Line;
use report::plot::{Axis, Facet, Mark, Plot, Series};

/// The figure of these lines, whose numbers times `factor` are in `unit`. What stands behind the last comma of a row's name is its series. `None` if no
/// line has both numbers.
pub fn plot(title: &str, unit: &str, factor: f64, lines: &[Line]) -> Option<Plot> {
    let pairs: Vec<(&str, f64, f64)> = lines
        .iter()
        .filter_map(|line| {
            let group = line.row.rsplit(", ").next().unwrap_or_default();
            Some((group, line.published? * factor, line.ours? * factor))
        })
        .collect();
    let all = || pairs.iter().flat_map(|pair| [pair.1, pair.2]);
    let (least, most) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
    let mark = |x: f64, y: f64| Mark { x, y, bar: None, hollow: false };
    let mut names = vec!["equal".to_owned()];
    let mut series = vec![Series { name: 0, marks: vec![mark(least, least), mark(most, most)] }];
    for (group, x, y) in pairs {
        let name = names.iter().position(|known| known == group).unwrap_or_else(|| {
            names.push(group.to_owned());
            series.push(Series { name: names.len() - 1, marks: Vec::new() });
            names.len() - 1
        });
        series[name].marks.push(mark(x, y));
    }
    series.iter_mut().for_each(|s| s.marks.sort_by(|a, b| a.x.total_cmp(&b.x)));
    let axis = |whose: &str| Axis { label: format!("{whose}, {unit}"), logarithmic: true, ..Axis::default() };
    Some(Plot {
        title: title.to_owned(),
        x: axis("published"),
        y: axis("ours"),
        names,
        facets: vec![Facet { title: String::new(), series }],
        width: 400.0,
        ..Plot::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_with_both_numbers_is_a_mark_of_its_series() {
        let line = |row: &str, published, ours| Line {
            row: row.to_owned(),
            key: String::new(),
            published,
            ours,
            why: String::new(),
        };
        let lines = [
            line("b, two", Some(4.0), Some(5.0)),
            line("a, one", Some(2.0), Some(2.0)),
            line("c, one", None, Some(1.0)),
        ];
        let plot = plot("t", "us", 10.0, &lines).expect("numbers");
        assert_eq!(plot.names, ["equal", "two", "one"]);
        let places: Vec<Vec<(f64, f64)>> =
            plot.facets[0].series.iter().map(|s| s.marks.iter().map(|m| (m.x, m.y)).collect()).collect();
        assert_eq!(places, [vec![(20.0, 20.0), (50.0, 50.0)], vec![(40.0, 50.0)], vec![(20.0, 20.0)]]);
        assert!(super::plot("t", "us", 1.0, &lines[2..]).is_none());
    }
}
