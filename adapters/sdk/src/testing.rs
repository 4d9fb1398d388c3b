//! The host of native tests: the responses of `http`, `clock`, `config` and `log` on the current thread. Only in native
//! builds.
//!
//! ```
//! use adapter_sdk::{http, testing::Host};
//!
//! let host = Host::new().config("location", "L1").answer(|request| {
//!     assert_eq!(request.path, "/rooms");
//!     Ok(http::Response { status: 200, headers: vec![], body: b"[\"A\"]".to_vec() })
//! });
//! let rooms: Vec<String> = host.run(|| http::get_json("/rooms").expect("the host answers"));
//! assert_eq!(rooms, ["A"]);
//! ```

use std::{cell::RefCell, collections::BTreeMap};

use crate::{
    clock::Local,
    gate::State,
    http::{Error, Request, Response},
    log::Level,
    records::Instant,
    time,
};

type ResponseFn = Box<dyn FnMut(&Request) -> Result<Response, Error>>;

/// A simulated host. Without `answer` nothing is sent; without `at` the time is 2026-01-05T12:00:00Z.
pub struct Host {
    answer: ResponseFn,
    gate_answer: Option<ResponseFn>,
    settings: BTreeMap<String, String>,
    now: Instant,
    /// Seconds east of UTC. Zones with daylight saving are tested with the real host.
    offset: i32,
    lines: Vec<(Level, String)>,
}

thread_local! {
    static HOST: RefCell<Host> = RefCell::new(Host::new());
}

impl Default for Host {
    fn default() -> Host {
        Host::new()
    }
}

impl Host {
    /// Creates a host without an EHR and settings, with a closed gate, in UTC.
    pub fn new() -> Host {
        Host {
            answer: Box::new(|_| Err(Error::NotSent("this test has no EHR".into()))),
            gate_answer: None,
            settings: BTreeMap::new(),
            now: 1_767_614_400,
            offset: 0,
            lines: Vec::new(),
        }
    }

    /// Sets the handler of requests.
    pub fn answer(mut self, answer: impl FnMut(&Request) -> Result<Response, Error> + 'static) -> Host {
        self.answer = Box::new(answer);
        self
    }

    /// Opens the gate and sets the handler of requests through it.
    pub fn answer_gate(mut self, answer: impl FnMut(&Request) -> Result<Response, Error> + 'static) -> Host {
        self.gate_answer = Some(Box::new(answer));
        self
    }

    /// Sets one setting of the location.
    pub fn config(mut self, name: &str, value: &str) -> Host {
        self.settings.insert(name.into(), value.into());
        self
    }

    /// Sets the defaults of the settings that an `adapter.toml` declares.
    pub fn manifest(mut self, text: &str) -> Host {
        let manifest: toml::Table = toml::from_str(text).expect("the manifest is TOML");
        let declared = manifest.get("settings").and_then(toml::Value::as_table);
        for (name, setting) in declared.into_iter().flatten() {
            let default = match setting.get("default") {
                Some(toml::Value::String(text)) => text.clone(),
                Some(toml::Value::Array(items)) => {
                    items.iter().filter_map(toml::Value::as_str).collect::<Vec<_>>().join(", ")
                }
                Some(other) => other.to_string(),
                None => continue,
            };
            self.settings.entry(name.clone()).or_insert(default);
        }
        self
    }

    /// Sets the current time, which does not advance.
    pub fn at(mut self, now: Instant) -> Host {
        self.now = now;
        self
    }

    /// Sets the location's zone to a fixed offset.
    pub fn offset_seconds(mut self, east: i32) -> Host {
        self.offset = east;
        self
    }

    /// Runs `work` with this host on this thread.
    pub fn run<T>(self, work: impl FnOnce() -> T) -> T {
        self.run_logged(work).0
    }

    /// Runs `work` and returns its result and the lines it logged.
    pub fn run_logged<T>(self, work: impl FnOnce() -> T) -> (T, Vec<(Level, String)>) {
        struct Restore(Option<Host>);
        impl Drop for Restore {
            fn drop(&mut self) {
                if let Some(earlier) = self.0.take() {
                    HOST.replace(earlier);
                }
            }
        }
        let mut restore = Restore(Some(HOST.replace(self)));
        let result = work();
        let used = HOST.replace(restore.0.take().expect("taken only here and in the drop after it"));
        (result, used.lines)
    }
}

