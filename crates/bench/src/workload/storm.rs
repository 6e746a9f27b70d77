//! Connections that come for one query and go.

use super::Client;
use crate::reply::ServerError;
use crate::session::{Done, Failure};

/// What MySQL's client library says when it cannot connect.
const CANNOT_CONNECT: u16 = 2003;

/// Connects, asks one query, closes. A login that fails is a failed transaction, not a lost connection: the next one may be let in.
pub(super) async fn transaction(client: &mut Client) -> Done {
    let failed = |failure| match failure {
        Failure::Lost(message) => Failure::Server(ServerError { code: CANNOT_CONNECT, message }),
        other => other,
    };
    client.session = client.place.log_in(client.number).await.map_err(failed)?;
    client.session.query("SELECT 1").await.map_err(failed)?;
    client.session.close().await;
    Ok(())
}
