//! Who is at the other end of an encrypted connection.

use rustls::pki_types::CertificateDer;
use rustls::{ProtocolVersion, ServerConnection};
use std::fmt::Write;
use x509_cert::Certificate;
use x509_cert::der::{Decode, asn1::ObjectIdentifier};
use x509_cert::name::Name;

/// The names in a client's certificate, which the server's authority has signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCertificate {
    /// Whom it is for, as `REQUIRE SUBJECT` writes it: `/C=SE/O=Example/CN=client`.
    pub subject: String,
    /// Who signed it, as `REQUIRE ISSUER` writes it.
    pub issuer: String,
}

/// What was agreed on with the client of an encrypted connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secured {
    /// `TLSv1.2` or `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite in OpenSSL's spelling.
    pub cipher: &'static str,
    /// An earlier session was resumed.
    pub resumed: bool,
    /// The certificate that the client has shown, if it has one.
    pub peer: Option<PeerCertificate>,
}

impl Secured {
    /// Of a connection whose handshake is over.
    pub fn of(connection: &ServerConnection) -> Self {
        let version = match connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
            _ => "TLSv1.3",
        };
        let suite = connection.negotiated_cipher_suite().map(|suite| suite.suite());
        let peer = connection.peer_certificates().and_then(<[_]>::first).and_then(PeerCertificate::read);
        let resumed = connection.handshake_kind() == Some(rustls::HandshakeKind::Resumed);
        Self { version, cipher: suite.map_or("", cipher_name), resumed, peer }
    }
}

/// The name by which OpenSSL, and so MySQL's status variables, call a suite.
pub(crate) fn cipher_name(suite: rustls::CipherSuite) -> &'static str {
    use rustls::CipherSuite as S;
    match suite {
        S::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        S::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        S::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        S::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => "ECDHE-ECDSA-AES128-GCM-SHA256",
        S::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => "ECDHE-ECDSA-AES256-GCM-SHA384",
        S::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-ECDSA-CHACHA20-POLY1305",
        S::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => "ECDHE-RSA-AES128-GCM-SHA256",
        S::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => "ECDHE-RSA-AES256-GCM-SHA384",
        S::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-RSA-CHACHA20-POLY1305",
        _ => "",
    }
}

impl PeerCertificate {
    /// Of a certificate's bytes; `None` when they are none.
    pub fn read(certificate: &CertificateDer<'_>) -> Option<Self> {
        let certificate = Certificate::from_der(certificate).ok()?.tbs_certificate;
        Some(Self { subject: one_line(&certificate.subject), issuer: one_line(&certificate.issuer) })
    }
}

/// Attribute types by the names that OpenSSL gives them.
const ATTRIBUTES: &[(&str, &str)] = &[
    ("2.5.4.3", "CN"),
    ("2.5.4.4", "SN"),
    ("2.5.4.5", "serialNumber"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "street"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.12", "title"),
    ("2.5.4.13", "description"),
    ("2.5.4.17", "postalCode"),
    ("2.5.4.42", "GN"),
    ("2.5.4.43", "initials"),
    ("2.5.4.46", "dnQualifier"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
];

/// A name in one line, as accounts write it.
fn one_line(name: &Name) -> String {
    let mut line = String::new();
    for attribute in name.0.iter().flat_map(|set| set.0.iter()) {
        line.push('/');
        put_type(&mut line, attribute.oid);
        line.push('=');
        for &byte in attribute.value.value() {
            match byte {
                b' '..=b'~' => line.push(char::from(byte)),
                // As OpenSSL writes it, and so as it stands in statements.
                _ => {
                    let _ = write!(line, "\\x{byte:02X}");
                }
            }
        }
    }
    line
}

fn put_type(line: &mut String, oid: ObjectIdentifier) {
    let number = oid.to_string();
    let name = ATTRIBUTES.iter().find(|(known, _)| *known == number).map_or(number.as_str(), |(_, name)| name);
    line.push_str(name);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, KeyPair};

    #[test]
    fn names_are_written_as_openssl_writes_them() {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CountryName, "SE");
        params.distinguished_name.push(DnType::OrganizationName, "Exämple");
        params.distinguished_name.push(DnType::CommonName, "a client");
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("signed");
        let names = PeerCertificate::read(certificate.der()).expect("a certificate");
        assert_eq!(names.subject, "/C=SE/O=Ex\\xC3\\xA4mple/CN=a client");
        assert_eq!(names.issuer, names.subject);
        assert_eq!(PeerCertificate::read(&CertificateDer::from(vec![0x30, 0x82, 1])), None);
    }
}
