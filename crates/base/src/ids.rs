//! Newtypes for ids. Zero is "none".

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $int:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $int);

        impl $name {
            /// The absent id.
            pub const NONE: $name = $name(0);

            /// Whether this is the absent id.
            pub const fn is_none(self) -> bool {
                self.0 == 0
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id!(
    /// Number of a 16 KiB page in the data file: byte offset / 16384. Page 0 is the file header.
    PageNo, u64
);
id!(
    /// Position in the log stream, in bytes since the log was created.
    Lsn, u64
);
id!(
    /// Id of a writing transaction; taken at its first write. Ids grow and are never reused.
    TxnId, u64
);
id!(
    /// Id of a B+tree. Never reused.
    IndexId, u32
);
id!(
    /// Id of a table. Never reused.
    TableId, u32
);
id!(
    /// Frame of the buffer pool.
    FrameNo, u32
);
id!(
    /// Address of an undo record: segment number << 20 | offset in the 1 MiB segment.
    UndoPtr, u64
);

impl UndoPtr {
    /// Bits of the offset.
    pub const OFFSET_BITS: u32 = 20;

    /// Builds an address. `offset` is below 1 MiB; segment numbers start at 1.
    pub const fn new(segment: u64, offset: u32) -> UndoPtr {
        assert!(offset < 1 << Self::OFFSET_BITS);
        UndoPtr(segment << Self::OFFSET_BITS | offset as u64)
    }

    /// Segment number.
    pub const fn segment(self) -> u64 {
        self.0 >> Self::OFFSET_BITS
    }

    /// Byte offset in the segment.
    pub const fn offset(self) -> u32 {
        (self.0 & ((1 << Self::OFFSET_BITS) - 1)) as u32
    }
}
