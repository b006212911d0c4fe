//! Elements with too many attributes, found before a document is parsed: the parser compares each attribute of an element with all before it.

/// Most attributes of an element; SimGrid's have two dozen.
pub(super) const MAX_ATTRIBUTES: usize = 1000;

/// Where the first element begins that has more than [`MAX_ATTRIBUTES`]. What is no XML is left to the parser.
pub(super) fn crowd(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text.get(at..)?.find('<')?;
        let rest = &text[at..];
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        if let Some((begin, end)) = skipped.iter().find(|(begin, _)| rest.starts_with(begin)) {
            at += begin.len() + rest[begin.len()..].find(end)? + end.len();
            continue;
        }
        let (length, attributes) = tag(rest)?;
        if attributes > MAX_ATTRIBUTES && !rest.starts_with("<!") {
            return Some(at);
        }
        at += length;
    }
}

/// Length of a tag or declaration, and its equals signs outside of quotes. A document type's `[` ends it: others follow within.
fn tag(text: &str) -> Option<(usize, usize)> {
    let declaration = text.starts_with("<!");
    let (mut quote, mut equals) = (None, 0);
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'=') => equals += 1,
            (None, b'>') => return Some((at + 1, equals)),
            (None, b'[') if declaration => return Some((at + 1, equals)),
            (None, _) => {}
        }
    }
    // An element that does not end is parsed until its end, too.
    (!declaration).then_some((text.len(), equals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_attributes_of_elements_are_counted() {
        let many = |count: usize| (0..count).map(|n| format!(" a{n}='>'")).collect::<String>();
        let (most, more) = (many(MAX_ATTRIBUTES), many(MAX_ATTRIBUTES + 1));
        let before = "<?xml version='1.0'?><!DOCTYPE a SYSTEM \"it's\" [<!ELEMENT a ANY>]>";
        for sound in [
            format!("{before}<a{most}/>"),
            format!("<!--<a{more}/>--><a/>"),
            format!("<a><![CDATA[<a{more}/>]]></a>"),
            format!("<?p <a{more}/>?><a/>"),
            format!("<a b=\"{}\"/>", "=".repeat(5000)),
            format!("<a>{}</a>", "=".repeat(5000)),
            "<a b='".to_owned(),
            "<!-- <a".to_owned(),
        ] {
            assert_eq!(crowd(&sound), None, "{sound:.60}");
        }
        for (begin, end) in [(before, "/>"), ("<!-- \" ' --><b c='<!--'/>", ">"), ("it's <b/>", " x")] {
            assert_eq!(crowd(&format!("{begin}<a{more}{end}")), Some(begin.len()), "{begin}");
        }
    }
}
