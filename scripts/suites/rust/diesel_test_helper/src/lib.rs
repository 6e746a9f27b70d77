//! Stands in for the crate of this name in diesel's tree, which is on no registry: its `#[test]`. Written for `scripts/suites/rust_diesel.py`; not diesel's code.

use proc_macro::TokenStream;

/// A test like any other.
#[proc_macro_attribute]
pub fn test(_: TokenStream, item: TokenStream) -> TokenStream {
    let mut test: TokenStream = "#[::core::prelude::v1::test]".parse().expect("an attribute");
    test.extend(item);
    test
}
