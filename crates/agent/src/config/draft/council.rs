//! The part of a member in a council, from the fields of a partial configuration.

use super::{Misfit, PartialGroupConfig, Sourced, place, value};
use crate::council::{CouncilPart, MOST_CLASSES};

impl PartialGroupConfig {
    /// Returns the part in the council: a host by default.
    pub(super) fn council(&self) -> Result<CouncilPart, Misfit> {
        if let Some(CouncilPart::Off) = value(&self.council) {
            let fields = [("class", place(&self.class)), ("centre", place(&self.centre))];
            let mut written = fields.into_iter().filter_map(|(field, place)| Some((field, place?)));
            return written.next().map_or(Ok(CouncilPart::Off), |(field, place)| {
                let what = format!("{field} means nothing with council off: it is for hosts");
                Err(Misfit { place, what })
            });
        }
        let class = match &self.class {
            None => 0,
            Some(Sourced { value, place }) => {
                let class = u16::try_from(*value).ok().filter(|it| *it < MOST_CLASSES);
                class.ok_or_else(|| Misfit {
                    place: *place,
                    what: format!("class {value}: choose from 0 to {}", MOST_CLASSES - 1),
                })?
            }
        };
        let centre = value(&self.centre);
        Ok(CouncilPart::Host { class, centre })
    }
}
