//! The order of the components, and the boundaries between them.

use hustings_protocol::announce::Takeover;

use super::super::{Component, Event, Io, ORDER, Part};
use super::{ALL, Field};

/// The pairs that depend on the order are beside the constant.
#[test]
fn components_see_an_event_in_a_fixed_order() {
    let place = |part| ORDER.iter().position(|it| *it == part).expect("each is there once");
    let order = [
        Part::Publisher,
        Part::Admission,
        Part::Discovery,
        Part::Membership,
        Part::Liveness,
        Part::Tenure,
        Part::Council,
        Part::Election,
    ];
    assert_eq!(ORDER, order);
    for (earlier, later) in [
        (Part::Publisher, Part::Admission),
        (Part::Admission, Part::Tenure),
        (Part::Admission, Part::Election),
        (Part::Discovery, Part::Tenure),
        (Part::Membership, Part::Tenure),
        (Part::Membership, Part::Liveness),
        (Part::Tenure, Part::Election),
    ] {
        assert!(place(earlier) < place(later), "{earlier:?} {later:?}");
    }
}

/// Fields without `pub` are visible in their own module only.
#[test]
fn no_component_shows_its_fields() {
    for (name, source) in [
        ("Publisher", include_str!("../publisher.rs")),
        ("Admission", include_str!("../../admission.rs")),
        ("Discovery", include_str!("../../discovery.rs")),
        ("Members", include_str!("../../membership/members.rs")),
        ("Liveness", include_str!("../../liveness.rs")),
        ("Tenure", include_str!("../../tenure.rs")),
        ("Hosting", include_str!("../../council.rs")),
        ("Calling", include_str!("../../council/centre.rs")),
        ("Election", include_str!("../../election.rs")),
        ("Node", include_str!("../../node.rs")),
    ] {
        let (_, body) = source.split_once(&format!("struct {name} {{")).expect(name);
        let (fields, _) = body.split_once("\n}").expect(name);
        let is_shown = |line: &str| line.contains("pub ") || line.contains("pub(");
        assert!(!fields.lines().any(is_shown), "{name}: {fields}");
    }
}

/// A worker counts its work first and then reads that the member leads. The node publishes first
/// that the member no longer leads, and then reads the count. In the other order both could go on.
#[test]
fn leadership_is_withdrawn_before_tenure_is_released() {
    let mut field = Field::fenced(Takeover::Never);
    let (leader, _) = field.settled_on(&ALL);
    let now = field.now;
    let node = &mut field.members[leader];
    node.context.now = now;
    node.tenure.on(&Event::GiveUpTenure, &mut Io::new(&node.context, &mut node.emit));
    let holds = |node: &crate::node::Node| node.tenure.authority().holds(now).is_some();
    assert!(holds(node) && node.watch().borrow().leads, "neither was done yet");
    let raised = node.emit.events.iter().flatten();
    let is_withdrawal =
        |it: &Event<'_>| matches!(it, Event::TenureChanged(facts) if facts.fence.is_none());
    let withdrawn = raised.clone().position(is_withdrawal).expect("it is to be published");
    let released = raised.clone().position(|it| matches!(it, Event::ReleaseIfIdle));
    assert!(Some(withdrawn) < released, "the release comes second");
    // Work that begins now still finds the member leading. The release must see it.
    let work = node.in_flight().begin();
    node.handle_raised(0);
    assert!(holds(node) && !node.watch().borrow().leads, "work goes on, so tenure is kept");
    drop(work);
    node.leave_tenure(now, &mut Vec::new());
    assert!(!holds(node));
}
