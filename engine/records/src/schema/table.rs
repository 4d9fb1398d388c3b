//! The description of every record: its fields, references, index terms and writes. Macros generate code from the
//! table: the bodies and the EHR's form of them ([`super::define`]), and the conversions at the contract
//! (`adapter_host::record`).
//!
//! ```text
//! Body / form in the EHR: Resource = tag in keys, id type of scope, "record of the contract", "name in messages" {
//!     fields { name: Type [limit on the EHR's value; without one, a short text], }
//!     references { our_field: id type => field of the contract: Resource, }    our id here, a foreign id there;
//!                                                                              `or none`: left out of a write
//!                                                                              until the EHR has the record
//!     parts { name: a part or a list of parts, }
//!     own { name: Type, }                                   local, not part of the EHR's record
//!     extra { ours }                                        `extra` values of the EHR are not stored; local ones
//!                                                           are sent to the EHR
//!     found_with { function } deleted_with { function }     for rules that the table cannot express
//!     deleted_as { the flag set by a deletion in the EHR }  instead of the frame's `deleted_at`, because other
//!                                                           records still refer to it
//!     found_by { field: index field } found_by_parts { list field: index field }
//!     in_use { the flag field }
//!     writes { Operation: "write kind of the contract" }
//! }
//! ```
//!
//! The schedule depends on `handwritten_bodies`: their bodies and conversions are written by hand (`appointment`,
//! `working_hour`). Every record also has an `id` and `extra`. A new field must be added to the contract (`wit`) too: a
//! test compares the two.

