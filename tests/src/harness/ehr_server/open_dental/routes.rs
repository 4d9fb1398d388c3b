//! Requests: authentication, routing, lists with filters and pages, and creating, changing and deleting rows.

use std::time::Instant;

use serde_json::{Value, json};

use super::{
    BASE,
    database::{Database, Done, number, plain},
    faults::Fate,
    rules,
    table::{Answers, NEVER, OpenDentalRefusal, OpenDentalRow, Since, Table},
    verbs,
};
use crate::harness::ehr_server::fake::{FakeRequest, Response};

/// The hard cap of every list.
const CAP: usize = 100;
/// Parameters of the list of the Patient Select window.
const PATIENTS: [&str; 5] = ["Offset", "Limit", "LName", "FName", "Birthdate"];

impl Database {
    pub(super) fn handle(&mut self, asked: &FakeRequest) -> Response {
        let fate = self.switches.next();
        let delay = self.switches.delay;
        if fate == Fate::RequestLost {
            return Response { status: 0, headers: Vec::new(), body: Vec::new(), delay, lost: true };
        }
        let (status, headers, body) = match self.admit(asked).and_then(|segments| self.dispatch(asked, &segments)) {
            Ok((status, headers, body)) => (status, headers, body.map(|body| body.to_string()).unwrap_or_default()),
            Err((status, explanation)) => {
                let headers = if status == 429 { vec![("retry-after", "1".to_owned())] } else { Vec::new() };
                (status, headers, explanation)
            }
        };
        self.log.push((asked.method.clone(), asked.path.clone(), status));
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Response { status, headers, body: body.into_bytes(), delay, lost: fate == Fate::ReplyLost }
    }

    /// Authenticates a request and returns the segments of its path.
    fn admit(&mut self, asked: &FakeRequest) -> Result<Vec<String>, OpenDentalRefusal> {
        if let Some((status, explanation)) = self.switches.out {
            return Err((status, explanation.to_owned()));
        }
        if self.switches.too_many(Instant::now()) {
            return Err((429, "Too many requests.".to_owned()));
        }
        if asked.header("authorization") != Some(&format!("ODFHIR {}", self.keys)) {
            return Err((401, "Invalid credentials.".to_owned()));
        }
        if asked.header("content-type") != Some("application/json") {
            return Err((400, "Content-Type must be application/json.".to_owned()));
        }
        let path = asked.path.strip_prefix(BASE).and_then(|path| path.strip_prefix('/'));
        let segments: Vec<String> = path.unwrap_or_default().split('/').map(str::to_owned).collect();
        let method = format!("{} {}", asked.method, segments[0]);
        if self.forbidden.contains(&method.as_str()) {
            return Err((401, "The developer key does not have the permission for this method.".to_owned()));
        }
        Ok(segments)
    }

    fn dispatch(&mut self, asked: &FakeRequest, segments: &[String]) -> Result<Done, OpenDentalRefusal> {
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match (asked.method.as_str(), segments.as_slice()) {
            ("GET", ["accountmodules", patient, "Aging"]) => verbs::aging(self, patient),
            ("PUT", ["appointments", key, verb @ ("Break" | "Note" | "Confirm")]) => {
                let fields = object(&asked.body)?;
                verbs::appointment(self, key, verb, &fields)
            }
            ("GET", ["patients", "Simple"]) => self.list(&self.known("patients")?, &asked.parameters()),
            // This list alone refuses unknown parameters, and it has no filter by modification time.
            ("GET", ["patients"]) => {
                match asked.parameters().iter().find(|(name, _)| !PATIENTS.contains(&name.as_str())) {
                    Some((name, _)) => Err((400, format!("'{name}' is not a valid parameter."))),
                    None => self.list(&self.known("patients")?, &asked.parameters()),
                }
            }
            ("GET", [path]) => self.list(&self.known(path)?, &asked.parameters()),
            ("POST", [path]) => self.make(&self.known(path)?, object(&asked.body)?),
            ("GET", [path, key]) => self.single(&self.known(path)?, key),
            ("PUT", [path, key]) => self.edit(&self.known(path)?, key, object(&asked.body)?),
            ("DELETE", [path, key]) => self.delete(&self.known(path)?, key),
            _ => Err((404, "not a valid resource".to_owned())),
        }
    }

