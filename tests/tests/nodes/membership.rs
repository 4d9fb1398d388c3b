//! Authentication of nodes, and concurrent requests at two nodes.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use postgres_server::is_skipped;
use sandbox_ehr::Behaviours;
use serde_json::{Value, json};

use crate::nodes::cluster::{FIRST, Nodes, at};
use testing::until;

const LIE: &str = r#"{"code":true,"data":[{"id":666}],"page_info":{"has_next_page":false}}"#;

/// Runs a server that gives everyone the same answer. Returns the number of requests it got.
fn stranger(listener: TcpListener) -> Arc<AtomicUsize> {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
            let mut head = [0; 4_096];
            if stream.read(&mut head).is_ok_and(|read| read > 0) {
                counted.fetch_add(1, Ordering::SeqCst);
            }
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{LIE}",
                LIE.len()
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    asked
}

#[actix::test]
async fn answers_of_processes_without_the_secret_are_rejected() {
    if is_skipped() {
        return;
    }
    let mut nodes = Nodes::started(&Behaviours::default(), &[]).await;
    let owner = nodes.owner(0, 1).await;
    let other = (owner + 1) % FIRST;
    let mut caller = nodes.sign_in(other).await;
    let (status, before) = caller.get(&at("/patients", 1)).await.unwrap();
    assert_eq!(status, 200);
    nodes.nodes[owner].process.take().unwrap().kill().unwrap();
    let internal: SocketAddr = nodes.nodes[owner].internal;
    let listener = until("the address of the dead node", async || TcpListener::bind(internal).ok()).await;
    let asked = stranger(listener);
    // The other nodes still consider the node alive.
    let after = until("a node that hosts the institution", async || {
        let (status, answer) = caller.get(&at("/patients", 1)).await.unwrap();
        assert!(matches!(status, 200 | 503), "{status} {answer}");
        assert!(!answer.to_string().contains("666"), "the stranger was believed: {answer}");
        (status == 200).then_some(answer)
    })
    .await;
    assert_eq!(after["data"], before["data"]);
    assert!(asked.load(Ordering::SeqCst) > 0, "the stranger was never asked, so this shows nothing");
    nodes.no_panics().await;
}

async fn body(answer: reqwest::Response) -> Option<Value> {
    serde_json::from_slice(&answer.bytes().await.ok()?).ok()
}

/// Concurrent requests with the same key at two nodes create one endpoint.
#[actix::test]
async fn key_is_used_once_across_nodes() {
    if is_skipped() {
        return;
    }
    let nodes = Nodes::started(&Behaviours::default(), &[]).await;
    let caller = nodes.sign_in(0).await;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for round in 0..10 {
        let target = format!("http://127.0.0.1:9/{round}");
        let asked = |node: usize| {
            let url = format!("http://{}/webhook_endpoints", nodes.nodes[node].installation.address);
            let asked = client.post(url).header("authorization", caller.authorization().to_owned());
            let asked = asked.header("svc-api-version", "v3.0.0").header("user-agent", "tests/1.0");
            let asked = asked.header("idempotency-key", format!("endpoint-{round}"));
            let asked =
                asked.header("content-type", "application/json").body(json!({"target_url": target}).to_string());
            async move {
                let answer = asked.send().await.unwrap();
                (answer.status().as_u16(), body(answer).await.unwrap())
            }
        };
        let answers = tokio::join!(asked(0), asked(1), asked(2));
        let answers = [answers.0, answers.1, answers.2];
        let made: Vec<&Value> =
            answers.iter().filter(|(status, _)| (200..300).contains(status)).map(|(_, it)| &it["data"]["id"]).collect();
        assert!(!made.is_empty() && made.iter().all(|id| *id == made[0]), "{answers:?}");
        assert!(answers.iter().all(|(status, _)| matches!(status, 200 | 201 | 409 | 503)), "{answers:?}");
        let (status, again) = asked(round % FIRST).await;
        assert_eq!(((200..300).contains(&status), &again["data"]["id"]), (true, made[0]), "{status} {again}");
    }
    let mut lister = nodes.sign_in(2).await;
    let (_, all) = lister.get("/webhook_endpoints").await.unwrap();
    assert_eq!(all["data"].as_array().unwrap().len(), 10, "{all}");
    nodes.no_panics().await;
}

/// An operator gave two processes the same name by mistake.
#[actix::test]
async fn the_second_process_of_a_name_waits_until_the_first_has_ended() {
    if is_skipped() {
        return;
    }
    let mut nodes = Nodes::started(&Behaviours::default(), &[]).await;
    let config = nodes.nodes[FIRST].installation.config().to_path_buf();
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("name = \"d\"", "name = \"a\"")).unwrap();
    let _second = nodes.nodes[FIRST].installation.launch().unwrap();
    let address = nodes.nodes[FIRST].installation.address;
    let ready = async || {
        let answer = reqwest::get(format!("http://{address}/readyz")).await.ok()?;
        let status = answer.status().as_u16();
        Some((status, body(answer).await?))
    };
    let _ = rustls::crypto::ring::default_provider().install_default();
    let refusal = until("the output of the second process", async || {
        let (status, body) = ready().await?;
        assert_eq!(status, 503, "two nodes of one name serve: {body}");
        body["reason"].as_str().filter(|reason| reason.contains("another process")).map(str::to_owned)
    });
    assert!(refusal.await.contains("is the node a"));
    // The first process shuts down, and the second one takes its place.
    let first = nodes.nodes[0].process.take().unwrap();
    tokio::task::spawn_blocking(move || first.stop().unwrap()).await.unwrap();
    until("the second in its place", async || ready().await.filter(|(status, _)| *status == 200)).await;
}
