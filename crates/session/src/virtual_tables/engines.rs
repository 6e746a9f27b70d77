//! `information_schema.ENGINES`, `PLUGINS`, `USER_PRIVILEGES`: what this server is.

use super::column::{folded, information_schema};
use super::{VirtualTable, listed};
use crate::context::Core;
use crate::shared::SERVER_VERSION;
use crate::show;
use catalog::VirtualRequest;
use executor::VirtualRows;
use types::Value;

pub(super) fn engines() -> VirtualTable {
    let columns = vec![
        ("ENGINE", folded(64).not_null()),
        ("SUPPORT", folded(8).not_null()),
        ("COMMENT", folded(80).not_null()),
        ("TRANSACTIONS", folded(3)),
        ("XA", folded(3)),
        ("SAVEPOINTS", folded(3)),
    ];
    VirtualTable { def: information_schema("ENGINES", &[], 1.0, columns), rows: all_engines }
}

pub(super) fn plugins() -> VirtualTable {
    let columns = vec![
        ("PLUGIN_NAME", folded(64).not_null()),
        ("PLUGIN_VERSION", folded(20).not_null()),
        ("PLUGIN_STATUS", folded(10).not_null()),
        ("PLUGIN_TYPE", folded(80).not_null()),
        ("PLUGIN_TYPE_VERSION", folded(20).not_null()),
        ("PLUGIN_LIBRARY", folded(64)),
        ("PLUGIN_LIBRARY_VERSION", folded(20)),
        ("PLUGIN_AUTHOR", folded(64)),
        ("PLUGIN_DESCRIPTION", folded(65535)),
        ("PLUGIN_LICENSE", folded(80)),
        ("LOAD_OPTION", folded(64).not_null()),
    ];
    VirtualTable { def: information_schema("PLUGINS", &[], 3.0, columns), rows: all_plugins }
}

pub(super) fn user_privileges() -> VirtualTable {
    let columns = vec![
        ("GRANTEE", folded(292).not_null()),
        ("TABLE_CATALOG", folded(512).not_null()),
        ("PRIVILEGE_TYPE", folded(64).not_null()),
        ("IS_GRANTABLE", folded(3).not_null()),
    ];
    VirtualTable { def: information_schema("USER_PRIVILEGES", &[], 30.0, columns), rows: super::account_rows::users }
}

fn all_engines(_core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(listed(vec![show::ENGINE.into_iter().map(Value::from).collect()]))
}

fn all_plugins(_core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let row = |(name, kind): (&str, &str)| {
        vec![
            name.into(),
            "1.0".into(),
            "ACTIVE".into(),
            kind.into(),
            SERVER_VERSION.split('-').next().into(),
            Value::Null,
            Value::Null,
            "Altiplano".into(),
            "Built into the server".into(),
            "Apache-2.0".into(),
            "FORCE".into(),
        ]
    };
    Ok(listed(show::PLUGINS.into_iter().map(row).collect()))
}
