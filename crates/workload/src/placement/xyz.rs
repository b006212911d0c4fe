//! Placement along the axes of a mesh or torus.

use super::PlacementContext;
use base::{
    index::TerminalId,
    param::{Kind, Param, Problem, Values},
    registry::About,
};
use fabric::topology::grid::GridShape;

pub(crate) const ABOUT: About = About {
    name: "xyz",
    summary: "ranks along the axes of a mesh or torus, in any order of axes",
    doc: "Ranks fill the routers of a mesh or torus coordinate by coordinate: the first axis of `axes` runs fastest. With [0, 1, 2] on X x Y x Z \
          rank r stands at x = r mod X, y = (r / X) mod Y, z = r / (X Y). Routers with several terminals get a second rank when each \
          has one, or, with `fill_router`, are filled one by one. Terminals of earlier jobs are passed over.",
    source: "HAEC-SIM, section 4 (xyz mapping); the XYZT and TXYZ mappings of Blue Gene",
    params: &[
        Param {
            name: "axes",
            kind: Kind::Ints { min: 0, max: 31 },
            default: Some("[]"),
            doc: "dimensions, the one that runs fastest first; empty: 0, 1, 2..",
        },
        Param {
            name: "fill_router",
            kind: Kind::Bool,
            default: Some("false"),
            doc: "whether a router's terminals are filled before the next router's",
        },
    ],
};

pub(crate) fn build(
    context: &PlacementContext<'_>,
    values: &Values,
) -> Result<Vec<TerminalId>, Vec<Problem>> {
    let Some(shape) = context.fabric.shape::<GridShape>() else {
        let message =
            format!("a {} has no axes: this placement needs a mesh or torus", context.fabric.topology());
        return Err(vec![Problem::new("placement", message).help("use \"linear\" or \"breadth-first\"")]);
    };
    let count = shape.dims.len();
    let given: Vec<usize> = values.ints("axes").iter().map(|&d| d as usize).collect();
    let axes = if given.is_empty() { (0..count).collect() } else { given };
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..count) {
        let message =
            format!("`axes` must name each of the dimensions 0 to {} once, not {axes:?}", count - 1);
        return Err(vec![Problem::new("axes", message)]);
    }
    let routers = routers(shape, &axes);
    let terminal = |router: u32, k: u32| TerminalId::new(router * shape.terminals + k);
    if values.bool("fill_router") {
        context.first_free(routers.flat_map(|r| (0..shape.terminals).map(move |k| terminal(r, k))))
    } else {
        context.first_free((0..shape.terminals).flat_map(|k| routers.clone().map(move |r| terminal(r, k))))
    }
}

/// All routers, the first of `axes` running fastest.
fn routers<'a>(shape: &'a GridShape, axes: &'a [usize]) -> impl Iterator<Item = u32> + Clone + 'a {
    let stride = |d: usize| shape.dims[..d].iter().product::<u32>();
    let strides: Vec<(u32, u32)> = axes.iter().map(|&d| (shape.dims[d], stride(d))).collect();
    (0..shape.dims.iter().product::<u32>()).map(move |index| {
        let mut rest = index;
        let mut router = 0;
        for &(n, stride) in &strides {
            router += rest % n * stride;
            rest /= n;
        }
        router
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::testing::{grid, place};
    use base::param::Value;

    fn xyz(axes: &[u64], fill: bool, per_router: u64) -> Vec<u32> {
        let values =
            Values::default().with("axes", Value::Ints(axes.to_vec())).with("fill_router", Value::Bool(fill));
        place(&grid("mesh", &[3, 2], per_router), build, &values, 6).unwrap()
    }

    #[test]
    fn the_first_axis_runs_fastest() {
        assert_eq!(xyz(&[], false, 1), [0, 1, 2, 3, 4, 5]);
        assert_eq!(xyz(&[1, 0], false, 1), [0, 3, 1, 4, 2, 5]);
        assert_eq!(xyz(&[1, 0], false, 2), [0, 6, 2, 8, 4, 10]);
        assert_eq!(xyz(&[1, 0], true, 2), [0, 1, 6, 7, 2, 3]);
    }

    #[test]
    fn axes_must_be_those_of_the_grid() {
        for axes in [&[0][..], &[0, 0], &[0, 2], &[0, 1, 2]] {
            let values = Values::default()
                .with("axes", Value::Ints(axes.to_vec()))
                .with("fill_router", Value::Bool(false));
            let refused = place(&grid("torus", &[3, 2], 1), build, &values, 6).unwrap_err();
            assert_eq!(refused[0].key, "axes");
        }
    }
}
