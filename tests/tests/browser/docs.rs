//! The documentation page in a real browser: the first calls of a reader, the filter, and the menu of narrow screens.

use tests::harness::{
    chromium::{self, Browser},
    process::{self, API_KEY, Installation, SUBDOMAIN, binary},
};

const PAGE: &str = "docs";
const SEARCH: &str = "#search_slots [role=status]";

#[actix::test]
async fn readers_of_the_documentation_find_calls_and_send_them() {
    let Some(kit) = chromium::kit().await else { return };
    let (dir, profile) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let installation = Installation::new(binary(), dir.path(), "sandbox:", "").unwrap();
    let _process = installation.start().await.unwrap();
    process::first_sync(&mut installation.sign_in().await.unwrap()).await.unwrap();
    let mut browser = Browser::start(kit, profile.path()).await;
    browser.open(PAGE, &format!("http://{}/docs#search_slots", installation.address)).await;

    browser.click(PAGE, "#search_slots .send button").await;
    browser.see(PAGE, SEARCH, "Enter your API key above and press Get token.").await;
    browser.type_into(PAGE, "#key", API_KEY).await;
    browser.click(PAGE, "#sign-in button").await;
    browser.see(PAGE, "#signed-in", "Token received").await;
    // Institution and location are prefilled, and the example finds slots at any hour.
    browser.click(PAGE, "#search_slots .send button").await;
    browser.see(PAGE, SEARCH, "200 OK").await;
    browser.see(PAGE, SEARCH, "\"slot_token\": \"slt_").await;
    browser.click(PAGE, "#search_slots .send button.second").await;
    browser.see(PAGE, SEARCH, &format!("/intent/booking/search?subdomain={SUBDOMAIN}&location_id=")).await;
    let search = browser.text(PAGE, "#search_slots .send").await.unwrap();
    assert!(!search.contains("dry run"), "a search writes nothing: {search}");
    browser.click(PAGE, "#contents a[href='#book']").await;
    browser.see(PAGE, "#book .send", "This is no dry run").await;
    assert_eq!(browser.text(PAGE, "#book details.errors[open]").await, None, "failures are folded");
    for width in [1280, 400] {
        for theme in ["light", "dark"] {
            browser.dress(PAGE, width, theme).await;
            browser.is_usable(PAGE).await;
            browser.picture(PAGE, &format!("docs-{width}-{theme}")).await;
        }
    }

    assert_eq!(browser.text(PAGE, "#endpoints").await, None, "narrow screens have a menu");
    browser.click(PAGE, "#menu").await;
    browser.type_into(PAGE, "#filter", "replay").await;
    browser.see(PAGE, "#contents", "POST /webhook_endpoints/{id}/replay").await;
    let contents = browser.text(PAGE, "#contents").await.unwrap();
    assert!(!contents.contains("Booking intent"), "headings without endpoints are hidden: {contents}");
    let operations = browser.text(PAGE, "#operations").await.unwrap();
    assert!(!operations.contains("/intent/booking/book") && operations.contains("/replay"), "{operations}");
    browser.close().await;
}
