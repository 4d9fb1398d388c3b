//! Views made from records, compared with the field names of existing clients and with their own schemas.
#![allow(clippy::unwrap_used)]

use engine::records::{
    Adjustment, Claim, CommunicationLog, Conversation, FormResponse, Patient, PatientAlert, Provider, WorkingHour,
    record::{Body, Record, RecordWrite, WriteStatus},
    schema,
    values::Address,
};
use framework::values::{record_uuid, versions::Version};
use location::{
    hours::{HourKind, HourSource, Recurrence, RecurrenceUnit, Weekday},
    time::Timestamp,
    zone::Date,
};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::{Value, json, to_value};

use super::{
    care::{
        clinical::{
            ClinicalNoteView, PatientRecallView, ProcedureCodeCategoryView, ProcedureCodeView, ProcedureView,
            RecallTypeView, TreatmentPlanView,
        },
        communication_logs::CommunicationLogView,
        conversations::ConversationView,
        forms::{FormResponseView, FormSchemaDetail, FormSchemaView, formio_schema},
        medical_history::{MedicalHistoryItemView, PatientMedicalHistoryItemView},
    },
    insurance::{
        insurance_coverages::{InsuranceCoverageView, InsuranceSubscriberView},
        insurance_plans::InsurancePlanView,
    },
    ledger::{
        balances::{GuarantorBalanceView, InsuranceBalanceView},
        charges_and_claims::{
            ChargePayoutView, ChargeView, ClaimPayoutView, ClaimTotals, ClaimView, PatientLedgerCharge,
        },
        fee_schedules::{FeeScheduleView, FeeView, ProcedureFee},
        payments::{AdjustmentTypeView, AdjustmentView, PaymentPlanView, PaymentTypeView, PaymentView},
    },
    patients::{
        alerts::PatientAlertView,
        create::PatientCreated,
        documents::{DocumentTypeView, PatientDocumentView},
        includes::{IndividualCoverageView, PatientAddressView},
        list::PatientListItem,
        show::{PatientDetail, PatientProfile},
    },
    schedule::{
        appointment_types::AppointmentTypeDetail, descriptors::AppointmentDescriptorView,
        working_hour_labels::label_id, working_hours::WorkingHourView,
    },
};
use crate::views::{
    persons::{PatientBasic, PersonView, ProviderBasic},
    render::{Reader, RecordView},
};

fn entry<T: Body>(body: Value) -> Record<T> {
    Record {
        id: T::Id::try_from(7).ok().unwrap(),
        institution_id: 1,
        source_id: Some(3),
        location_id: None,
        foreign_id: Some("f7".to_owned()),
        created_at: Timestamp(0),
        updated_at: Timestamp(1_000),
        last_sync_time: None,
        deleted_at: None,
        write: None,
        body: schema::read(body).unwrap(),
    }
}

fn usd(amount: &str) -> Value {
    json!({"amount": amount, "currency": "USD"})
}

