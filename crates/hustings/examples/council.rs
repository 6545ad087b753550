//! Twelve hosts and a centre in this process. Three to five hosts are seated. All but two of the
//! seated hosts leave, and others take their seats. On several hosts use
//! `GroupOptions::on_the_lan(group, member, key)`.

use std::error::Error;

use hustings::{Council, Group, GroupOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // Each run has its own group, so that two runs at once do not interfere.
    let group = format!("example-{}", std::process::id());
    let mut hosts = Vec::new();
    for number in 0..12 {
        let joining = GroupOptions::on_this_host(&group, &format!("host-{number}"));
        hosts.push(Group::join(joining.without_election()).await?);
    }

    // The centre does not know that there are twelve hosts. Its upper bound is a thousand.
    let centre = GroupOptions::on_this_host(&group, "centre");
    let mut council = Council::call(centre, Council::rules(3..=5, 1_000)).await?;
    let elected = council.filled().await?;
    let names = |seats: Vec<_>| {
        let seats = seats.into_iter();
        let names = seats.map(|it: hustings::agent::council::Seated| it.member.name);
        names.collect::<Vec<String>>()
    };
    println!(
        "seated after {} rounds and {} replies: {}",
        elected.rounds,
        elected.replies,
        names(council.seats()).join(", ")
    );

    // All but two leave, which is fewer than the minimum of three.
    let lost = names(council.seats()).split_off(2);
    for name in &lost {
        let place = hosts.iter().position(|it| it.leadership().member == *name);
        let host = hosts.remove(place.ok_or("a host of that name")?);
        // The host learns of its seat when the centre's message arrives.
        if let Some(mut seat) = host.seat() {
            seat.wait_for(|it| it.seat.is_some()).await?;
        }
        host.leave().await?;
    }
    println!("{} leave", lost.join(", "));
    while council.seats().len() < 3 || names(council.seats()).iter().any(|it| lost.contains(it)) {
        council.changed().await?;
    }
    println!("seated: {}", names(council.seats()).join(", "));
    council.dissolve().await?;
    for host in hosts {
        host.leave().await?;
    }
    Ok(())
}
