//! The outcome of a client's calls per endpoint.

use std::{collections::BTreeMap, fmt::Write as _};

use endpoints::routes::table::TABLE;
use framework::values::failures::Failure;
use serde::Serialize;

use super::{recording::RecordedCall, replay::ReplayAnswer};

/// Maximum number of messages shown per reason.
const SHOWN: usize = 3;
/// Refusals that depend on the other system's records. The demo has other records, so these refusals are not the
/// client's fault.
const OF_OTHER_RECORDS: [Failure; 19] = [
    Failure::NotFound,
    Failure::BookingNotFound,
    Failure::SlotNotFound,
    Failure::SlotExpired,
    Failure::SlotTaken,
    Failure::NotUsable,
    Failure::HourOfEhr,
    Failure::OfEhr,
    Failure::NotSimulated,
    Failure::AppointmentPast,
    Failure::AppointmentCancelled,
    Failure::AppointmentNotOpen,
    Failure::AppointmentNotSynced,
    Failure::PatientNotSynced,
    Failure::PatientNotConverted,
    Failure::DuplicatePatient,
    Failure::OutsideWorkingHours,
    Failure::AppointmentTypeNotAccepted,
    Failure::BookingNotOpen,
];

/// Settings under `[compatibility]` with which an operator can accept a refused call.
const ACCEPTABLE: [(Failure, &str); 4] = [
    (Failure::VersionMissing, "`default_version`, or `version_headers` where the version is in another header"),
    (Failure::VersionUnknown, "`version_values`"),
    (Failure::ApiKeyInsteadOfToken, "`raw_keys`"),
    (Failure::UserAgentRefused, "`user_agent_rule`"),
];

#[derive(Default, Serialize)]
pub(super) struct ClientReport {
    endpoints: BTreeMap<String, EndpointReport>,
}

#[derive(Default, Serialize)]
struct EndpointReport {
    calls: usize,
    accepted: usize,
    /// Calls with at least one refusal.
    refused: usize,
    /// Refused calls that the other system refused, too.
    refused_there: usize,
    /// Calls that depend on records missing from the demo, or that were not answered.
    not_judged: usize,
    /// Number of unsent or unanswered calls by cause.
    unanswered: BTreeMap<String, usize>,
    refusals: Vec<RefusedCall>,
    /// Number of calls per ignored parameter or field.
    ignored: BTreeMap<String, usize>,
}

#[derive(Serialize)]
struct RefusedCall {
    status: u16,
    reason: String,
    calls: usize,
    /// Number of these calls that the other system refused, too.
    refused_there: usize,
    messages: Vec<String>,
    advice: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    acceptable_by: Option<&'static str>,
}

impl ClientReport {
    /// Adds a call with its answers: the corrected refusals, then the final answer.
    pub(super) fn add(&mut self, call: &RecordedCall, answers: &[ReplayAnswer]) {
        let Some((last, corrected)) = answers.split_last() else { return };
        let endpoint = self.endpoints.entry(endpoint_of(&call.method, &call.path)).or_default();
        endpoint.calls += 1;
        for name in &last.ignored {
            *endpoint.ignored.entry(name.clone()).or_default() += 1;
        }
        let is_answered = !matches!(last.status, 429 | 500..=599);
        let is_refused = last.status >= 400 && is_answered && !is_of_other_records(last);
        for answer in corrected.iter().chain(is_refused.then_some(last)) {
            endpoint.refuse(call, answer);
        }
        if is_refused || !corrected.is_empty() {
            endpoint.refused += 1;
            endpoint.refused_there += usize::from(was_refused_originally(call));
        } else if !is_answered {
            endpoint.count_unanswered(format!("{} {}", last.status, last.reason));
        } else if last.status >= 400 {
            endpoint.not_judged += 1;
        } else {
            endpoint.accepted += 1;
        }
    }

    pub(super) fn not_sent(&mut self, call: &RecordedCall, why: String) {
        let endpoint = self.endpoints.entry(endpoint_of(&call.method, &call.path)).or_default();
        endpoint.calls += 1;
        endpoint.count_unanswered(why);
    }

