//! From the keys of a connect string to a connector and the settings of a dialer.

use super::DialSettings;
use crate::config::{CommonConfig, IngestConfig, QueryConfig, Target, TlsRoots, TlsVerify};
use crate::error::Result;
use crate::time::Clock;
use crate::transport::tls::{Roots, TlsOptions, TlsSetup};
use crate::transport::{Connector, Direction, SocketConnector};
use std::sync::Arc;

/// Real sockets, encrypted if the schema says so.
pub(crate) fn connector(common: &CommonConfig, clock: Arc<dyn Clock>) -> Result<Arc<dyn Connector>> {
    let tls = match common.tls.enabled {
        true => Some(TlsSetup::new(&tls_options(common))?),
        false => None,
    };
    Ok(Arc::new(SocketConnector::new(clock, tls)))
}

fn tls_options(common: &CommonConfig) -> TlsOptions {
    let roots = match &common.tls.roots {
        TlsRoots::Webpki => Roots::Webpki,
        TlsRoots::Os => Roots::Os,
        TlsRoots::WebpkiAndOs => Roots::WebpkiAndOs,
        TlsRoots::Pem { path, certificates } => Roots::PemFile(path.clone(), certificates.to_vec()),
    };
    TlsOptions { roots, verify: common.tls.verify == TlsVerify::On }
}

/// What a sender asks every endpoint for. It goes to any node that takes writes, wherever it is.
pub(crate) fn ingress(config: &IngestConfig) -> DialSettings {
    DialSettings { durable_ack: config.request_durable_ack, ..common(&config.common, Direction::Ingress) }
}

/// What a query client asks every endpoint for.
pub(crate) fn egress(config: &QueryConfig) -> DialSettings {
    DialSettings {
        // Raw is what a server sends unasked, and `auto` is raw without a decoder (QRY-16).
        accept_encoding: None,
        max_batch_rows: config.max_batch_rows.and_then(|rows| u32::try_from(rows).ok()),
        target: config.target,
        zone: config.zone.clone(),
        ..common(&config.common, Direction::Egress)
    }
}

fn common(common: &CommonConfig, direction: Direction) -> DialSettings {
    DialSettings {
        endpoints: common.endpoints.clone(),
        direction,
        encrypted: common.tls.enabled,
        authorization: common.credential.header_value().map(|secret| secret.expose().to_owned()),
        client_id: common.client_id.clone(),
        durable_ack: false,
        accept_encoding: None,
        max_batch_rows: None,
        connect_timeout: common.connect_timeout,
        auth_timeout: common.auth_timeout,
        target: Target::Any,
        zone: None,
    }
}
