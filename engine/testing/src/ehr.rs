//! An EHR of insurance plans and patients that answers as a test scripts it.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use location::Resource;
use records::{Description, Ehr, EhrFuture, EhrPatient, EhrRecord, Fault, Page, PullAbility, Receipt, Write};
use tokio::sync::watch;

use crate::Counter;

/// An EHR with scripted pages and writes. By default it takes insurance plans and shows no patients.
pub struct FakeEhr {
    /// The result of `describe`. By default patients can be read, and insurance plans written.
    pub description: Description,
    /// Makes the result of the pull with this number, counted from 0.
    pub page: Box<dyn Fn(usize) -> Result<Page, Fault> + Send + Sync>,
    /// Makes the result of the write with this number, counted from 0.
    pub write: Box<dyn Fn(usize) -> Result<Receipt, Fault> + Send + Sync>,
    /// Pulls wait while this is `false`.
    pub readable: watch::Sender<bool>,
    /// Writes wait while this is `false`.
    pub writable: watch::Sender<bool>,
    /// Answers writes with `Fault::RetryLater`, without counting them as `pushed`.
    pub shut: AtomicBool,
    /// Calls of `describe`.
    pub described: Counter,
    /// Calls of `pull`, also those that wait.
    pub pulled: Counter,
    /// Cursors of the pulls so far, in order.
    pub cursors: Mutex<Vec<Option<String>>>,
    /// Calls of `push`, also those that wait or are put off.
    pub attempted: Counter,
    /// Writes that were neither put off nor wait.
    pub pushed: Counter,
    /// Calls of `find`, which finds nothing.
    pub looked_up: Counter,
}

impl Default for FakeEhr {
    fn default() -> Self {
        let pulls = vec![PullAbility { resource: Resource::Patients, delta: true, deletions_by_absence: false }];
        let writes = vec!["create-insurance-plan".to_owned()];
        FakeEhr {
            description: Description { pulls, writes, ..Description::default() },
            page: Box::new(|_| Ok(Page { last: true, ..Page::default() })),
            write: Box::new(|number| Ok(Receipt { id: format!("written {number}"), version: None })),
            readable: watch::Sender::new(true),
            writable: watch::Sender::new(true),
            shut: AtomicBool::new(false),
            described: Counter::default(),
            pulled: Counter::default(),
            cursors: Mutex::default(),
            attempted: Counter::default(),
            pushed: Counter::default(),
            looked_up: Counter::default(),
        }
    }
}

impl FakeEhr {
    /// Creates an EHR that shows one patient per page. `patient` makes identifier and last name from the page's number.
    /// The page before `pages`, and each page after it, ends its pass.
    pub fn with_patients(pages: usize, patient: impl Fn(usize) -> (String, String) + Send + Sync + 'static) -> FakeEhr {
        let page = move |number: usize| -> Result<Page, Fault> {
            let (id, last_name) = patient(number);
            let records = vec![EhrRecord::Patient(EhrPatient { id, last_name, ..EhrPatient::default() })];
            Ok(Page { records, cursor: number.to_string(), last: number + 1 >= pages, ..Page::default() })
        };
        FakeEhr { page: Box::new(page), ..FakeEhr::default() }
    }

    /// Returns the cursors of the pulls so far, in order.
    pub fn cursors(&self) -> Vec<Option<String>> {
        self.cursors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts writes off, or takes them again.
    pub fn set_shut(&self, shut: bool) {
        self.shut.store(shut, Ordering::SeqCst);
    }
}

impl Ehr for FakeEhr {
    fn describe(&self, _: Duration) -> EhrFuture<'_, Description> {
        self.described.add(1);
        Box::pin(async { Ok(self.description.clone()) })
    }

    fn pull(&self, _: Resource, cursor: Option<String>, _: u32, _: Duration) -> EhrFuture<'_, Page> {
        self.cursors.lock().unwrap_or_else(PoisonError::into_inner).push(cursor);
        let (number, mut readable) = (self.pulled.add(1), self.readable.subscribe());
        Box::pin(async move {
            readable.wait_for(|readable| *readable).await.expect("the EHR holds a sender");
            (self.page)(number)
        })
    }

    fn push(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Receipt> {
        self.attempted.add(1);
        if self.shut.load(Ordering::SeqCst) {
            return Box::pin(async { Err(Fault::RetryLater { reason: "shut".into(), after: None }) });
        }
        let mut writable = self.writable.subscribe();
        Box::pin(async move {
            writable.wait_for(|writable| *writable).await.expect("the EHR holds a sender");
            (self.write)(self.pushed.add(1))
        })
    }

    fn find(&self, _: String, _: Write, _: Duration) -> EhrFuture<'_, Option<Receipt>> {
        self.looked_up.add(1);
        Box::pin(async { Ok(None) })
    }
}
