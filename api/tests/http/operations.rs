use crate::support::*;

#[actix_web::test]
async fn they_need_neither_token_nor_version_nor_name() {
    let world = world().await;
    let bare = |path| world.get(path).without("Authorization").without("Svc-Api-Version").without("User-Agent");
    assert_eq!(bare("/healthz").ok().await["status"], "ok");
    assert_eq!(bare("/readyz").ok().await["status"], "ready");
    let reply = bare("/metrics").reply().await;
    assert_eq!(
        (reply.status.as_u16(), reply.header("Content-Type")),
        (200, Some("text/plain; version=0.0.4; charset=utf-8"))
    );
    let counted =
        reply.text.lines().find(|line| line.starts_with("practice_sync_http_responses_total{class=\"2xx\"}")).unwrap();
    assert_eq!(counted.split(' ').nth(1), Some("2"));
    for line in reply.text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.split_once(' ').unwrap();
        assert!(name.starts_with("practice_sync_") && value.parse::<f64>().is_ok(), "{line}");
    }
}
