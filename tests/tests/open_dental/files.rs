//! The practice's files, in both directions: insurance, history, communication logs, the ledger.

use location::pull::Resource;
use processor::commands::{ChangeRecord, CreateRecord, SaveHistoryItem};
use records::{
    Adjustment, AdjustmentType, Charge, CommunicationLog, Coverage, Direction, Fee, GuarantorBalance, HistoryCategory,
    InsurancePlan, Mode, PatientHistoryItem, PatientRecall, Payment, PaymentType, Procedure, ProcedureStatus, Relation,
    TreatmentPlan, money::Money, record::Record,
};
use serde_json::json;
use tests::harness::{
    fixtures::SOURCE,
    in_process::{
        LOCATION, ZONE,
        open_dental::{Harness, whole_passes},
        visitor,
    },
};

fn usd(amount: &str) -> Money {
    Money::parse(amount, "USD").unwrap()
}

#[actix::test]
async fn the_first_pull_shows_the_files() {
    let harness = Harness::open().await;
    let s = &harness.seeded;
    let zoe = harness.patient_by_foreign(s.patients[0]).id;

    let plan = harness.entry::<InsurancePlan>(&s.plan.to_string());
    assert_eq!((plan.body.name.as_str(), plan.body.payer_id.as_deref()), ("Lakeside Dental", Some("60110")));
    assert_eq!((plan.body.group_number.as_deref(), plan.body.benefit_year_renewal_month), (Some("HW-12"), Some(12)));
    let coverage = harness.entry::<Coverage>(&s.coverage.to_string()).body;
    assert_eq!((coverage.patient_id, coverage.plan_id, coverage.subscriber_id), (zoe, plan.id, Some(zoe)));
    assert_eq!(coverage.subscriber_number.as_deref(), Some("LD-7781"));
    assert!(coverage.active && coverage.relation == Relation::Oneself && coverage.priority == Some(1));

    for (foreign, category, note) in [
        ("allergy:1", HistoryCategory::Allergies, Some("Rash")),
        ("condition:1", HistoryCategory::Conditions, None),
        ("medication:1", HistoryCategory::Medications, Some("500mg")),
    ] {
        let item = harness.entry::<PatientHistoryItem>(foreign).body;
        assert!(item.category == category && item.active && item.patient_id == zoe, "{foreign}");
        assert_eq!(item.note.as_deref(), note);
        assert_eq!(Some(item.item_id), harness.id_of(Resource::HistoryItems, foreign));
    }
    assert_eq!(harness.entry::<CommunicationLog>(&s.commlog.to_string()).body.note, "Asked to call back");

    let done = harness.entry::<Procedure>(&s.charge.to_string()).body;
    assert!(done.status == Some(ProcedureStatus::Completed) && done.code.as_deref() == Some("D0120"));
    assert_eq!((done.teeth, done.fee), (vec!["4".to_owned()], Some(usd("130.00"))));
    let charge = harness.entry::<Charge>(&s.charge.to_string());
    assert_eq!((charge.body.fee, charge.body.patient_id), (Some(usd("130.00")), Some(zoe)));
    assert_eq!(harness.id_of(Resource::Charges, &(s.charge + 1).to_string()), None, "nothing is owed for a plan");
    let planned = harness.entry::<TreatmentPlan>(&s.treatment_plan.to_string()).body;
    let procedure = harness.id_of(Resource::Procedures, &(s.charge + 1).to_string()).unwrap();
    assert_eq!(planned.procedure_ids, [procedure]);

    let payment = harness.entry::<Payment>(&s.payment.to_string()).body;
    assert_eq!((payment.amount, payment.charge_id), (usd("50.00"), Some(charge.id)));
    assert_eq!((payment.charge_splits.len(), payment.description.as_deref()), (1, Some("by mail")));
    let adjustment = harness.entry::<Adjustment>(&s.adjustment.to_string()).body;
    assert_eq!((adjustment.amount, adjustment.description.as_deref()), (usd("-25.00"), Some("Courtesy")));
    assert!(harness.entry::<PaymentType>(&s.check.to_string()).body.active);
    assert!(!harness.entry::<PaymentType>(&(s.check + 1).to_string()).body.active, "hidden");
    assert_eq!(harness.entry::<AdjustmentType>(&s.discount.to_string()).body.name, "Courtesy");
    assert_eq!(harness.entry::<Fee>(&s.fee.to_string()).body.amount, usd("52.50"));
    let due = harness.entry::<PatientRecall>(&s.recall.to_string()).body.date_due;
    assert_eq!(due.map(|day| day.to_string()), Some(harness.first_day.to_string()));
    let balance = harness.entry::<GuarantorBalance>(&s.patients[0].to_string()).body;
    assert_eq!((balance.total, balance.guarantor_portion), (Some(usd("111.90")), Some(usd("101.90"))));
    assert_eq!(harness.id_of(Resource::GuarantorBalances, &s.patients[2].to_string()), None, "they owe nothing");
    assert_eq!(harness.server.database().ignored, [""; 0], "every parameter is one that its list knows");
    harness.engine.stop().await;
}

