//! Counted steps of searches that may take long: their caller is asked now and then whether to go on.

/// Says whether a search is to go on.
pub type Look<'l, E> = &'l dyn Fn() -> Result<(), E>;

/// Steps between two looks.
const STEPS_PER_LOOK: u32 = 4096;

pub(crate) struct Steps<'l, E> {
    left: u32,
    look: Look<'l, E>,
}

impl<'l, E> Steps<'l, E> {
    pub(crate) fn new(look: Look<'l, E>) -> Self {
        Self { left: STEPS_PER_LOOK, look }
    }

    #[inline]
    pub(crate) fn step(&mut self) -> Result<(), E> {
        self.left -= 1;
        if self.left == 0 { self.look_again() } else { Ok(()) }
    }

    #[cold]
    fn look_again(&mut self) -> Result<(), E> {
        self.left = STEPS_PER_LOOK;
        (self.look)()
    }
}
