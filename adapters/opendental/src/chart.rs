//! The API's rows of the chart, the ledger and the catalogues as the contract's records.

use adapter_sdk::{
    Fault, Record,
    records::{self, HistoryCategory},
};
use serde_json::Value;

use crate::{
    keys,
    lists::{Shown, Trouble},
    map::{address, extra, id},
    office::{Office, typed},
    responses::{
        Adjustment, Aging, Allergy, AllergyDef, Commlog, Definition, Disease, DiseaseDef, Fee, FeeSched, InsPlan,
        InsSub, Medication, MedicationPat, PatPlan, Patient, PaySplit, Payment, ProcTp, Procedure, ProcedureCode,
        Recall, RecallType, TreatPlan, TreatPlanAttach,
    },
    time,
    values::{Cents, Num},
};

pub fn fee_schedule(_: &Office, row: Value) -> Result<Shown, Trouble> {
    let schedule: FeeSched = typed(row)?;
    Ok(Shown::one(Record::FeeSchedule(records::FeeSchedule {
        id: id(schedule.fee_sched_num)?,
        name: name(&schedule.description, schedule.fee_sched_num),
        active: Some(!schedule.is_hidden.0),
        extra: extra([("type", schedule.fee_sched_type.some())]),
    })))
}

pub fn fee(office: &Office, row: Value) -> Result<Shown, Trouble> {
    let fee: Fee = typed(row)?;
    Ok(Shown::one(Record::Fee(records::Fee {
        id: id(fee.fee_num)?,
        fee_schedule: id(fee.fee_sched)?,
        procedure_code: fee.code_num.id(),
        code: None,
        amount: fee.amount.money(&office.settings.currency),
        extra: extra([("clinic", fee.clinic_num.id()), ("provider", fee.prov_num.id())]),
    })))
}

/// The plan's name is its carrier's, as staff see it; the group's name is usually the employer's.
pub fn insurance_plan(office: &Office, row: Value) -> Result<Shown, Trouble> {
    let plan: InsPlan = typed(row)?;
    let carrier = office.carriers()?.get(&plan.carrier_num).cloned().unwrap_or_default();
    let address = address([&carrier.address, &carrier.address2, &carrier.city, &carrier.state, &carrier.zip]);
    Ok(Shown::one(Record::InsurancePlan(records::InsurancePlan {
        id: id(plan.plan_num)?,
        payer_id: carrier.elect_id.some(),
        name: carrier.carrier_name.some().unwrap_or_else(|| name(&plan.group_name, plan.plan_num)),
        address,
        group_number: plan.group_num.some(),
        employer_name: plan.group_name.some(),
        fee_schedule: plan.fee_sched.id(),
        annual_max_individual: None,
        benefit_year_renewal_month: u8::try_from(plan.month_renew.0).ok().filter(|month| (1..=12).contains(month)),
        extra: extra([
            ("hidden", plan.is_hidden.0.then(|| "true".into())),
            ("medical", plan.is_medical.0.then(|| "true".into())),
            ("note", keys::read(&plan.plan_note).text),
        ]),
    })))
}

/// The coverages that rest on one subscription.
pub fn coverages(office: &Office, row: Value) -> Result<Shown, Trouble> {
    let subscription: InsSub = typed(row)?;
    let key = id(subscription.ins_sub_num)?;
    let covered: Vec<PatPlan> = office.all("/patplans", &[("InsSubNum", key)])?;
    let today = time::date(adapter_sdk::clock::now());
    let expires = time::day(&subscription.date_term);
    let in_force = expires.as_ref().is_none_or(|last| *last >= today);
    let mut shown = Shown::default();
    for patient in covered {
        shown.records.push(Record::Coverage(records::Coverage {
            id: id(patient.pat_plan_num)?,
            patient: id(patient.pat_num)?,
            plan: id(subscription.plan_num)?,
            relation: relation(&patient.relationship).into(),
            priority: u32::try_from(patient.ordinal.0).ok().filter(|ordinal| *ordinal > 0),
            subscriber: subscription.subscriber.id(),
            subscriber_name: None,
            subscriber_date_of_birth: None,
            subscriber_number: subscription.subscriber_id.some(),
            effective_date: time::day(&subscription.date_effective),
            expiration_date: expires.clone(),
            insurance_type: None,
            active: in_force && !patient.is_pending.0,
            extra: Vec::new(),
        }));
    }
    Ok(shown)
}

