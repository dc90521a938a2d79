//! What is stamped: a stage of a step, with its start and end.

/// Where a stage takes place, and so whose number an event carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Site {
    /// A rank of the source.
    Source,
    /// A PE of the back end.
    BackEnd,
    /// A session, or the page it belongs to.
    Viewer,
}

/// A stage that each step goes through, in the order of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// The source hands a step over, from `begin` to `end`.
    Put,
    /// A piece is sent, from its first datagram to its last.
    SendPiece,
    /// A PE receives a piece, from its first byte to its last.
    Receive,
    /// A step is read from a file, or taken from what was received.
    Load,
    /// Rendering, or making of proxies.
    Render,
    /// Proxies are compressed.
    Encode,
    /// A session sends, from the first message to the last.
    Send,
    /// The page has it, from the first byte to the acknowledgement.
    Receipt,
    /// Up to the first picture with it on the screen.
    Draw,
}

impl Site {
    /// What its members are called, in files and pictures.
    #[must_use]
    pub fn member(self) -> &'static str {
        match self {
            Self::Source => "rank",
            Self::BackEnd => "pe",
            Self::Viewer => "session",
        }
    }
}

impl Stage {
    /// All stages, in the order of the path.
    pub const ALL: [Self; 9] = [
        Self::Put,
        Self::SendPiece,
        Self::Receive,
        Self::Load,
        Self::Render,
        Self::Encode,
        Self::Send,
        Self::Receipt,
        Self::Draw,
    ];

    /// Its name in files and pictures.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Put => "source put",
            Self::SendPiece => "piece sent",
            Self::Receive => "receive",
            Self::Load => "load",
            Self::Render => "render",
            Self::Encode => "encode",
            Self::Send => "send",
            Self::Receipt => "viewer receipt",
            Self::Draw => "drawn",
        }
    }

    /// The stage of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }

    /// Where it takes place.
    #[must_use]
    pub fn site(self) -> Site {
        match self {
            Self::Put | Self::SendPiece => Site::Source,
            Self::Receive | Self::Load | Self::Render | Self::Encode => Site::BackEnd,
            Self::Send | Self::Receipt | Self::Draw => Site::Viewer,
        }
    }
}

/// One stage of one step at one rank, PE or session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The stage.
    pub stage: Stage,
    /// Which rank, PE or session, by the stage's site.
    pub member: u32,
    /// The time step.
    pub step: u64,
    /// Bytes that were moved, 0 where that says nothing.
    pub bytes: u64,
    /// Start, in nanoseconds of the clock that [`crate::now_ns`] reads (in a file: of the session's clock).
    pub start_ns: i64,
    /// End, likewise; not before the start.
    pub end_ns: i64,
}
