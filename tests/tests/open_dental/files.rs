//! The files of the practice, both ways: insurance, history, communication logs, the ledger.

use engine::records::{
    catalogue::{AdjustmentType, Fee, PaymentType},
    clinical::{PatientRecall, Procedure, ProcedureStatus, TreatmentPlan},
    entry::Entry,
    history::{HistoryCategory, PatientHistoryItem},
    insurance::{Coverage, InsurancePlan, Relation},
    ledger::{Adjustment, Charge, GuarantorBalance, Payment},
    money::Money,
    talk::{CommunicationLog, Direction, Mode},
};
use engine::saving::{NewHistoryItem, SaveRequest, Saving};
use location::pull::Resource;
use serde_json::json;
use tests::{
    clinic::{
        LOCATION, ZONE,
        open_dental::{Clinic, whole_passes},
        visitor,
    },
    practice::SOURCE,
};

fn usd(amount: &str) -> Money {
    Money::parse(amount, "USD").unwrap()
}

#[actix::test]
async fn the_first_pull_shows_the_files() {
    let clinic = Clinic::open().await;
    let s = &clinic.seeded;
    let zoe = clinic.patient_by_foreign(s.patients[0]).id;

    let plan = clinic.entry::<InsurancePlan>(&s.plan.to_string());
    assert_eq!((plan.body.name.as_str(), plan.body.payer_id.as_deref()), ("Lakeside Dental", Some("60110")));
    assert_eq!((plan.body.group_number.as_deref(), plan.body.benefit_year_renewal_month), (Some("HW-12"), Some(12)));
    let coverage = clinic.entry::<Coverage>(&s.coverage.to_string()).body;
    assert_eq!((coverage.patient_id, coverage.plan_id, coverage.subscriber_id), (zoe, plan.id, Some(zoe)));
    assert_eq!(coverage.subscriber_number.as_deref(), Some("LD-7781"));
    assert!(coverage.active && coverage.relation == Relation::Oneself && coverage.priority == Some(1));

    for (foreign, category, note) in [
        ("allergy:1", HistoryCategory::Allergies, Some("Rash")),
        ("condition:1", HistoryCategory::Conditions, None),
        ("medication:1", HistoryCategory::Medications, Some("500mg")),
    ] {
        let item = clinic.entry::<PatientHistoryItem>(foreign).body;
        assert!(item.category == category && item.active && item.patient_id == zoe, "{foreign}");
        assert_eq!(item.note.as_deref(), note);
        assert_eq!(Some(item.item_id), clinic.id_of(Resource::HistoryItems, foreign));
    }
    assert_eq!(clinic.entry::<CommunicationLog>(&s.commlog.to_string()).body.note, "Asked to call back");

    let done = clinic.entry::<Procedure>(&s.charge.to_string()).body;
    assert!(done.status == Some(ProcedureStatus::Completed) && done.code.as_deref() == Some("D0120"));
    assert_eq!((done.teeth, done.fee), (vec!["4".to_owned()], Some(usd("130.00"))));
    let charge = clinic.entry::<Charge>(&s.charge.to_string());
    assert_eq!((charge.body.fee, charge.body.patient_id), (Some(usd("130.00")), Some(zoe)));
    assert_eq!(clinic.id_of(Resource::Charges, &(s.charge + 1).to_string()), None, "nothing is owed for a plan");
    let planned = clinic.entry::<TreatmentPlan>(&s.treatment_plan.to_string()).body;
    let procedure = clinic.id_of(Resource::Procedures, &(s.charge + 1).to_string()).unwrap();
    assert_eq!(planned.procedure_ids, [procedure]);

    let payment = clinic.entry::<Payment>(&s.payment.to_string()).body;
    assert_eq!((payment.amount, payment.charge_id), (usd("50.00"), Some(charge.id)));
    assert_eq!((payment.charge_splits.len(), payment.description.as_deref()), (1, Some("by mail")));
    let adjustment = clinic.entry::<Adjustment>(&s.adjustment.to_string()).body;
    assert_eq!((adjustment.amount, adjustment.description.as_deref()), (usd("-25.00"), Some("Courtesy")));
    assert!(clinic.entry::<PaymentType>(&s.check.to_string()).body.active);
    assert!(!clinic.entry::<PaymentType>(&(s.check + 1).to_string()).body.active, "hidden");
    assert_eq!(clinic.entry::<AdjustmentType>(&s.discount.to_string()).body.name, "Courtesy");
    assert_eq!(clinic.entry::<Fee>(&s.fee.to_string()).body.amount, usd("52.50"));
    let due = clinic.entry::<PatientRecall>(&s.recall.to_string()).body.date_due;
    assert_eq!(due.map(|day| day.to_string()), Some(clinic.first_day.to_string()));
    let balance = clinic.entry::<GuarantorBalance>(&s.patients[0].to_string()).body.0;
    assert_eq!((balance.total, balance.guarantor_portion), (Some(usd("111.90")), Some(usd("101.90"))));
    assert_eq!(clinic.id_of(Resource::GuarantorBalances, &s.patients[2].to_string()), None, "they owe nothing");
    clinic.engine.stop().await;
}

