//! Three members of one group in this process: one is elected, resigns, and no longer leads. On
//! several hosts use `GroupOptions::on_the_lan(group, member, key)`.

use std::error::Error;
use std::time::Duration;

use hustings::{Group, GroupOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // Each run has its own group, so that two runs at once do not interfere.
    let group = format!("example-{}", std::process::id());
    let mut red = Group::join(GroupOptions::on_this_host(&group, "red")).await?;
    let mut green = Group::join(GroupOptions::on_this_host(&group, "green")).await?;
    let mut blue = Group::join(GroupOptions::on_this_host(&group, "blue")).await?;

    let mut nomination = tokio::select! {
        elected = red.wait_until_elected() => elected,
        elected = green.wait_until_elected() => elected,
        elected = blue.wait_until_elected() => elected,
    }?;
    println!("{} leads", nomination.leadership().member);
    for member in [&red, &green, &blue] {
        member.resign(Duration::from_secs(1)).await;
    }
    nomination.lost().await;
    println!("it leads no more");
    for member in [red, green, blue] {
        member.leave().await?;
    }
    Ok(())
}
