//! What the command finds in small crates, and what it lets pass.

use super::imports::FileGraph;
use super::manifests::{Member, dependencies, members};
use super::{BOUNDS, arrow_problems, bounds, circle_problems};
use crate::programs::Workspace;

/// The imports of a crate, each as `from:line -> to`.
fn imports(files: &[(&str, &str)]) -> Vec<String> {
    let graph = graph(files);
    let shown = |import: &super::FileImport| {
        format!("{}:{} -> {}", graph.name(import.from), import.line, graph.name(import.to))
    };
    graph.imports().iter().map(shown).collect()
}

fn graph(files: &[(&str, &str)]) -> FileGraph {
    let files: Vec<_> = files.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
    FileGraph::new(&files)
}

#[test]
fn use_trees_lead_to_files() {
    let a = "use crate::{b::{self as c, B}, d::e::*};\nuse super::b;\nuse std::fmt;\nuse ::b::X;\n";
    let files = [("lib.rs", ""), ("a.rs", a), ("b.rs", ""), ("d/mod.rs", ""), ("d/e.rs", "")];
    assert_eq!(imports(&files), ["a.rs:1 -> b.rs", "a.rs:1 -> b.rs", "a.rs:1 -> d/e.rs", "a.rs:2 -> b.rs"]);
}

#[test]
fn names_of_the_crate_lead_to_its_root() {
    assert_eq!(imports(&[("lib.rs", ""), ("a.rs", "use crate::Thing;")]), ["a.rs:1 -> lib.rs"]);
}

#[test]
fn children_are_imported_by_name() {
    let files = [
        ("main.rs", "mod a;\nuse a::b::B;\nuse b::C;\nfn f() { a::g() }"),
        ("a.rs", "mod b;"),
        ("a/b.rs", ""),
    ];
    assert_eq!(imports(&files), ["main.rs:2 -> a/b.rs"]);
}

#[test]
fn paths_in_code_count_and_those_in_text_do_not() {
    let a = "fn f() {\n    crate::b::g(super::c::X); // crate::d\n    \"crate::d\"; '\"'; self::e::h();\n}\n\
             pub(in crate::d) struct S;\nmacro_rules! m { () => { $crate::d::x() } }";
    let files = [("lib.rs", ""), ("a.rs", a), ("a/e.rs", ""), ("b.rs", ""), ("c/mod.rs", ""), ("d.rs", "")];
    let found = ["a.rs:2 -> b.rs", "a.rs:2 -> c/mod.rs", "a.rs:3 -> a/e.rs", "a.rs:6 -> d.rs"];
    assert_eq!(imports(&files), found);
}

#[test]
fn modules_in_braces_are_of_their_file() {
    let a = "mod inner {\n    use super::X;\n    use super::super::b;\n}\nuse super::c;\nuse self::inner::Y;";
    let files = [("lib.rs", ""), ("a.rs", a), ("b.rs", ""), ("c.rs", "use crate::a::inner::Z;")];
    assert_eq!(imports(&files), ["a.rs:3 -> b.rs", "a.rs:5 -> c.rs", "c.rs:1 -> a.rs"]);
}

#[test]
fn tests_are_left_out() {
    let a = "#[cfg(test)]\nuse crate::b::X;\n#[cfg(test)]\n#[allow(dead_code)]\nfn f<A, B>() { crate::b::g(); }\n\
             struct S {\n    #[cfg(test)]\n    x: crate::b::X,\n    y: crate::c::Y,\n}\n\
             #[cfg(all(test, not(loom)))]\nmod tests;\n#[cfg(test)]\nmod inner { use crate::b::X; }\n\
             #[cfg(not(test))]\nuse crate::c::Z;\n#[cfg(all(loom, not(test)))]\nuse crate::c::Z;";
    let test = "use crate::b::X;";
    let files = [
        ("lib.rs", ""),
        ("a.rs", a),
        ("a/tests.rs", test),
        ("a/tests/more.rs", test),
        ("b.rs", ""),
        ("c.rs", "#![cfg(test)]\nuse crate::b::X;"),
        ("d.rs", "#[cfg(any(test, feature = \"fuzz\"))]\nuse crate::b::X;"),
    ];
    assert_eq!(
        imports(&files),
        ["a.rs:9 -> lib.rs", "a.rs:16 -> lib.rs", "a.rs:18 -> lib.rs", "d.rs:2 -> b.rs"]
    );
    assert_eq!(graph(&files).len(), 4, "neither a/tests.rs nor c.rs");
}

#[test]
fn programs_beside_a_library_are_left_out() {
    let files =
        [("lib.rs", ""), ("main.rs", "use crate::a::X;"), ("bin/x.rs", "use crate::a;"), ("a.rs", "")];
    assert_eq!(imports(&files), [""; 0]);
}

#[test]
fn the_largest_circle_has_its_members() {
    let files = [
        ("lib.rs", "use a::A;"),
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "use crate::c::C;"),
        ("c.rs", "use super::a::A;"),
        ("d.rs", "use crate::a::A;"),
    ];
    let graph = graph(&files);
    let names: Vec<&str> = graph.largest_circle().into_iter().map(|file| graph.name(file)).collect();
    assert_eq!(names, ["a.rs", "b.rs", "c.rs"]);
    assert_eq!(circle_problems(3, 3).len(), 0);
    assert_eq!(circle_problems(2, 3).len(), 1);
}

#[test]
fn dependencies_are_read() {
    let manifest = "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\n# c = \"1\"\nd = { path = \"d\" }\n\
                    [dev-dependencies]\ne = \"1\"\n[target.'cfg(target_os = \"x.y\")'.dependencies]\nf = \"1\"\n\
                    [dependencies.g]\nversion = \"1\"\n[build-dependencies]\nh = \"1\"\n[lints]\nworkspace = true\n";
    assert_eq!(dependencies(manifest), ["b", "d", "f", "g", "h"]);
}

#[test]
fn arrows_are_compared_with_the_table() {
    let member = |name: &str, uses: &[&str]| Member {
        name: name.into(),
        folder: name.into(),
        uses: uses.iter().map(|used| (*used).into()).collect(),
    };
    let table = [bounds("low", 1, &[]), bounds("high", 1, &["low"])];
    let problems = |members: &[Member]| arrow_problems(members, &table).len();
    assert_eq!(problems(&[member("low", &[]), member("high", &["low"])]), 0);
    assert_eq!(problems(&[member("low", &["high"]), member("high", &["low"])]), 1, "an arrow back up");
    assert_eq!(problems(&[member("low", &[]), member("high", &[])]), 1, "an arrow that is gone");
    assert_eq!(problems(&[member("low", &[])]), 1, "a crate that is gone");
    assert_eq!(problems(&[member("low", &[]), member("high", &["low"]), member("new", &[])]), 1);
}

#[test]
fn the_table_has_no_circle_and_names_the_lowest_first() {
    for (at, row) in BOUNDS.iter().enumerate() {
        let lower = |used: &&str| BOUNDS[..at].iter().any(|below| below.name == *used);
        assert!(row.may_use.iter().all(lower), "{}", row.name);
    }
    assert_eq!(members(&Workspace::find().root).unwrap().len(), BOUNDS.len());
}
