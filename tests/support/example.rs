//! The programs under `examples/`, built when a test needs one.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// Where the example's program lies, in the profile of the test itself.
pub(crate) fn program(name: &str) -> PathBuf {
    let test = env::current_exe().expect("the test binary's path");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("tests lie in <target>/<profile>/deps");
    let target = profile.parent().expect("a profile's directory lies in the target directory");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--locked", "--example", name]).arg("--target-dir").arg(target);
    if profile.ends_with("release") {
        build.arg("--release");
    }
    let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo can be started");
    assert!(built.success(), "the example {name} builds");
    profile.join("examples").join(format!("{name}{}", env::consts::EXE_SUFFIX))
}
