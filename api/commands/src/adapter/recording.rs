//! `--record` and `--replay`: a file with one exchange per line, and a transport that answers from such a file.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use engine::adapter_host::{HttpRequest, HttpResponse, Transport, TransportError, TransportFuture};
use parking_lot::Mutex;

use super::exchange::{Exchange, Masks, RecordedRequest, RecordedResponse};

/// A transport that forwards requests and records the exchanges.
pub(super) struct Recorder {
    inner: Arc<dyn Transport>,
    masks: Masks,
    path: PathBuf,
    file: Mutex<File>,
}

impl Recorder {
    /// Creates the file, or overwrites an existing one.
    pub(super) fn new(inner: Arc<dyn Transport>, path: &Path, masks: Masks) -> Result<Recorder, String> {
        let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Recorder { inner, masks, path: path.to_path_buf(), file: Mutex::new(file) })
    }

    fn keep(&self, exchange: &Exchange) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(exchange)?;
        line.push(b'\n');
        self.file.lock().write_all(&line)
    }
}

impl Transport for Recorder {
    fn send(&self, request: HttpRequest, deadline: Duration) -> TransportFuture<'_> {
        Box::pin(async move {
            let asked = self.masks.mask_request(&request);
            let ended = self.inner.send(request, deadline).await;
            let kept = self.keep(&Exchange { asked, answered: self.masks.mask_response(&ended) });
            kept.map_err(|error| TransportError::NoAnswer(format!("{}: {error}", self.path.display())))?;
            ended
        })
    }
}

/// A transport that answers from a file, without a network. Repeated requests get successive answers, then the last
/// one.
pub(super) struct Replay {
    path: PathBuf,
    masks: Masks,
    answers: BTreeMap<RecordedRequest, Vec<RecordedResponse>>,
    /// The number of requests by content, and the requests without an answer.
    asked: Mutex<(BTreeMap<RecordedRequest, usize>, Vec<String>)>,
}

impl Replay {
    pub(super) fn read(path: &Path, masks: Masks) -> Result<Replay, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut answers: BTreeMap<RecordedRequest, Vec<RecordedResponse>> = BTreeMap::new();
        for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let exchange: Exchange = serde_json::from_str(line).map_err(|error| {
                format!("{}, line {}: not an exchange written by `--record`: {error}", path.display(), n + 1)
            })?;
            answers.entry(exchange.asked).or_default().push(exchange.answered);
        }
        Ok(Replay { path: path.to_path_buf(), masks, answers, asked: Mutex::default() })
    }

    /// Returns an error if a request had no answer in the file.
    pub(super) fn missing(&self) -> Result<(), String> {
        let asked = self.asked.lock();
        match asked.1.first() {
            Some(request) => Err(format!("{} has no answer to {request}: record it first", self.path.display())),
            None => Ok(()),
        }
    }

    fn answer(&self, asked: RecordedRequest) -> Result<HttpResponse, TransportError> {
        let request = format!("{} {}", asked.method, asked.path);
        let mut seen = self.asked.lock();
        let Some(answers) = self.answers.get(&asked) else {
            seen.1.push(request.clone());
            return Err(TransportError::NotSent(format!("the recording has no answer to {request}")));
        };
        let times = seen.0.entry(asked).or_default();
        *times += 1;
        match &answers[(*times - 1).min(answers.len() - 1)] {
            RecordedResponse::With { status, headers, body } => {
                let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
                Ok(HttpResponse { status: *status, headers: headers.clone().into_iter().collect(), body })
            }
            RecordedResponse::NoJson { bytes, .. } => {
                seen.1.push(format!("{request}, whose answer was {bytes} bytes that are no JSON"));
                Err(TransportError::NotSent(format!("the answer to {request} was no JSON and was not recorded")))
            }
            RecordedResponse::NotSent(why) => Err(TransportError::NotSent(why.clone())),
            RecordedResponse::NoAnswer(why) => Err(TransportError::NoAnswer(why.clone())),
        }
    }
}

impl Transport for Replay {
    fn send(&self, request: HttpRequest, _: Duration) -> TransportFuture<'_> {
        let answer = self.answer(self.masks.mask_request(&request));
        Box::pin(async move { answer })
    }
}
