//! A headless browser on a page of ours, which tells what it has drawn in attributes of its root
//! element.

use crate::exec;
use std::fs;
use std::path::Path;

/// Why there is nothing to look at.
pub enum BrowserFailure {
    /// No browser.
    Absent(String),
    /// The page, or the browser.
    Wrong(String),
}

/// A page when its script has run.
pub struct Page(String);

impl Page {
    /// Attribute `data-<name>` of the root element; empty if it is not there.
    pub fn text(&self, name: &str) -> &str {
        let root = self.0.split_once("<head>").map_or("", |(root, _)| root);
        let value = root.split_once(&format!("data-{name}=\"")).map_or("", |(_, rest)| rest);
        value.split_once('"').map_or("", |(value, _)| value)
    }

    /// The same as a number; not a number if it is none.
    pub fn number(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or(f64::NAN)
    }

    pub fn has(&self, text: &str) -> bool {
        self.0.contains(text)
    }
}

/// Options that keep the browser from everything but the page.
const QUIET: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--window-size=1400,1000",
    "--dump-dom",
];

/// Opens a page, has it measure its redraws, and reads what it says; within `limit` seconds.
pub fn open(directory: &Path, page: &Path, limit: u32) -> Result<Page, BrowserFailure> {
    if !exec::on_path("chromium") {
        return Err(BrowserFailure::Absent("chromium is not there; `cargo xtask setup` installs it".into()));
    }
    let profile = directory.join(format!("browser-{}", std::process::id()));
    let mut words = vec!["chromium".to_string()];
    words.extend(QUIET.map(str::to_string));
    words.push(format!("--user-data-dir={}", profile.display()));
    words.push(format!("file://{}#measure", page.display()));
    let ran = exec::run(&words, &[], directory, limit);
    let _ = fs::remove_dir_all(&profile);
    if let Some(problem) = ran.problem {
        return Err(BrowserFailure::Wrong(format!("chromium: {problem}")));
    }
    if let Some(line) = ran.stderr.lines().find(|line| line.contains("CONSOLE")) {
        return Err(BrowserFailure::Wrong(format!("the page complains: {line}")));
    }
    let page = Page(ran.stdout);
    match (page.text("error"), page.text("ready")) {
        ("", "yes") => Ok(page),
        (error, _) => {
            Err(BrowserFailure::Wrong(format!("the page's script has not come to its end: {error}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Page;

    #[test]
    fn attributes_of_the_root_are_read() {
        let page = Page("<html data-lanes=\"2\" data-ready=\"yes\"><head></head><body data-x=\"3\">".into());
        assert_eq!((page.number("lanes"), page.text("ready"), page.text("x")), (2.0, "yes", ""));
        assert!(page.number("drawn").is_nan());
    }
}