/// A location that is one clinic of an office has its own operatories and appointments, and everybody's patients.
#[actix::test]
async fn a_clinic_of_an_office_has_its_own_rooms() {
    let clinic = Clinic::open_with(
        ZONE,
        |office, seeded| {
            office.change("operatories", seeded.operatories[2], json!({"ClinicNum": 4}));
            office.change("patients", seeded.patients[6], json!({"ClinicNum": 4}));
            let row = json!({"PatNum": seeded.patients[6], "Op": seeded.operatories[2], "ProvNum": seeded.providers[2],
                "ClinicNum": 4, "AptDateTime": format!("{} 09:00:00", office.today()), "Pattern": "XXXXXX"});
            office.insert("appointments", row);
        },
        |place| place.foreign_id = Some("4".to_owned()),
    )
    .await;
    let rooms: Vec<_> = clinic.operatories().into_iter().map(|room| room.name).collect();
    assert_eq!(rooms, ["Zimmer 3 – Prophylaxe"]);
    assert_eq!(clinic.patient_by_foreign(clinic.seeded.patients[0]).last_name, "Łopata-O’Brien");
    assert_eq!(clinic.free_times(2, 1).await[0], "09:00");
    assert!(clinic.seen(&clinic.seeded.booked.to_string()).is_none(), "another clinic's");
    let person = visitor("Clinic", "Four", "555-070-0001");
    let booked = clinic.book(clinic.place(2, 1, 600), "clinic", &person, "").await.unwrap();
    let row = clinic.in_ehr(&clinic.written(booked.appointment.id).await);
    assert_eq!(row["ClinicNum"], 4);
    assert_eq!(clinic.row("patients", row["PatNum"].as_u64().unwrap())["ClinicNum"], 4);
    clinic.engine.stop().await;
}

#[actix::test]
async fn insurance_is_written_and_taken_back() {
    let clinic = Clinic::open_with(ZONE, |_, _| (), whole_passes).await;
    let zoe = clinic.patient_by_foreign(clinic.seeded.patients[0]).id;
    let plan = InsurancePlan {
        payer_id: Some("60054".into()),
        name: "Aetna Łódź".into(),
        address: None,
        group_number: Some("G-77".into()),
        employer_name: Some("Mill".into()),
        fee_schedule_id: None,
        annual_max_individual: None,
        benefit_year_renewal_month: Some(7),
        extra: Vec::new(),
    };
    let plan_id = clinic.file(&plan, None).await;
    let foreign = clinic.filed::<InsurancePlan>(plan_id).await;
    let row = clinic.row("insplans", foreign.parse().unwrap());
    assert_eq!((&row["GroupNum"], &row["MonthRenew"]), (&json!("G-77"), &json!(7)));
    let carrier = clinic.row("carriers", row["CarrierNum"].as_u64().unwrap());
    assert_eq!((&carrier["CarrierName"], &carrier["ElectID"]), (&json!("Aetna Łódź"), &json!("60054")));
    assert!(row["PlanNote"].as_str().unwrap().starts_with("[ref:ps-"));
    // A second plan of the carrier does not make it again.
    let second = clinic.file(&InsurancePlan { group_number: Some("G-78".into()), ..plan.clone() }, None).await;
    clinic.filed::<InsurancePlan>(second).await;
    assert_eq!(clinic.server.office().holding("carriers", "CarrierName", "Aetna").len(), 1);

    let coverage = Coverage {
        patient_id: zoe,
        plan_id,
        relation: Relation::Oneself,
        priority: Some(1),
        subscriber_id: None,
        subscriber_name: None,
        subscriber_date_of_birth: None,
        subscriber_number: Some("S-1".into()),
        effective_date: None,
        expiration_date: None,
        insurance_type: None,
        active: true,
        extra: Vec::new(),
    };
    let id = clinic.file(&coverage, Some(zoe)).await;
    let foreign = clinic.filed::<Coverage>(id).await;
    let row = clinic.row("patplans", foreign.parse().unwrap());
    assert_eq!((&row["PatNum"], &row["Ordinal"]), (&json!(clinic.seeded.patients[0]), &json!(1)));
    assert_eq!(clinic.row("patplans", clinic.seeded.coverage)["Ordinal"], 2, "the office moved the one before");
    clinic.sync().await;
    let seen = clinic.entry::<Coverage>(&foreign);
    assert_eq!((seen.id, seen.body.plan_id, seen.body.subscriber_id), (id, plan_id, Some(zoe)));
    assert_eq!(clinic.entry::<InsurancePlan>(&clinic.filed::<InsurancePlan>(plan_id).await).id, plan_id);

    let removal = Saving::EntryRemoval { resource: Resource::Coverages, id };
    clinic.save::<Entry<Coverage>>(removal).await;
    clinic.idle().await;
    assert!(clinic.server.office().row("patplans", foreign.parse().unwrap()).is_none());
    assert_eq!(clinic.server.office().rows("inssubs").count(), 2, "the subscription stays");
    clinic.sync().await;
    assert!(clinic.entry_by_id::<Coverage>(id).deleted_at.is_some());
    // What staff drop is seen, too.
    clinic.server.office().remove("patplans", clinic.seeded.coverage);
    clinic.sync_of_none(Resource::Coverages).await;
    let dropped = clinic.entry::<Coverage>(&clinic.seeded.coverage.to_string());
    assert!(dropped.deleted_at.is_some());
    clinic.engine.stop().await;
}

