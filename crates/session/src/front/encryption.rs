//! What clients see of encryption: the variables `ssl_…` and `tls_…`, ALTER INSTANCE RELOAD TLS, counters.

use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::front::connections::Connection;
use crate::shared::Shared;
use crate::variables::variable;
use executor::StatementContext;
use mysql_error::codes;
use std::path::Path;
use tls::{Settings, Tls, TlsError};
use types::Value;

/// Whether `tls_version` may have a value: a list of versions that are known.
pub(crate) fn is_version_list(text: &str) -> bool {
    text.split(',')
        .map(str::trim)
        .all(|name| name.is_empty() || ["TLSv1.2", "TLSv1.3"].iter().any(|known| known.eq_ignore_ascii_case(name)))
}

impl Shared {
    /// The settings that variables ask for.
    fn tls_settings(&self) -> Settings {
        let text = |definition| match self.variables.get(definition) {
            Value::Bytes(text) => text.to_text().into_owned(),
            _ => String::new(),
        };
        Settings {
            directory: Path::new(&text(variable!("datadir"))).to_owned(),
            ca: text(variable!("ssl_ca")),
            crl: text(variable!("ssl_crl")),
            cert: text(variable!("ssl_cert")),
            key: text(variable!("ssl_key")),
            versions: text(variable!("tls_version")),
        }
    }

    /// Puts the variables' settings in force for new connections.
    pub fn load_tls(&self) -> Result<(), TlsError> {
        self.tls.load(self.tls_settings())?;
        self.show_whether_encrypted();
        Ok(())
    }

    /// Clients see by `have_ssl` whether they may ask for TLS.
    fn show_whether_encrypted(&self) {
        let word = if self.tls.current().config.is_some() { "YES" } else { "DISABLED" };
        for definition in [variable!("have_ssl"), variable!("have_openssl")] {
            self.variables.set(definition, Value::from(word));
        }
    }
}

impl ClientSession {
    /// ALTER INSTANCE RELOAD TLS. What cannot be loaded leaves all as it was, or (NO ROLLBACK ON ERROR) ends encryption.
    pub(crate) fn reload_tls(&mut self, keep_on_error: bool) -> Result<(), Outcome> {
        self.implicit_commit()?;
        let shared = self.shared();
        match shared.load_tls() {
            Ok(()) => {}
            Err(error) if keep_on_error => return Err(codes::da_ssl_library_error(error).into()),
            Err(error) => {
                shared.tls.switch_off(shared.tls_settings());
                shared.show_whether_encrypted();
                self.core.warn(codes::da_ssl_library_error(error).into());
            }
        }
        Ok(())
    }
}

/// Counters and settings in force: the server's, and those of a connection.
pub(crate) fn status(tls: &Tls, connection: Option<&Connection>) -> Vec<(&'static str, String)> {
    let (current, figures) = (tls.current(), &tls.figures);
    let (on, settings) = (current.config.is_some(), &current.settings);
    let secured = connection.and_then(Connection::secured);
    let told = |text: &str| if on { text.to_owned() } else { String::new() };
    let asks = on && !settings.ca.is_empty();
    // OpenSSL's bits: the client is asked for a certificate, once.
    let verify_mode = if asks { 5 } else { 0 };
    let zero = || "0".to_owned();
    vec![
        ("Current_tls_ca", told(&settings.ca)),
        ("Current_tls_capath", String::new()),
        ("Current_tls_cert", told(&settings.cert)),
        ("Current_tls_cipher", String::new()),
        ("Current_tls_ciphersuites", String::new()),
        ("Current_tls_crl", told(&settings.crl)),
        ("Current_tls_crlpath", String::new()),
        ("Current_tls_key", told(&settings.key)),
        ("Current_tls_version", told(&settings.versions)),
        ("Ssl_accept_renegotiates", zero()),
        ("Ssl_accepts", figures.accepts.get().to_string()),
        ("Ssl_callback_cache_hits", zero()),
        ("Ssl_cipher", secured.map_or_else(String::new, |secured| secured.cipher.to_owned())),
        ("Ssl_cipher_list", secured.map_or_else(String::new, |_| current.ciphers.clone())),
        ("Ssl_client_connects", zero()),
        ("Ssl_connect_renegotiates", zero()),
        ("Ssl_ctx_verify_mode", verify_mode.to_string()),
        ("Ssl_finished_accepts", figures.finished.get().to_string()),
        ("Ssl_finished_connects", zero()),
        ("Ssl_server_not_after", current.validity.1.clone()),
        ("Ssl_server_not_before", current.validity.0.clone()),
        ("Ssl_session_cache_hits", figures.resumed.get().to_string()),
        ("Ssl_session_cache_mode", if on { "SERVER" } else { "NONE" }.to_owned()),
        ("Ssl_session_cache_size", if on { SESSIONS_KEPT } else { 0 }.to_string()),
        ("Ssl_sessions_reused", secured.map_or(0, |secured| u32::from(secured.resumed)).to_string()),
        ("Ssl_verify_mode", secured.map_or(0, |_| verify_mode).to_string()),
        ("Ssl_version", secured.map_or_else(String::new, |secured| secured.version.to_owned())),
        ("Tls_library_version", "rustls 0.23".to_owned()),
    ]
}

/// Sessions that rustls remembers for those who come again.
const SESSIONS_KEPT: u32 = 256;
