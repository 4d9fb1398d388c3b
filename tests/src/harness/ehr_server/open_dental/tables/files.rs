//! The tables of the practice's files: insurance, history, the ledger.

use serde_json::json;

use super::super::table::{Answers, NEVER, NO_TIME, Since, Table, post, table};

const CARRIER: &[&str] =
    &["Address", "Address2", "City", "State", "Zip", "Phone", "ElectID", "NoSendElect", "IsHidden"];
const PLAN: &[&str] = &[
    "GroupName", "GroupNum", "PlanNote", "FeeSched", "PlanType", "CopayFeeSched", "EmployerNum", "IsMedical",
    "CodeSubstNone", "IsHidden", "MonthRenew", "IsBlueBookEnabled",
];

pub fn all() -> Vec<Table> {
    let mut tables = insurance();
    tables.extend(history());
    tables.extend(ledger());
    tables
}

fn insurance() -> Vec<Table> {
    vec![
        Table {
            single: true,
            post: post(&["CarrierName"], CARRIER, Answers::Row),
            ..table(
                "carriers",
                "CarrierNum",
                json!({"CarrierNum": 0, "CarrierName": "", "Address": "", "Address2": "", "City": "", "State": "", "Zip": "",
                    "Phone": "", "ElectID": "", "NoSendElect": "SendElect", "IsHidden": "false"}),
            )
        },
        Table {
            filters: &["CarrierNum", "PlanType"],
            stamp: Some("SecDateTEdit"),
            single: true,
            post: post(&["CarrierNum"], PLAN, Answers::Row),
            ..table(
                "insplans",
                "PlanNum",
                json!({"PlanNum": 0, "GroupName": "", "GroupNum": "", "PlanNote": "", "FeeSched": 0, "PlanType": "",
                    "ClaimFormNum": 1, "ClaimsUseUCR": "false", "CopayFeeSched": 0, "EmployerNum": 0, "CarrierNum": 0,
                    "IsMedical": "false", "FilingCode": 0, "ShowBaseUnits": "false", "CodeSubstNone": "false",
                    "IsHidden": "false", "MonthRenew": 0, "FilingCodeSubtype": 0, "CobRule": "Basic", "SecUserNumEntry": 0,
                    "SecDateEntry": NEVER, "SecDateTEdit": NO_TIME, "BillingType": 0, "ExclusionFeeRule": "PracticeDefault",
                    "ManualFeeSchedNum": 0, "IsBlueBookEnabled": "false",
                    "InsPlansZeroWriteOffsOnAnnualMaxOverride": "Default",
                    "InsPlansZeroWriteOffsOnFreqOrAgingOverride": "Default"}),
            )
        },
        Table {
            filters: &["PlanNum", "Subscriber"],
            stamp: Some("SecDateTEdit"),
            since: Since::OnOrAfter,
            single: true,
            post: post(
                &["PlanNum", "Subscriber", "SubscriberID"],
                &["DateEffective", "DateTerm", "BenefitNotes", "ReleaseInfo", "AssignBen", "SubscNote"],
                Answers::Row,
            ),
            delete: true,
            ..table(
                "inssubs",
                "InsSubNum",
                json!({"InsSubNum": 0, "PlanNum": 0, "Subscriber": 0, "DateEffective": NEVER, "DateTerm": NEVER,
                    "SubscriberID": "", "BenefitNotes": "", "ReleaseInfo": "true", "AssignBen": "true", "SubscNote": "",
                    "SecDateTEdit": NO_TIME}),
            )
        },
        Table {
            filters: &["PatNum", "InsSubNum"],
            stamp: Some("SecDateTEdit"),
            post: post(&["PatNum", "InsSubNum"], &["Ordinal", "Relationship", "PatID"], Answers::Row),
            delete: true,
            ..table(
                "patplans",
                "PatPlanNum",
                json!({"PatPlanNum": 0, "PatNum": 0, "Ordinal": 1, "IsPending": "false", "Relationship": "Self", "PatID": "",
                    "InsSubNum": 0, "OrthoAutoFeeBilledOverride": -1.0, "OrthoAutoNextClaimDate": NEVER,
                    "SecDateTEntry": NO_TIME, "SecDateTEdit": NO_TIME}),
            )
        },
    ]
}

