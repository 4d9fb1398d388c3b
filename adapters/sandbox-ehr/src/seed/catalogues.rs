//! The practice's initial settings: codes and fees, plans, types and forms.

use serde_json::json;

use super::{super::records::Resource, Seed, forms, usd};

pub(super) struct Code {
    pub(super) code: &'static str,
    pub(super) name: &'static str,
    pub(super) cents: i64,
}

/// Ids of the practice's catalogues.
pub(super) struct Catalogues {
    pub(super) plans: Vec<String>,
    pub(super) codes: Vec<Code>,
    /// Items by category.
    pub(super) history: Vec<(&'static str, Vec<String>)>,
    pub(super) forms: Vec<String>,
    pub(super) recalls: Vec<String>,
    pub(super) document_types: Vec<String>,
    pub(super) payment_types: Vec<String>,
    pub(super) adjustment_types: Vec<String>,
}

/// Category, code, description, usual fee in cents, and `true` if in use.
const CODES: [(usize, &str, &str, i64, bool); 20] = [
    (0, "D0120", "Check-up of a known patient", 5_800, true),
    (0, "D0140", "Exam for one complaint", 8_200, true),
    (0, "D0150", "Full exam of a new patient", 9_800, true),
    (0, "D0210", "Full set of X-rays", 14_500, true),
    (0, "D0274", "Four bitewing X-rays", 7_400, true),
    (1, "D1110", "Adult cleaning", 10_500, true),
    (1, "D1120", "Child cleaning", 7_600, true),
    (1, "D1206", "Fluoride varnish", 4_200, true),
    (1, "D1351", "Sealant, one tooth", 6_100, true),
    (2, "D2140", "Amalgam filling, one surface", 15_500, false),
    (2, "D2330", "White filling, front tooth", 18_000, true),
    (2, "D2391", "White filling, back tooth, one surface", 19_500, true),
    (2, "D2392", "White filling, back tooth, two surfaces", 24_800, true),
    (2, "D2740", "Ceramic crown", 128_000, true),
    (3, "D3310", "Root canal, front tooth", 82_500, true),
    (3, "D3330", "Root canal, molar", 118_000, true),
    (4, "D4341", "Deep cleaning, one quadrant", 26_000, true),
    (4, "D7140", "Extraction", 19_900, true),
    (4, "D7210", "Surgical extraction", 32_000, true),
    (4, "D9110", "Pain relief", 13_500, true),
];

impl Seed<'_> {
    pub(super) fn catalogues(&mut self) -> Catalogues {
        self.descriptors();
        let schedules = self.fee_schedules();
        let codes = self.procedure_codes(&schedules);
        Catalogues {
            plans: self.insurance_plans(&schedules),
            codes,
            history: self.history(),
            forms: forms::SCHEMAS.iter().map(|form| self.file(Resource::FormSchemas, form.schema())).collect(),
            recalls: self.recall_types(),
            document_types: self.kinds(
                Resource::DocumentTypes,
                &[("X-ray", true), ("Consent form", true), ("Referral letter", true), ("Fax", false)],
            ),
            payment_types: self.kinds(
                Resource::PaymentTypes,
                &[
                    ("Cash", true),
                    ("Credit card", true),
                    ("Insurance check", true),
                    ("Online payment", true),
                    ("Traveller's cheque", false),
                ],
            ),
            adjustment_types: self.adjustment_types(),
        }
    }

    fn descriptors(&mut self) {
        for (kind, name, code, active) in [
            ("reason", "Pain", "R-PAIN", true),
            ("reason", "Check-up", "R-CHECK", true),
            ("reason", "Broken tooth", "R-BROKEN", true),
            ("color", "Needs wheelchair access", "blue", true),
            ("color", "Long visit", "orange", true),
            ("procedure_code", "Adult cleaning", "D1110", true),
            ("procedure_code", "Exam for one complaint", "D0140", true),
            ("reason", "Whitening party", "R-OLD", false),
        ] {
            let row = json!({"kind": kind, "name": name, "code": code, "active": active});
            self.file(Resource::AppointmentDescriptors, row);
        }
    }

