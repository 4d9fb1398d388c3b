//! Servers that refuse, do not answer, or answer with invalid content. The adapter must return the right fault, never
//! an invalid page.

use std::{rc::Rc, time::Duration};

use records::ehr::{Fault, Resource, Write};

use super::kinds;
use crate::{
    display,
    ehr_under_test::EhrUnderTest,
    fault_injector::{InjectedFault, When},
    report::{CaseEnd, CaseResult, Finding},
    subject::Subject,
};

const HTML: &str = "<html><body>Zoë Łopata is on another page</body></html>";
/// JSON that no EHR returns.
const NONSENSE: [(&str, &str); 5] = [
    ("application/json", "{}"),
    ("text/html", HTML),
    ("application/json", "{\"a\":"),
    ("application/json", "[[1], null]"),
    ("application/json", ""),
];

/// The calls of each kind, with a fault in every request.
struct Calls {
    /// `None` if the call sends no request. Behind a gate, `describe` works before there is a session.
    describe: Option<ObservedCall>,
    /// `None` if nothing can be pulled.
    pull: Option<ObservedCall>,
    /// `None` if nothing can be written.
    push: Option<ObservedCall>,
    find: Option<ObservedCall>,
    injected_fault: InjectedFault,
}

struct ObservedCall {
    asked: String,
    fault: Option<Fault>,
}

impl Calls {
    fn reads(&self) -> impl Iterator<Item = &ObservedCall> {
        [&self.describe, &self.pull, &self.find].into_iter().flatten()
    }

    fn each(&self, fits: impl Fn(&Fault) -> bool, expected: &str, remedy: &str) -> CaseResult {
        self.reads().chain(&self.push).try_for_each(|call| self.judge(call, &fits, expected, remedy))
    }

    /// Checks that reads are retried, and that writes are retried or have an unknown outcome.
    fn is_passing(&self) -> CaseResult {
        let remedy = "only an answer that the EHR itself gave, whole and in its own form, is one: take everything else for `retry-later` \
            in a read, and for `unknown` where a write may have arrived";
        let again = |fault: &Fault| matches!(fault, Fault::RetryLater { .. });
        self.reads().try_for_each(|call| self.judge(call, &again, "retry-later", remedy))?;
        let unknown = |fault: &Fault| matches!(fault, Fault::RetryLater { .. } | Fault::Unknown(_));
        self.push.iter().try_for_each(|call| self.judge(call, &unknown, "unknown or retry-later", remedy))
    }

    fn judge(&self, call: &ObservedCall, fits: &impl Fn(&Fault) -> bool, expected: &str, remedy: &str) -> CaseResult {
        if call.fault.as_ref().is_some_and(fits) {
            return Ok(());
        }
        let answered = call.fault.as_ref().map_or_else(|| "an answer, as if all were well".into(), Fault::to_string);
        Err(CaseEnd::Failed(Box::new(Finding {
            asked: format!("{}, while each request meets {:?}", call.asked, self.injected_fault),
            answered,
            expected: expected.to_owned(),
            remedy: remedy.to_owned(),
        })))
    }
}

async fn with_fault<S: EhrUnderTest>(
    subject: &Subject<S>,
    injected_fault: InjectedFault,
    deadline: Duration,
) -> CaseResult<Calls> {
    let kind = subject.description.writes.first().cloned();
    let write = match &kind {
        Some(kind) => Some(subject.fresh(kind).await?),
        None => None,
    };
    subject.injector.set(When::Each, injected_fault.clone());
    let calls = run_calls(subject, write, deadline, injected_fault).await;
    subject.injector.clear();
    calls
}

async fn run_calls<S: EhrUnderTest>(
    subject: &Subject<S>,
    write: Option<Write>,
    deadline: Duration,
    injected_fault: InjectedFault,
) -> CaseResult<Calls> {
    let ehr = &subject.ehr;
    let mut calls = Calls { describe: None, pull: None, push: None, find: None, injected_fault };
    let describe =
        subject.timely("describe".into(), deadline, ehr.describe(deadline), |_| "a description".into()).await?;
    if !subject.description.gated && subject.injector.requests() > 0 {
        calls.describe = Some(ObservedCall { asked: "describe".into(), fault: describe.err() });
    }
    if let Some(ability) = subject.description.pulls.iter().max_by_key(|it| it.resource == Resource::Patients) {
        let (asked, resource) = (format!("pull {}", display::name(ability.resource)), ability.resource);
        let pulled =
            subject.timely(asked.clone(), deadline, ehr.pull(resource, None, 10, deadline), display::page).await?;
        calls.pull = Some(ObservedCall { asked, fault: pulled.err() });
    }
    if let Some(write) = write {
        let what = display::write(&write);
        let call = ehr.find(subject.key(), write.clone(), deadline);
        let found = subject.timely(format!("find {what}"), deadline, call, display::found).await?;
        calls.find = Some(ObservedCall { asked: format!("find {what}"), fault: found.err() });
        let call = ehr.push(subject.key(), write, deadline);
        let pushed = subject.timely(format!("push {what}"), deadline, call, display::receipt).await?;
        calls.push = Some(ObservedCall { asked: format!("push {what}"), fault: pushed.err() });
    }
    Ok(calls)
}

