//! Rules of the application, its sessions and its markup, without HTTP.

mod sessions {
    use cloud_ehr::sessions::{Ended, Sessions};

    #[test]
    fn sessions_are_unique_per_user_and_end_when_idle() {
        let mut sessions = Sessions::new(100);
        let (first, other) = (sessions.open("robin", 0), sessions.open("kim", 0));
        let csrf = sessions.find(&first, 50, true).unwrap().csrf.clone();
        let second = sessions.open("robin", 60);
        assert!(sessions.find(&first, 60, true).is_none());
        assert_ne!(sessions.find(&second, 60, true).unwrap().csrf, csrf);
        assert!(sessions.find(&other, 99, false).is_some() && sessions.find(&other, 100, true).is_none());
        let whys = [&first, &other, &second].map(|token| sessions.why(token));
        assert_eq!(whys, [Some(Ended::Elsewhere), Some(Ended::Idle), None]);
        sessions.log_out(&second);
        assert!(sessions.find(&second, 100, true).is_none() && sessions.users().is_empty());
    }
}

mod quota {
    use cloud_ehr::quota::Quota;

    #[test]
    fn exceeded_quota_returns_the_seconds_to_wait() {
        let mut quota = Quota::new(Some(2));
        assert_eq!((quota.take("a", 100), quota.take("a", 130)), (Ok(()), Ok(())));
        assert_eq!((quota.take("a", 150), quota.take("b", 150)), (Err(10), Ok(())));
        assert_eq!((quota.take("a", 160), quota.take("a", 161)), (Ok(()), Err(29)));
    }
}

mod seed {
    use cloud_ehr::{CloudAppointment, CloudPractice, seed::fill};

    /// 2026-12-01T15:00:00Z, a Tuesday.
    const NOW: i64 = 1_796_137_200;

    fn filled(now: i64) -> CloudPractice {
        let mut practice = CloudPractice::new("Test", chrono_tz::America::New_York);
        fill(&mut practice, now);
        practice
    }

    #[test]
    fn seed_is_deterministic_for_a_given_time() {
        let practice = filled(NOW);
        assert_eq!(practice.appointments(), filled(NOW).appointments());
        assert_eq!((practice.providers().len(), practice.operatories().len(), practice.patients().len()), (2, 3, 40));
        assert!(practice.appointments().len() > 150, "{}", practice.appointments().len());
    }

    #[test]
    fn appointments_of_a_day_are_independent_of_the_creation_day() {
        let place = |a: &CloudAppointment| (a.id.clone(), a.patient.clone(), a.start, a.end);
        let earlier: Vec<_> = filled(NOW).appointments().iter().map(place).collect();
        let later = filled(NOW + 3 * 86_400);
        let both = later.appointments().iter().filter(|a| earlier.contains(&place(a))).count();
        assert!(both > 120, "{both}");
    }

    #[test]
    fn seeded_records_satisfy_the_rules() {
        let practice = filled(NOW);
        let mut standing = practice.appointments();
        standing.retain(|a| !a.status.is_off());
        for a in &standing {
            let mut others = practice.clone();
            assert!(others.remove_appointment(&a.id));
            others.book(a.clone()).unwrap_or_else(|refused| panic!("{}: {}", a.id, refused.words));
        }
    }
}

mod practice {
    use cloud_ehr::{AppointmentStatus, CloudAppointment, CloudPatient, CloudPractice, Operatory};

    fn practice() -> CloudPractice {
        let mut practice = CloudPractice::new("Test", chrono_tz::UTC);
        let revision = practice.next_revision();
        for id in ["O-1", "O-2"] {
            practice.operatories.put(id, Operatory { id: id.into(), name: id.into(), closed: false }, revision);
        }
        practice.keep_patient(CloudPatient {
            id: "P-1".into(),
            first_name: "Ada".into(),
            last_name: "Bauer".into(),
            chart: Some("C-1".into()),
            ..CloudPatient::default()
        });
        practice
    }

    fn visit(start: i64, end: i64) -> CloudAppointment {
        CloudAppointment {
            patient: Some("P-1".into()),
            operatory: "O-1".into(),
            start: start * 3_600,
            end: end * 3_600,
            ..CloudAppointment::default()
        }
    }