    /// Returns the number of calls refused here and not recorded as refused by the other system.
    pub(super) fn refused(&self) -> usize {
        self.endpoints.values().map(|endpoint| endpoint.refused - endpoint.refused_there).sum()
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (name, endpoint) in &self.endpoints {
            endpoint.write_to(name, &mut text);
        }
        let sum = |of: fn(&EndpointReport) -> usize| self.endpoints.values().map(of).sum::<usize>();
        let (calls, accepted, not_judged) = (sum(|it| it.calls), sum(|it| it.accepted), sum(|it| it.not_judged));
        let refused = calls - accepted - not_judged;
        let _ = write!(text, "\n{calls} calls: {accepted} accepted, {refused} refused");
        let there = refused - self.refused();
        if there > 0 {
            let _ = write!(text, " ({there} of them by the other system, too)");
        }
        if not_judged > 0 {
            let _ = write!(
                text,
                ", {not_judged} not judged: they rest on records that the demo does not have, or were not answered"
            );
        }
        let ignored = sum(|it| it.ignored.len());
        if ignored > 0 {
            let _ = write!(text, "; parameters or fields that nobody reads: {ignored}");
        }
        text
    }
}

impl EndpointReport {
    fn count_unanswered(&mut self, why: String) {
        self.not_judged += 1;
        *self.unanswered.entry(why).or_default() += 1;
    }

    fn refuse(&mut self, call: &RecordedCall, answer: &ReplayAnswer) {
        let known = self.refusals.iter().position(|it| it.status == answer.status && it.reason == answer.reason);
        let at = known.unwrap_or_else(|| {
            let acceptable =
                ACCEPTABLE.iter().find(|(failure, _)| failure.reason() == answer.reason).map(|(_, key)| *key);
            self.refusals.push(RefusedCall {
                status: answer.status,
                reason: answer.reason.clone(),
                calls: 0,
                refused_there: 0,
                messages: Vec::new(),
                advice: answer.advice.clone(),
                acceptable_by: acceptable,
            });
            self.refusals.len() - 1
        });
        let refusal = &mut self.refusals[at];
        refusal.calls += 1;
        refusal.refused_there += usize::from(was_refused_originally(call));
        for message in &answer.messages {
            if refusal.messages.len() < SHOWN && !refusal.messages.contains(message) {
                refusal.messages.push(message.clone());
            }
        }
    }

    fn write_to(&self, name: &str, text: &mut String) {
        let _ = write!(text, "{name}: calls {}, accepted {}", self.calls, self.accepted);
        if self.refused > 0 {
            let _ = write!(text, ", refused {}", self.refused);
        }
        if self.not_judged > 0 {
            let _ = write!(text, ", not judged {}", self.not_judged);
        }
        text.push('\n');
        for (why, count) in &self.unanswered {
            let _ = writeln!(text, "    not answered ({count}): {why}");
        }
        for refusal in &self.refusals {
            let _ = writeln!(text, "    {} {} ({})", refusal.status, refusal.reason, refusal.calls);
            let more = refusal.acceptable_by.map(|key| format!("An operator can accept it: [compatibility] {key}."));
            let advice = Some(&refusal.advice).filter(|advice| !advice.is_empty());
            for line in refusal.messages.iter().chain(advice).chain(&more) {
                let _ = writeln!(text, "        {line}");
            }
        }
        if !self.ignored.is_empty() {
            let names: Vec<String> = self.ignored.iter().map(|(name, count)| format!("{name} ({count})")).collect();
            let _ = writeln!(text, "    ignored: {}", names.join(", "));
        }
    }
}

fn was_refused_originally(call: &RecordedCall) -> bool {
    call.status.is_some_and(|status| status >= 400)
}

fn is_of_other_records(answer: &ReplayAnswer) -> bool {
    let named = |message: &String| {
        message.contains(" with id ") && message.contains(" not found") || message.ends_with("is of another patient.")
    };
    OF_OTHER_RECORDS.iter().any(|failure| failure.reason() == answer.reason)
        || !answer.messages.is_empty() && answer.messages.iter().all(named)
}