    fn fee_schedules(&mut self) -> Vec<String> {
        let schedules = [("Usual fees", true), ("Smile Union contract", true), ("Usual fees, last year", false)];
        self.kinds(Resource::FeeSchedules, &schedules)
    }

    fn kinds(&mut self, resource: Resource, names: &[(&str, bool)]) -> Vec<String> {
        names.iter().map(|(name, active)| self.file(resource, json!({"name": name, "active": active}))).collect()
    }

    fn procedure_codes(&mut self, schedules: &[String]) -> Vec<Code> {
        let names = ["Diagnostic", "Preventive", "Restorative", "Endodontic", "Periodontal and surgical"];
        let categories = names.map(|name| self.file(Resource::ProcedureCodeCategories, json!({"name": name}))).to_vec();
        let mut codes = Vec::new();
        for (category, code, description, cents, active) in CODES {
            let id = self.file(
                Resource::ProcedureCodes,
                json!({"code": code, "description": description, "category": categories[category], "active": active}),
            );
            // The contract is a fifth cheaper, last year was a tenth cheaper.
            for (schedule, per_cent) in schedules.iter().zip([100, 80, 90]) {
                let amount = usd(cents * per_cent / 100);
                let row = json!({"fee_schedule": schedule, "procedure_code": id, "code": code, "amount": amount});
                self.file(Resource::Fees, row);
            }
            if active {
                codes.push(Code { code, name: description, cents });
            }
        }
        codes
    }

    fn insurance_plans(&mut self, schedules: &[String]) -> Vec<String> {
        [
            ("Blue Tooth PPO", "BT100", "G-1001", "Springfield Steel", 0, 150_000, 1),
            ("Smile Union HMO", "SU204", "G-2040", "City of Springfield", 1, 100_000, 1),
            ("Zähne & Söhne", "ZS007", "G-0007", "Müller Optics", 0, 200_000, 7),
            ("Blue Tooth Secondary", "BT200", "G-1002", "Springfield Steel", 0, 75_000, 1),
        ]
        .map(|(name, payer, group, employer, schedule, most, month)| {
            self.file(
                Resource::InsurancePlans,
                json!({
                    "name": name, "payer_id": payer, "group_number": group, "employer_name": employer,
                    "fee_schedule": schedules[schedule], "annual_max_individual": usd(most),
                    "benefit_year_renewal_month": month,
                    "address": {"line1": "1 Claims Way", "city": "Hartford", "region": "CT", "postal_code": "06103",
                        "country": "US"},
                }),
            )
        })
        .to_vec()
    }

    fn history(&mut self) -> Vec<(&'static str, Vec<String>)> {
        [
            ("allergies", ["Penicillin", "Latex", "Local anaesthetics", "Aspirin", "Sulfa drugs", "Nickel"]),
            ("conditions", ["Asthma", "Diabetes", "High blood pressure", "Heart murmur", "Pregnancy", "Epilepsy"]),
            ("medications", ["Amoxicillin", "Ibuprofen", "Lisinopril", "Metformin", "Warfarin", "Levothyroxine"]),
        ]
        .map(|(category, names)| {
            let item =
                |seed: &mut Self, name| seed.file(Resource::HistoryItems, json!({"category": category, "name": name}));
            (category, names.map(|name| item(self, name)).to_vec())
        })
        .to_vec()
    }

    fn recall_types(&mut self) -> Vec<String> {
        [
            ("Cleaning", "Cleaning and check-up", 6, "month"),
            ("Periodontal", "Deep cleaning", 3, "month"),
            ("X-rays", "", 1, "year"),
        ]
        .map(|(name, description, number, unit)| {
            let description = Some(description).filter(|text| !text.is_empty());
            let row =
                json!({"name": name, "description": description, "interval_number": number, "interval_unit": unit});
            self.file(Resource::RecallTypes, row)
        })
        .to_vec()
    }

    fn adjustment_types(&mut self) -> Vec<String> {
        [
            ("Courtesy discount", "credit", true),
            ("Missed appointment", "debit", true),
            ("Insurance write-off", "credit", true),
            ("Coupon 2019", "unknown", false),
        ]
        .map(|(name, action, active)| {
            self.file(Resource::AdjustmentTypes, json!({"name": name, "action": action, "active": active}))
        })
        .to_vec()
    }
}
