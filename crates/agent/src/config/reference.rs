//! The example file, made from the table of options.

use super::fields::{AGENT_FIELDS, Field, GROUP_FIELDS};

/// The key in the example.
pub(super) const EXAMPLE_KEY: &str =
    "0000000000000000000000000000000000000000000000000000000000000000";

/// The beginning of the example.
const HEAD: &str = "\
# A member of one group, on a LAN. The same file serves every host: only `name`, which is the host's
# own unless set, has to differ. Then: hustings agent --config hustings.toml
# Each field that is commented out shows its default, or an example if the default is no value.
";

/// The remark about the key, which the example cannot leave out.
const REPLACE: &str = ". REPLACE the key below by what `hustings keys generate` prints. A file \
                       with a key in it is refused if other users can read it: chmod 600";

/// The greatest length of a line of comment.
const MOST_COLUMNS: usize = 100;

/// Returns an example file with every field. The same file serves every host. Its key must be
/// replaced.
pub fn example() -> String {
    let of_agent = AGENT_FIELDS.iter().filter(|field| field.name != "group");
    let of_agent: String = of_agent.map(paragraph).collect();
    let of_group: String = GROUP_FIELDS.iter().map(paragraph).collect();
    format!("{HEAD}{of_agent}\n[[group]]{}", of_group)
}

/// Returns a field with its meaning and default as a comment. Required fields are set, and all
/// others are commented out.
fn paragraph(field: &Field) -> String {
    let mut text = as_in_file(field.help);
    let (mark, value) = match (field.name, field.default) {
        ("key", _) => {
            text += REPLACE;
            ("", format!("\"{EXAMPLE_KEY}\""))
        }
        (_, "needed") => ("", field.sample.to_owned()),
        (_, default) => {
            if !default.is_empty() {
                text = format!("{text}. Default: {}", as_in_file(default));
            }
            ("# ", example_value(field))
        }
    };
    format!("\n{}{mark}{} = {value}\n", comment(&text), field.name)
}

/// Returns a text with the names of fields in place of those of options.
pub(super) fn as_in_file(text: &str) -> String {
    text.replace("--", "")
}

/// Returns the default value as the file has it, or the sample if the default is no value.
fn example_value(Field { default, sample, .. }: &Field) -> String {
    match sample.starts_with('"') {
        _ if default.is_empty() || default.contains(' ') => (*sample).to_owned(),
        true => format!("\"{default}\""),
        false => (*default).to_owned(),
    }
}

/// Returns a sentence as lines of comment.
fn comment(text: &str) -> String {
    let mut lines = "#".to_owned();
    let mut columns = 1;
    for word in text.split(' ') {
        if columns + 1 + word.len() > MOST_COLUMNS {
            lines += "\n#";
            columns = 1;
        }
        lines = lines + " " + word;
        columns += 1 + word.len();
    }
    lines + ".\n"
}
