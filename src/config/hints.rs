//! What an unknown key may have meant (CONF-03, CONF-17).

use super::keys::Key;

/// Advice for words that are known from elsewhere.
const KNOWN_ELSEWHERE: &[(&str, &str)] = &[
    (
        "request_timeout",
        "a key of the HTTP transport; auth_timeout_ms and close_flush_timeout_millis bound the waits here",
    ),
    (
        "request_min_throughput",
        "a key of the HTTP transport; leave it out, acknowledgements come without a request to time",
    ),
    ("retry_timeout", "a key of the HTTP transport; leave it out, a running sender retries without a bound"),
    ("retry_max_backoff_millis", "a key of the HTTP transport; use reconnect_max_backoff_millis"),
    ("protocol_version", "a key of the line protocol; leave it out, the version is negotiated"),
    ("max_datagram_size", "a key of the UDP transport; leave it out"),
    ("multicast_ttl", "a key of the UDP transport; leave it out"),
    ("token_x", "a key of the TCP transport; token alone is enough"),
    ("token_y", "a key of the TCP transport; token alone is enough"),
    ("pool_size", "an old name; use sender_pool_min and query_pool_min"),
    ("pool_max", "an old name; use sender_pool_max and query_pool_max"),
    ("pool_idle_timeout_ms", "an old name; use idle_timeout_ms"),
    ("in_flight_window", "an old name; leave it out, sf_max_total_bytes bounds what is not acknowledged"),
    ("max_in_flight", "an old name; leave it out, sf_max_total_bytes bounds what is not acknowledged"),
    ("max_schemas_per_connection", "an old name; leave it out"),
    ("gorilla", "an old name; leave it out, timestamps are compressed where that pays"),
    ("lb_strategy", "an old name; leave it out, endpoints are taken by health, zone and order"),
    ("token_provider", "a provider is code: give it to the builder"),
];

/// What to do about a key that the registry does not have.
pub(super) fn advice(name: &str) -> String {
    let elsewhere = KNOWN_ELSEWHERE.iter().find(|(word, _)| *word == name);
    if let Some((_, advice)) = elsewhere {
        return (*advice).to_owned();
    }
    if name.starts_with("azure_") {
        return "there is no such key here: give a token provider to the builder".to_owned();
    }
    match nearest(name) {
        Some(known) => format!("did you mean {known}?"),
        None => "the documentation lists the keys".to_owned(),
    }
}

/// The known name with the fewest edits from `name`, if these are few for its length.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let known = Key::ALL.iter().flat_map(|key| {
        let spec = key.spec();
        std::iter::once(spec.name).chain(spec.aliases.iter().copied())
    });
    let (distance, nearest) = known.map(|known| (edits(&name, known), known)).min_by_key(|(d, _)| *d)?;
    (distance <= name.len().min(nearest.len()) / 3).then_some(nearest)
}

/// How many letters have to be put in, taken out or changed. Names longer than any key are far away
/// whatever they hold, which bounds the work.
fn edits(a: &str, b: &str) -> usize {
    const LONGEST: usize = 64;
    if a.len() > LONGEST {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        // `left` and `corner` are the cells beside and diagonally before the one to be filled.
        let (mut left, mut corner) = (i + 1, i);
        let mut next = Vec::with_capacity(row.len());
        next.push(left);
        for (above, y) in row.iter().skip(1).zip(b.bytes()) {
            left = (above + 1).min(left + 1).min(corner + usize::from(x != y));
            corner = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (a, b, count) in [
            ("", "", 0),
            ("a", "", 1),
            ("", "ab", 2),
            ("kitten", "sitting", 3),
            ("addr", "addr", 0),
            ("ab", "ba", 2),
        ] {
            assert_eq!(edits(a, b), count, "{a} {b}");
        }
    }

    #[test]
    fn conf_03_the_nearest_known_key_is_the_hint() {
        for (name, hint) in [
            ("auth_timeout", Some("auth_timeout_ms")),
            ("usrname", Some("username")),
            ("TOKEN", Some("token")),
            ("sf_maxbytes", Some("sf_max_bytes")),
            ("adr", Some("addr")),
            ("frob", None),
            ("x", None),
        ] {
            assert_eq!(nearest(name), hint, "{name}");
        }
        assert_eq!(nearest(&"a".repeat(100_000)), None);
    }

    #[test]
    fn conf_17_words_known_from_elsewhere_are_no_keys_and_say_what_to_do() {
        for (word, advice_given) in KNOWN_ELSEWHERE {
            assert_eq!(Key::find(word), None, "{word}");
            assert_eq!(advice(word), *advice_given);
        }
        assert!(advice("azure_tenant_id").contains("builder"));
    }
}
