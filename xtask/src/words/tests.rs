//! What the rules find, and what they let pass.

use std::collections::BTreeMap;
use std::path::Path;

use super::{check_file, crowded_names, parts, retired, sentences};

const GLOSSARY: &str = "# Glossary\n\n| term | meaning |\n|---|---|\n| gang | threads |\n\n## Retired words\n\n\
                        | word | now | in |\n|---|---|---|\n| strand | thread | |\n| bench | list | `ult/` `omp/` |\n";

fn found(file: &str, text: &str) -> Vec<super::Finding> {
    let (mut types, mut findings) = (BTreeMap::new(), Vec::new());
    let words = retired(GLOSSARY).expect("a table");
    check_file(Path::new(file), text, &words, &mut types, &mut findings);
    findings.extend(crowded_names(&types));
    findings
}

#[test]
fn retired_words_are_found_in_names_and_comments_but_not_in_strings() {
    assert_eq!(found("a.rs", "fn own_strand() {}").len(), 1);
    assert_eq!(found("a.rs", "struct OwnStrand;").len(), 1);
    assert_eq!(found("a.rs", "// A strand.").len(), 1);
    assert_eq!(found("a.rs", "// Demonstrands.\nlet a = \"strand\";"), []);
    assert_eq!(found("xtask/a.rs", "fn bench() {}"), [], "allowed outside of its folders");
    assert_eq!(found("ult/a.rs", "fn bench() {}").len(), 1);
}

#[test]
fn long_sentences_are_found() {
    let long = format!("/// A {}end.", "word ".repeat(40));
    assert_eq!(found("a.rs", &long).len(), 1);
    assert_eq!(found("a.rs", &long.replace("///", "//")), [], "not a doc comment");
    assert_eq!(found("a.rs", &format!("/// | {} |", "word ".repeat(40))), [], "a table");
    assert_eq!(found("a.rs", &format!("/// ```\n{long}\n/// ```")), [], "code");
    assert_eq!(found("docs/protocols/a.md", &format!("A {}end.", "word ".repeat(40))).len(), 1);
}

#[test]
fn sentences_end_where_the_next_one_begins() {
    let text =
        "/// One, e.g. this. Two (of 5.2 §12.4: here).\n/// Three\n/// goes on.\n///\n/// * Four\n/// * Five";
    let found = sentences::of(text, true);
    assert_eq!(found, ["One, e.g. this.", "Two (of 5.2 §12.4: here).", "Three goes on.", "* Four", "* Five"]);
    assert_eq!(sentences::words("A `b` - c."), 3);
}

#[test]
fn bare_names_are_refused() {
    assert_eq!(found("a.rs", "enum Kind { A }").len(), 1);
    assert_eq!(found("a.rs", "enum VictimKind { A }"), []);
}

#[test]
fn names_are_taken_apart() {
    assert_eq!(parts("SpawnGroup"), ["spawn", "group"]);
    assert_eq!(parts("NO_CREW"), ["no", "crew"]);
    assert_eq!(parts("set_crew"), ["set", "crew"]);
}

#[test]
fn a_glossary_without_the_table_is_an_error() {
    assert!(retired(GLOSSARY).is_ok());
    assert!(retired("# Glossary\n").is_err());
    assert!(retired("## Retired words\n\n| word | now | in |\n|---|---|---|\n").is_err());
    assert!(retired(&GLOSSARY.replace("| strand | thread | |", "| strand |")).is_err());
}
