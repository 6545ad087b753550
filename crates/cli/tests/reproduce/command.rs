//! The command: its options, files and exit codes.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::reproduce;

/// A path for a test's own files, with nothing there yet.
fn scratch(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    match fs::remove_dir_all(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
        Ok(()) | Err(_) => path,
    }
}

fn ids() -> Vec<String> {
    let of = |key: &'static str, count: u32| (1..=count).map(move |it| format!("{key}{it}"));
    let documents = [("R", 12), ("L", 20), ("P", 12), ("E", 2), ("C", 13), ("W", 12)];
    documents.into_iter().flat_map(|(key, count)| of(key, count)).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program writes UTF-8")
}

#[track_caller]
fn assert_every_claim_has_all_that_it_takes(report: &Value) {
    assert_eq!((&report["quick"], &report["seed"]), (&Value::Bool(true), &1.into()));
    let claims = report["claims"].as_array().expect("a list of claims");
    let listed: Vec<&str> = claims.iter().filter_map(|it| it["id"].as_str()).collect();
    assert_eq!(listed, ids());
    for claim in claims {
        for name in
            ["document", "source", "says", "reading", "method", "verdict", "on_record", "measured"]
        {
            let value = claim[name].as_str().unwrap_or_default();
            assert!(!value.is_empty(), "{name} is missing: {claim:#}");
        }
        assert_eq!(claim["error"], Value::Null);
        let checks = claim["checks"].as_array().expect("a list of checks");
        assert!(checks.iter().any(|check| check["word"] == "stated"), "{claim:#}");
    }
}

const FIGURES_OF_THE_GUIDE: [&str; 3] =
    ["L-choice-messages", "L-choice-delay", "L-choice-interval"];

/// Asserts that the guide's figures equal the drawn ones, to the byte.
#[track_caller]
fn assert_the_guide_shows_what_is_drawn(drawn: &Path) {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src");
    let page = fs::read_to_string(guide.join("announce.md")).expect("the guide has the page");
    for figure in FIGURES_OF_THE_GUIDE {
        let file = format!("{figure}.svg");
        let shown = fs::read(guide.join("figures").join(&file)).expect("the guide has the figure");
        assert!(
            shown == fs::read(drawn.join(&file)).expect("it was drawn"),
            "docs/src/figures/{file} is out of date: run `hustings reproduce L --quick --out DIR`, \
             look at DIR/{file}, and copy it"
        );
        assert!(page.contains(&format!("](figures/{file})")), "{file} is not shown");
    }
}

/// The figures that the guide shows from a run without `--quick`, which takes too long for a test.
const FULL_FIGURES_OF_THE_GUIDE: [(&str, &[&str]); 3] = [
    (
        "probabilistic.md",
        &[
            "P-figure-4",
            "P-figure-5-a",
            "P-figure-5-b",
            "P-figure-5-c",
            "P-figure-5-d",
            "P-figure-5-e",
            "P-figure-5-f",
            "P-figure-5-g",
            "P-figure-5-h",
            "P-figure-5-i",
            "P-scale",
            "E-epidemic",
        ],
    ),
    ("draw.md", &["W-rounds", "W-false-alarm", "W-informal", "W-stall"]),
    (
        "council.md",
        &[
            "C-figure-7-rounds",
            "C-figure-11-rounds",
            "C-figure-11-messages",
            "C-figure-15-rounds",
            "C-figure-17-rounds",
            "C-figure-17-messages",
        ],
    ),
];

/// Returns the title, axes and legend of a figure.
fn words(svg: &str) -> Vec<&str> {
    let texts = svg.split("<text").skip(1);
    let inner = texts.filter_map(|it| it.split(['<', '>']).nth(1));
    let is_word = |it: &&str| it.parse::<f64>().is_err();
    inner.map(str::trim).filter(is_word).collect()
}

