//! Tests of the transport over real sockets: requests that the EHR may have received, and those it cannot have
//! received.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use adapter_host::{HttpRequest, HttpResponse, HttpTransport, Transport, TransportError, Url};

/// Serves connections on loopback until the test ends.
fn server(serve: impl Fn(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || listener.incoming().flatten().for_each(serve));
    address
}

fn answering(answer: &'static str) -> String {
    server(move |mut stream| {
        let mut request = [0; 4096];
        let _ = stream.read(&mut request);
        let _ = stream.write_all(answer.as_bytes());
        let _ = stream.shutdown(Shutdown::Write);
    })
}

async fn send(address: &str) -> Result<HttpResponse, TransportError> {
    send_over(&HttpTransport::new().unwrap(), address).await
}

async fn send_over(transport: &HttpTransport, address: &str) -> Result<HttpResponse, TransportError> {
    let request = HttpRequest {
        method: "POST".into(),
        url: Url::parse(&format!("{address}/patients?name=Ada")).unwrap(),
        headers: vec![("x-test".into(), "1".into())],
        body: Some(b"{}".to_vec()),
        max_response_body: 1_000,
    };
    transport.send(request, Duration::from_millis(700)).await
}

#[tokio::test]
async fn answers_arrive_as_they_are() {
    let address = answering("HTTP/1.1 201 Created\r\nETag: W/1\r\nContent-Length: 5\r\n\r\nhello");
    let answer = send(&address).await.unwrap();
    assert_eq!((answer.status, answer.body.as_slice()), (201, b"hello".as_slice()));
    assert!(answer.headers.contains(&("etag".into(), "W/1".into())), "{:?}", answer.headers);
    let moved = answering("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(send(&moved).await.unwrap().status, 302, "redirects are not followed");
}

#[tokio::test]
async fn a_closed_port_or_unknown_host_is_reported_as_not_sent() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [format!("http://{free}"), "http://ehr.invalid".to_string()] {
        let Err(TransportError::NotSent(why)) = send(&address).await else { panic!("{address}") };
        assert!(!why.contains("Ada"), "{why}");
    }
    // A failed TLS handshake carries no request either.
    let plain = answering("HTTP/1.1 200 OK\r\n\r\n").replace("http:", "https:");
    assert!(matches!(send(&plain).await, Err(TransportError::NotSent(_))));
}

#[tokio::test]
async fn a_broken_or_hanging_connection_is_reported_as_no_answer() {
    let breaks = server(|mut stream| {
        let _ = stream.read(&mut [0; 4096]);
    });
    assert!(matches!(send(&breaks).await, Err(TransportError::NoAnswer(_))));
    let half = answering("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhal");
    assert!(matches!(send(&half).await, Err(TransportError::NoAnswer(_))));
    let garbage = answering("220 smtp.example ESMTP\r\n");
    assert!(matches!(send(&garbage).await, Err(TransportError::NoAnswer(_))));
    let hangs = server(|mut stream| {
        let _ = stream.read(&mut [0; 4096]);
        std::thread::sleep(Duration::from_secs(20));
    });
    let started = Instant::now();
    let late = send(&hangs).await;
    assert!(matches!(&late, Err(TransportError::NoAnswer(why)) if why == "none within 700 ms"), "{late:?}");
    assert!(started.elapsed() < Duration::from_secs(15));
}

#[tokio::test]
async fn an_endless_body_is_rejected() {
    let endless = server(|mut stream| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        while stream
            .write_all(b"64\r\n")
            .and_then(|()| stream.write_all(&[b'x'; 100]))
            .and_then(|()| stream.write_all(b"\r\n"))
            .is_ok()
        {}
    });
    let cut = send(&endless).await;
    assert!(matches!(&cut, Err(TransportError::NoAnswer(why)) if why.contains("longer than 1000 bytes")), "{cut:?}");
}

/// Answers each request with the number of its connection and of the request on it, followed by `stray`.
fn numbering(stray: &'static str) -> (String, Arc<AtomicU32>) {
    let connections = Arc::new(AtomicU32::new(0));
    let counted = connections.clone();
    let address = server(move |mut stream| {
        let connection = counted.fetch_add(1, Ordering::SeqCst);
        std::thread::spawn(move || {
            let mut request = [0; 4096];
            for number in 0.. {
                if !matches!(stream.read(&mut request), Ok(bytes) if bytes > 0) {
                    return;
                }
                let body = format!("{connection}.{number}");
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}{stray}", body.len());
                let _ = stream.write_all(answer.as_bytes());
            }
        });
    });
    (address, connections)
}

#[tokio::test]
async fn an_unsolicited_response_answers_no_request() {
    let (address, connections) = numbering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray");
    let transport = HttpTransport::new().unwrap();
    for number in 0..20 {
        let answer = send_over(&transport, &address).await.unwrap();
        assert_eq!(String::from_utf8(answer.body).unwrap(), format!("{number}.0"));
    }
    assert_eq!(connections.load(Ordering::SeqCst), 20, "none is used again");
}

/// The second part of an EHR's response has this long to be detected as unsolicited.
#[tokio::test]
async fn a_location_pauses_after_a_response() {
    let (address, _) = numbering("");
    let transport = HttpTransport::new().unwrap();
    send_over(&transport, &address).await.unwrap();
    let answered = Instant::now();
    send_over(&transport, &address).await.unwrap();
    assert!(answered.elapsed() >= Duration::from_millis(4), "{:?}", answered.elapsed());
}

#[tokio::test]
async fn connections_are_reused_and_not_shared_between_locations() {
    let (address, connections) = numbering("");
    let one = HttpTransport::new().unwrap();
    let other = one.apart();
    let mut bodies = Vec::new();
    for transport in [&one, &other, &one, &other] {
        bodies.push(String::from_utf8(send_over(transport, &address).await.unwrap().body).unwrap());
    }
    assert_eq!(bodies, ["0.0", "1.0", "0.1", "1.1"]);
    assert_eq!(connections.load(Ordering::SeqCst), 2);
}
