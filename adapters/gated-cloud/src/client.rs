//! The web application for one call of the engine: what it shows, and its forms. Everything goes through the gate.

use std::cell::RefCell;

use adapter_sdk::{
    Fault, gate,
    http::{Method, Request},
    streams::{Ask, Changes},
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{
    faults::{self, Outcome},
    markup::{self, Kind, Names},
    requests::{self, Form},
    responses::{Listed, Session, Told},
};

#[derive(Default)]
pub struct GatedCloud {
    form: RefCell<Option<Form>>,
}

impl GatedCloud {
    /// What changed since a mark, under own names. None: the mark is of other books.
    pub fn changes(&self, kind: Kind, asked: &Ask) -> Result<Option<Changes>, Fault> {
        let told = match outcome(&requests::read(&requests::changes(kind, asked)), true)? {
            Outcome::Told(told) => told,
            Outcome::Refused(code) if code == "mark_expired" => return Ok(None),
            Outcome::Refused(code) => return Err(faults::of_refused_read(&code)),
        };
        let Listed { items, removed, mark, more, total } = frame(&told, markup::CHANGES)?;
        Ok(Some(Changes { rows: owned(&told, kind, &items)?, deleted: removed, mark, more, total: Some(total) }))
    }

    /// The record that carries a write key. What the search takes for alike may be another.
    pub fn by_reference(&self, kind: Kind, key: &str) -> Result<Option<Value>, Fault> {
        let told = shown(&requests::by_reference(kind, key))?;
        let items: Items = frame(&told, markup::ITEMS)?;
        Ok(owned(&told, kind, &items.items)?.into_iter().find(|row| row["write_key"] == key))
    }

    /// One record under own names; none where the application says that there is none.
    pub fn one(&self, kind: Kind, id: &str) -> Result<Option<Value>, Fault> {
        match outcome(&requests::read(&requests::record(kind, id)), true)? {
            Outcome::Told(told) => item(&told, kind, true).map(Some),
            Outcome::Refused(code) if code == "not_found" => Ok(None),
            Outcome::Refused(code) => Err(faults::of_refused_read(&code)),
        }
    }

    /// Sends a form: the record as it is then, or the application's word for why not.
    pub fn change(
        &self,
        method: Method,
        path: &str,
        kind: Kind,
        fields: &Map<String, Value>,
    ) -> Result<Result<Value, String>, Fault> {
        let mut renewed = false;
        loop {
            let form = self.form()?;
            let request = requests::change(method, path, &form, &form.markup.sent(kind.names, fields));
            match outcome(&request, false)? {
                Outcome::Told(told) => return item(&told, kind, false).map(Ok),
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
        let told = shown(requests::SESSION)?;
        let Session { csrf } = frame(&told, markup::SESSION)?;
        let form = Form { markup: told.markup, csrf };
        self.form.replace(Some(form.clone()));
        Ok(form)
    }
}

fn outcome(request: &Request, reads: bool) -> Result<Outcome, Fault> {
    let answer = gate::send(request).map_err(|error| faults::of_error(error, reads))?;
    faults::judged(&answer, reads)
}

/// Of what is always there.
fn shown(path: &str) -> Result<Told, Fault> {
    match outcome(&requests::read(path), true)? {
        Outcome::Told(told) => Ok(told),
        Outcome::Refused(code) => Err(faults::of_refused_read(&code)),
    }
}

#[derive(serde::Deserialize)]
struct Items {
    items: Vec<Value>,
}

fn frame<T: DeserializeOwned>(told: &Told, names: Names) -> Result<T, Fault> {
    let own = told.frame(names).map_err(|why| faults::of_unreadable(why, true))?;
    // serde's own message would quote the record.
    serde_json::from_value(own).map_err(|_| faults::of_wrong_kind())
}

fn item(told: &Told, kind: Kind, reads: bool) -> Result<Value, Fault> {
    let own = told.frame(markup::ITEM).and_then(|held| told.own(kind.names, &held["item"]));
    own.map_err(|why| faults::of_unreadable(why, reads))
}

fn owned(told: &Told, kind: Kind, items: &[Value]) -> Result<Vec<Value>, Fault> {
    let all: Result<Vec<Value>, _> = items.iter().map(|item| told.own(kind.names, item)).collect();
    all.map_err(|why| faults::of_unreadable(why, true))
}
