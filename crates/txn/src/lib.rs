//! Transaction ids, committed-bits ring, read views.
