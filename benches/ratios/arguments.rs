//! What the command line asks for.

use std::env;

use anyhow::{Result, bail};

use crate::BENCHES;

/// What to run, and how much of it.
pub(crate) struct Arguments {
    /// Names of benchmarks; all when there are none.
    pub(crate) names: Vec<String>,
    pub(crate) scale: Scale,
    /// What this process is to do as another one's child, with its arguments.
    pub(crate) child: Option<Vec<String>>,
}

/// How many rows and rounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) quick: bool,
}

/// Marks the command line of a child process.
pub(crate) const CHILD: &str = "--child";

impl Arguments {
    /// Those of this process. Without cargo's `--bench`, as under `cargo test --benches`, it is a smoke test.
    pub(crate) fn of_process() -> Result<Self> {
        let given: Vec<String> = env::args().skip(1).collect();
        if let [first, child @ ..] = &given[..]
            && first == CHILD
        {
            return Ok(Self {
                names: Vec::new(),
                scale: Scale { quick: false },
                child: Some(child.to_vec()),
            });
        }
        let mut arguments = Self { names: Vec::new(), scale: Scale { quick: true }, child: None };
        let mut asked_quick = false;
        for word in given {
            match word.as_str() {
                "--bench" => arguments.scale.quick = false,
                "--quick" => asked_quick = true,
                name if BENCHES.iter().any(|bench| bench.name == name) => arguments.names.push(word),
                other => {
                    let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
                    bail!("{other:?} is no benchmark: give some of {}, and --quick", names.join(", "));
                }
            }
        }
        arguments.scale.quick |= asked_quick;
        Ok(arguments)
    }
}

impl Scale {
    /// Rounds of each side.
    pub(crate) fn rounds(self) -> usize {
        if self.quick { 2 } else { 7 }
    }

    /// `full`, or the small number of a smoke test.
    pub(crate) fn rows(self, full: usize) -> usize {
        if self.quick { (full / 50).clamp(20, 20_000) } else { full }
    }
}
