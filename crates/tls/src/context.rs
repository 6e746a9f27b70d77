//! [`Tls`]: the settings in force.

use crate::peer::cipher_name;
use metrics::Counter;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion, version};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sync::{Rank, RwLock};
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// What variables say; names of files are relative to the data directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// The data directory.
    pub directory: PathBuf,
    /// `ssl_ca`: authorities that sign clients' certificates. Empty: clients are not asked for one.
    pub ca: String,
    /// `ssl_crl`: certificates that were revoked.
    pub crl: String,
    /// `ssl_cert`.
    pub cert: String,
    /// `ssl_key`.
    pub key: String,
    /// `tls_version`: `TLSv1.2`, `TLSv1.3`, or both. Empty: no encryption.
    pub versions: String,
}

/// Why settings cannot be put in force; in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsError(String);

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

/// Settings in force.
#[derive(Debug, Clone)]
pub struct Current {
    /// For new connections; `None` when they cannot be encrypted.
    pub config: Option<Arc<ServerConfig>>,
    /// What it was made of.
    pub settings: Settings,
    /// First and last moment of the server's certificate, in the words of `Ssl_server_not_before` and `…_after`.
    pub validity: (String, String),
    /// Suites, best first, in OpenSSL's spelling.
    pub ciphers: String,
}

/// What was counted.
#[derive(Default)]
pub struct Figures {
    /// Handshakes begun.
    pub accepts: Counter,
    /// Handshakes that came to their end.
    pub finished: Counter,
    /// Of these, those that resumed an earlier session.
    pub resumed: Counter,
}

/// What encrypts the connections of a server.
pub struct Tls {
    current: RwLock<Arc<Current>>,
    /// Counters.
    pub figures: Figures,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("current", &*self.current()).finish_non_exhaustive()
    }
}

impl Default for Tls {
    fn default() -> Self {
        Self::off()
    }
}

impl Tls {
    /// No encryption.
    pub fn off() -> Self {
        Self { current: RwLock::new(Rank::Leaf, Arc::new(Current::none(Settings::default()))), figures: Figures::default() }
    }

    /// What is in force.
    pub fn current(&self) -> Arc<Current> {
        Arc::clone(&self.current.read())
    }

    /// Loads settings and puts them in force for new connections. When they cannot be loaded, nothing changes.
    pub fn load(&self, settings: Settings) -> Result<(), TlsError> {
        let new = Current::load(settings)?;
        *self.current.write() = Arc::new(new);
        Ok(())
    }

    /// New connections are not encrypted from now on.
    pub fn switch_off(&self, settings: Settings) {
        *self.current.write() = Arc::new(Current::none(settings));
    }
}

impl Current {
    fn none(settings: Settings) -> Self {
        Self { config: None, settings, validity: Default::default(), ciphers: String::new() }
    }

    fn load(settings: Settings) -> Result<Self, TlsError> {
        let versions = parse_versions(&settings.versions)?;
        if versions.is_empty() {
            return Ok(Self::none(settings));
        }
        let at = |name: &str| settings.directory.join(name);
        let chain = certificates(&at(&settings.cert))?;
        let key_path = at(&settings.key);
        let key = PrivateKeyDer::from_pem_file(&key_path).map_err(|error| failed("key", &key_path, &error))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(|error| TlsError(format!("tls_version `{}`: {error}", settings.versions)))?;
        let builder = if settings.ca.is_empty() {
            builder.with_no_client_auth()
        } else {
            let path = at(&settings.ca);
            let mut roots = RootCertStore::empty();
            for authority in certificates(&path)? {
                roots.add(authority).map_err(|error| failed("certificate", &path, &error))?;
            }
            let mut verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).allow_unauthenticated();
            if !settings.crl.is_empty() {
                let path = at(&settings.crl);
                let lists: Result<Vec<_>, _> = CertificateRevocationListDer::pem_file_iter(&path).and_then(Iterator::collect);
                let lists = lists.map_err(|error| failed("revocation list", &path, &error))?;
                verifier = verifier.with_crls(lists).allow_unknown_revocation_status();
            }
            builder.with_client_cert_verifier(verifier.build().map_err(|error| failed("certificate", &path, &error))?)
        };
        let validity = validity(&chain[0]);
        let config = builder.with_single_cert(chain, key).map_err(|error| failed("key", &key_path, &error))?;
        let suites = provider.cipher_suites.iter().filter(|suite| versions.contains(&suite.version()));
        let ciphers: Vec<_> = suites.map(|suite| cipher_name(suite.suite())).collect();
        Ok(Self { config: Some(Arc::new(config)), settings, validity, ciphers: ciphers.join(":") })
    }
}

