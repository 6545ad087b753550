//! The status as a web page for people: three files that are part of the program.
//!
//! The page requests all its data from this agent. A content security policy stops the browser from
//! contacting other hosts, and from running or showing content that does not come from here.
//! Strings that others choose, such as member names and messages of a store, are inserted as text.

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

use super::Interface;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// The content security policy of the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the routes of the page and its files.
pub(super) fn routes() -> Router<Interface> {
    Router::new()
        .route("/", get(async || file("text/html; charset=utf-8", PAGE)))
        .route("/page.css", get(async || file("text/css; charset=utf-8", STYLE)))
        .route("/page.js", get(async || file("text/javascript; charset=utf-8", SCRIPT)))
}

/// Returns a file of the page. The browser must not cache it, because the next release of the agent
/// may have another.
fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{PAGE, SCRIPT, STYLE};

    #[test]
    fn page_inserts_no_markup_and_loads_nothing_from_elsewhere() {
        let banned = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "Function(",
            "javascript:",
            "://",
            "url(",
            "@import",
            "style=",
        ];
        for text in [PAGE, STYLE, SCRIPT] {
            let found: Vec<_> = banned.iter().filter(|it| text.contains(**it)).collect();
            assert!(found.is_empty(), "{found:?}");
        }
        let tags = PAGE.split('<').filter_map(|tag| tag.split('>').next());
        let with_handlers = tags.filter(|tag| tag.contains(" on"));
        assert_eq!(with_handlers.collect::<Vec<_>>(), [""; 0]);
    }

    /// Between two answers the page knows nothing new. A countdown could show the end of a tenure
    /// that was renewed since.
    #[test]
    fn script_computes_no_verdict_and_no_countdown() {
        let uses: Vec<&str> = SCRIPT.matches("sinceAnswer()").collect();
        assert_eq!(uses.len(), 2, "how long ago the agent was asked, and no more");
        for computed in ["+ sinceAnswer", "- sinceAnswer", "WITHIN_S", "setInterval(ask"] {
            assert!(!SCRIPT.contains(computed), "{computed}");
        }
        let verdict = SCRIPT.matches("health.summary").count();
        assert!(verdict > 0, "the agent's verdict is shown");
        let tones = SCRIPT.matches("\"wary\"").count();
        assert_eq!(tones, 2, "which tone a level has, and which tones there are");
        assert!(!SCRIPT.contains("unanswered") && SCRIPT.contains("silent_for"));
    }

    #[test]
    fn script_writes_exactly_the_places_of_the_page() {
        let words = |text: &'static str, before: &str| -> BTreeSet<&'static str> {
            let found = text.split(before).skip(1);
            found.filter_map(|it| it.split('"').next()).collect()
        };
        let mut written = words(SCRIPT, " at(\"");
        written.extend(words(SCRIPT, "(at(\""));
        written.extend(words(SCRIPT, "[at(\""));
        written.extend(["refusals", "tenure"]); // in one loop
        assert_eq!(words(PAGE, "data-at=\""), written);
        let mut known = words(SCRIPT, "byId(\"");
        known.extend(["groups"]);
        assert_eq!(words(PAGE, " id=\""), known);
    }
}
