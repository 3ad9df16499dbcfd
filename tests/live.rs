//! Both clients against a real server: the one that `QWP_TEST_SERVER=host:port` names.
//!
//! ```text
//! QWP_TEST_SERVER=localhost:9000 cargo test --test live -- --include-ignored
//! ```
//!
//! Every test makes tables of its own, whose names begin with `qwplive`, and drops them at its end, also
//! when it fails. `QWP_TEST_SERVER_AUTH=host:port:user:password` names a server with Basic
//! authentication for the test of that.

#![allow(unreachable_pub, reason = "a test binary exports nothing")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failed test")]
#![allow(clippy::cast_possible_truncation, reason = "the numbers here are known to be small")]

#[path = "live/auth.rs"]
mod auth;
#[path = "live/batches.rs"]
mod batches;
#[path = "live/binds.rs"]
mod binds;
#[path = "live/cancels.rs"]
mod cancels;
#[path = "live/cell.rs"]
mod cell;
#[path = "live/columns.rs"]
mod columns;
#[path = "live/proxy.rs"]
mod proxy;
#[path = "live/reconnects.rs"]
mod reconnects;
#[path = "live/rejections.rs"]
mod rejections;
#[path = "live/results.rs"]
mod results;
#[path = "live/rows.rs"]
mod rows;
#[path = "live/specials.rs"]
mod specials;
#[path = "live/statements.rs"]
mod statements;
#[path = "live/world.rs"]
mod world;

#[test]
fn the_suite_says_what_it_does_not_run() {
    for variable in [world::SERVER, world::SERVER_WITH_AUTH] {
        if world::server(variable).is_none() {
            world::say(&format!("not run: what needs a server, as {variable} names none"));
        }
    }
}
