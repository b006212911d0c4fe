//! A file of fits: what model `delay` can take in place of samples (HAEC-SIM, section 5.2).
//!
//! A file is of one protocol with all its parameters but the loss. For each number of hops it holds two fits of loss and packets of a
//! window: until the packets are there, and until they are acknowledged. Both are used only within the losses, packets and hops that they were made
//! from; whoever asks for more gets an error.

use super::{
    fit::{Axis, Effort, Fit, Grid, Off, Points, Shape},
    hop::Hop,
    parameters::{Parameters, Timeout},
};
use base::sorted::SortedMap;

const HEAD: &str = "netloom fits of window times, in ps";

/// No time in ps is longer: virtual time ends here.
const LONGEST: f64 = (1u64 << 59) as f64;

/// Parts of a picosecond that means are kept in.
pub const PARTS: u64 = 1_000;

/// Fits by number of hops.
#[derive(Clone, Debug, PartialEq)]
pub struct Fits {
    /// All parameters but the loss, as text.
    key: String,
    /// Most packets of a window.
    window: u32,
    /// Until packets are there, and until they are acknowledged.
    all: SortedMap<u32, [Fit; 2]>,
}

/// How well a number of hops is fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Number of hops.
    pub hops: u32,
    /// Until packets are there.
    pub there: Off,
    /// Until they are acknowledged.
    pub acknowledged: Off,
    /// Greatest relative standard error of the samples.
    pub error: f64,
}

/// Parameters as text: without the loss, and without the window where timers do not count with it.
fn key(p: &Parameters) -> String {
    let window = if p.protocol.codes() && p.timeout == Timeout::Window { p.window } else { 0 };
    format!("{:?}", Parameters { loss: 0.0, window, ..*p })
}

/// Which parameters of two keys differ: `packet=1500 (here 1400)`.
fn differing(theirs: &str, ours: &str) -> String {
    let parts = |key: &str| -> Vec<(String, String)> {
        let inside = key.split_once('{').map_or(key, |k| k.1);
        let mut depth = 0;
        // Commas of a parameter that is a structure itself do not part.
        let part = |c: char| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        };
        let pair = |text: &str| {
            let (name, value) = text.split_once(':').unwrap_or((text, ""));
            // A bandwidth is a fraction of bytes and seconds.
            let value = value.replace("Bandwidth { numerator: ", "").replace(", denominator: ", "/");
            (name.trim().to_owned(), value.trim_matches([' ', '}']).to_lowercase())
        };
        inside.strip_suffix('}').unwrap_or(inside).split(part).map(pair).collect()
    };
    let (theirs, ours) = (parts(theirs), parts(ours));
    let value = |name: &str| theirs.iter().find(|t| t.0 == name).map_or("unknown", |t| t.1.as_str());
    let differing = ours.iter().filter(|(name, ours)| value(name) != ours);
    let reported: Vec<String> =
        differing.map(|(name, ours)| format!("{name}={} (here {ours})", value(name))).collect();
    reported.join(", ")
}

impl Fits {
    /// Samples and fits windows of 1 to `parameters.window` packets over these hops and losses; as [`Grid::sampled`].
    ///
    /// # Errors
    /// Parameters that do not go together, or too few points.
    pub fn made(
        parameters: &Parameters,
        hops: &[u32],
        losses: &[f64],
        shape: Shape,
        effort: Effort,
        threads: usize,
    ) -> Result<(Self, Vec<Quality>), String> {
        let packets: Vec<u32> = (1..=parameters.window).collect();
        let (mut all, mut qualities) = (SortedMap::new(), Vec::new());
        for &hops in hops {
            let points = Points { axis: Axis::Packets, losses, windows: &packets };
            let grid = Grid::sampled(parameters, hops, points, effort, threads)?;
            let gates = grid.acknowledged();
            let fits = [Fit::of(&grid, shape)?, Fit::of(&gates, shape)?];
            let (there, acknowledged) = (grid.off(&fits[0]), gates.off(&fits[1]));
            qualities.push(Quality { hops, there, acknowledged, error: grid.error });
            all.insert(hops, fits);
        }
        Ok((Self { key: key(parameters), window: parameters.window, all }, qualities))
    }