#[actix::test]
async fn history_is_written_changed_and_ended() {
    let clinic = Clinic::open_with(ZONE, |_, _| (), whole_passes).await;
    let patient = clinic.patient_by_foreign(clinic.seeded.patients[2]).id;
    for (category, prefix, table, note_field) in [
        (HistoryCategory::Allergies, "allergy", "allergies", "Reaction"),
        (HistoryCategory::Conditions, "condition", "diseases", "PatNote"),
        (HistoryCategory::Medications, "medication", "medicationpats", "PatNote"),
    ] {
        let item_id = clinic.id_of(Resource::HistoryItems, &format!("{prefix}:1")).unwrap();
        let item = |note: Option<&str>, active| {
            let note = note.map(str::to_owned);
            Saving::HistoryItem(NewHistoryItem { patient_id: patient, category, item_id, note, active })
        };
        let made: Entry<PatientHistoryItem> = clinic.save(item(Some("since childhood – łagodna"), true)).await;
        let foreign = clinic.filed::<PatientHistoryItem>(made.id).await;
        let key = foreign.strip_prefix(&format!("{prefix}:")).unwrap().parse().unwrap();
        assert_eq!(clinic.row(table, key)[note_field], "since childhood – łagodna", "no key in a chart: {prefix}");
        clinic.save::<Entry<PatientHistoryItem>>(item(None, false)).await;
        clinic.idle().await;
        let row = clinic.row(table, key);
        let today = clinic.server.office().today();
        match category {
            HistoryCategory::Allergies => assert_eq!(row["StatusIsActive"], "false"),
            HistoryCategory::Conditions => assert_eq!(row["ProbStatus"], "Inactive"),
            HistoryCategory::Medications => assert_eq!(row["DateStop"], today),
        }
        assert_eq!(
            clinic.server.office().rows(table).filter(|row| row["PatNum"] == clinic.seeded.patients[2]).count(),
            1
        );
        clinic.sync().await;
        let seen = clinic.entry::<PatientHistoryItem>(&foreign);
        assert!(seen.id == made.id && !seen.body.active, "{prefix}");
    }
    clinic.engine.stop().await;
}

