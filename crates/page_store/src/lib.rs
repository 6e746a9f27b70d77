//! Where a page lives on disk: placement, checksum, doublewrite.
