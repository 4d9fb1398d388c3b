//! The documented checks of written rows, and the fields that the office completes.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use serde_json::{Value, json};

use super::{
    database::{Database, number, plain},
    table::{NEVER, OpenDentalRefusal, OpenDentalRow},
};

type RuleResult = Result<(), OpenDentalRefusal>;

/// The tables that can be watched.
const WATCHED: [&str; 7] =
    ["Appointment", "AppointmentDeleted", "Operatory", "PatField", "Patient", "Provider", "Schedule"];

/// Checks and completes a new or changed row. `sent` contains the names of the sent fields.
pub fn check(table: &str, database: &Database, row: &mut OpenDentalRow, sent: &[String]) -> RuleResult {
    let rule = match table {
        "patients" => patient,
        "commlogs" => commlog,
        "appointments" => appointment,
        "carriers" => carrier,
        "insplans" => plan,
        "inssubs" => subscription,
        "subscriptions" => event_subscription,
        "patplans" => coverage,
        "allergies" => allergy,
        "diseases" => disease,
        "medicationpats" => medication,
        "payments" => payment,
        "adjustments" => adjustment,
        _ => return Ok(()),
    };
    rule(database, row, sent)
}

pub fn bad<T>(why: impl Into<String>) -> Result<T, OpenDentalRefusal> {
    Err((400, why.into()))
}

fn missing<T>(what: &str) -> Result<T, OpenDentalRefusal> {
    Err((404, format!("{what} not found")))
}

pub fn text(row: &OpenDentalRow, field: &str) -> String {
    row.get(field).map(plain).unwrap_or_default()
}

fn refers(database: &Database, row: &OpenDentalRow, field: &str, table: &str, what: &str) -> RuleResult {
    match row.get(field) {
        Some(key) if number(key) == Some(0) => Ok(()),
        Some(key) if database.exists(table, key) => Ok(()),
        _ => missing(what),
    }
}

fn patient_of(database: &Database, row: &OpenDentalRow) -> RuleResult {
    let key = row.get("PatNum").unwrap_or(&Value::Null);
    if !database.exists("patients", key) {
        return missing("Patient");
    }
    if database.word("patients", key, "PatStatus") == "Deleted" {
        return bad("Patient is deleted");
    }
    Ok(())
}

fn one_of(row: &OpenDentalRow, field: &str, words: &[&str]) -> RuleResult {
    let word = text(row, field);
    if words.contains(&word.as_str()) { Ok(()) } else { bad(format!("{field} is invalid.")) }
}

fn flag(row: &OpenDentalRow, field: &str) -> RuleResult {
    match row.get(field) {
        Some(Value::String(word)) if matches!(word.as_str(), "true" | "false") => Ok(()),
        _ => bad(format!("{field} must be either \"true\" or \"false\".")),
    }
}

fn date(row: &OpenDentalRow, field: &str) -> RuleResult {
    match NaiveDate::parse_from_str(&text(row, field), "%Y-%m-%d") {
        Ok(_) => Ok(()),
        Err(_) => bad(format!("{field} format must be yyyy-MM-dd")),
    }
}

fn moment(row: &OpenDentalRow, field: &str) -> RuleResult {
    match NaiveDateTime::parse_from_str(&text(row, field), "%Y-%m-%d %H:%M:%S") {
        Ok(_) => Ok(()),
        Err(_) => bad(format!("{field} format must be yyyy-MM-dd HH:mm:ss")),
    }
}

/// Converts a time of day into a time on the appointment's day.
fn time_of_day(row: &mut OpenDentalRow, field: &str) -> RuleResult {
    let time = text(row, field);
    if NaiveTime::parse_from_str(&time, "%H:%M:%S").is_err() {
        return bad(format!("{field} format must be HH:mm:ss"));
    }
    let day: String = text(row, "AptDateTime").chars().take(10).collect();
    row.insert(field.into(), format!("{day} {time}").into());
    Ok(())
}

