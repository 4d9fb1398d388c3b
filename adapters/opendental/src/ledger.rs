//! Conversion of insurance, fee and ledger rows to the contract's records.

use adapter_sdk::{
    Record, clock,
    money::Cents,
    records::{self, AdjustmentAction, Relation, extra},
    streams::{Mapped, Shown, one_record},
};

use crate::{
    chart::{NO_STATUS, price},
    client::Client,
    map::{address, gone, id, name},
    patients::is_deleted,
    responses::{
        Adjustment, Aging, Definition, Fee, FeeSched, InsPlan, InsSub, PatPlan, Patient, PaySplit, Payment, Procedure,
    },
    time,
    values::{self, Num, RELATIONSHIPS, TRANSACTION},
};

pub fn fee_schedule(_: &Client, schedule: FeeSched) -> Mapped {
    one_record(Record::FeeSchedule(records::FeeSchedule {
        id: id(schedule.fee_sched_num)?,
        name: name(&schedule.description, schedule.fee_sched_num),
        active: Some(!schedule.is_hidden.0),
        extra: extra([("type", schedule.fee_sched_type.some())]),
    }))
}

pub fn fee(client: &Client, fee: Fee) -> Mapped {
    one_record(Record::Fee(records::Fee {
        id: id(fee.fee_num)?,
        fee_schedule: id(fee.fee_sched)?,
        procedure_code: fee.code_num.id(),
        code: None,
        amount: fee.amount.money(&client.settings.currency),
        extra: extra([("clinic", fee.clinic_num.id()), ("provider", fee.prov_num.id())]),
    }))
}

/// The plan has the name of its carrier, as staff see it; the group's name is usually the employer's.
pub fn insurance_plan(client: &Client, plan: InsPlan) -> Mapped {
    let carrier = client.carriers()?.get(&plan.carrier_num).cloned().unwrap_or_default();
    let address = address([&carrier.address, &carrier.address2, &carrier.city, &carrier.state, &carrier.zip]);
    one_record(Record::InsurancePlan(records::InsurancePlan {
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
            ("note", values::note(&plan.plan_note).text),
        ]),
    }))
}

pub fn coverages(client: &Client, subscription: InsSub) -> Mapped {
    let key = id(subscription.ins_sub_num)?;
    let covered: Vec<PatPlan> = client.all("/patplans", &[("InsSubNum", key)])?;
    let today = clock::today();
    let expires = time::day(&subscription.date_term)?;
    let in_force = expires.as_ref().is_none_or(|last| *last >= today);
    let coverage = |patient: &PatPlan| {
        Ok(Record::Coverage(records::Coverage {
            id: id(patient.pat_plan_num)?,
            patient: id(patient.pat_num)?,
            plan: id(subscription.plan_num)?,
            relation: RELATIONSHIPS.meaning(&patient.relationship).unwrap_or(Relation::Other),
            priority: u32::try_from(patient.ordinal.0).ok().filter(|ordinal| (1..=1_000).contains(ordinal)),
            subscriber: subscription.subscriber.id(),
            subscriber_name: None,
            subscriber_date_of_birth: None,
            subscriber_number: subscription.subscriber_id.some(),
            effective_date: time::day(&subscription.date_effective)?,
            expiration_date: expires.clone(),
            insurance_type: None,
            active: in_force && !patient.is_pending.0,
            extra: Vec::new(),
        }))
    };
    Ok(Shown::Records(covered.iter().map(coverage).collect::<Result<_, String>>()?))
}

/// Converts a completed procedure; only these are charged.
pub fn charge(client: &Client, p: Procedure) -> Mapped {
    match p.proc_status.as_str() {
        "C" => (),
        "TP" | "EC" | "EO" | "R" | "D" | "Cn" | "TPi" => return Ok(gone(p.proc_num)),
        _ => return Err(NO_STATUS.into()),
    }
    one_record(Record::Charge(records::Charge {
        id: id(p.proc_num)?,
        patient: p.pat_num.id(),
        provider: p.prov_num.id(),
        procedure: p.proc_num.id(),
        procedure_code: p.code.some(),
        description: p.name.some(),
        fee: Some(price(&p).money(&client.settings.currency)),
        charged_at: time::day(&p.proc_date)?,
        ..records::Charge::default()
    }))
}

