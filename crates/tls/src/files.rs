//! The files of certificates and keys: made when there are none.

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, SerialNumber};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The authority's certificate.
pub const CA_CERT: &str = "ca.pem";
/// The authority's key, with which more certificates can be signed.
const CA_KEY: &str = "ca-key.pem";
/// The server's certificate.
pub const SERVER_CERT: &str = "server-cert.pem";
/// The server's key.
pub const SERVER_KEY: &str = "server-key.pem";
/// A client's certificate, for accounts that ask for one.
pub const CLIENT_CERT: &str = "client-cert.pem";
/// That client's key.
pub const CLIENT_KEY: &str = "client-key.pem";

/// How long certificates made here are good: ten years, as MySQL's.
const VALIDITY: Duration = Duration::from_secs(3650 * 86_400);
/// Clocks differ: certificates are good since a day before they were made.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(86_400);

/// Makes authority, certificates and keys in a data directory that has none of the server's; true when it did. `name` is the host's.
pub fn make_missing(directory: &Path, name: &str) -> io::Result<bool> {
    if [CA_CERT, SERVER_CERT, SERVER_KEY].iter().any(|file| directory.join(file).exists()) {
        return Ok(false);
    }
    let made = make(name).map_err(io::Error::other)?;
    for (file, text, secret) in &made {
        // Client's files and the authority's key may be left of an earlier start that ended here; they are of no use any more.
        match std::fs::remove_file(directory.join(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mode = if *secret { 0o600 } else { 0o644 };
        let mut out = OpenOptions::new().write(true).create_new(true).mode(mode).open(directory.join(file))?;
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
    }
    Ok(true)
}

/// Files in the order in which they are written: those that tell `make_missing` that it has been here come last.
fn make(name: &str) -> Result<[(&'static str, String, bool); 6], rcgen::Error> {
    let mut ca = params("Altiplano_Auto_Generated_CA_Certificate", 1);
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca_key = KeyPair::generate()?;
    let ca_cert = ca.self_signed(&ca_key)?.pem();
    let ca_key_text = ca_key.serialize_pem();
    let issuer = Issuer::new(ca, ca_key);

    let mut server = params("Altiplano_Auto_Generated_Server_Certificate", 2);
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    if !name.is_empty() && !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
    // A host's name that no certificate can hold is left out.
    server.subject_alt_names =
        names.into_iter().filter_map(|name| CertificateParams::new(vec![name]).ok()).flat_map(|p| p.subject_alt_names).collect();
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let server_key = KeyPair::generate()?;
    let server_cert = server.signed_by(&server_key, &issuer)?.pem();

    let mut client = params("Altiplano_Auto_Generated_Client_Certificate", 3);
    client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let client_key = KeyPair::generate()?;
    let client_cert = client.signed_by(&client_key, &issuer)?.pem();
    Ok([
        (CA_KEY, ca_key_text, true),
        (CLIENT_CERT, client_cert, false),
        (CLIENT_KEY, client_key.serialize_pem(), true),
        (SERVER_KEY, server_key.serialize_pem(), true),
        (SERVER_CERT, server_cert, false),
        (CA_CERT, ca_cert, false),
    ])
}

fn params(name: &str, serial: u64) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let now = SystemTime::now();
    params.not_before = (now - CLOCK_DIFFERENCE).into();
    params.not_after = (now + VALIDITY).into();
    params.serial_number = Some(SerialNumber::from(serial));
    params
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn keys_are_their_owners_and_nothing_is_made_twice() {
        let dir = tempfile::tempdir().expect("a directory");
        assert!(make_missing(dir.path(), "db.example").expect("made"));
        for key in [CA_KEY, SERVER_KEY, CLIENT_KEY] {
            let mode = std::fs::metadata(dir.path().join(key)).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{key}");
        }
        let before = std::fs::read(dir.path().join(SERVER_CERT)).expect("there");
        assert!(!make_missing(dir.path(), "db.example").expect("left alone"));
        assert_eq!(before, std::fs::read(dir.path().join(SERVER_CERT)).expect("there"));
        // One of an operator's files is enough to leave all alone.
        std::fs::remove_file(dir.path().join(CA_CERT)).expect("removed");
        assert!(!make_missing(dir.path(), "db.example").expect("left alone"));
    }
}
