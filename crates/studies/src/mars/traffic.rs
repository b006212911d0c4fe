//! Figures 3 to 5: what the programs send. Message sizes, who sends to whom with ranks in order and shuffled, and each step of an application by itself. All of it is counted from
//! the programs' operations, collectives as the messages that Open MPI would send; nothing is simulated.

use super::{
    experiments::Experiments,
    indirect::Figure,
    statements::{Judgement, Statement},
    traces::Application,
};
use base::{
    index::RankId,
    rng::{Purpose, Stream},
};
use netloom::{Error, ErrorKind};
use report::{
    Cells, Grid,
    plot::{Axis, Facet, Mark, Plot, Series, Style, Ticks},
};
use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use workload::program::{
    Batch, Kind, Program, file::Content, input::Input, lower::Options, mpi::CollectiveKind, traces::Scale,
};

/// How much is counted.
pub struct Effort {
    /// Steps of each application.
    pub steps: u32,
}

/// Messages of one step, between two ranks, or of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// Sends and receives.
    pub operations: u64,
    /// Messages, which are the sends among them.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes: u64,
    /// Sum of the squares of their sizes.
    squares: f64,
}

impl Sum {
    fn send(&mut self, bytes: u64) {
        self.operations += 1;
        self.messages += 1;
        self.bytes += bytes;
        self.squares += (bytes as f64).powi(2);
    }

    /// Mean size and its standard deviation.
    #[must_use]
    pub fn size(&self) -> (f64, f64) {
        let n = self.messages.max(1) as f64;
        let mean = self.bytes as f64 / n;
        (mean, (self.squares / n - mean * mean).max(0.0).sqrt())
    }

    fn object(&self) -> Json {
        let (mean, sigma) = self.size();
        json!({"operations": self.operations, "messages": self.messages, "bytes": self.bytes, "mean": mean, "sigma": sigma})
    }
}

/// All that an application sends.
pub struct Counted {
    /// How many ranks it has.
    pub ranks: usize,
    /// Messages by size: 1 B, 2 to 3 B, 4 to 7 B and so on.
    pub sizes: Vec<u64>,
    /// Bytes from rank to rank, row by row of senders.
    pub matrix: Vec<u64>,
    /// Of each step: point-to-point messages, and those of collectives.
    pub steps: Vec<[Sum; 2]>,
    /// Point-to-point operations of each rank in the first step.
    pub first: Vec<u64>,
}

/// Counts a program, each of whose steps ends with a reduction to all; what comes behind the last of them is a step if anything does.
///
/// # Errors
/// If it has mistakes.
pub fn counted(text: &str) -> Result<Counted, Error> {
    let wrong = |message: String| Error::new(ErrorKind::Program, message);
    let input = Input::bytes("a program of the study", text.as_bytes());
    let made = Content::read(&input, Scale::DEFAULT).and_then(|(_, c)| c.program(&input, Options::default()));
    let program = made.map_err(|problems| wrong(format!("{problems:?}")))?;
    let ranks = program.ranks() as usize;
    let mut all = Counted {
        ranks,
        sizes: vec![0; 40],
        matrix: vec![0; ranks * ranks],
        steps: Vec::new(),
        first: vec![0; ranks],
    };
    for rank in RankId::first(program.ranks()) {
        all.add(program.as_ref(), rank).map_err(|damage| wrong(damage.0))?;
    }
    while all.sizes.last() == Some(&0) {
        all.sizes.pop();
    }
    Ok(all)
}

