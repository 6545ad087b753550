//! A member of a draw that cheats, to see what becomes of it:
//!
//! ```console
//! $ cheating_seat ring.toml delta delta.key im delta.jsonl
//! ```
//!
//! takes the seat of delta among honest members that run `hustings draw`, and sends heads one way and tails the other. The
//! types of cheating are those of `hustings sim wagner --cheat`.

mod cheater;

use std::error::Error;
use std::path::Path;

use hustings::draw::{Part, Ring, Secret};
use hustings_protocol::Duration;
use hustings_sim::wagner::{Cheat, Segment};
use tokio::net::TcpListener;

use cheater::Cheater;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ring, member, key, cheat, transcript] = &arguments[..] else {
        return Err("usage: cheating_seat RING MEMBER KEY TYPE TRANSCRIPT".into());
    };
    let ring = Ring::read(Path::new(ring))?;
    let place = ring.place_of(member).ok_or("no such member")?;
    let segment = Segment {
        cheat: cheat_of(cheat)?,
        from: place,
        to: place,
    };
    let cheater = Cheater::new(place, ring.len(), ring.config, segment);
    let address = ring.member(place).address.clone();
    let part = Part {
        ring,
        member: member.clone(),
        secret: Secret::read(Path::new(key))?,
        transcript: transcript.into(),
        marks: format!("{key}.drawn").into(),
        wait: Duration::from_secs(60),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await?;
        let account = part.account();
        // Nobody waits for a cheater that is silent.
        let patience = tokio::time::sleep(std::time::Duration::from_secs(30));
        let account = part.play(cheater, listener, &account, patience).await?;
        println!("{:?}: {:?}", account.state, account.leader);
        Ok(())
    })
}

fn cheat_of(name: &str) -> Result<Cheat, String> {
    Ok(match name {
        "df" => Cheat::DeterministicFlip,
        "im" => Cheat::InconsistentMessage,
        "cm" => Cheat::ChangeMessage,
        "br" => Cheat::BrokenRing,
        "fm" => Cheat::FaultMessage,
        "nf" => Cheat::NoFaultMessage,
        "sp" => Cheat::SimulateProcessor,
        "sm" => Cheat::StaleMate,
        _ => return Err(format!("{name}: choose df, im, cm, br, fm, nf, sp or sm")),
    })
}
