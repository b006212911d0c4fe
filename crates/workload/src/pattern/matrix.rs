//! Traffic matrices from files: how much every rank sends to every other.

use super::{COUNT, TO_SELF, endless_if_zero};
use crate::{
    arrival::{Arrival, place},
    text,
    traffic::{Message, Traffic},
    work::{Built, JobContext, Work},
};
use base::{
    index::{Column, RankId},
    mistakes::Mistakes,
    param::{Kind, Param, Problem, Values},
    registry::About,
    rng::{Purpose, Stream},
    sorted::{Entry, SortedMap},
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "matrix",
    summary: "destinations and rates by a matrix from a file (CSV)",
    doc: "Line i of the file holds how much rank i sends to each rank, as numbers separated by commas: bytes, shares, or any other unit. A message of rank i goes \
          to rank j with the chance of cell (i, j) in its line. The line with the largest sum offers `load`, the others less in proportion. A line of \
          zeros sends nothing. What follows a # is a comment. The diagonal must be 0, or is traffic to oneself with `to_self`.",
    source: "own format",
    params: &[Param { name: FILE, kind: Kind::File, default: None, doc: "the matrix" }, TO_SELF, COUNT],
};

/// The key that names the file.
const FILE: &str = "file";

/// Most ranks: the matrix is held as a whole.
const MOST_RANKS: u32 = 1 << 14;

/// A rank's line.
struct Line {
    /// Destinations that get something, and the sums of the line up to and with each.
    to: Vec<(RankId, f64)>,
    /// None if it sends nothing.
    arrival: Option<Arc<dyn Arrival>>,
}

struct Matrix {
    lines: Column<RankId, Line>,
    bytes: u64,
    count: u64,
    offered: f64,
    itself: Option<RankId>,
    stream: Stream,
    job: u32,
}

impl Traffic for Matrix {
    fn message(&self, rank: RankId, index: u64, previous: Ps) -> Option<Message> {
        let Line { to, arrival } = &self.lines[rank];
        let time = arrival.as_ref().filter(|_| index < self.count)?.time(rank, index, previous)?;
        let drawn = place(self.stream, self.job, rank, index).unit_open() * to.last()?.1;
        let at = to.partition_point(|&(_, sum)| sum < drawn).min(to.len() - 1);
        Some(Message { time, destination: to[at].0, bytes: self.bytes })
    }

    fn total(&self, _ranks: u32) -> Option<u64> {
        let senders = self.lines.iter().filter(|(_, line)| line.arrival.is_some()).count() as u64;
        senders.checked_mul(self.count)
    }

    fn reply(&self, _rank: RankId, _source: RankId, _index: u64) -> Option<(RankId, u64)> {
        None
    }

    fn closed_loop(&self) -> bool {
        false
    }

    fn to_itself(&self) -> Option<RankId> {
        self.itself
    }

    fn offered_bytes_per_s(&self) -> Option<f64> {
        Some(self.offered)
    }
}

/// Cells above zero, with their sums: what a line says. Of what has more cells than ranks none is kept.
type Cells = Vec<(RankId, f64)>;

/// What a line says, or which of its words is wrong and why.
fn cells(content: &str, ranks: u32) -> Result<Cells, (&str, String)> {
    let (mut sum, mut line, mut count) = (0.0, Vec::new(), 0u64);
    for cell in content.split(',').map(str::trim) {
        match cell.parse::<f64>() {
            Ok(value) if value >= 0.0 && value.is_finite() => {
                if value > 0.0 && count < u64::from(ranks) {
                    sum += value;
                    line.push((RankId::new(count as u32), sum));
                }
            }
            _ => return Err((cell, format!("`{cell}` is not a number from 0 on"))),
        }
        count += 1;
    }
    if !f64::is_finite(sum) {
        return Err((content, "these cells add up to more than any number".to_owned()));
    }
    if count != u64::from(ranks) {
        return Err((content, format!("this line has {count} cells, the job {ranks} ranks")));
    }
    line.shrink_to_fit();
    Ok(line)
}

