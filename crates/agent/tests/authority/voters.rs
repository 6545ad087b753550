//! Voters of the group itself, as processes. They must pass the same tests as stores.

use std::fs;

use hustings_agent::authority::voter_file::VoterFile;
use hustings_agent::config::AuthorityConfig;
use hustings_protocol::tenure::Durable;

use crate::agents::{Ground, configured, parsed};
use crate::common;
use hustings_testkit::observe::example;
use hustings_testkit::{Scratch, Server};

const VOTERS: [&str; 3] = ["v", "w", "x"];
const SETTING: &str = "voters = [\"v\", \"w\", \"x\"]";

/// Three members that vote and do not campaign.
struct Voters {
    servers: Vec<Server>,
    _home: Scratch,
}

impl Voters {
    fn each(&mut self, act: impl Fn(&mut Server)) {
        self.servers.iter_mut().for_each(act);
    }
}

impl Ground for Voters {
    const HANDS_OVER: bool = true;

    async fn set_up(group: &str) -> Self {
        let program = example("configured").to_str().unwrap().to_owned();
        let home = Scratch::new("hustings-authority");
        let mut servers = Vec::new();
        for name in VOTERS {
            let state = home.join(name);
            fs::create_dir(&state).unwrap();
            let own = format!("state = \"{}\"", state.display());
            let setting = format!("campaign = false\n{SETTING}");
            let text = configured(name, group, &own, &setting);
            let config = parsed(&text);
            let AuthorityConfig::Quorum(quorum) = &config.groups[0].authority else {
                panic!("voters vote");
            };
            VoterFile::reset(&state, quorum.vote(group, name), Durable::FOUNDING).unwrap();
            let path = home.join(&format!("{name}.toml"));
            fs::write(&path, text).unwrap();
            let path = path.to_str().unwrap().to_owned();
            let log = home.join(&format!("{name}.log"));
            servers.push(Server::start(vec![program.clone(), path], log));
        }
        Self { servers, _home: home }
    }

    fn setting(&self) -> String {
        SETTING.to_owned()
    }

    fn kill(&mut self) {
        self.each(Server::kill);
    }

    async fn bring_back(&mut self) {
        self.each(Server::restart); // their grants show that they answer
    }

    fn pause(&mut self) {
        self.each(|it| it.pause());
    }

    fn resume(&mut self) {
        self.each(|it| it.resume());
    }
}

#[tokio::test]
async fn agents_with_voters_without_faults() {
    common::in_peace::<Voters>("voters").await;
}

#[tokio::test]
async fn agents_whose_voters_are_all_killed_and_restarted() {
    common::killed::<Voters>("voters").await;
}

#[tokio::test]
async fn agents_whose_voters_are_all_paused_and_resumed() {
    common::paused::<Voters>("voters").await;
}
