//! The enumerations of the connect string.
//!
//! Words are compared exactly, in lower case (CONF-11).

use std::fmt;

/// A value that is one word of a few.
pub(crate) trait Word: Copy + Default {
    fn from_word(word: &str) -> Option<Self>;
}

macro_rules! words {
    (
        $(#[$attr:meta])*
        $name:ident { $( $(#[$doc:meta])* $first:literal $(| $more:literal)* => $variant:ident, )* }
    ) => {
        $(#[$attr])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$doc])* $variant, )*
        }

        impl $name {
            /// Every word that a connect string may hold.
            pub(crate) const WORDS: &'static [&'static str] = &[$($first, $($more,)*)*];

            /// The word for it in a connect string.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $first,)*
                }
            }
        }

        impl Word for $name {
            fn from_word(word: &str) -> Option<$name> {
                match word {
                    $($first $(| $more)* => Some($name::$variant),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for $name {
            /// The word for it in a connect string.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// Which servers a query may go to, by their role (ROLE-01): key `target`.
    Target {
        /// Any server.
        #[default]
        "any" => Any,
        /// A primary, also one that is catching up, or a server that stands alone.
        "primary" => Primary,
        /// A replica only.
        "replica" => Replica,
    }
}

words! {
    /// When published frames reach stable storage: key `sf_durability`.
    Durability {
        /// When the operating system writes them: they survive the process, not a power failure.
        #[default]
        "memory" => Memory,
        /// At latest after `sf_sync_interval_millis`.
        "periodic" => Periodic,
        /// Before the flush returns.
        "append" => Append,
    }
}

words! {
    /// How a sender comes to its first connection (INIT-01): key `initial_connect_retry`.
    ConnectMode {
        /// One round over the endpoints on the caller's thread; its failure is returned.
        #[default]
        "off" | "false" => Off,
        /// Rounds on the caller's thread until connected, at most `reconnect_max_duration_millis`.
        "sync" | "on" | "true" => Sync,
        /// In the background, without a bound; rows are accepted meanwhile.
        "async" => Async,
    }
}

words! {
    /// Whether the server's certificate is checked: key `tls_verify`.
    TlsVerify {
        /// It is.
        #[default]
        "on" => On,
        /// It is not, so anybody can pose as the server. Needs the cargo feature `insecure-tls`.
        "unsafe_off" => UnsafeOff,
    }
}

words! {
    /// Where the roots come from that a server's certificate has to lead to: key `tls_ca`.
    TlsCa {
        /// Those of Mozilla, compiled in.
        #[default]
        "webpki_roots" => WebpkiRoots,
        /// Those of the operating system. Needs the cargo feature `os-roots`.
        "os_roots" => OsRoots,
        /// Both. Needs the cargo feature `os-roots`.
        "webpki_and_os_roots" => WebpkiAndOsRoots,
        /// Those of the file that `tls_roots` names, and no others.
        "pem_file" => PemFile,
    }
}

words! {
    /// How results travel: key `compression`.
    Compression {
        /// As they are.
        #[default]
        "raw" => Raw,
        /// Compressed.
        "zstd" => Zstd,
        /// Compressed if this build and the server can.
        "auto" => Auto,
    }
}

words! {
    /// What follows when the server rejects a frame (ERRP-01): keys `on_server_error` and
    /// `on_<category>_error`.
    RejectionPolicy {
        /// The default of the category.
        #[default]
        "auto" => Auto,
        /// The sender ends; its rows stay in the store.
        "terminal" => Terminal,
        /// The frame is sent again, on a new connection.
        "retriable" => Retriable,
        /// The frame is sent again, to another endpoint if there is one.
        "retriable_other" => RetriableOther,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conf_11_words_are_compared_exactly() {
        for (word, mode) in [
            ("off", Some(ConnectMode::Off)),
            ("false", Some(ConnectMode::Off)),
            ("on", Some(ConnectMode::Sync)),
            ("true", Some(ConnectMode::Sync)),
            ("sync", Some(ConnectMode::Sync)),
            ("async", Some(ConnectMode::Async)),
            ("Async", None),
            (" async", None),
            ("", None),
        ] {
            assert_eq!(ConnectMode::from_word(word), mode, "{word:?}");
        }
        assert_eq!(ConnectMode::Sync.to_string(), "sync");
        assert!(ConnectMode::WORDS.iter().all(|word| ConnectMode::from_word(word).is_some()));
    }
}
