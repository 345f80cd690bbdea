//! What must not be written down anywhere in the repository.

use std::fs;

use crate::repository::{assert_none, files, path};

/// Folders of somebody's machine. They are put together here so that this file passes its own rule.
const MACHINE_FOLDERS: &[&str] = &[
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/wo", "rk/"),
    concat!("/Us", "ers/"),
    concat!("C:", "\\Users"),
];

/// Hosts that packages are fetched from: a mirror or a token in an address is one machine's business.
const REGISTRY_HOSTS: &[&str] = &[
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("registry.npmjs", ".org"),
    concat!("files.python", "hosted.org"),
    concat!("deb.deb", "ian.org"),
];

#[test]
fn no_file_names_a_folder_of_one_machine_or_a_registry_host() {
    let mut findings = Vec::new();
    for name in files() {
        let Ok(text) = String::from_utf8(fs::read(path(&name)).expect("listed files are readable")) else {
            continue; // A picture or the like has no words.
        };
        for (number, line) in text.lines().enumerate() {
            let words = MACHINE_FOLDERS.iter().filter(|folder| names_folder(line, folder));
            let hosts = REGISTRY_HOSTS.iter().filter(|host| line.contains(**host));
            findings.extend(words.chain(hosts).map(|word| format!("{name}:{}: `{word}`", number + 1)));
        }
    }
    assert_none("the repository holds for every machine, so it must not name:", &findings);
}

/// Whether the line holds the folder as the start of a path, not as the middle of one (`docs/work/x`).
fn names_folder(line: &str, folder: &str) -> bool {
    let starts = line.match_indices(folder).map(|(at, _)| line[..at].chars().next_back());
    starts
        .into_iter()
        .any(|before| before.is_none_or(|c| !c.is_alphanumeric() && c != '.' && c != '_' && c != '-'))
}

#[test]
fn a_folder_counts_only_at_the_start_of_a_path() {
    let folder = MACHINE_FOLDERS[0];
    assert!(names_folder(&format!("see {folder}x"), folder));
    assert!(names_folder(&format!("{folder}x"), folder));
    assert!(!names_folder(&format!("docs{folder}x"), folder));
    assert!(!names_folder("elsewhere", folder));
}