fn history() -> Vec<Table> {
    vec![
        table(
            "allergydefs",
            "AllergyDefNum",
            json!({"AllergyDefNum": 0, "Description": "", "IsHidden": "false", "DateTStamp": NO_TIME}),
        ),
        Table {
            single: true,
            ..table(
                "diseasedefs",
                "DiseaseDefNum",
                json!({"DiseaseDefNum": 0, "DiseaseName": "", "IsHidden": "false", "DateTStamp": NO_TIME}),
            )
        },
        table("medications", "MedicationNum", json!({"MedicationNum": 0, "MedName": "", "GenericNum": 0, "Notes": ""})),
        Table {
            filters: &["PatNum"],
            by_patient: true,
            names: &[("defDescription", "AllergyDefNum", "allergydefs", "Description")],
            post: post(
                &["PatNum"],
                &["AllergyDefNum", "defDescription", "Reaction", "StatusIsActive", "DateAdverseReaction"],
                Answers::Location,
            ),
            put: &["Reaction", "DateAdverseReaction", "StatusIsActive"],
            delete: true,
            ..table(
                "allergies",
                "AllergyNum",
                json!({"AllergyNum": 0, "AllergyDefNum": 0, "PatNum": 0, "Reaction": "", "StatusIsActive": "true",
                    "DateAdverseReaction": NEVER}),
            )
        },
        Table {
            filters: &["PatNum"],
            single: true,
            names: &[("diseaseDefName", "DiseaseDefNum", "diseasedefs", "DiseaseName")],
            post: post(
                &["PatNum"],
                &["DiseaseDefNum", "diseaseDefName", "DateStart", "DateStop", "ProbStatus", "PatNote"],
                Answers::Row,
            ),
            put: &["DateStart", "DateStop", "ProbStatus", "PatNote"],
            delete: true,
            ..table(
                "diseases",
                "DiseaseNum",
                json!({"DiseaseNum": 0, "PatNum": 0, "DiseaseDefNum": 0, "PatNote": "", "ProbStatus": "Active",
                    "DateStart": NEVER, "DateStop": NEVER}),
            )
        },
        Table {
            filters: &["PatNum"],
            by_patient: true,
            names: &[("medName", "MedicationNum", "medications", "MedName")],
            post: post(
                &["PatNum"],
                &["medName", "MedicationNum", "PatNote", "DateStart", "DateStop", "ProvNum"],
                Answers::Nothing,
            ),
            put: &["PatNote", "DateStart", "DateStop", "ProvNum"],
            delete: true,
            ..table(
                "medicationpats",
                "MedicationPatNum",
                json!({"MedicationPatNum": 0, "PatNum": 0, "MedicationNum": 0, "PatNote": "", "DateStart": NEVER,
                    "DateStop": NEVER, "ProvNum": 0}),
            )
        },
    ]
}

