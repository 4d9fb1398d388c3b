//! The ledger of the practice's EHR, its catalogues and descriptors.

use engine::records::ehr::{EhrRecord, Resource};
use serde_json::{Value, json};

use crate::support::{MAIN, RIVAL};

pub const PULLED: [Resource; 12] = [
    Resource::AppointmentDescriptors,
    Resource::FeeSchedules,
    Resource::Fees,
    Resource::PaymentTypes,
    Resource::AdjustmentTypes,
    Resource::Charges,
    Resource::Claims,
    Resource::PaymentPlans,
    Resource::Payments,
    Resource::Adjustments,
    Resource::GuarantorBalances,
    Resource::InsuranceBalances,
];

pub const WRITES: [&str; 2] = ["create-payment", "create-adjustment"];

fn usd(amount: &str) -> Value {
    json!({"amount": amount, "currency": "USD"})
}

pub fn records(location: u32, resource: Resource) -> Vec<EhrRecord> {
    let of_main = || match resource {
        Resource::AppointmentDescriptors => vec![
            ("visit", json!({"kind": "Visit type", "name": "New patient", "code": "NP", "active": true})),
            ("colour", json!({"kind": "Colour", "name": "Blue", "code": null, "active": true})),
        ],
        Resource::FeeSchedules => vec![
            ("ucr", json!({"name": "UCR", "active": true})),
            ("old", json!({"name": "Old", "active": false})),
            ("untold", json!({"name": "Untold", "active": null})),
        ],
        Resource::Fees => vec![
            ("fee 1", json!({"fee_schedule": "ucr", "procedure_code": null, "code": "D0120", "amount": usd("55.50")})),
            ("fee 2", json!({"fee_schedule": "ucr", "procedure_code": null, "code": "D1110", "amount": usd("90.00")})),
            ("fee 3", json!({"fee_schedule": "old", "procedure_code": null, "code": "D1110", "amount": usd("80.00")})),
        ],
        Resource::PaymentTypes => vec![
            ("cash", json!({"name": "Cash", "active": true})),
            ("cheque", json!({"name": "Cheque", "active": false})),
        ],
        Resource::AdjustmentTypes => vec![
            ("courtesy", json!({"name": "Courtesy", "active": true, "action": "credit"})),
            ("fine", json!({"name": "Fine", "active": false, "action": "debit"})),
        ],
        Resource::Charges => vec![
            (
                "charge 1",
                json!({"patient": "pat", "guarantor": "pat", "provider": "anna", "procedure": "cleaning of pat",
                    "procedure_code": "D1110", "description": "Cleaning", "fee": usd("90.00"), "charged_at": "2026-01-10"}),
            ),
            (
                "charge 2",
                json!({"patient": "ada", "guarantor": "pat", "provider": "ben", "procedure": null, "procedure_code": null,
                    "description": null, "fee": usd("10.00"), "charged_at": "2026-01-11"}),
            ),
        ],
        Resource::Claims => vec![
            (
                "claim 1",
                json!({"patient": "pat", "provider": "anna", "guarantor": "pat", "status": "sent", "sent_at": 1_700_000_000,
                    "received_at": null, "note": null, "primary_plan": null, "secondary_plan": null,
                    "date_of_service": "2026-01-10", "totals": {"charge": null, "billed": usd("90.00"), "estimated": usd("70.00"),
                    "paid": null, "write_off": null, "allowed": null},
                    "payouts": [{"charge": "charge 1", "billed": usd("90.00"), "estimated": usd("70.00"), "paid": usd("0.10"),
                    "write_off": usd("5.00"), "allowed": null}]}),
            ),
            (
                "claim 2",
                json!({"patient": null, "provider": "ben", "guarantor": null, "status": "draft", "sent_at": null,
                    "received_at": null, "note": null, "primary_plan": null, "secondary_plan": null,
                    "date_of_service": "2026-01-12", "totals": {"charge": null, "billed": null, "estimated": null, "paid": null,
                    "write_off": null, "allowed": null}, "payouts": []}),
            ),
        ],
        Resource::PaymentPlans => vec![
            (
                "plan 1",
                json!({"patient": "pat", "guarantor": "pat", "first_payment_due": "2026-02-01", "created": "2026-01-10",
                    "active": true}),
            ),
            (
                "plan 2",
                json!({"patient": null, "guarantor": null, "first_payment_due": null, "created": null, "active": false}),
            ),
        ],
        Resource::Payments => vec![
            (
                "payment 1",
                json!({"patient": "pat", "guarantor": "pat", "provider": "anna", "charge": "charge 1", "claim": "claim 1",
                    "payment_plan": "plan 1", "insurance_plan": null, "payment_type": "cash", "amount": usd("20.00"),
                    "paid_at": "2026-01-12", "transaction_id": "T1", "description": null, "charge_splits": [],
                    "provider_splits": []}),
            ),
            (
                "payment 2",
                json!({"patient": "ada", "guarantor": null, "provider": "ben", "charge": null, "claim": null,
                    "payment_plan": null, "insurance_plan": null, "payment_type": null, "amount": usd("5"),
                    "paid_at": null, "transaction_id": null, "description": "Found", "charge_splits": [],
                    "provider_splits": []}),
            ),
        ],
        Resource::Adjustments => vec![
            (
                "adjustment 1",
                json!({"patient": "pat", "guarantor": "pat", "provider": "anna", "charge": "charge 1", "claim": "claim 1",
                    "adjustment_type": "courtesy", "amount": usd("-9.00"), "adjusted_at": "2026-01-13",
                    "transaction_id": null, "description": null, "charge_splits": [], "provider_splits": []}),
            ),
            (
                "adjustment 2",
                json!({"patient": "ada", "guarantor": null, "provider": "ben", "charge": null, "claim": null,
                    "adjustment_type": null, "amount": usd("3.00"), "adjusted_at": null, "transaction_id": null,
                    "description": null, "charge_splits": [], "provider_splits": []}),
            ),
        ],
        Resource::GuarantorBalances => vec![
            ("owes", json!({"patient": null, "guarantor": "pat", "total": usd("70.00"), "under30": usd("70.00")})),
            ("even", json!({"patient": null, "guarantor": null, "total": usd("0.00")})),
            ("untold", json!({"patient": null, "guarantor": null})),
        ],
        Resource::InsuranceBalances => vec![
            ("insured", json!({"patient": "pat", "guarantor": "pat", "under30": usd("70.00")})),
            ("other", json!({"patient": null, "guarantor": null})),
        ],
        _ => Vec::new(),
    };
    let known = match (location, resource) {
        (MAIN, _) => of_main(),
        (RIVAL, Resource::PaymentTypes) => vec![("rivals", json!({"name": "Rivals", "active": true}))],
        _ => Vec::new(),
    };
    known.into_iter().map(|(id, fields)| entry(resource, id, fields)).collect()
}

fn entry(resource: Resource, id: &str, fields: Value) -> EhrRecord {
    EhrRecord::from_fields(resource, id, fields).unwrap()
}
