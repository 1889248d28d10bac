//! The sentences of doc comments and pages.
//!
//! What lives here: paragraphs, and where sentences end in them. Code blocks, tables and headings
//! hold no sentences. A list item is a paragraph.

/// The sentences of the doc comments of Rust source, or of a page.
pub fn of(text: &str, is_rust: bool) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    let mut in_code = false;
    for line in text.lines() {
        let prose = if is_rust { doc(line) } else { Some(line) };
        let Some(prose) = prose else {
            in_code = false;
            paragraphs.push(String::new());
            continue;
        };
        let trimmed = prose.trim();
        if trimmed.starts_with("```") {
            in_code = !in_code;
            paragraphs.push(String::new());
            continue;
        }
        if in_code || prose.starts_with("    ") && paragraphs.last().is_some_and(String::is_empty) {
            continue;
        }
        if trimmed.is_empty() || begins_paragraph(trimmed) {
            paragraphs.push(String::new());
        }
        if !trimmed.starts_with(['|', '#'])
            && let Some(last) = paragraphs.last_mut()
        {
            last.push_str(trimmed);
            last.push(' ');
        }
    }
    paragraphs.iter().flat_map(|paragraph| split(paragraph)).collect()
}

/// The text of a doc comment line.
fn doc(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    Some(text.strip_prefix(' ').unwrap_or(text))
}

fn begins_paragraph(line: &str) -> bool {
    let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with(['|', '#']) || line.starts_with("* ") || line.starts_with("- ") || {
        numbered.len() < line.len() && numbered.starts_with(". ")
    }
}

/// Sentences end with a mark that a space and a capital letter, a number or code follow.
fn split(paragraph: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut sentence = String::new();
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    for (at, word) in words.iter().enumerate() {
        sentence.push_str(word);
        sentence.push(' ');
        let ends = word.trim_end_matches([')', '"', '*', '`', '_']).ends_with(['.', '!', '?', ':', ';']);
        let begins = |next: &&str| {
            next.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit() || "`*[(\"_".contains(c))
        };
        if ends && words.get(at + 1).is_none_or(begins) {
            sentences.push(core::mem::take(&mut sentence).trim_end().to_owned());
        }
    }
    if !sentence.is_empty() {
        sentences.push(sentence.trim_end().to_owned());
    }
    sentences
}

/// How many words a sentence has; marks alone are none.
pub fn words(sentence: &str) -> usize {
    sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}
