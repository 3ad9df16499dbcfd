//! The stand-in server against what a real one was recorded to say.

#![allow(unreachable_pub, reason = "a test binary exports nothing")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

#[path = "standin/client.rs"]
mod client;
#[path = "standin/egress.rs"]
mod egress;
#[path = "standin/ingress.rs"]
mod ingress;
#[path = "standin/logical.rs"]
mod logical;
#[path = "standin/scripts.rs"]
mod scripts;
mod support;
