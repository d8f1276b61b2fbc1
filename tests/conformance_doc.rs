//! Makes `docs/conformance.md` of the rules and of the tests that cite them, and checks that it is up to date.
//!
//! A test cites a rule in its name (`r_rast_31_...`), or as `R-RAST-31` in its documentation or body; a job in
//! `tests/conformance` in its `cites`. The rules stand in `tests/conformance/rules.txt`, each with a reason if no test
//! shows it. `UPDATE_EXPECT=1 cargo test --test conformance_doc` rewrites the page; look at the difference before
//! committing it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const PAGE: &str = "docs/conformance.md";
const RULES: &str = "tests/conformance/rules.txt";
const FAMILIES: [&str; 3] = ["RAST", "PS", "OM"];

struct Rule<'a> {
    id: &'a str,
    title: &'a str,
    reason: Option<&'a str>,
}

/// Sections of the rule file: heading and rules.
fn sections(text: &str) -> Vec<(&str, Vec<Rule<'_>>)> {
    let mut out: Vec<(&str, Vec<Rule<'_>>)> = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            out.push((heading, Vec::new()));
        } else if line.starts_with("R-") {
            let mut parts = line.split(" | ");
            let rule = Rule {
                id: parts.next().unwrap_or_default(),
                title: parts.next().expect("every rule says something"),
                reason: parts.next(),
            };
            out.last_mut().expect("rules stand below a heading").1.push(rule);
        }
    }
    out
}

/// Rule ids in a text: `R-OM-7`, `R-OM-7 to 9` and `R-OM-7 to R-OM-9`; in names `r_om_7`, `r_om_7_9` (two) and
/// `r_om_7_to_9`.
fn ids(text: &str) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for family in FAMILIES {
        for (start, in_names) in [
            (format!("R-{family}-"), false),
            (format!("r_{}_", family.to_lowercase()), true),
        ] {
            for (at, _) in text.match_indices(&start) {
                if text[..at].chars().next_back().is_some_and(char::is_alphanumeric) {
                    continue;
                }
                let mut rest = &text[at + start.len()..];
                let Some(mut last) = number(&mut rest) else { continue };
                let mut add = |n: u32| {
                    out.insert(format!("R-{family}-{n}"));
                };
                add(last);
                loop {
                    let (to, and) = if in_names { ("_to_", "_") } else { (" to ", "") };
                    if let Some(mut range) = rest.strip_prefix(to) {
                        range = range.strip_prefix(start.as_str()).unwrap_or(range);
                        let Some(end) = number(&mut range) else { break };
                        (last + 1..=end).for_each(&mut add);
                        (last, rest) = (end, range);
                    } else if let Some(mut more) = rest.strip_prefix(and).filter(|_| in_names) {
                        let Some(n) = number(&mut more) else { break };
                        add(n);
                        (last, rest) = (n, more);
                    } else {
                        break;
                    }
                }
            }
        }
    }
    out
}

/// Takes a number off the front.
fn number(text: &mut &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let value = text[..end].parse().ok()?;
    *text = &text[end..];
    Some(value)
}

/// The name of the function that a line begins, if it begins one at an indentation of at most one level.
fn function_name(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let rest = code.strip_prefix("pub ").unwrap_or(code).strip_prefix("fn ")?;
    (line.len() - code.len() <= 4).then(|| rest.split(['(', '<']).next().unwrap_or_default())
}

/// Test functions of a source file with the rules they cite: those marked `#[test]`, and those of suites, which take
/// the executor they test.
fn tests(source: &str) -> Vec<(String, BTreeSet<String>)> {
    let lines: Vec<&str> = source.lines().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some(name) = function_name(lines[at]) else {
            at += 1;
            continue;
        };
        let head = lines[..at]
            .iter()
            .rposition(|l| {
                let l = l.trim_start();
                !(l.starts_with("//") || l.starts_with("#["))
            })
            .map_or(0, |p| p + 1);
        let indent = &lines[at][..lines[at].len() - lines[at].trim_start().len()];
        let close = format!("{indent}}}");
        let end = (at..lines.len()).find(|&i| lines[i] == close).unwrap_or(at);
        let marked = lines[head..at].iter().any(|l| l.trim_start().starts_with("#[test]"));
        if marked || lines[at].contains("executor: &dyn Executor") {
            out.push((name.to_string(), ids(&lines[head..=end].join("\n"))));
        }
        at = end + 1;
    }
    out
}

fn walk(dir: &Path, extension: &str, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, extension, out);
        } else if path.extension().is_some_and(|e| e == extension) {
            out.push(path);
        }
    }
    out.sort();
}

