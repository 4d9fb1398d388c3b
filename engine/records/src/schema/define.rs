//! What follows from the table in this crate: of each record its body, what an EHR shows of it, and the way from one to the other.

use super::*;

macro_rules! define {
    (
        parts { $(
            $(#[$part_meta:meta])*
            $part:ident / $ehr_part:ident : $part_record:ident {
                fields { $( $(#[$pf_meta:meta])* $pf:ident : $pf_type:ty ),* $(,)? }
                references { $( $(#[$pr_meta:meta])* $pr:ident : $pr_type:ty => $pr_ehr:ident : $pr_to:ident ),* $(,)? }
            }
        )* }
        records { $(
            $(#[$meta:meta])*
            $body:ident / $ehr:ident : $resource:ident = $tag:literal, $id:ident of $scope:ident, $record:literal, $name:literal {
                $( fields { $( $(#[$f_meta:meta])* $f:ident : $f_type:ty $([ $($limit:tt)+ ])? ),* $(,)? } )?
                $( references { $( $(#[$r_meta:meta])* $r:ident : $r_type:ty => $r_ehr:ident : $r_to:ident ),* $(,)? } )?
                $( parts { $( $(#[$p_meta:meta])* $p:ident : $p_type:ty ),* $(,)? } )?
                $( own { $( $(#[$o_meta:meta])* $o:ident : $o_type:ty ),* $(,)? } )?
                $( found_by { $( $found:ident : $found_as:ident ),* $(,)? } )?
                $( found_by_parts { $( $list:ident $found_in:ident : $found_in_as:ident ),* $(,)? } )?
                $( in_use { $in_use:ident } )?
                $( writes { $( $operation:ident : $kind:literal ),* $(,)? } )?
            }
        )* }
    ) => {
        $(
            $(#[$part_meta])*
            #[derive(Clone, PartialEq, Serialize, Deserialize)]
            pub struct $part {
                $( $(#[$pr_meta])* pub $pr: $pr_type, )*
                $( $(#[$pf_meta])* pub $pf: $pf_type, )*
            }

            $(#[$part_meta])*
            ///
            /// As an EHR shows it.
            #[derive(Clone, PartialEq, Serialize, Deserialize)]
            pub struct $ehr_part {
                $( $(#[$pr_meta])* pub $pr_ehr: <$pr_type as Reference>::Foreign, )*
                $( $(#[$pf_meta])* pub $pf: $pf_type, )*
            }

            impl Part for $part {
                type Ehr = $ehr_part;

                fn resolve<E: From<WideId>>(ehr: &$ehr_part, ours: Ours<'_, E>) -> Result<$part, E> {
                    Ok($part {
                        $( $pr: Reference::resolve(&ehr.$pr_ehr, Resource::$pr_to, ours)?, )*
                        $( $pf: ehr.$pf.clone(), )*
                    })
                }

                fn for_ehr<E: From<Missing>>(&self, theirs: Theirs<'_, E>) -> Result<$ehr_part, E> {
                    Ok($ehr_part {
                        $( $pr_ehr: self.$pr.for_ehr(Resource::$pr_to, theirs)?, )*
                        $( $pf: self.$pf.clone(), )*
                    })
                }
            }
        )*

        $(
            $(#[$meta])*
            #[derive(Clone, PartialEq, Serialize, Deserialize)]
            pub struct $body {
                $($( $(#[$r_meta])* pub $r: $r_type, )*)?
                $($( $(#[$f_meta])* pub $f: $f_type, )*)?
                $($( $(#[$p_meta])* #[serde(default)] pub $p: $p_type, )*)?
                $($( $(#[$o_meta])* #[serde(default)] pub $o: $o_type, )*)?
                /// What the EHR knows beyond the fields.
                #[serde(default)]
                pub extra: Extra,
            }

            $(#[$meta])*
            ///
            /// As an EHR shows or takes it.
            #[derive(Clone, PartialEq, Serialize, Deserialize)]
            pub struct $ehr {
                /// Identifier in the EHR; empty in a write that creates.
                #[serde(default)]
                pub id: ForeignId,
                $($( $(#[$r_meta])* pub $r_ehr: <$r_type as Reference>::Foreign, )*)?
                $($( $(#[$f_meta])* pub $f: $f_type, )*)?
                $($( $(#[$p_meta])* #[serde(default)] pub $p: <$p_type as Part>::Ehr, )*)?
                /// What it knows beyond the fields.
                #[serde(default)]
                pub extra: Extra,
            }

            /// Patient data never reaches a log by accident.
            impl fmt::Debug for $body {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(concat!(stringify!($body), "(redacted)"))
                }
            }

            /// Patient data never reaches a log by accident.
            impl fmt::Debug for $ehr {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    write!(f, concat!(stringify!($ehr), "({:?}, redacted)"), self.id)
                }
            }

            impl Body for $body {
                const RESOURCE: Resource = Resource::$resource;

                type Ehr = $ehr;

                fn resolve<E: From<WideId>>(ehr: &$ehr, kept: Option<&$body>, ours: Ours<'_, E>) -> Result<$body, E> {
                    // Not all have references, or fields of our own.
                    let _ = (&ours, kept);
                    Ok($body {
                        $($( $r: Reference::resolve(&ehr.$r_ehr, Resource::$r_to, ours)?, )*)?
                        $($( $f: ehr.$f.clone(), )*)?
                        $($( $p: Part::resolve(&ehr.$p, ours)?, )*)?
                        $($( $o: kept.map(|kept| kept.$o.clone()).unwrap_or_default(), )*)?
                        extra: ehr.extra.clone(),
                    })
                }

                fn for_ehr<E: From<Missing>>(&self, id: ForeignId, theirs: Theirs<'_, E>) -> Result<$ehr, E> {
                    let _ = &theirs;
                    Ok($ehr {
                        id,
                        $($( $r_ehr: self.$r.for_ehr(Resource::$r_to, theirs)?, )*)?
                        $($( $f: self.$f.clone(), )*)?
                        $($( $p: self.$p.for_ehr(theirs)?, )*)?
                        extra: self.extra.clone(),
                    })
                }

                fn terms(&self) -> Vec<Term> {
                    let mut found = Vec::new();
                    $($( self.$found.find(Field::$found_as, &mut found); )*)?
                    $($( self.$list.iter().for_each(|part| part.$found_in.find(Field::$found_in_as, &mut found)); )*)?
                    found.sort();
                    found.dedup();
                    found
                }

                $( fn in_use(&self) -> bool {
                    Option::<bool>::from(self.$in_use) != Some(false)
                } )?
            }

            impl From<$ehr> for EhrRecord {
                fn from(record: $ehr) -> EhrRecord {
                    EhrRecord::$body(record)
                }
            }
        )*

        /// The rules of a resource; none for those with a document of their own.
        pub fn rules(resource: Resource) -> Option<&'static Rules> {
            match resource {
                $( Resource::$resource => Some(&Rules {
                    resource: Resource::$resource,
                    record: $record,
                    name: $name,
                    refers_to: &[$($( (stringify!($r_ehr), Resource::$r_to), )*)?],
                    writes: &[$($( (Operation::$operation, $kind), )*)?],
                }), )*
                Resource::Providers
                | Resource::Operatories
                | Resource::AppointmentTypes
                | Resource::Patients
                | Resource::WorkingHours
                | Resource::Appointments => None,
            }
        }

        /// Runs the visitor with the resource's body.
        pub fn on<V: Visitor>(resource: Resource, visitor: V) -> Option<V::Output> {
            match resource {
                $( Resource::$resource => Some(visitor.visit::<$body>()), )*
                Resource::Providers
                | Resource::Operatories
                | Resource::AppointmentTypes
                | Resource::Patients
                | Resource::WorkingHours
                | Resource::Appointments => None,
            }
        }

        /// Runs the visitor with every body there is.
        pub fn on_all<V: Visitor + Clone>(visitor: V) -> Vec<V::Output> {
            vec![$( visitor.clone().visit::<$body>(), )*]
        }

        /// A record as an EHR shows or takes it.
        #[allow(clippy::large_enum_variant, reason = "patients are the common case; a box each would cost more than it saves")]
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum EhrRecord {
            /// A patient.
            Patient(EhrPatient),
            /// A provider.
            Provider(EhrProvider),
            /// An operatory.
            Operatory(EhrOperatory),
            /// An appointment type.
            AppointmentType(EhrAppointmentType),
            /// A working hour.
            WorkingHour(EhrWorkingHour),
            /// An appointment.
            Appointment(EhrAppointment),
            $( $(#[$meta])* $body($ehr), )*
        }

        impl EhrRecord {
            /// The resource it is one of.
            pub fn resource(&self) -> Resource {
                match self {
                    EhrRecord::Patient(_) => Resource::Patients,
                    EhrRecord::Provider(_) => Resource::Providers,
                    EhrRecord::Operatory(_) => Resource::Operatories,
                    EhrRecord::AppointmentType(_) => Resource::AppointmentTypes,
                    EhrRecord::WorkingHour(_) => Resource::WorkingHours,
                    EhrRecord::Appointment(_) => Resource::Appointments,
                    $( EhrRecord::$body(_) => Resource::$resource, )*
                }
            }

            /// Its identifier in the EHR.
            pub fn id(&self) -> &str {
                match self {
                    EhrRecord::Patient(record) => &record.id,
                    EhrRecord::Provider(record) => &record.id,
                    EhrRecord::Operatory(record) => &record.id,
                    EhrRecord::AppointmentType(record) => &record.id,
                    EhrRecord::WorkingHour(record) => &record.id,
                    EhrRecord::Appointment(record) => &record.id,
                    $( EhrRecord::$body(record) => &record.id, )*
                }
            }

            /// The same record under another identifier.
            pub fn set_id(&mut self, id: ForeignId) {
                match self {
                    EhrRecord::Patient(record) => record.id = id,
                    EhrRecord::Provider(record) => record.id = id,
                    EhrRecord::Operatory(record) => record.id = id,
                    EhrRecord::AppointmentType(record) => record.id = id,
                    EhrRecord::WorkingHour(record) => record.id = id,
                    EhrRecord::Appointment(record) => record.id = id,
                    $( EhrRecord::$body(record) => record.id = id, )*
                }
            }

            /// Runs the visitor with what the EHR shows; none of the six that the schedule rests on.
            pub fn on<V: EhrVisitor>(&self, visitor: V) -> Option<V::Output> {
                match self {
                    $( EhrRecord::$body(record) => Some(visitor.visit::<$body>(&record.id, record)), )*
                    EhrRecord::Patient(_)
                    | EhrRecord::Provider(_)
                    | EhrRecord::Operatory(_)
                    | EhrRecord::AppointmentType(_)
                    | EhrRecord::WorkingHour(_)
                    | EhrRecord::Appointment(_) => None,
                }
            }

            /// A record from its fields by name, as fixtures have them. What is wrong is said by field, never with the value.
            pub fn from_fields(resource: Resource, id: &str, fields: Value) -> Result<EhrRecord, String> {
                let mut record = match resource {
                    Resource::Patients => EhrRecord::Patient(read(fields)?),
                    Resource::Providers => EhrRecord::Provider(read(fields)?),
                    Resource::Operatories => EhrRecord::Operatory(read(fields)?),
                    Resource::AppointmentTypes => EhrRecord::AppointmentType(read(fields)?),
                    Resource::WorkingHours => EhrRecord::WorkingHour(read(fields)?),
                    Resource::Appointments => EhrRecord::Appointment(read(fields)?),
                    $( Resource::$resource => EhrRecord::$body(read(fields)?), )*
                };
                record.set_id(id.to_owned());
                Ok(record)
            }

            /// Its fields by name, but for the identifier and those that are not known.
            pub fn fields(&self) -> Map<String, Value> {
                let fields = match self {
                    EhrRecord::Patient(record) => serde_json::to_value(record),
                    EhrRecord::Provider(record) => serde_json::to_value(record),
                    EhrRecord::Operatory(record) => serde_json::to_value(record),
                    EhrRecord::AppointmentType(record) => serde_json::to_value(record),
                    EhrRecord::WorkingHour(record) => serde_json::to_value(record),
                    EhrRecord::Appointment(record) => serde_json::to_value(record),
                    $( EhrRecord::$body(record) => serde_json::to_value(record), )*
                };
                let Ok(Value::Object(mut fields)) = fields else { return Map::new() };
                fields.retain(|name, value| name != "id" && !value.is_null());
                fields
            }
        }
    };
}

crate::with_every_record!(define);
