//! The order of a device's work: whoever comes first is served first, one at a time.
//!
//! Submissions, asynchronous ones too, and everything else that reads or writes resources take a ticket when they are
//! *called* and do their work when it is their ticket's turn. So an upload after `submit_async` never reaches
//! the submission before it, and results don't depend on how threads are scheduled.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

#[derive(Debug, Default)]
struct Counters {
    /// Next ticket to hand out.
    next: u64,
    /// The ticket being served.
    serving: u64,
}

/// A queue of tickets.
#[derive(Debug, Default)]
pub struct Turnstile {
    counters: Mutex<Counters>,
    moved: Condvar,
}

/// A place in the queue. Dropping it, used or not, lets the next one go on.
#[derive(Debug)]
pub struct Ticket {
    turnstile: Arc<Turnstile>,
    number: u64,
}

impl Turnstile {
    /// Takes a place.
    pub fn ticket(self: &Arc<Self>) -> Ticket {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let number = counters.next;
        counters.next += 1;
        Ticket {
            turnstile: self.clone(),
            number,
        }
    }

    /// Takes a place and waits for its turn.
    pub fn enter(self: &Arc<Self>) -> Ticket {
        let ticket = self.ticket();
        ticket.wait();
        ticket
    }
}

impl Ticket {
    /// Waits until everyone before has finished.
    pub fn wait(&self) {
        let mut counters = self.turnstile.counters.lock().unwrap_or_else(PoisonError::into_inner);
        while counters.serving != self.number {
            counters = self
                .turnstile
                .moved
                .wait(counters)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.wait();
        let mut counters = self.turnstile.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.serving += 1;
        drop(counters);
        self.turnstile.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_are_served_in_the_order_they_were_taken() {
        let turnstile = Arc::new(Turnstile::default());
        let order = Arc::new(Mutex::new(Vec::new()));
        let tickets: Vec<_> = (0..8).map(|_| turnstile.ticket()).collect();
        std::thread::scope(|scope| {
            for (i, ticket) in tickets.into_iter().enumerate().rev() {
                let order = order.clone();
                scope.spawn(move || {
                    ticket.wait();
                    order.lock().expect("not poisoned").push(i);
                });
            }
        });
        assert_eq!(*order.lock().expect("not poisoned"), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn an_unused_ticket_does_not_block() {
        let turnstile = Arc::new(Turnstile::default());
        drop(turnstile.ticket());
        drop(turnstile.enter());
        let (a, b) = (turnstile.ticket(), turnstile.ticket());
        drop(a);
        b.wait();
    }
}
