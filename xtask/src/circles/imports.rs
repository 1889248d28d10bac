//! Which file of a crate imports which.
//!
//! What lives here: files as modules, and the paths in their code that lead to other files: `use`
//! trees, and paths that begin with `crate`, `self` or `super`. What does not: what a name stands
//! for, and names that a macro makes. A path leads to the file of the longest part of it that is a
//! module, even if that file only exports a name of another. Left out are code that only tests have,
//! `mod` lines, and calls of the form `child::function()`: a parent has to name its children.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::components::components;
use crate::files as all_files;
use crate::lex::{self, CodeToken};

/// Words of items that may end with a brace. Commas inside of such items do not end them.
const ITEMS_WITH_BRACES: [&str; 9] =
    ["fn", "mod", "impl", "struct", "enum", "trait", "extern", "union", "macro_rules"];

/// A module's path from the root of its crate, whose own path is empty.
type ModulePath = Vec<String>;

/// One import of a file by another.
pub struct FileImport {
    pub from: usize,
    pub to: usize,
    pub line: usize,
    /// As it is written, without braces.
    pub path: String,
}

/// The files of a crate, and their imports.
pub struct FileGraph {
    names: Vec<String>,
    imports: Vec<FileImport>,
}

impl FileGraph {
    /// Reads all Rust files below `source`. Programs in `src/bin` are crates of their own and left
    /// out, as is `main.rs` beside a `lib.rs`.
    ///
    /// # Errors
    /// A folder or a file that cannot be read.
    pub fn read(source: &Path) -> Result<FileGraph, String> {
        let mut files = Vec::new();
        let all = all_files::below(source, |_| true);
        for path in all.into_iter().filter(|path| all_files::ends(path, ".rs")) {
            let name = path.strip_prefix(source).unwrap_or(&path).display().to_string();
            let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            files.push((name, text));
        }
        if files.is_empty() {
            return Err(format!("{}: no Rust file", source.display()));
        }
        Ok(FileGraph::new(&files))
    }

    /// The graph of files given by name, relative to the folder of the sources, and text.
    pub fn new(files: &[(String, String)]) -> FileGraph {
        let has_library = files.iter().any(|(name, _)| name == "lib.rs");
        let mut found: Vec<(&String, FileContents)> = Vec::new();
        for (name, text) in files {
            let is_program = name.starts_with("bin/") || has_library && name == "main.rs";
            if !is_program {
                found.push((name, FileReader::new(module_path(name), text).read()));
            }
        }
        let tests: BTreeSet<ModulePath> =
            found.iter().flat_map(|(_, file)| file.test_modules.clone()).collect();
        found.retain(|(_, file)| !(0..=file.module.len()).any(|end| tests.contains(&file.module[..end])));
        let modules: BTreeMap<ModulePath, usize> =
            found.iter().enumerate().map(|(index, (_, file))| (file.module.clone(), index)).collect();
        let mut imports = Vec::new();
        for (from, (_, file)) in found.iter().enumerate() {
            for path in &file.paths {
                if let Some(to) = path.file(&modules).filter(|&to| to != from) {
                    imports.push(FileImport { from, to, line: path.line, path: path.written.join("::") });
                }
            }
        }
        FileGraph { names: found.iter().map(|(name, _)| (*name).clone()).collect(), imports }
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn name(&self, file: usize) -> &str {
        &self.names[file]
    }

    pub fn imports(&self) -> &[FileImport] {
        &self.imports
    }

    /// The files of the largest circle, or a single one where there is none.
    pub fn largest_circle(&self) -> Vec<usize> {
        let mut arrows = vec![Vec::new(); self.len()];
        self.imports.iter().for_each(|import| arrows[import.from].push(import.to));
        components(&arrows).into_iter().next().unwrap_or_default()
    }
}

/// `a/b.rs` and `a/b/mod.rs` are the module `a::b`; `lib.rs` and `main.rs` are the root.
fn module_path(name: &str) -> ModulePath {
    let mut path: ModulePath = name.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    let is_root = path.len() == 1 && (path[0] == "lib" || path[0] == "main");
    if is_root || path.last().is_some_and(|last| last == "mod") {
        path.pop();
    }
    path
}

/// What one file says.
struct FileContents {
    module: ModulePath,
    paths: Vec<CodePath>,
    /// Modules that only tests have.
    test_modules: Vec<ModulePath>,
}

/// A path in code.
struct CodePath {
    written: Vec<String>,
    line: usize,
    /// From the root of the crate.
    absolute: ModulePath,
    /// The length of the part of `absolute` that must be a module with a file. Otherwise the path
    /// leads into another crate.
    needed: usize,
}

impl CodePath {
    /// The file that it leads to.
    fn file(&self, modules: &BTreeMap<ModulePath, usize>) -> Option<usize> {
        let mut lengths = (self.needed..=self.absolute.len()).rev();
        lengths.find_map(|length| modules.get(&self.absolute[..length]).copied())
    }
}

/// Goes through the tokens of a file.
struct FileReader<'a> {
    tokens: Vec<CodeToken<'a>>,
    at: usize,
    /// The module of the code at `at`: the file's, or one in braces inside of it.
    module: ModulePath,
    found: FileContents,
}

