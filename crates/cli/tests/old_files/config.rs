//! Configuration and key files.

use crate::sample::Samples;

#[test]
fn every_field_of_a_configuration_takes_effect() {
    let samples = Samples::copy("config", "config");
    let checked = samples.run("config check agent.toml", &[]);
    let member = ["alpha", "127.0.0.1:27400", "127.0.0.1:27480"];
    let web = ["web", "suppress", "50ms", "4ms", "425ms", "by-the-better", "6ms", "10"];
    let tenure = ["beta", "gamma", "1500ms", "239.255.72.86:7411"];
    let db = ["db", "bully", "200ms", "360ms", "900ms", "127.0.0.2:7400"];
    let fleet = ["fleet", "probabilistic", "5ms", "9", "80ms", "30"];
    let checked = checked.expect_code(0).expect_words(&member);
    let checked = checked.expect_words(&web).expect_words(&tenure);
    checked.expect_words(&db).expect_words(&fleet);
}

#[test]
fn printed_example_of_a_configuration_is_accepted() {
    let samples = Samples::copy("config", "example");
    let checked = samples.run("config check example.toml", &[]);
    checked.expect_code(0).expect_words(&["web", "suppress", "100ms", "5ms", "239.255.72.85:7401"]);
}

#[test]
fn key_file_is_read_and_a_damaged_one_is_refused() {
    let samples = Samples::copy("config", "key_file");
    samples.run("config check agent.toml", &[]).expect_code(0);
    let key = samples.read("web.key");
    samples.write("web.key", &key.replacen(|it: char| it.is_ascii_digit(), "z", 1));
    let refused = samples.run("config check agent.toml", &[]);
    refused.expect_code(2).expect_words(&["web.key"]);
}
