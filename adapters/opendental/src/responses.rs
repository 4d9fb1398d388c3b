//! The API's rows. Fields that an older version does not return are empty.

use adapter_sdk::money::Cents;
use serde::{Deserialize, Serialize};

use crate::values::{Flag, Num, Text};

/// A row, identified by the field of its key.
pub trait Row: serde::de::DeserializeOwned {
    const KEY: &'static str;
}

macro_rules! rows {
    ($($(#[$doc:meta])* $row:ident $key:literal { $($(#[$rename:meta])* $field:ident: $kind:ty,)* })*) => {
        $($(#[$doc])*
        #[derive(Clone, Debug, Default, Deserialize, Serialize)]
        #[serde(rename_all = "PascalCase", default)]
        pub struct $row {
            $($(#[$rename])* pub $field: $kind,)*
        }

        impl Row for $row {
            const KEY: &'static str = $key;
        })*
    };
}

rows! {
    Provider "ProvNum" {
        prov_num: Num, abbr: Text, l_name: Text, f_name: Text,
        #[serde(rename = "MI")] mi: Text,
        suffix: Text,
        #[serde(rename = "SSN")] ssn: Text,
        state_license: Text, is_hidden: Flag,
        #[serde(rename = "UsingTIN")] using_tin: Flag,
        #[serde(rename = "NationalProvID")] national_prov_id: Text,
        prov_status: Text, preferred_name: Text, is_secondary: Flag,
    }
    Operatory "OperatoryNum" {
        operatory_num: Num, op_name: Text, abbrev: Text, is_hidden: Flag, prov_dentist: Num, prov_hygienist: Num,
        is_hygiene: Flag, clinic_num: Num, is_web_sched: Flag,
    }
    AppointmentType "AppointmentTypeNum" {
        appointment_type_num: Num, appointment_type_name: Text, is_hidden: Flag, pattern: Text,
    }
    Patient "PatNum" {
        pat_num: Num, l_name: Text, f_name: Text, middle_i: Text, preferred: Text, pat_status: Text, gender: Text,
        birthdate: Text, address: Text, address2: Text, city: Text, state: Text, zip: Text, hm_phone: Text, wk_phone: Text,
        wireless_phone: Text, guarantor: Num, email: Text, pri_prov: Num, billing_type: Text, chart_number: Text,
        bal_total: Cents, language: Text, txt_msg_ok: Text,
    }
    Appointment "AptNum" {
        apt_num: Num, pat_num: Num, apt_status: Text, pattern: Text,
        #[serde(rename = "confirmed")] confirmed_name: Text,
        op: Num, note: Text, prov_num: Num, prov_hyg: Num, apt_date_time: Text, is_hygiene: Flag, clinic_num: Num,
        date_time_arrived: Text, date_time_dismissed: Text, appointment_type_num: Num, pattern_secondary: Text,
    }
    /// `operatories` contains a comma-separated list of operatory numbers.
    Schedule "ScheduleNum" {
        schedule_num: Num, sched_date: Text, start_time: Text, stop_time: Text, sched_type: Text, prov_num: Num,
        #[serde(rename = "blockoutType")] blockout_name: Text,
        note: Text,
        #[serde(rename = "operatories")] operatories: Text,
    }
    Definition "DefNum" {
        def_num: Num, item_name: Text, item_value: Text,
        #[serde(rename = "isHidden")] is_hidden: Flag,
    }
    Carrier "CarrierNum" {
        carrier_num: Num, carrier_name: Text, address: Text, address2: Text, city: Text, state: Text, zip: Text,
        #[serde(rename = "ElectID")] elect_id: Text,
    }
    InsPlan "PlanNum" {
        plan_num: Num, group_name: Text, group_num: Text, plan_note: Text, fee_sched: Num, carrier_num: Num,
        month_renew: Num, is_hidden: Flag, is_medical: Flag,
    }
    InsSub "InsSubNum" {
        ins_sub_num: Num, plan_num: Num, subscriber: Num, date_effective: Text, date_term: Text,
        #[serde(rename = "SubscriberID")] subscriber_id: Text,
    }
    PatPlan "PatPlanNum" {
        pat_plan_num: Num, pat_num: Num, ordinal: Num, is_pending: Flag, relationship: Text, ins_sub_num: Num,
    }
    AllergyDef "AllergyDefNum" {
        allergy_def_num: Num, description: Text, is_hidden: Flag,
    }
    DiseaseDef "DiseaseDefNum" {
        disease_def_num: Num, disease_name: Text, is_hidden: Flag,
    }
    Medication "MedicationNum" {
        medication_num: Num, med_name: Text,
    }
    Allergy "AllergyNum" {
        allergy_num: Num, allergy_def_num: Num, pat_num: Num, reaction: Text, status_is_active: Flag,
    }
    Disease "DiseaseNum" {
        disease_num: Num, pat_num: Num, disease_def_num: Num, pat_note: Text, prob_status: Text,
    }
    MedicationPat "MedicationPatNum" {
        medication_pat_num: Num, pat_num: Num, medication_num: Num, pat_note: Text, date_stop: Text,
    }
    Commlog "CommlogNum" {
        commlog_num: Num, pat_num: Num, comm_date_time: Text,
        #[serde(rename = "commType")] type_name: Text,
        note: Text,
        #[serde(rename = "Mode_")] mode: Text,
        sent_or_received: Text,
    }
    ProcedureCode "CodeNum" {
        code_num: Num, proc_code: Text, descript: Text, proc_cat: Num,
    }
    Procedure "ProcNum" {
        proc_num: Num, pat_num: Num, apt_num: Num, proc_date: Text, proc_fee: Cents, surf: Text, tooth_num: Text,
        tooth_range: Text, proc_status: Text, prov_num: Num, unit_qty: Num, base_units: Num,
        #[serde(rename = "procCode")] code: Text,
        #[serde(rename = "descript")] name: Text,
    }
    TreatPlan "TreatPlanNum" {
        treat_plan_num: Num, pat_num: Num, heading: Text,
        #[serde(rename = "TPStatus")] status: Text,
        #[serde(rename = "isSigned")] is_signed: Flag,
    }
    TreatPlanAttach "ProcNum" {
        proc_num: Num,
    }
    ProcTp "ProcNumOrig" {
        proc_num_orig: Num,
    }
    FeeSched "FeeSchedNum" {
        fee_sched_num: Num, description: Text, is_hidden: Flag, fee_sched_type: Text,
    }
    Fee "FeeNum" {
        fee_num: Num, amount: Cents, fee_sched: Num, code_num: Num, clinic_num: Num, prov_num: Num,
    }
    RecallType "RecallTypeNum" {
        recall_type_num: Num, description: Text, default_interval: Text,
    }
    Recall "RecallNum" {
        recall_num: Num, pat_num: Num, date_due: Text, is_disabled: Flag, recall_type_num: Num, recall_interval: Text,
    }
    Payment "PayNum" {
        pay_num: Num, pay_type: Num, pay_date: Text, pay_amt: Cents, check_num: Text, pay_note: Text, pat_num: Num,
    }
    PaySplit "SplitNum" {
        split_amt: Cents, prov_num: Num, proc_num: Num, pay_plan_num: Num,
    }
    Adjustment "AdjNum" {
        adj_num: Num, adj_date: Text, adj_amt: Cents, pat_num: Num, adj_type: Num, prov_num: Num, adj_note: Text,
        proc_num: Num,
    }
    /// The totals of a family.
    Aging "Total" {
        #[serde(rename = "Bal_0_30")] under30: Cents,
        #[serde(rename = "Bal_31_60")] from31: Cents,
        #[serde(rename = "Bal_61_90")] from61: Cents,
        #[serde(rename = "BalOver90")] over90: Cents,
        total: Cents, ins_est: Cents, est_bal: Cents,
    }
}
