//! Code generated from the table in this crate: the body of each record, its form in the EHR, and the conversions
//! between the two.

use super::*;

/// The `extra` values of a body: those of the EHR or, with `ours`, the local ones.
macro_rules! kept_extra {
    ($ehr:ident, $kept:ident) => {
        $ehr.extra.clone()
    };
    ($ehr:ident, $kept:ident, ours) => {
        $kept.map(|kept| kept.extra.clone()).unwrap_or_default()
    };
}

/// A reference in the EHR's form.
macro_rules! for_ehr {
    ($field:expr, $to:expr, $theirs:ident) => {
        $field.for_ehr($to, $theirs)?
    };
    ($field:expr, $to:expr, $theirs:ident, none) => {
        match $field {
            Some(id) => $theirs($to, id.into())?,
            None => None,
        }
    };
}

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
                $( references { $( $(#[$r_meta:meta])* $r:ident : $r_type:ty => $r_ehr:ident : $r_to:ident $(or $r_none:ident)? ),* $(,)? } )?
                $( parts { $( $(#[$p_meta:meta])* $p:ident : $p_type:ty ),* $(,)? } )?
                $( own { $( $(#[$o_meta:meta])* $o:ident : $o_type:ty ),* $(,)? } )?
                $( extra { $extra:ident } )?
                $( found_with { $found_with:path } )?
                $( found_by { $( $found:ident : $found_as:ident ),* $(,)? } )?
                $( found_by_parts { $( $list:ident $found_in:ident : $found_in_as:ident ),* $(,)? } )?
                $( in_use { $in_use:ident } )?
                $( deleted_as { $deleted_as:ident } )?
                $( deleted_with { $deleted_with:path } )?
                $( writes { $( $operation:ident : $kind:literal ),* $(,)? } )?
            }
        )* }
        handwritten_bodies { $(
            $(#[$own_meta:meta])*
            $own_body:ident / $own_ehr:ident : $own_resource:ident = $own_tag:literal, $own_id:ident of $own_scope:ident, $own_record:literal, $own_name:literal {
                fields { $( $(#[$of_meta:meta])* $of:ident : $of_type:ty $([ $($of_limit:tt)+ ])? ),* $(,)? }
                references { $( $(#[$or_meta:meta])* $or:ident : $or_type:ty => $or_to:ident ),* $(,)? }
                $( writes { $( $own_operation:ident : $own_kind:literal ),* $(,)? } )?
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
            /// In the EHR's form.
            #[derive(Clone, PartialEq, Serialize, Deserialize)]
            pub struct $ehr_part {
                $( $(#[$pr_meta])* pub $pr_ehr: <$pr_type as Reference>::Foreign, )*
                $( $(#[$pf_meta])* pub $pf: $pf_type, )*
            }

            impl Part for $part {
                type Ehr = $ehr_part;

                fn resolve<E: From<Invalid>>(ehr: &$ehr_part, ours: ResolveId<'_, E>) -> Result<$part, E> {
                    Ok($part {
                        $( $pr: Reference::resolve(&ehr.$pr_ehr, Resource::$pr_to, ours)?, )*
                        $( $pf: ehr.$pf.clone(), )*
                    })
                }

                fn for_ehr<E: From<Missing>>(&self, theirs: ForeignIdOf<'_, E>) -> Result<$ehr_part, E> {
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
                /// Values that the EHR has in addition to the fields.
                #[serde(default)]
                pub extra: Extra,
            }

            $(#[$meta])*
            ///
            /// In the EHR's form.
            #[derive(Clone, PartialEq, Serialize, Deserialize)]
            pub struct $ehr {
                /// Identifier in the EHR; empty in a write that creates.
                #[serde(default)]
                pub id: ForeignId,
                $($( $(#[$r_meta])* pub $r_ehr: <$r_type as Reference>::Foreign, )*)?
                $($( $(#[$f_meta])* pub $f: $f_type, )*)?
                $($( $(#[$p_meta])* #[serde(default)] pub $p: <$p_type as Part>::Ehr, )*)?
                /// Values that the EHR has in addition to the fields.
                #[serde(default)]
                pub extra: Extra,
            }

            /// Redacted, because the body may contain patient data.
            impl fmt::Debug for $body {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(concat!(stringify!($body), "(redacted)"))
                }
            }

            /// Redacted, because the record may contain patient data.
            impl fmt::Debug for $ehr {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    write!(f, concat!(stringify!($ehr), "({:?}, redacted)"), self.id)
                }
            }

            impl Schema for $body {
                const RESOURCE: Resource = Resource::$resource;
                const SCOPE: Scope = Scope::$scope;

                type Id = $id;
                type Ehr = $ehr;
            }

            impl Body for $body {
                fn resolve<E: From<Invalid>>(ehr: &$ehr, kept: Option<&$body>, ours: ResolveId<'_, E>) -> Result<$body, E> {
                    // Unused by bodies without references or local fields.
                    let _ = (&ours, kept);
                    Ok($body {
                        $($( $r: Reference::resolve(&ehr.$r_ehr, Resource::$r_to, ours)?, )*)?
                        $($( $f: ehr.$f.clone(), )*)?
                        $($( $p: Part::resolve(&ehr.$p, ours)?, )*)?
                        $($( $o: kept.map(|kept| kept.$o.clone()).unwrap_or_default(), )*)?
                        extra: kept_extra!(ehr, kept $(, $extra)?),
                    })
                }

                fn for_ehr<E: From<Missing>>(&self, id: ForeignId, theirs: ForeignIdOf<'_, E>) -> Result<$ehr, E> {
                    let _ = &theirs;
                    Ok($ehr {
                        id,
                        $($( $r_ehr: for_ehr!(self.$r, Resource::$r_to, theirs $(, $r_none)?), )*)?
                        $($( $f: self.$f.clone(), )*)?
                        $($( $p: self.$p.for_ehr(theirs)?, )*)?
                        extra: self.extra.clone(),
                    })
                }

                fn terms(&self) -> Vec<Term> {
                    let mut found = Vec::new();
                    $( found.extend($found_with(self)); )?
                    $($( self.$found.find(Field::$found_as, &mut found); )*)?
                    $($( self.$list.iter().for_each(|part| part.$found_in.find(Field::$found_in_as, &mut found)); )*)?
                    found.sort();
                    found.dedup();
                    found
                }

                $( fn in_use(&self) -> bool {
                    Option::<bool>::from(self.$in_use) != Some(false)
                } )?

                $( fn mark_deleted(record: &mut Record<$body>, _: Timestamp) {
                    record.$deleted_as = true;
                }

                fn is_deleted(record: &Record<$body>) -> bool {
                    record.$deleted_as
                } )?

                $( fn mark_deleted(record: &mut Record<$body>, now: Timestamp) {
                    $deleted_with(record, now);
                } )?
            }

            impl From<$ehr> for EhrRecord {
                fn from(record: $ehr) -> EhrRecord {
                    EhrRecord::$body(record)
                }
            }
        )*

        $(
            $(#[$own_meta])*
            ///
            /// In the EHR's form.
            #[derive(Clone, PartialEq, Serialize, Deserialize)]
            pub struct $own_ehr {
                /// Identifier in the EHR; empty in a write that creates.
                #[serde(default)]
                pub id: ForeignId,
                $( $(#[$or_meta])* pub $or: $or_type, )*
                $( $(#[$of_meta])* pub $of: $of_type, )*
                /// Values that the EHR has in addition to the fields.
                #[serde(default)]
                pub extra: Extra,
            }

            /// Redacted, because the record may contain patient data.
            impl fmt::Debug for $own_ehr {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    write!(f, concat!(stringify!($own_ehr), "({:?}, redacted)"), self.id)
                }
            }

            impl Schema for $own_body {
                const RESOURCE: Resource = Resource::$own_resource;
                const SCOPE: Scope = Scope::$own_scope;

                type Id = $own_id;
                type Ehr = $own_ehr;
            }

            impl From<$own_ehr> for EhrRecord {
                fn from(record: $own_ehr) -> EhrRecord {
                    EhrRecord::$own_body(record)
                }
            }
        )*

        /// Returns the rules of a resource.
        pub fn rules(resource: Resource) -> &'static ResourceRules {
            match resource {
                $( Resource::$resource => &ResourceRules {
                    resource: Resource::$resource,
                    tag: $tag,
                    scope: Scope::$scope,
                    last_id: <$id as RecordId>::LAST,
                    record: $record,
                    name: $name,
                    refers_to: &[$($( (stringify!($r_ehr), Resource::$r_to), )*)?],
                    writes: &[$($( (Operation::$operation, $kind), )*)?],
                }, )*
                $( Resource::$own_resource => &ResourceRules {
                    resource: Resource::$own_resource,
                    tag: $own_tag,
                    scope: Scope::$own_scope,
                    last_id: <$own_id as RecordId>::LAST,
                    record: $own_record,
                    name: $own_name,
                    refers_to: &[$( (stringify!($or), Resource::$or_to), )*],
                    writes: &[$($( (Operation::$own_operation, $own_kind), )*)?],
                }, )*
            }
        }

        /// All resources, in the order of the table.
        pub const RESOURCES: &[Resource] = &[$( Resource::$resource, )* $( Resource::$own_resource, )*];

        /// Runs the visitor with the resource's body.
        pub fn on<V: Visitor>(resource: Resource, visitor: V) -> V::Output {
            match resource {
                $( Resource::$resource => visitor.visit::<$body>(), )*
                $( Resource::$own_resource => visitor.visit::<$own_body>(), )*
            }
        }

        /// A record in the EHR's form.
        #[allow(clippy::large_enum_variant, reason = "patients are the common case; a box each would cost more than it saves")]
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum EhrRecord {
            $( #[doc = concat!("[`", stringify!($ehr), "`]")] $body($ehr), )*
            $( #[doc = concat!("[`", stringify!($own_ehr), "`]")] $own_body($own_ehr), )*
        }

        impl EhrRecord {
            /// Returns the resource of the record.
            pub fn resource(&self) -> Resource {
                match self {
                    $( EhrRecord::$body(_) => Resource::$resource, )*
                    $( EhrRecord::$own_body(_) => Resource::$own_resource, )*
                }
            }

            /// Returns the identifier in the EHR.
            pub fn id(&self) -> &str {
                match self {
                    $( EhrRecord::$body(record) => &record.id, )*
                    $( EhrRecord::$own_body(record) => &record.id, )*
                }
            }

            /// Sets the identifier in the EHR.
            pub fn set_id(&mut self, id: ForeignId) {
                match self {
                    $( EhrRecord::$body(record) => record.id = id, )*
                    $( EhrRecord::$own_body(record) => record.id = id, )*
                }
            }

            /// Runs the visitor with the EHR's form of the record.
            pub fn on<V: EhrVisitor>(&self, visitor: V) -> V::Output {
                match self {
                    $( EhrRecord::$body(record) => visitor.visit::<$body>(&record.id, record), )*
                    $( EhrRecord::$own_body(record) => visitor.visit::<$own_body>(&record.id, record), )*
                }
            }

            /// Creates a record from its fields by name, as in fixtures. Errors name the field but never contain its
            /// value.
            pub fn from_fields(resource: Resource, id: &str, fields: Value) -> Result<EhrRecord, String> {
                let mut record = match resource {
                    $( Resource::$resource => EhrRecord::$body(read(fields)?), )*
                    $( Resource::$own_resource => EhrRecord::$own_body(read(fields)?), )*
                };
                record.set_id(id.to_owned());
                Ok(record)
            }

            /// Returns the known fields by name, without the identifier.
            pub fn fields(&self) -> Map<String, Value> {
                let fields = match self {
                    $( EhrRecord::$body(record) => serde_json::to_value(record), )*
                    $( EhrRecord::$own_body(record) => serde_json::to_value(record), )*
                };
                let Ok(Value::Object(mut fields)) = fields else { return Map::new() };
                fields.remove("id");
                drop_unknown(&mut fields);
                fields
            }
        }
    };
}

crate::with_every_record!(define);
