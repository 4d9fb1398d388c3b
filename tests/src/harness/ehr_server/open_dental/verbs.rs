//! Operations beyond rows: the verbs of appointments, side effects of a new row, and aged balances.

use serde_json::{Value, json};

use super::{
    database::{Database, Done, number, plain},
    rules::{amount, bad, text},
    table::{OpenDentalRefusal, OpenDentalRow},
};

pub fn appointment(
    database: &mut Database,
    key: &str,
    verb: &str,
    fields: &OpenDentalRow,
) -> Result<Done, OpenDentalRefusal> {
    let key = database.key_of(database.table("appointments"), key)?;
    let row = database.row("appointments", key).cloned().unwrap_or_default();
    let change = match verb {
        "Break" => broken(&row, fields)?,
        "Note" => noted(&row, fields)?,
        _ => confirmed(database, fields)?,
    };
    database.change("appointments", key, change);
    Ok((200, Vec::new(), None))
}

fn broken(row: &OpenDentalRow, fields: &OpenDentalRow) -> Result<Value, OpenDentalRefusal> {
    if text(row, "AptStatus") != "Scheduled" {
        return bad("Only appointments with an AptStatus of Scheduled can be broken.");
    }
    match fields.get("sendToUnscheduledList") {
        Some(Value::String(word)) if word == "true" => Ok(json!({"AptStatus": "UnschedList"})),
        Some(Value::String(word)) if word == "false" => Ok(json!({"AptStatus": "Broken"})),
        _ => bad("sendToUnscheduledList is required."),
    }
}

/// Appends a line to the note.
fn noted(row: &OpenDentalRow, fields: &OpenDentalRow) -> Result<Value, OpenDentalRefusal> {
    let (held, line) = (text(row, "Note"), text(fields, "Note"));
    if line.is_empty() {
        return bad("Note is required.");
    }
    Ok(json!({"Note": if held.is_empty() { line } else { format!("{held}\r\n{line}") }}))
}

/// Sets the status with this number, or the office's status for a word.
fn confirmed(database: &Database, fields: &OpenDentalRow) -> Result<Value, OpenDentalRefusal> {
    let status = match (fields.get("confirmVal"), fields.get("defNum")) {
        (Some(word), None) => database.automated.get(plain(word).as_str()).copied(),
        (None, Some(def)) => number(def).filter(|_| database.word("definitions", def, "Category") == "2"),
        _ => None,
    };
    status.map(|status| json!({"Confirmed": status})).ok_or_else(|| (400, "confirmVal is invalid.".to_owned()))
}

pub fn after_insert(database: &mut Database, table: &str, key: u64, acts: &OpenDentalRow) {
    let row = database.row(table, key).cloned().unwrap_or_default();
    match table {
        "patients" if number(&row["Guarantor"]) == Some(0) => database.change(table, key, json!({"Guarantor": key})),
        "payments" => split(database, key, &row, acts),
        // An existing insurance of this ordinal moves to the next one.
        "patplans" => {
            let theirs = |other: &&OpenDentalRow| {
                number(&other["PatNum"]) == number(&row["PatNum"])
                    && number(&other["Ordinal"]) == number(&row["Ordinal"])
                    && number(&other["PatPlanNum"]) != Some(key)
            };
            let bumped: Vec<u64> =
                database.rows(table).filter(theirs).filter_map(|other| number(&other["PatPlanNum"])).collect();
            let next = number(&row["Ordinal"]).unwrap_or(1) + 1;
            for other in bumped {
                database.change(table, other, json!({"Ordinal": next}));
            }
        }
        _ => (),
    }
}

/// Splits a payment over the named procedures; the rest is unearned.
fn split(database: &mut Database, key: u64, payment: &OpenDentalRow, acts: &OpenDentalRow) {
    let mut rest = amount(&payment["PayAmt"]).unwrap_or(0.0);
    let named = acts.get("procNums").and_then(Value::as_array).cloned().unwrap_or_default();
    let base = json!({"PatNum": payment["PatNum"], "PayNum": key, "DatePay": payment["PayDate"]});
    let part = |to: Value, amount: f64| {
        let mut split = base.clone();
        split["SplitAmt"] = amount.into();
        for field in ["ProcNum", "ProvNum"] {
            split[field] = to[field].clone();
        }
        split
    };
    for procedure in named.iter().filter_map(number) {
        let Some(row) = database.row("procedurelogs", procedure) else { continue };
        let paid = amount(&row["ProcFee"]).unwrap_or(0.0).min(rest);
        if paid > 0.0 {
            let split = part(json!({"ProcNum": procedure, "ProvNum": row["ProvNum"]}), paid);
            database.insert("paysplits", split);
            rest -= paid;
        }
    }
    if rest > 0.0 {
        database.insert("paysplits", part(json!({"ProcNum": 0, "ProvNum": 0}), rest));
    }
}

/// Returns a family's balance, all of it of this month.
pub fn aging(database: &Database, patient: &str) -> Result<Done, OpenDentalRefusal> {
    let row = patient.parse().ok().and_then(|key| database.row("patients", key));
    let row = row.ok_or_else(|| (404, "Patient not found".to_owned()))?;
    let total = amount(&row["BalTotal"]).unwrap_or(0.0);
    let aging = json!({"Bal_0_30": total, "Bal_31_60": 0.0, "Bal_61_90": 0.0, "BalOver90": 0.0, "Total": total,
        "InsEst": 10.0, "EstBal": total - 10.0, "PatEstBal": total - 10.0, "Unearned": 0.0});
    Ok((200, Vec::new(), Some(aging)))
}