/// Returns the view as JSON after validation by its schema. It must have exactly these fields, in any order.
fn checked<T: Serialize + JsonSchema>(view: &T, fields: &str) -> Value {
    let schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    let value = to_value(view).unwrap();
    let errors: Vec<String> = jsonschema::validator_for(schema.as_value())
        .unwrap()
        .iter_errors(&value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{}: {errors:?}", T::schema_name());
    let mut shown: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    let mut due: Vec<&str> = fields.split_whitespace().collect();
    shown.sort_unstable();
    due.sort_unstable();
    assert_eq!(shown, due, "{}", T::schema_name());
    value
}

const BASIC: &str = "id email first_name middle_name last_name name created_at updated_at institution_id foreign_id \
    foreign_id_type inactive last_sync_time";

fn patient() -> Record<Patient> {
    let body = Patient {
        first_name: "Ada".to_owned(),
        last_name: "Byron".to_owned(),
        date_of_birth: Some("1990-01-02".to_owned()),
        primary_phone: Some("1".to_owned()),
        home_phone: Some("2".to_owned()),
        address: Some(Address { line1: Some("Main St".to_owned()), ..Address::default() }),
        location_ids: vec![11],
        ..Patient::default()
    };
    Record::new(5, 1, Timestamp(0), body)
}

#[test]
fn people() {
    let record = patient();
    let guarantor = "guarantor_id billing_type chart_id preferred_language preferred_locale provider_id location_ids";
    let basic = checked(&PatientBasic::from_record(&record, Some("sandbox")), &format!("{BASIC} bio {guarantor}"));
    assert_eq!((&basic["name"], &basic["foreign_id_type"]), (&json!("Ada Byron"), &json!("nex")));
    assert_eq!(basic["bio"]["cell_phone_number"], "1");
    checked(&PatientListItem::from_record(&record, None), &format!("{BASIC} bio {guarantor} hipaa"));
    let mut detail = PatientDetail::from_record(&record, None);
    checked(&detail, &format!("{BASIC} bio {guarantor} hipaa"));
    detail.along.guarantor = Some(None);
    detail.along.provider = Some(Some(PersonView::from_record(&record, None)));
    detail.address = Some(record.address.as_ref().map(PatientAddressView::from_value));
    detail.along.patient_alerts = Some(Vec::new());
    let more = "guarantor provider address patient_alerts";
    let detail = checked(&detail, &format!("{BASIC} bio {guarantor} hipaa {more}"));
    assert_eq!((&detail["guarantor"], &detail["address"]["line_1"]), (&Value::Null, &json!("Main St")));
    let detailed = checked(
        &PatientProfile::from_record(&record, None),
        &format!(
            "{BASIC} {guarantor} home_phone_number work_phone_number work_phone_extension cell_phone_number \
             preferred_phone_number gender new_patient non_patient date_of_birth premedication address hipaa \
             ehr_unsubscribe_sms ehr_unsubscribe_emails"
        ),
    );
    assert_eq!((&detailed["preferred_phone_number"], &detailed["home_phone_number"]), (&json!("1"), &json!("2")));
    let provider = Provider { last_name: "Lee".to_owned(), ..Provider::default() };
    let provider = Record::new(2, 1, Timestamp(0), provider);
    checked(
        &ProviderBasic::from_record(&provider, None),
        &format!("{BASIC} bio display_name npi tin state_license specialty_code"),
    );
    checked(&PersonView::provider(&provider, None), &format!("{BASIC} bio"));
    checked(&PatientCreated { user: PatientBasic::from_record(&record, None) }, "user");
}

#[test]
fn insurance() {
    let plan = entry(json!({
        "name": "Delta", "address": {"line1": "Main St", "region": "NY"}, "annual_max_individual": usd("1500.00")
    }));
    let fields = "id payer_id name address address2 city state zip_code country_code group_num employer_name foreign_id \
        updated_at deleted_at annual_max_individual benefit_year_renewal_month";
    let shown = checked(&InsurancePlanView::from_record(&plan), fields);
    assert_eq!((&shown["address"], &shown["state"]), (&json!("Main St"), &json!("NY")));
    assert_eq!(shown["annual_max_individual"], usd("1500.00"));

    let coverage = entry(json!({
        "patient_id": 5, "plan_id": 7, "relation": "self", "priority": 1, "insurance_type": "dental", "active": true,
        "effective_date": "2024-01-01"
    }));
    let of_coverage = "id subscription_relation patient_id priority plan_id subscriber_num effective_date expiration_date \
        insurance_type updated_at active";
    let record = patient();
    assert_eq!(InsuranceSubscriberView::patient_of(&coverage.body), Some(5));
    let mut view = InsuranceCoverageView::from_record(&coverage);
    view.subscriber = Some(Some(InsuranceSubscriberView::patient(&record)));
    let shown = checked(&view, &format!("{of_coverage} subscriber"));
    assert_eq!(shown["subscriber"], json!({"id": 5, "name": "Ada Byron", "date_of_birth": "1990-01-02"}));
    let individual = IndividualCoverageView {
        coverage: InsuranceCoverageView::from_record(&coverage),
        plan: Some(InsurancePlanView::from_record(&plan)),
    };
    checked(&individual, &format!("{of_coverage} plan"));

    let named = entry::<engine::records::Coverage>(json!({
        "patient_id": 5, "plan_id": 7, "relation": "child", "active": true, "subscriber_name": "A Parent",
        "subscriber_date_of_birth": "1960-02-29"
    }));
    assert_eq!(InsuranceSubscriberView::patient_of(&named.body), None);
    let subscriber = to_value(InsuranceSubscriberView::named(&named.body, Some(9))).unwrap();
    assert_eq!(subscriber, json!({"id": 9, "name": "A Parent", "date_of_birth": "1960-02-29"}));
}

#[test]
fn history_and_talk() {
    let item = entry(json!({"category": "allergies", "name": "Latex"}));
    checked(&MedicalHistoryItemView::from_record(&item), "id name");
    let of_patient = entry(json!({"patient_id": 5, "category": "allergies", "item_id": 7, "active": true}));
    let shown = checked(
        &PatientMedicalHistoryItemView::from_record(&of_patient, Some(&item)),
        "id item_id item_name note active",
    );
    assert_eq!(shown["item_name"], "Latex");

    let alert = entry(json!({"patient_id": 5, "note": "careful", "disabled_at": 60}));
    let shown = checked(&PatientAlertView::from_record(&alert), "id patient_id note disabled_at created_at updated_at");
    assert_eq!(shown["disabled_at"], "1970-01-01T00:01:00.000Z");

    let mut log = entry(json!({
        "patient_id": 5, "note": "called", "mode": "in_person", "direction": "sent", "occurred_at": 0
    }));
    log.write = Some(RecordWrite { status: WriteStatus::Failed, reason: Some("refused".to_owned()) });
    let fields = "id status patient_id note mode direction occurred_at created_at updated_at failure_reason";
    let shown = checked(&CommunicationLogView::from_record(&log), fields);
    assert_eq!((&shown["status"], &shown["failure_reason"]), (&json!("failed"), &json!("refused")));
    let id = shown["id"].as_str().unwrap().parse().unwrap();
    assert_eq!(record_uuid::id(location::pull::Resource::CommunicationLogs, 3, &id), Some(7));
    log.write = Some(RecordWrite { status: WriteStatus::Pending, reason: Some("tried once".to_owned()) });
    let shown = checked(&CommunicationLogView::from_record(&log), fields);
    assert_eq!((&shown["status"], &shown["failure_reason"]), (&json!("pending"), &Value::Null));

    let messages = json!([
        {"from": "patient", "text": "hi", "at": "1764599400"}, {"text": "ho", "at": 1_764_599_400},
        {"at": "2025-12-01T09:30:00-05:00"}, {"text": 7, "at": "noon"},
    ]);
    let conversation = entry(json!({"messages_json": messages.to_string()}));
    let fields = "id patient_id subject messages foreign_id foreign_id_type created_at updated_at deleted_at";
    let shown = checked(&ConversationView::from_record(&conversation, Some("sandbox")), fields);
    let at = "2025-12-01T14:30:00.000Z";
    let expected = json!([
        {"from": "patient", "text": "hi", "at": at}, {"from": null, "text": "ho", "at": at},
        {"from": null, "text": null, "at": at}, {"from": null, "text": null, "at": null},
    ]);
    assert_eq!((&shown["messages"], &shown["foreign_id_type"]), (&expected, &json!("sandbox")));
    let odd: Record<Conversation> = entry(json!({"messages_json": "{}"}));
    assert_eq!(checked(&ConversationView::from_record(&odd, None), fields)["messages"], json!([]));
}

/// The contract has whole seconds, while our times have milliseconds.
#[test]
fn rounded_times_are_never_before_the_creation() {
    let made = "1970-01-01T00:00:05.700Z";
    let mut alert: Record<PatientAlert> = entry(json!({"patient_id": 5, "note": "allergic", "disabled_at": 5}));
    alert.created_at = Timestamp(5_700);
    assert_eq!(to_value(PatientAlertView::from_record(&alert)).unwrap()["disabled_at"], made);
    alert.body = schema::read(json!({"patient_id": 5, "note": "allergic", "disabled_at": 4})).unwrap();
    assert_eq!(
        to_value(PatientAlertView::from_record(&alert)).unwrap()["disabled_at"],
        "1970-01-01T00:00:04.000Z",
        "the EHR's"
    );
    let log = json!({"patient_id": 5, "note": "called", "mode": "none", "direction": "sent", "occurred_at": 5});
    let mut log: Record<CommunicationLog> = entry(log);
    log.created_at = Timestamp(5_700);
    assert_eq!(to_value(CommunicationLogView::from_record(&log)).unwrap()["occurred_at"], made);
    let response = json!({"patient_id": 5, "form_schema_id": 7, "answers_json": "{}", "submitted_at": 4});
    let mut response: Record<FormResponse> = entry(response);
    response.created_at = Timestamp(5_700);
    let shown =
        |it: &Record<FormResponse>| to_value(FormResponseView::from_record(it, None)).unwrap()["submitted_at"].clone();
    assert_eq!(shown(&response), "1970-01-01T00:00:04.000Z", "the EHR's");
    response.write = Some(RecordWrite { status: WriteStatus::Pending, reason: None });
    assert_eq!(shown(&response), made);
}

#[test]
fn forms() {
    let form = entry(json!({"title": "Intake", "version": "2", "schema_json": "[{\"key\": \"a\"}]"}));
    let fields = "id title form_slug newest_version_id";
    let listed = checked(&FormSchemaView::from_record(&form), fields);
    let shown = checked(&FormSchemaDetail::from_record(&form), &format!("{fields} formio_schema"));
    assert_eq!(shown["formio_schema"], json!({"components": [{"key": "a"}]}));
    for (text, components) in [("{}", json!([])), ("{\"components\": [1]}", json!([1])), ("3", json!([]))] {
        let form = entry(json!({"title": "Intake", "schema_json": text}));
        assert_eq!(formio_schema(&form.body)["components"], components);
    }
    let response = entry(json!({
        "patient_id": 5, "form_schema_id": 7, "answers_json": "{\"a\": 1}", "submitted_at": 0
    }));
    let fields = "id patient_id form_schema_id patient_submitted_data submitted_at created_at updated_at foreign_id \
        foreign_id_type status";
    let shown = checked(&FormResponseView::from_record(&response, None), fields);
    assert_eq!(shown["patient_submitted_data"], json!({"a": 1}));
    assert_eq!((&shown["form_schema_id"], &shown["status"]), (&listed["id"], &json!("succeeded")));
}

#[test]
fn catalogues_and_documents() {
    let descriptor = entry(json!({"kind": "reason", "name": "Pain", "active": true, "extra": [["colour", "red"]]}));
    let fields = "id descriptor_type name code location_id foreign_id foreign_id_type data active last_sync_time created_at \
        updated_at";
    assert_eq!(
        checked(&AppointmentDescriptorView::from_record(&descriptor, None), fields)["data"],
        json!({"colour": "red"})
    );
    let schedule = entry(json!({"name": "Standard"}));
    let fee = entry(json!({"fee_schedule_id": 7, "procedure_code_id": 9, "code": "D0120", "amount": usd("50")}));
    let mut view = FeeScheduleView::from_record(&schedule);
    checked(&view, "id name active location_id updated_at");
    view.procedure_fees = Some(vec![ProcedureFee::from_record(&fee)]);
    checked(&view, "id name active location_id updated_at procedure_fees");
    checked(&ProcedureFee::from_record(&fee), "procedure_code_id fee code");
    checked(&FeeView::from_record(&fee), "procedure_code_id fee code id location_id fee_schedule_id updated_at");
    let mut payment_type = entry(json!({"name": "Cash", "active": true}));
    assert_eq!(checked(&PaymentTypeView::from_record(&payment_type), "id name active updated_at")["active"], true);
    payment_type.deleted_at = Some(Timestamp(0));
    assert_eq!(checked(&PaymentTypeView::from_record(&payment_type), "id name active updated_at")["active"], false);
    let adjustment_type = entry(json!({"name": "Discount", "active": true, "action": "credit"}));
    checked(&AdjustmentTypeView::from_record(&adjustment_type), "id name active action updated_at");
    let kind = engine::records::AppointmentType {
        name: "Exam".to_owned(),
        minutes: 30,
        bookable_online: true,
        ..engine::records::AppointmentType::default()
    };
    let kind = Record::new(1, 1, Timestamp(0), kind);
    let mut detail = AppointmentTypeDetail::from_record(&kind);
    detail.descriptors = Some(vec![AppointmentDescriptorView::from_record(&descriptor, None)]);
    let fields = "id name category parent_type parent_id minutes position bookable_online descriptors";
    checked(&detail, fields);

    checked(&DocumentTypeView::from_record(&entry(json!({"name": "X-ray", "active": true}))), "id name active");
    let document =
        entry(json!({"patient_id": 5, "filename": "a.pdf", "media_type": "application/pdf", "created_at": 1}));
    let shown =
        checked(&PatientDocumentView::from_record(&document, None), "id filename type url created_at document_type_id");
    assert_eq!((&shown["type"], &shown["created_at"]), (&json!("application/pdf"), &json!("1970-01-01T00:00:01.000Z")));
}

#[test]
fn clinical() {
    let code = entry(json!({"code": "D0120", "description": "Exam", "active": true}));
    let fields = "id code description category_id active foreign_id foreign_id_type updated_at";
    checked(&ProcedureCodeView::from_record(&code, None), fields);
    checked(&ProcedureCodeCategoryView::from_record(&entry(json!({"name": "Exams"}))), "id name foreign_id updated_at");
    let procedure = entry(json!({
        "patient_id": 5, "status": "planned", "teeth": ["3"], "fee": usd("10.00"), "start_date": "2024-02-29",
        "treatment_plan_ids": [4]
    }));
    let fields = "id location_id patient_id provider_id appointment_id code name status updated_at body_site fee start_date \
        end_date treatment_plan_ids";
    let shown = checked(&ProcedureView::from_record(&procedure), fields);
    assert_eq!((&shown["body_site"], &shown["fee"]), (&json!({"tooth": ["3"], "surface": null}), &usd("10.00")));
    let plan = entry(json!({"status": "not_applicable", "procedure_ids": [7]}));
    checked(&TreatmentPlanView::from_record(&plan, [&procedure]), "id name patient_id updated_at status procedures");
    let note = entry(json!({"content": "fine", "signed": true}));
    checked(
        &ClinicalNoteView::from_record(&note),
        "id patient_id procedure_id entered_at content signed completed updated_at",
    );
    let kind = entry(json!({"name": "Prophy", "interval_number": 6, "interval_unit": "month"}));
    let fields =
        "id name description foreign_id foreign_id_type interval_num interval_unit location_id created_at updated_at";
    checked(&RecallTypeView::from_record(&kind, None), fields);
    let recall = entry(json!({"recall_type_id": 7, "date_due": "2025-01-01"}));
    let fields =
        "id appointment_id date_due foreign_id foreign_id_type recall_id recall_type patient_id created_at updated_at";
    let shown = checked(&PatientRecallView::from_record(&recall, Some(&kind), None), fields);
    assert_eq!(shown["recall_type"]["interval_unit"], "month");
    checked(&PatientRecallView::from_record(&recall, None, None), fields);
}

#[test]
fn ledger() {
    let charge = entry(json!({"fee": usd("100.00"), "charged_at": "2024-02-29", "procedure_id": 4}));
    let of_charge = "id foreign_id location_id patient_id guarantor_id provider_id procedure_id procedure_code updated_at \
        description fee charged_at deleted_at";
    checked(&ChargeView::from_record(&charge), of_charge);
    let claim = |status: &str, paid: Value| -> Record<Claim> {
        entry(json!({
            "status": status, "totals": {"billed": usd("100")}, "sent_at": 0,
            "payouts": [
                {"charge_id": 7, "billed": usd("60"), "paid": paid, "estimated": usd("50")},
                {"charge_id": 8, "paid": usd("1000")}
            ]
        }))
    };
    let claims = [claim("sent", usd("20.50")), claim("received", usd("0.25")), claim("canceled", usd("7"))];
    let mut view = ChargeView::from_record(&charge);
    view.claims = Some(claims.iter().map(ClaimView::from_record).collect());
    view.claim_payouts = Some(ClaimPayoutView::for_charge(7, &claims));
    view.totals = Some(ClaimTotals::for_charge(7, &claims));
    let shown = checked(&view, &format!("{of_charge} claims claim_payouts totals"));
    assert_eq!((&shown["totals"]["insurance_payment"], &shown["totals"]["write_off"]), (&usd("20.75"), &Value::Null));
    assert_eq!(shown["claim_payouts"].as_array().unwrap().len(), 3);
    let mut claim = ClaimView::from_record(&claims[0]);
    claim.charge_payouts = Some(ChargePayoutView::all(&claims[0]));
    claim.charges = Some(vec![ChargeView::from_record(&charge)]);
    let fields = "id location_id patient_id provider_id guarantor_id status received_at sent_at note \
        primary_insurance_plan_id secondary_insurance_plan_id date_of_service totals updated_at deleted_at \
        charge_payouts charges";
    let shown = checked(&claim, fields);
    assert_eq!(shown["charge_payouts"][1]["charge_id"], 8);
    assert_eq!(shown["totals"]["amount_billed_to_insurance"], usd("100.00"));

    let payment = entry(json!({"amount": usd("12.50"), "paid_at": "2024-02-29", "payment_type_id": 2}));
    let mut view = PaymentView::from_record(&payment);
    view.payment_type = Some(None);
    view.charge = Some(Some(PatientLedgerCharge::from_record(&charge, &claims)));
    let fields = "id foreign_id location_id patient_id guarantor_id provider_id updated_at description deleted_at \
        transaction_id charge_id claim_id";
    let of_payment = "payment_amount paid_at payment_plan_id insurance_plan_id payment_type_id payment_type charge";
    let shown = checked(&view, &format!("{fields} {of_payment}"));
    assert_eq!((&shown["payment_amount"], &shown["charge"]["procedure_id"]), (&usd("12.50"), &json!("4")));
    assert_eq!(shown["charge"]["payment_estimate_total"], usd("100.00"));
    let adjustment = entry(json!({"amount": usd("-5")}));
    checked(
        &AdjustmentView::from_record(&adjustment),
        &format!("{fields} adjustment_amount adjusted_at adjustment_type_id"),
    );
    let plan = entry(json!({"first_payment_due": "2024-02-29", "active": true}));
    let fields = "id patient_id guarantor_id first_payment_due_date created_date active";
    checked(&PaymentPlanView::from_record(&plan), fields);

    let balance = json!({"guarantor_id": 5, "total": usd("3"), "from31_to60": usd("2"), "billed31_to60": usd("1")});
    let guarantor = entry(balance.clone());
    let fields = "id foreign_id guarantor_id location_id updated_at write_off_estimate total_balance insurance_estimate \
        guarantor_portion total_balance_under_30 total_balance_31_60 total_balance_61_90 total_balance_over_90";
    assert_eq!(checked(&GuarantorBalanceView::from_record(&guarantor), fields)["total_balance_31_60"], usd("2.00"));
    let fields = "id patient_id guarantor_id location_id updated_at estimated_amount_under_30 estimated_amount_31_60 \
        estimated_amount_61_90 estimated_amount_over_90 billed_amount_under_30 billed_amount_31_60 billed_amount_61_90 \
        billed_amount_over_90";
    assert_eq!(
        checked(&InsuranceBalanceView::from_record(&entry(balance)), fields)["billed_amount_31_60"],
        usd("1.00")
    );
}

/// A reader of an API version, without adapters.
struct ReaderIn(Version);

impl Reader for ReaderIn {
    fn adapter(&self, _: Option<u32>) -> Option<&str> {
        None
    }

    fn sees_amounts(&self) -> bool {
        true
    }

    fn version(&self) -> Version {
        self.0
    }
}

/// Returns the end of a view's JSON text, from a field on.
fn tail<V: RecordView>(record: &Record<V::Body>, version: Version, field: &str) -> String {
    let text = serde_json::to_string(&V::render(record, &ReaderIn(version))).unwrap();
    text[text.find(&format!("\"{field}\"")).unwrap()..].to_owned()
}

#[test]
fn fields_of_v2_are_between_the_entry_and_its_includes() {
    let payment = entry(json!({"amount": usd("12.50"), "paid_at": "2024-02-29", "payment_type_id": 2}));
    assert_eq!(tail::<PaymentView>(&payment, Version::V3_0_0, "payment_type_id"), r#""payment_type_id":2}"#);
    assert_eq!(
        tail::<PaymentView>(&payment, Version::V2_2_2, "payment_type_id"),
        r#""payment_type_id":2,"procedure_id":null,"value":{"amount":"12.50","currency":"USD"},"date":"2024-02-29","notes":null}"#
    );
    let mut adjustment: Record<Adjustment> = entry(json!({"amount": usd("-5"), "description": "Discount"}));
    adjustment.write = Some(RecordWrite { status: WriteStatus::Pending, reason: None });
    assert_eq!(
        tail::<AdjustmentView>(&adjustment, Version::V2_2_2, "adjustment_type_id"),
        r#""adjustment_type_id":null,"procedure_id":null,"value":{"amount":"-5.00","currency":"USD"},"date":null,"notes":"Discount","directionality":"credit","ehr_writeback":"pending"}"#
    );
    let charge = entry(json!({"fee": usd("100.00"), "charged_at": "2024-02-29"}));
    assert_eq!(tail::<ChargeView>(&charge, Version::V3_1_0, "deleted_at"), r#""deleted_at":null}"#);
    assert_eq!(
        tail::<ChargeView>(&charge, Version::V2_2_2, "deleted_at"),
        r#""deleted_at":null,"value":{"amount":"100.00","currency":"USD"},"date":"2024-02-29","notes":null}"#
    );
}

#[test]
fn working_hours() {
    let body = WorkingHour {
        provider_id: 2,
        operatory_id: Some(3),
        begin: 8 * 60 + 5,
        end: 24 * 60,
        recurrence: Recurrence::Weekly(vec![Weekday::Monday]),
        kind: HourKind::WorkingHour,
        source: HourSource::Synced,
        appointment_type_ids: Vec::new(),
        label: Some("Hygiene".to_owned()),
        active: true,
    };
    let mut record = Record { location_id: Some(11), ..Record::new(1, 1, Timestamp(0), body) };
    let fields = "id provider_id location_id operatory_id begin_time end_time days specific_date custom_recurrence tz_offset \
        active source label";
    let zone = "America/New_York".parse().unwrap();
    let shown = checked(&WorkingHourView::from_record(&record, zone, Timestamp(0)), fields);
    assert_eq!((&shown["begin_time"], &shown["end_time"]), (&json!("08:05"), &json!("24:00")));
    assert_eq!((&shown["days"], &shown["tz_offset"]), (&json!(["Monday"]), &json!("-05:00")));
    assert_eq!(shown["label"], json!({"id": label_id(11, "Hygiene"), "location_id": 11, "name": "Hygiene"}));
    assert!(label_id(11, "Hygiene") < 1 << 53 && label_id(11, "Hygiene") != label_id(12, "Hygiene"));
    record.recurrence = Recurrence::Every { number: 2, unit: RecurrenceUnit::Week, reference: Date(0) };
    let shown = checked(&WorkingHourView::from_record(&record, zone, Timestamp(0)), fields);
    assert_eq!(shown["custom_recurrence"], json!({"num": 2, "unit": "week", "ref": "1970-01-01"}));
    record.recurrence = Recurrence::On(Date(1));
    assert_eq!(
        checked(&WorkingHourView::from_record(&record, zone, Timestamp(0)), fields)["specific_date"],
        "1970-01-02"
    );
}
