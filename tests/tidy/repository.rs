//! The files under version control, and reading them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the workspace, which is the facade package's folder.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file that is tracked or about to be, relative to the root and in the form that git prints (`src/lib.rs`).
///
/// Files that `.gitignore` names are left out; new files are not, so that a rule bites before the commit.
pub(crate) fn files() -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files of the repository");
    assert!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).expect("file names are UTF-8");
    let existing = names.split_terminator('\0').filter(|name| root().join(name).is_file());
    existing.map(str::to_owned).collect()
}

/// Every file whose name ends so.
pub(crate) fn files_ending(end: &str) -> Vec<String> {
    files().into_iter().filter(|name| name.ends_with(end)).collect()
}

/// The text of a file, with Unix line ends whatever the checkout has.
pub(crate) fn text(name: &str) -> String {
    let bytes = fs::read(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    String::from_utf8(bytes).unwrap_or_else(|error| panic!("{name}: {error}")).replace("\r\n", "\n")
}

/// Where a file of the repository lies.
pub(crate) fn path(name: &str) -> PathBuf {
    root().join(name)
}

/// Fails with every finding at once, under a heading that says what the rule is.
#[track_caller]
pub(crate) fn assert_none(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}\n  {}\n", findings.join("\n  "));
}
