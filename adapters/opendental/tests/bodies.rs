//! Bodies of writes.

use adapter_sdk::{
    Fault,
    records::{self, Gender},
    settings,
    testing::Host,
};
use opendental_adapter::{
    patients::form,
    requests::{adjustment, carrier, moved, moved_back, payment},
    responses::Appointment,
};
use serde_json::{Value, json};

#[test]
fn a_patient_is_written_without_values_the_ehr_would_refuse() {
    let p = records::Patient {
        first_name: "Zoë".into(),
        last_name: "Łopata".into(),
        date_of_birth: Some("1990-02-28".into()),
        gender: Some(Gender::Other),
        primary_phone: Some("+1 312 555 0100".into()),
        work_phone: Some("555".into()),
        work_phone_extension: Some("7".into()),
        ssn: Some("123-45-6789".into()),
        preferred_language: Some("es".into()),
        guarantor: Some("12".into()),
        unsubscribed_sms: true,
        new_patient: true,
        address: Some(records::Address {
            line1: Some("1 Rue de l’Été".into()),
            region: Some("Illinois".into()),
            postal_code: Some("60601".into()),
            ..records::Address::default()
        }),
        ..records::Patient::default()
    };
    let (body, lines) = Host::new()
        .manifest(include_str!("../adapter.toml"))
        .config("location", "3")
        .run_logged(|| form(&settings::read().unwrap(), &p));
    assert_eq!(
        Value::Object(body),
        json!({
            "LName": "Łopata", "FName": "Zoë", "PatStatus": "Prospective", "Gender": "Unknown", "Birthdate": "1990-02-28",
            "SSN": "123456789", "Address": "1 Rue de l’Été", "Zip": "60601", "WkPhone": "555 x7",
            "WirelessPhone": "+1 312 555 0100", "Guarantor": 12, "Language": "spa", "TxtMsgOk": "No", "ClinicNum": 3,
        })
    );
    assert_eq!(lines.len(), 1, "the region that is left out: {lines:?}");
    assert!(!lines[0].1.contains("Illinois"));
}

#[test]
fn money_is_written_in_hundredths_and_with_its_key() {
    let amount = records::Money { amount: "-24.9".into(), currency: "USD".into() };
    let a = records::Adjustment {
        id: String::new(),
        patient: Some("15".into()),
        guarantor: None,
        provider: None,
        charge: None,
        claim: None,
        adjustment_type: Some("8".into()),
        amount,
        adjusted_at: None,
        transaction_id: Some("tx 1".into()),
        description: Some("Discount".into()),
        charge_splits: Vec::new(),
        provider_splits: Vec::new(),
        extra: Vec::new(),
    };
    assert_eq!(
        adjustment("k-1", &a, "2026-12-01").unwrap(),
        json!({
            "PatNum": 15, "AdjType": 8, "AdjAmt": "-24.90", "AdjDate": "2026-12-01",
            "AdjNote": "Discount [ref:k-1 tx:tx%201]",
        })
    );
}

#[test]
fn a_payment_goes_to_one_charge_or_is_refused() {
    let usd = |amount: &str| records::Money { amount: amount.into(), currency: "USD".into() };
    let split = |id: &str, amount: &str| records::Split { id: id.into(), amount: usd(amount) };
    let paid = |charge: Option<&str>, charges: Vec<records::Split>, providers: Vec<records::Split>| {
        payment(
            "k-1",
            &records::Payment {
                id: String::new(),
                patient: Some("15".into()),
                guarantor: None,
                provider: None,
                charge: charge.map(str::to_owned),
                claim: None,
                payment_plan: None,
                insurance_plan: None,
                payment_type: Some("8".into()),
                amount: usd("80.00"),
                paid_at: None,
                transaction_id: None,
                description: None,
                charge_splits: charges,
                provider_splits: providers,
                extra: Vec::new(),
            },
        )
        .map(|body| body["procNums"].clone())
    };
    assert_eq!(paid(None, vec![], vec![]), Ok(Value::Null));
    assert_eq!(paid(Some("7"), vec![], vec![]), Ok(json!([7])));
    assert_eq!(paid(Some("7"), vec![split("7", "80")], vec![split("1", "80.00")]), Ok(json!([7])));
    for (charge, charges, providers) in [
        (None, vec![split("7", "50.00"), split("8", "30.00")], vec![]),
        (None, vec![split("7", "50.00")], vec![]),
        (Some("8"), vec![split("7", "80.00")], vec![]),
        (Some("none"), vec![], vec![]),
        (None, vec![], vec![split("1", "50.00"), split("2", "30.00")]),
        (None, vec![], vec![split("1", "50.00")]),
    ] {
        let refused = paid(charge, charges, providers);
        assert!(matches!(refused, Err(Fault::Rejected(_))), "{refused:?}");
    }
}

#[test]
fn a_move_names_what_changes() {
    Host::new().run(|| {
        let row: Appointment = serde_json::from_value(json!({
            "AptNum": 3, "Pattern": "/XX/", "PatternSecondary": "/X//", "Op": 2, "ProvNum": 3, "ProvHyg": 4,
            "IsHygiene": "true", "AppointmentTypeNum": 5, "AptDateTime": "2026-12-01 09:00:00",
        }))
        .unwrap();
        let a = records::Appointment {
            operatory: Some("6".into()),
            provider: Some("9".into()),
            appointment_type: Some("5".into()),
            start: 1_796_122_800,
            ..records::Appointment::default()
        };
        let to = json!({"AptDateTime": "2026-12-01 11:00:00", "Op": 6, "ProvHyg": 9});
        assert_eq!(moved(&row, &a, 4), to);
        let longer = moved(&row, &a, 6);
        assert_eq!((&longer["Pattern"], &longer["PatternSecondary"]), (&json!("/XXXX/"), &json!("/X////")));
        assert_eq!(moved_back(&row)["AptDateTime"], "2026-12-01 09:00:00");
    });
}

#[test]
fn zips_of_two_countries() {
    let zip = |postal_code: &str| {
        let address = json!({"postal_code": postal_code});
        let plan = json!({"id": "", "name": "Payer", "address": address, "extra": []});
        carrier(&serde_json::from_value(plan).unwrap())["Zip"].clone()
    };
    for good in ["12345", "12345-1234", "123456789", "K1A 0B1"] {
        assert_eq!(zip(good), good);
    }
    for bad in ["1234", "SW1A 1AA", "12345-", "75001 Paris"] {
        assert_eq!(zip(bad), Value::Null, "{bad}");
    }
}
