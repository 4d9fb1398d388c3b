//! The rendered pages.

use cloud_ehr::{CloudPatient, Markup};

use crate::browser::{TestBrowser, start};

#[actix_web::test]
async fn the_schedule_shows_the_day_in_columns() {
    let under_test = start(|_| ());
    let browser = TestBrowser::log_in(&under_test.ehr, "frontdesk").await;
    let page = browser.page("/app/schedule").await;
    assert!(page.contains("Tuesday, December 1, 2026") && page.contains("data-markup=\"v3\""), "{page}");
    for chair in ["Chair 1", "Chair 2", "Hygiene"] {
        assert!(page.contains(&format!("<h2>{chair}</h2>")), "{chair}");
    }
    let (day, next) = (1_796_101_200, 1_796_187_600);
    let mut shown = 0;
    for a in under_test.ehr.appointments() {
        let here = !a.block && !a.status.is_off() && (day..next).contains(&a.start);
        assert_eq!(page.contains(&format!("data-id=\"{}\"", a.id)), here, "{}", a.id);
        shown += usize::from(here);
    }
    assert!(shown > 5 && page.contains(&format!("{shown} visits")), "{shown}");
    assert!(browser.page("/app/schedule?day=2026-12-02").await.contains("Wednesday, December 2, 2026"));
}

#[actix_web::test]
async fn elements_move_with_the_markup() {
    let under_test = start(|settings| settings.markup = Markup::V4);
    let browser = TestBrowser::log_in(&under_test.ehr, "frontdesk").await;
    let page = browser.page("/app/schedule").await;
    assert!(page.contains("data-markup=\"v4\"") && page.contains("id=\"day-schedule\""));
    assert!(!page.contains("id=\"schedule\""));
}

#[actix_web::test]
async fn patients_are_searched_and_names_are_escaped() {
    let under_test = start(|_| ());
    let browser = TestBrowser::log_in(&under_test.ehr, "frontdesk").await;
    let sly = CloudPatient {
        first_name: "<b>Zoë</b>".into(),
        last_name: "\"O'Neill\" & Co".into(),
        ..CloudPatient::default()
    };
    under_test.ehr.practice().add_patient(sly).unwrap();
    let page = browser.page("/app/patients?q=neill").await;
    assert!(page.contains("&quot;O&#39;Neill&quot; &amp; Co, &lt;b&gt;Zoë&lt;/b&gt;"), "{page}");
    assert!(page.contains("1 patients"));
    assert_eq!(browser.page("/app/patients").await.matches("<tr data-id").count(), 41);
}