#[actix::test]
async fn a_communication_log_is_one_entry() {
    let clinic = Clinic::open().await;
    let patient = clinic.patient_by_foreign(clinic.seeded.patients[3]).id;
    let log = CommunicationLog {
        patient_id: patient,
        note: "Reminded by text – läuft".into(),
        mode: Mode::Text,
        direction: Direction::Sent,
        occurred_at: clinic.at(-1, 0).into(),
        extra: Vec::new(),
    };
    // Two that say the same are two.
    let ids = [clinic.file(&log, Some(patient)).await, clinic.file(&log, Some(patient)).await];
    let mut written = Vec::new();
    for id in ids {
        written.push(clinic.filed::<CommunicationLog>(id).await);
    }
    assert_ne!(written[0], written[1]);
    let rows = clinic.ours("commlogs", "Note");
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["Mode_"], &rows[0]["SentOrReceived"]), (&json!("Text"), &json!("Sent")));
    clinic.sync().await;
    for (id, foreign) in ids.iter().zip(&written) {
        let seen = clinic.entry::<CommunicationLog>(foreign);
        assert_eq!((seen.id, seen.body.note.as_str()), (*id, "Reminded by text – läuft"));
    }
    clinic.engine.stop().await;
}

#[actix::test]
async fn money_is_posted_and_comes_back_as_it_was() {
    let clinic = Clinic::open_with(ZONE, |_, _| (), whole_passes).await;
    let s = &clinic.seeded;
    let zoe = clinic.patient_by_foreign(s.patients[0]).id;
    let charge = clinic.id_of(Resource::Charges, &s.charge.to_string()).unwrap();
    let today = clinic.server.office().today().parse().map(engine::records::values::Day).unwrap();
    let payment = Payment {
        patient_id: Some(zoe),
        guarantor_id: None,
        provider_id: None,
        charge_id: Some(charge),
        claim_id: None,
        payment_plan_id: None,
        insurance_plan_id: None,
        payment_type_id: clinic.id_of(Resource::PaymentTypes, &s.check.to_string()),
        amount: usd("80.00"),
        paid_at: Some(today),
        transaction_id: Some("pi_3N8 x/7]".into()),
        description: Some("By card".into()),
        charge_splits: Vec::new(),
        provider_splits: Vec::new(),
        extra: Vec::new(),
    };
    let id = clinic.file(&payment, Some(zoe)).await;
    let foreign = clinic.filed::<Payment>(id).await;
    let row = clinic.row("payments", foreign.parse().unwrap());
    assert_eq!((&row["PayAmt"], &row["PayType"]), (&json!("80.00"), &json!(s.check)));
    assert!(row["PayNote"].as_str().unwrap().starts_with("By card [ref:ps-"));
    clinic.sync().await;
    let seen = clinic.entry::<Payment>(&foreign);
    assert_eq!((seen.id, seen.body.amount, seen.body.charge_id), (id, usd("80.00"), Some(charge)));
    assert_eq!(seen.body.transaction_id.as_deref(), Some("pi_3N8 x/7]"));
    assert_eq!(seen.body.description.as_deref(), Some("By card"));

    let adjustment = Adjustment {
        patient_id: Some(zoe),
        guarantor_id: None,
        provider_id: Some(clinic.provider(0).0),
        charge_id: Some(charge),
        claim_id: None,
        adjustment_type_id: clinic.id_of(Resource::AdjustmentTypes, &s.discount.to_string()),
        amount: usd("-12.50"),
        adjusted_at: Some(today),
        transaction_id: Some("t-9".into()),
        description: Some("Family".into()),
        charge_splits: Vec::new(),
        provider_splits: Vec::new(),
        extra: Vec::new(),
    };
    let id = clinic.file(&adjustment, Some(zoe)).await;
    let foreign = clinic.filed::<Adjustment>(id).await;
    assert_eq!(clinic.row("adjustments", foreign.parse().unwrap())["AdjAmt"], -12.5);
    clinic.sync().await;
    let seen = clinic.entry::<Adjustment>(&foreign);
    assert_eq!((seen.id, seen.body.amount, seen.body.transaction_id.as_deref()), (id, usd("-12.50"), Some("t-9")));

    // The office's own reason reaches the record: a discount takes away.
    let wrong = Adjustment { amount: usd("12.50"), ..adjustment };
    let body = serde_json::to_value(&wrong).unwrap();
    let new = engine::saving::NewEntry { resource: Resource::Adjustments, body, patient: Some(zoe), number: None };
    let saved = clinic.engine.save::<Entry<Adjustment>>(SaveRequest {
        location: LOCATION,
        what: Saving::Entry(new),
        once: None,
    });
    let id = saved.await.unwrap().record.id;
    clinic.idle().await;
    let write = clinic.engine.entry::<Adjustment>(SOURCE, id).unwrap().unwrap().write.unwrap();
    assert_eq!(write.reason.as_deref(), Some("Open Dental: AdjAmt must be negative for this AdjType."));
    clinic.engine.stop().await;
}
