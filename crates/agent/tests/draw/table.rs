//! Members of one ring, each a task, over real sockets of this host.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use hustings_agent::draw::verify::{Verification, verify};
use hustings_agent::draw::{Account, NoDraw, Part, Player, Ring, Secret, State};
use hustings_protocol::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A ring that is laid, and on which nobody sits yet.
pub(crate) struct Table {
    pub(crate) ring: Ring,
    pub(crate) secrets: Vec<Secret>,
    pub(crate) listeners: Vec<Option<TcpListener>>,
    pub(crate) home: PathBuf,
}

/// A member at work.
pub(crate) type Seated = JoinHandle<Result<Account, NoDraw>>;

impl Table {
    /// `members` of them, with `options` of the ring file. They are called m0, m1 and so on.
    pub(crate) async fn lay(members: usize, options: &str) -> Self {
        static TABLES: AtomicU32 = AtomicU32::new(0);
        let number = TABLES.fetch_add(1, Ordering::Relaxed);
        let name = format!("hustings-draw-{}-{number}", std::process::id());
        let home = std::env::temp_dir().join(name);
        fs::create_dir_all(&home).unwrap();
        let mut text = format!("draw = \"chair\"\nnumber = 7\n{options}\n");
        let (mut secrets, mut listeners) = (Vec::new(), Vec::new());
        for place in 0..members {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let secret = Secret::generate().unwrap();
            let (address, key) = (listener.local_addr().unwrap(), secret.public());
            text += &format!(
                "[[member]]\nname = \"m{place}\"\naddress = \"{address}\"\nkey = \"{key}\"\n"
            );
            secrets.push(secret);
            listeners.push(Some(listener));
        }
        Self {
            ring: text.parse().unwrap(),
            secrets,
            listeners,
            home,
        }
    }

    pub(crate) fn part(&self, place: usize) -> Part {
        Part {
            ring: self.ring.clone(),
            member: format!("m{place}"),
            secret: self.secrets[place].clone(),
            transcript: self.transcript(place),
            marks: self.home.join(format!("m{place}.drawn")),
            wait: Duration::from_secs(120),
        }
    }

    pub(crate) fn transcript(&self, place: usize) -> PathBuf {
        self.home.join(format!("m{place}.jsonl"))
    }

    /// Somebody takes its seat.
    pub(crate) fn seat(&mut self, place: usize, player: impl Player + Send + 'static) -> Seated {
        let part = self.part(place);
        let listener = self.listeners[place].take().expect("a free seat");
        tokio::spawn(async move {
            let account = part.account();
            part.play(player, listener, &account, std::future::pending())
                .await
        })
    }

    /// What the transcripts of `places` prove.
    pub(crate) fn verify(&self, places: impl IntoIterator<Item = usize>) -> Verification {
        let read = |place| {
            let path = self.transcript(place);
            (path.display().to_string(), fs::read(path).unwrap())
        };
        let transcripts: Vec<_> = places.into_iter().map(read).collect();
        verify(&self.ring, &transcripts)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.home); // it lies among temporary files
    }
}

/// The accounts of members that all came to a conclusion.
pub(crate) async fn conclusions(seats: impl IntoIterator<Item = Seated>) -> Vec<Account> {
    let mut accounts = Vec::new();
    for seat in seats {
        accounts.push(seat.await.unwrap().unwrap());
    }
    accounts
}

/// The leader that all of `accounts` name, of a draw without a fault.
#[track_caller]
pub(crate) fn leader(accounts: &[Account]) -> String {
    for account in accounts {
        assert_eq!(account.state, State::Elected, "{account:?}");
        assert_eq!(account.leader, accounts[0].leader);
    }
    accounts[0].leader.clone().unwrap()
}
