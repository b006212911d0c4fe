//! Reads a source as words and signs, for tests that look at the code.

/// Words and signs of a source, without comments, strings and characters; `::` is one sign.
pub fn tokens(source: &str) -> Vec<String> {
    let text: Vec<char> = source.chars().collect();
    let at = |i: usize| text.get(i).copied().unwrap_or('\0');
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut found, mut i) = (Vec::new(), 0);
    while i < text.len() {
        let start = i;
        match at(i) {
            '/' if at(i + 1) == '/' => i += text[i..].iter().take_while(|&&c| c != '\n').count(),
            '/' if at(i + 1) == '*' => {
                i += 2;
                while i < text.len() && (at(i), at(i + 1)) != ('*', '/') {
                    i += 1;
                }
                i += 2;
            }
            '"' => i = after_string(&text, i + 1),
            // A character, if the second or third place closes it or an escape begins; else a lifetime.
            '\'' if at(i + 1) == '\\' => {
                i += 3 + text[i + 3..].iter().take_while(|&&c| c != '\'').count() + 1
            }
            '\'' if at(i + 2) == '\'' => i += 3,
            'r' | 'b'
                if matches!(
                    (at(i), at(i + 1), at(i + 2)),
                    (_, '"', _) | (_, '#', '"' | '#') | ('b', 'r', '"' | '#')
                ) =>
            {
                i += 1 + usize::from(at(i + 1) == 'r');
                let hashes = text[i..].iter().take_while(|&&c| c == '#').count();
                i += hashes + 1;
                if hashes == 0 && (at(start), at(start + 1)) == ('b', '"') {
                    i = after_string(&text, i);
                    continue;
                }
                let close: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
                i += text[i..].windows(close.len()).position(|w| w == close).unwrap_or(0) + close.len();
            }
            c if word(c) => {
                i += text[i..].iter().take_while(|&&c| word(c)).count();
                found.push(text[start..i].iter().collect());
            }
            ':' if at(i + 1) == ':' => {
                i += 2;
                found.push("::".into());
            }
            c => {
                i += 1;
                if !c.is_whitespace() {
                    found.push(c.into());
                }
            }
        }
    }
    found
}

/// The place after a string whose inside begins at `i`.
fn after_string(text: &[char], mut i: usize) -> usize {
    while i < text.len() && text[i] != '"' {
        i += 1 + usize::from(text[i] == '\\');
    }
    i + 1
}

/// The place after the bracket that closes the one at `open`.
pub fn after_group(tokens: &[String], open: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "{" | "[" | "(" => depth += 1,
            "}" | "]" | ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i + 1;
        }
    }
    tokens.len()
}

/// The same without what is compiled for tests alone.
pub fn without_tests(tokens: &[String]) -> Vec<String> {
    let (mut kept, mut i) = (Vec::new(), 0);
    let is = |i: usize, t: &str| tokens.get(i).is_some_and(|found| found == t);
    while i < tokens.len() {
        if !(is(i, "#") && is(i + 1, "[")) {
            kept.push(tokens[i].clone());
            i += 1;
            continue;
        }
        let end = after_group(tokens, i + 1);
        let attribute = &tokens[i + 2..end - 1];
        let has = |word: &str| attribute.iter().any(|t| t == word);
        i = end;
        if attribute.first().is_some_and(|t| t == "cfg") && (has("test") || has("loom")) && !has("not") {
            while is(i, "#") {
                i = after_group(tokens, i + 1);
            }
            let import = is(i, "use");
            // An item ends with its semicolon or its braces; those of a `use` lie before its semicolon.
            while i < tokens.len() && !is(i, ";") && (import || !is(i, "{")) {
                i = if is(i, "(") || is(i, "[") { after_group(tokens, i) } else { i + 1 };
            }
            i = if is(i, "{") { after_group(tokens, i) } else { i + 1 };
        }
    }
    kept
}
