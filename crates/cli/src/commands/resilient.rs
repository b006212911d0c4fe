//! `netloom resilient`: times of messages by resilient protocols, sampled; or a file of fits made from such samples.

use crate::{
    args::Format,
    args::resilient::ResilientArgs,
    console::Console,
    exit::{Exit, Outcome},
};
use base::hash::mix64;
use netloom::{Error, ErrorKind, part_file::PartFile};
use resilience::{
    Estimates, Parameters, Point,
    fit::Effort,
    fits::{Fits, Quality},
    path::Path,
    sample,
};
use serde_json::{Value as Json, json};
use std::{fmt::Write as _, fs, path::Path as FilePath};

/// A message over a path by a protocol.
struct Row {
    parameters: Parameters,
    hops: usize,
    bytes: u64,
    packets: u64,
    estimates: Estimates,
}

/// Samples and prints.
///
/// # Errors
/// Parameters that do not go together.
pub fn resilient(args: &ResilientArgs, console: &mut Console<'_>) -> Outcome {
    let wrong = |message: String| Error::new(ErrorKind::Usage, message);
    let threads = match args.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    if let Some(file) = &args.fit {
        return fit(file, args, threads, console);
    }
    let mut rows = Vec::new();
    for &protocol in &args.protocol {
        let parameters = args.parameters(protocol);
        parameters.delays().map_err(wrong)?;
        for links in args.paths() {
            let path = Path::new(&links).map_err(wrong)?;
            for &bytes in &args.bytes {
                let packets = parameters.packets(bytes).map_err(wrong)?;
                if packets > 1 << 32 {
                    return Err(wrong(format!("a message of {bytes} B has too many packets to sample")));
                }
                let of = mix64(links.len() as u64 ^ mix64(bytes ^ mix64(protocol as u64)));
                let point = Point { parameters: &parameters, path: &path, packets, seed: args.seed ^ of };
                let estimates = sample(&point, args.samples, threads).map_err(wrong)?;
                rows.push(Row { parameters, hops: links.len(), bytes, packets, estimates });
            }
        }
    }
    console.answer(args.format, &text(&rows), &object(args, &rows))?;
    Ok(Exit::Done)
}

/// Fits windows and writes the file (`--fit`).
fn fit(file: &FilePath, args: &ResilientArgs, threads: usize, console: &mut Console<'_>) -> Outcome {
    let wrong = |message: String| Error::new(ErrorKind::Usage, message);
    let &[protocol] = args.protocol.as_slice() else {
        let failure = wrong("a file of fits is of one protocol".to_owned());
        return Err(failure.with_help("name it by --protocol"));
    };
    let part_file = PartFile::new(file, args.force)?;
    let losses: Vec<f64> =
        (0..=args.steps).map(|i| args.most_loss * f64::from(i) / f64::from(args.steps)).collect();
    let parameters = Parameters { loss: 0.0, ..args.parameters(protocol) };
    let (shape, effort) = (args.shape.shape(), Effort { samples: args.samples, error: args.error });
    let (fits, qualities) =
        Fits::made(&parameters, &args.hops.0, &losses, shape, effort, threads).map_err(wrong)?;
    fs::write(part_file.part(), fits.text())
        .and_then(|()| part_file.keep())
        .map_err(|e| Error::new(ErrorKind::Output, format!("cannot write `{}`: {e}", file.display())))?;
    match args.format {
        Format::Text => {
            let mut text = format!(
                "{:>5}  relative errors of the fit, mean and greatest, in %: until there, until acknowledged; standard error\n",
                "hops"
            );
            for Quality { hops, there, acknowledged, error } in &qualities {
                let [a, b, c, d, e] =
                    [there.mean, there.worst, acknowledged.mean, acknowledged.worst, *error]
                        .map(|x| 100.0 * x);
                let _ = writeln!(text, "{hops:>5}  {a:.3} {b:.3}   {c:.3} {d:.3}   {e:.3}");
            }
            console.print(&text)?;
        }
        Format::Json => {
            let rows: Json = qualities
                .iter()
                .map(|q| {
                    json!({
                        "hops": q.hops,
                        "mean_relative_error": q.there.mean, "worst_relative_error": q.there.worst,
                        "acknowledged_mean_relative_error": q.acknowledged.mean,
                        "acknowledged_worst_relative_error": q.acknowledged.worst,
                        "standard_error": q.error,
                    })
                })
                .collect();
            console.print_json(
                &json!({"protocol": protocol.name(), "fit": shape.name(), "losses": losses, "fits": rows}),
            )?;
        }
    }
    Ok(Exit::Done)
}

impl Row {
    /// Ticks in a picosecond.
    fn scale(&self) -> f64 {
        self.parameters.delays().map_or(1.0, |d| d.scale as f64)
    }

    fn lossless_ps(&self) -> u64 {
        let window = self.parameters.window.into();
        self.parameters
            .delays()
            .map_or(0, |d| d.picoseconds(d.lossless(self.hops as u64, self.packets, window)))
    }
}

fn text(rows: &[Row]) -> String {
    let mut text = format!(
        "{:12} {:>5} {:>10} {:>8} {:>14} {:>12} {:>14} {:>10}\n",
        "protocol", "hops", "bytes", "packets", "mean us", "std. error", "lossless us", "sent"
    );
    for row in rows {
        let unit = row.scale() * 1e6;
        let (mean, error) = (row.estimates.time.mean() / unit, row.estimates.time.standard_error() / unit);
        let _ = writeln!(
            text,
            "{:12} {:>5} {:>10} {:>8} {mean:>14.4} {error:>12.4} {:>14.4} {:>10.3}",
            row.parameters.protocol.name(),
            row.hops,
            row.bytes,
            row.packets,
            row.lossless_ps() as f64 / 1e6,
            row.estimates.sent.mean()
        );
    }
    text
}

fn object(args: &ResilientArgs, rows: &[Row]) -> Json {
    let messages: Json = rows
        .iter()
        .map(|row| {
            let (unit, e) = (row.scale(), &row.estimates);
            json!({
                "protocol": row.parameters.protocol.name(),
                "hops": row.hops,
                "bytes": row.bytes,
                "packets": row.packets,
                "samples": e.time.samples,
                "mean_ps": e.time.mean() / unit,
                "standard_error_ps": e.time.standard_error() / unit,
                "lossless_ps": row.lossless_ps(),
                "acknowledged_mean_ps": e.acknowledged.mean() / unit,
                "packets_sent_mean": e.sent.mean(),
                "links_crossed_mean": e.crossed as f64 / e.time.samples as f64,
            })
        })
        .collect();
    json!({"seed": args.seed, "loss": args.parameters(args.protocol[0]).loss, "window": args.window, "messages": messages})
}
