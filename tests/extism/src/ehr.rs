//! An EHR that answers immediately with the simulated EHR's first answer.

use std::collections::HashMap;

use extism::Error;
use sandbox_ehr::{Delivery, OffsetFrom, Profile, SandboxEhr, SandboxRequest};

use crate::contract::{EhrHttpRequest, ResponseHead};

pub const LOCATION: &str = "main-street";

pub struct InstantEhr {
    now_ms: i64,
    practice: SandboxEhr,
    answers: HashMap<String, (ResponseHead, Vec<u8>)>,
}

impl InstantEhr {
    /// Creates a practice with this number of patients.
    pub fn new(now_ms: i64, patients: u32) -> Result<InstantEhr, Error> {
        let today = i32::try_from(now_ms.div_euclid(86_400_000))?;
        let offset = |hours: i32| vec![OffsetFrom { from: 0, seconds: hours * 3_600 }];
        let profile = Profile { patients, ..Profile::demo(1, today, offset(-5), offset(-6)) };
        Ok(InstantEhr { now_ms, practice: SandboxEhr::new(profile), answers: HashMap::new() })
    }

    /// Returns the head as a line of JSON, followed by the body.
    pub fn answer(&mut self, request: &EhrHttpRequest) -> Result<Vec<u8>, Error> {
        if !self.answers.contains_key(&request.path) {
            let answer = self.ask(request)?;
            self.answers.insert(request.path.clone(), answer);
        }
        let (head, body) = &self.answers[&request.path];
        let mut answer = serde_json::to_vec(head)?;
        answer.push(b'\n');
        answer.extend_from_slice(body);
        Ok(answer)
    }

    fn ask(&mut self, request: &EhrHttpRequest) -> Result<(ResponseHead, Vec<u8>), Error> {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let reply = self.practice.handle(
            self.now_ms,
            &SandboxRequest {
                method: request.method.clone(),
                path: path.to_owned(),
                query: query.to_owned(),
                ..SandboxRequest::default()
            },
        );
        match reply.delivery {
            Delivery::Answered => Ok((ResponseHead { status: reply.status, headers: reply.headers }, reply.body)),
            other => Err(Error::msg(format!("the simulated EHR did not answer: {other:?}"))),
        }
    }
}