pub(crate) fn send(request: &Request) -> Result<Response, Error> {
    answered(|host| Some(&mut host.answer), request)
}

/// Calls a handler. It is removed from the host meanwhile, so it may read the time and settings and log, but not send.
fn answered(held: impl Fn(&mut Host) -> Option<&mut ResponseFn>, request: &Request) -> Result<Response, Error> {
    let busy = || -> ResponseFn { Box::new(|_| panic!("an answer of a test's EHR sends no requests itself")) };
    let taken = HOST.with_borrow_mut(|host| held(host).map(|answer| std::mem::replace(answer, busy())));
    let Some(mut answer) = taken else { return Err(Error::NotSent("no workstation is connected".into())) };
    let response = answer(request);
    HOST.with_borrow_mut(|host| held(host).map(|place| *place = answer));
    response
}

pub(crate) fn gate() -> State {
    HOST.with_borrow(|host| if host.gate_answer.is_some() { State::Open } else { State::Closed })
}

pub(crate) fn send_through_gate(request: &Request) -> Result<Response, Error> {
    answered(|host| host.gate_answer.as_mut(), request)
}

pub(crate) fn config(name: &str) -> Option<String> {
    HOST.with_borrow(|host| host.settings.get(name).cloned())
}

pub(crate) fn log(level: Level, message: &str) {
    HOST.with_borrow_mut(|host| host.lines.push((level, message.into())));
}

pub(crate) fn now() -> Instant {
    HOST.with_borrow(|host| host.now)
}

pub(crate) fn to_instant(local: &str) -> Vec<Instant> {
    let offset = HOST.with_borrow(|host| host.offset);
    // Parsed as UTC; like the real host, this one accepts a single format.
    let shown = time::instant_of(&format!("{local}Z"));
    let shown = shown.filter(|seconds| time::instant_text(*seconds).strip_suffix('Z') == Some(local));
    shown.map(|seconds| seconds - i64::from(offset)).into_iter().collect()
}

