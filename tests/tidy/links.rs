//! Links between the pages of the repository lead somewhere.

use std::collections::HashSet;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::repository::{assert_none, files_ending, path, text};

#[test]
fn links_of_the_pages_lead_to_files_and_headings_that_exist() {
    let mut findings = Vec::new();
    for page in files_ending(".md") {
        for target in links(&text(&page)) {
            if let Err(reason) = resolve(&page, &target) {
                findings.push(format!("{page}: ({target}) {reason}"));
            }
        }
    }
    assert_none("links must resolve:", &findings);
}

/// Every link and image target that is not on the web.
fn links(markdown: &str) -> Vec<String> {
    let targets = Parser::new_ext(markdown, Options::all()).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.to_string()),
        _ => None,
    });
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:")).collect()
}

fn resolve(page: &str, target: &str) -> Result<(), &'static str> {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let file = if file.is_empty() {
        page.to_owned()
    } else {
        normal(folder, file).ok_or("leaves the repository")?
    };
    if !path(&file).exists() {
        return Err("no such file");
    }
    if !heading.is_empty() && file.ends_with(".md") && !headings(&text(&file)).contains(heading) {
        return Err("no such heading");
    }
    Ok(())
}

/// The path from the root of the repository, with `..` taken out.
fn normal(folder: &str, file: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The anchors that GitHub gives a page's headings.
fn headings(markdown: &str) -> HashSet<String> {
    let mut anchors = HashSet::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(markdown, Options::all()) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => anchors.extend(heading.take().map(|text| anchor(&text))),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            _ => {}
        }
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let lower = heading.to_lowercase();
    let kept = lower.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn a_broken_link_is_found() {
    assert_eq!(links("[a](x.md) ![b](y.png) [c](https://example.org) `[d](z)`"), ["x.md", "y.png"]);
    assert_eq!(resolve("docs/page.md", "../LICENSE-MIT"), Ok(()));
    assert_eq!(resolve("CONTRIBUTING.md", "#commits"), Ok(()));
    assert_eq!(resolve("CONTRIBUTING.md", "#nothing"), Err("no such heading"));
    assert_eq!(resolve("CONTRIBUTING.md", "nothing.md"), Err("no such file"));
    assert_eq!(resolve("CONTRIBUTING.md", "../x"), Err("leaves the repository"));
    assert_eq!(anchor("What is `NOT` guaranteed?"), "what-is-not-guaranteed");
}
