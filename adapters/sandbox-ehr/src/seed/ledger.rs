//! The ledger: charges for completed procedures, payments by insurance and patients, and balances by age. The sums are
//! consistent.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    super::records::Resource,
    Seed,
    catalogues::Catalogues,
    charts::{Charts, Done},
    date_text, usd,
};

const DAY: i64 = 86_400;
/// Indexes in the lists of types.
const CARD: usize = 1;
const INSURANCE_CHECK: usize = 2;
const DISCOUNT: usize = 0;
const WRITE_OFF: usize = 2;

/// Cents by age: up to 30, 60, 90 days, older.
type Ages = [i64; 4];

#[derive(Default)]
struct Sums {
    /// Amounts owed by guarantors.
    guarantors: BTreeMap<String, Ages>,
    /// Amounts expected from insurance, by patient and guarantor.
    insurance: BTreeMap<(String, String), Ages>,
}

impl Seed<'_> {
    pub(super) fn ledger(&mut self, catalogues: &Catalogues, charts: &Charts) {
        let plans = self.payment_plans(charts);
        let mut sums = Sums::default();
        for (n, done) in charts.done.iter().enumerate() {
            let charge = self.charge(done);
            let paid = match charts.covered.get(&done.patient).filter(|_| n % 5 != 4) {
                Some(plan) => self.claim(n, done, &charge, plan, catalogues, &mut sums),
                None => 0,
            };
            let rest = done.cents - paid - self.discount(n, done, &charge, catalogues);
            let paid = self.payment(n, done, &charge, rest, catalogues, plans.get(&done.guarantor));
            sums.guarantors.entry(done.guarantor.clone()).or_default()[self.age(done.day)] += rest - paid;
        }
        self.balances(&sums);
    }

    fn age(&self, day: i64) -> usize {
        match i64::from(self.profile.today) - day {
            ..=30 => 0,
            31..=60 => 1,
            61..=90 => 2,
            _ => 3,
        }
    }

    fn charge(&mut self, done: &Done) -> String {
        self.file(
            Resource::Charges,
            json!({
                "patient": done.patient, "guarantor": done.guarantor, "provider": done.provider, "procedure": done.id,
                "procedure_code": done.code, "description": done.name, "fee": usd(done.cents),
                "charged_at": date_text(done.day),
            }),
        )
    }

    /// Creates a claim for one charge; every second one is answered and paid. Returns the amount settled by insurance.
    fn claim(
        &mut self,
        n: usize,
        done: &Done,
        charge: &str,
        plan: &str,
        catalogues: &Catalogues,
        sums: &mut Sums,
    ) -> i64 {
        let status = ["received", "sent", "received", "draft", "received", "canceled"][n % 6];
        let (allowed, received) = (done.cents * 8 / 10, status == "received");
        let (estimated, write_off) = (allowed * 8 / 10, done.cents - allowed);
        let mut amounts = json!({"billed": usd(done.cents), "estimated": usd(estimated), "allowed": usd(allowed)});
        if received {
            (amounts["paid"], amounts["write_off"]) = (usd(estimated), usd(write_off));
        }
        let mut payout = amounts.clone();
        payout["charge"] = charge.into();
        let sent = matches!(status, "received" | "sent").then_some((done.day + 1) * DAY);
        let claim = self.file(
            Resource::Claims,
            json!({
                "patient": done.patient, "provider": done.provider, "guarantor": done.guarantor, "status": status,
                "sent_at": sent, "received_at": received.then_some((done.day + 4) * DAY), "primary_plan": plan,
                "date_of_service": date_text(done.day), "totals": amounts, "payouts": [payout],
                "note": (status == "canceled").then_some("Sent to the wrong payer"),
            }),
        );
        if matches!(status, "sent" | "draft") {
            let age = self.age(done.day);
            sums.insurance.entry((done.patient.clone(), done.guarantor.clone())).or_default()[age] += estimated;
        }
        if !received {
            return 0;
        }
        let date = date_text(done.day + 4);
        self.file(
            Resource::Payments,
            json!({
                "patient": done.patient, "guarantor": done.guarantor, "provider": done.provider, "charge": charge,
                "claim": claim, "insurance_plan": plan, "payment_type": catalogues.payment_types[INSURANCE_CHECK],
                "amount": usd(estimated), "paid_at": date, "description": "Insurance check",
            }),
        );
        self.file(
            Resource::Adjustments,
            json!({
                "patient": done.patient, "guarantor": done.guarantor, "provider": done.provider, "charge": charge,
                "claim": claim, "adjustment_type": catalogues.adjustment_types[WRITE_OFF], "amount": usd(-write_off),
                "adjusted_at": date, "description": "Above what the plan allows",
            }),
        );
        estimated + write_off
    }

    /// Applies a discount of a tenth to every ninth charge. Returns the cents.
    fn discount(&mut self, n: usize, done: &Done, charge: &str, catalogues: &Catalogues) -> i64 {
        if n % 9 != 8 {
            return 0;
        }
        let cents = done.cents / 10;
        self.file(
            Resource::Adjustments,
            json!({
                "patient": done.patient, "guarantor": done.guarantor, "provider": done.provider, "charge": charge,
                "adjustment_type": catalogues.adjustment_types[DISCOUNT], "amount": usd(-cents),
                "adjusted_at": date_text(done.day), "charge_splits": [{"id": charge, "amount": usd(-cents)}],
            }),
        );
        cents
    }

    /// Pays every second remaining amount in cash or by card, in full or by half. Returns the cents.
    fn payment(
        &mut self,
        n: usize,
        done: &Done,
        charge: &str,
        rest: i64,
        catalogues: &Catalogues,
        plan: Option<&String>,
    ) -> i64 {
        if !n.is_multiple_of(2) || rest <= 0 {
            return 0;
        }
        let paid = if n.is_multiple_of(4) { rest } else { rest / 2 };
        let card = !n.is_multiple_of(3);
        let provider_splits = done.provider.iter().map(|id| json!({"id": id, "amount": usd(paid)})).collect::<Value>();
        self.file(
            Resource::Payments,
            json!({
                "patient": done.patient, "guarantor": done.guarantor, "provider": done.provider, "charge": charge,
                "payment_plan": plan, "payment_type": catalogues.payment_types[if card { CARD } else { 0 }],
                "amount": usd(paid), "paid_at": date_text(done.day),
                "transaction_id": card.then(|| format!("txn-{n:06}")),
                "charge_splits": [{"id": charge, "amount": usd(paid)}], "provider_splits": provider_splits,
            }),
        );
        paid
    }

    fn payment_plans(&mut self, charts: &Charts) -> BTreeMap<String, String> {
        let mut plans = BTreeMap::new();
        for (n, chart) in charts.charts.iter().enumerate().filter(|(n, _)| n % 30 == 4) {
            let day = i64::from(self.profile.today) - 100 + i64::try_from(n).unwrap_or(0) % 60;
            let row = json!({
                "patient": chart.patient, "guarantor": chart.guarantor, "created": date_text(day),
                "first_payment_due": date_text(day + 14), "active": n % 60 != 34,
            });
            plans.insert(chart.guarantor.clone(), self.file(Resource::PaymentPlans, row));
        }
        plans
    }

    fn balances(&mut self, sums: &Sums) {
        let expected = |guarantor: &str| {
            let of = sums.insurance.iter().filter(|((_, of), _)| of == guarantor);
            of.map(|(_, ages)| ages.iter().sum::<i64>()).sum::<i64>()
        };
        for (guarantor, ages) in &sums.guarantors {
            let (total, insurance) = (ages.iter().sum::<i64>(), expected(guarantor));
            let mut row = json!({
                "guarantor": guarantor, "total": usd(total), "insurance_estimate": usd(insurance),
                "guarantor_portion": usd(total - insurance), "write_off_estimate": usd(0),
            });
            set_ages(&mut row, ["under30", "from31_to60", "from61_to90", "over90"], ages);
            self.file(Resource::GuarantorBalances, row);
        }
        for ((patient, guarantor), ages) in &sums.insurance {
            let mut row = json!({"patient": patient, "guarantor": guarantor, "total": usd(ages.iter().sum())});
            set_ages(&mut row, ["under30", "from31_to60", "from61_to90", "over90"], ages);
            set_ages(&mut row, ["billed_under30", "billed31_to60", "billed61_to90", "billed_over90"], ages);
            self.file(Resource::InsuranceBalances, row);
        }
    }
}

fn set_ages(row: &mut Value, names: [&str; 4], ages: &Ages) {
    for (name, cents) in names.into_iter().zip(ages) {
        row[name] = usd(*cents);
    }
}
