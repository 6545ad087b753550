//! A real store to test against.

use std::time::{Duration, Instant};

use hustings_agent::authority::StoreTerms;
use hustings_agent::authority::store::Store;
use tokio::time::timeout;

use crate::member::PATIENCE;
use crate::process::Server;

/// How often to ask a server that was started whether it answers.
const ASK_EVERY: Duration = Duration::from_millis(20);
/// A question that one who is starting has not answered by then is asked anew.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// A store with one server, and what a person can do to it.
pub(crate) trait House: Sized {
    /// Starts it, and waits until it answers.
    async fn open() -> Self;

    /// Whether it answers now.
    async fn answers(&self) -> bool;

    /// Waits until it answers, after it was started.
    async fn ready(&mut self) {
        let asked = Instant::now();
        while !matches!(timeout(ANSWER_WITHIN, self.answers()).await, Ok(true)) {
            assert!(
                asked.elapsed() < PATIENCE,
                "a store does not answer that was started:\n{}",
                self.account()
            );
            tokio::time::sleep(ASK_EVERY).await;
        }
    }

    /// Starts it once more after it was killed, and waits until it answers.
    async fn restart(&mut self) {
        self.server().restart();
        self.ready().await;
    }

    fn port(&self) -> u16;

    fn server(&mut self) -> &mut Server;

    /// What there is to know of it if it does not answer.
    fn account(&mut self) -> String {
        self.server().account()
    }

    /// A member's side of it, over a line that ends at `port`.
    fn store(&self, terms: &StoreTerms, port: u16) -> impl Store + use<Self>;

    /// What an agent's file says of it.
    fn setting(&self) -> String;

    /// Takes tenure of a group away from whoever holds it.
    async fn take_away(&self, group: &str);

    /// Ends tenure of a group by hand, though a member holds it: the next one gets it at once.
    async fn end(&self, group: &str);

    /// Keeps a copy of all that the store knows, before tenure is granted; puts it back later.
    async fn copy(&mut self);
    async fn restore(&mut self);

    /// What members have left behind in it that nobody holds.
    async fn litter(&self) -> Vec<String>;
}
