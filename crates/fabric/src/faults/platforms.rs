//! Links of platforms that fail: from a time on they carry nothing. A platform's routes are as its file gives them, so nobody goes around.

use super::{LINKS, drawn};
use crate::platform::{Change, Platform, Profile};
use base::{
    param::{Problem, Value, Values},
    registry::nearest,
};

/// Keys that speak of routers and classes, which a platform does not have.
const OF_ROUTERS: [&str; 3] = ["routers", "router_fraction", "classes"];

/// A platform on which the links that `[faults]` names or draws are down from a time on, in seconds. A name stands for a link or, of a link in two directions, for
/// both. What the file changes of their state later still changes it.
///
/// # Errors
/// Links that the platform does not have, and keys about routers or classes.
pub fn down(values: &Values, platform: &Platform, seed: u64, at: f64) -> Result<Platform, Vec<Problem>> {
    let mut problems = Vec::new();
    for key in OF_ROUTERS.into_iter().filter(|key| says_something(values, key)) {
        let message = format!("a platform has links by name, and no routers or classes of links for `{key}`");
        problems
            .push(Problem::new(key, message).help("name its links in `links`, or give a `link_fraction`"));
    }
    let mut failed = Vec::new();
    for name in values.texts("links") {
        let both = [name.clone(), format!("{name}_UP"), format!("{name}_DOWN")];
        let before = failed.len();
        failed.extend((0u32..).zip(&platform.links).filter(|(_, l)| both.contains(&l.name)).map(|(n, _)| n));
        if failed.len() == before {
            let mut problem = Problem::new("links", format!("the platform has no link `{name}`"));
            if let Some(near) = nearest(&name, platform.links.iter().map(|l| l.name.as_str())).first() {
                problem = problem.help(format!("did you mean `{near}`?"));
            }
            problems.push(problem);
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let all: Vec<u32> = (0..platform.links.len() as u32).collect();
    failed.extend(drawn(all, values.real("link_fraction"), seed, LINKS));
    failed.sort_unstable();
    failed.dedup();
    let mut left = platform.clone();
    let changes = vec![(at, Change::Up(false))];
    left.profiles.extend(failed.iter().map(|&link| Profile { link, changes: changes.clone(), period: None }));
    Ok(left)
}

/// True if a key is not as it is when it is left out.
fn says_something(values: &Values, key: &str) -> bool {
    match values.0.get(key) {
        Some(Value::Real(fraction)) => *fraction > 0.0,
        Some(Value::Texts(all)) => !all.is_empty(),
        Some(Value::Ints(all)) => !all.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{Link, Policy};

    fn platform() -> Platform {
        let link = |name: &str| Link {
            name: name.to_owned(),
            bandwidth: 1e9,
            latency: 1e-6,
            policy: Policy::Shared,
        };
        let names = ["lan", "wan_UP", "wan_DOWN", "a", "b", "c", "d", "e"];
        Platform { links: names.into_iter().map(link).collect(), ..Platform::default() }
    }

    fn values(links: &[&str], fraction: f64) -> Values {
        let links = Value::Texts(links.iter().map(|&l| l.to_owned()).collect());
        Values::default().with("links", links).with("link_fraction", Value::Real(fraction))
    }

    fn failed(values: &Values, seed: u64) -> Vec<u32> {
        let left = down(values, &platform(), seed, 2e-6).expect("they are there");
        assert!(left.profiles.iter().all(|p| p.changes == [(2e-6, Change::Up(false))] && p.period.is_none()));
        left.profiles.iter().map(|p| p.link).collect()
    }

    #[test]
    fn links_fail_by_name_and_by_chance() {
        assert_eq!(failed(&values(&["lan", "wan", "lan"], 0.0), 1), [0, 1, 2]);
        assert_eq!(failed(&values(&["wan_DOWN"], 0.0), 1), [2]);
        // A larger fraction fails the same ones and more.
        let (half, all) = (failed(&values(&[], 0.5), 3), failed(&values(&[], 1.0), 3));
        assert!(half.len() == 4 && all.len() == 8 && half.iter().all(|l| all.contains(l)));
        assert_ne!(half, failed(&values(&[], 0.5), 4));
    }

    #[test]
    fn what_a_platform_does_not_have_is_refused_by_name() {
        let wrong = values(&["lam"], 0.0).with("routers", Value::Ints(vec![0]));
        let problems = down(&wrong, &platform(), 1, 0.0).expect_err("neither is there");
        let said: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
        assert!(said[0].contains("for `routers`") && said[1] == "the platform has no link `lam`", "{said:?}");
    }
}
