//! What is more than a row: the verbs of appointments, what a new row brings with it, and the age of balances.

use serde_json::{Value, json};

use super::{
    office::{Office, Row, number, plain},
    routes::Done,
    rules::{amount, bad, text},
    tables::Refusal,
};

pub fn appointment(office: &mut Office, key: &str, verb: &str, fields: &Row) -> Result<Done, Refusal> {
    let key = office.key_of(office.table("appointments"), key)?;
    let row = office.row("appointments", key).cloned().unwrap_or_default();
    let change = match verb {
        "Break" => broken(&row, fields)?,
        "Note" => noted(&row, fields)?,
        _ => confirmed(office, fields)?,
    };
    office.change("appointments", key, change);
    Ok((200, Vec::new(), None))
}

fn broken(row: &Row, fields: &Row) -> Result<Value, Refusal> {
    if text(row, "AptStatus") != "Scheduled" {
        return bad("Only appointments with an AptStatus of Scheduled can be broken.");
    }
    match fields.get("sendToUnscheduledList") {
        Some(Value::String(word)) if word == "true" => Ok(json!({"AptStatus": "UnschedList"})),
        Some(Value::String(word)) if word == "false" => Ok(json!({"AptStatus": "Broken"})),
        _ => bad("sendToUnscheduledList is required."),
    }
}

/// A new line behind what there is.
fn noted(row: &Row, fields: &Row) -> Result<Value, Refusal> {
    let (held, line) = (text(row, "Note"), text(fields, "Note"));
    if line.is_empty() {
        return bad("Note is required.");
    }
    Ok(json!({"Note": if held.is_empty() { line } else { format!("{held}\r\n{line}") }}))
}

fn confirmed(office: &Office, fields: &Row) -> Result<Value, Refusal> {
    let status = |name: &str| {
        let mut statuses = office.rows("definitions").filter(|def| number(&def["Category"]) == Some(2));
        let found = if name.is_empty() { statuses.next() } else { statuses.find(|def| text(def, "ItemName") == name) };
        found.map(|def| def["DefNum"].clone())
    };
    let (word, def) = (fields.get("confirmVal").map(plain), fields.get("defNum"));
    let status = match (word.as_deref(), def) {
        (Some("None"), None) => status(""),
        (Some("Confirmed"), None) => status("Appointment Confirmed"),
        (None, Some(def)) if office.exists("definitions", def) => Some(def.clone()),
        _ => None,
    };
    status.map(|status| json!({"Confirmed": status})).ok_or_else(|| (400, "confirmVal is invalid.".to_owned()))
}

pub fn after_insert(office: &mut Office, table: &str, key: u64, acts: &Row) {
    let row = office.row(table, key).cloned().unwrap_or_default();
    match table {
        "patients" if number(&row["Guarantor"]) == Some(0) => office.change(table, key, json!({"Guarantor": key})),
        "payments" => split(office, key, &row, acts),
        // Who has a primary insurance already has it as the second one now.
        "patplans" => {
            let theirs = |other: &&Row| {
                number(&other["PatNum"]) == number(&row["PatNum"])
                    && number(&other["Ordinal"]) == number(&row["Ordinal"])
                    && number(&other["PatPlanNum"]) != Some(key)
            };
            let bumped: Vec<u64> =
                office.rows(table).filter(theirs).filter_map(|other| number(&other["PatPlanNum"])).collect();
            let next = number(&row["Ordinal"]).unwrap_or(1) + 1;
            for other in bumped {
                office.change(table, other, json!({"Ordinal": next}));
            }
        }
        _ => (),
    }
}

/// A payment goes to the procedures it names, as far as it reaches; the rest is unearned.
fn split(office: &mut Office, key: u64, payment: &Row, acts: &Row) {
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
        let Some(row) = office.row("procedurelogs", procedure) else { continue };
        let paid = amount(&row["ProcFee"]).unwrap_or(0.0).min(rest);
        if paid > 0.0 {
            let split = part(json!({"ProcNum": procedure, "ProvNum": row["ProvNum"]}), paid);
            office.insert("paysplits", split);
            rest -= paid;
        }
    }
    if rest > 0.0 {
        office.insert("paysplits", part(json!({"ProcNum": 0, "ProvNum": 0}), rest));
    }
}

/// A family's balance, all of it of this month.
pub fn aging(office: &Office, patient: &str) -> Result<Done, Refusal> {
    let row = patient.parse().ok().and_then(|key| office.row("patients", key));
    let row = row.ok_or_else(|| (404, "Patient not found".to_owned()))?;
    let total = amount(&row["BalTotal"]).unwrap_or(0.0);
    let aging = json!({"Bal_0_30": total, "Bal_31_60": 0.0, "Bal_61_90": 0.0, "BalOver90": 0.0, "Total": total,
        "InsEst": 10.0, "EstBal": total - 10.0, "PatEstBal": total - 10.0, "Unearned": 0.0});
    Ok((200, Vec::new(), Some(aging)))
}