impl Counted {
    fn add(&mut self, program: &dyn Program, rank: RankId) -> Result<(), workload::program::Damage> {
        let ends = |of: u16| {
            of > 0 && program.collectives()[usize::from(of) - 1] == CollectiveKind::Allreduce.name()
        };
        let (mut cursor, mut batch) = (program.open(rank), Batch::default());
        let (mut step, mut ending) = (0, false);
        loop {
            batch.clear();
            cursor.fill(&mut batch)?;
            if batch.ops.is_empty() {
                return Ok(());
            }
            for op in batch.ops.iter().filter(|op| matches!(op.kind, Kind::Send | Kind::Recv | Kind::Calc)) {
                let end = ends(op.collective);
                step += usize::from(ending && !end);
                ending = end;
                if op.kind == Kind::Calc {
                    continue;
                }
                if step == self.steps.len() {
                    self.steps.push([Sum::default(); 2]);
                }
                let sum = &mut self.steps[step][usize::from(op.collective > 0)];
                if op.collective == 0 && step == 0 {
                    self.first[rank.index()] += 1;
                }
                if op.kind == Kind::Send {
                    sum.send(op.amount);
                    self.sizes[op.amount.max(1).ilog2() as usize] += 1;
                    self.matrix[rank.index() * self.ranks + op.peer.index()] += op.amount;
                } else {
                    sum.operations += 1;
                }
            }
        }
    }

    /// Bytes between nodes if rank r is on node `place[r]`.
    fn placed(&self, place: &[usize]) -> Vec<u64> {
        let mut matrix = vec![0; self.matrix.len()];
        for (at, bytes) in self.matrix.iter().enumerate() {
            matrix[place[at / self.ranks] * self.ranks + place[at % self.ranks]] = *bytes;
        }
        matrix
    }

    /// Share of the bytes that goes to nodes no further than `far` numbers away, counted around.
    fn near(&self, place: &[usize], far: usize) -> f64 {
        let (mut near, mut all) = (0, 0);
        for (at, bytes) in self.placed(place).iter().enumerate() {
            let distance = (at / self.ranks).abs_diff(at % self.ranks);
            near += if distance.min(self.ranks - distance) <= far { *bytes } else { 0 };
            all += bytes;
        }
        near as f64 / all as f64
    }
}

/// Nodes of shuffled ranks: a permutation, always the same.
fn shuffled(ranks: usize) -> Vec<usize> {
    let mut random = Stream::new(1, Purpose::Placement, 0);
    let mut place: Vec<usize> = (0..ranks).collect();
    for last in (1..ranks).rev() {
        place.swap(last, random.below(last as u64 + 1) as usize);
    }
    place
}

/// Counts and draws them.
///
/// # Errors
/// If a program has mistakes, or a file cannot be written.
pub fn run(experiments: &Experiments<'_>, effort: &Effort) -> Result<Figure, Error> {
    experiments.begin("figures 3 to 5: what the programs send");
    let (mut text, mut object) = (String::new(), json!({}));
    let mut statements = Vec::new();
    for application in Application::ALL {
        // 64 boxes; the 176 tasks of Figure 5; 4 rows of 16.
        let grid = if application == Application::ShockPhysics { [4, 4, 11] } else { [4, 4, 4] };
        let counted = counted(&application.program(grid, effort.steps, 500))?;
        let name = application.name();
        let places = [(0..counted.ranks).collect(), shuffled(counted.ranks)];
        experiments.draw(&format!("figure-3-{name}"), &histogram(&counted, name))?;
        let cells = matrices(&counted, &places, name);
        experiments.write(&format!("figure-4-{name}"), || (cells.svg(), cells.pdf()))?;
        experiments.draw(&format!("figure-5-{name}"), &frame(&counted, name))?;
        text += &table(&counted, name);
        let steps: Vec<Json> = counted
            .steps
            .iter()
            .map(
                |[single, of_all]| json!({"point_to_point": single.object(), "collectives": of_all.object()}),
            )
            .collect();
        object[name] =
            json!({"ranks": counted.ranks, "messages_by_log2_of_size": counted.sizes, "steps": steps});
        if statements.is_empty() {
            statements = judged(&counted, &places);
        }
    }
    Ok(Figure { text, object, statements })
}

fn mark(x: usize, y: f64) -> Mark {
    Mark { x: x as f64, y, bar: None, hollow: false }
}