/// A location that is a clinic of an office has its own operatories and appointments, and all patients of the office.
#[actix::test]
async fn clinic_has_its_own_operatories_and_all_patients() {
    let harness = Harness::open_with(
        ZONE,
        |database, seeded| {
            database.change("operatories", seeded.operatories[2], json!({"ClinicNum": 4}));
            database.change("patients", seeded.patients[6], json!({"ClinicNum": 4}));
            let row = json!({"PatNum": seeded.patients[6], "Op": seeded.operatories[2], "ProvNum": seeded.providers[2],
                "ClinicNum": 4, "AptDateTime": format!("{} 09:00:00", database.today()), "Pattern": "XXXXXX"});
            database.insert("appointments", row);
        },
        |place| place.foreign_id = Some("4".into()),
    )
    .await;
    let rooms: Vec<_> = harness.operatories().into_iter().map(|room| room.body.name).collect();
    assert_eq!(rooms, ["Zimmer 3 – Prophylaxe"]);
    assert_eq!(harness.patient_by_foreign(harness.seeded.patients[0]).last_name, "Łopata-O’Brien");
    assert_eq!(harness.free_times(2, 1).await[0], "09:00");
    assert!(harness.seen(&harness.seeded.booked.to_string()).is_none(), "another clinic's");
    let person = visitor("Harness", "Four", "555-070-0001");
    let booked = harness.book(harness.place(2, 1, 600), "clinic", &person, "").await.unwrap();
    let row = harness.in_ehr(&harness.written(booked.appointment.id).await);
    assert_eq!(row["ClinicNum"], 4);
    assert_eq!(harness.row("patients", row["PatNum"].as_u64().unwrap())["ClinicNum"], 4);
    harness.engine.stop().await;
}