pub(crate) fn to_local(at: Instant) -> Local {
    let offset = HOST.with_borrow(|host| host.offset);
    let text = time::instant_text(at + i64::from(offset)).trim_end_matches('Z').to_owned();
    Local { text, offset, abbreviation: if offset == 0 { "UTC".into() } else { format!("{:+03}", offset / 3600) } }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::{Fault, RetryLater, http, http::Header};

    fn status(status: u16, headers: &[(&str, &str)]) -> Response {
        let headers = headers.iter().map(|(name, value)| Header::new(*name, *value)).collect();
        Response { status, headers, body: b"{\"name\": \"someone\"}".to_vec() }
    }

    #[test]
    fn a_lost_answer_is_unknown_for_a_write_and_retried_for_a_read() {
        let lost = || Host::new().answer(|_| Err(Error::NoAnswer("broke off".into())));
        assert!(matches!(lost().run(|| http::get("/a").send()), Err(Fault::RetryLater(_))));
        assert!(matches!(lost().run(|| http::post("/a").send()), Err(Fault::Unknown(_))));
        assert!(matches!(lost().run(|| http::post("/a").reading().send()), Err(Fault::RetryLater(_))));
        let refused = Host::new().answer(|_| Err(Error::Refused("path".into())));
        assert!(matches!(refused.run(|| http::get("/a").send()), Err(Fault::Rejected(_))));
        assert!(matches!(Host::new().run(|| http::post("/a").send()), Err(Fault::RetryLater(_))));
    }

    #[test]
    fn a_byte_order_mark_before_json_is_skipped() {
        let answer = |body: &str| Response { status: 200, headers: Vec::new(), body: body.into() };
        assert_eq!(answer("\u{feff}{\"a\": 1}").json::<serde_json::Value>(), Ok(serde_json::json!({"a": 1})));
        assert!(answer("\u{feff}\u{feff}{}").json::<serde_json::Value>().is_err(), "one mark and no more");
    }

    #[test]
    fn statuses_become_faults() {
        let answered = |held: Response| Host::new().answer(move |_| Ok(held.clone())).run(|| http::post("/a").send());
        assert!(matches!(answered(status(401, &[])), Err(Fault::Unauthorized(_))));
        assert!(matches!(answered(status(422, &[])), Err(Fault::Rejected(_))));
        assert!(matches!(answered(status(500, &[])), Err(Fault::Unknown(_))));
        assert!(matches!(answered(status(503, &[])), Err(Fault::Unknown(_))));
        let Err(Fault::RetryLater(RetryLater { seconds: after, .. })) = answered(status(503, &[("retry-after", "7")]))
        else {
            panic!("503 with Retry-After is a refusal");
        };
        assert_eq!(after, Some(7));
        // The time of this host is 2026-01-05T12:00:00Z.
        for (date, seconds) in [("Mon, 05 Jan 2026 12:01:30 GMT", 90), ("Mon, 05 Jan 2026 11:00:00 GMT", 0)] {
            let Err(Fault::RetryLater(RetryLater { seconds: after, .. })) =
                answered(status(503, &[("retry-after", date)]))
            else {
                panic!("503 with a date is a refusal too");
            };
            assert_eq!(after, Some(seconds), "{date}");
        }
        assert!(matches!(answered(status(503, &[("retry-after", "soon")])), Err(Fault::Unknown(_))));
        assert_eq!(answered(status(201, &[])).unwrap().status, 201);
    }

    #[test]
    fn a_redirect_is_not_a_refusal() {
        let moved = || Host::new().answer(|_| Ok(status(302, &[("location", "https://status.example/")])));
        assert!(matches!(moved().run(|| http::get("/a").send()), Err(Fault::RetryLater(_))));
        assert!(matches!(moved().run(|| http::post("/a").send()), Err(Fault::Unknown(_))));
    }

    #[test]
    fn a_retry_after_beyond_the_range_of_the_contract_is_its_longest() {
        for (text, seconds) in [("99999999999", Some(u32::MAX)), ("17", Some(17)), ("-1", None), ("", None)] {
            assert_eq!(http::retry_after(&status(503, &[("retry-after", text)])), seconds, "{text}");
        }
    }

    #[test]
    fn an_answer_may_use_the_host() {
        let answer = |_: &Request| {
            crate::warn!("asked at {}", crate::clock::now());
            Ok(Response { status: 200, headers: vec![], body: crate::config::get("location").unwrap().into_bytes() })
        };
        let host = Host::new().config("location", "L1").at(7).answer(answer).answer_gate(answer);
        let request = Request { method: http::Method::Get, path: "/".into(), headers: vec![], body: None };
        let (bodies, lines) = host.run_logged(|| {
            let twice = [http::request(&request), http::request(&request), crate::gate::send(&request)];
            twice.map(|answer| answer.unwrap().body)
        });
        assert_eq!(bodies, [b"L1", b"L1", b"L1"]);
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0].1, "asked at 7");
    }

    #[test]
    fn an_unreadable_response_is_not_quoted() {
        let Err(Fault::RetryLater(RetryLater { reason, .. })) = status(200, &[]).json::<Vec<u8>>() else {
            panic!("it is no list")
        };
        assert!(!reason.contains("someone") && !reason.contains("name"), "{reason}");
    }

    #[test]
    fn local_times_round_trip() {
        let host = Host::new().offset_seconds(-5 * 3600);
        host.run(|| {
            let at = crate::clock::to_instant("2024-02-29T23:30:00");
            assert_eq!(at, [1_709_267_400]);
            assert_eq!(crate::clock::to_local(at[0]).text, "2024-02-29T23:30:00");
            assert!(crate::clock::to_instant("2023-02-29T23:30:00").is_empty());
            assert!(crate::clock::to_instant("2023-02-28 23:30:00").is_empty());
        });
    }

    #[test]
    fn values_are_encoded() {
        assert_eq!(http::encode("a b/ü|?"), "a%20b%2F%C3%BC%7C%3F");
    }
}
