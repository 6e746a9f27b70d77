//! Extents and pages: free, or owned by which index.
