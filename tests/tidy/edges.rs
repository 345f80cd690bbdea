//! Which package may import which, read from `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use crate::repository::{assert_none, root, text};

/// For each package, the packages of this workspace that its library or binary may depend on.
///
/// Backends never import each other, the core knows none of them, and the macros know nobody.
const ALLOWED: &[(&str, &[&str])] = &[
    ("outbox-macros", &[]),
    ("outbox-core", &["outbox-macros"]),
    ("outbox-sqlite", &["outbox-core"]),
    ("outbox-postgres", &["outbox-core"]),
    ("outbox-nats", &["outbox-core"]),
    ("outbox-http", &["outbox-core"]),
    (
        "outbox",
        &["outbox-core", "outbox-macros", "outbox-sqlite", "outbox-postgres", "outbox-nats", "outbox-http"],
    ),
    (
        "outbox-cli",
        &[
            "outbox",
            "outbox-core",
            "outbox-macros",
            "outbox-sqlite",
            "outbox-postgres",
            "outbox-nats",
            "outbox-http",
        ],
    ),
    // What the tests of the linker link.
    ("linked-handlers", &["outbox"]),
    ("xtask", &[]),
];

/// What only a backend may link: the core stays free of SQL and of sockets.
const FORBIDDEN_IN_CORE: &[&str] =
    &["sqlx", "sqlx-core", "rusqlite", "async-nats", "reqwest", "hyper", "axum"];

#[test]
fn packages_depend_only_in_the_allowed_direction() {
    let metadata = metadata();
    let ours: BTreeSet<&str> = members(&metadata).map(|package| package.name.as_str()).collect();
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    let mut findings = Vec::new();
    for package in members(&metadata) {
        let Some(allowed) = allowed.get(package.name.as_str()) else {
            findings.push(format!("{} is not in the table of tests/tidy/edges.rs", package.name));
            continue;
        };
        for name in normal_dependencies(package).filter(|name| ours.contains(name)) {
            if !allowed.contains(&name) {
                findings.push(format!("{} imports {name}", package.name));
            }
        }
    }
    assert_none("packages may only import what tests/tidy/edges.rs allows:", &findings);
}

#[test]
fn the_core_links_neither_sql_nor_sockets() {
    let metadata = metadata();
    let core =
        members(&metadata).find(|package| package.name == "outbox-core").expect("outbox-core is a member");
    let findings: Vec<String> = normal_dependencies(core)
        .filter(|name| FORBIDDEN_IN_CORE.contains(name))
        .map(str::to_owned)
        .collect();
    assert_none("outbox-core must not depend on:", &findings);
}

#[test]
fn every_package_takes_the_workspace_lints_which_forbid_unsafe_code() {
    assert!(text("Cargo.toml").contains("\nunsafe_code = \"forbid\"\n"), "the workspace forbids unsafe code");
    let metadata = metadata();
    let mut findings = Vec::new();
    for package in members(&metadata) {
        let manifest = package.manifest_path.strip_prefix(root()).expect("members lie in the workspace");
        if !text(manifest.as_str()).contains("\n[lints]\nworkspace = true\n") {
            findings.push(format!("{manifest} lacks `[lints] workspace = true`"));
        }
    }
    assert_none("unsafe code is forbidden in every package:", &findings);
}

fn metadata() -> Metadata {
    MetadataCommand::new().current_dir(root()).no_deps().exec().expect("cargo describes the workspace")
}

fn members(metadata: &Metadata) -> impl Iterator<Item = &Package> {
    metadata.packages.iter().filter(|package| metadata.workspace_members.contains(&package.id))
}

/// Tests, benches and examples may import anything, hence dev-dependencies do not count.
fn normal_dependencies(package: &Package) -> impl Iterator<Item = &str> {
    let kept =
        package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
    kept.map(|dependency| dependency.name.as_str())
}
