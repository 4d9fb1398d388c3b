//! Payments. The EHR records a payment only for an invoice, through its pay wizard. The adapter creates no invoices,
//! because they are the practice's revenue.

use adapter_sdk::{
    Fault, Receipt, clock,
    money::{exact, whole_charge},
    records::Payment,
    steps, warn,
};

use crate::{
    chart, client,
    conventions::note,
    requests,
    responses::{Invoice, PaymentLine},
    settings::Settings,
    values::Decimal,
};

pub fn pay(_: &Settings, key: &str, payment: &Payment) -> Result<Receipt, Fault> {
    let patient = payment.patient.as_deref().ok_or_else(|| Fault::rejected("the EHR needs a patient"))?;
    let method = requests::number(&payment.payment_type);
    let method = method.ok_or_else(|| Fault::rejected("the EHR needs a kind of payment"))?;
    let invoices = client::search::<Invoice>(&requests::open_invoices(chart::party_of(patient)?))?;
    let invoice = settled(&invoices, payment)?;
    let session = client::call(&requests::start_of_payment(invoice))?;
    let session = session[0].as_i64().ok_or_else(|| Fault::retry_later("the EHR begins no payment", None))?;
    client::write(&requests::pay(session, invoice, method, key, payment, &clock::today()))?;
    client::attempt("ending the payment's form", &requests::end_of_payment(session, invoice));
    find(key).map_err(steps::after)?.ok_or_else(|| Fault::unknown("the EHR does not show the payment it has taken"))
}

/// Returns the account line with this key.
pub fn find(key: &str) -> Result<Option<Receipt>, Fault> {
    let rows = client::search::<PaymentLine>(&requests::payments_by_key(key))?;
    let carries = |line: &&PaymentLine| note(line.entry.description.as_deref()).carries(key);
    Ok(rows.iter().find(carries).map(|line| Receipt::new(line.id)))
}

/// Returns the invoice of a payment: the named one, else the oldest with a sufficient open amount.
pub fn settled<'a>(invoices: &'a [Invoice], payment: &Payment) -> Result<&'a Invoice, Fault> {
    let amount = exact(&payment.amount.amount).filter(|amount| *amount > 0);
    let amount = amount.ok_or_else(|| Fault::rejected("the EHR takes payments of more than nothing only"))?;
    let charge = whole_charge(payment)
        .map_err(|_| Fault::rejected("the EHR takes a payment for one charge at a time, and as a whole"))?;
    if !payment.provider_splits.is_empty() {
        warn!("the EHR has no field for provider-splits");
    }
    let open = |invoice: &Invoice| invoice.amount_to_pay.as_ref().and_then(Decimal::exact).unwrap_or_default();
    let fits = |invoice: &&Invoice| {
        invoice.currency.code.as_deref() == Some(payment.amount.currency.as_str()) && open(invoice) >= amount
    };
    let mut named = invoices.iter().filter(|invoice| charge.is_none_or(|charge| invoice.id.to_string() == charge));
    named.find(fits).ok_or_else(|| {
        Fault::rejected(match charge {
            Some(_) => "so much is not open on this charge",
            None => "the patient has no open invoice over so much in this currency",
        })
    })
}
