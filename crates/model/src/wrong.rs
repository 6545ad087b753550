//! Wrong versions of tenure, each with a line or two of the original text replaced: see
//! `wrong/*.diff`.

#![allow(warnings, reason = "replaced lines leave items unused, and this text is generated")]

include!(concat!(env!("OUT_DIR"), "/wrong.rs"));
