//! Servers that say no, say nothing, or say nonsense: the right fault, and never a page that is not one.

use std::{rc::Rc, time::Duration};

use records::ehr::{Fault, Resource};

use crate::{
    conformance::{EhrUnderTest, Subject, subject::timely},
    harness::flaky_proxy::{Trouble, When},
};

const HTML: &str = "<html><body>Zoë Łopata is on another page</body></html>";
/// JSON of nothing an EHR says.
const NONSENSE: [(&str, &str); 5] = [
    ("application/json", "{}"),
    ("text/html", HTML),
    ("application/json", "{\"a\":"),
    ("application/json", "[[1], null]"),
    ("application/json", ""),
];

/// A call of each kind with every request spoilt.
struct Ended {
    /// None where it asks nobody: an adapter behind a gate describes itself before there is a session.
    describe: Option<Option<Fault>>,
    pull: Option<Fault>,
    push: Option<Fault>,
    find: Option<Fault>,
}

impl Ended {
    fn reads(&self) -> impl Iterator<Item = (&'static str, &Option<Fault>)> {
        self.describe.iter().map(|ended| ("describe", ended)).chain([("pull", &self.pull), ("find", &self.find)])
    }

    fn each(&self, fits: impl Fn(&Fault) -> bool) {
        for (call, ended) in self.reads().chain([("push", &self.push)]) {
            let fault = ended.as_ref().unwrap_or_else(|| panic!("{call} took it for an answer"));
            assert!(fits(fault), "{call}: {fault:?}");
        }
    }

    /// Reads are to be tried again; a write is too, or its outcome is unknown.
    fn is_passing(&self, trouble: &Trouble) {
        for (call, ended) in self.reads() {
            let again = matches!(ended, Some(Fault::RetryLater { .. }));
            assert!(again, "{call} with {trouble:?}: {ended:?}");
        }
        let again = matches!(self.push, Some(Fault::RetryLater { .. } | Fault::Unknown(_)));
        assert!(again, "push with {trouble:?}: {:?}", self.push);
    }
}

async fn spoilt<S: EhrUnderTest>(subject: &Subject<S>, trouble: Trouble, deadline: Duration) -> Ended {
    let write = subject.fresh(subject.description.writes.first().map_or("create-patient", String::as_str)).await;
    subject.proxy.set(When::Each, trouble);
    let ehr = &subject.ehr;
    let describe = timely(deadline, ehr.describe(deadline)).await.err();
    let ended = Ended {
        describe: (!subject.description.gated).then_some(describe),
        pull: timely(deadline, ehr.pull(Resource::Patients, None, 10, deadline)).await.err(),
        find: timely(deadline, ehr.find(subject.key(), write.clone(), deadline)).await.err(),
        push: timely(deadline, ehr.push(subject.key(), write, deadline)).await.err(),
    };
    subject.proxy.calm();
    ended
}

const ENOUGH: Duration = Duration::from_secs(20);

pub async fn nobody_without_credentials<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    let said = Trouble::Answer(401, vec![("www-authenticate", "Bearer")], "{}");
    // Behind a gate that is a session which is over.
    let told = |fault: &Fault| match subject.description.gated {
        true => matches!(fault, Fault::GateClosed),
        false => matches!(fault, Fault::Unauthorized(_)),
    };
    spoilt(&subject, said, ENOUGH).await.each(told);
}

pub async fn too_many_requests_say_when<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    let said = Trouble::Answer(429, vec![("retry-after", "17")], "{}");
    let after = Some(Duration::from_secs(17));
    let waits = |fault: &Fault| matches!(fault, Fault::RetryLater { after: said, .. } if *said == after);
    spoilt(&subject, said, ENOUGH).await.each(waits);
}

pub async fn closed_for_maintenance<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    let said = Trouble::Answer(503, vec![("retry-after", "60")], HTML);
    spoilt(&subject, said, ENOUGH).await.each(|fault| matches!(fault, Fault::RetryLater { .. }));
}

pub async fn a_server_that_fails<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    for status in [500, 502, 504] {
        let said = Trouble::Answer(status, vec![("content-type", "text/html")], HTML);
        spoilt(&subject, said.clone(), ENOUGH).await.is_passing(&said);
    }
}

pub async fn answers_that_are_none<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    for (media_type, body) in NONSENSE {
        let said = Trouble::Answer(200, vec![("content-type", media_type)], body);
        spoilt(&subject, said.clone(), ENOUGH).await.is_passing(&said);
    }
}

pub async fn answers_that_break_off<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    for trouble in [Trouble::Half, Trouble::LoseReply, Trouble::LoseRequest] {
        spoilt(&subject, trouble.clone(), ENOUGH).await.is_passing(&trouble);
    }
}

pub async fn answers_that_are_late<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    let late = Trouble::Slow(Duration::from_secs(4));
    spoilt(&subject, late.clone(), Duration::from_millis(600)).await.is_passing(&late);
}

/// "Certainly not written" is only ever the EHR's own word.
pub async fn a_lookup_never_takes_a_failure_for_an_answer<S: EhrUnderTest>(subject: Rc<Subject<S>>) {
    let Some(kind) = subject.description.writes.first() else { return };
    let (key, write) = (subject.key(), subject.fresh(kind).await);
    subject.push(&key, &write).await.unwrap_or_else(|fault| panic!("{kind}: {fault}"));
    let mut troubles = vec![Trouble::LoseReply, Trouble::LoseRequest, Trouble::Half];
    for status in [200, 204, 400, 404, 410, 429, 500] {
        troubles.push(Trouble::Answer(status, vec![("content-type", "text/html")], HTML));
        troubles.push(Trouble::Answer(status, vec![("content-type", "application/json")], "{}"));
    }
    for trouble in troubles {
        subject.proxy.set(When::Each, trouble.clone());
        let found = subject.find(&key, &write).await;
        assert!(!matches!(found, Ok(None)), "{trouble:?}: what was written is said not to be");
    }
    subject.proxy.calm();
}
