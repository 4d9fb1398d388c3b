//! A practice for tests: three operatories, two dentists and a hygienist, some days of schedules, and records of
//! every kind.

use serde_json::json;

use super::database::Database;

/// Keys of the created rows.
#[derive(Clone, Default)]
pub struct Seeded {
    pub providers: Vec<u64>,
    pub operatories: Vec<u64>,
    pub check_up: u64,
    pub confirmed: u64,
    pub patients: Vec<u64>,
    /// Appointments by status.
    pub booked: u64,
    pub broken: u64,
    pub complete: u64,
    pub blockout: u64,
    pub plan: u64,
    pub subscription: u64,
    pub coverage: u64,
    pub allergy_def: u64,
    pub disease_def: u64,
    pub medication: u64,
    pub charge: u64,
    pub check: u64,
    pub discount: u64,
    pub commlog: u64,
    pub treatment_plan: u64,
    pub recall: u64,
    pub adjustment: u64,
    pub payment: u64,
    pub fee: u64,
}

/// Several pages of the lists that are read patient by patient.
const PATIENTS: u64 = 24;
/// More patients than a page of the API has.
pub const MORE_THAN_A_PAGE: u64 = 130;

impl Database {
    /// Creates `days` of schedules from `first_day` on, of which the last is a holiday.
    pub fn seed(&mut self, first_day: &str, days: u32) -> Seeded {
        let mut seeded = Seeded::default();
        self.seed_catalogues(&mut seeded);
        self.seed_people(&mut seeded);
        self.seed_schedule(&mut seeded, first_day, days);
        self.seed_files(&mut seeded, first_day);
        self.age();
        seeded
    }

    fn seed_catalogues(&mut self, seeded: &mut Seeded) {
        let mut define = |category: u32, named: &str, name: &str, value: &str, hidden: &str| {
            let def = json!({"Category": category, "category": named, "ItemName": name, "ItemValue": value,
                "isHidden": hidden});
            self.insert("definitions", def)
        };
        let not_called = define(2, "ApptConfirmed", "Not Called", "", "false");
        seeded.confirmed = define(2, "ApptConfirmed", "Appointment Confirmed", "", "false");
        seeded.discount = define(1, "AdjTypes", "Courtesy", "-", "false");
        define(1, "AdjTypes", "Finance Charge", "+", "false");
        seeded.check = define(10, "PaymentTypes", "Check", "", "false");
        define(10, "PaymentTypes", "Barter", "", "true");
        define(11, "ProcCodeCats", "Exams & Xrays", "", "false");
        define(27, "CommLogTypes", "ApptRelated", "", "false");
        // This office has separate statuses for automated messages.
        let words =
            [("Sent", "eSent"), ("Confirmed", "eConfirmed"), ("Not Accepted", "eDeclined"), ("Failed", "eFailed")];
        let chosen = words.map(|(word, name)| (word, define(2, "ApptConfirmed", name, "", "false")));
        self.automated = chosen.into_iter().chain([("None", not_called)]).collect();
        let kind = json!({"AppointmentTypeName": "Check-up – kurz", "Pattern": "/XXXX/"});
        seeded.check_up = self.insert("appointmenttypes", kind);
        self.insert("appointmenttypes", json!({"AppointmentTypeName": "Old", "Pattern": "XX", "IsHidden": "true"}));
        seeded.allergy_def = self.insert("allergydefs", json!({"Description": "Penicillin"}));
        seeded.disease_def = self.insert("diseasedefs", json!({"DiseaseName": "Asthma"}));
        seeded.medication = self.insert("medications", json!({"MedName": "Metformin"}));
        let code = json!({"ProcCode": "D0120", "Descript": "periodic oral evaluation", "ProcCat": 7});
        self.insert("procedurecodes", code);
        self.insert("recalltypes", json!({"Description": "Prophy", "DefaultInterval": "6m1d"}));
        self.insert("feescheds", json!({"Description": "Standard"}));
        seeded.fee = self.insert("fees", json!({"Amount": 52.5, "FeeSched": 1, "CodeNum": 1}));
    }

