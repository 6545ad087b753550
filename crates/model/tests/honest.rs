//! x
use hustings_model::{Search, Setting, Sight};
use hustings_protocol::tenure::Tenure;
#[test]
fn small() {
    let s = Search::of::<Tenure>(&Setting::small(), 2, 20_000_000);
    println!("{} {} {} {:?}", s.states, s.depth, s.is_exhaustive, s.found);
    for x in Sight::ALL {
        println!("{x:?} {}", s.has_seen(x));
    }
}