fn relation(text: &str) -> &'static str {
    match text {
        "Self" => "self",
        "Spouse" => "spouse",
        "Child" => "child",
        "Employee" => "employee",
        "HandicapDep" => "handicap_dep",
        "SignifOther" => "signif_other",
        "InjuredPlantiff" | "InjuredPlaintiff" => "injured_plaintiff",
        "LifePartner" => "life_partner",
        "Dependent" => "dependent",
        _ => "other",
    }
}

/// Prefixes of what three tables number from one.
pub const ALLERGY: &str = "allergy:";
pub const CONDITION: &str = "condition:";
pub const MEDICATION: &str = "medication:";

pub fn allergy_def(_: &Office, row: Value) -> Result<Shown, Trouble> {
    let def: AllergyDef = typed(row)?;
    item(ALLERGY, HistoryCategory::Allergies, def.allergy_def_num, &def.description, def.is_hidden.0)
}

pub fn disease_def(_: &Office, row: Value) -> Result<Shown, Trouble> {
    let def: DiseaseDef = typed(row)?;
    item(CONDITION, HistoryCategory::Conditions, def.disease_def_num, &def.disease_name, def.is_hidden.0)
}

pub fn medication(_: &Office, row: Value) -> Result<Shown, Trouble> {
    let def: Medication = typed(row)?;
    item(MEDICATION, HistoryCategory::Medications, def.medication_num, &def.med_name, false)
}

fn item(prefix: &str, category: HistoryCategory, key: Num, called: &str, hidden: bool) -> Result<Shown, Trouble> {
    Ok(Shown::one(Record::HistoryItem(records::HistoryItem {
        id: format!("{prefix}{}", id(key)?),
        category,
        name: name(called, key),
        extra: extra([("hidden", hidden.then(|| "true".into()))]),
    })))
}

pub fn disease(_: &Office, row: Value) -> Result<Shown, Trouble> {
    let disease: Disease = typed(row)?;
    Ok(Shown::one(Record::PatientHistoryItem(of_disease(&disease)?)))
}

/// Allergies and medications are listed by patient only.
pub fn allergies_and_medications(office: &Office, row: Value) -> Result<Shown, Trouble> {
    let patient: Patient = typed(row)?;
    let patient = id(patient.pat_num)?;
    let mut shown = Shown::default();
    for allergy in office.of_patient::<Allergy>("/allergies", &patient)? {
        shown.records.push(Record::PatientHistoryItem(of_allergy(&allergy)?));
    }
    for medication in office.of_patient::<MedicationPat>("/medicationpats", &patient)? {
        shown.records.push(Record::PatientHistoryItem(of_medication(&medication)?));
    }
    Ok(shown)
}