    fn seed_people(&mut self, seeded: &mut Seeded) {
        for (abbreviation, first, last, hygienist) in [
            ("DOC1", "Åsa", "Lindqvist", "false"),
            ("DOC2", "Tomasz", "Żółkowski", "false"),
            ("HYG1", "Mai", "Nguyễn", "true"),
        ] {
            let provider = json!({"Abbr": abbreviation, "FName": first, "LName": last, "IsSecondary": hygienist,
                "NationalProvID": "1234567893"});
            seeded.providers.push(self.insert("providers", provider));
        }
        for (n, name) in ["Room 1", "Room 2", "Zimmer 3 – Prophylaxe"].into_iter().enumerate() {
            let room = json!({"OpName": name, "Abbrev": format!("OP-{}", n + 1), "ProvDentist": seeded.providers[n]});
            seeded.operatories.push(self.insert("operatories", room));
        }
        self.seed_patients(seeded, PATIENTS);
        self.change("patients", seeded.patients[4], json!({"PatStatus": "Inactive", "Birthdate": "0001-01-01"}));
    }

    /// Adds patients until there are `count`.
    pub fn seed_patients(&mut self, seeded: &mut Seeded, count: u64) {
        let names = [
            ("Zoë", "Łopata-O’Brien"),
            ("محمد", "حسين"),
            ("秀英", "王"),
            ("Þóra", "Jónsdóttir"),
            ("Ольга", "Щербакова"),
        ];
        for n in seeded.patients.len() as u64..count {
            let (first, last) = names.get(usize::try_from(n).unwrap_or(0)).copied().unwrap_or(("Pat", "Filed"));
            let last = if n < 5 { last.to_owned() } else { format!("{last} {n}") };
            let patient = json!({"FName": first, "LName": last, "Birthdate": "1990-02-28", "Gender": "Female",
                "WirelessPhone": format!("(312)555-{n:04}"), "Email": format!("patient{n}@mail.example"),
                "PriProv": seeded.providers[0], "Address": "1 Rue de l’Été", "City": "Chicago", "State": "IL", "Zip": "60601",
                "Language": "fra", "ChartNumber": format!("C-{n}"), "BalTotal": if n == 0 { 111.9 } else { 0.0 }});
            let key = self.insert("patients", patient);
            self.change("patients", key, json!({"Guarantor": if n == 1 { seeded.patients[0] } else { key }}));
            seeded.patients.push(key);
        }
    }

    fn seed_schedule(&mut self, seeded: &mut Seeded, first_day: &str, days: u32) {
        let date = |n: u32| plus_days(first_day, n);
        for day in 0..days {
            for (n, provider) in seeded.providers.clone().into_iter().enumerate() {
                for (start, stop) in [("09:00:00", "12:00:00"), ("13:00:00", "17:00:00")] {
                    let entry = json!({"SchedDate": date(day), "StartTime": start, "StopTime": stop,
                        "ProvNum": provider.to_string(), "operatories": seeded.operatories[n].to_string()});
                    self.insert("schedules", entry);
                }
            }
        }
        let holiday = json!({"SchedDate": date(days - 1), "SchedType": "Practice", "Note": "Founders’ day"});
        self.insert("schedules", holiday);
        let meeting = json!({"SchedDate": date(0), "SchedType": "Blockout", "StartTime": "16:00:00", "StopTime": "17:00:00",
            "BlockoutType": "9", "blockoutType": "Huddle",
            "operatories": format!("{},{}", seeded.operatories[1], seeded.operatories[2])});
        seeded.blockout = self.insert("schedules", meeting);
        let (patient, room, dentist) = (seeded.patients[0], seeded.operatories[0], seeded.providers[0]);
        let mut appointment = |status: &str, time: &str, more: serde_json::Value| {
            let mut row = json!({"PatNum": patient, "Op": room, "ProvNum": dentist, "AptStatus": status, "Confirmed": 1,
                "AptDateTime": format!("{} {time}", date(0)), "Pattern": "/XXXX/", "PatternSecondary": "//////"});
            for (field, value) in more.as_object().cloned().unwrap_or_default() {
                row[field] = value;
            }
            self.insert("appointments", row)
        };
        seeded.booked = appointment("Scheduled", "09:00:00", json!({"Note": "Check-up\r\nläuft", "Confirmed": 2}));
        seeded.broken = appointment("Broken", "10:00:00", json!({}));
        seeded.complete = appointment("Complete", "11:00:00", json!({"AptDateTime": "2020-01-02 11:00:00"}));
        appointment("Planned", "00:00:00", json!({"AptDateTime": "0001-01-01 00:00:00", "Op": 0}));
    }

