//! What a user can name: workloads, arrivals and placements. Adding one is one file and one line here.

use crate::{
    arrival,
    levels::workload as levels,
    pattern, placement,
    program::{file, generate},
};

pub use crate::{
    arrival::ArrivalEntry,
    pattern::mixed::{
        BACKGROUND, BACKGROUND_EXCEPT, KEYS as MIX, OUTSTANDING, REPLY, SIZE_DISTRIBUTION, SIZE_FILE,
        SIZE_WEIGHTS, SIZES,
    },
    placement::PlacementEntry,
    program::noise::{NOISE, NOISE_FILE},
    size::registry::{SIZE_DISTRIBUTIONS, SizeEntry},
    work::{ArrivalChoice, JobContext, Shape, Takes, Work, WorkloadEntry},
};

/// The entry of a generator of rank programs.
macro_rules! generated {
    ($name:ident) => {
        WorkloadEntry {
            about: generate::$name::ABOUT,
            build: |context, values| generate::work(generate::$name::build, context, values),
            takes: Takes::Program,
        }
    };
}

/// The entry of a pattern with levels.
macro_rules! levelled {
    ($index:literal) => {
        WorkloadEntry {
            about: levels::PLAIN[$index],
            build: |context, values| levels::plain($index, context, values),
            takes: Takes::Arrivals,
        }
    };
}

/// The entry of an open-loop pattern.
macro_rules! entry {
    ($file:ident::$about:ident, $by:ident::$build:ident) => {
        WorkloadEntry { about: pattern::$file::$about, build: pattern::$by::$build, takes: Takes::Pattern }
    };
}

/// What `[[job]] workload` may name, found by name: traffic patterns first, then programs of ranks.
pub const WORKLOADS: &[WorkloadEntry] = &[
    entry!(uniform::ABOUT, uniform::build),
    entry!(bisection::ABOUT, bisection::build),
    entry!(random_permutation::ABOUT, random_permutation::build),
    WorkloadEntry {
        about: pattern::all_to_all::ABOUT,
        build: pattern::all_to_all::build,
        takes: Takes::Arrivals,
    },
    WorkloadEntry {
        about: pattern::ping_pong::ABOUT,
        build: pattern::ping_pong::build,
        takes: Takes::Message,
    },
    WorkloadEntry {
        about: pattern::multicast::ABOUT,
        build: pattern::multicast::build,
        takes: Takes::Arrivals,
    },
    entry!(bits::TRANSPOSE, bits::transpose),
    entry!(bits::COMPLEMENT, bits::complement),
    entry!(bits::REVERSE, bits::reverse),
    entry!(bits::ROTATION, bits::rotation),
    entry!(bits::SHUFFLE, bits::shuffle),
    entry!(grid::TORNADO, grid::tornado),
    entry!(grid::NEIGHBOUR, grid::neighbour),
    entry!(near::DIAGONAL, near::diagonal),
    entry!(near::TAPER, near::taper),
    entry!(hot_spot::ABOUT, hot_spot::build),
    entry!(incast::ABOUT, incast::build),
    entry!(groups::NEAREST, groups::nearest),
    entry!(groups::SHIFT, groups::shift),
    entry!(groups::BAD_DRAGON, groups::bad_dragon),
    entry!(groups::OTHER, groups::other),
    entry!(groups::FAT_TREE, groups::fat_tree),
    levelled!(0),
    levelled!(1),
    levelled!(2),
    levelled!(3),
    levelled!(4),
    levelled!(5),
    levelled!(6),
    levelled!(7),
    levelled!(8),
    levelled!(9),
    levelled!(10),
    WorkloadEntry { about: levels::NEIGHBOUR, build: levels::neighbour, takes: Takes::Arrivals },
    WorkloadEntry { about: levels::ANY, build: levels::any, takes: Takes::Arrivals },
    WorkloadEntry { about: pattern::matrix::ABOUT, build: pattern::matrix::build, takes: Takes::Arrivals },
    WorkloadEntry { about: pattern::pairs::ABOUT, build: pattern::pairs::build, takes: Takes::List },
    WorkloadEntry { about: file::ABOUT, build: file::build, takes: Takes::Program },
    generated!(lu),
    generated!(bt),
    generated!(stencil),
    generated!(jacobi3d),
    generated!(milc),
    generated!(sweep),
    generated!(fft),
    generated!(gups),
    generated!(conjugate_gradient),
    generated!(training),
    generated!(pipeline),
    generated!(ring),
    generated!(collective),
];

/// All arrival processes.
pub const ARRIVALS: &[ArrivalEntry] = &[
    ArrivalEntry { about: arrival::constant::ABOUT, build: arrival::constant::build },
    ArrivalEntry { about: arrival::bernoulli::ABOUT, build: arrival::bernoulli::build },
    ArrivalEntry { about: arrival::poisson::ABOUT, build: arrival::poisson::build },
    ArrivalEntry { about: arrival::on_off::ABOUT, build: arrival::on_off::build },
];

/// What `[[job]] placement` may name, found by name.
pub const PLACEMENTS: &[PlacementEntry] = &[
    PlacementEntry {
        about: placement::linear::ABOUT,
        build: placement::linear::build,
        mistakes: placement::no_mistakes,
    },
    PlacementEntry {
        about: placement::random::ABOUT,
        build: placement::random::build,
        mistakes: placement::no_mistakes,
    },
    PlacementEntry {
        about: placement::xyz::ABOUT,
        build: placement::xyz::build,
        mistakes: placement::no_mistakes,
    },
    PlacementEntry {
        about: placement::round_robin::ABOUT,
        build: placement::round_robin::build,
        mistakes: placement::no_mistakes,
    },
    PlacementEntry {
        about: placement::by_group::ABOUT,
        build: placement::by_group::build,
        mistakes: placement::no_mistakes,
    },
    PlacementEntry {
        about: placement::breadth_first::ABOUT,
        build: placement::breadth_first::build,
        mistakes: placement::no_mistakes,
    },
    PlacementEntry {
        about: placement::min_manhattan::ABOUT,
        build: placement::min_manhattan::build,
        mistakes: placement::no_mistakes,
    },
    PlacementEntry {
        about: placement::least_hops::ABOUT,
        build: placement::least_hops::build,
        mistakes: placement::no_mistakes,
    },
    PlacementEntry {
        about: placement::explicit::ABOUT,
        build: placement::explicit::build,
        mistakes: placement::explicit::mistakes,
    },
];
