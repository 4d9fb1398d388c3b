//! A hand-written booking on PostgreSQL behind actix-web: one transaction, prepared statements, an exclusion
//! constraint against overlaps, an idempotency table and an outbox. Independent statements are pipelined.

use std::{io, path::Path};

use actix_web::{
    App, HttpResponse, HttpServer,
    http::StatusCode,
    web::{self, Data, Json},
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use tokio_postgres::{Client, Config, NoTls, Statement, error::SqlState, types::ToSql};

use super::{WORKERS, ready};
use crate::bench::bodies::{BookingBody, Patient, PlainSlot};

const INSTITUTION: i32 = 1;
const SCHEMA: &str = include_str!("postgres.sql");

type Field<'a> = &'a (dyn ToSql + Sync);

struct Statements {
    known_key: Statement,
    known_patient: Statement,
    new_patient: Statement,
    appointment: Statement,
    key_and_outbox: Statement,
}

struct PostgresSession {
    client: Client,
    statements: Statements,
}

struct Pool {
    idle: Mutex<Vec<PostgresSession>>,
    places: Semaphore,
}

fn config(socket_dir: &Path, port: u16) -> Config {
    let mut config = Config::new();
    config.host_path(socket_dir).port(port).user("postgres").dbname("postgres");
    config
}

async fn connect(socket_dir: &Path, port: u16) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = config(socket_dir, port).connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

pub async fn serve(socket_dir: &Path, port: u16, sessions: usize) -> io::Result<()> {
    let schema = connect(socket_dir, port).await.map_err(io::Error::other)?;
    schema.batch_execute(SCHEMA).await.map_err(io::Error::other)?;
    let mut idle = Vec::new();
    for _ in 0..sessions {
        idle.push(PostgresSession::open(socket_dir, port).await.map_err(io::Error::other)?);
    }
    let pool = Data::new(Pool { idle: Mutex::new(idle), places: Semaphore::new(sessions) });
    let book = || web::resource("/intent/booking/book").route(web::post().to(book));
    let server = HttpServer::new(move || App::new().app_data(pool.clone()).service(book()))
        .workers(WORKERS)
        .bind(("127.0.0.1", 0))?;
    ready(server.addrs()[0]);
    server.run().await
}

impl PostgresSession {
    async fn open(socket_dir: &Path, port: u16) -> Result<PostgresSession, tokio_postgres::Error> {
        let client = connect(socket_dir, port).await?;
        let statements = Statements {
            known_key: client
                .prepare(
                    "SELECT k.fingerprint, a.booking_ref FROM idempotency k JOIN appointment a ON a.id = k.appointment
                     WHERE k.institution = $1 AND k.key = $2 AND k.expires > now()",
                )
                .await?,
            known_patient: client
                .prepare(
                    "SELECT id FROM patient WHERE institution = $1 AND date_of_birth = $2::text::date
                     AND lower(last_name) = lower($3) AND (phone = $4 OR email = $5) LIMIT 1",
                )
                .await?,
            new_patient: client
                .prepare(
                    "WITH p AS (INSERT INTO patient (institution, first_name, last_name, date_of_birth, phone, email)
                                VALUES ($1, $2, $3, $4::text::date, $5, $6) RETURNING id),
                          o AS (INSERT INTO outbox (location, kind, patient, lane) SELECT $7, 'create-patient', id, id FROM p)
                     SELECT id FROM p",
                )
                .await?,
            appointment: client
                .prepare(
                    "INSERT INTO appointment (location, operatory, provider, patient, during, note, booking_ref, created_by)
                     VALUES ($1, $2, $3, $4, tstzrange(to_timestamp($5), to_timestamp($6)), $7,
                             'bkg_' || encode(uuid_send(gen_random_uuid()), 'hex'), 'bench')
                     RETURNING id, booking_ref, created_at::text",
                )
                .await?,
            key_and_outbox: client
                .prepare(
                    "WITH k AS (INSERT INTO idempotency (institution, key, fingerprint, appointment, expires)
                                VALUES ($1, $2, $3, $4, now() + interval '24 hours'))
                     INSERT INTO outbox (location, kind, appointment, lane) VALUES ($5, 'create-appointment', $4, $6)",
                )
                .await?,
        };
        Ok(PostgresSession { client, statements })
    }

    async fn book(&self, booking: &BookingBody, slot: PlainSlot) -> Result<(StatusCode, Value), tokio_postgres::Error> {
        let (client, statements, patient) = (&self.client, &self.statements, &booking.patient);
        let fingerprint = Sha256::digest(serde_json::to_vec(booking).unwrap_or_default()).to_vec();
        let key = Sha256::digest(booking.idempotency_key.as_bytes()).to_vec();
        let by_key: [Field; 2] = [&INSTITUTION, &key];
        let by_person: [Field; 5] =
            [&INSTITUTION, &patient.date_of_birth, &patient.last_name, &patient.phone_number, &patient.email];
        let (_, known_key, known_patient) = tokio::try_join!(
            client.batch_execute("BEGIN"),
            client.query_opt(&statements.known_key, &by_key),
            client.query_opt(&statements.known_patient, &by_person),
        )?;
        if let Some(known) = known_key {
            client.batch_execute("ROLLBACK").await?;
            let same = known.get::<_, Vec<u8>>(0) == fingerprint;
            let replay = json!({"ok": true, "replay": true, "booking_ref": known.get::<_, String>(1)});
            return Ok(if same { (StatusCode::OK, replay) } else { refused("idempotency_conflict") });
        }
        let patient_id: i64 = match known_patient {
            Some(row) => row.get(0),
            None => self.new_patient(booking, slot).await?,
        };
        let (start, end) = (slot.start as f64, slot.end as f64);
        let placed: [Field; 7] =
            [&slot.location, &slot.operatory, &slot.provider, &patient_id, &start, &end, &booking.note];
        let row = client.query_one(&statements.appointment, &placed).await?;
        let (id, booking_ref): (i64, String) = (row.get(0), row.get(1));
        let made: [Field; 6] = [&INSTITUTION, &key, &fingerprint, &id, &slot.location, &patient_id];
        tokio::try_join!(client.execute(&statements.key_and_outbox, &made), client.batch_execute("COMMIT"))?;
        Ok((StatusCode::OK, booked(booking, slot, id, &booking_ref)))
    }

    async fn new_patient(&self, booking: &BookingBody, slot: PlainSlot) -> Result<i64, tokio_postgres::Error> {
        let Patient { first_name, last_name, date_of_birth, phone_number, email } = &booking.patient;
        let fields: [Field; 7] =
            [&INSTITUTION, first_name, last_name, date_of_birth, phone_number, email, &slot.location];
        Ok(self.client.query_one(&self.statements.new_patient, &fields).await?.get(0))
    }
}

