//! "Did you mean": names that are nearly what was written.

/// Longest word, in bytes, for which a nearer one is looked for: comparing two takes time and memory by the product of their lengths, and nobody
/// reads such words letter by letter.
const LONGEST: usize = 200;

/// The candidates nearest to `name`, best first: at most three, within a third of its length in edits. Words of more than 200 bytes are near to none.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    if name.len() > LONGEST {
        return Vec::new();
    }
    let length = name.chars().count();
    let limit = (length / 3).max(2);
    let begins = |c: &str| name.len() >= 3 && (c.starts_with(name) || name.starts_with(c));
    let mut scored: Vec<(usize, &str)> = candidates
        .into_iter()
        // Each character more takes an edit: most names are distinguished by their length. Keys of other models are looked up in every run.
        .filter(|c| c.len() <= LONGEST)
        .filter(|c| c.chars().count().abs_diff(length) <= limit || begins(c))
        .filter(|c| at_least(name, c) <= limit || begins(c))
        .map(|c| (distance(name, c), c))
        .filter(|&(d, c)| d <= limit || begins(c))
        .collect();
    scored.sort();
    scored.into_iter().take(3).map(|(_, c)| c).collect()
}

/// A lower bound of the edits: an edit changes the letters that only one of the words has by one each at most. A file of 50,000 unknown names asks
/// for millions of distances, and nearly all are ruled out here.
fn at_least(a: &str, b: &str) -> usize {
    let mut surplus = [0i32; 64];
    // Letters that share a counter only make the bound lower.
    a.chars().for_each(|c| surplus[c as usize % 64] += 1);
    b.chars().for_each(|c| surplus[c as usize % 64] -= 1);
    let (only_a, only_b) = surplus.iter().fold((0, 0), |(a, b), &n| (a + n.max(0), b + (-n).max(0)));
    only_a.max(only_b) as usize
}

/// Edits (insert, delete, replace, swap of neighbours) between two words.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let width = b.len() + 1;
    let mut d = vec![0; (a.len() + 1) * width];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            d[i * width + j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replace = d[(i - 1) * width + j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = replace.min(d[(i - 1) * width + j] + 1).min(d[i * width + j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(d[(i - 2) * width + j - 2] + 1);
                }
                best
            };
        }
    }
    d[a.len() * width + b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposes_the_nearest_names() {
        let names = ["dragonfly", "mesh", "torus", "fat-tree"];
        assert_eq!(nearest("dragonfyl", names), ["dragonfly"]);
        assert_eq!(nearest("toru", names), ["torus"]);
        assert!(nearest("hypercube", names).is_empty());
    }

    #[test]
    fn the_lower_bound_is_below_every_distance() {
        let mut state = 7u64;
        let mut draw = |below: u64| {
            state = crate::hash::mix64(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
            state % below
        };
        for _ in 0..20_000 {
            let [a, b] = [(); 2].map(|()| {
                let length = draw(8);
                (0..length).map(|_| ['a', 'b', 'c', '!', 'é', 'λ'][draw(6) as usize]).collect::<String>()
            });
            assert!(at_least(&a, &b) <= distance(&a, &b), "{a} {b}");
        }
    }

    /// Words from files may be of any length: two of a million letters would take a table of terabytes.
    #[test]
    fn long_words_are_near_to_none() {
        let (long, other) = ("a".repeat(1_000_000), "a".repeat(999_999) + "b");
        assert!(nearest(&long, [other.as_str()]).is_empty());
        assert!(nearest("aaa", [long.as_str()]).is_empty());
        let (fair, near) = ("a".repeat(LONGEST), "a".repeat(LONGEST - 1) + "b");
        assert_eq!(nearest(&fair, [near.as_str()]), [near.as_str()]);
    }
}
