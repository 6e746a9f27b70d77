//! MySQL error numbers, SQLSTATEs and message templates.
