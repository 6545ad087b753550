//! The order of the components, and the boundaries between them.

use super::super::{ORDER, Part};

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
        ("Election", include_str!("../../election/effects.rs")),
        ("Node", include_str!("../../node.rs")),
    ] {
        let (_, body) = source.split_once(&format!("struct {name} {{")).expect(name);
        let (fields, _) = body.split_once("\n}").expect(name);
        let mut fields = fields.lines().map(str::trim_start);
        assert!(!fields.any(|it| it.starts_with("pub ") || it.starts_with("pub(")), "{name}");
    }
}