fn ledger() -> Vec<Table> {
    vec![
        Table {
            stamp: Some("DateTStamp"),
            since: Since::After,
            names: &[("procCat", "ProcCat", "definitions", "ItemName")],
            ..table(
                "procedurecodes",
                "CodeNum",
                json!({"CodeNum": 0, "ProcCode": "", "Descript": "", "AbbrDesc": "", "ProcTime": "/X/", "ProcCat": 0,
                    "TreatArea": "Mouth", "NoBillIns": "false", "IsProsth": "false", "DefaultNote": "", "IsHygiene": "false",
                    "AlternateCode1": "", "MedicalCode": "", "IsTaxed": "false", "PaintType": "None", "LaymanTerm": "",
                    "IsCanadianLab": "false", "BaseUnits": 0, "SubstitutionCode": "", "SubstOnlyIf": "Always",
                    "DateTStamp": NO_TIME, "DrugNDC": "", "RevenueCodeDefault": "", "ProvNumDefault": 0,
                    "CanadaTimeUnits": 0.0, "IsRadiology": "false", "DefaultClaimNote": "", "DefaultTPNote": "",
                    "PaintText": "", "AreaAlsoToothRange": "false", "DiagnosticCodes": ""}),
            )
        },
        Table {
            filters: &["PatNum", "AptNum", "ProcStatus", "PlannedAptNum", "ClinicNum", "CodeNum"],
            stamp: Some("DateTStamp"),
            since: Since::OnOrAfter,
            server_time: true,
            single: true,
            names: &[
                ("procCode", "CodeNum", "procedurecodes", "ProcCode"),
                ("descript", "CodeNum", "procedurecodes", "Descript"),
                ("provAbbr", "ProvNum", "providers", "Abbr"),
                ("priority", "Priority", "definitions", "ItemName"),
                ("dxName", "Dx", "definitions", "ItemName"),
            ],
            ..table(
                "procedurelogs",
                "ProcNum",
                json!({"ProcNum": 0, "PatNum": 0, "AptNum": 0, "ProcDate": NEVER, "ProcFee": "0.00", "Surf": "", "ToothNum": "",
                    "ToothRange": "", "Priority": 0, "ProcStatus": "TP", "ProvNum": 0, "Dx": 0, "PlannedAptNum": 0,
                    "PlaceService": "Office", "Prosthesis": "", "DateOriginalProsth": NEVER, "ClaimNote": "",
                    "DateEntryC": NEVER, "ClinicNum": 0, "CodeNum": 0, "UnitQty": 1, "BaseUnits": 0, "DateTP": NEVER,
                    "SiteNum": 0, "HideGraphics": "false", "CanadianTypeCodes": "", "ProcTime": "00:00:00",
                    "ProcTimeEnd": "00:00:00", "DateTStamp": NO_TIME, "Prognosis": 0, "IsLocked": "false", "BillingNote": "",
                    "Discount": 0.0, "IsDateProsthEst": "false", "SecDateEntry": NO_TIME}),
            )
        },
        Table {
            filters: &["PatNum", "TPStatus"],
            stamp: Some("SecDateTEdit"),
            since: Since::After,
            ..table(
                "treatplans",
                "TreatPlanNum",
                json!({"TreatPlanNum": 0, "PatNum": 0, "DateTP": NEVER, "Heading": "", "Note": "", "SigIsTopaz": "false",
                    "ResponsParty": 0, "DocNum": 0, "TPStatus": "Active", "SecUserNumEntry": 0, "SecDateEntry": NEVER,
                    "SecDateTEdit": NO_TIME, "UserNumPresenter": 0, "TPType": "Insurance", "DateTSigned": NO_TIME,
                    "DateTPracticeSigned": NO_TIME, "SignatureText": "", "SignaturePracticeText": "", "isSigned": "false",
                    "isSignedPractice": "false"}),
            )
        },
        Table {
            filters: &["TreatPlanNum"],
            ..table(
                "treatplanattaches",
                "TreatPlanAttachNum",
                json!({"TreatPlanAttachNum": 0, "TreatPlanNum": 0, "ProcNum": 0}),
            )
        },
        Table {
            filters: &["TreatPlanNum"],
            ..table(
                "proctps",
                "ProcTPNum",
                json!({"ProcTPNum": 0, "TreatPlanNum": 0, "PatNum": 0, "ProcNumOrig": 0, "ItemOrder": 0, "Priority": 0,
                    "priority": "", "ToothNumTP": "", "Surf": "", "ProcCode": "", "Descript": "", "FeeAmt": 0.0,
                    "PriInsAmt": 0.0, "SecInsAmt": 0.0, "PatAmt": 0.0, "Discount": 0.0, "Prognosis": "", "Dx": "",
                    "ProcAbbr": "", "SecUserNumEntry": 0, "SecDateEntry": NEVER, "SecDateTEdit": NO_TIME, "FeeAllowed": 0.0,
                    "TaxAmt": 0.0, "ProvNum": 0, "DateTP": NEVER, "ClinicNum": 0, "CatPercUCR": 0.0}),
            )
        },
        table(
            "feescheds",
            "FeeSchedNum",
            json!({"FeeSchedNum": 0, "Description": "", "FeeSchedType": "Normal", "IsHidden": "false"}),
        ),
        Table {
            filters: &["FeeSched", "CodeNum", "ClinicNum", "ProvNum"],
            single: true,
            ..table(
                "fees",
                "FeeNum",
                json!({"FeeNum": 0, "Amount": 0.0, "FeeSched": 0, "CodeNum": 0, "ClinicNum": 0, "ProvNum": 0}),
            )
        },
        Table {
            filters: &["PatNum", "PayType"],
            server_time: true,
            names: &[("payType", "PayType", "definitions", "ItemName")],
            post: post(
                &["PayAmt", "PatNum"],
                &[
                    "PayType", "PayDate", "CheckNum", "PayNote", "BankBranch", "ClinicNum", "isPatientPreferred",
                    "isPrepayment", "procNums", "payPlanNum",
                ],
                Answers::Row,
            ),
            ..table(
                "payments",
                "PayNum",
                json!({"PayNum": 0, "PayType": 0, "PayDate": NEVER, "PayAmt": "0", "CheckNum": "", "BankBranch": "", "PayNote": "",
                    "PatNum": 0, "ClinicNum": "0", "DateEntry": NEVER, "DepositNum": 0, "Receipt": "", "IsRecurringCC": "false",
                    "PaymentSource": "API", "ProcessStatus": "OfficeProcessed", "RecurringChargeDate": NEVER,
                    "IsCcCompleted": "false"}),
            )
        },
        Table {
            filters: &["PatNum", "PayNum", "ProcNum"],
            ..table(
                "paysplits",
                "SplitNum",
                json!({"SplitNum": 0, "SplitAmt": 0.0, "PatNum": 0, "PayNum": 0, "ProvNum": 0, "PayPlanNum": 0,
                    "DatePay": NEVER, "ProcNum": 0, "UnearnedType": 0}),
            )
        },
        Table {
            filters: &["PatNum", "AdjType", "ProcNum"],
            by_patient: true,
            stamp: Some("SecDateTEdit"),
            names: &[("adjType", "AdjType", "definitions", "ItemName")],
            post: post(
                &["PatNum", "AdjType", "AdjAmt", "AdjDate"],
                &["ProvNum", "ProcNum", "ClinicNum", "ProcDate", "AdjNote"],
                Answers::Row,
            ),
            ..table(
                "adjustments",
                "AdjNum",
                json!({"AdjNum": 0, "AdjDate": NEVER, "AdjAmt": 0.0, "PatNum": 0, "AdjType": 0, "ProvNum": 0, "AdjNote": "",
                    "ProcDate": NEVER, "ProcNum": 0, "DateEntry": NEVER, "ClinicNum": 0, "SecUserNumEntry": 0,
                    "SecDateTEdit": NO_TIME}),
            )
        },
    ]
}
