//! Wrong versions of tenure, each a line or two of the honest text exchanged: see `wrong/*.diff`.

#![allow(
    warnings,
    reason = "what is exchanged leaves things unused, and nobody maintains this text"
)]

include!(concat!(env!("OUT_DIR"), "/wrong.rs"));