fn patient(database: &Database, row: &mut OpenDentalRow, sent: &[String]) -> RuleResult {
    if text(row, "LName").is_empty() || text(row, "FName").is_empty() {
        return bad("LName and FName are required.");
    }
    one_of(row, "PatStatus", &["Patient", "NonPatient", "Inactive", "Archived", "Deceased", "Prospective"])?;
    one_of(row, "Gender", &["Male", "Female", "Unknown"])?;
    one_of(row, "TxtMsgOk", &["Unknown", "Yes", "No"])?;
    date(row, "Birthdate")?;
    refers(database, row, "PriProv", "providers", "Provider")?;
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let (ssn, state, zip) = (text(row, "SSN"), text(row, "State"), text(row, "Zip"));
    if !ssn.is_empty() && (ssn.len() != 9 || !digits(&ssn)) {
        return bad("SSN must be 9 digits.");
    }
    if !state.is_empty() && (state.len() != 2 || !state.bytes().all(|b| b.is_ascii_uppercase())) {
        return bad("State must be two capital letters.");
    }
    let fits =
        zip.is_empty() || ((5..=10).contains(&zip.len()) && zip.bytes().all(|b| b.is_ascii_digit() || b == b'-'));
    if !fits {
        return bad("Zip must be in format 12345, 12345-1234, or 123456789.");
    }
    if text(row, "ChartNumber").len() > 15 {
        return bad("ChartNumber is longer than 15 characters.");
    }
    // A new patient is compared with the existing ones.
    if number(&row["PatNum"]) == Some(0) {
        let same = |other: &&OpenDentalRow| {
            let field = |name: &str| text(other, name) == text(row, name) && !text(row, name).is_empty();
            let contact = ["Email", "HmPhone", "WkPhone", "WirelessPhone"].into_iter().any(field);
            ["LName", "FName", "Birthdate"].into_iter().all(|name| text(other, name) == text(row, name)) && contact
        };
        if database.rows("patients").any(|other| same(&other)) {
            let (first, last, born) = (text(row, "FName"), text(row, "LName"), text(row, "Birthdate"));
            return bad(format!("{first} {last}, born {born}, is already a patient."));
        }
    }
    if sent.iter().any(|field| field == "Guarantor") {
        refers(database, row, "Guarantor", "patients", "Guarantor")?;
    }
    Ok(())
}

fn appointment(database: &Database, row: &mut OpenDentalRow, sent: &[String]) -> RuleResult {
    patient_of(database, row)?;
    let was = |field: &str| sent.iter().any(|name| name == field);
    if !database.exists("operatories", &row["Op"]) {
        return missing("Operatory");
    }
    refers(database, row, "ProvNum", "providers", "Provider")?;
    refers(database, row, "ProvHyg", "providers", "Provider")?;
    refers(database, row, "AppointmentTypeNum", "appointmenttypes", "AppointmentType")?;
    moment(row, "AptDateTime")?;
    for field in ["DateTimeArrived", "DateTimeSeated", "DateTimeDismissed"].into_iter().filter(|field| was(field)) {
        time_of_day(row, field)?;
    }
    one_of(
        row,
        "AptStatus",
        &["Scheduled", "Complete", "UnschedList", "ASAP", "Broken", "Planned", "PtNote", "PtNoteCompleted"],
    )?;
    one_of(row, "Priority", &["Normal", "ASAP"])?;
    flag(row, "IsHygiene")?;
    flag(row, "IsNewPatient")?;
    if number(&row["Confirmed"]) == Some(0) {
        let first = database.rows("definitions").find(|def| number(&def["Category"]) == Some(2));
        row.insert("Confirmed".into(), first.map_or(json!(0), |def| def["DefNum"].clone()));
    } else {
        refers(database, row, "Confirmed", "definitions", "Definition")?;
    }
    if number(&row["ProvNum"]) == Some(0) {
        let own = database.word("patients", &row["PatNum"], "PriProv").parse().unwrap_or(0_u64);
        let first = database.rows("providers").next().and_then(|provider| number(&provider["ProvNum"])).unwrap_or(0);
        row.insert("ProvNum".into(), if own > 0 { own } else { first }.into());
    }
    if was("AppointmentTypeNum") && !was("Pattern") {
        let pattern = database.word("appointmenttypes", &row["AppointmentTypeNum"], "Pattern");
        if !pattern.is_empty() {
            row.insert("Pattern".into(), pattern.into());
        }
    }
    let signs = |text: &str| text.bytes().all(|sign| matches!(sign, b'X' | b'/'));
    let pattern = text(row, "Pattern");
    if pattern.is_empty() || !signs(&pattern) {
        return bad("Pattern must consist of X and / characters only.");
    }
    // Longer patterns are truncated to nine hours without an error.
    let pattern: String = pattern.chars().take(108).collect();
    let second = text(row, "PatternSecondary");
    if was("PatternSecondary") && (second.len() != pattern.len() || !signs(&second)) {
        return bad("PatternSecondary must match the length of Pattern.");
    }
    if !was("PatternSecondary") && second.len() != pattern.len() {
        row.insert("PatternSecondary".into(), "/".repeat(pattern.len()).into());
    }
    row.insert("Pattern".into(), pattern.into());
    Ok(())
}

