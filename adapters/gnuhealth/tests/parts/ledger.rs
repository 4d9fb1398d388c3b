//! The choice of the invoice that a payment settles.

use adapter_sdk::{
    Fault,
    records::{Money, Payment, Split},
};
use gnuhealth_adapter::{ledger::settled, responses::Invoice};
use serde_json::json;

#[test]
fn a_payment_is_for_one_charge_as_a_whole() {
    let open = |id: i64| -> Invoice {
        let amount = json!({"__class__": "Decimal", "decimal": "80.00"});
        let row = json!({"id": id, "party": 1, "company": 1, "account": 1, "amount_to_pay": amount,
            "currency.": {"id": 1, "code": "USD"}});
        serde_json::from_value(row).unwrap()
    };
    let invoices = [open(7), open(8)];
    let usd = |amount: &str| Money { amount: amount.into(), currency: "USD".into() };
    let paid = |charge: Option<&str>, splits: &[(&str, &str)]| {
        let payment = Payment {
            id: String::new(),
            patient: Some("3".into()),
            guarantor: None,
            provider: None,
            charge: charge.map(str::to_owned),
            claim: None,
            payment_plan: None,
            insurance_plan: None,
            payment_type: Some("2".into()),
            amount: usd("50.00"),
            paid_at: None,
            transaction_id: None,
            description: None,
            charge_splits: splits.iter().map(|(id, part)| Split { id: (*id).into(), amount: usd(part) }).collect(),
            provider_splits: Vec::new(),
            extra: Vec::new(),
        };
        settled(&invoices, &payment).map(|invoice| invoice.id)
    };
    assert_eq!((paid(None, &[]), paid(Some("8"), &[]), paid(Some("8"), &[("8", "50")])), (Ok(7), Ok(8), Ok(8)));
    let refused =
        [(None, &[("7", "30.00"), ("8", "20.00")][..]), (None, &[("8", "30.00")]), (Some("7"), &[("8", "50.00")])];
    for (charge, splits) in refused {
        assert!(matches!(paid(charge, splits), Err(Fault::Rejected(_))), "{splits:?}");
    }
}
