//! Statement dispatch, plan cache, variables, error mapping.