    fn seed_files(&mut self, seeded: &mut Seeded, first_day: &str) {
        let (zoe, dentist) = (seeded.patients[0], seeded.providers[0]);
        let carrier = json!({"CarrierName": "Lakeside Dental", "ElectID": "60110", "City": "Portland", "State": "OR"});
        let carrier = self.insert("carriers", carrier);
        let plan = json!({"CarrierNum": carrier, "GroupName": "Harbour Works", "GroupNum": "HW-12", "FeeSched": 1, "MonthRenew": 12});
        seeded.plan = self.insert("insplans", plan);
        let subscription = json!({"PlanNum": seeded.plan, "Subscriber": zoe, "SubscriberID": "LD-7781",
            "DateEffective": "2019-01-01"});
        seeded.subscription = self.insert("inssubs", subscription);
        let coverage = json!({"PatNum": zoe, "InsSubNum": seeded.subscription});
        seeded.coverage = self.insert("patplans", coverage);
        self.insert("allergies", json!({"PatNum": zoe, "AllergyDefNum": seeded.allergy_def, "Reaction": "Rash"}));
        self.insert("diseases", json!({"PatNum": zoe, "DiseaseDefNum": seeded.disease_def}));
        self.insert("medicationpats", json!({"PatNum": zoe, "MedicationNum": seeded.medication, "PatNote": "500mg"}));
        let log = json!({"PatNum": zoe, "Note": "Asked to call back", "CommDateTime": self.now(), "CommType": 8});
        seeded.commlog = self.insert("commlogs", log);
        let done = json!({"PatNum": zoe, "CodeNum": 1, "ProcStatus": "C", "ProcFee": "130.00", "ProvNum": dentist,
            "ProcDate": self.today(), "ToothNum": "4", "Surf": "MOD", "AptNum": seeded.booked});
        seeded.charge = self.insert("procedurelogs", done);
        let planned = json!({"PatNum": zoe, "CodeNum": 1, "ProcStatus": "TP", "ProcFee": "52.50", "ProvNum": dentist});
        let planned = self.insert("procedurelogs", planned);
        seeded.treatment_plan = self.insert("treatplans", json!({"PatNum": zoe, "Heading": "Spring plan"}));
        let attached = json!({"TreatPlanNum": seeded.treatment_plan, "ProcNum": planned});
        self.insert("treatplanattaches", attached);
        let due = json!({"PatNum": zoe, "RecallTypeNum": 1, "DateDue": first_day, "RecallInterval": "6m1d"});
        seeded.recall = self.insert("recalls", due);
        let paid = json!({"PatNum": zoe, "PayType": seeded.check, "PayAmt": "50", "PayDate": self.today(), "PayNote": "by mail"});
        seeded.payment = self.insert("payments", paid);
        let split = json!({"PatNum": zoe, "PayNum": seeded.payment, "SplitAmt": 50, "ProcNum": seeded.charge, "ProvNum": dentist});
        self.insert("paysplits", split);
        let discount = json!({"PatNum": zoe, "AdjType": seeded.discount, "AdjAmt": -25.0, "AdjDate": self.today(),
            "AdjNote": "Courtesy"});
        seeded.adjustment = self.insert("adjustments", discount);
    }
}

pub fn plus_days(date: &str, days: u32) -> String {
    let date = chrono::NaiveDate::parse_from_str(date, "%Y-%m-%d").expect("a date");
    (date + chrono::Days::new(days.into())).to_string()
}
