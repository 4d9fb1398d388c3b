//! The web application for one call of the engine: what it shows, and its forms. Everything goes through the gate.

use std::cell::RefCell;

use adapter_sdk::{
    Fault, gate,
    http::{Method, Request, Response},
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{
    faults::{self, Outcome},
    map::Kind,
    markup::{self, Names},
    requests::{self, Form},
    responses::{Changes, Session, Told, Unreadable, typed},
};

#[derive(Default)]
pub struct Client {
    form: RefCell<Option<Form>>,
}

/// A page of what changed, with records under own names.
pub struct Listed {
    pub items: Vec<Value>,
    pub removed: Vec<String>,
    pub mark: String,
    pub more: bool,
    pub total: u64,
}

impl Client {
    /// What changed since a mark. None: the mark is of other books.
    pub fn changes(&self, kind: Kind, mark: Option<&str>, limit: u32) -> Result<Option<Listed>, Fault> {
        let told = match outcome(&requests::read(&requests::changes(kind.name, mark, limit)), true)? {
            Outcome::Told(told) => told,
            Outcome::Refused(code) if code == "mark_expired" => return Ok(None),
            Outcome::Refused(code) => return Err(faults::of_refused_read(&code)),
        };
        let Changes { items, removed, mark, more, total } = frame(&told, markup::CHANGES, true)?;
        Ok(Some(Listed { items: owned(&told, kind.names, &items)?, removed, mark, more, total }))
    }

    /// The records with a reference.
    pub fn by_reference(&self, kind: Kind, key: &str) -> Result<Vec<Value>, Fault> {
        match outcome(&requests::read(&requests::by_reference(kind.name, key)), true)? {
            Outcome::Told(told) => {
                let held = told.frame(markup::ITEMS).map_err(|why| faults::of_unreadable(why, true))?;
                owned(&told, kind.names, held["items"].as_array().ok_or_else(not_a_list)?)
            }
            Outcome::Refused(code) => Err(faults::of_refused_read(&code)),
        }
    }

    /// One record under own names; none where the application says that there is none.
    pub fn one(&self, kind: Kind, id: &str) -> Result<Option<Value>, Fault> {
        match outcome(&requests::read(&requests::record(kind.name, id)), true)? {
            Outcome::Told(told) => item(&told, kind.names, true).map(Some),
            Outcome::Refused(code) if code == "not_found" => Ok(None),
            Outcome::Refused(code) => Err(faults::of_refused_read(&code)),
        }
    }

    /// Sends a form: the record as it is then, or the application's word for why not.
    pub fn change(
        &self,
        method: Method,
        path: &str,
        names: Names,
        fields: &Map<String, Value>,
    ) -> Result<Result<Value, String>, Fault> {
        let mut renewed = false;
        loop {
            let form = self.form()?;
            let request = requests::change(method, path, &form, &form.markup.sent(names, fields));
            match outcome(&request, false)? {
                Outcome::Told(told) => return item(&told, names, false).map(Ok),
                // The session has another token meanwhile, and nothing was written.
                Outcome::Refused(code) if code == "csrf" && !renewed => {
                    renewed = true;
                    self.form.replace(None);
                }
                Outcome::Refused(code) => return Ok(Err(code)),
            }
        }
    }

    /// The session's token and the release, asked for before the first change: a session that is over shows here, while nothing is sent.
    fn form(&self) -> Result<Form, Fault> {
        if let Some(form) = &*self.form.borrow() {
            return Ok(form.clone());
        }
        let told = match outcome(&requests::read(requests::SESSION), true)? {
            Outcome::Told(told) => told,
            Outcome::Refused(code) => return Err(faults::of_refused_read(&code)),
        };
        let Session { csrf } = frame(&told, markup::SESSION, true)?;
        let form = Form { markup: told.markup, csrf };
        self.form.replace(Some(form.clone()));
        Ok(form)
    }
}

fn outcome(request: &Request, reads: bool) -> Result<Outcome, Fault> {
    let answer: Response = gate::send(request).map_err(|error| faults::of_error(error, reads))?;
    faults::judged(&answer, reads)
}

fn frame<T: DeserializeOwned>(told: &Told, names: Names, reads: bool) -> Result<T, Fault> {
    let own = told.frame(names).map_err(|why| faults::of_unreadable(why, reads))?;
    typed(own).map_err(|why| if reads { Fault::retry_later(why, None) } else { Fault::unknown(why) })
}

fn item(told: &Told, names: Names, reads: bool) -> Result<Value, Fault> {
    let own = told.frame(markup::ITEM).and_then(|held| told.own(names, &held["item"]));
    own.map_err(|why| faults::of_unreadable(why, reads))
}

fn owned(told: &Told, names: Names, items: &[Value]) -> Result<Vec<Value>, Fault> {
    let all: Result<Vec<Value>, Unreadable> = items.iter().map(|item| told.own(names, item)).collect();
    all.map_err(|why| faults::of_unreadable(why, true))
}

fn not_a_list() -> Fault {
    Fault::retry_later("the EHR's answer is not a list", None)
}
