//! Conversion of chart and communication rows to the contract's records.

use adapter_sdk::{
    Record, clock,
    money::Cents,
    records::{
        self, CommunicationDirection, CommunicationMode, HistoryCategory, IntervalUnit, ProcedureStatus,
        TreatmentPlanStatus, extra,
    },
    streams::{Mapped, Shown, one_record},
};

use crate::{
    client::Client,
    map::{gone, id, name},
    patients::is_deleted,
    responses::{
        Allergy, AllergyDef, Commlog, Definition, Disease, DiseaseDef, Medication, MedicationPat, Patient, ProcTp,
        Procedure, ProcedureCode, Recall, RecallType, TreatPlan, TreatPlanAttach,
    },
    time,
    values::{self, DIRECTIONS, MODES, Num},
};

/// Prefixes of the ids of three tables, each numbered from one.
pub const ALLERGY: &str = "allergy:";

pub const CONDITION: &str = "condition:";

pub const MEDICATION: &str = "medication:";

/// Limits of the contract: the interval of a recall, and the procedures of a plan.
const LONGEST: u32 = 1_000;
const MOST: usize = 1_000;

pub fn allergy_def(_: &Client, def: AllergyDef) -> Mapped {
    item(ALLERGY, HistoryCategory::Allergies, def.allergy_def_num, &def.description, def.is_hidden.0)
}

pub fn disease_def(_: &Client, def: DiseaseDef) -> Mapped {
    item(CONDITION, HistoryCategory::Conditions, def.disease_def_num, &def.disease_name, def.is_hidden.0)
}

pub fn medication(_: &Client, def: Medication) -> Mapped {
    item(MEDICATION, HistoryCategory::Medications, def.medication_num, &def.med_name, false)
}

fn item(prefix: &str, category: HistoryCategory, key: Num, called: &str, hidden: bool) -> Mapped {
    one_record(Record::HistoryItem(records::HistoryItem {
        id: format!("{prefix}{}", id(key)?),
        category,
        name: name(called, key),
        extra: extra([("hidden", hidden.then(|| "true".into()))]),
    }))
}

pub fn disease(_: &Client, disease: Disease) -> Mapped {
    one_record(Record::PatientHistoryItem(disease_item(&disease)?))
}

/// Lists allergies and medications, which the API returns by patient only.
pub fn allergies_and_medications(client: &Client, row: Patient) -> Mapped {
    if is_deleted(&row) {
        return Ok(Shown::Nothing);
    }
    let patient = id(row.pat_num)?;
    let allergies = client.list_for_patient::<Allergy>("/allergies", &patient)?;
    let medications = client.list_for_patient::<MedicationPat>("/medicationpats", &patient)?;
    let items = allergies.iter().map(allergy_item).chain(medications.iter().map(medication_item));
    Ok(Shown::Records(items.map(|item| item.map(Record::PatientHistoryItem)).collect::<Result<_, _>>()?))
}

pub fn allergy_item(row: &Allergy) -> Result<records::PatientHistoryItem, String> {
    Ok(records::PatientHistoryItem {
        id: format!("{ALLERGY}{}", id(row.allergy_num)?),
        patient: id(row.pat_num)?,
        category: HistoryCategory::Allergies,
        item: format!("{ALLERGY}{}", id(row.allergy_def_num)?),
        note: row.reaction.some(),
        active: row.status_is_active.0,
        extra: Vec::new(),
    })
}

pub fn disease_item(row: &Disease) -> Result<records::PatientHistoryItem, String> {
    Ok(records::PatientHistoryItem {
        id: format!("{CONDITION}{}", id(row.disease_num)?),
        patient: id(row.pat_num)?,
        category: HistoryCategory::Conditions,
        item: format!("{CONDITION}{}", id(row.disease_def_num)?),
        note: row.pat_note.some(),
        active: row.prob_status.0 == "Active",
        extra: extra([("status", row.prob_status.some())]),
    })
}

pub fn medication_item(row: &MedicationPat) -> Result<records::PatientHistoryItem, String> {
    let today = clock::today();
    Ok(records::PatientHistoryItem {
        id: format!("{MEDICATION}{}", id(row.medication_pat_num)?),
        patient: id(row.pat_num)?,
        category: HistoryCategory::Medications,
        item: format!("{MEDICATION}{}", id(row.medication_num)?),
        note: row.pat_note.some(),
        active: time::day(&row.date_stop)?.is_none_or(|stopped| stopped > today),
        extra: Vec::new(),
    })
}

pub fn commlog(_: &Client, log: Commlog) -> Mapped {
    one_record(Record::CommunicationLog(records::CommunicationLog {
        id: id(log.commlog_num)?,
        patient: id(log.pat_num)?,
        note: values::note(&log.note).text.unwrap_or_default(),
        mode: MODES.meaning(&log.mode).unwrap_or(CommunicationMode::None),
        direction: DIRECTIONS.meaning(&log.sent_or_received).unwrap_or(CommunicationDirection::Sent),
        occurred_at: time::instant(&log.comm_date_time)?.ok_or("it has no time")?,
        extra: extra([("type", log.type_name.some())]),
    }))
}

pub fn code_category(_: &Client, def: Definition) -> Mapped {
    one_record(Record::ProcedureCodeCategory(records::ProcedureCodeCategory {
        id: id(def.def_num)?,
        name: name(&def.item_name, def.def_num),
        extra: extra([("hidden", def.is_hidden.0.then(|| "true".into()))]),
    }))
}