    fn known(&self, path: &str) -> Result<Table, OpenDentalRefusal> {
        let table = self.tables.iter().find(|table| table.path == path);
        table.cloned().ok_or_else(|| (404, format!("{path} is not a valid resource")))
    }

    fn single(&self, table: &Table, key: &str) -> Result<Done, OpenDentalRefusal> {
        let row = key.parse().ok().and_then(|key| self.row(table.path, key)).filter(|_| table.single);
        let row = row.ok_or_else(|| (404, format!("{} not found", table.key.trim_end_matches("Num"))))?;
        Ok((200, Vec::new(), Some(self.show(table, row))))
    }

    fn list(&mut self, table: &Table, query: &[(String, String)]) -> Result<Done, OpenDentalRefusal> {
        let given = |name: &str| query.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str());
        let unknown = query.iter().map(|(name, _)| name).filter(|name| !is_parameter(table, name));
        self.ignored.extend(unknown.map(|name| format!("{} {name}", table.path)));
        if table.by_patient {
            let patient = given("PatNum").ok_or_else(|| (400, "PatNum is required.".to_owned()))?;
            if !self.exists("patients", &json!(patient)) {
                return Err((404, "Patient not found".to_owned()));
            }
        }
        let size = |name: &str| given(name).map_or(Ok(None), |text| text.parse::<usize>().map(Some));
        let (Ok(offset), Ok(limit)) = (size("Offset"), size("Limit")) else {
            return Err((400, "Offset and Limit must be numbers.".to_owned()));
        };
        let mut rows: Vec<&OpenDentalRow> =
            self.rows(table.path).filter(|row| self.is_asked_for(table, row, &given)).collect();
        if table.path == "schedules" {
            rows.sort_by_key(|row| plain(&row["StartTime"]));
        }
        let page = rows.into_iter().skip(offset.unwrap_or(0)).take(limit.unwrap_or(CAP).min(CAP));
        Ok((200, Vec::new(), Some(page.map(|row| self.show(table, row)).collect())))
    }

    fn is_asked_for<'q>(&self, table: &Table, row: &OpenDentalRow, given: &impl Fn(&str) -> Option<&'q str>) -> bool {
        let field = |name: &str| row.get(name).map(plain).unwrap_or_default();
        let equal = table.filters.iter().all(|name| given(name).is_none_or(|value| field(name) == value));
        let since = table.stamp.and_then(|stamp| Some((field(stamp), given(stamp)?)));
        let changed = since.is_none_or(|(stamp, since)| match table.since {
            Since::After => stamp.as_str() > since,
            Since::OnOrAfter => stamp.as_str() >= since,
            Since::None => true,
        });
        let day: String = match table.path {
            "appointments" => field("AptDateTime").chars().take(10).collect(),
            "schedules" => field("SchedDate"),
            _ => String::new(),
        };
        let dated = !day.is_empty();
        let today = (table.path == "schedules" && given("dateStart").is_none()).then(|| self.today());
        let on = given("date").map(str::to_owned).or(today).filter(|_| dated);
        let in_days = on.is_none_or(|date| day == date)
            && given("dateStart").filter(|_| dated).is_none_or(|from| day.as_str() >= from)
            && given("dateEnd").filter(|_| dated).is_none_or(|to| day.as_str() <= to);
        let special = match table.path {
            "payments" => given("DateEntry").is_none_or(|from| field("DateEntry").as_str() >= from),
            // Medications discontinued before today are not listed.
            "medicationpats" => field("DateStop") == NEVER || field("DateStop") >= self.today(),
            "definitions" => given("includeHidden") == Some("true") || field("isHidden") == "false",
            "patients" => {
                let part = |name: &str| {
                    given(name).is_none_or(|part| field(name).to_lowercase().contains(&part.to_lowercase()))
                };
                field("PatStatus") != "Deleted" && part("LName") && part("FName")
            }
            _ => true,
        };
        equal && changed && in_days && special
    }

    fn make(&mut self, table: &Table, fields: OpenDentalRow) -> Result<Done, OpenDentalRefusal> {
        let post = table.post.ok_or_else(|| (404, format!("{} cannot be created", table.path)))?;
        let allowed: Vec<&str> = [post.required, post.optional].concat();
        only(&fields, &allowed)?;
        for field in post.required {
            if fields.get(*field).is_none_or(|value| value.is_null() || plain(value).is_empty()) {
                return Err((400, format!("{field} is required.")));
            }
        }
        let sent: Vec<String> = fields.keys().cloned().collect();
        let mut row = table.blank.clone();
        // Fields that do not belong to the row are instructions to the office.
        let (own, acts): (OpenDentalRow, OpenDentalRow) =
            fields.into_iter().partition(|(field, _)| row.contains_key(field) || field == "commType");
        row.extend(own);
        rules::check(table.path, self, &mut row, &sent)?;
        let key = self.insert(table.path, Value::Object(row));
        verbs::after_insert(self, table.path, key, &acts);
        let location = ("location", format!("https://api.opendental.com{BASE}/{}/{key}", table.path));
        Ok(match post.answers {
            Answers::Row => {
                let row = self.row(table.path, key).expect("it was made a moment ago");
                (201, vec![location], Some(self.show(table, row)))
            }
            Answers::Location => (201, vec![location], None),
            Answers::Nothing => (201, Vec::new(), None),
        })
    }

    fn edit(&mut self, table: &Table, key: &str, fields: OpenDentalRow) -> Result<Done, OpenDentalRefusal> {
        if table.put.is_empty() {
            return Err((404, format!("{} cannot be updated", table.path)));
        }
        only(&fields, table.put)?;
        let key = self.key_of(table, key)?;
        let mut row = self.row(table.path, key).cloned().unwrap_or_default();
        let sent: Vec<String> = fields.keys().cloned().collect();
        row.extend(fields);
        rules::check(table.path, self, &mut row, &sent)?;
        self.change(table.path, key, Value::Object(row));
        let row = self.row(table.path, key).expect("it was changed a moment ago");
        Ok((200, Vec::new(), Some(self.show(table, row))))
    }

    fn delete(&mut self, table: &Table, key: &str) -> Result<Done, OpenDentalRefusal> {
        if !table.delete {
            return Err((404, format!("{} cannot be deleted", table.path)));
        }
        let key = self.key_of(table, key)?;
        if table.path == "inssubs" && self.rows("patplans").any(|row| number(&row["InsSubNum"]) == Some(key)) {
            return Err((400, "Can't delete InsSub because PatPlans are still attached.".to_owned()));
        }
        self.remove(table.path, key);
        Ok((200, Vec::new(), None))
    }

    pub(super) fn key_of(&self, table: &Table, key: &str) -> Result<u64, OpenDentalRefusal> {
        let key = key.parse().ok().filter(|key| self.row(table.path, *key).is_some());
        key.ok_or_else(|| (404, format!("{} not found", table.key.trim_end_matches("Num"))))
    }
}

/// Returns whether the list has this filter. The office ignores others, as observed in practice, and returns all
/// rows.
fn is_parameter(table: &Table, name: &str) -> bool {
    let common = matches!(name, "Offset" | "Limit");
    let own = table.filters.contains(&name) || (table.since != Since::None && table.stamp == Some(name));
    let special = match table.path {
        "appointments" | "schedules" => matches!(name, "date" | "dateStart" | "dateEnd"),
        "payments" => name == "DateEntry",
        "definitions" => name == "includeHidden",
        "patients" => matches!(name, "LName" | "FName"),
        _ => false,
    };
    common || own || special
}

fn only(fields: &OpenDentalRow, allowed: &[&str]) -> Result<(), OpenDentalRefusal> {
    match fields.keys().find(|field| !allowed.contains(&field.as_str())) {
        Some(field) => Err((400, format!("{field} is not a valid field."))),
        None => Ok(()),
    }
}

fn object(body: &[u8]) -> Result<OpenDentalRow, OpenDentalRefusal> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        _ => Err((400, "The body is not a JSON object.".to_owned())),
    }
}
