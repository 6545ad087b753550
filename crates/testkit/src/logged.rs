//! Captures log lines, for tests of the log.

use std::fmt;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

type Captured = Arc<Mutex<Vec<(Level, String)>>>;

/// The captured lines, or `None` if none are captured.
struct Lines(Option<Captured>);

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

impl Subscriber for Lines {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.0.is_some() && *metadata.level() <= Level::INFO
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let Some(lines) = &self.0 else { return };
        let mut message = Message(String::new());
        event.record(&mut message);
        let line = (*event.metadata().level(), message.0);
        lines.lock().expect("no test panics while it logs").push(line);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Makes [`logged`] reliable beside other tests, from before the first line of any test on. Without
/// it, a place that logs for the first time on another thread, just while `logged` begins on this
/// one, may conclude that no subscriber ever wants its lines.
pub fn prepare_for_logged() {
    // The second call in a process has no effect, and needs none.
    _ = tracing::subscriber::set_global_default(Lines(None));
}

/// Runs `act`, and returns the lines that this thread logged meanwhile.
///
/// # Panics
/// If a line panicked while it was formatted.
pub fn logged(act: impl FnOnce()) -> Vec<(Level, String)> {
    prepare_for_logged();
    let lines = Captured::default();
    tracing::subscriber::with_default(Lines(Some(Arc::clone(&lines))), act);
    let lines = lines.lock().expect("no test panics while it logs");
    lines.clone()
}