    #[test]
    fn overlapping_appointments_in_an_operatory_are_refused() {
        let mut practice = practice();
        let id = practice.book(visit(9, 11)).unwrap();
        for (start, end, free) in [(8, 9, true), (11, 12, true), (10, 11, false), (8, 13, false), (10, 10, false)] {
            let mut other = practice.clone();
            assert_eq!(other.book(visit(start, end)).is_ok(), free, "{start} to {end}");
        }
        let refused = practice.book(visit(10, 12)).unwrap_err();
        assert_eq!(
            (refused.code, refused.words.as_str()),
            ("overlap", "O-1 is taken from 09:00 to 11:00 (Ada Bauer).")
        );
        practice.book(CloudAppointment { operatory: "O-2".into(), ..visit(10, 12) }).unwrap();
        let own = CloudAppointment { id: id.clone(), ..visit(10, 12) };
        practice.change(own.clone(), None).unwrap();
        practice.change(CloudAppointment { status: AppointmentStatus::Cancelled, ..own.clone() }, None).unwrap();
        practice.book(visit(10, 12)).unwrap();
        assert_eq!(practice.change(own, None).unwrap_err().code, "cancelled");
    }

    #[test]
    fn change_with_an_outdated_revision_is_refused() {
        let mut practice = practice();
        let id = practice.book(visit(9, 11)).unwrap();
        let known = practice.revision();
        assert!(practice.edit_appointment(&id, |a| a.note = Some("called".into())));
        let moved = CloudAppointment { id, ..visit(12, 13) };
        assert_eq!(practice.change(moved.clone(), Some(known)).unwrap_err().code, "changed_meanwhile");
        practice.change(moved, Some(known + 1)).unwrap();
    }

    #[test]
    fn a_chart_number_belongs_to_one_patient() {
        let mut practice = practice();
        let other = CloudPatient {
            first_name: "Ed".into(),
            last_name: "Cole".into(),
            chart: Some("C-1".into()),
            ..CloudPatient::default()
        };
        let refused = practice.add_patient(other.clone()).unwrap_err();
        assert_eq!((refused.code, refused.words.contains("Ada Bauer")), ("chart_taken", true));
        let id = practice.add_patient(CloudPatient { chart: None, ..other.clone() }).unwrap();
        assert!(practice.save_patient(CloudPatient { id: id.clone(), ..other.clone() }).is_err());
        practice.save_patient(CloudPatient { id, chart: Some("C-2".into()), ..other }).unwrap();
    }

    #[test]
    fn changes_are_listed_in_order() {
        let mut practice = practice();
        let ids: Vec<String> = (0..5).map(|n| practice.book(visit(n, n + 1)).unwrap()).collect();
        let start = practice.revision();
        practice.edit_appointment(&ids[3], |a| a.note = Some("x".into()));
        practice.remove_appointment(&ids[0]);
        let changes = practice.appointments.since(start, 10);
        assert_eq!((changes.rows.len(), changes.removed, changes.more), (1, vec![ids[0].as_str()], false));
        let page = practice.appointments.since(0, 2);
        assert_eq!((page.rows.len(), page.more), (2, true));
        assert_eq!(practice.appointments.since(page.revision, 10).rows.len(), 2);
    }
}

mod markup {
    use cloud_ehr::{Markup, markup::PATIENT};
    use serde_json::{Value, json};

    #[test]
    fn field_names_round_trip() {
        let own = json!({"id": "P-1", "firstName": "Ada", "zip": "10001", "email": null, "inactive": false});
        assert_eq!(
            Markup::V4.render(PATIENT, &own),
            json!({"key": "P-1", "name": {"given": "Ada"}, "home": {"zip": "10001"}, "contact": {"email": null},
                "archived": false})
        );
        for markup in [Markup::V3, Markup::V4, Markup::V5] {
            assert_eq!(Value::Object(markup.read(PATIENT, &markup.render(PATIENT, &own))), own, "{markup:?}");
        }
        let list = Markup::V4.framed(&json!({"items": [], "mark": "1", "more": false}));
        assert_eq!(list, json!({"markup": "v4", "data": {"rows": []}, "page": {"mark": "1", "more": false}}));
    }
}
