//! A real store to test against.

use std::time::{Duration, Instant};

use hustings_agent::authority::StoreTerms;
use hustings_agent::authority::store::Store;
use tokio::time::timeout;

use crate::member::PATIENCE;
use hustings_testkit::Server;

/// The interval between two questions to a server that is starting.
const ASK_EVERY: Duration = Duration::from_millis(20);
/// The time after which a question to a starting server is repeated.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// A store with one server, and what an administrator can do to it.
pub(crate) trait House: Sized {
    /// Starts the store and waits until it answers.
    async fn open() -> Self;

    /// True if the store answers now.
    async fn answers(&self) -> bool;

    /// Waits until the store answers, after a start.
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

    /// Starts the store again after it was killed, and waits until it answers.
    async fn restart(&mut self) {
        self.server().restart();
        self.ready().await;
    }

    fn port(&self) -> u16;

    fn server(&mut self) -> &mut Server;

    /// Returns diagnostics for a store that does not answer.
    fn account(&mut self) -> String {
        self.server().account()
    }

    /// Returns a member's client of the store, through a connection that ends at `port`.
    fn store(&self, terms: &StoreTerms, port: u16) -> impl Store + use<Self>;

    /// Returns the line of an agent's file that names the store.
    fn setting(&self) -> String;

    /// Takes tenure of a group away from its holder.
    async fn take_away(&self, group: &str);

    /// Ends tenure of a group by hand while a member holds it. The next member acquires it at once.
    async fn end(&self, group: &str);

    /// Saves a copy of all data of the store before tenure is granted. `restore` puts it back.
    async fn copy(&mut self);

    /// Keeps the store from answering until `restore`, if that alone does not do so.
    async fn halt(&mut self) {}
    async fn restore(&mut self);

    /// Returns what members have left behind in the store although no member holds it.
    async fn litter(&self) -> Vec<String>;
}