const ENOUGH: Duration = Duration::from_secs(20);

pub async fn invalid_credentials_are_reported<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    let injected = InjectedFault::Answer(401, vec![("www-authenticate", "Bearer")], "{}");
    // Behind a gate, a 401 means that the session has expired.
    let gated = subject.description.gated;
    let is_expected = |fault: &Fault| match gated {
        true => matches!(fault, Fault::GateClosed),
        false => matches!(fault, Fault::Unauthorized(_)),
    };
    let expected = if gated { "gate-closed" } else { "unauthorized" };
    with_fault(&subject, injected, ENOUGH).await?.each(
        is_expected,
        expected,
        "a 401 says that nobody is logged in, in every call",
    )
}

pub async fn too_many_requests_say_when<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    let injected = InjectedFault::Answer(429, vec![("retry-after", "17")], "{}");
    let after = Some(Duration::from_secs(17));
    let waits = |fault: &Fault| matches!(fault, Fault::RetryLater { after: reported, .. } if *reported == after);
    let remedy = "a 429 was not carried out: `retry-later` with the seconds of its header `Retry-After`";
    with_fault(&subject, injected, ENOUGH).await?.each(waits, "retry-later, not before 17 seconds", remedy)
}

pub async fn closed_for_maintenance<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    let injected = InjectedFault::Answer(503, vec![("retry-after", "60")], HTML);
    let remedy = "a 503 with `Retry-After` was not carried out";
    with_fault(&subject, injected, ENOUGH).await?.each(
        |fault| matches!(fault, Fault::RetryLater { .. }),
        "retry-later",
        remedy,
    )
}

pub async fn a_server_that_fails<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    for status in [500, 502, 504] {
        let injected = InjectedFault::Answer(status, vec![("content-type", "text/html")], HTML);
        with_fault(&subject, injected, ENOUGH).await?.is_passing()?;
    }
    Ok(())
}

pub async fn answers_that_are_none<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    for (media_type, body) in NONSENSE {
        let injected = InjectedFault::Answer(200, vec![("content-type", media_type)], body);
        with_fault(&subject, injected, ENOUGH).await?.is_passing()?;
    }
    Ok(())
}

pub async fn answers_that_break_off<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    for injected_fault in [InjectedFault::Half, InjectedFault::LoseReply, InjectedFault::LoseRequest] {
        with_fault(&subject, injected_fault, ENOUGH).await?.is_passing()?;
    }
    Ok(())
}

pub async fn answers_that_are_late<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    let late = InjectedFault::Slow(Duration::from_secs(4));
    with_fault(&subject, late, Duration::from_millis(600)).await?.is_passing()
}

/// Only the EHR's own response may prove that nothing was written.
pub async fn a_lookup_never_takes_a_failure_for_an_answer<S: EhrUnderTest>(subject: Rc<Subject<S>>) -> CaseResult {
    kinds(&subject)?;
    let kind = &subject.description.writes[0];
    let (key, write) = (subject.key(), subject.fresh(kind).await?);
    subject.answered(subject.push(&key, &write).await?)?;
    let mut troubles = vec![InjectedFault::LoseReply, InjectedFault::LoseRequest, InjectedFault::Half];
    for status in [200, 204, 400, 404, 410, 429, 500] {
        troubles.push(InjectedFault::Answer(status, vec![("content-type", "text/html")], HTML));
        troubles.push(InjectedFault::Answer(status, vec![("content-type", "application/json")], "{}"));
    }
    for injected_fault in troubles {
        subject.injector.set(When::Each, injected_fault.clone());
        let found = subject.find(&key, &write).await;
        subject.injector.clear();
        subject.hold(
            !matches!(found?, Ok(None)),
            format!("a fault: it was written, and the look-up met {injected_fault:?}"),
            "none means that the EHR itself said, in its own form, that it has no such record; everything else is `retry-later`",
        )?;
    }
    Ok(())
}
