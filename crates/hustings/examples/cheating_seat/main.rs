//! A member of a draw that cheats, to test how the others detect it:
//!
//! ```console
//! $ cheating_seat ring.toml delta delta.key im delta.jsonl
//! ```
//!
//! This takes the seat of delta among honest members that run `hustings draw`, and sends heads one
//! way and tails the other. The types of cheating are those of `hustings sim wagner --cheat`. Two
//! neighbours, each in its own process, cheat together if both get the same segment:
//! `sm@gamma..delta`, clockwise. They communicate over the link between them.
//!
//! One more type, `abort`, comes from no paper: such a member is silent whenever it loses.

mod aborter;
mod cheater;

use std::error::Error;
use std::path::Path;

use hustings::draw::{Participant, Ring, Secret};
use hustings_protocol::Duration;
use hustings_sim::wagner::{Cheat, Segment};
use tokio::net::TcpListener;

use aborter::Aborter;
use cheater::Cheater;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ring, member, key, cheat, transcript] = &arguments[..] else {
        return Err("usage: cheating_seat RING MEMBER KEY TYPE TRANSCRIPT".into());
    };
    let ring = Ring::read(Path::new(ring))?;
    let place = ring.place_of(member).ok_or("no such member")?;
    let cheater = match &**cheat {
        "abort" => None,
        _ => Some(segment(&ring, place, cheat)?),
    };
    let cheater = cheater.map(|it| Cheater::new(place, ring.len(), ring.config, it));
    let address = ring.member(place).address.clone();
    let part = Participant {
        ring,
        member: member.clone(),
        secret: Secret::read(Path::new(key))?,
        transcript: transcript.into(),
        marks: format!("{key}.drawn").into(),
        wait: Duration::from_secs(60),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await?;
        let account = part.status();
        // No other member waits for a cheater that is silent.
        let timeout = tokio::time::sleep(std::time::Duration::from_secs(30));
        let account = match cheater {
            Some(cheater) => part.play(cheater, listener, &account, timeout).await?,
            None => {
                let aborter = Aborter::default();
                part.play(aborter, listener, &account, timeout).await?
            }
        };
        println!("{:?}: {:?}", account.state, account.leader);
        Ok(())
    })
}

/// Parses the segment of cheaters, which contains the member at `place`, and the type of cheating.
fn segment(ring: &Ring, place: u32, text: &str) -> Result<Segment, String> {
    let (cheat, (from, to)) = match text.split_once('@') {
        None => (text, (place, place)),
        Some((cheat, names)) => {
            let names = names.split_once("..");
            let places =
                names.and_then(|(from, to)| Some((ring.place_of(from)?, ring.place_of(to)?)));
            (cheat, places.ok_or("who cheats: TYPE@FROM..TO, by names of members")?)
        }
    };
    let cheat = cheat_of(cheat)?;
    let segment = Segment { cheat, from, to };
    let members = ring.len();
    // Cheaters communicate over the one link between them.
    match segment.fits(members) && segment.len(members) <= 2 && segment.holds(place, members) {
        true => Ok(segment),
        false => {
            Err("one cheats, or two neighbours, of whom this is one, among two others or more"
                .to_owned())
        }
    }
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
        _ => {
            return Err(format!("{name}: choose abort, df, im, cm, br, fm, nf, sp or sm"));
        }
    })
}