pub fn payment_type(_: &Client, def: Definition) -> Mapped {
    one_record(Record::PaymentType(records::PaymentType {
        id: id(def.def_num)?,
        name: name(&def.item_name, def.def_num),
        active: !def.is_hidden.0,
        extra: Vec::new(),
    }))
}

pub fn adjustment_type(_: &Client, def: Definition) -> Mapped {
    let action = match def.item_value.as_str() {
        "+" => AdjustmentAction::Debit,
        "-" => AdjustmentAction::Credit,
        _ => AdjustmentAction::Unknown,
    };
    one_record(Record::AdjustmentType(records::AdjustmentType {
        id: id(def.def_num)?,
        name: name(&def.item_name, def.def_num),
        active: !def.is_hidden.0,
        action,
        extra: Vec::new(),
    }))
}

pub fn payment(client: &Client, paid: Payment) -> Mapped {
    let key = id(paid.pay_num)?;
    let splits: Vec<PaySplit> =
        if client.settings.paysplits { client.all("/paysplits", &[("PayNum", key.clone())])? } else { Vec::new() };
    let parts = |of: fn(&PaySplit) -> Num| sums(&splits, of, &client.settings.currency);
    let (charge_splits, provider_splits) = (parts(|split| split.proc_num), parts(|split| split.prov_num));
    let only = |parts: &[records::Split]| if let [one] = parts { Some(one.id.clone()) } else { None };
    let note = values::note(&paid.pay_note);
    one_record(Record::Payment(records::Payment {
        id: key,
        patient: paid.pat_num.id(),
        provider: only(&provider_splits),
        charge: only(&charge_splits),
        payment_type: paid.pay_type.id(),
        amount: paid.pay_amt.money(&client.settings.currency),
        paid_at: time::day(&paid.pay_date)?,
        transaction_id: note.get(TRANSACTION).map(str::to_owned),
        description: note.text,
        charge_splits,
        provider_splits,
        extra: extra([
            ("check_number", paid.check_num.some()),
            ("payment_plan", splits.iter().find_map(|split| split.pay_plan_num.id())),
        ]),
        ..records::Payment::default()
    }))
}

/// Returns the sums of a payment's splits by target.
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

/// Lists adjustments, which the API returns by patient only.
pub fn adjustments(client: &Client, patient: Patient) -> Mapped {
    if is_deleted(&patient) {
        return Ok(Shown::Nothing);
    }
    let adjustment = |row: &Adjustment| {
        let note = values::note(&row.adj_note);
        Ok(Record::Adjustment(records::Adjustment {
            id: id(row.adj_num)?,
            patient: row.pat_num.id(),
            provider: row.prov_num.id(),
            charge: row.proc_num.id(),
            adjustment_type: row.adj_type.id(),
            amount: row.adj_amt.money(&client.settings.currency),
            adjusted_at: time::day(&row.adj_date)?,
            transaction_id: note.get(TRANSACTION).map(str::to_owned),
            description: note.text,
            ..records::Adjustment::default()
        }))
    };
    let rows: Vec<Adjustment> = client.list_for_patient("/adjustments", &id(patient.pat_num)?)?;
    Ok(Shown::Records(rows.iter().map(adjustment).collect::<Result<_, String>>()?))
}

/// Returns the balance of a guarantor, unless it is zero.
pub fn balance(client: &Client, guarantor: Patient) -> Mapped {
    let key = id(guarantor.pat_num)?;
    if guarantor.guarantor != guarantor.pat_num || guarantor.bal_total.0 == 0 || is_deleted(&guarantor) {
        return Ok(Shown::Gone(key));
    }
    let aging: Option<Aging> = client.keyless(&format!("/accountmodules/{key}"), "Aging")?;
    let Some(aging) = aging else { return Ok(Shown::Gone(key)) };
    let money = |cents: Cents| Some(cents.money(&client.settings.currency));
    one_record(Record::GuarantorBalance(records::Balance {
        id: key.clone(),
        guarantor: Some(key),
        total: money(aging.total),
        insurance_estimate: money(aging.ins_est),
        guarantor_portion: money(aging.est_bal),
        under30: money(aging.under30),
        from31_to60: money(aging.from31),
        from61_to90: money(aging.from61),
        over90: money(aging.over90),
        ..records::Balance::default()
    }))
}