/// Calls a macro with the table.
#[macro_export]
macro_rules! with_every_record {
    ($call:ident) => { $call! {
    parts {
        /// The part of a payment or adjustment for one charge.
        ChargeSplit / EhrChargeSplit: Split {
            fields {
                /// Amount of the part.
                amount: Money,
            }
            references {
                /// The charge.
                charge_id: u64 => id: Charges,
            }
        }

        /// The part of a payment or adjustment for one provider.
        ProviderSplit / EhrProviderSplit: Split {
            fields {
                /// Amount of the part.
                amount: Money,
            }
            references {
                /// The provider.
                provider_id: u32 => id: Providers,
            }
        }

        /// Amounts of a claim, for one charge or in total.
        #[derive(Default)]
        ClaimAmounts / EhrClaimAmounts: ClaimAmounts {
            fields {
                /// Billed to the payer.
                billed: Option<Money>,
                /// Expected from the payer.
                estimated: Option<Money>,
                /// Paid by the payer.
                paid: Option<Money>,
                /// Written off.
                write_off: Option<Money>,
                /// Allowed by the payer.
                allowed: Option<Money>,
            }
            references {
                /// The charge; `None` in a total.
                charge_id: Option<u64> => charge: Charges,
            }
        }
    }
    records {
        /// A provider of care.
        #[derive(Default)]
        Provider / EhrProvider: Providers = 1, u32 of Institution, "provider", "Provider" {
            fields {
                /// First name.
                first_name: String,
                /// Middle name.
                middle_name: Option<String>,
                /// Last name.
                last_name: String,
                /// Display name, if the EHR has one.
                display_name: Option<String>,
                /// E-mail address.
                email: Option<String>,
                /// National provider identifier.
                npi: Option<String>,
                /// Taxpayer identification number.
                tin: Option<String>,
                /// State licence number.
                state_license: Option<String>,
                /// Specialty code.
                specialty_code: Option<String>,
                /// No longer active.
                inactive: bool,
            }
            extra { ours }
            deleted_as { inactive }
        }

        /// A chair, column or room, for one appointment at a time.
        #[derive(Default)]
        Operatory / EhrOperatory: Operatories = 2, u64 of Location, "operatory", "Operatory" {
            fields {
                /// Name.
                name: String,
                /// Display name.
                display_name: Option<String>,
                /// In use.
                active: bool,
                /// May be booked online.
                bookable_online: bool,
            }
            references {
                /// Appointment types it is meant for; empty means all.
                #[serde(default)]
                appointment_type_ids: Vec<u32> => appointment_types: AppointmentTypes,
            }
            extra { ours }
            deleted_with { operatory::mark_deleted }
        }

        /// A type of appointment, for one location or, without location, for the whole institution.
        #[derive(Default)]
        AppointmentType / EhrAppointmentType: AppointmentTypes = 3, u32 of Institution, "appointment-type", "Appointment Type" {
            fields {
                /// Name.
                name: String,
                /// Length in minutes, 1 to 1440.
                minutes: u32 [Between(1, 1_440, "must be 1 to 1440")],
                /// May be booked online.
                bookable_online: bool,
            }
            own {
                /// Descriptors of the EHR that appointments of this type carry.
                descriptor_ids: Vec<u32>,
            }
            extra { ours }
        }

        /// A patient. The frame names no location: a patient is at all of `location_ids`.
        #[derive(Default)]
        Patient / EhrPatient: Patients = 4, u32 of Institution, "patient", "Patient" {
            fields {
                /// First name.
                first_name: String,
                /// Middle name.
                middle_name: Option<String>,
                /// Last name.
                last_name: String,
                /// Date of birth, `YYYY-MM-DD`.
                date_of_birth: Option<String> [Date],
                /// `Male`, `Female` or `Other`.
                gender: Option<String>,
                /// E-mail address.
                email: Option<String>,
                /// Cell phone number.
                cell_phone: Option<String>,
                /// Home phone number.
                home_phone: Option<String>,
                /// Work phone number.
                work_phone: Option<String>,
                /// Extension of the work phone.
                work_phone_extension: Option<String>,
                /// The number of an EHR that keeps one number without a type.
                primary_phone: Option<String>,
                /// Postal address.
                address: Option<Address>,
                /// Social security number, until the EHR has it: written, never read back.
                ssn: Option<String> [NeverRead],
                /// Billing or account type.
                billing_type: Option<String>,
                /// Number staff use for the patient.
                chart_id: Option<String>,
                /// ISO 639-1 code.
                preferred_language: Option<String>,
                /// Premedication notes.
                premedication: Option<String> [Long],
                /// No longer active in the EHR.
                inactive: bool,
                /// Not yet seen: some systems convert a new patient at the first visit.
                new_patient: bool,
                /// A person on file, but not a patient.
                non_patient: bool,
                /// Unsubscribed from text messages in the EHR.
                unsubscribed_sms: bool,
                /// Unsubscribed from e-mail in the EHR.
                unsubscribed_email: bool,
            }
            references {
                /// The responsible party, a patient of the same EHR.
                guarantor_id: Option<u32> => guarantor: Patients or none,
                /// The primary provider.
                provider_id: Option<u32> => provider: Providers or none,
            }
            own {
                /// Locations the patient was created or seen at.
                location_ids: Vec<u32>,
            }
            extra { ours }
            found_with { patient::terms }
            deleted_as { inactive }
            writes { Update: "update-patient" }
        }

        /// A descriptor that an EHR attaches to appointments or types (procedure code, reason, colour).
        AppointmentDescriptor / EhrAppointmentDescriptor: AppointmentDescriptors = 20, u32 of Source, "appointment-descriptor", "Appointment Descriptor" {
            fields {
                /// Kind of descriptor.
                kind: String,
                /// Name.
                name: String,
                /// Code.
                code: Option<String>,
                /// In use.
                active: bool,
            }
            in_use { active }
        }

        /// A list of fees.
        FeeSchedule / EhrFeeSchedule: FeeSchedules = 21, u64 of Source, "fee-schedule", "Fee Schedule" {
            fields {
                /// Name.
                name: String,
                /// In use.
                active: Option<bool>,
            }
            in_use { active }
        }

        /// An insurance plan.
        InsurancePlan / EhrInsurancePlan: InsurancePlans = 22, u64 of Source, "insurance-plan", "Insurance Plan" {
            fields {
                /// Payer id for electronic claims.
                payer_id: Option<String>,
                /// Name of the plan.
                name: String,
                /// Postal address of the payer.
                address: Option<Address>,
                /// Group number.
                group_number: Option<String>,
                /// Employer that offers the plan.
                employer_name: Option<String>,
                /// Maximum payment per year for one person.
                annual_max_individual: Option<Money>,
                /// Month 1 to 12 in which the benefit year resets.
                benefit_year_renewal_month: Option<u8> [Between(1, 12, "must be 1 to 12")],
            }
            references {
                /// Fee schedule the plan pays by.
                fee_schedule_id: Option<u64> => fee_schedule: FeeSchedules,
            }
            found_by { payer_id: Payer, group_number: Group }
            writes { Create: "create-insurance-plan" }
        }

        /// A patient's coverage by a plan.
        Coverage / EhrCoverage: Coverages = 23, u64 of Source, "coverage", "Insurance Coverage" {
            fields {
                /// self, spouse, child, employee, handicap_dep, signif_other, injured_plaintiff, life_partner,
                /// dependent or other.
                relation: Relation,
                /// 1 is primary, 2 secondary.
                priority: Option<u32> [Between(1, 1_000, "must be 1 to 1000")],
                /// Name of the subscriber.
                subscriber_name: Option<String>,
                /// Date of birth of the subscriber.
                subscriber_date_of_birth: Option<Day>,
                /// Number of the subscriber at the payer.
                subscriber_number: Option<String>,
                /// First day of coverage.
                effective_date: Option<Day>,
                /// Last day of coverage.
                expiration_date: Option<Day>,
                /// dental, medical or vision.
                insurance_type: Option<InsuranceType>,
                /// In force.
                active: bool,
            }
            references {
                /// The patient.
                patient_id: u32 => patient: Patients,
                /// The insurance plan.
                plan_id: u64 => plan: InsurancePlans,
                /// The subscriber, if a patient of the same EHR.
                subscriber_id: Option<u32> => subscriber: Patients,
            }
            found_by { patient_id: Patient, plan_id: Plan, subscriber_id: Subscriber }
            in_use { active }
            writes { Create: "create-coverage", Delete: "delete-coverage" }
        }

        /// An entry of a medical history catalogue.
        HistoryItem / EhrHistoryItem: HistoryItems = 24, u32 of Source, "history-item", "Medical History Item" {
            fields {
                /// Catalogue it belongs to.
                category: HistoryCategory,
                /// Name.
                name: String,
            }
            found_by { category: Category }
        }

        /// An entry of a patient's medical history.
        PatientHistoryItem / EhrPatientHistoryItem: PatientHistoryItems = 25, u64 of Source, "patient-history-item", "Patient Medical History Item" {
            fields {
                /// Catalogue of the item.
                category: HistoryCategory,
                /// Free text.
                note: Option<String> [Long],
                /// Still applies.
                active: bool,
            }
            references {
                /// The patient.
                patient_id: u32 => patient: Patients,
                /// Entry of the catalogue.
                item_id: u64 => item: HistoryItems,
            }
            found_by { patient_id: Patient }
            in_use { active }
            writes { Create: "save-patient-history-item", Update: "save-patient-history-item" }
        }

        /// An alert shown to staff with a patient.
        PatientAlert / EhrPatientAlert: PatientAlerts = 26, u32 of Source, "patient-alert", "Patient Alert" {
            fields {
                /// Text of the alert.
                note: String [Long],
                /// Time of disabling.
                disabled_at: Option<Seconds>,
            }
            references {
                /// The patient.
                patient_id: u32 => patient: Patients,
            }
            found_by { patient_id: Patient }
            writes { Create: "create-patient-alert", Update: "disable-patient-alert" }
        }

        /// An entry of a patient's communication log.
        CommunicationLog / EhrCommunicationLog: CommunicationLogs = 27, u64 of Source, "communication-log", "Communication Log" {
            fields {
                /// Text of the communication.
                note: String [Long],
                /// none, email, mail, phone, in_person or text.
                mode: Mode,
                /// sent or received.
                direction: Direction,
                /// Time of the communication.
                occurred_at: Seconds,
            }
            references {
                /// The patient.
                patient_id: u32 => patient: Patients,
            }
            found_by { patient_id: Patient }
            writes { Create: "create-communication-log" }
        }

        /// A conversation the EHR keeps.
        Conversation / EhrConversation: Conversations = 28, u64 of Source, "conversation", "Conversation" {
            fields {
                /// Subject.
                subject: Option<String>,
                /// The messages: an array of `{from, text, at}`, stored under the name of its former text form.
                #[serde(rename = "messages_json")]
                messages: Json,
            }
            references {
                /// The patient.
                patient_id: Option<u32> => patient: Patients,
            }
            found_by { patient_id: Patient }
        }

        /// A patient intake form.
        FormSchema / EhrFormSchema: FormSchemas = 29, u64 of Source, "form-schema", "Form Schema" {
            fields {
                /// Display title.
                title: String,
                /// Short name for addresses.
                slug: Option<String>,
                /// Version of the form.
                version: Option<String>,
                /// The form's components as JSON.
                /// `{components: [...]}`, or the components alone.
                schema_json: Json,
            }
        }

        /// A patient's answers to a form.
        FormResponse / EhrFormResponse: FormResponses = 30, u32 of Source, "form-response", "Form Response" {
            fields {
                /// The answers as a JSON object.
                /// An object: `patient_submitted_data` of the API.
                answers_json: Json,
                /// Time of submission.
                submitted_at: Seconds,
            }
            references {
                /// The patient.
                patient_id: u32 => patient: Patients,
                /// The form that was answered.
                form_schema_id: u64 => form_schema: FormSchemas,
            }
            found_by { patient_id: Patient }
            writes { Create: "create-form-response" }
        }

        /// A group of procedure codes.
        ProcedureCodeCategory / EhrProcedureCodeCategory: ProcedureCodeCategories = 31, u64 of Source, "procedure-code-category", "Procedure Code Category" {
            fields {
                /// Name.
                name: String,
            }
        }

        /// An entry of the billable procedure code catalogue.
        ProcedureCode / EhrProcedureCode: ProcedureCodes = 32, u64 of Source, "procedure-code", "Procedure Code" {
            fields {
                /// Code.
                code: String,
                /// Description.
                description: String [Long],
                /// May still be used.
                active: bool,
            }
            references {
                /// Group it belongs to.
                category_id: Option<u64> => category: ProcedureCodeCategories,
            }
            found_by { category_id: Category }
            in_use { active }
        }

        /// The fee of one procedure code in a fee schedule.
        Fee / EhrFee: Fees = 33, u64 of Source, "fee", "Fee" {
            fields {
                /// The procedure code itself.
                code: Option<String>,
                /// The fee.
                amount: Money,
            }
            references {
                /// The fee schedule.
                fee_schedule_id: u64 => fee_schedule: FeeSchedules,
                /// The procedure code, by its identifier.
                procedure_code_id: Option<u64> => procedure_code: ProcedureCodes,
            }
            found_by { fee_schedule_id: FeeSchedule }
        }

        /// A planned or performed procedure.
        Procedure / EhrProcedure: Procedures = 34, u64 of Source, "procedure", "Procedure" {
            fields {
                /// Procedure code.
                code: Option<String>,
                /// Display name.
                name: Option<String>,
                /// planned, scheduled, completed, inactive or referred.
                status: Option<ProcedureStatus>,
                /// Teeth it concerns.
                #[serde(default)]
                teeth: Vec<String>,
                /// Surfaces it concerns.
                surface: Option<String>,
                /// Fee.
                fee: Option<Money>,
                /// First day.
                start_date: Option<Day>,
                /// Last day.
                end_date: Option<Day>,
            }
            references {
                /// The patient.
                patient_id: Option<u32> => patient: Patients,
                /// The provider.
                provider_id: Option<u32> => provider: Providers,
                /// Appointment it is planned for or was performed in.
                appointment_id: Option<u64> => appointment: Appointments,
                /// Treatment plans it is part of.
                #[serde(default)]
                treatment_plan_ids: Vec<u64> => treatment_plans: TreatmentPlans,
            }
            found_by { patient_id: Patient, provider_id: Provider, appointment_id: Appointment }
        }

        /// A treatment plan.
        TreatmentPlan / EhrTreatmentPlan: TreatmentPlans = 35, u64 of Source, "treatment-plan", "Treatment Plan" {
            fields {
                /// Name.
                name: Option<String>,
                /// not_applicable, proposed, accepted, rejected or completed.
                status: Option<PlanStatus>,
            }
            references {
                /// The patient.
                patient_id: Option<u32> => patient: Patients,
                /// Procedures it consists of.
                #[serde(default)]
                procedure_ids: Vec<u64> => procedures: Procedures,
            }
            found_by { patient_id: Patient }
        }

        /// A clinical note.
        ClinicalNote / EhrClinicalNote: ClinicalNotes = 36, u64 of Source, "clinical-note", "Clinical Note" {
            fields {
                /// Time of entry.
                entered_at: Option<Seconds>,
                /// Text of the note.
                content: String [Long],
                /// Signed by the provider.
                signed: Option<bool>,
                /// Completed.
                completed: Option<bool>,
            }
            references {
                /// The patient.
                patient_id: Option<u32> => patient: Patients,
                /// The procedure it is about.
                procedure_id: Option<u64> => procedure: Procedures,
            }
            found_by { patient_id: Patient, procedure_id: Procedure }
        }

        /// A kind of recall.
        RecallType / EhrRecallType: RecallTypes = 37, u32 of Source, "recall-type", "Recall Type" {
            fields {
                /// Name.
                name: String,
                /// Description.
                description: Option<String> [Long],
                /// Units between two visits, at least 1.
                interval_number: u32 [Between(1, 1_000, "must be 1 to 1000")],
                /// day, week, month or year.
                interval_unit: IntervalUnit,
            }
        }

        /// A patient due for recall.
        PatientRecall / EhrPatientRecall: PatientRecalls = 38, u32 of Source, "patient-recall", "Patient Recall" {
            fields {
                /// Due date.
                date_due: Option<Day>,
            }
            references {
                /// The patient.
                patient_id: Option<u32> => patient: Patients,
                /// The appointment made for it.
                appointment_id: Option<u64> => appointment: Appointments,
                /// The kind of recall.
                recall_type_id: Option<u64> => recall_type: RecallTypes,
            }
            found_by { patient_id: Patient, recall_type_id: Type }
        }

        /// A kind of document.
        DocumentType / EhrDocumentType: DocumentTypes = 39, u32 of Source, "document-type", "Document Type" {
            fields {
                /// Name.
                name: String,
                /// In use.
                active: bool,
            }
            in_use { active }
        }

        /// Metadata of a document kept in the EHR.
        Document / EhrDocument: Documents = 40, u32 of Source, "document", "Document" {
            fields {
                /// File name.
                filename: String,
                /// Media type, for example `application/pdf`.
                media_type: String,
                /// Time of creation.
                created_at: Option<Seconds>,
            }
            references {
                /// The patient.
                patient_id: u32 => patient: Patients,
                /// The kind of document.
                document_type_id: Option<u64> => document_type: DocumentTypes,
            }
            own {
                /// The uploaded file; `None` if the EHR keeps the document.
                upload: Option<Upload>,
            }
            found_by { patient_id: Patient }
        }

        /// A kind of payment.
        PaymentType / EhrPaymentType: PaymentTypes = 41, u64 of Source, "payment-type", "Payment Type" {
            fields {
                /// Name.
                name: String,
                /// In use.
                active: bool,
            }
            in_use { active }
        }

        /// A kind of adjustment.
        AdjustmentType / EhrAdjustmentType: AdjustmentTypes = 42, u64 of Source, "adjustment-type", "Adjustment Type" {
            fields {
                /// Name.
                name: String,
                /// In use.
                active: bool,
                /// credit, debit or unknown.
                action: AdjustmentAction,
            }
            in_use { active }
        }

        /// A charge on the ledger.
        Charge / EhrCharge: Charges = 43, u64 of Source, "charge", "Charge" {
            fields {
                /// Procedure code.
                procedure_code: Option<String>,
                /// Description.
                description: Option<String> [Long],
                /// Amount charged.
                fee: Option<Money>,
                /// Date of the charge.
                charged_at: Option<Day>,
            }
            references {
                /// The patient.
                patient_id: Option<u32> => patient: Patients,
                /// The responsible party, a patient of the same EHR.
                guarantor_id: Option<u32> => guarantor: Patients,
                /// The provider.
                provider_id: Option<u32> => provider: Providers,
                /// The procedure charged for.
                procedure_id: Option<u64> => procedure: Procedures,
            }
            found_by { patient_id: Patient, guarantor_id: Guarantor, provider_id: Provider, procedure_id: Procedure }
        }

        /// An insurance claim.
        Claim / EhrClaim: Claims = 44, u64 of Source, "claim", "Claim" {
            fields {
                /// draft, sent, received or canceled.
                status: Option<ClaimStatus>,
                /// Time of sending.
                sent_at: Option<Seconds>,
                /// Time at which the answer was received.
                received_at: Option<Seconds>,
                /// Free text.
                note: Option<String> [Long],
                /// Date of service.
                date_of_service: Option<Day>,
            }
            references {
                /// The patient.
                patient_id: Option<u32> => patient: Patients,
                /// The provider.
                provider_id: Option<u32> => provider: Providers,
                /// The responsible party, a patient of the same EHR.
                guarantor_id: Option<u32> => guarantor: Patients,
                /// The patient's primary plan.
                primary_plan_id: Option<u64> => primary_plan: InsurancePlans,
                /// The patient's secondary plan.
                secondary_plan_id: Option<u64> => secondary_plan: InsurancePlans,
            }
            parts {
                /// Sums over the claim.
                totals: ClaimAmounts,
                /// Amounts by charge.
                payouts: Vec<ClaimAmounts>,
            }
            found_by { patient_id: Patient, provider_id: Provider, guarantor_id: Guarantor, date_of_service: ServiceDate }
            found_by_parts { payouts charge_id: Charge }
        }

        /// A plan of payments.
        PaymentPlan / EhrPaymentPlan: PaymentPlans = 45, u64 of Source, "payment-plan", "Payment Plan" {
            fields {
                /// Due date of the first payment.
                first_payment_due: Option<Day>,
                /// Date of creation.
                created: Option<Day>,
                /// In force.
                active: bool,
            }
            references {
                /// The patient.
                patient_id: Option<u32> => patient: Patients,
                /// The responsible party, a patient of the same EHR.
                guarantor_id: Option<u32> => guarantor: Patients,
            }
            found_by { patient_id: Patient, guarantor_id: Guarantor }
            in_use { active }
        }

        /// A payment on the ledger.
        Payment / EhrPayment: Payments = 46, u64 of Source, "payment", "Payment" {
            fields {
                /// Amount paid.
                amount: Money,
                /// Date of the payment.
                paid_at: Option<Day>,
                /// Identifier of the transaction at its processor.
                transaction_id: Option<String>,
                /// Description.
                /// `notes` of a payment created through the API.
                description: Option<String> [Long],
            }
            references {
                /// The patient.
                patient_id: Option<u32> => patient: Patients,
                /// The responsible party, a patient of the same EHR.
                guarantor_id: Option<u32> => guarantor: Patients,
                /// The provider.
                provider_id: Option<u32> => provider: Providers,
                /// The charge it settles.
                charge_id: Option<u64> => charge: Charges,
                /// The claim it belongs to.
                claim_id: Option<u64> => claim: Claims,
                /// The payment plan it belongs to.
                payment_plan_id: Option<u64> => payment_plan: PaymentPlans,
                /// The plan that paid.
                insurance_plan_id: Option<u64> => insurance_plan: InsurancePlans,
                /// The kind of payment.
                payment_type_id: Option<u64> => payment_type: PaymentTypes,
            }
            parts {
                /// Parts by charge.
                charge_splits: Vec<ChargeSplit>,
                /// Parts by provider.
                provider_splits: Vec<ProviderSplit>,
            }
            found_by { patient_id: Patient, guarantor_id: Guarantor, provider_id: Provider, charge_id: Charge, claim_id: Claim, transaction_id: Transaction }
            found_by_parts { provider_splits provider_id: Provider, charge_splits charge_id: Charge }
            writes { Create: "create-payment" }
        }

        /// An adjustment on the ledger.
        Adjustment / EhrAdjustment: Adjustments = 47, u64 of Source, "adjustment", "Adjustment" {
            fields {
                /// Amount of the adjustment.
                amount: Money,
                /// Date of the adjustment.
                adjusted_at: Option<Day>,
                /// Identifier of the transaction at its processor.
                transaction_id: Option<String>,
                /// Description.
                /// `notes` of an adjustment created through the API.
                description: Option<String> [Long],
            }
            references {
                /// The patient.
                patient_id: Option<u32> => patient: Patients,
                /// The responsible party, a patient of the same EHR.
                guarantor_id: Option<u32> => guarantor: Patients,
                /// The provider.
                provider_id: Option<u32> => provider: Providers,
                /// The charge it changes.
                charge_id: Option<u64> => charge: Charges,
                /// The claim it belongs to.
                claim_id: Option<u64> => claim: Claims,
                /// The kind of adjustment.
                adjustment_type_id: Option<u64> => adjustment_type: AdjustmentTypes,
            }
            parts {
                /// Parts by charge.
                charge_splits: Vec<ChargeSplit>,
                /// Parts by provider.
                provider_splits: Vec<ProviderSplit>,
            }
            found_by { patient_id: Patient, guarantor_id: Guarantor, provider_id: Provider, charge_id: Charge, claim_id: Claim }
            found_by_parts { provider_splits provider_id: Provider, charge_splits charge_id: Charge }
            writes { Create: "create-adjustment" }
        }

        /// A balance by age in days: of a guarantor, or an insurance's estimate for a patient.
        GuarantorBalance / EhrGuarantorBalance: GuarantorBalances = 48, u64 of Source, "balance", "Guarantor Balance" {
            fields {
                /// Sum of all ages.
                total: Option<Money>,
                /// Expected to be written off.
                write_off_estimate: Option<Money>,
                /// Expected from insurance.
                insurance_estimate: Option<Money>,
                /// Remainder for the guarantor.
                guarantor_portion: Option<Money>,
                /// Up to 30 days old.
                under30: Option<Money>,
                /// 31 to 60 days old.
                from31_to60: Option<Money>,
                /// 61 to 90 days old.
                from61_to90: Option<Money>,
                /// Older than 90 days.
                over90: Option<Money>,
                /// Billed, up to 30 days old.
                billed_under30: Option<Money>,
                /// Billed, 31 to 60 days old.
                billed31_to60: Option<Money>,
                /// Billed, 61 to 90 days old.
                billed61_to90: Option<Money>,
                /// Billed, older than 90 days.
                billed_over90: Option<Money>,
            }
            references {
                /// The patient.
                patient_id: Option<u32> => patient: Patients,
                /// The responsible party, a patient of the same EHR.
                guarantor_id: Option<u32> => guarantor: Patients,
            }
            found_by { guarantor_id: Guarantor }
        }

        /// A balance by age in days: of a guarantor, or an insurance's estimate for a patient.
        InsuranceBalance / EhrInsuranceBalance: InsuranceBalances = 49, u64 of Source, "balance", "Insurance Balance" {
            fields {
                /// Sum of all ages.
                total: Option<Money>,
                /// Expected to be written off.
                write_off_estimate: Option<Money>,
                /// Expected from insurance.
                insurance_estimate: Option<Money>,
                /// Remainder for the guarantor.
                guarantor_portion: Option<Money>,
                /// Up to 30 days old.
                under30: Option<Money>,
                /// 31 to 60 days old.
                from31_to60: Option<Money>,
                /// 61 to 90 days old.
                from61_to90: Option<Money>,
                /// Older than 90 days.
                over90: Option<Money>,
                /// Billed, up to 30 days old.
                billed_under30: Option<Money>,
                /// Billed, 31 to 60 days old.
                billed31_to60: Option<Money>,
                /// Billed, 61 to 90 days old.
                billed61_to90: Option<Money>,
                /// Billed, older than 90 days.
                billed_over90: Option<Money>,
            }
            references {
                /// The patient.
                patient_id: Option<u32> => patient: Patients,
                /// The responsible party, a patient of the same EHR.
                guarantor_id: Option<u32> => guarantor: Patients,
            }
            found_by { patient_id: Patient, guarantor_id: Guarantor }
        }
    }
    handwritten_bodies {
        /// Working hours of a provider. Exactly one of `days` (not empty), `specific_date` and `recurrence` applies.
        WorkingHour / EhrWorkingHour: WorkingHours = 5, u32 of Location, "working-hour", "Working Hour" {
            fields {
                /// Begin, `HH:MM` local.
                begin_time: String [TimeOfDay],
                /// End, `HH:MM` local, `24:00` included; not after the begin means the next day.
                end_time: String [EndOfDay],
                /// Weekly days.
                days: Vec<Weekday>,
                /// One date only.
                specific_date: Option<String> [Date],
                /// Custom recurrence.
                recurrence: Option<EhrRecurrence>,
                /// Working hours or a block.
                kind: HourKind,
                /// Label of the hours in the EHR, such as `Hygiene`.
                label: Option<String>,
                /// In force.
                active: bool,
            }
            references {
                /// The provider.
                provider: ForeignId => Providers,
                /// The operatory; `None` if the EHR schedules by provider only.
                operatory: Option<ForeignId> => Operatories,
                /// Appointment types it accepts; empty means all.
                appointment_types: Vec<ForeignId> => AppointmentTypes,
            }
            writes { Create: "create-working-hour", Update: "update-working-hour", Delete: "delete-working-hour" }
        }

        /// An appointment, or a block of unavailable time (`unavailable`, without patient).
        #[derive(Default)]
        Appointment / EhrAppointment: Appointments = 6, u64 of Everywhere, "appointment", "Appointment" {
            fields {
                /// Start, in seconds since 1970, UTC.
                start: i64 [Instant],
                /// End, after the start.
                end: i64 [Instant],
                /// Free text.
                note: Option<String> [Long],
                /// A block of time, not a visit.
                unavailable: bool,
                /// Cancelled or broken.
                cancelled: bool,
                /// Confirmed by the practice.
                confirmed: bool,
                /// Confirmed by the patient.
                patient_confirmed: bool,
                /// The patient did not come.
                patient_missed: bool,
                /// Checked in at.
                checkin_at: Option<i64> [Instant],
                /// Checked out at.
                checked_out_at: Option<i64> [Instant],
                /// The write key of our write, if the EHR kept it.
                write_key: Option<String> [Exact],
                /// Version tag in the EHR, sent back with an update so that the EHR can refuse a stale one.
                version: Option<String> [Exact],
            }
            references {
                /// The patient.
                patient: Option<ForeignId> => Patients,
                /// The provider.
                provider: Option<ForeignId> => Providers,
                /// The operatory.
                operatory: Option<ForeignId> => Operatories,
                /// The appointment type.
                appointment_type: Option<ForeignId> => AppointmentTypes,
            }
        }
    }
    } };
}
