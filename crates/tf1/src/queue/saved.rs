//! Saves the elements of a queue as bytes and restores them; see [`headrace_engine::saved`].

use super::accepted::Accepted;
use super::core::Core;
use super::packing::Packing;
use super::request::Request;
use super::store::Store;
use super::{Element, Queue};
use headrace_engine::error::{Error, Result};
use headrace_engine::kernel::Tensors;
use headrace_engine::saved::{Chunks, Content, Reading, Restore, SavedChunks, damaged};
use std::collections::VecDeque;
use std::sync::Arc;

/// A chunk ends after the element with which it reaches this length.
const CHUNK_BYTES: usize = 1 << 20;

/// The content of a queue, without its statistics.
struct Holding {
    store: Store,
    accepted: Accepted,
    is_closed: bool,
}

impl Core {
    /// Returns true if a waiting call holds elements.
    fn is_busy(&self) -> bool {
        let holds = |(request, _): &(Request, _)| !matches!(request, Request::Dequeue { collected, .. } if collected.is_empty());
        !self.enqueues.is_empty() || self.dequeues.iter().any(holds)
    }

    /// Replaces the content.
    fn replace(&mut self, holding: Holding) {
        let Holding { store, accepted, is_closed } = holding;
        (self.store, self.accepted, self.is_closed, self.was_cancelled) = (store, accepted, is_closed, false);
        self.flush();
    }
}

impl Queue {
    /// Saves the state and the elements, in order. The first chunk describes the state.
    ///
    /// Fails if an enqueue is waiting, or if a close has cancelled one, because its elements are
    /// not in the queue.
    pub fn save(&self) -> Result<Chunks> {
        let (head, elements) = {
            let core = self.core.lock();
            self.check_quiet(&core)?;
            let mut head = Content::default();
            head.flag(core.is_closed);
            head.flag(core.accepted.is_close_due);
            head.number(core.size() as u64);
            core.store.save_random(&mut head);
            let elements: VecDeque<Element> = core.store.elements().chain(&core.accepted.elements).cloned().collect();
            (head, elements)
        };
        let encoding = Encoding { elements, packing: Arc::clone(&self.packing) };
        Ok(Box::new(std::iter::once(Ok(head.into_bytes())).chain(encoding)))
    }

    fn check_quiet(&self, core: &Core) -> Result<()> {
        let (class, name) = (self.spec.class(), &self.spec.name);
        if core.was_cancelled {
            return Err(Error::failed_precondition(format!(
                "{class} '{name}' was closed by a stop, which drops the elements of waiting enqueues. Save before \
                 coord.request_stop(), or before the queue is closed with cancel_pending_enqueues."
            )));
        }
        if core.is_busy() {
            return Err(Error::failed_precondition(format!(
                "{class} '{name}' is in use: an enqueue is waiting for room, or a dequeue has taken some elements \
                 and is waiting for more. Wait until the runs of other threads have finished."
            )));
        }
        Ok(())
    }

    /// Replaces the elements with saved ones. Fails if they don't match the queue.
    pub fn prepare(self: &Arc<Self>, chunks: SavedChunks) -> Result<Restore> {
        let head = chunks.next().ok_or_else(damaged)??;
        let mut reading = Reading::new(&head);
        let (is_closed, is_close_due, size) = (reading.flag()?, reading.flag()?, reading.size()?);
        let mut store = Store::new(self.spec.order);
        store.restore_random(&mut reading)?;
        reading.end()?;
        let mut accepted = Accepted { is_close_due, ..Accepted::default() };
        for chunk in chunks {
            let chunk = chunk?;
            let mut reading = Reading::new(&chunk);
            while !reading.is_at_end() {
                let element = self.read_element(&mut reading)?;
                match store.len() < size {
                    true => store.push(element),
                    false => accepted.elements.push_back(element),
                }
            }
        }
        if store.len() < size || (is_closed && !accepted.is_empty()) {
            return Err(damaged());
        }
        let (queue, holding) = (Arc::clone(self), Holding { store, accepted, is_closed });
        Ok(Box::new(move || queue.change(|core| core.replace(holding))))
    }

    fn read_element(&self, reading: &mut Reading) -> Result<Element> {
        let components = self.spec.dtypes.iter().map(|_| reading.tensor());
        self.element(&mut components.collect::<Result<Tensors>>()?)
    }
}

/// Encodes elements in chunks, and frees each element once it is encoded.
struct Encoding {
    elements: VecDeque<Element>,
    packing: Arc<Packing>,
}

impl Encoding {
    fn chunk(&mut self) -> Result<Vec<u8>> {
        let mut content = Content::default();
        while content.len() < CHUNK_BYTES
            && let Some(element) = self.elements.pop_front()
        {
            let components = self.packing.unpack(element)?;
            components.iter().try_for_each(|component| content.tensor(component))?;
        }
        Ok(content.into_bytes())
    }
}

impl Iterator for Encoding {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.elements.is_empty() { None } else { Some(self.chunk()) }
    }
}