pub fn of_allergy(row: &Allergy) -> Result<records::PatientHistoryItem, String> {
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

pub fn of_disease(row: &Disease) -> Result<records::PatientHistoryItem, String> {
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

pub fn of_medication(row: &MedicationPat) -> Result<records::PatientHistoryItem, String> {
    let today = time::date(adapter_sdk::clock::now());
    Ok(records::PatientHistoryItem {
        id: format!("{MEDICATION}{}", id(row.medication_pat_num)?),
        patient: id(row.pat_num)?,
        category: HistoryCategory::Medications,
        item: format!("{MEDICATION}{}", id(row.medication_num)?),
        note: row.pat_note.some(),
        active: time::day(&row.date_stop).is_none_or(|stopped| stopped > today),
        extra: Vec::new(),
    })
}

pub fn commlog(_: &Office, row: Value) -> Result<Shown, Trouble> {
    let log: Commlog = typed(row)?;
    let mode = match log.mode.as_str() {
        "Email" | "Email and Text" | "EmailAndText" => "email",
        "Mail" => "mail",
        "Phone" | "Phone and Text" | "PhoneAndText" => "phone",
        "In Person" | "InPerson" => "in_person",
        "Text" => "text",
        _ => "none",
    };
    Ok(Shown::one(Record::CommunicationLog(records::CommunicationLog {
        id: id(log.commlog_num)?,
        patient: id(log.pat_num)?,
        note: keys::read(&log.note).text.unwrap_or_default(),
        mode: mode.into(),
        direction: if log.sent_or_received.0 == "Received" { "received" } else { "sent" }.into(),
        occurred_at: time::instant(&log.comm_date_time).ok_or_else(|| "it has no time".to_owned())?,
        extra: extra([("type", log.type_name.some())]),
    })))
}

pub fn code_category(_: &Office, row: Value) -> Result<Shown, Trouble> {
    let def: Definition = typed(row)?;
    Ok(Shown::one(Record::ProcedureCodeCategory(records::ProcedureCodeCategory {
        id: id(def.def_num)?,
        name: name(&def.item_name, def.def_num),
        extra: extra([("hidden", def.is_hidden.0.then(|| "true".into()))]),
    })))
}

pub fn procedure_code(_: &Office, row: Value) -> Result<Shown, Trouble> {
    let code: ProcedureCode = typed(row)?;
    Ok(Shown::one(Record::ProcedureCode(records::ProcedureCode {
        id: id(code.code_num)?,
        code: code.proc_code.some().ok_or_else(|| "it has no code".to_owned())?,
        description: name(&code.descript, code.code_num),
        category: code.proc_cat.id(),
        active: true,
        extra: Vec::new(),
    })))
}

pub fn procedure(office: &Office, row: Value) -> Result<Shown, Trouble> {
    let p: Procedure = typed(row)?;
    let status = match p.proc_status.as_str() {
        "TP" if p.apt_num.0 > 0 => "scheduled",
        "TP" => "planned",
        "C" | "EC" | "EO" => "completed",
        "R" => "referred",
        "TPi" => "inactive",
        "D" => return Ok(Shown::gone(p.proc_num.id())),
        // A condition of a tooth is nothing that was or will be done.
        _ => return Ok(Shown::default()),
    };
    let teeth = [&p.tooth_num, &p.tooth_range].into_iter().flat_map(|text| text.split(','));
    Ok(Shown::one(Record::Procedure(records::Procedure {
        id: id(p.proc_num)?,
        patient: p.pat_num.id(),
        provider: p.prov_num.id(),
        appointment: p.apt_num.id(),
        code: p.code.some(),
        name: p.name.some(),
        status: Some(status.into()),
        teeth: teeth.map(str::trim).filter(|tooth| !tooth.is_empty()).map(str::to_owned).collect(),
        surface: p.surf.some(),
        fee: Some(price(&p).money(&office.settings.currency)),
        start_date: time::day(&p.proc_date),
        end_date: None,
        treatment_plans: Vec::new(),
        extra: extra([("status", p.proc_status.some())]),
    })))
}

/// What is complete is charged for.
pub fn charge(office: &Office, row: Value) -> Result<Shown, Trouble> {
    let p: Procedure = typed(row)?;
    if p.proc_status.0 != "C" {
        return Ok(Shown::gone(p.proc_num.id()));
    }
    Ok(Shown::one(Record::Charge(records::Charge {
        id: id(p.proc_num)?,
        patient: p.pat_num.id(),
        guarantor: None,
        provider: p.prov_num.id(),
        procedure: p.proc_num.id(),
        procedure_code: p.code.some(),
        description: p.name.some(),
        fee: Some(price(&p).money(&office.settings.currency)),
        charged_at: time::day(&p.proc_date),
        extra: Vec::new(),
    })))
}

fn price(p: &Procedure) -> Cents {
    let units = i64::try_from(p.unit_qty.0 + p.base_units.0).unwrap_or(1).clamp(1, 1_000);
    Cents(p.proc_fee.0.saturating_mul(units))
}

/// Saved plans hold copies of procedures; others refer to them.
pub fn treatment_plan(office: &Office, row: Value) -> Result<Shown, Trouble> {
    let plan: TreatPlan = typed(row)?;
    let key = id(plan.treat_plan_num)?;
    let asked = [("TreatPlanNum", key.clone())];
    let procedures: Vec<Num> = if plan.status.0 == "Saved" {
        office.all::<ProcTp>("/proctps", &asked)?.iter().map(|row| row.proc_num_orig).collect()
    } else {
        office.all::<TreatPlanAttach>("/treatplanattaches", &asked)?.iter().map(|row| row.proc_num).collect()
    };
    let status = match plan.status.as_str() {
        "Inactive" => "not_applicable",
        _ if plan.is_signed.0 => "accepted",
        _ => "proposed",
    };
    Ok(Shown::one(Record::TreatmentPlan(records::TreatmentPlan {
        id: key,
        name: plan.heading.some(),
        patient: plan.pat_num.id(),
        status: Some(status.into()),
        procedures: procedures.into_iter().filter_map(Num::id).collect(),
        extra: extra([("status", plan.status.some())]),
    })))
}

pub fn recall_type(_: &Office, row: Value) -> Result<Shown, Trouble> {
    let kind: RecallType = typed(row)?;
    // Without an interval it is not a recurring one.
    let Some((number, unit)) = interval(&kind.default_interval) else { return Ok(Shown::default()) };
    Ok(Shown::one(Record::RecallType(records::RecallType {
        id: id(kind.recall_type_num)?,
        name: name(&kind.description, kind.recall_type_num),
        description: None,
        interval_number: number,
        interval_unit: unit.into(),
        extra: Vec::new(),
    })))
}

/// `1y6m20d`: months where there are years and months; the days that a date of return leaves are not told apart from it.
fn interval(text: &str) -> Option<(u32, &'static str)> {
    let (mut years, mut months, mut weeks, mut days) = (0, 0, 0, 0);
    let mut number = String::new();
    for sign in text.trim().chars() {
        match sign {
            '0'..='9' => number.push(sign),
            unit => {
                let place = match unit {
                    'y' => &mut years,
                    'm' => &mut months,
                    'w' => &mut weeks,
                    'd' => &mut days,
                    _ => return None,
                };
                *place = number.parse::<u32>().ok().filter(|n| *n <= 1_000)?;
                number.clear();
            }
        }
    }
    match (years, months, weeks, days) {
        (years @ 1.., 0, _, _) => Some((years, "year")),
        (years, months, _, _) if years > 0 || months > 0 => Some((years * 12 + months, "month")),
        (_, _, weeks @ 1.., _) => Some((weeks, "week")),
        (_, _, _, days @ 1..) => Some((days, "day")),
        _ => None,
    }
}

pub fn recall(_: &Office, row: Value) -> Result<Shown, Trouble> {
    let recall: Recall = typed(row)?;
    Ok(Shown::one(Record::PatientRecall(records::PatientRecall {
        id: id(recall.recall_num)?,
        patient: recall.pat_num.id(),
        appointment: None,
        recall_type: recall.recall_type_num.id(),
        date_due: time::day(&recall.date_due),
        extra: extra([
            ("disabled", recall.is_disabled.0.then(|| "true".into())),
            ("interval", recall.recall_interval.some()),
        ]),
    })))
}

pub fn payment_type(_: &Office, row: Value) -> Result<Shown, Trouble> {
    let def: Definition = typed(row)?;
    Ok(Shown::one(Record::PaymentType(records::PaymentType {
        id: id(def.def_num)?,
        name: name(&def.item_name, def.def_num),
        active: !def.is_hidden.0,
        extra: Vec::new(),
    })))
}

pub fn adjustment_type(_: &Office, row: Value) -> Result<Shown, Trouble> {
    let def: Definition = typed(row)?;
    let action = match def.item_value.as_str() {
        "+" => "debit",
        "-" => "credit",
        _ => "unknown",
    };
    Ok(Shown::one(Record::AdjustmentType(records::AdjustmentType {
        id: id(def.def_num)?,
        name: name(&def.item_name, def.def_num),
        active: !def.is_hidden.0,
        action: action.into(),
        extra: Vec::new(),
    })))
}

pub fn payment(office: &Office, row: Value) -> Result<Shown, Trouble> {
    let paid: Payment = typed(row)?;
    let key = id(paid.pay_num)?;
    let splits: Vec<PaySplit> =
        if office.settings.paysplits { office.all("/paysplits", &[("PayNum", key.clone())])? } else { Vec::new() };
    let parts = |of: fn(&PaySplit) -> Num| sums(&splits, of, &office.settings.currency);
    let (charge_splits, provider_splits) = (parts(|split| split.proc_num), parts(|split| split.prov_num));
    let only = |parts: &[records::Split]| if let [one] = parts { Some(one.id.clone()) } else { None };
    let note = keys::read(&paid.pay_note);
    Ok(Shown::one(Record::Payment(records::Payment {
        id: key,
        patient: paid.pat_num.id(),
        guarantor: None,
        provider: only(&provider_splits),
        charge: only(&charge_splits),
        claim: None,
        payment_plan: None,
        insurance_plan: None,
        payment_type: paid.pay_type.id(),
        amount: paid.pay_amt.money(&office.settings.currency),
        paid_at: time::day(&paid.pay_date),
        transaction_id: note.transaction,
        description: note.text,
        charge_splits,
        provider_splits,
        extra: extra([
            ("check_number", paid.check_num.some()),
            ("payment_plan", splits.iter().find_map(|split| split.pay_plan_num.id())),
        ]),
    })))
}

/// The splits of a payment by what they go to.
fn sums(splits: &[PaySplit], of: fn(&PaySplit) -> Num, currency: &str) -> Vec<records::Split> {
    let mut sums: Vec<(Num, i64)> = Vec::new();
    for split in splits.iter().filter(|split| of(split).0 > 0) {
        match sums.iter_mut().find(|(to, _)| *to == of(split)) {
            Some((_, sum)) => *sum += split.split_amt.0,
            None => sums.push((of(split), split.split_amt.0)),
        }
    }
    let part = |(to, cents): (Num, i64)| records::Split { id: to.to_string(), amount: Cents(cents).money(currency) };
    sums.into_iter().map(part).collect()
}

/// Adjustments are listed by patient only.
pub fn adjustments(office: &Office, row: Value) -> Result<Shown, Trouble> {
    let patient: Patient = typed(row)?;
    let mut shown = Shown::default();
    for row in office.of_patient::<Adjustment>("/adjustments", &id(patient.pat_num)?)? {
        let note = keys::read(&row.adj_note);
        shown.records.push(Record::Adjustment(records::Adjustment {
            id: id(row.adj_num)?,
            patient: row.pat_num.id(),
            guarantor: None,
            provider: row.prov_num.id(),
            charge: row.proc_num.id(),
            claim: None,
            adjustment_type: row.adj_type.id(),
            amount: row.adj_amt.money(&office.settings.currency),
            adjusted_at: time::day(&row.adj_date),
            transaction_id: note.transaction,
            description: note.text,
            charge_splits: Vec::new(),
            provider_splits: Vec::new(),
            extra: Vec::new(),
        }));
    }
    Ok(shown)
}

/// Of guarantors whose family owes something, or is owed.
pub fn balance(office: &Office, row: Value) -> Result<Shown, Trouble> {
    let guarantor: Patient = typed(row)?;
    let key = id(guarantor.pat_num)?;
    if guarantor.guarantor != guarantor.pat_num || guarantor.bal_total.0 == 0 {
        return Ok(Shown::gone(Some(key)));
    }
    let aging: Option<Aging> = match office.one(&format!("/accountmodules/{key}"), "Aging") {
        Err(Fault::Rejected(_)) => None,
        other => other?,
    };
    let Some(aging) = aging else { return Ok(Shown::gone(Some(key))) };
    let money = |cents: Cents| Some(cents.money(&office.settings.currency));
    Ok(Shown::one(Record::GuarantorBalance(records::Balance {
        id: key.clone(),
        patient: None,
        guarantor: Some(key),
        total: money(aging.total),
        write_off_estimate: None,
        insurance_estimate: money(aging.ins_est),
        guarantor_portion: money(aging.est_bal),
        under30: money(aging.under30),
        from31_to60: money(aging.from31),
        from61_to90: money(aging.from61),
        over90: money(aging.over90),
        billed_under30: None,
        billed31_to60: None,
        billed61_to90: None,
        billed_over90: None,
        extra: Vec::new(),
    })))
}

fn name(text: &str, key: Num) -> String {
    let text = text.trim();
    if text.is_empty() { key.to_string() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_one_unit() {
        for (text, expected) in [
            ("6m1d", Some((6, "month"))),
            ("1y", Some((1, "year"))),
            ("1y6m20d", Some((18, "month"))),
            ("0y0m3w0d", Some((3, "week"))),
            ("10d", Some((10, "day"))),
            ("", None),
            ("soon", None),
            ("0d", None),
        ] {
            assert_eq!(interval(text), expected, "{text}");
        }
    }
}