fn commlog(database: &Database, row: &mut OpenDentalRow, sent: &[String]) -> RuleResult {
    patient_of(database, row)?;
    if text(row, "Note").is_empty() {
        return bad("Note is required.");
    }
    if sent.iter().any(|field| field == "CommDateTime") {
        moment(row, "CommDateTime")?;
    } else {
        row.insert("CommDateTime".into(), database.now().into());
    }
    if let Some(kind) = row.remove("commType").filter(|kind| !plain(kind).is_empty()) {
        let named =
            |def: &&OpenDentalRow| number(&def["Category"]) == Some(27) && text(def, "ItemName") == plain(&kind);
        let def = database.rows("definitions").find(named).map(|def| def["DefNum"].clone());
        let Some(def) = def else { return bad("commType is invalid.") };
        row.insert("CommType".into(), def);
    }
    let modes = ["None", "Email", "Mail", "Phone", "In Person", "Text", "Email and Text", "Phone and Text"];
    one_of(row, "Mode_", &modes)?;
    one_of(row, "SentOrReceived", &["Neither", "Sent", "Received"])
}

fn carrier(_: &Database, row: &mut OpenDentalRow, _: &[String]) -> RuleResult {
    let (name, state) = (text(row, "CarrierName"), text(row, "State"));
    if name.is_empty() || name.chars().count() > 255 {
        return bad("CarrierName is required.");
    }
    if !state.is_empty() && state.len() != 2 { bad("State must be two capital letters.") } else { Ok(()) }
}

fn plan(database: &Database, row: &mut OpenDentalRow, _: &[String]) -> RuleResult {
    if !database.exists("carriers", &row["CarrierNum"]) {
        return missing("Carrier");
    }
    refers(database, row, "FeeSched", "feescheds", "FeeSched")?;
    one_of(row, "PlanType", &["", "p", "f", "c"])?;
    match number(&row["MonthRenew"]) {
        Some(0..=12) => Ok(()),
        _ => bad("MonthRenew must be 0 to 12."),
    }
}

fn subscription(database: &Database, row: &mut OpenDentalRow, _: &[String]) -> RuleResult {
    if !database.exists("insplans", &row["PlanNum"]) {
        return missing("InsPlan");
    }
    if !database.exists("patients", &row["Subscriber"]) {
        return missing("Patient");
    }
    if text(row, "SubscriberID").is_empty() {
        return bad("SubscriberID is required.");
    }
    date(row, "DateEffective")?;
    date(row, "DateTerm")
}

/// Only events of tables are supported.
fn event_subscription(database: &Database, row: &mut OpenDentalRow, sent: &[String]) -> RuleResult {
    one_of(row, "WatchTable", &WATCHED)?;
    if number(&row["PollingSeconds"]).is_none_or(|seconds| seconds == 0) {
        return bad("PollingSeconds is required.");
    }
    row.insert("CustomerKey".into(), database.customer_key().into());
    if sent.iter().any(|field| field == "DateTimeStart") {
        return moment(row, "DateTimeStart");
    }
    row.insert("DateTimeStart".into(), database.now().into());
    Ok(())
}

