//! Tables as sets of indexes; recovery, checkpoint, purge; the storage API.
