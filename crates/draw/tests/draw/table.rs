//! Members of one ring, each in a task, over real sockets of this host.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use hustings_draw::verify::{Verification, verify};
use hustings_draw::{DrawStatus, NoDraw, Participant, Ring, RingMember, Secret, State};
use hustings_protocol::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A ring with its keys and listeners, before any member runs.
pub(crate) struct Table {
    pub(crate) ring: Ring,
    pub(crate) secrets: Vec<Secret>,
    pub(crate) listeners: Vec<Option<TcpListener>>,
    pub(crate) home: PathBuf,
}

/// The task of a running member.
pub(crate) type Seated = JoinHandle<Result<DrawStatus, NoDraw>>;

impl Table {
    /// Creates a ring of `members`, called m0, m1 and so on, with `options` of the ring file.
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
        Self { ring: text.parse().unwrap(), secrets, listeners, home }
    }

    pub(crate) fn participant(&self, place: usize) -> Participant {
        Participant {
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

    /// Starts the member at `place` with the protocol `player`.
    pub(crate) fn seat(
        &mut self,
        place: usize,
        player: impl RingMember + Send + 'static,
    ) -> Seated {
        let participant = self.participant(place);
        let listener = self.listeners[place].take().expect("a free seat");
        tokio::spawn(async move {
            let status = participant.status();
            participant.play(player, listener, &status, std::future::pending()).await
        })
    }

    /// Verifies the transcripts of `places`.
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
        let _ = fs::remove_dir_all(&self.home); // a leftover temporary directory does no harm
    }
}

/// Waits for all members and returns their final status.
pub(crate) async fn conclusions(seats: impl IntoIterator<Item = Seated>) -> Vec<DrawStatus> {
    let mut accounts = Vec::new();
    for task in seats {
        accounts.push(task.await.unwrap().unwrap());
    }
    accounts
}

/// The leader that all members report, of a draw without a fault.
#[track_caller]
pub(crate) fn leader(accounts: &[DrawStatus]) -> String {
    for status in accounts {
        assert_eq!(status.state, State::Elected, "{status:?}");
        assert_eq!(status.leader, accounts[0].leader);
    }
    accounts[0].leader.clone().unwrap()
}