fn booked(booking: &BookingBody, slot: PlainSlot, id: i64, booking_ref: &str) -> Value {
    json!({
        "ok": true,
        "replay": false,
        "message": "The appointment is booked and is being sent to the practice's system.",
        "booking": {
            "booking_ref": booking_ref,
            "booking_status": "confirmed",
            "ehr_writeback": "pending",
            "appointment_id": id,
            "start": slot.start,
            "duration_minutes": (slot.end - slot.start) / 60,
            "patient": {"first_name": booking.patient.first_name, "last_name": booking.patient.last_name},
        },
    })
}

fn refused(reason: &str) -> (StatusCode, Value) {
    (StatusCode::CONFLICT, json!({"ok": false, "reason": reason}))
}

async fn book(pool: Data<Pool>, booking: Json<BookingBody>) -> HttpResponse {
    let Some(slot) = PlainSlot::parse(&booking.slot_token) else { return HttpResponse::NotFound().finish() };
    let Ok(_place) = pool.places.acquire().await else { return HttpResponse::ServiceUnavailable().finish() };
    let session = pool.idle.lock().pop();
    let Some(session) = session else { return HttpResponse::ServiceUnavailable().finish() };
    let booked = session.book(&booking, slot).await;
    let (status, answer) = match booked {
        Ok(answer) => answer,
        Err(error) => {
            // The transaction is rolled back, and the session can be reused.
            let _ = session.client.batch_execute("ROLLBACK").await;
            match error.code() {
                Some(code) if *code == SqlState::EXCLUSION_VIOLATION => refused("slot_taken"),
                Some(code) if *code == SqlState::UNIQUE_VIOLATION => refused("idempotency_conflict"),
                _ => (StatusCode::INTERNAL_SERVER_ERROR, json!({"error": error.to_string()})),
            }
        }
    };
    pool.idle.lock().push(session);
    HttpResponse::build(status).json(answer)
}
