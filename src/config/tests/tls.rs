//! CONF-13: the TLS keys.

use super::*;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/config/root.pem");

#[test]
fn conf_13_tls_keys_need_schema_wss() {
    for settings in ["tls_verify=on", "tls_ca=webpki_roots", &format!("tls_roots={ROOT}")] {
        let e = refused(View::Query, &format!("ws::addr=h;{settings}"));
        assert!(e.contains("use wss"), "{e}");
        assert!(e.contains(settings.split('=').next().unwrap()), "{e}");
    }
    let plain = query("ws::addr=h").common.tls;
    assert!(!plain.enabled);
}

#[test]
fn conf_13_a_keystore_password_is_refused_with_the_way_out() {
    for text in [
        "ws::addr=h;tls_roots_password=hunter2",
        "wss::addr=h;tls_roots_password=hunter2",
        &format!("wss::addr=h;tls_roots={ROOT};tls_roots_password=hunter2"),
    ] {
        let e = refused(View::Query, text);
        assert!(e.contains("openssl pkcs12") && e.contains("keytool"), "{e}");
        assert!(e.contains("tls_roots_password") && !e.contains("hunter2"), "{e}");
    }
}

#[cfg(not(feature = "tls"))]
#[test]
fn conf_13_a_build_without_tls_refuses_wss_naming_the_feature() {
    for text in ["wss::addr=h", &format!("wss::addr=h;tls_roots={ROOT}")] {
        assert!(refused(View::Query, text).contains("cargo feature `tls`"));
    }
}

#[cfg(feature = "tls")]
mod enabled {
    use super::*;
    use std::path::{Path, PathBuf};

    /// A file of that content, gone with the guard.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str, content: &[u8]) -> Scratch {
            let path = std::env::temp_dir().join(format!("qwp-config-{}-{name}", std::process::id()));
            std::fs::write(&path, content).unwrap();
            Scratch(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn roots(settings: &str) -> TlsRoots {
        query(&format!("wss::addr=h;{settings}")).common.tls.roots
    }

    fn file_refused(path: &Path) -> String {
        let e = refused(View::Ingest, &format!("wss::addr=h;tls_roots={}", path.display()));
        assert!(e.contains("tls_roots") && e.contains(&path.display().to_string()), "{e}");
        e
    }

    /// CONF-18: the cases of the TLS keys.
    #[test]
    fn conf_18_tls_keys_arrive() {
        let tls = query("wss::addr=h").common.tls;
        assert!(tls.enabled && tls.verify == TlsVerify::On && matches!(tls.roots, TlsRoots::Webpki));
        assert!(matches!(roots("tls_verify=on;tls_ca=webpki_roots"), TlsRoots::Webpki));
        for settings in [format!("tls_roots={ROOT}"), format!("tls_ca=pem_file;tls_roots={ROOT}")] {
            let TlsRoots::Pem { path, certificates } = roots(&settings) else { panic!("{settings}") };
            assert_eq!((path.as_path(), certificates.len()), (Path::new(ROOT), 1));
        }
    }

    #[test]
    fn conf_13_keys_that_contradict_one_another_say_what_to_change() {
        for (settings, parts) in [
            (format!("tls_roots={ROOT};tls_ca=webpki_roots"), "tls_ca webpki_roots: tls_roots is a PEM file"),
            (format!("tls_ca=os_roots;tls_roots={ROOT}"), "tls_ca os_roots: tls_roots is a PEM file"),
            ("tls_ca=pem_file".to_owned(), "tls_roots unset: tls_roots has to name"),
            (
                format!("tls_roots={ROOT};tls_verify=unsafe_off"),
                "tls_verify unsafe_off: without verification",
            ),
            ("tls_ca=none".to_owned(), "wanted one of webpki_roots, os_roots"),
            ("tls_verify=off".to_owned(), "wanted one of on, unsafe_off"),
        ] {
            for view in VIEWS {
                let e = refused(view, &format!("wss::addr=h;{settings}"));
                assert!(e.contains(parts), "{e}");
            }
        }
    }

    #[test]
    fn conf_13_each_feature_is_named_where_it_is_missing() {
        for (settings, feature, present) in [
            ("tls_verify=unsafe_off", "insecure-tls", cfg!(feature = "insecure-tls")),
            ("tls_ca=os_roots", "os-roots", cfg!(feature = "os-roots")),
            ("tls_ca=webpki_and_os_roots", "os-roots", cfg!(feature = "os-roots")),
        ] {
            let text = format!("wss::addr=h;{settings}");
            if present {
                query(&text);
            } else {
                let e = refused(View::Query, &text);
                assert!(e.contains(&format!("cargo feature `{feature}`")), "{e}");
            }
        }
    }

    #[test]
    fn conf_13_an_unusable_roots_file_fails_the_build_and_names_the_path() {
        let good = std::fs::read_to_string(ROOT).unwrap();
        assert!(file_refused(Path::new("/no/such/file.pem")).contains("o such file"));
        assert!(file_refused(&std::env::temp_dir()).contains("not a regular file"));
        let empty = Scratch::new("empty", b"");
        assert!(file_refused(&empty.0).contains("the file is empty"));
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        for (name, content) in [("text", "no PEM at all\n"), ("key", key)] {
            let file = Scratch::new(name, content.as_bytes());
            assert!(file_refused(&file.0).contains("no certificate in the file"));
        }
        let junk = format!("{good}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        let file = Scratch::new("junk", junk.as_bytes());
        assert!(file_refused(&file.0).contains("certificate 2 does not parse"));
        let torn = good.replace("-----END CERTIFICATE-----", "");
        let file = Scratch::new("torn", format!("{good}{torn}").as_bytes());
        assert!(file_refused(&file.0).contains("certificate 2 is no valid PEM"));
        let file = Scratch::new("base64", good.replace("MII", "M*I").as_bytes());
        assert!(file_refused(&file.0).contains("certificate 1 is no valid PEM"));
    }

    #[test]
    fn conf_13_a_bundle_is_taken_whole_whatever_stands_between_the_certificates() {
        let good = std::fs::read_to_string(ROOT).unwrap();
        let bundle = Scratch::new("bundle", format!("# first\n{good}\n# second\r\n{good}").as_bytes());
        let TlsRoots::Pem { certificates, .. } = roots(&format!("tls_roots={}", bundle.0.display())) else {
            panic!("a file gives its own roots")
        };
        assert_eq!(certificates.len(), 2);
    }
}