/// Asserts that these figures in the guide have the drawn words. Only a full run can compare the
/// curves.
#[track_caller]
fn assert_the_guide_shows_figures_of_the_same_words(drawn: &Path) {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src");
    let all = FULL_FIGURES_OF_THE_GUIDE.iter();
    for (page, figure) in all.flat_map(|(page, figures)| figures.iter().map(move |it| (page, it))) {
        let page = fs::read_to_string(guide.join(page)).expect("the guide has the page");
        let file = format!("{figure}.svg");
        let [shown, drawn] = [guide.join("figures"), drawn.to_owned()]
            .map(|place| fs::read_to_string(place.join(&file)).expect("there is the figure"));
        assert!(words(&drawn).len() > 3, "{drawn}");
        assert_eq!(
            words(&shown),
            words(&drawn),
            "docs/src/figures/{file} is out of date: run `hustings reproduce P E W C --out DIR`, look at DIR/{file}, \
             and copy it"
        );
        assert!(page.contains(&format!("](figures/{file})")), "{file} is not shown");
    }
}

#[test]
fn page_figures_and_numbers_are_written() {
    let directory = scratch("reproduced");
    let arguments = format!("--quick --format json --out {}", directory.display());
    let outcome = reproduce(&arguments);
    assert_eq!(outcome.status.code(), Some(0), "{}", text(&outcome.stderr));
    let read = |name: &str| fs::read_to_string(directory.join(name)).expect("it was written");
    let page = read("index.html");
    for id in ids() {
        assert!(page.contains(&format!("<article id=\"{id}\">")), "{id} is missing");
    }
    for absent in ["src=", "href=\"http", "url(", "@import"] {
        assert!(!page.contains(absent), "the page needs more than itself: {absent}");
    }
    let of_chapter = (6..=13).map(|number| format!("L-figure-5-{number}"));
    let of_report = ('a'..='i').map(|panel| format!("P-figure-5-{panel}"));
    let others = ["R-messages", "R-time-outs", "L-scale", "P-figure-4", "P-scale", "E-epidemic"]
        .map(str::to_owned);
    let of_guide = FIGURES_OF_THE_GUIDE.map(str::to_owned);
    for figure in of_chapter.chain(of_report).chain(others).chain(of_guide) {
        assert!(read(&format!("{figure}.svg")).starts_with("<svg"));
        assert!(page.contains(&format!("<figure id=\"{figure}\">")));
    }
    assert_eq!(read("claims.json"), text(&outcome.stdout));
    let numbers: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
    assert_every_claim_has_all_that_it_takes(&numbers);
    assert_the_guide_shows_what_is_drawn(&directory);
    assert_the_guide_shows_figures_of_the_same_words(&directory);
}

#[test]
fn unknown_claim_is_a_usage_error() {
    let outcome = reproduce("R1 R13 --quick");
    assert_eq!(outcome.status.code(), Some(2));
    assert_eq!(text(&outcome.stdout), "");
    let complaint = text(&outcome.stderr);
    assert!(
        complaint.starts_with("error: there is no claim R13: choose R1 to R12, or R for all of"),
        "{complaint}"
    );
}

#[test]
fn unwritable_directory_is_a_usage_error() {
    let file = scratch("a-file");
    fs::create_dir_all(file.parent().expect("it has a parent")).expect("it can be made");
    fs::write(&file, "").expect("it can be written");
    let place = file.join("below");
    let outcome = reproduce(&format!("R6 --quick --out {}", place.display()));
    fs::remove_file(&file).expect("it can be removed");
    assert_eq!(outcome.status.code(), Some(2));
    assert_eq!(text(&outcome.stdout), "", "nothing is computed in vain");
    let complaint = text(&outcome.stderr);
    let named = format!("error: --out {}: ", place.display());
    assert!(complaint.starts_with(&named), "{complaint}");
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let on = |threads: u32| {
        reproduce(&format!("R2 R8 R12 L6 L9 P5 --quick --seed 7 --format json --threads {threads}"))
            .stdout
    };
    let alone = on(1);
    assert!(!alone.is_empty());
    assert_eq!(text(&alone), text(&on(3)));
}

#[test]
fn claim_selected_by_id_is_shown_with_its_evidence() {
    let brief = text(&reproduce("R --quick").stdout);
    let long = text(&reproduce("R6 --quick").stdout);
    assert!(brief.contains("quick: fewer runs"), "{brief}");
    assert!(!brief.contains("Reading:"), "{brief}");
    assert!(long.contains("Reading:") && long.contains("17, 17, 17, 17"), "{long}");
}
