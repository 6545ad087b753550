//! A configuration as one sentence, for people.

use super::AgentConfig;

impl AgentConfig {
    /// Returns the name of the member and the addresses at which it listens.
    pub fn sentence(&self) -> String {
        let http = match self.http {
            Some(address) => address.to_string(),
            None => "off".to_owned(),
        };
        let multicasts = match self.groups.iter().any(|group| group.multicast.is_some()) {
            true => format!(", multicasts by {}", self.interface),
            false => String::new(),
        };
        let or_next = match self.next_free_port {
            true => " or the next free port",
            false => "",
        };
        let metrics = self.metrics;
        let metrics = metrics.map_or_else(String::new, |it| format!(", metrics {it}"));
        format!(
            "member {}: bind {}{or_next}{multicasts}, http {http}{metrics}",
            self.name, self.bind
        )
    }
}
