//! A real store to test against.

use std::time::Duration;

use hustings_agent::authority::StoreTerms;
use hustings_agent::authority::store::Store;

use crate::member::PATIENCE;
use crate::process::Server;

/// How often to ask a server that was started whether it answers.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// A store with one server, and what a person can do to it.
pub(crate) trait House: Sized {
    /// Starts it, and waits until it answers.
    async fn open() -> Self;

    /// Whether it answers now.
    async fn answers(&self) -> bool;

    /// Waits until it answers, after it was started.
    async fn ready(&self) {
        let answered = async {
            while !self.answers().await {
                tokio::time::sleep(ASK_EVERY).await;
            }
        };
        let ready = tokio::time::timeout(PATIENCE, answered).await;
        ready.expect("a store that was started answers");
    }

    /// Starts it once more after it was killed, and waits until it answers.
    async fn restart(&mut self) {
        self.server().restart();
        self.ready().await;
    }

    fn port(&self) -> u16;

    fn server(&mut self) -> &mut Server;

    /// A member's side of it, over a line that ends at `port`.
    fn store(&self, terms: &StoreTerms, port: u16) -> impl Store + use<Self>;

    /// What an agent's file says of it.
    fn setting(&self) -> String;

    /// Takes tenure of a group away from whoever holds it.
    async fn take_away(&self, group: &str);

    /// Keeps a copy of all that the store knows, before tenure is granted; puts it back later.
    async fn copy(&mut self);
    async fn restore(&mut self);

    /// What members have left behind in it that nobody holds.
    async fn litter(&self) -> Vec<String>;
}