fn bars(title: String, x: Axis, y: &str, marks: Vec<Mark>) -> Plot {
    Plot {
        style: Style::Bars,
        title,
        x,
        y: Axis { label: y.to_owned(), min: Some(0.0), ..Axis::default() },
        names: vec![String::new()],
        facets: vec![Facet { title: String::new(), series: vec![Series { name: 0, marks }] }],
        width: 720.0,
        ..Plot::default()
    }
}

/// Figure 3: messages by size in cells of powers of two.
fn histogram(counted: &Counted, name: &str) -> Plot {
    let all: u64 = counted.sizes.iter().sum();
    let size = |power: usize| match power {
        0..10 => format!("{}", 1 << power),
        10..20 => format!("{} Ki", 1 << (power - 10)),
        _ => format!("{} Mi", 1u64 << (power - 20)),
    };
    let names = (0..counted.sizes.len()).map(size).collect();
    let share = |(at, n): (usize, &u64)| mark(at, *n as f64 * 100.0 / all.max(1) as f64);
    let x = Axis {
        label: "size of messages, from (B)".to_owned(),
        ticks: Ticks::Named,
        names,
        ..Axis::default()
    };
    let marks = counted.sizes.iter().enumerate().map(share).collect();
    bars(format!("Figure 3: message sizes, {name} application"), x, "share of messages (%)", marks)
}

/// Figure 4: traffic from node to node.
fn matrices(counted: &Counted, places: &[Vec<usize>; 2], name: &str) -> Cells {
    let titles = ["sequential placement", "shuffled placement"];
    let grid = |(place, title): (&Vec<usize>, &str)| Grid {
        title: title.to_owned(),
        side: counted.ranks,
        amounts: counted.placed(place).into_iter().map(|bytes| bytes as f64).collect(),
    };
    Cells {
        title: format!("Figure 4: traffic matrix, {name} application"),
        x: "to node".to_owned(),
        y: "from node".to_owned(),
        what: "B".to_owned(),
        grids: places.iter().zip(titles).map(grid).collect(),
    }
}

/// Figure 5: point-to-point operations of each rank in the first step, one frame of the paper's film.
fn frame(counted: &Counted, name: &str) -> Plot {
    let x = Axis { label: "rank".to_owned(), ..Axis::default() };
    let marks = counted.first.iter().enumerate().map(|(rank, n)| mark(rank, *n as f64)).collect();
    let title = format!("Figure 5: point-to-point operations in step 1, {name} application");
    bars(title, x, "sends and receives", marks)
}

fn table(counted: &Counted, name: &str) -> String {
    let mut out = format!(
        "\nFigures 3 to 5, {name} application, {} ranks: operations, mean size, its deviation and bytes of each step\n",
        counted.ranks
    );
    let head = format!("{:>10} {:>10} {:>10} {:>13}", "operations", "mean B", "sigma B", "bytes");
    let _ = writeln!(out, "  {:>4}  {:>46}   {:>46}", "step", "point to point", "collectives");
    let _ = writeln!(out, "  {:>4}  {head}   {head}", "");
    for (step, sums) in counted.steps.iter().enumerate() {
        let cells = sums.map(|sum| {
            let (mean, sigma) = sum.size();
            format!("{:>10} {mean:>10.1} {sigma:>10.1} {:>13}", sum.operations, sum.bytes)
        });
        let _ = writeln!(out, "  {:>4}  {}   {}", step + 1, cells[0], cells[1]);
    }
    out
}

