//! The machine, as far as figures depend on it.

use std::fs;

/// Prints processor, load, file system and versions.
pub(crate) fn print() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("processor    {} × {}", cores, line_of("/proc/cpuinfo", "model name").unwrap_or("?".to_owned()));
    println!("load         {}", fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    println!("kernel       {}", fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim());
    println!("databases    {}", std::env::temp_dir().display());
    println!("SQLite       {}, WAL, page 4096, cache 2 MB, checkpoint every 1000 pages", rusqlite::version());
    let build =
        if cfg!(debug_assertions) { "with debug assertions: figures mean nothing" } else { "optimised" };
    println!("build        {build}");
}

fn line_of(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// A line of /proc/self/status in MiB, such as `VmHWM`, the most memory this process has had.
pub(crate) fn own_memory(name: &str) -> Option<f64> {
    let text = line_of("/proc/self/status", name)?;
    let kib: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024.0)
}
