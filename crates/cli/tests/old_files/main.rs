//! Files of an earlier version are still read: one sample of every kind that commit aabcf2f writes,
//! in `samples/`.
//!
//! A user who installs a new version keeps the old files. Each test reads a sample with the current
//! code and checks the content that matters: counters, fences, marks, names, verdicts. Keys and
//! names in these files stay readable for ever: where a later version renames one, it must still
//! accept the old name, and a sample is never edited.
//!
//! A command of the program reads the file where there is one, and the library where there is none.
//! Tests copy the samples to a directory of their own with mode 0600, which git does not keep and
//! secret files need.
//!
//! | Sample | Written by | Read by |
//! |---|---|---|
//! | `voters/*.voter` | `voter init`, `agent` with voters | `voter show`, `run` |
//! | `memory/*.fence`, `*.store` | `agent` with a store | `SeenFences::on_disk` |
//! | `memory/stock.guard` | `FenceGuard` | `FenceGuard::open_existing` |
//! | `draw/*` | `draw`, `draw keygen` | `draw`, `draw verify` |
//! | `cheated_draw/*.jsonl` | `draw` beside a member that cheats | `draw verify` |
//! | `council/*.jsonl` | `council --public-coin` | `council --check` |
//! | `agent_traces/*.jsonl` | `agent --trace` | `trace` |
//! | `simulator/*` | `sim --trace`; scenarios by hand | `trace`, `sim --scenario` |
//! | `config/*` | `config example`, `keys generate`; `agent.toml` by hand | `config check` |

mod authority;
mod config;
mod council;
mod draw;
mod manifest;
mod sample;
mod trace;