fn judged(counted: &Counted, places: &[Vec<usize>; 2]) -> Vec<Statement> {
    let used: Vec<usize> = (0..counted.sizes.len()).filter(|at| counted.sizes[*at] > 0).collect();
    let (least, most) = (used.first().copied().unwrap_or(0), used.last().copied().unwrap_or(0));
    // As far as the furthest neighbours in the grid.
    let [ordered, mixed] = [&places[0], &places[1]].map(|place| counted.near(place, 16));
    // What chance gives of 16 numbers on either side.
    let chance = 32.0 / (counted.ranks - 1) as f64;
    let statement = |place, says, holds, why| Statement { place, says, judgement: Judgement::of(holds), why };
    vec![
        statement(
            "Figure 3",
            "sizes of messages spread widely, from bytes to many kilobytes and more",
            most - least >= 8,
            format!(
                "from 2^{least} to 2^{most} B. Our program was made so: this shows that it is like the paper's, and nothing of LAMMPS"
            ),
        ),
        statement(
            "Figure 4",
            "traffic is near the diagonal with ranks in order, and anywhere with shuffled ones",
            ordered > 2.0 * chance.min(0.4) && (mixed - chance).abs() < 0.1,
            format!(
                "{:.0} % of the bytes go no further than 16 nodes in order, {:.0} % shuffled; chance gives {:.0} %",
                ordered * 100.0,
                mixed * 100.0,
                chance * 100.0
            ),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_their_closed_forms() {
        // Molecular dynamics: in a step twice six swaps and 63 short blocks, a send and a receive each; the first step begins with both exchanges of a rebuild.
        let md = counted(&Application::MolecularDynamics.program([4, 4, 4], 3, 500)).unwrap();
        assert_eq!(md.steps.len(), 3);
        let single = |step: usize| md.steps[step][0];
        assert_eq!(single(1).operations, 64 * 2 * (12 + 63));
        assert_eq!(single(1).bytes, 64 * (4 * (36_000 + 42_000 + 50_000) + 63 * 256));
        assert_eq!(single(0).operations, single(1).operations + 64 * 2 * 12);
        assert_eq!(single(2), single(1));
        // Everybody sends to everybody; the matrix has all bytes.
        let cells = md.matrix.iter().filter(|bytes| **bytes > 0).count();
        assert_eq!(cells, 64 * 63);
        let bytes: u64 = md.steps.iter().flatten().map(|sum| sum.bytes).sum();
        assert_eq!(md.matrix.iter().sum::<u64>(), bytes);
        assert_eq!(
            md.sizes.iter().sum::<u64>(),
            md.steps.iter().flatten().map(|sum| sum.messages).sum::<u64>()
        );
        // Shock physics: two exchanges over 2 (3 * 16 + 3 * 16) + 2 * 10 * 16 faces of a 4 x 4 x 11 grid that ends.
        let shock = counted(&Application::ShockPhysics.program([4, 4, 11], 2, 500)).unwrap();
        let faces = 2 * (3 * 4 * 11 + 3 * 4 * 11 + 4 * 4 * 10);
        assert_eq!(shock.steps.len(), 2);
        assert!(shock.steps.iter().all(|step| step[0].messages == 2 * faces && step[0].size().1 < 1e-6));
        // Three neighbours in a corner, six inside: sends and receives, twice.
        assert_eq!((shock.first[0], shock.first[4 * 4 + 4 + 1]), (12, 24));
        // Weather: four halos; all else are collectives.
        let weather = counted(&Application::Weather.program([4, 4, 4], 2, 500)).unwrap();
        assert_eq!(weather.steps[1][0].bytes, 64 * 4 * 96_000);
    }

    #[test]
    fn a_placement_moves_bytes_and_loses_none() {
        let md = counted(&Application::MolecularDynamics.program([4, 4, 4], 1, 500)).unwrap();
        let place = shuffled(64);
        let mut all = place.clone();
        all.sort_unstable();
        assert_eq!(all, (0..64).collect::<Vec<_>>());
        let moved = md.placed(&place);
        assert_eq!(moved[place[3] * 64 + place[7]], md.matrix[3 * 64 + 7]);
        assert_eq!(moved.iter().sum::<u64>(), md.matrix.iter().sum::<u64>());
    }
}