/// The cells above zero of each line, with their sums.
fn read(content: &str, ranks: u32, path: &str) -> Built<Column<RankId, Cells>> {
    let (mut lines, mut count, mut mistakes) = (Vec::new(), 0, Mistakes::default());
    for (number, full) in (1..).zip(content.lines()) {
        let content = full.split('#').next().unwrap_or("").trim();
        if content.is_empty() {
            continue;
        }
        count += 1;
        match cells(content, ranks) {
            Ok(line) if count <= ranks as usize && mistakes.is_empty() => lines.push(line),
            Ok(_) => lines.clear(),
            Err((word, message)) => {
                mistakes.push_with(|| text::at(path, FILE, number, full, word, message));
            }
        }
    }
    mistakes.done(|others| text::one(path, FILE, others.message).count(others.count))?;
    if count == ranks as usize {
        return Ok(lines.into());
    }
    Err(text::whole(path, FILE, format!("the matrix has {count} lines, the job {ranks} ranks")))
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Built<Work> {
    context.need_two_ranks()?;
    if context.ranks > MOST_RANKS {
        let message = format!("a matrix has at most {MOST_RANKS} ranks, this job has {}", context.ranks);
        return Err(vec![Problem::new("ranks", message).help("use `workload = \"pairs\"`")]);
    }
    let path = values.text(FILE);
    let lines = read(&text::read(&path, FILE)?, context.ranks, &path)?;
    matrix(context, values, lines).map(|m| Work::Traffic(Arc::new(m)))
}

fn matrix(context: &JobContext, values: &Values, lines: Column<RankId, Cells>) -> Built<Matrix> {
    let itself = lines.iter().find(|(rank, line)| line.iter().any(|(to, _)| to == rank)).map(|(r, _)| r);
    if let Some(rank) = itself.filter(|_| !values.bool(TO_SELF.name)) {
        let problem =
            Problem::new("file", format!("cell ({rank}, {rank}) is not 0: rank {rank} would send to itself"));
        return Err(vec![problem.help("set `to_self = true`, or let the diagonal be 0")]);
    }
    let sum = |line: &[(RankId, f64)]| line.last().map_or(0.0, |l| l.1);
    let most = lines.iter().map(|(_, line)| sum(line)).fold(0.0, f64::max);
    if most == 0.0 {
        return Err(vec![Problem::new("file", "all cells are 0: nothing would be sent")]);
    }
    let mut known: SortedMap<u64, (Arc<dyn Arrival>, f64)> = SortedMap::new();
    // A line far below the largest one has next to no load: that is said of the line, not of the key.
    let little = |rank: usize, share: f64, problems: Vec<Problem>| match share < 1.0 {
        true => {
            let why = problems.first().map_or_else(String::new, |p| p.message.clone());
            let file = values.0.get("file").map_or_else(String::new, |_| values.text("file"));
            let message =
                format!("{file}: the cells of rank {rank} add up to {share} of the largest line: {why}");
            vec![Problem::new("file", message)]
        }
        false => problems,
    };
    let (mut built, mut offered) = (Column::default(), 0.0);
    for (rank, to) in lines.into_cells().into_iter().enumerate() {
        let share = sum(&to) / most;
        let mut arrival = None;
        if share > 0.0 {
            let (process, load) = match known.entry(share.to_bits()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let mut own = context.clone();
                    own.arrival.iter_mut().for_each(|choice| choice.load *= share);
                    let built = own.arrivals(context.message, 1);
                    place.insert(built.map_err(|problems| little(rank, share, problems))?)
                }
            };
            arrival = Some(Arc::clone(process));
            offered += *load;
        }
        built.push(Line { to, arrival });
    }
    Ok(Matrix {
        lines: built,
        bytes: context.message,
        count: endless_if_zero(values.int(COUNT.name)),
        offered: offered / f64::from(context.ranks),
        itself,
        stream: Stream::new(context.seed, Purpose::Destination, 0),
        job: context.job,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{chi_square, context};
    use base::param::Value;

    fn values(to_self: bool) -> Values {
        Values::default().with("to_self", Value::Bool(to_self)).with("count", Value::Int(0))
    }

    fn of(text: &str, to_self: bool) -> Built<Matrix> {
        matrix(&context(4), &values(to_self), read(text, 4, "m")?)
    }

    #[test]
    fn cells_are_chances_and_sums_are_rates() {
        let matrix = of("# to 0 1 2 3\n0,1,2,5\n4,0,0,0\n0,0,0,0\n0.5,0,0.5,0\n", false).unwrap();
        let mut counts = [0; 4];
        for k in 0..40_000 {
            counts[matrix.message(RankId::new(0), k, 0).unwrap().destination.index()] += 1;
        }
        assert!(chi_square(&counts, &[0.0, 1.0, 2.0, 5.0]) < 13.8, "{counts:?}");
        assert_eq!(matrix.message(RankId::new(2), 0, 0), None);
        // Rank 1 at half of the load, rank 3 at an eighth: every second and every eighth of rank 0's times.
        let time = |rank, k| matrix.message(RankId::new(rank), k, 0).unwrap().time;
        assert_eq!((time(1, 4), time(3, 1)), (time(0, 8), time(0, 8)));
        let mean = (1.0 + 0.5 + 0.125) / 4.0;
        assert_eq!(matrix.offered_bytes_per_s(), Some(f64::from(1u32 << 31) * mean));
    }

    #[test]
    fn mistakes_are_reported() {
        let line = |text: &str| of(text, false).err().unwrap()[0].input.as_ref().map(|e| e.line);
        assert_eq!(line("0,1,1,1\n1,0,x,1\n"), Some(2));
        assert_eq!(line("0,1,1\n"), Some(1));
        assert_eq!(line("0,1,1,1\n"), Some(0));
        let own = "1,1,1,1\n0,0,0,0\n0,0,0,0\n0,0,0,0\n";
        assert_eq!(line(own), None);
        assert_eq!(of(own, true).unwrap().to_itself(), Some(RankId::new(0)));
        assert_eq!(line("0,0,0,0\n0,0,0,0\n0,0,0,0\n0,0,0,0\n"), None);
        // Sums beyond all numbers, and a line with next to no load.
        assert_eq!(line("0,1e308,1e308,0\n1,0,0,0\n0,0,0,0\n0,0,0,0\n"), Some(1));
        let little = of("0,1e300,0,0\n1,0,0,0\n0,0,0,0\n0,0,0,0\n", false).err().unwrap();
        assert_eq!(little[0].key, "file");
        assert!(little[0].message.contains("cells of rank 1"), "{}", little[0].message);
    }
}
