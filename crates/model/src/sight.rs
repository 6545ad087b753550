//! The coverage of a search.

/// An event that happened in at least one run. A search without such events shows nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// A tenure began.
    Gained,
    /// A tenure was renewed.
    Renewed,
    /// A tenure was renewed by a greater ballot than the one with which it began.
    Prolonged,
    /// A tenure began after that of another member.
    TakenOver,
    /// A tenure began after another of the same member.
    Again,
    /// A tenure began after another one, and after a nominee had restarted.
    AfterCrash,
    /// A tenure began after another one, and after a voter had restarted.
    AfterVotersRestart,
    /// A tenure began after that of another member, which had handed over.
    HandedOver,
}

impl Sight {
    /// All events.
    pub const ALL: [Self; 8] = [
        Self::Gained,
        Self::Renewed,
        Self::Prolonged,
        Self::TakenOver,
        Self::Again,
        Self::AfterCrash,
        Self::AfterVotersRestart,
        Self::HandedOver,
    ];

    pub(crate) fn bit(self) -> u16 {
        1 << self as u16
    }
}
