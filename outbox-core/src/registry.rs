//! The handlers that are linked into this binary.

use std::collections::BTreeMap;

use crate::Handler;

/// What `#[event_handler]` submits to the crate `inventory`.
#[derive(Debug, Clone, Copy)]
pub struct Registration(pub &'static Handler);

inventory::collect!(Registration);

/// The handlers that are linked into this binary.
///
/// A crate of handlers that the binary never names may be left out by the linker, and then registers nothing: name
/// its handlers with `builder.handlers([&mailer::HANDLER])`, or have the start fail with `builder.expect_handlers`.
#[derive(Debug, Clone)]
pub struct Registry {
    handlers: Vec<&'static Handler>,
}

impl Registry {
    /// Collects every annotated handler, by name, then by place in the source.
    #[must_use]
    pub fn collect() -> Self {
        Self::of(inventory::iter::<Registration>().map(|registration| registration.0))
    }

    pub(crate) fn of(handlers: impl IntoIterator<Item = &'static Handler>) -> Self {
        let mut handlers: Vec<_> = handlers.into_iter().collect();
        handlers
            .sort_by_key(|handler| (handler.name(), handler.written_at().file, handler.written_at().line));
        // A handler registered by hand and by the linker is one handler.
        handlers.dedup_by(|a, b| std::ptr::eq(*a, *b));
        Self { handlers }
    }

    /// The handler of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'static Handler> {
        self.handlers.iter().find(|handler| handler.name() == name).copied()
    }

    /// The handlers of that event type.
    pub fn for_event<'a>(&'a self, event_type: &'a str) -> impl Iterator<Item = &'static Handler> + 'a {
        self.handlers.iter().copied().filter(move |handler| handler.event_type() == event_type)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &'static Handler> + '_ {
        self.handlers.iter().copied()
    }

    /// Names that more than one handler has, with all of their places.
    #[must_use]
    pub fn duplicates(&self) -> Vec<Vec<&'static Handler>> {
        let mut by_name = BTreeMap::<_, Vec<_>>::new();
        for handler in self.iter() {
            by_name.entry(handler.name()).or_default().push(handler);
        }
        by_name.into_values().filter(|handlers| handlers.len() > 1).collect()
    }
}
