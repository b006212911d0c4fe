//! Programs in place of the paper's traces, which are not public: what each rank sends, as text ([docs/rank-programs.md](../../../../docs/rank-programs.md)).
//!
//! They have the shape that the paper tells of: near neighbours and long messages on diagonals of the traffic matrix, short ones to everybody (Figures 3
//! and 4). Sizes are those of the codes' published algorithms, not of the recorded runs.

use std::fmt::Write as _;

/// An application of the paper's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Application {
    /// Molecular dynamics as LAMMPS does it (Plimpton, J. Comp. Phys. 117, 1995, section 5): a periodic grid of boxes. In each step the positions of
    /// ghost atoms (24 B each) go to six neighbours, dimension after dimension, forces come back the same way, a transform of the charges sends short
    /// blocks from everybody to everybody, and energies (48 B) are summed. Before every fifth step atoms change boxes and ghosts are named anew. Matrix: six diagonals of long messages (distances 1, X and X Y, both ways around) over a floor of short ones.
    MolecularDynamics,
    /// Shock physics as CTH does it: blocks of a grid that is not periodic. In each step all variables of a face (40 of them, 8 B each, two layers) go to
    /// up to six neighbours at once, twice, and three numbers are reduced for the next time step. Matrix: three pairs of diagonals with gaps where the
    /// grid ends, and no floor but the tree of the reduction.
    ShockPhysics,
    /// Weather as a spectral model does it (Barros et al., Parallel Computing 21, 1995): a grid of X Y by Z ranks. In each step wide halos go to the four neighbours
    /// of the rank's latitudes and longitudes; fields are transposed among the ranks of a row and then of a column, and back; norms (8 B) are reduced. Every fifth step fields are gathered for
    /// output. Matrix: square blocks on the diagonal (rows), diagonals at multiples of a row (columns).
    Weather,
}

impl Application {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::MolecularDynamics, Self::ShockPhysics, Self::Weather];

    /// What tables call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MolecularDynamics => "LAMMPS-like",
            Self::ShockPhysics => "CTH-like",
            Self::Weather => "weather-like",
        }
    }

    /// Its program on a grid of ranks, dimension 0 numbered fastest, for so many steps (beyond five: whole blocks
    /// of five) that compute `compute_us` each. The grid has at least two
    /// ranks along each dimension.
    #[must_use]
    pub fn program(self, grid: [u32; 3], steps: u32, compute_us: u32) -> String {
        match self {
            Self::MolecularDynamics => molecular_dynamics(grid, steps, compute_us),
            Self::ShockPhysics => shock_physics(grid, steps, compute_us),
            Self::Weather => weather(grid, steps, compute_us),
        }
    }
}

/// Steps in blocks of five: how many blocks, and steps of each.
fn blocks(steps: u32) -> (u32, u32) {
    (steps.div_ceil(5), steps.min(5))
}

/// The next rank along a dimension, or the one before, around: dimensions below have `below` ranks, with it `with`.
fn neighbour(below: u32, with: u32, forward: bool) -> String {
    let sign = if forward { '+' } else { '-' };
    format!("rank - rank % {with} + (rank {sign} {below}) % {with}")
}

/// One exchange along each dimension, both ways, one after the other.
fn swaps(out: &mut String, indent: &str, [x, y, z]: [u32; 3], bytes: [&str; 3], tag: u32) {
    let mut below = 1;
    for (dimension, (ranks, bytes)) in [x, y, z].into_iter().zip(bytes).enumerate() {
        let with = below * ranks;
        for forward in [true, false] {
            let (to, from) = (neighbour(below, with, forward), neighbour(below, with, !forward));
            let tag = tag + 2 * dimension as u32 + u32::from(forward);
            let _ = writeln!(
                out,
                "{indent}sendrecv {bytes} to {to} tag {tag} recv {bytes} from {from} tag {tag}"
            );
        }
        below = with;
    }
}

