//! INSTALL COMPONENT and UNINSTALL COMPONENT of the one that is built in: query attributes, which `mysql_query_attribute_string()` tells. What is installed is forgotten with
//! the server.

use crate::client_session::ClientSession;
use crate::context::Core;
use crate::error_map::Outcome;
use ::accounts::Privileges;
use catalog::VirtualRow;
use mysql_error::SqlError;
use protocol::ParamValue;
use protocol::command::QueryAttributes;
use protocol::execute::Attribute;
use sync::atomic::Ordering;
use types::Value;

/// Its name.
const QUERY_ATTRIBUTES: &str = "file://component_query_attributes";

/// A name and its value as text; `None` for NULL.
pub(crate) type KeptAttribute = (Vec<u8>, Option<Vec<u8>>);

impl ClientSession {
    /// INSTALL COMPONENT (or UNINSTALL): all of those named, or none.
    #[cold]
    pub(crate) fn component(&mut self, install: bool, urns: &[&[u8]]) -> Result<(), Outcome> {
        let wants = if install { Privileges::INSERT } else { Privileges::DELETE };
        self.core.may_use_table("mysql", "component", wants)?;
        self.implicit_commit()?;
        let installed = &self.shared().query_attributes;
        for (no, urn) in urns.iter().enumerate() {
            let (is_built_in, again) = (*urn == QUERY_ATTRIBUTES.as_bytes(), urns[..no].contains(urn));
            let urn = String::from_utf8_lossy(urn);
            if !urn.contains("://") {
                return Err(SqlError::with_message(3527, format!("Cannot find schema in specified URN: '{urn}'.")).into());
            }
            if install && (!is_built_in || again || installed.load(Ordering::Relaxed)) {
                return Err(SqlError::with_message(3529, format!("Cannot load component from specified URN: '{urn}'.")).into());
            }
            if !install && (!is_built_in || again || !installed.load(Ordering::Relaxed)) {
                let message = format!("Component specified by URN '{urn}' to unload has not been loaded before.");
                return Err(SqlError::with_message(3537, message).into());
            }
        }
        installed.store(install, Ordering::Relaxed);
        Ok(())
    }

    /// Keeps what the client says of the statement that it sends, where somebody may ask for it; forgets what it has said of the one before.
    #[cold]
    pub(crate) fn keep_query_attributes(&mut self, attributes: &QueryAttributes<'_>) {
        self.core.query_attributes = Vec::new();
        if self.shared().query_attributes.load(Ordering::Relaxed)
            && let Ok(list) = attributes.decode()
        {
            self.core.query_attributes = list.iter().map(kept).collect();
        }
    }
}

/// An attribute as it is kept.
pub(crate) fn kept(attribute: &Attribute<'_>) -> KeptAttribute {
    /// As in MySQL, whether there is a fraction or not.
    const FRACTION_DIGITS: u8 = 6;
    let mut text = Vec::new();
    let value = match attribute.param.value {
        ParamValue::Null | ParamValue::LongData | ParamValue::OutOfRange => return (attribute.name.to_vec(), None),
        ParamValue::Int(n) => Value::Int(n),
        ParamValue::UInt(n) => Value::UInt(n),
        ParamValue::Float(n) => Value::Float(n),
        ParamValue::Double(n) => Value::Double(n),
        ParamValue::Bytes(bytes) => Value::bytes(bytes),
        ParamValue::DateTime(moment) => {
            moment.write_to(FRACTION_DIGITS, &mut text);
            return (attribute.name.to_vec(), Some(text));
        }
        ParamValue::Time(time) => {
            time.write_to(FRACTION_DIGITS, &mut text);
            return (attribute.name.to_vec(), Some(text));
        }
    };
    crate::reply::value_text::write(&value, &mut text);
    (attribute.name.to_vec(), Some(text))
}

/// What `mysql_query_attribute_string()` answers.
pub(crate) fn query_attribute(core: &Core, name: &[u8]) -> Value {
    let found = core.query_attributes.iter().find(|(kept, _)| kept == name);
    found.and_then(|(_, text)| text.as_deref()).map_or(Value::Null, Value::bytes)
}

/// The rows of `mysql.component`.
pub(crate) fn rows(core: &Core) -> Vec<VirtualRow> {
    match core.shared.query_attributes.load(Ordering::Relaxed) {
        true => vec![vec![Value::UInt(1), Value::UInt(1), QUERY_ATTRIBUTES.into()]],
        false => Vec::new(),
    }
}