pub fn procedure_code(_: &Client, code: ProcedureCode) -> Mapped {
    one_record(Record::ProcedureCode(records::ProcedureCode {
        id: id(code.code_num)?,
        code: code.proc_code.some().ok_or_else(|| "it has no code".to_owned())?,
        description: name(&code.descript, code.code_num),
        category: code.proc_cat.id(),
        active: true,
        extra: Vec::new(),
    }))
}

/// The reason for an unknown status, which may still be a procedure.
pub const NO_STATUS: &str = "its status is not documented";

pub fn procedure(client: &Client, p: Procedure) -> Mapped {
    let status = match p.proc_status.as_str() {
        "TP" if p.apt_num.0 > 0 => ProcedureStatus::Scheduled,
        "TP" => ProcedureStatus::Planned,
        "C" | "EC" | "EO" => ProcedureStatus::Completed,
        "R" => ProcedureStatus::Referred,
        "TPi" => ProcedureStatus::Inactive,
        "D" => return Ok(gone(p.proc_num)),
        // The status `Cn` describes a tooth, not a past or future treatment.
        "Cn" => return Ok(Shown::Nothing),
        _ => return Err(NO_STATUS.into()),
    };
    let teeth = [&p.tooth_num, &p.tooth_range].into_iter().flat_map(|text| text.split(','));
    one_record(Record::Procedure(records::Procedure {
        id: id(p.proc_num)?,
        patient: p.pat_num.id(),
        provider: p.prov_num.id(),
        appointment: p.apt_num.id(),
        code: p.code.some(),
        name: p.name.some(),
        status: Some(status),
        teeth: teeth.map(str::trim).filter(|tooth| !tooth.is_empty()).map(str::to_owned).collect(),
        surface: p.surf.some(),
        fee: Some(price(&p).money(&client.settings.currency)),
        start_date: time::day(&p.proc_date)?,
        extra: extra([("status", p.proc_status.some())]),
        ..records::Procedure::default()
    }))
}

/// Returns the fee of all units.
pub fn price(p: &Procedure) -> Cents {
    let units = i64::try_from(p.unit_qty.0 + p.base_units.0).unwrap_or(1).clamp(1, 1_000);
    Cents(p.proc_fee.0.saturating_mul(units))
}

/// Saved plans contain copies of procedures; others refer to them.
pub fn treatment_plan(client: &Client, plan: TreatPlan) -> Mapped {
    let key = id(plan.treat_plan_num)?;
    let asked = [("TreatPlanNum", key.clone())];
    let procedures: Vec<Num> = if plan.status.0 == "Saved" {
        client.all::<ProcTp>("/proctps", &asked)?.iter().map(|row| row.proc_num_orig).collect()
    } else {
        client.all::<TreatPlanAttach>("/treatplanattaches", &asked)?.iter().map(|row| row.proc_num).collect()
    };
    let status = match plan.status.as_str() {
        "Inactive" => TreatmentPlanStatus::NotApplicable,
        _ if plan.is_signed.0 => TreatmentPlanStatus::Accepted,
        _ => TreatmentPlanStatus::Proposed,
    };
    one_record(Record::TreatmentPlan(records::TreatmentPlan {
        id: key,
        name: plan.heading.some(),
        patient: plan.pat_num.id(),
        status: Some(status),
        procedures: procedures.into_iter().filter_map(Num::id).take(MOST).collect(),
        extra: extra([("status", plan.status.some())]),
    }))
}

pub fn recall_type(_: &Client, kind: RecallType) -> Mapped {
    // Without an interval the type is not recurring.
    let Some((number, unit)) = interval(&kind.default_interval)? else { return Ok(Shown::Nothing) };
    one_record(Record::RecallType(records::RecallType {
        id: id(kind.recall_type_num)?,
        name: name(&kind.description, kind.recall_type_num),
        description: None,
        interval_number: number,
        interval_unit: unit,
        extra: Vec::new(),
    }))
}

/// Parses an interval such as `1y6m20d`. Years and months are converted to months; additional days are dropped. Returns
/// `None` for an empty interval.
fn interval(text: &str) -> Result<Option<(u32, IntervalUnit)>, &'static str> {
    let unreadable = "its interval cannot be read";
    let (mut parts, mut number) = ([0; 4], String::new());
    for sign in text.trim().chars() {
        match "ymwd".find(sign) {
            Some(unit) => {
                let part = std::mem::take(&mut number).parse().ok().filter(|n| *n <= LONGEST);
                parts[unit] = part.ok_or(unreadable)?;
            }
            None if sign.is_ascii_digit() => number.push(sign),
            None => return Err(unreadable),
        }
    }
    let [years, months, weeks, days] = parts;
    let (number, unit) = match (years, months, weeks, days) {
        (years @ 1.., 0, _, _) => (years, IntervalUnit::Year),
        (years, months, _, _) if years > 0 || months > 0 => (years * 12 + months, IntervalUnit::Month),
        (_, _, weeks @ 1.., _) => (weeks, IntervalUnit::Week),
        (_, _, _, days) => (days, IntervalUnit::Day),
    };
    match number {
        0 => Ok(None),
        1..=LONGEST => Ok(Some((number, unit))),
        _ => Err(unreadable),
    }
}

pub fn recall(_: &Client, recall: Recall) -> Mapped {
    one_record(Record::PatientRecall(records::PatientRecall {
        id: id(recall.recall_num)?,
        patient: recall.pat_num.id(),
        appointment: None,
        recall_type: recall.recall_type_num.id(),
        date_due: time::day(&recall.date_due)?,
        extra: extra([
            ("disabled", recall.is_disabled.0.then(|| "true".into())),
            ("interval", recall.recall_interval.some()),
        ]),
    }))
}