fn molecular_dynamics(grid: [u32; 3], steps: u32, compute_us: u32) -> String {
    let ranks: u32 = grid.iter().product();
    let [x, y, z] = grid;
    let mut out = format!(
        "# Molecular dynamics on a periodic grid of {x} x {y} x {z} boxes.\nranks {ranks}\n\nall {{\n  barrier\n"
    );
    let (rebuilds, each) = blocks(steps);
    let _ = writeln!(out, "  repeat {rebuilds} as rebuild {{");
    out.push_str("    # atoms that change boxes, and ghosts named anew\n");
    swaps(&mut out, "    ", grid, ["2 kB", "2 kB", "2 kB"], 40);
    swaps(&mut out, "    ", grid, ["60 kB", "70 kB", "84 kB"], 50);
    let _ = writeln!(out, "    repeat {each} as step {{");
    out.push_str("      # positions of ghost atoms, 24 B each; those of earlier dimensions are sent on\n");
    swaps(&mut out, "      ", grid, ["36 kB", "42 kB", "50 kB"], 10);
    let _ = writeln!(out, "      compute {} us", compute_us - compute_us / 4);
    out.push_str("      # forces on them\n");
    swaps(&mut out, "      ", grid, ["36 kB", "42 kB", "50 kB"], 20);
    out.push_str("      # charges: a block to everybody\n");
    let _ = writeln!(out, "      repeat {} as i {{", ranks - 1);
    out.push_str("        irecv 256 B from (rank - i - 1) % size tag 30\n        isend 256 B to (rank + i + 1) % size tag 30\n");
    let _ =
        writeln!(out, "      }}\n      waitall\n      compute {} us\n      allreduce 48 B", compute_us / 4);
    out.push_str("    }\n  }\n}\n");
    out
}

fn shock_physics(grid: [u32; 3], steps: u32, compute_us: u32) -> String {
    let ranks: u32 = grid.iter().product();
    let [x, y, z] = grid;
    let mut out = format!("# Shock physics on a grid of {x} x {y} x {z} blocks.\nranks {ranks}\n");
    // Ranks by which neighbours they have: six bits.
    let mut classes: Vec<(Vec<bool>, Vec<u32>)> = Vec::new();
    for rank in 0..ranks {
        let place = [rank % x, rank / x % y, rank / (x * y)];
        let has: Vec<bool> = (0..3).flat_map(|d| [place[d] > 0, place[d] + 1 < grid[d]]).collect();
        match classes.iter_mut().find(|class| class.0 == has) {
            Some(class) => class.1.push(rank),
            None => classes.push((has, vec![rank])),
        }
    }
    let far = [1, x, x * y];
    // 40 variables of 8 B, two layers of a face of 20 x 20 cells.
    let bytes = 40 * 8 * 2 * 400;
    for (has, members) in classes {
        let members: Vec<String> = members.iter().map(u32::to_string).collect();
        let _ = writeln!(out, "\nrank {} {{\n  repeat {steps} as step {{", members.join(", "));
        for half in 0..2 {
            for receive in [true, false] {
                for (side, _) in has.iter().enumerate().filter(|side| *side.1) {
                    let (distance, forward) = (far[side / 2], side % 2 == 1);
                    let sign = if forward { '+' } else { '-' };
                    // The tag tells which way the message goes.
                    let tag = half * 10 + 2 * (side as u32 / 2) + u32::from(forward != receive);
                    let _ = match receive {
                        true => writeln!(out, "    irecv {bytes} B from rank {sign} {distance} tag {tag}"),
                        false => writeln!(out, "    isend {bytes} B to rank {sign} {distance} tag {tag}"),
                    };
                }
            }
            let _ = writeln!(out, "    waitall\n    compute {} us", compute_us / 2);
        }
        out.push_str("    allreduce 24 B\n  }\n}\n");
    }
    out
}

fn weather(grid: [u32; 3], steps: u32, compute_us: u32) -> String {
    let (row, rows) = (grid[0] * grid[1], grid[2]);
    let ranks = row * rows;
    let mut out = format!("# Weather on {rows} rows of {row} ranks.\nranks {ranks}\n\nall {{\n");
    let _ =
        writeln!(out, "  split world color rank / {row} as row\n  split world color rank % {row} as column");
    let (outputs, each) = blocks(steps);
    let _ = writeln!(
        out,
        "  repeat {outputs} as output {{\n  repeat {each} as step {{\n    # halos of the semi-Lagrangian advection"
    );
    for (below, with) in [(1, row), (row, ranks)] {
        for forward in [true, false] {
            let (to, from) = (neighbour(below, with, forward), neighbour(below, with, !forward));
            let tag = 2 * below + u32::from(forward);
            let _ = writeln!(out, "    irecv 96 kB from {from} tag {tag}\n    isend 96 kB to {to} tag {tag}");
        }
    }
    let _ = writeln!(out, "    waitall\n    compute {} us", compute_us / 2);
    // Half a megabyte of fields on each rank.
    let (to_row, to_column) = (524_288 / row, 524_288 / rows);
    let _ = writeln!(out, "    # grid points to Fourier and to spectral space, and back");
    for (bytes, comm) in [(to_row, "row"), (to_column, "column"), (to_column, "column"), (to_row, "row")] {
        let _ = writeln!(out, "    alltoall {bytes} B comm {comm}");
    }
    let _ = writeln!(
        out,
        "    compute {} us\n    allreduce 8 B\n  }}\n  gather 4 kB root 0\n  }}\n}}",
        compute_us / 2
    );
    out
}