fn coverage(database: &Database, row: &mut OpenDentalRow, _: &[String]) -> RuleResult {
    patient_of(database, row)?;
    if !database.exists("inssubs", &row["InsSubNum"]) {
        return missing("InsSub");
    }
    let twin = |other: &&OpenDentalRow| {
        ["PatNum", "InsSubNum"].into_iter().all(|field| number(&other[field]) == number(&row[field]))
    };
    if database.rows("patplans").any(|other| twin(&other)) {
        return bad("Patient already has this insurance plan.");
    }
    one_of(
        row,
        "Relationship",
        &[
            "Self", "Spouse", "Child", "Employee", "HandicapDep", "SignifOther", "InjuredPlantiff", "LifePartner",
            "Dependent",
        ],
    )?;
    match number(&row["Ordinal"]) {
        Some(1..=9) => Ok(()),
        _ => bad("Ordinal must be a single digit."),
    }
}

fn allergy(database: &Database, row: &mut OpenDentalRow, _: &[String]) -> RuleResult {
    patient_of(database, row)?;
    if !database.exists("allergydefs", &row["AllergyDefNum"]) {
        return missing("AllergyDef");
    }
    flag(row, "StatusIsActive")?;
    date(row, "DateAdverseReaction")
}

fn disease(database: &Database, row: &mut OpenDentalRow, _: &[String]) -> RuleResult {
    patient_of(database, row)?;
    if !database.exists("diseasedefs", &row["DiseaseDefNum"]) {
        return missing("DiseaseDef");
    }
    one_of(row, "ProbStatus", &["Active", "Resolved", "Inactive"])
}

fn medication(database: &Database, row: &mut OpenDentalRow, _: &[String]) -> RuleResult {
    patient_of(database, row)?;
    if !database.exists("medications", &row["MedicationNum"]) {
        return missing("Medication");
    }
    for field in ["DateStart", "DateStop"] {
        if text(row, field).is_empty() {
            row.insert(field.into(), NEVER.into());
        }
        date(row, field)?;
    }
    Ok(())
}

pub fn amount(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn payment(database: &Database, row: &mut OpenDentalRow, sent: &[String]) -> RuleResult {
    patient_of(database, row)?;
    if amount(&row["PayAmt"]).is_none_or(|amount| amount == 0.0) {
        return bad("PayAmt is invalid.");
    }
    refers(database, row, "PayType", "definitions", "Definition")?;
    if sent.iter().any(|field| field == "PayDate") {
        date(row, "PayDate")?;
        if text(row, "PayDate") > database.today() {
            return bad("Future-dated payments are not allowed.");
        }
    } else {
        row.insert("PayDate".into(), database.today().into());
    }
    Ok(())
}

fn adjustment(database: &Database, row: &mut OpenDentalRow, _: &[String]) -> RuleResult {
    patient_of(database, row)?;
    let sign = database.word("definitions", &row["AdjType"], "ItemValue");
    let Some(amount) = amount(&row["AdjAmt"]) else { return bad("AdjAmt is invalid.") };
    match sign.as_str() {
        "+" if amount > 0.0 => (),
        "-" if amount < 0.0 => (),
        "+" => return bad("AdjAmt must be positive for this AdjType."),
        "-" => return bad("AdjAmt must be negative for this AdjType."),
        _ => return missing("AdjType"),
    }
    row.insert("AdjAmt".into(), amount.into());
    date(row, "AdjDate")?;
    if text(row, "AdjDate") > database.today() {
        return bad("AdjDate cannot be a future date.");
    }
    refers(database, row, "ProvNum", "providers", "Provider")?;
    if number(&row["ProcNum"]).is_some_and(|procedure| procedure > 0) {
        let theirs = database.word("procedurelogs", &row["ProcNum"], "PatNum");
        if theirs != plain(&row["PatNum"]) {
            return bad("The procedure must be associated to the patient.");
        }
    }
    Ok(())
}