impl<'a> FileReader<'a> {
    fn new(module: ModulePath, text: &'a str) -> Self {
        let found = FileContents { module: module.clone(), paths: Vec::new(), test_modules: Vec::new() };
        FileReader { tokens: lex::tokens(text), at: 0, module, found }
    }

    /// The text of the token `ahead` of the next one; empty behind the end.
    fn peek(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).map_or("", |token| token.text)
    }

    fn read(mut self) -> FileContents {
        // One for each open brace: does it belong to a module?
        let mut braces = Vec::new();
        while self.at < self.tokens.len() {
            match self.peek(0) {
                "#" => self.attribute(),
                "use" if self.peek(1) != "<" => {
                    self.at += 1;
                    self.use_tree(&[]);
                }
                "mod" if self.peek(2) == "{" => {
                    self.module.push(self.peek(1).to_owned());
                    braces.push(true);
                    self.at += 3;
                }
                "{" => {
                    braces.push(false);
                    self.at += 1;
                }
                "}" => {
                    if braces.pop() == Some(true) {
                        self.module.pop();
                    }
                    self.at += 1;
                }
                "crate" | "super" | "self" if self.peek(1) == "::" && !self.is_continued() => self.path(),
                _ => self.at += 1,
            }
        }
        self.found
    }

    /// Does the token before belong to the same path, or to `pub(in path)`?
    fn is_continued(&self) -> bool {
        let before = |count: usize| self.at.checked_sub(count).map_or("", |at| self.tokens[at].text);
        before(1) == "::" || before(1) == "in" && before(2) == "("
    }

    /// A path outside of a `use`.
    fn path(&mut self) {
        let line = self.tokens[self.at].line;
        let mut written = vec![self.peek(0).to_owned()];
        self.at += 1;
        while self.peek(0) == "::" && is_name(self.peek(1)) {
            written.push(self.peek(1).to_owned());
            self.at += 2;
        }
        self.add(written, line);
    }

    /// A `use` tree up to its end, behind `prefix`.
    fn use_tree(&mut self, prefix: &[String]) {
        let mut path = prefix.to_vec();
        // A tree that begins with `::` leads into another crate.
        let is_outside = prefix.is_empty() && self.peek(0) == "::";
        while self.at < self.tokens.len() {
            let (text, line) = (self.peek(0), self.tokens[self.at].line);
            match text {
                "{" => {
                    self.at += 1;
                    while !["}", ""].contains(&self.peek(0)) {
                        self.use_tree(&path);
                        if self.peek(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "as" => self.at += 2,
                "," | "}" | ";" => {
                    if !is_outside {
                        self.add(path, line);
                    }
                    self.at += usize::from(text == ";");
                    return;
                }
                // A `self` that is not the first word stands for what is before it.
                "self" if !path.is_empty() => self.at += 1,
                _ => {
                    if is_name(text) {
                        path.push(text.to_owned());
                    }
                    self.at += 1;
                }
            }
        }
    }

    fn add(&mut self, written: Vec<String>, line: usize) {
        let mut rest = written.as_slice();
        let (mut absolute, mut needed) = (self.module.clone(), 0);
        match rest.first().map(String::as_str) {
            Some("crate") => {
                absolute.clear();
                rest = &rest[1..];
            }
            Some("self") => rest = &rest[1..],
            Some("super") => {}
            Some(_) => needed = absolute.len() + 1,
            None => return,
        }
        while rest.first().is_some_and(|word| word == "super") {
            absolute.pop();
            rest = &rest[1..];
        }
        absolute.extend_from_slice(rest);
        self.found.paths.push(CodePath { written, line, absolute, needed });
    }

    /// An attribute, and what it belongs to if only tests have that.
    fn attribute(&mut self) {
        let is_of_file = self.peek(1) == "!";
        if !self.read_attribute() {
            return;
        }
        if is_of_file {
            self.found.test_modules.push(self.module.clone());
            return;
        }
        while self.peek(0) == "#" {
            self.read_attribute();
        }
        self.skip_item();
    }

    /// Goes behind an attribute. Says whether it leaves what follows to tests: `cfg(test)`, or
    /// `cfg(all(…))` with `test`.
    fn read_attribute(&mut self) -> bool {
        let start = self.at;
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match self.peek(0) {
                "[" => depth += 1,
                "]" => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 && self.tokens[self.at - 1].text == "]" {
                break;
            }
        }
        let words: Vec<&str> = self.tokens[start..self.at].iter().map(|token| token.text).collect();
        let Some(begin) = words.iter().position(|&word| word == "cfg") else { return false };
        let words = &words[begin..];
        let is_all = words.get(2) == Some(&"all") && !words.contains(&"any");
        let is_test = |at: usize| words[at] == "test" && words.get(at.wrapping_sub(2)) != Some(&"not");
        words.get(2) == Some(&"test") || is_all && (0..words.len()).any(is_test)
    }

    /// Goes behind the item at `at`, and notes a module in a file of its own.
    fn skip_item(&mut self) {
        let start = self.at;
        let has = |words: &[&str]| self.item_words().any(|word| words.contains(&word));
        let ends_in_semicolon = has(&["use", "static", "let", "type"]) || has(&["const"]) && !has(&["fn"]);
        let is_item = ends_in_semicolon || has(&ITEMS_WITH_BRACES);
        let mut depth = 0_usize;
        while self.at < self.tokens.len() {
            match self.peek(0) {
                "{" | "(" | "[" => depth += 1,
                // The end of what the item is in, as behind a last field.
                "}" | ")" | "]" if depth == 0 => return,
                "}" | ")" | "]" => depth -= 1,
                _ => {}
            }
            let closes = self.peek(0) == "}" && !ends_in_semicolon;
            let ends = self.peek(0) == ";" || self.peek(0) == "," && !is_item;
            self.at += 1;
            if depth == 0 && (closes || ends) {
                break;
            }
        }
        let item: Vec<&str> = self.tokens[start..self.at].iter().map(|token| token.text).collect();
        if let [.., "mod", name, ";"] = item[..] {
            let mut module = self.module.clone();
            module.push(name.to_owned());
            self.found.test_modules.push(module);
        }
    }

    /// The words before the name of the item at `at`.
    fn item_words(&self) -> impl Iterator<Item = &'a str> {
        let marks = ["{", "=", ";", ":", "<"];
        self.tokens[self.at..].iter().map(|token| token.text).take_while(move |text| !marks.contains(text))
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}
