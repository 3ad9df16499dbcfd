//! What must never be shown (CONF-10).

use data_encoding::BASE64;
use std::fmt;

/// Shown in the place of a secret.
pub(super) const REDACTED: &str = "***";

/// Text that no `Debug`, error or log line ever contains.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text itself, to be sent and for nothing else.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// The fixed credential of a connect string (AUTH-01).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Credential {
    None,
    Basic { username: String, password: Secret },
    Bearer(Secret),
}

impl Credential {
    /// The value of the `Authorization` header. Contains the secret: send it, never show it.
    pub(crate) fn header_value(&self) -> Option<Secret> {
        match self {
            Credential::None => None,
            Credential::Basic { username, password } => {
                let pair = format!("{username}:{}", password.expose());
                Some(Secret(format!("Basic {}", BASE64.encode(pair.as_bytes()))))
            }
            Credential::Bearer(token) => Some(bearer(token.expose())),
        }
    }
}

/// The header value for a token.
pub(crate) fn bearer(token: &str) -> Secret {
    Secret(format!("Bearer {token}"))
}

/// Whether a token can stand in a header: printable ASCII, not blank (AUTH-03). It is never trimmed.
pub(crate) fn is_valid_token(token: &str) -> bool {
    is_printable_ascii(token) && !token.trim().is_empty()
}

/// Whether text can stand in a header as it is.
pub(super) fn is_printable_ascii(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_carries_utf_8_in_base_64() {
        let basic = Credential::Basic { username: "u".into(), password: Secret::new("p;=\u{1f600} x") };
        assert_eq!(basic.header_value().unwrap().expose(), "Basic dTpwOz3wn5iAIHg=");
        let bearer = Credential::Bearer(Secret::new("abc"));
        assert_eq!(bearer.header_value().unwrap().expose(), "Bearer abc");
        assert_eq!(Credential::None.header_value(), None);
    }

    #[test]
    fn conf_10_debug_shows_no_secret() {
        let basic = Credential::Basic { username: "u".into(), password: Secret::new("hunter2") };
        for credential in [basic, Credential::Bearer(Secret::new("hunter2"))] {
            let shown = format!("{credential:?} {:?}", credential.header_value());
            assert!(!shown.contains("hunter2") && shown.contains("***"), "{shown}");
        }
    }

    #[test]
    fn a_token_is_printable_ascii_and_not_blank() {
        let long = "x".repeat(16_384);
        for good in ["a", " a ", "!~", &long] {
            assert!(is_valid_token(good), "{good}");
        }
        for bad in ["", "  ", "a\r\nb", "a\u{e9}", "a\tb", "\u{7f}"] {
            assert!(!is_valid_token(bad), "{bad:?}");
        }
    }
}