#[actix::test]
async fn insurance_is_written_and_removed() {
    let harness = Harness::open_with(ZONE, |_, _| (), whole_passes).await;
    let zoe = harness.patient_by_foreign(harness.seeded.patients[0]).id;
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
    let plan_id = harness.file(&plan, None).await;
    let foreign = harness.filed::<InsurancePlan>(plan_id).await;
    let row = harness.row("insplans", foreign.parse().unwrap());
    assert_eq!((&row["GroupNum"], &row["MonthRenew"]), (&json!("G-77"), &json!(7)));
    let carrier = harness.row("carriers", row["CarrierNum"].as_u64().unwrap());
    assert_eq!((&carrier["CarrierName"], &carrier["ElectID"]), (&json!("Aetna Łódź"), &json!("60054")));
    assert!(row["PlanNote"].as_str().unwrap().starts_with("[ref:ps-"));
    // A second plan does not create the carrier again.
    let second = harness.file(&InsurancePlan { group_number: Some("G-78".into()), ..plan.clone() }, None).await;
    harness.filed::<InsurancePlan>(second).await;
    assert_eq!(harness.server.database().holding("carriers", "CarrierName", "Aetna").len(), 1);

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
    let id = harness.file(&coverage, Some(zoe)).await;
    let foreign = harness.filed::<Coverage>(id).await;
    let row = harness.row("patplans", foreign.parse().unwrap());
    assert_eq!((&row["PatNum"], &row["Ordinal"]), (&json!(harness.seeded.patients[0]), &json!(1)));
    assert_eq!(harness.row("patplans", harness.seeded.coverage)["Ordinal"], 2, "the office moved the one before");
    harness.sync().await;
    let seen = harness.entry::<Coverage>(&foreign);
    assert_eq!((seen.id, seen.body.plan_id, seen.body.subscriber_id), (id, plan_id, Some(zoe)));
    assert_eq!(harness.entry::<InsurancePlan>(&harness.filed::<InsurancePlan>(plan_id).await).id, plan_id);

    harness.save(ChangeRecord::<Coverage> { id, body: None }).await;
    harness.idle().await;
    assert!(harness.server.database().row("patplans", foreign.parse().unwrap()).is_none());
    assert_eq!(harness.server.database().rows("inssubs").count(), 2, "the subscription stays");
    harness.sync().await;
    assert!(harness.entry_by_id::<Coverage>(id).deleted_at.is_some());
    // A coverage dropped by staff is deleted here.
    harness.server.database().remove("patplans", harness.seeded.coverage);
    harness.sync_of_none(Resource::Coverages).await;
    let dropped = harness.entry::<Coverage>(&harness.seeded.coverage.to_string());
    assert!(dropped.deleted_at.is_some());
    harness.engine.stop().await;
}

#[actix::test]
async fn history_is_written_changed_and_ended() {
    let harness = Harness::open_with(ZONE, |_, _| (), whole_passes).await;
    let patient = harness.patient_by_foreign(harness.seeded.patients[2]).id;
    for (category, prefix, table, note_field) in [
        (HistoryCategory::Allergies, "allergy", "allergies", "Reaction"),
        (HistoryCategory::Conditions, "condition", "diseases", "PatNote"),
        (HistoryCategory::Medications, "medication", "medicationpats", "PatNote"),
    ] {
        let item_id = harness.id_of(Resource::HistoryItems, &format!("{prefix}:1")).unwrap();
        let item = |note: Option<&str>, active| {
            let note = note.map(str::to_owned);
            SaveHistoryItem { patient_id: patient, category, item_id, note, active }
        };
        let made: Record<PatientHistoryItem> = harness.save(item(Some("since childhood – łagodna"), true)).await;
        let foreign = harness.filed::<PatientHistoryItem>(made.id).await;
        let key = foreign.strip_prefix(&format!("{prefix}:")).unwrap().parse().unwrap();
        assert_eq!(harness.row(table, key)[note_field], "since childhood – łagodna", "no key in a chart: {prefix}");
        harness.save(item(None, false)).await;
        harness.idle().await;
        let row = harness.row(table, key);
        let today = harness.server.database().today();
        match category {
            HistoryCategory::Allergies => assert_eq!(row["StatusIsActive"], "false"),
            HistoryCategory::Conditions => assert_eq!(row["ProbStatus"], "Inactive"),
            HistoryCategory::Medications => assert_eq!(row["DateStop"], today),
        }
        assert_eq!(
            harness.server.database().rows(table).filter(|row| row["PatNum"] == harness.seeded.patients[2]).count(),
            1
        );
        harness.sync().await;
        let seen = harness.entry::<PatientHistoryItem>(&foreign);
        assert!(seen.id == made.id && !seen.body.active, "{prefix}");
    }
    harness.engine.stop().await;
}

#[actix::test]
async fn a_communication_log_is_one_entry() {
    let harness = Harness::open().await;
    let patient = harness.patient_by_foreign(harness.seeded.patients[3]).id;
    let log = CommunicationLog {
        patient_id: patient,
        note: "Reminded by text – läuft".into(),
        mode: Mode::Text,
        direction: Direction::Sent,
        occurred_at: harness.at(-1, 0).into(),
        extra: Vec::new(),
    };
    // Two identical entries remain two.
    let ids = [harness.file(&log, Some(patient)).await, harness.file(&log, Some(patient)).await];
    let mut written = Vec::new();
    for id in ids {
        written.push(harness.filed::<CommunicationLog>(id).await);
    }
    assert_ne!(written[0], written[1]);
    let rows = harness.ours("commlogs", "Note");
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["Mode_"], &rows[0]["SentOrReceived"]), (&json!("Text"), &json!("Sent")));
    harness.sync().await;
    for (id, foreign) in ids.iter().zip(&written) {
        let seen = harness.entry::<CommunicationLog>(foreign);
        assert_eq!((seen.id, seen.body.note.as_str()), (*id, "Reminded by text – läuft"));
    }
    harness.engine.stop().await;
}

