//! What the server itself says of a workload's tables.

use crate::blocking::Blocking;

/// `CHECK TABLE` of each: the server compares indexes with rows.
pub(super) fn check(control: &mut Blocking, names: &[&str]) -> Result<String, String> {
    for name in names {
        let said = control.last_of(&format!("CHECK TABLE {name}"), 3)?;
        if said != "OK" {
            return Err(format!("{name}: {said}"));
        }
    }
    Ok(format!("{}: the server says OK", names.join(", ")))
}