    /// As text: numbers come back bit by bit.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{HEAD}\n{}\n{}\n", self.key, self.window);
        for [there, acknowledged] in self.all.values() {
            text += &format!("there\n{}acknowledged\n{}", there.text(), acknowledged.text());
        }
        text
    }

    /// Reads what [`Fits::text`] wrote.
    ///
    /// # Errors
    /// What is wrong.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(4, '\n');
        if parts.next() != Some(HEAD) {
            return Err(format!("a file of fits begins with `{HEAD}`"));
        }
        let (key, window) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let window = window.parse().map_err(|_| format!("`{window}` is no number of packets"))?;
        let mut all = SortedMap::new();
        for both in parts.next().unwrap_or("").split("there\n").skip(1) {
            let (there, acknowledged) =
                both.split_once("acknowledged\n").ok_or("a fit of acknowledged windows is missing")?;
            let fits = [Fit::read(there)?, Fit::read(acknowledged)?];
            if fits[0].hops != fits[1].hops {
                return Err(format!("fits of {} and {} hops stand together", fits[0].hops, fits[1].hops));
            }
            all.insert(fits[0].hops, fits);
        }
        Ok(Self { key: key.to_owned(), window, all })
    }

    /// True if windows of these parameters are covered over any number of hops that is fitted.
    ///
    /// # Errors
    /// The key that is not covered, and why.
    pub fn covers(&self, parameters: &Parameters) -> Result<(), (&'static str, String)> {
        if parameters.window > self.window {
            let message =
                format!("windows of 1 to {} packets were fitted; nothing is extrapolated", self.window);
            return Err(("window", message));
        }
        let ours = key(parameters);
        if ours != self.key {
            return Err((
                "fit",
                format!("the fits are of other parameters: {}", differing(&self.key, &ours)),
            ));
        }
        let Some(&hops) = self.all.keys().next() else { return Err(("fit", "there is no fit".to_owned())) };
        self.hop(hops, parameters).map(|_| ()).map_err(|message| ("loss", message))
    }

    /// Means of windows over a number of hops, in parts of [`PARTS`] of a tick.
    ///
    /// # Errors
    /// What lies outside of the fits.
    pub fn hop(&self, hops: u32, parameters: &Parameters) -> Result<Hop, String> {
        let Some([there, acknowledged]) = self.all.get(&hops) else {
            let (first, last) = (self.all.keys().next(), self.all.keys().next_back());
            let (first, last) = (first.copied().unwrap_or(0), last.copied().unwrap_or(0));
            return Err(format!(
                "there is no fit of {hops} hops, only of {first} to {last}; nothing is extrapolated"
            ));
        };
        let scale = parameters.delays()?.scale;
        let time = |fit: &Fit, packets: u32| match fit.time(parameters.loss, packets) {
            Some(ps) if (0.0..=LONGEST).contains(&ps) => {
                Ok((ps * scale as f64 * PARTS as f64).round() as u128)
            }
            Some(ps) => Err(format!("the fit of {hops} hops gives {ps} ps")),
            None => Err(format!(
                "a loss of {} with windows of {packets} lies outside of what was fitted over {hops} hops; nothing is extrapolated",
                parameters.loss
            )),
        };
        let there = (1..=parameters.window).map(|g| time(there, g)).collect::<Result<Vec<_>, _>>()?;
        Ok(Hop { gate: time(acknowledged, parameters.window)?, there })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{means::Means, parameters::Protocol};

    fn losses() -> Vec<f64> {
        (0..=8).map(|i| f64::from(i) * 0.005).collect()
    }

    fn fits(protocol: Protocol) -> Fits {
        let p = Parameters::table2(protocol);
        Fits::made(&p, &[1, 2, 3], &losses(), Shape::Pieces, Effort { samples: 2_000, error: 1.0 }, 2)
            .unwrap()
            .0
    }

    #[test]
    fn a_file_comes_back_and_gives_the_sampled_means() {
        for protocol in [Protocol::Dor, Protocol::Ncd] {
            let fits = fits(protocol);
            assert_eq!(Fits::read(&fits.text()).unwrap(), fits);
            let p = Parameters { loss: 0.0125, ..Parameters::table2(protocol) };
            let (sampled, fitted) =
                (Means::new(&p, 3, 20_000, 1).unwrap(), Means::fitted(&p, 3, &fits).unwrap());
            for (hops, bytes) in [(1, 240), (2, 5_000), (3, 40_000), (3, 240)] {
                let (a, b) = (sampled.delay(hops, bytes) as f64, fitted.delay(hops, bytes) as f64);
                assert!((b / a - 1.0).abs() < 0.02, "{protocol:?} {hops} {bytes}: {a} {b}");
            }
            assert_eq!(fitted.delay(0, 1), 500_000);
        }
    }

    #[test]
    fn nothing_outside_is_given() {
        let fits = fits(Protocol::Pnc);
        let p = Parameters::table2(Protocol::Pnc);
        assert!(fits.covers(&p).is_ok());
        assert!(Means::fitted(&p, 4, &fits).unwrap_err().contains("4 hops"));
        let wrong = |p: Parameters| fits.covers(&p).unwrap_err().0;
        assert_eq!(wrong(Parameters { loss: 0.05, ..p }), "loss");
        assert_eq!(wrong(Parameters { window: 6, ..p }), "window");
        assert_eq!(wrong(Parameters { protocol: Protocol::Ncd, ..p }), "fit");
        let bandwidth = base::rate::Bandwidth::new(7, 2).unwrap();
        let reported =
            fits.covers(&Parameters { protocol: Protocol::Ncd, bandwidth, sign: 3, ..p }).unwrap_err().1;
        let differing = "protocol=pnc (here ncd), bandwidth=9375000000/1 (here 7/2), sign=40000 (here 3)";
        assert_eq!(reported, format!("the fits are of other parameters: {differing}"));
        // A damaged coefficient gives no time that virtual time does not have.
        let mut text = fits.text();
        let at = text.rfind(' ').unwrap();
        text.replace_range(at.., " 1e300\n");
        let damaged = Fits::read(&text).unwrap();
        let highest = Parameters { loss: 0.0399, ..p };
        assert!(damaged.hop(3, &highest).unwrap_err().contains("gives"));
        // Timers of coding count with the window.
        assert_eq!(wrong(Parameters { window: 4, ..p }), "fit");
        assert!(
            Fits::read("else").is_err() && Fits::read(&fits.text().replace("acknowledged", "x")).is_err()
        );
    }
}
