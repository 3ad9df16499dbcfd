//! What the crate in `fuzz/` runs (SEC-04): the bodies stand beside the parsers.

use crate::{config, store, transport, wire};

/// Any text gives settings or an error.
pub fn connect_string(data: &[u8]) {
    config::fuzz_config(data);
}

/// The answer of a server to an ingest message.
pub fn ingress_response(data: &[u8]) {
    wire::response::fuzz_response(data);
}

/// An ingest message: what is read is written by our encoders.
pub fn ingress_message(data: &[u8]) {
    wire::ingress::cells::fuzz_ingress_message(data);
}

/// The dictionary delta that stands at the head of messages of both directions.
pub fn symbols_delta(data: &[u8]) {
    wire::symbols::fuzz_symbols(data);
}

/// Timestamps; two bytes of count come first.
pub fn gorilla(data: &[u8]) {
    wire::gorilla::fuzz_gorilla(data);
}

/// What a query client sends.
pub fn query_request(data: &[u8]) {
    wire::request::fuzz_request(data);
}

/// Messages of results, one behind the other: every cell of what is accepted is there.
pub fn egress_batch(data: &[u8]) {
    wire::egress::batch::fuzz_batch(data);
}

/// What a server sends to a query client.
pub fn egress_event(data: &[u8]) {
    wire::egress::event::fuzz_event(data);
}

/// WebSocket frames; one byte says how they are cut.
pub fn ws_frames(data: &[u8]) {
    transport::fuzz_ws(data);
}

/// The answer to the upgrade; one byte says how it is cut.
pub fn upgrade_head(data: &[u8]) {
    transport::fuzz_upgrade(data);
}

/// A segment file of a slot.
pub fn disk_segment(data: &[u8]) {
    store::recovery::fuzz_segment(data);
}

/// A record of a manifest or a watermark.
pub fn disk_record(data: &[u8]) {
    store::record::fuzz_record(data);
}

/// The dictionary file of a slot.
pub fn disk_dictionary(data: &[u8]) {
    store::dictionary::fuzz_dictionary(data);
}