fn failed(what: &str, path: &Path, error: &dyn fmt::Display) -> TlsError {
    TlsError(format!("{what} {}: {error}", path.display()))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let read = read.map_err(|error| failed("certificate", path, &error))?;
    if read.is_empty() { Err(failed("certificate", path, &"there is none in this file")) } else { Ok(read) }
}

/// The versions that a list names; a list with another name in it is refused.
fn parse_versions(list: &str) -> Result<Vec<&'static SupportedProtocolVersion>, TlsError> {
    let mut versions = Vec::new();
    for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        versions.push(match name.to_ascii_lowercase().as_str() {
            "tlsv1.2" => &version::TLS12,
            "tlsv1.3" => &version::TLS13,
            _ => return Err(TlsError(format!("tls_version `{list}`: TLSv1.2 and TLSv1.3 are known"))),
        });
    }
    Ok(versions)
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// From when to when a certificate is good, such as `Nov 18 00:16:47 2036 GMT`.
fn validity(certificate: &CertificateDer<'_>) -> (String, String) {
    let Ok(certificate) = Certificate::from_der(certificate) else { return Default::default() };
    let told = |time: x509_cert::time::Time| {
        let time = time.to_date_time();
        let month = MONTHS[usize::from(time.month() - 1) % 12];
        format!("{month} {:2} {:02}:{:02}:{:02} {} GMT", time.day(), time.hour(), time.minutes(), time.seconds(), time.year())
    };
    let validity = certificate.tbs_certificate.validity;
    (told(validity.not_before), told(validity.not_after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;

    fn settings(directory: &Path) -> Settings {
        Settings {
            directory: directory.to_owned(),
            ca: files::CA_CERT.into(),
            crl: String::new(),
            cert: files::SERVER_CERT.into(),
            key: files::SERVER_KEY.into(),
            versions: "TLSv1.2,TLSv1.3".into(),
        }
    }

    #[test]
    fn what_cannot_be_loaded_changes_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        files::make_missing(dir.path(), "").expect("made");
        let (tls, good) = (Tls::off(), settings(dir.path()));
        assert!(tls.current().config.is_none());
        tls.load(good.clone()).expect("good");
        assert!(tls.current().ciphers.starts_with("TLS_AES_"), "{}", tls.current().ciphers);
        assert!(tls.current().validity.1.ends_with(" GMT"));
        for (change, told) in [
            (Settings { ca: "nonsuch.pem".into(), ..good.clone() }, "nonsuch.pem"),
            (Settings { key: files::CLIENT_KEY.into(), ..good.clone() }, "client-key.pem"),
            (Settings { cert: files::SERVER_KEY.into(), ..good.clone() }, "there is none"),
            (Settings { versions: "TLSv1.1".into(), ..good.clone() }, "TLSv1.1"),
        ] {
            let error = tls.load(change).expect_err("bad").to_string();
            assert!(error.contains(told), "{error}");
            assert_eq!(tls.current().settings, good);
        }
        tls.load(Settings { versions: "TLSv1.3".into(), ..good.clone() }).expect("good");
        assert!(!tls.current().ciphers.contains("ECDHE"));
        tls.load(Settings { versions: String::new(), ..good }).expect("off");
        assert!(tls.current().config.is_none());
    }
}
