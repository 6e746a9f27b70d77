//! State that is lent: set while something runs, and as it was before afterwards. Also when what runs panics, for the session goes on.

use crate::client_session::ClientSession;

/// Gives back what was lent when it goes.
struct Lent<'s, B, G: FnOnce(&mut ClientSession, B)> {
    session: &'s mut ClientSession,
    back: Option<(B, G)>,
}

impl<B, G: FnOnce(&mut ClientSession, B)> Drop for Lent<'_, B, G> {
    fn drop(&mut self) {
        if let Some((before, give_back)) = self.back.take() {
            give_back(self.session, before);
        }
    }
}

impl ClientSession {
    /// Runs something with what was set just now; `give_back` sets what was there before.
    pub(crate) fn lending<B, T>(
        &mut self,
        before: B,
        give_back: impl FnOnce(&mut ClientSession, B),
        run: impl FnOnce(&mut ClientSession) -> T,
    ) -> T {
        let lent = Lent { session: self, back: Some((before, give_back)) };
        run(&mut *lent.session)
    }

    /// Runs something with another current database.
    #[cold]
    pub(crate) fn in_database<T>(&mut self, database: Option<Box<str>>, run: impl FnOnce(&mut ClientSession) -> T) -> T {
        let own = std::mem::replace(&mut self.core.database, database);
        self.outer_databases.push(own);
        self.environment = 0;
        let give_back = |session: &mut ClientSession, ()| {
            session.core.database = session.outer_databases.pop().flatten();
            session.environment = 0;
        };
        self.lending((), give_back, run)
    }
}
