//! The server that a query client is connected to.

use crate::health::Role;
use crate::wire::egress;

/// What a server said about itself when the connection was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerInfo {
    /// `host:port` as the connect string has it.
    pub endpoint: String,
    /// What the node is.
    pub role: Role,
    /// Grows with changes of role; 0 if the server does not use it. A hint.
    pub epoch: u64,
    /// Capability bits, as sent; bits that this client does not know are ignored.
    pub capabilities: u32,
    /// The server's clock when it accepted the connection: nanoseconds since 1970.
    pub clock_ns: i64,
    /// Name of the cluster.
    pub cluster_id: String,
    /// Name of the node; empty on an open-source server.
    pub node_id: String,
    /// Zone of the node, if it tells one.
    pub zone: Option<String>,
}

impl ServerInfo {
    pub(super) fn new(endpoint: String, info: egress::ServerInfo) -> ServerInfo {
        ServerInfo {
            endpoint,
            role: Role::from_wire(info.role),
            epoch: info.epoch,
            capabilities: info.capabilities,
            clock_ns: info.wall_ns,
            cluster_id: info.cluster_id,
            node_id: info.node_id,
            zone: info.zone_id,
        }
    }
}
