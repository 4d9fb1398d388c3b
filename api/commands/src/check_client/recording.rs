//! Recorded client calls, read from a HAR file (the export format of browsers and proxies) or from JSON lines.

use serde::Deserialize;
use serde_json::Value;

/// A call without its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordedCall {
    pub method: String,
    pub path: String,
    pub query: Vec<(String, String)>,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
    /// The recorded status of the other system's response.
    pub status: Option<u16>,
}

/// A line of the recording:
/// `{"method": "GET", "path": "/patients?subdomain=acme", "headers": {"svc-api-version": "v3.0.0"}, "body": {}}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedLine {
    method: String,
    path: String,
    #[serde(default)]
    headers: serde_json::Map<String, Value>,
    body: Option<Value>,
    status: Option<u16>,
}

#[derive(Deserialize)]
struct HarLog {
    entries: Vec<HarEntry>,
}

#[derive(Deserialize)]
struct HarEntry {
    request: HarRequest,
    response: Option<HarResponse>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarRequest {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<HarHeader>,
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct HarHeader {
    name: String,
    value: String,
}

#[derive(Deserialize)]
struct PostData {
    text: Option<String>,
    /// The fields of a form, recorded instead of the text.
    #[serde(default)]
    params: Vec<Param>,
}

#[derive(Deserialize)]
struct Param {
    name: String,
    #[serde(default)]
    value: String,
}

impl PostData {
    fn text(self) -> Option<String> {
        let form = || {
            let pairs = self.params.iter().map(|param| (param.name.as_str(), param.value.as_str()));
            let url = reqwest::Url::parse_with_params("http://recorded", pairs).ok()?;
            url.query().map(str::to_owned)
        };
        self.text.clone().filter(|text| !text.is_empty()).or_else(form)
    }
}

#[derive(Deserialize)]
struct HarResponse {
    status: u16,
}

/// Reads a recording. `below` is the path prefix of the API on the other system; calls to other paths are skipped.
pub(super) fn read(text: &str, below: &str) -> Result<Vec<RecordedCall>, String> {
    // Some tools write a byte order mark.
    let text = text.trim_start_matches('\u{feff}');
    let calls = match serde_json::from_str::<Value>(text) {
        Ok(mut whole) if whole.get("log").is_some() => har(whole["log"].take())?,
        Err(error)
            if text.trim_start().starts_with('{') && text.lines().take(3).any(|line| line.contains("\"log\"")) =>
        {
            return Err(format!("not a HAR file: {error}"));
        }
        _ => lines(text)?,
    };
    let below = below.trim_end_matches('/');
    let within = |mut call: RecordedCall| {
        let rest = call.path.strip_prefix(below).filter(|rest| rest.starts_with('/'))?.to_owned();
        call.path = rest;
        Some(call)
    };
    let calls: Vec<RecordedCall> = calls.into_iter().filter_map(within).collect();
    if calls.is_empty() {
        return Err(format!(
            "no call in it{}",
            if below.is_empty() { String::new() } else { format!(" below {below}") }
        ));
    }
    Ok(calls)
}

fn har(log: Value) -> Result<Vec<RecordedCall>, String> {
    let log: HarLog = serde_json::from_value(log).map_err(|error| format!("not a HAR file: {error}"))?;
    log.entries.into_iter().enumerate().map(|(at, entry)| parse_entry(entry, at)).collect()
}

fn parse_entry(HarEntry { request, response }: HarEntry, at: usize) -> Result<RecordedCall, String> {
    let (path, query) = parts(&request.url).ok_or_else(|| format!("log.entries[{at}].request.url is no URL"))?;
    Ok(RecordedCall {
        method: request.method.to_ascii_uppercase(),
        path,
        query,
        headers: request.headers.into_iter().map(|header| (header.name.to_ascii_lowercase(), header.value)).collect(),
        body: request.post_data.and_then(PostData::text),
        // HAR uses 0 for a missing response.
        status: response.map(|response| response.status).filter(|status| *status > 0),
    })
}

fn lines(text: &str) -> Result<Vec<RecordedCall>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(at, line)| parse_line(line).map_err(|wrong| format!("line {}: {wrong}", at + 1))).collect()
}

fn parse_line(line: &str) -> Result<RecordedCall, String> {
    let line: RecordedLine = serde_json::from_str(line).map_err(|error| {
        format!("{error}; each line is one call: {{\"method\": \"GET\", \"path\": \"/patients?subdomain=acme\", \"headers\": {{}}, \"body\": {{}}}}")
    })?;
    let (path, query) = parts(&line.path).ok_or("`path` is no path")?;
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Ok(RecordedCall {
        method: line.method.to_ascii_uppercase(),
        path,
        query,
        headers: line.headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), text(value))).collect(),
        body: line.body.filter(|body| !body.is_null()).map(text),
        status: line.status,
    })
}

/// Splits a URL or a path into path and query.
fn parts(url: &str) -> Option<(String, Vec<(String, String)>)> {
    let base = reqwest::Url::parse("http://recorded").ok()?;
    let url = base.join(url).ok()?;
    let query = url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    Some((url.path().to_owned(), query))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_har_file_and_json_lines_give_the_same_calls() {
        let har = r#"{"log": {"version": "1.2", "entries": [{"request": {"method": "post", "url": "https://api.example/v3/patients?subdomain=acme&x=a%20b",
            "headers": [{"name": "Svc-Api-Version", "value": "v3.0.0"}], "postData": {"mimeType": "application/json", "text": "{\"a\":1}"}},
            "response": {"status": 201}}]}}"#;
        let lines = r#"{"method": "POST", "path": "/v3/patients?subdomain=acme&x=a%20b", "headers": {"svc-api-version": "v3.0.0"}, "body": {"a": 1}, "status": 201}"#;
        let calls = read(har, "/v3").unwrap();
        assert_eq!(calls, read(&format!("\n{lines}\n\n"), "/v3/").unwrap());
        assert_eq!(calls, read(&format!("\u{feff}{lines}"), "/v3").unwrap());
        assert_eq!((calls[0].path.as_str(), &calls[0].query[1]), ("/patients", &("x".to_owned(), "a b".to_owned())));
    }

    #[test]
    fn invalid_recordings_are_reported_with_their_position() {
        let error_of = |text: &str| read(text, "").unwrap_err();
        assert!(
            error_of("{\"method\": \"GET\", \"path\": \"/a\"}\n{\"path\": \"/b\"}")
                .starts_with("line 2: missing field `method`")
        );
        assert!(
            error_of("{\"method\": \"GET\", \"path\": \"/a\", \"bdoy\": 1}")
                .starts_with("line 1: unknown field `bdoy`")
        );
        assert!(error_of("{\"log\": {}}").contains("entries"));
        assert!(error_of("{\n \"log\": {\"entries\": [").starts_with("not a HAR file: EOF"));
        assert_eq!(error_of(""), "no call in it");
        assert_eq!(read("{\"method\": \"GET\", \"path\": \"/a\"}", "/v3").unwrap_err(), "no call in it below /v3");
    }
}