/// Every citation in the tree: rule to places.
fn citations(root: &Path) -> BTreeMap<String, Vec<String>> {
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut sources = Vec::new();
    for dir in ["frontend", "jit", "raster", "src", "tests"] {
        for part in ["src", "tests", ""] {
            if part.is_empty() && ["frontend", "jit", "raster"].contains(&dir) {
                continue;
            }
            walk(&root.join(dir).join(part), "rs", &mut sources);
        }
    }
    sources.sort();
    sources.dedup();
    let name = |path: &Path| {
        path.strip_prefix(root)
            .unwrap_or(path)
            .to_string_lossy()
            .replace('\\', "/")
    };
    for path in sources {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        if path.ends_with("conformance_doc.rs") {
            continue;
        }
        for (test, cited) in tests(&text) {
            for id in cited {
                out.entry(id).or_default().push(format!("{}: `{test}`", name(&path)));
            }
        }
    }
    let mut jobs = Vec::new();
    walk(&root.join("tests/conformance"), "json", &mut jobs);
    for path in jobs {
        let text = std::fs::read_to_string(&path).expect("a job of ours");
        let job: serde_json::Value = serde_json::from_str(&text).expect("a job is JSON");
        let cites = job["cites"].as_array().cloned().unwrap_or_default();
        for id in cites.iter().filter_map(|v| v.as_str()) {
            if FAMILIES.iter().any(|f| id.starts_with(&format!("R-{f}-"))) {
                out.entry(id.to_string()).or_default().push(name(&path));
            }
        }
    }
    out
}

fn page(sections: &[(&str, Vec<Rule<'_>>)], cited: &BTreeMap<String, Vec<String>>) -> String {
    let mut out = String::from(
        "# Conformance\n\nEvery rule of rasterization, of the pixel shader stage and of the output merger, with the tests that \
         show it, or why none does.\nMade by `UPDATE_EXPECT=1 cargo test --test conformance_doc` from the tests' citations and \
         `tests/conformance/rules.txt`; don't edit it.\n",
    );
    for (heading, rules) in sections {
        let shown = rules.iter().filter(|r| cited.contains_key(r.id)).count();
        out += &format!(
            "\n## {heading}\n\n{shown} of {} rules are shown by tests.\n\n| rule | what it says | shown by |\n|---|---|---|\n",
            rules.len()
        );
        for rule in rules {
            let by = match (cited.get(rule.id), rule.reason) {
                (Some(places), _) => places.join("<br>"),
                (None, Some(reason)) => format!("*{reason}*"),
                (None, None) => String::from("**nothing**"),
            };
            out += &format!("| {} | {} | {by} |\n", rule.id, rule.title);
        }
    }
    out
}

/// Each rule is cited by a test, or has a reason why not; nothing cites a rule that doesn't exist; the page says so.
#[test]
fn every_rule_is_shown_or_excused_and_the_page_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join(RULES)).expect("the rules");
    let sections = sections(&text);
    let cited = citations(root);
    let known: BTreeSet<&str> = sections.iter().flat_map(|(_, r)| r).map(|r| r.id).collect();
    let mut wrong: Vec<String> = Vec::new();
    for (id, places) in cited.iter().filter(|(id, _)| !known.contains(id.as_str())) {
        wrong.push(format!("{id} is no rule, cited by {}", places.join(", ")));
    }
    for rule in sections.iter().flat_map(|(_, r)| r) {
        match (cited.contains_key(rule.id), rule.reason) {
            (true, Some(_)) => wrong.push(format!("{} is shown by a test now: drop its excuse", rule.id)),
            (false, None) => wrong.push(format!(
                "{} is cited by no test and has no reason why: {}",
                rule.id, rule.title
            )),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{RULES}:\n{}", wrong.join("\n"));
    let page = page(&sections, &cited);
    let path = root.join(PAGE);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let current = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        current == page,
        "{PAGE} is out of date: UPDATE_EXPECT=1 cargo test --test conformance_doc rewrites it"
    );
}

/// The scanner itself: names, documentation and bodies cite; helpers don't; suites' functions do.
#[test]
fn citations_are_found_where_tests_stand() {
    let source = "/// R-OM-7.\nfn helper() {\n}\n\n/// By R-RAST-31.\n#[test]\nfn r_ps_2_nothing() {\n    // R-OM-73\n}\n\npub fn suite(executor: &dyn Executor) {\n    // R-PS-61\n}\n";
    let found = tests(source);
    let set = |ids: &[&str]| ids.iter().map(|s| (*s).to_string()).collect::<BTreeSet<_>>();
    assert_eq!(
        found,
        [
            (String::from("r_ps_2_nothing"), set(&["R-OM-73", "R-PS-2", "R-RAST-31"])),
            (String::from("suite"), set(&["R-PS-61"])),
        ]
    );
    assert!(ids("R-RAST- and XR-OM-1 and r_rast_x").is_empty());
    assert_eq!(ids("r_om_1_3_to_5_x"), set(&["R-OM-1", "R-OM-3", "R-OM-4", "R-OM-5"]));
    assert_eq!(
        ids("R-PS-1 to 2, R-OM-8 to R-OM-9, 7"),
        set(&["R-PS-1", "R-PS-2", "R-OM-8", "R-OM-9"])
    );
}