/// Returns the documented path of the endpoint. In an unknown path `{id}` replaces numbers.
fn endpoint_of(method: &str, path: &str) -> String {
    let fits = |template: &str| {
        let (mut template, mut path) = (template.split('/'), path.split('/'));
        loop {
            match (template.next(), path.next()) {
                (None, None) => return true,
                (Some(part), Some(given)) if part == given || part.starts_with('{') && !given.is_empty() => {}
                _ => return false,
            }
        }
    };
    let known = TABLE.iter().filter(|route| route.method.as_str() == method);
    // A literal segment takes precedence over a placeholder: `/patients/search` is not the patient `search`.
    let known = known.filter(|route| fits(route.path)).min_by_key(|route| route.path.matches('{').count());
    let plain = || {
        let parts = path.split('/').map(|part| if part.parse::<u64>().is_ok() { "{id}" } else { part });
        parts.collect::<Vec<_>>().join("/")
    };
    format!("{method} {}", known.map_or_else(plain, |route| route.path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(method: &str, path: &str, status: Option<u16>) -> RecordedCall {
        let (method, path) = (method.to_owned(), path.to_owned());
        RecordedCall { method, path, query: Vec::new(), headers: Vec::new(), body: None, status }
    }

    fn refused(status: u16, reason: &str, message: &str) -> ReplayAnswer {
        ReplayAnswer {
            status,
            reason: reason.to_owned(),
            messages: vec![message.to_owned()],
            ..ReplayAnswer::default()
        }
    }

    #[test]
    fn the_report_lists_refusals_by_endpoint_with_advice() {
        let mut report = ClientReport::default();
        let ok = ReplayAnswer { status: 200, ignored: vec!["colour".to_owned()], ..ReplayAnswer::default() };
        report.add(&call("GET", "/patients/7", None), std::slice::from_ref(&ok));
        report.add(&call("GET", "/patients/8", None), &[refused(404, "not_found", "Patient with id 8 not found")]);
        report.add(&call("GET", "/patients/9", None), &[refused(404, "version_missing", "Resource not found"), ok]);
        report.add(&call("GET", "/old/9", Some(404)), &[refused(404, "unknown_path", "Resource not found")]);
        let text = report.text();
        assert!(text.contains("GET /patients/{id}: calls 3, accepted 1, refused 1, not judged 1"), "{text}");
        assert!(text.contains("[compatibility] `default_version`"), "{text}");
        assert!(text.contains("ignored: colour (2)"), "{text}");
        assert!(text.contains("GET /old/{id}: calls 1"), "{text}");
        let sum = "4 calls: 1 accepted, 2 refused (1 of them by the other system, too), 1 not judged: they rest on records that the demo does not \
                   have, or were not answered; parameters or fields that nobody reads: 1";
        assert!(text.ends_with(sum), "{text}");
        assert_eq!(report.refused(), 1);
    }

    #[test]
    fn a_call_with_several_problems_is_one_refused_call_with_a_refusal_for_each() {
        let mut report = ClientReport::default();
        let [agent, version] = ["user_agent_refused", "version_missing"].map(|reason| refused(403, reason, reason));
        let last = refused(400, "invalid_request", "days is missing.");
        report.add(&call("GET", "/available_slots", None), &[agent.clone(), version.clone(), last]);
        report
            .add(&call("GET", "/available_slots", Some(403)), &[agent, version, refused(503, "unavailable", "Later.")]);
        let text = report.text();
        assert!(text.contains("GET /available_slots: calls 2, accepted 0, refused 2\n"), "{text}");
        for line in
            ["403 user_agent_refused (2)", "403 version_missing (2)", "400 invalid_request (1)", "days is missing."]
        {
            assert!(text.contains(line), "{line}: {text}");
        }
        assert!(text.ends_with("\n2 calls: 0 accepted, 2 refused (1 of them by the other system, too)"), "{text}");
        assert_eq!(report.refused(), 1);
    }
}