#[actix::test]
async fn payments_are_posted_and_read_back_unchanged() {
    let harness = Harness::open_with(ZONE, |_, _| (), whole_passes).await;
    let s = &harness.seeded;
    let zoe = harness.patient_by_foreign(s.patients[0]).id;
    let charge = harness.id_of(Resource::Charges, &s.charge.to_string()).unwrap();
    let today = harness.server.database().today().parse().map(records::values::Day).unwrap();
    let payment = Payment {
        patient_id: Some(zoe),
        guarantor_id: None,
        provider_id: None,
        charge_id: Some(charge),
        claim_id: None,
        payment_plan_id: None,
        insurance_plan_id: None,
        payment_type_id: harness.id_of(Resource::PaymentTypes, &s.check.to_string()),
        amount: usd("80.00"),
        paid_at: Some(today),
        transaction_id: Some("pi_3N8 x/7]".into()),
        description: Some("By card".into()),
        charge_splits: Vec::new(),
        provider_splits: Vec::new(),
        extra: Vec::new(),
    };
    let id = harness.file(&payment, Some(zoe)).await;
    let foreign = harness.filed::<Payment>(id).await;
    let row = harness.row("payments", foreign.parse().unwrap());
    assert_eq!((&row["PayAmt"], &row["PayType"]), (&json!("80.00"), &json!(s.check)));
    assert!(row["PayNote"].as_str().unwrap().starts_with("By card [ref:ps-"));
    harness.sync().await;
    let seen = harness.entry::<Payment>(&foreign);
    assert_eq!((seen.id, seen.body.amount, seen.body.charge_id), (id, usd("80.00"), Some(charge)));
    assert_eq!(seen.body.transaction_id.as_deref(), Some("pi_3N8 x/7]"));
    assert_eq!(seen.body.description.as_deref(), Some("By card"));

    let adjustment = Adjustment {
        patient_id: Some(zoe),
        guarantor_id: None,
        provider_id: Some(harness.provider(0).0),
        charge_id: Some(charge),
        claim_id: None,
        adjustment_type_id: harness.id_of(Resource::AdjustmentTypes, &s.discount.to_string()),
        amount: usd("-12.50"),
        adjusted_at: Some(today),
        transaction_id: Some("t-9".into()),
        description: Some("Family".into()),
        charge_splits: Vec::new(),
        provider_splits: Vec::new(),
        extra: Vec::new(),
    };
    let id = harness.file(&adjustment, Some(zoe)).await;
    let foreign = harness.filed::<Adjustment>(id).await;
    assert_eq!(harness.row("adjustments", foreign.parse().unwrap())["AdjAmt"], -12.5);
    harness.sync().await;
    let seen = harness.entry::<Adjustment>(&foreign);
    assert_eq!((seen.id, seen.body.amount, seen.body.transaction_id.as_deref()), (id, usd("-12.50"), Some("t-9")));

    // The record contains the office's reason: a discount must be negative.
    let wrong = Adjustment { amount: usd("12.50"), ..adjustment };
    let new = CreateRecord { body: wrong, patient: Some(zoe), number: None };
    let saved = harness.engine.send(LOCATION, new);
    let id = saved.await.unwrap().record.id;
    harness.idle().await;
    let write = harness.engine.entry::<Adjustment>(SOURCE, id).unwrap().unwrap().write.unwrap();
    assert_eq!(write.reason.as_deref(), Some("Open Dental: AdjAmt must be negative for this AdjType."));
    harness.engine.stop().await;
}
