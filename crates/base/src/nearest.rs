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
        .map(|c| (distance(name, c), c))
        .filter(|&(d, c)| d <= limit || begins(c))
        .collect();
    scored.sort();
    scored.into_iter().take(3).map(|(_, c)| c).collect()
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
